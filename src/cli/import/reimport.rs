//! Imports a rule file again: stores new lines, supersedes changed ones, retracts removed ones.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use super::{
    ImportOptions, MAX_FILE, change_order,
    changes_view::{self, ChangedRow, RowChange},
    earlier_claims::{EarlierClaims, earlier, former_of},
    file_of_source,
    guard_checks::{self, RowChecks, has_store},
    past_imports::{ImportKey, PastImport, PastImports, READER_VERSION},
    read, real_path,
    report::SkippedRow,
    scope,
    send::{ImportRow, Sender},
};
use crate::{
    api::ClaimView,
    cli::{CliError, Context},
    client::Client,
    domain::{ClaimId, EventId, Qualifiers, Scope, Status, judgement::words_hash},
    interchange::{
        again_in,
        line_diff::{LineChange, RuleLine, compare},
        no_longer_in, rules,
    },
};

/// The current version of a rule file.
pub(super) struct RuleFile {
    /// The hash of its text.
    pub(super) hash: String,
    /// Its repository, or else its folder; empty for standard input.
    pub(super) origin: String,
    /// Its path, as used in sources.
    pub(super) path: String,
    /// Its name, as used in reasons.
    pub(super) name: String,
    pub(super) rows: Vec<ImportRow>,
    /// Its lines that are no rules.
    pub(super) skipped: Vec<SkippedRow>,
}

/// A file and its changes since the last import.
struct ComparedFile {
    file: RuleFile,
    /// Whether the file did not change, so that nothing was compared.
    untouched: bool,
    /// The change of each row.
    changes: Vec<LineChange>,
    /// The claims that were imported from the file before.
    earlier: Vec<ClaimView>,
    /// Those that were closed with their lines.
    former: Vec<ClaimView>,
    /// The indexes in `earlier` of active claims whose lines were removed.
    gone: Vec<usize>,
    /// Whether other claims of removed lines stay because another file has the line. The next import compares again.
    kept: bool,
}

/// Rule files, compared with their last imports.
pub(super) struct Reimport {
    files: Vec<ComparedFile>,
    past: PastImports,
    scope: Scope,
    place: String,
}

/// Returns the repository of a file, or else its folder.
pub(super) fn origin(file: &Path) -> String {
    if file.as_os_str() == "-" {
        return String::new();
    }
    let real = real_path(file).unwrap_or_else(|_| file.to_owned());
    let folder = real.parent().map(Path::to_owned).unwrap_or_default();
    scope::project_of(&folder).identities.into_iter().next().unwrap_or_else(|| folder.display().to_string())
}

impl Reimport {
    /// Compares files with their last imports. A dry run without a store starts no daemon.
    pub(super) async fn compare(
        cx: &mut Context,
        files: Vec<RuleFile>,
        options: ImportOptions,
    ) -> Result<Self, CliError> {
        let new = |file: RuleFile| ComparedFile {
            changes: vec![LineChange::New; file.rows.len()],
            untouched: false,
            earlier: Vec::new(),
            former: Vec::new(),
            gone: Vec::new(),
            kept: false,
            file,
        };
        if options.dry_run && !has_store(cx)? {
            let scope = cx.here()?.scope;
            let files = files.into_iter().map(new).collect();
            return Ok(Self { files, past: PastImports::default(), scope, place: String::new() });
        }
        let client = cx.client().await?;
        let mut out = Self::without_files(cx, &client).await?;
        for file in files {
            let known = out.past.imports.get(&out.key(&file)).filter(|_| !options.dry_run && !options.details).cloned();
            let known = known.filter(|known| known.hash == file.hash && known.reader == READER_VERSION);
            let compared = if let Some(known) = known
                && is_in_effect(&client, &known).await
            {
                ComparedFile { untouched: true, ..new(RuleFile { rows: Vec::new(), skipped: Vec::new(), ..file }) }
            } else if file.origin.is_empty() {
                // Standard input has no earlier version.
                new(file)
            } else {
                let earlier = out.earlier(&client, &file).await?;
                out.keep_claims_of_other_files(difference(file, earlier))
            };
            out.files.push(compared);
        }
        Ok(out)
    }

    /// Creates a comparison of no files, with this device's record of earlier imports.
    pub(super) async fn without_files(cx: &Context, client: &Client) -> Result<Self, CliError> {
        let scope = cx.known_scope(client).await?;
        Ok(Self { files: Vec::new(), past: PastImports::load(cx)?, scope, place: client.place() })
    }

    /// Returns the claims that were imported from a file before, and not from another repository's file with this path.
    pub(super) async fn earlier(&self, client: &Client, file: &RuleFile) -> Result<EarlierClaims, CliError> {
        let others = self.past.claims_of_others(&self.key(file));
        let mut found = earlier(client, &self.scope, file).await?;
        for claims in [&mut found.own, &mut found.former] {
            claims.retain(|claim| !others.contains(&claim.id));
        }
        Ok(found)
    }

    /// Keeps the claims of removed and changed lines that another imported file still has; they are reported as
    /// skipped. A changed line is then a new one, which the guard compares with the claim that stays.
    fn keep_claims_of_other_files(&self, mut one: ComparedFile) -> ComparedFile {
        if one.gone.is_empty() && !one.changes.iter().any(|change| matches!(change, LineChange::Changed(_))) {
            return one;
        }
        let words = |kind, statement: &str| words_hash(kind, statement, &Qualifiers::default());
        let mut elsewhere: BTreeMap<EventId, &str> = BTreeMap::new();
        for (path, origin_then) in self.past.others_in_scope(&self.key(&one.file)) {
            let file = file_of_source(path);
            // A file of another repository or folder may have the same path in sources.
            if origin(&file) != origin_then {
                continue;
            }
            let Ok(text) = read(&file, MAX_FILE) else { continue };
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let rules = rules::parse(&name, &text).rules;
            elsewhere.extend(rules.iter().map(|rule| (words(rule.kind, &rule.statement), path)));
        }
        let ComparedFile { file, changes, earlier, gone, kept, .. } = &mut one;
        let is_elsewhere = |claim: &ClaimView| elsewhere.contains_key(&words(claim.kind, &claim.statement));
        for change in changes {
            if let LineChange::Changed(old) = *change
                && earlier.get(old).is_some_and(is_elsewhere)
            {
                *change = LineChange::New;
                gone.push(old);
            }
        }
        gone.retain(|at| {
            let Some(claim) = earlier.get(*at) else { return false };
            let Some(other) = elsewhere.get(&words(claim.kind, &claim.statement)) else { return true };
            let why = format!("removed from {}, but still in {other}; its claim stays", file.path);
            file.skipped.push(SkippedRow::new(claim.source.clone().unwrap_or_default(), &claim.statement, why));
            *kept = true;
            false
        });
        one
    }

    /// Records the claims that the import of a file's history stored; the next import compares the file with them.
    pub(super) fn record_history(&mut self, file: &RuleFile, claims: BTreeSet<ClaimId>) -> Result<(), CliError> {
        let Some(probe) = claims.first().copied() else { return Ok(()) };
        self.record(file, String::new(), (probe, true), claims);
        self.past.save()
    }

    fn record(&mut self, file: &RuleFile, hash: String, (probe, in_force): (ClaimId, bool), claims: BTreeSet<ClaimId>) {
        let key = self.key(file);
        // Claims of earlier imports remain this file's.
        let before = self.past.imports.remove(&key).map(|before| before.claims).unwrap_or_default();
        let of_lines = claims.clone();
        let claims = claims.into_iter().chain(before).collect();
        self.past.imports.insert(key, PastImport { hash, reader: READER_VERSION, probe, in_force, of_lines, claims });
    }

    fn key(&self, file: &RuleFile) -> ImportKey {
        ImportKey::new(&self.place, &self.scope, &file.path, &file.origin)
    }

    /// Returns the rows that are new or changed.
    pub(super) fn to_store(&self) -> Vec<ImportRow> {
        let rows = self.files.iter().flat_map(|one| one.file.rows.iter().zip(&one.changes));
        rows.filter(|(_, change)| matches!(change, LineChange::New | LineChange::Changed(_)))
            .map(|(row, _)| row.clone())
            .collect()
    }

    /// Returns the skipped lines.
    pub(super) fn skipped(&self) -> Vec<SkippedRow> {
        self.files.iter().flat_map(|one| one.file.skipped.iter().cloned()).collect()
    }

    /// Applies the changes, and records what was imported, even if an error ends the import early.
    pub(super) async fn send(mut self, cx: &mut Context, sender: &mut Sender) -> Result<(), CliError> {
        let mut probes: Vec<Option<(ClaimId, bool)>> = vec![None; self.files.len()];
        let mut claims: Vec<BTreeSet<ClaimId>> = vec![BTreeSet::new(); self.files.len()];
        let sent = self.apply(cx, sender, &mut probes, &mut claims).await;
        // Refused and proposed rows, and those that were not reached, are retried by the next import.
        let open = sent.is_err() || sender.report.has_open_cards();
        let files = std::mem::take(&mut self.files);
        for ((one, probe), claims) in files.iter().zip(probes).zip(claims).filter(|((one, _), _)| !one.untouched) {
            if let Some(probe) = probe {
                let hash = if open || one.kept { String::new() } else { one.file.hash.clone() };
                self.record(&one.file, hash, probe, claims);
            }
        }
        let saved = self.past.save();
        sent.and(saved)
    }

    /// Applies the changes: retracts removed lines, supersedes changed ones, stores new ones. Adds a probe and the claims
    /// of each file.
    async fn apply(
        &self,
        cx: &mut Context,
        sender: &mut Sender,
        probes: &mut [Option<(ClaimId, bool)>],
        claims: &mut [BTreeSet<ClaimId>],
    ) -> Result<(), CliError> {
        for ((one, probe), claims) in self.files.iter().zip(probes.iter_mut()).zip(claims.iter_mut()) {
            if one.untouched {
                sender.report.untouched.push(one.file.path.clone());
            }
            for old in one.gone.iter().filter_map(|at| one.earlier.get(*at)) {
                let reason = no_longer_in(&one.file.path);
                if sender.retire(old, &reason).await? {
                    *probe = Some((old.id, false));
                }
            }
            for (row, change) in one.file.rows.iter().zip(&one.changes) {
                if let LineChange::Same(old) | LineChange::Moved(old) = change
                    && let Some(old) = one.earlier.get(*old)
                {
                    sender.report.same(row, old.id);
                    claims.insert(old.id);
                    probe.get_or_insert((old.id, old.status == Status::Active));
                }
            }
        }
        let mut waiting: Vec<(usize, ImportRow)> = Vec::new();
        for (at, one) in self.files.iter().enumerate() {
            for (row, change) in one.file.rows.iter().zip(&one.changes) {
                if let LineChange::Changed(old) = change
                    && let Some(old) = one.earlier.get(*old)
                {
                    waiting.push((at, ImportRow { targets: vec![old.id], ..row.clone() }));
                }
            }
        }
        let new = self.files.iter().enumerate().flat_map(|(at, one)| {
            let rows = one.file.rows.iter().zip(&one.changes).filter(|(_, change)| **change == LineChange::New);
            rows.map(move |(row, _)| (at, row.clone()))
        });
        let mut rows = change_order::in_safe_order(sender, waiting).await?;
        rows.extend(new);
        let total = rows.len();
        for (done, (at, row)) in (1_usize..).zip(rows) {
            cx.ui.progress(text!("importing {} of {}", done, total));
            let file = self.files.get(at).filter(|_| row.targets.is_empty());
            if let Some(id) = store_or_bring_back(sender, &row, file).await?
                && let (Some(probe), Some(claims)) = (probes.get_mut(at), claims.get_mut(at))
            {
                *probe = Some((id, true));
                claims.insert(id);
            }
        }
        Ok(())
    }

    /// Has the guard check the changes, without storing them.
    pub(super) async fn check(&self, cx: &mut Context) -> Result<RowChecks, CliError> {
        let mut rows = Vec::new();
        let mut leaving: BTreeSet<ClaimId> = BTreeSet::new();
        for one in &self.files {
            leaving.extend(one.gone.iter().filter_map(|at| one.earlier.get(*at)).map(|claim| claim.id));
            for (row, change) in one.file.rows.iter().zip(&one.changes) {
                let targets = match change {
                    LineChange::New => Vec::new(),
                    LineChange::Changed(old) => one.earlier.get(*old).map(|old| old.id).into_iter().collect(),
                    LineChange::Same(_) | LineChange::Moved(_) => continue,
                };
                leaving.extend(&targets);
                rows.push(ImportRow { targets, ..row.clone() });
            }
        }
        guard_checks::check(cx, &rows, &leaving).await
    }

    /// Shows the changes with the checks of the guard, as a table or as JSON.
    pub(super) fn show(&self, cx: &mut Context, checks: &RowChecks, details: bool) {
        let (rows, skipped) = (self.changed_rows(), self.skipped());
        if cx.ui.json {
            changes_view::show_json(cx, &rows, &skipped, checks);
        } else {
            changes_view::show_table(cx, &rows, &skipped, checks, details);
        }
    }

    /// Returns the rows of each file, followed by the claims of its removed lines.
    fn changed_rows(&self) -> Vec<ChangedRow<'_>> {
        let mut rows = Vec::new();
        for one in &self.files {
            for (row, change) in one.file.rows.iter().zip(&one.changes) {
                let old = match change {
                    LineChange::Same(old) | LineChange::Moved(old) | LineChange::Changed(old) => one.earlier.get(*old),
                    LineChange::New => None,
                };
                let change = match change {
                    LineChange::New if former_of(&one.former, row).is_some() => RowChange::Returned,
                    change => RowChange::from(*change),
                };
                rows.push(ChangedRow { change, row: Some(row), old });
            }
            let gone = one.gone.iter().map(|at| one.earlier.get(*at));
            rows.extend(gone.map(|old| ChangedRow { change: RowChange::Gone, row: None, old }));
        }
        rows
    }
}

/// Stores a row, or makes its claim active again if the row is a line of the file that returns.
async fn store_or_bring_back(
    sender: &mut Sender,
    row: &ImportRow,
    file: Option<&ComparedFile>,
) -> Result<Option<ClaimId>, CliError> {
    if let Some(one) = file
        && let Some(claim) = former_of(&one.former, row)
        && sender.bring_back(row, claim, &again_in(&one.file.path)).await?
    {
        return Ok(Some(claim.id));
    }
    sender.store_new(row).await
}

/// Whether an import is still in effect and was not undone, by the state of its probe, and no earlier import was undone that stored
/// some of its lines.
async fn is_in_effect(client: &Client, import: &PastImport) -> bool {
    let claim = client.claim(&import.probe.to_hex()).await;
    if !claim.is_ok_and(|claim| !claim.flags.undone && (claim.status == Status::Active) == import.in_force) {
        return false;
    }
    for id in &import.of_lines {
        if client.claim(&id.to_hex()).await.is_ok_and(|claim| claim.flags.undone) {
            return false;
        }
    }
    true
}

fn difference(file: RuleFile, earlier: EarlierClaims) -> ComparedFile {
    let EarlierClaims { own, former } = earlier;
    let line = |source: Option<&str>| {
        source.and_then(|source| source.rsplit_once(':')).and_then(|(_, line)| line.parse().ok()).unwrap_or_default()
    };
    let now: Vec<RuleLine> = file
        .rows
        .iter()
        .map(|row| RuleLine { statement: row.claim.statement.clone(), line: line(Some(&row.source)) })
        .collect();
    let of = |claim: &ClaimView| RuleLine { statement: claim.statement.clone(), line: line(claim.source.as_deref()) };
    // Closed claims match by statement only; only active ones can be changed or removed.
    let (active, closed): (Vec<ClaimView>, Vec<ClaimView>) =
        own.into_iter().partition(|claim| claim.status == Status::Active);
    let with =
        |claims: &[ClaimView], line: &RuleLine| claims.iter().position(|claim| claim.statement == line.statement);
    let known = |line: &RuleLine| with(&closed, line).filter(|_| with(&active, line).is_none());
    let open: Vec<RuleLine> = now.iter().filter(|line| known(line).is_none()).cloned().collect();
    let lines: Vec<RuleLine> = active.iter().map(of).collect();
    let mut compared = compare(&lines, &open);
    let open_rows = file.rows.iter().zip(&now).filter(|(_, line)| known(line).is_none()).map(|(row, _)| row);
    for (at, _) in open_rows.enumerate().filter(|(_, row)| former_of(&former, row).is_some()) {
        compared.separate(at);
    }
    let mut changes = compared.now.into_iter();
    let changes = now
        .iter()
        .map(|line| match known(line) {
            Some(at) => LineChange::Same(active.len() + at),
            None => changes.next().unwrap_or(LineChange::New),
        })
        .collect();
    let earlier = active.into_iter().chain(closed).collect();
    ComparedFile { file, untouched: false, changes, earlier, former, gone: compared.gone, kept: false }
}
