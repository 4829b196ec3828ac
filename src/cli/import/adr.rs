//! `ergo import adr`: imports decision records in historical order, so that superseded ones become history.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use super::{
    ImportEnd, ImportOptions, MAX_FILE,
    agree::agreed,
    guard_checks::{self, RowChecks, has_store},
    read,
    report::{SkippedRow, preview},
    send::{ImportRow, LEFT_UNCHANGED, Sender},
    source_path, unreadable,
};
use crate::{
    cli::{CliError, Context, Exit},
    domain::{ClaimId, Status, marked_section},
    files::rule_files,
    interchange::{
        adr::{Record, RecordStatus, StoredClaims},
        plan::{PlanStep, plan},
    },
};

/// The maximum depth of folders.
const MAX_DEPTH: usize = 8;

/// Import Markdown decision records in the formats of Nygard and MADR. Superseded records become history.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Folders with records, or single records.
    #[arg(value_name = "DIR", required = true)]
    pub(super) paths: Vec<PathBuf>,
    /// Include records that are only proposed.
    #[arg(long)]
    pub(super) proposed: bool,
    #[command(flatten)]
    pub(super) options: ImportOptions,
}

pub(super) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    Ok(import(&args, cx).await?.exit())
}

/// Imports the records.
pub(super) async fn import(args: &Args, cx: &mut Context) -> Result<ImportEnd, CliError> {
    let (records, skipped) = records(args)?;
    let steps = plan(&records);
    let rows: Vec<ImportRow> = records.iter().map(row).collect();
    if args.options.dry_run {
        let ordered: Vec<ImportRow> = steps.iter().filter_map(|step| rows.get(step.record).cloned()).collect();
        let checks = check(cx, args, &records, &rows, &steps).await?;
        preview(cx, &ordered, &skipped, &checks, args.options.details);
        return Ok(ImportEnd::Done(None));
    }
    if !agreed(cx, &rows, &skipped, args.options)? {
        return Ok(ImportEnd::Declined);
    }
    let sender = Sender::new(cx, "adr", &args.paths, &skipped).await?;
    let stored = stored_claims(&sender, &records, &steps).await?;
    let is_returning = |step: &&PlanStep| stored.get(step.record).is_some_and(|known| known.returning.is_some());
    // A record that is in force again contradicts the one that replaced it, until that one's claim is closed.
    let (last, first): (Vec<&PlanStep>, Vec<&PlanStep>) = steps.iter().partition(is_returning);
    let ordered: Vec<&PlanStep> = first.into_iter().chain(last).collect();
    let mut import = RecordImport { records: &records, rows, stored, active: BTreeMap::new(), sender };
    for (at, step) in ordered.into_iter().enumerate() {
        cx.ui.progress(text!("importing {} of {}", at + 1, steps.len()));
        let sent = import.step(step).await;
        if sent.is_err() {
            cx.ui.progress_done();
        }
        sent?;
    }
    cx.ui.progress_done();
    let report = &import.sender.report;
    report.show(cx, args.options.details);
    if records.is_empty() {
        cx.ui.note("No records found: a record has a section “Decision” or “Decision Outcome”.");
    }
    Ok(ImportEnd::Done(report.undo_number()))
}

/// Has the guard check the records that an import would store.
async fn check(
    cx: &mut Context,
    args: &Args,
    records: &[Record],
    rows: &[ImportRow],
    steps: &[PlanStep],
) -> Result<RowChecks, CliError> {
    let mut stored: Vec<StoredClaims> = Vec::new();
    if has_store(cx)? {
        let sender = Sender::new(cx, "adr", &args.paths, &[]).await?;
        stored = stored_claims(&sender, records, steps).await?;
    }
    let active = |record: &usize| stored.get(*record)?.active();
    let (mut open, mut same, mut leaving) = (Vec::new(), Vec::new(), BTreeSet::new());
    for step in steps {
        let (Some(record), Some(row)) = (records.get(step.record), rows.get(step.record)) else { continue };
        let known = stored.get(step.record);
        let outdated = known.into_iter().flat_map(|known| known.outdated.iter().copied());
        let targets: Vec<ClaimId> = step.replaces.iter().filter_map(active).chain(outdated).collect();
        leaving.extend(targets.iter().copied());
        if let Some(claim) = known.and_then(|known| known.same.as_ref()) {
            same.push((record, row, claim));
            continue;
        }
        let claim = match step.replaced_by.iter().find_map(active) {
            Some(successor) => record.claim_before(successor),
            None => row.claim.clone(),
        };
        open.push(ImportRow { claim, targets, ..row.clone() });
    }
    let mut checks = guard_checks::check(cx, &open, &leaving).await?;
    for (record, row, claim) in same {
        if claim.status == Status::Active && !record.agrees_with(claim) {
            checks.left_unchanged(row);
        } else {
            checks.same(row, claim);
        }
    }
    Ok(checks)
}

/// Returns the claims that were stored from each record before. The claim of a record that is in force returns,
/// as a new one, if a record of this import had replaced it and does so no longer.
async fn stored_claims(sender: &Sender, records: &[Record], steps: &[PlanStep]) -> Result<Vec<StoredClaims>, CliError> {
    let mut stored = Vec::with_capacity(records.len());
    for record in records {
        stored.push(sender.stored_claims(record).await?);
    }
    for step in steps {
        let (Some(record), Some(known)) = (records.get(step.record), stored.get_mut(step.record)) else { continue };
        if !step.replaced_by.is_empty() {
            known.returning = None;
            continue;
        }
        let replaced = known.same.as_ref().filter(|same| same.status == Status::Superseded && record.is_in_force());
        let mut is_free = false;
        for by in replaced.iter().flat_map(|same| &same.replaced_by) {
            let source = sender.client.claim(&by.to_hex()).await?.source.unwrap_or_default();
            is_free |= records.iter().any(|other| other.file != record.file && other.is_in(&source));
        }
        if is_free {
            known.returning = known.same.take();
        }
    }
    Ok(stored)
}

/// An import of records in the order of a plan.
struct RecordImport<'a> {
    records: &'a [Record],
    rows: Vec<ImportRow>,
    /// For each record, its claims before the import.
    stored: Vec<StoredClaims>,
    /// The active claims of the records so far, by the record's index.
    active: BTreeMap<usize, ClaimId>,
    sender: Sender,
}

impl RecordImport<'_> {
    async fn step(&mut self, step: &PlanStep) -> Result<(), CliError> {
        let (Some(record), Some(row), Some(stored)) =
            (self.records.get(step.record), self.rows.get(step.record), self.stored.get(step.record))
        else {
            return Ok(());
        };
        let mut row = row.clone();
        // A record that two others replace is superseded by the first of them.
        let replaced = step.replaces.iter().filter_map(|old| self.active.remove(old));
        row.targets = replaced.chain(stored.outdated.iter().copied()).collect();
        let claim = if let Some(same) = &stored.same {
            if same.status == Status::Active && !record.agrees_with(same) {
                self.sender.report.skipped(&row.source, &row.claim.statement, LEFT_UNCHANGED);
            } else {
                self.sender.report.same(&row, same.id);
            }
            if same.status != Status::Active {
                return Ok(());
            }
            for target in &row.targets {
                let reason = row.claim.reason.as_deref().unwrap_or_default();
                self.sender.replace(&row, *target, same.id, reason).await?;
            }
            same.id
        } else if stored.returning.is_some() {
            let Some(claim) = self.sender.store_new(&row).await? else { return Ok(()) };
            claim
        } else {
            let stored = |new: &usize| self.stored.get(*new)?.active();
            if let Some(successor) = step.replaced_by.iter().find_map(stored) {
                row.claim = record.claim_before(successor);
            }
            let Some(claim) = self.sender.store(&row).await? else { return Ok(()) };
            claim
        };
        match &step.retract {
            Some(reason) => self.sender.retract(&row, claim, reason).await?,
            None => drop(self.active.insert(step.record, claim)),
        }
        Ok(())
    }
}

fn row(record: &Record) -> ImportRow {
    let file = record.file.rsplit('/').next().unwrap_or(&record.file).to_owned();
    ImportRow { claim: record.claim(), targets: Vec::new(), file, source: record.source() }
}

/// Reads the records under the paths; other files are skipped.
fn records(args: &Args) -> Result<(Vec<Record>, Vec<SkippedRow>), CliError> {
    let mut files = Vec::new();
    for path in &args.paths {
        let meta = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
        if meta.is_dir() {
            walk(path, 0, &mut files)?;
        } else {
            files.push(path.clone());
        }
    }
    files.sort();
    files.dedup();
    let (mut records, mut skipped) = (Vec::new(), Vec::new());
    for file in files {
        let path = source_path(&file);
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if rule_files::is_beside_records(&name) {
            skipped.push(SkippedRow::new(format!("{path}:1"), name, "not a decision record"));
            continue;
        }
        // An unreadable file in a folder is skipped; one that was named itself is an error.
        let text = match read(&file, MAX_FILE) {
            Ok(text) => text,
            Err(error) if args.paths.contains(&file) => return Err(error),
            Err(error) => {
                skipped.push(SkippedRow::new(format!("{path}:1"), name, error.to_string()));
                continue;
            }
        };
        // With a merge conflict, both versions would be read. Records refer to each other: none is imported.
        marked_section::check(&text)
            .map_err(|error| CliError::usage(format_args!("{path}: {error}; nothing was imported")))?;
        match Record::parse(&path, &text) {
            Ok(record) => match &record.status {
                RecordStatus::Proposed if !args.proposed => {
                    let why = "only proposed; import it with --proposed";
                    skipped.push(SkippedRow::new(record.source(), record.title, why));
                }
                RecordStatus::Unknown(status) => {
                    let why = format!("unknown status “{status}”; write “Accepted” if it is in force");
                    skipped.push(SkippedRow::new(record.source(), record.title, why));
                }
                _ => records.push(record),
            },
            Err(error) => skipped.push(SkippedRow::new(format!("{path}:{}", error.line), name, error.why)),
        }
    }
    Ok((records, skipped))
}

fn walk(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), CliError> {
    let entries = fs::read_dir(folder).map_err(|error| CliError::file("read", folder, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| CliError::file("read", folder, &error))?;
        let path = entry.path();
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        let kind = entry.file_type().map_err(|error| CliError::file("read", &path, &error))?;
        if hidden || kind.is_symlink() {
            continue;
        }
        if kind.is_dir() && depth < MAX_DEPTH {
            walk(&path, depth + 1, files)?;
        } else if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md")) {
            files.push(path);
        }
    }
    Ok(())
}
