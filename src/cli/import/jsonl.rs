//! `ergo import jsonl`: imports an export into this project, through the guard and with its history.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::PathBuf,
};

use super::{
    ImportOptions,
    agree::agreed,
    guard_checks::{self, RowChecks},
    read,
    report::{SkippedRow, preview},
    send::{ImportRow, RowOutcome, Sender, claims_from},
    source_path,
};
use crate::{
    api::{BesideRelation, CardAct, ClaimView, EventView, Refused, RememberRequest},
    cli::{CliError, Context, Exit},
    domain::{
        ClaimId, EventKind, ResolveAct, Status,
        text::{has_word, reason_of_import},
    },
    interchange::jsonl::{self, ExportedRow, JsonlError, ReplayStep},
};

/// The maximum size of an export, in bytes.
const MAX_EXPORT: u64 = 512 * 1024 * 1024;

/// Import an export. Claims get new ids and this device's signature; superseded and retracted claims become history.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The file that `ergo export jsonl` wrote.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    options: ImportOptions,
}

pub(super) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let path = source_path(&args.file);
    let text = read(&args.file, MAX_EXPORT)?;
    let (_, rows) = jsonl::read(&text).map_err(|error| {
        let refused = CliError::usage(format_args!("{path}: {error}"));
        match error {
            JsonlError::WrongCount { found, .. } => refused.hint(format_args!(
                "export the project again; to import the claims of this file alone, write `\"claims\":{found}` in line 1"
            )),
            _ => refused,
        }
    })?;
    let (kept, gone): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|row| !row.claim.flags.undone && !row.claim.flags.redacted);
    let skipped: Vec<_> = gone
        .into_iter()
        .map(|ExportedRow { line, claim, .. }| {
            let why = if claim.flags.redacted { "redacted" } else { "undone" };
            SkippedRow::new(format!("{path}:{line}"), claim.id.short(), why)
        })
        .collect();
    let rows: Vec<ImportRow> = kept.iter().map(|kept| row(&kept.claim, &format!("{path}:{}", kept.line))).collect();
    if args.options.dry_run {
        let checks = check(cx, &kept, &rows).await?;
        preview(cx, &rows, &skipped, &checks, args.options.details);
        return Ok(Exit::Ok);
    }
    if !agreed(cx, &rows, &skipped, args.options)? {
        return Ok(Exit::Refused);
    }
    let sender = Sender::new(cx, "jsonl", std::slice::from_ref(&args.file), &skipped).await?;
    let mut replay = Replay { path, rows: &kept, sender, new_ids: BTreeMap::new(), closed: BTreeSet::new() };
    let mut done = 0;
    for step in jsonl::replay(&kept) {
        done += usize::from(matches!(step, ReplayStep::Store { .. }));
        cx.ui.progress(text!("importing {} of {}", done, rows.len()));
        let sent = replay.step(step, &rows).await;
        if sent.is_err() {
            cx.ui.progress_done();
        }
        sent?;
    }
    // What is still active although its successor was refused.
    for (kept, row) in kept.iter().zip(&rows).filter(|(kept, _)| kept.is_closed()) {
        replay.close(&kept.claim, row).await?;
    }
    cx.ui.progress_done();
    let report = &replay.sender.report;
    report.show(cx, args.options.details);
    Ok(if report.is_complete(skipped.len()) { Exit::Ok } else { Exit::Refused })
}

/// Has the guard check the active claims that an import would store.
async fn check(cx: &mut Context, kept: &[ExportedRow], rows: &[ImportRow]) -> Result<RowChecks, CliError> {
    let stored = if guard_checks::has_store(cx)? {
        let client = cx.client().await?;
        claims_from(&client, &cx.known_scope(&client).await?, None).await?
    } else {
        Vec::new()
    };
    let stored = by_statement(&stored);
    let (mut open, mut same) = (Vec::new(), Vec::new());
    for (kept, row) in kept.iter().zip(rows) {
        let known = stored.get(row.claim.statement.as_str()).into_iter().flatten();
        if let Some(claim) = known.copied().find(|claim| was_imported_from(claim, &kept.claim, row)) {
            same.push((row, claim));
        } else if kept.claim.status == Status::Active {
            // Claims that were replaced contradict those that replaced them, which an earlier import may have stored.
            open.push(row.clone());
        }
    }
    let mut checks = guard_checks::check(cx, &open, &BTreeSet::new()).await?;
    for (row, claim) in same {
        checks.same(row, claim);
    }
    Ok(checks)
}

fn by_statement(claims: &[ClaimView]) -> HashMap<&str, Vec<&ClaimView>> {
    let mut found: HashMap<&str, Vec<&ClaimView>> = HashMap::new();
    for claim in claims {
        found.entry(&claim.statement).or_default().push(claim);
    }
    found
}

/// Whether an earlier import of an exported claim, converted to a row, stored this claim of the same statement. It has
/// the same kind, reason, source and conditions, but another id.
fn was_imported_from(claim: &ClaimView, exported: &ClaimView, row: &ImportRow) -> bool {
    let RememberRequest { kind, reason, source, qualifiers, .. } = &row.claim;
    claim.id != exported.id
        && !claim.flags.undone
        && Some(claim.kind) == *kind
        && claim.reason == *reason
        && claim.source == *source
        && claim.qualifiers == *qualifiers
}

/// Repeats the history of an export.
struct Replay<'a> {
    /// The path of the export.
    path: String,
    rows: &'a [ExportedRow],
    sender: Sender,
    /// The imported claims by their ids in the export.
    new_ids: BTreeMap<ClaimId, ClaimId>,
    /// The claims of the export that are no longer active here.
    closed: BTreeSet<ClaimId>,
}

impl Replay<'_> {
    async fn step(&mut self, step: ReplayStep, rows: &[ImportRow]) -> Result<(), CliError> {
        let (ReplayStep::Store { row: at, .. } | ReplayStep::Close { row: at }) = step;
        let (Some(exported), Some(row)) = (self.rows.get(at), rows.get(at)) else { return Ok(()) };
        match step {
            ReplayStep::Store { targets, .. } => self.store(exported, row.clone(), &targets).await,
            ReplayStep::Close { .. } => self.close(&exported.claim, row).await,
        }
    }

    async fn store(&mut self, exported: &ExportedRow, mut row: ImportRow, targets: &[ClaimId]) -> Result<(), CliError> {
        let claim = &exported.claim;
        let new_id = |old: &ClaimId| self.new_ids.get(old).copied();
        row.targets = targets.iter().filter_map(new_id).collect();
        row.claim.depends_on = claim.premises.iter().filter_map(new_id).map(ClaimId::to_hex).collect();
        let rules = claim.beside.iter().filter(|other| other.relation == BesideRelation::Rule);
        for rule in rules.filter(|rule| !self.closed.contains(&rule.claim) && !targets.contains(&rule.claim)) {
            row.claim.exception_to.extend(new_id(&rule.claim).map(ClaimId::to_hex));
            row.claim.force_exception = row.claim.force_exception.or(rule.reason.clone().filter(|why| has_word(why)));
        }
        if row.claim.exception_to.is_empty() {
            row.claim.force_exception = None;
        }
        let id = match self.sender.try_store(&row).await? {
            RowOutcome::Claim(id) => Some(id),
            RowOutcome::Refused(refused) => self.settle(exported, &row, &refused).await?,
            RowOutcome::Skipped => None,
        };
        if let Some(id) = id {
            self.new_ids.insert(claim.id, id);
            self.closed.extend(targets);
        }
        Ok(())
    }

    /// Stores a refused row if the export says why it stood beside each claim that it contradicts.
    async fn settle(
        &mut self,
        exported: &ExportedRow,
        row: &ImportRow,
        refused: &Refused,
    ) -> Result<Option<ClaimId>, CliError> {
        let is_exception = |event: &EventView| event.kind == EventKind::Resolve(ResolveAct::Exception).to_string();
        let (mut accepted, mut act): (Option<&EventView>, CardAct) = (None, CardAct::Dismiss);
        for conflict in &refused.conflicts {
            let old = self.new_ids.iter().find(|(_, new)| **new == conflict.claim.id).map(|(old, _)| *old);
            let event = old.and_then(|old| exported.accepted_beside(&old));
            // A claim that is not active at the end stands beside the others only until it is closed.
            let other = old.and_then(|old| self.rows.iter().find(|row| row.claim.id == old));
            let passes = || exported.is_closed() || other.is_some_and(ExportedRow::is_closed);
            if event.is_none() && !passes() {
                self.sender.report.refused(row, refused);
                return Ok(None);
            }
            if event.is_none_or(is_exception) {
                act = CardAct::Exception;
            }
            accepted = accepted.or(event);
        }
        let reason = accepted.and_then(|event| event.reason.clone()).filter(|reason| has_word(reason));
        let reason = reason.unwrap_or_else(|| format!("Both were active in the export {}.", self.path));
        let first = accepted.filter(|event| is_exception(event)).and_then(|event| event.targets.first());
        let exception = first.and_then(|first| self.new_ids.get(first)).copied();
        self.sender.keep_both(row, refused, act, exception, &reason).await
    }

    /// Withdraws a claim, or replaces it by its successor if that was imported.
    async fn close(&mut self, claim: &ClaimView, row: &ImportRow) -> Result<(), CliError> {
        let Some(id) = self.new_ids.get(&claim.id).copied().filter(|_| !self.closed.contains(&claim.id)) else {
            return Ok(());
        };
        let default = format!("{} in the export {}.", claim.status, self.path);
        let reason = claim.closing_reason.clone().filter(|reason| has_word(reason)).unwrap_or(default);
        let by = claim.replaced_by.iter().find_map(|by| self.new_ids.get(by)).copied();
        let replaced = match by {
            Some(by) => self.sender.replace(row, id, by, &reason).await?,
            None => false,
        };
        if !replaced {
            self.sender.retract(row, id, &reason).await?;
        }
        self.closed.insert(claim.id);
        Ok(())
    }
}

/// Converts an exported claim to a row.
fn row(claim: &ClaimView, source: &str) -> ImportRow {
    // Earlier versions stored reasons without a word.
    let reason = claim.reason.clone().map(|reason| if has_word(&reason) { reason } else { reason_of_import(source) });
    let request = RememberRequest {
        statement: claim.statement.clone(),
        kind: Some(claim.kind),
        reason,
        source: claim.source.clone(),
        key: claim.key.clone(),
        qualifiers: claim.qualifiers.clone(),
        ..RememberRequest::default()
    };
    // The old id distinguishes equal statements of different times.
    ImportRow { claim: request, targets: Vec::new(), file: claim.id.to_hex(), source: source.to_owned() }
}
