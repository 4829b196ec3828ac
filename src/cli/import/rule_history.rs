//! `ergo import rules --history`: imports a rule file commit by commit, so that a new store has a history.
//!
//! Each commit that changed the file is read in order. Its new rules hold from the day of the commit, with its message as the
//! reason; a changed line supersedes its old version, and the claims of removed lines are retracted. A rule of which another
//! source has a claim is not stored again.

use std::{collections::BTreeSet, path::Path};

use super::{
    ImportOptions,
    agree::agreed,
    claims_elsewhere::ClaimsElsewhere,
    file_versions::{Commit, Version, folder_and_name, versions},
    guard_checks::{self, has_store},
    reimport::{self, Reimport, RuleFile},
    send::{ImportRow, NUMBER_DIGITS, RowOutcome, Sender},
    source_path,
};
use crate::{
    api::{CardAct, ClaimView, Refused, RememberRequest},
    cli::{CliError, Context, Exit, show::text::count},
    domain::{ClaimId, Qualifiers, text},
    interchange::{
        line_diff::{self, LineChange, RuleLine},
        rules::{self, SHORT_ID, is_from_commit},
    },
};

/// The most characters of a commit's subject that become a reason.
const MAX_SUBJECT: usize = 200;

/// A rule of the previous version, and its claim if one was stored.
struct ImportedRule {
    line: RuleLine,
    claim: Option<ClaimId>,
    /// The rule's row, if it was not stored.
    row: Option<ImportRow>,
    /// If the guard refused it: it is tried again once a claim that it contradicts is no longer active, and reported if that fails.
    refused: Option<Box<Refused>>,
}

impl ImportedRule {
    /// Returns the claims that end with the rule: its own, or those that it could not replace.
    fn claims(&self) -> impl Iterator<Item = ClaimId> {
        let targets = self.row.iter().flat_map(|row| &row.targets);
        self.claim.into_iter().chain(targets.copied())
    }

    /// Whether the guard refused the rule because of one of these claims.
    fn is_refused_because_of(&self, claims: &BTreeSet<ClaimId>) -> bool {
        self.refused.iter().flat_map(|refused| &refused.conflicts).any(|conflict| claims.contains(&conflict.claim.id))
    }

    /// Reports the refusal of a rule that is not tried again.
    fn report(&self, sender: &mut Sender) {
        if let (Some(row), Some(refused)) = (&self.row, &self.refused) {
            sender.report.refused(row, refused);
        }
    }
}

/// Imports the history of a file.
pub(super) async fn run(file: &Path, options: ImportOptions, cx: &mut Context) -> Result<Exit, CliError> {
    let versions = versions(file)?;
    let path = source_path(file);
    if versions.is_empty() {
        return Err(CliError::usage(format_args!("git knows no commit that changed {path}"))
            .hint("commit the file first, or import it without --history"));
    }
    let name = folder_and_name(file)?.1;
    let (hash, origin) = (String::new(), reimport::origin(file));
    let rule_file = RuleFile { hash, origin, path: path.clone(), name, rows: Vec::new(), skipped: Vec::new() };
    let (mut past, mut earlier, mut elsewhere) = (None, Vec::new(), ClaimsElsewhere::default());
    if !options.dry_run || has_store(cx)? {
        let (imports, claims) = without_plain_imports(cx, &rule_file).await?;
        elsewhere = ClaimsElsewhere::read(cx, &claims, &versions).await?;
        (past, earlier) = (Some(imports), claims);
    }
    if options.dry_run {
        return preview(cx, &path, &versions, &earlier, &elsewhere).await;
    }
    let steps: usize = versions.iter().map(|version| version.rules.len()).sum();
    let all: Vec<ImportRow> = versions.iter().flat_map(|version| rows(&path, version)).collect();
    if !agreed(cx, &all, &[], options)? {
        return Ok(Exit::Refused);
    }
    let mut sender = Sender::new(cx, "rule history", &[file.to_owned()], &[]).await?;
    let (mut imported, mut done): (Vec<ImportedRule>, usize) = (Vec::new(), 0);
    let mut claims = BTreeSet::new();
    let mut sent = Ok(());
    for version in &versions {
        done += version.rules.len();
        cx.ui.progress(text!("importing {} of {}", done, steps));
        let before = std::mem::take(&mut imported);
        match apply_version(&mut sender, &path, before, version, &elsewhere, &mut claims).await {
            Ok(applied) => imported = applied,
            Err(error) => {
                sent = Err(error);
                break;
            }
        }
    }
    cx.ui.progress_done();
    // What was stored before an error is recorded, too.
    let recorded = past.as_mut().map_or(Ok(()), |past| past.record_history(&rule_file, claims));
    sent?;
    for rule in &imported {
        rule.report(&mut sender);
    }
    sender.report.show(cx, options.details);
    recorded?;
    Ok(Exit::Ok)
}

/// Shows the versions, and the checks of their rules against the stored claims besides `earlier`, those of the file itself, and
/// those that say the same.
async fn preview(
    cx: &mut Context,
    path: &str,
    versions: &[Version],
    earlier: &[ClaimView],
    elsewhere: &ClaimsElsewhere,
) -> Result<Exit, CliError> {
    let mut known: BTreeSet<&str> = earlier.iter().map(|claim| claim.statement.as_str()).collect();
    let all: Vec<ImportRow> = versions.iter().flat_map(|version| rows(path, version)).collect();
    let unknown = all.iter().filter(|row| elsewhere.of(row).is_none());
    let new: Vec<ImportRow> = unknown.filter(|row| known.insert(&row.claim.statement)).cloned().collect();
    let leaving = earlier.iter().map(|claim| claim.id).chain(elsewhere.ids()).collect();
    let checks = guard_checks::check(cx, &new, &leaving).await?;
    if cx.ui.json {
        let of = |version: &Version| {
            let Commit { id, day, author, subject } = &version.commit;
            let rules: Vec<_> = version.rules.iter().map(|rule| &rule.statement).collect();
            serde_json::json!({ "commit": id, "day": day, "author": author, "subject": subject, "rules": rules })
        };
        let versions: Vec<_> = versions.iter().map(of).collect();
        cx.ui.value(&serde_json::json!({ "dry_run": true, "versions": versions, "guard": checks }));
        return Ok(Exit::Ok);
    }
    for version in versions {
        let Commit { id, day, subject, .. } = &version.commit;
        let rules = count(version.rules.len(), "rule", "rules");
        let id = id.get(..SHORT_ID).unwrap_or(id);
        cx.ui.line(text!("{}  {}  {}: {}", day, id, rules, text::sanitize_line(subject)));
    }
    checks.show(cx);
    let counts = checks.counts();
    cx.ui.line(text!("{}", format!("{counts} Nothing was stored.").trim_start()));
    Ok(Exit::Ok)
}

/// Returns this device's record of earlier imports, and the claims of those of this file. An import of the file without its history
/// is an error: old versions of the file would be stored beside the claims of the current one, which contradict them.
async fn without_plain_imports(cx: &Context, file: &RuleFile) -> Result<(Reimport, Vec<ClaimView>), CliError> {
    let client = cx.client().await?;
    let past = Reimport::without_files(cx, &client).await?;
    let earlier = past.earlier(&client, file).await?.own;
    let Some(plain) = earlier.iter().filter(|claim| !is_from_commit(claim)).max_by_key(|claim| claim.at) else {
        return Ok((past, earlier));
    };
    let error =
        CliError::usage(format_args!("{} was imported without --history before; nothing was imported", file.path))
            .hint("`ergo import rules` without --history imports what changed since");
    let made = client.history(&plain.id.to_hex()).await?.events.into_iter().find(|event| event.id == plain.id);
    Err(match made.and_then(|event| event.op_id.to_hex().get(..NUMBER_DIGITS).map(str::to_owned)) {
        Some(number) => error
            .hint(format_args!("to import its history instead, undo that import first: `ergo undo --import {number}`")),
        None => error,
    })
}

/// Changes the claims of one version to those of the next.
async fn apply_version(
    sender: &mut Sender,
    path: &str,
    before: Vec<ImportedRule>,
    version: &Version,
    elsewhere: &ClaimsElsewhere,
    claims: &mut BTreeSet<ClaimId>,
) -> Result<Vec<ImportedRule>, CliError> {
    let lines: Vec<RuleLine> = before.iter().map(|rule| rule.line.clone()).collect();
    let rows = rows(path, version);
    let now: Vec<RuleLine> = version.rules.iter().map(rule_line).collect();
    let difference = line_diff::compare(&lines, &now);
    let mut ended: BTreeSet<ClaimId> = BTreeSet::new();
    for old in difference.gone.iter().filter_map(|old| before.get(*old)) {
        old.report(sender);
    }
    // Removed rules are retracted first, since new ones may contradict them.
    for claim in difference.gone.iter().filter_map(|old| before.get(*old)).flat_map(ImportedRule::claims) {
        let row = ImportRow { file: row_file(path, &version.commit), ..ImportRow::default() };
        sender.retract(&row, claim, &format!("{}{}", removed_from(path), reason(&version.commit))).await?;
        ended.insert(claim);
    }
    let mut after = Vec::with_capacity(now.len());
    for ((line, change), mut row) in now.into_iter().zip(difference.now).zip(rows) {
        let old = match change {
            LineChange::Same(old) | LineChange::Moved(old) | LineChange::Changed(old) => before.get(old),
            LineChange::New => None,
        };
        if let (LineChange::Same(_) | LineChange::Moved(_), Some(old)) = (&change, old) {
            let (row, refused) = (old.row.clone(), old.refused.clone());
            after.push(ImportedRule { line, claim: old.claim, row, refused });
            continue;
        }
        if let Some(old) = old {
            old.report(sender);
        }
        row.targets.extend(old.into_iter().flat_map(ImportedRule::claims));
        after.push(store(sender, line, row, elsewhere, &mut ended, claims).await?);
    }
    // Now that all changes of this version are made, some refused rules may contradict nothing any more.
    let mut rules = Vec::with_capacity(after.len());
    for rule in after {
        let freed = rule.is_refused_because_of(&ended);
        rules.push(match rule {
            ImportedRule { line, row: Some(row), .. } if freed => {
                // With the reason and the first day of the commit that added it.
                let row = ImportRow { file: row_file(path, &version.commit), ..row };
                store(sender, line, row, elsewhere, &mut ended, claims).await?
            }
            rule => rule,
        });
    }
    Ok(rules)
}

/// Stores a rule. `ended` gets the claims that it replaces, and `claims` its own.
async fn store(
    sender: &mut Sender,
    line: RuleLine,
    row: ImportRow,
    elsewhere: &ClaimsElsewhere,
    ended: &mut BTreeSet<ClaimId>,
    claims: &mut BTreeSet<ClaimId>,
) -> Result<ImportedRule, CliError> {
    if let Some(known) = elsewhere.of(&row) {
        // That claim is not the file's own: later versions neither replace nor retract it.
        for old in &row.targets {
            sender.replace(&row, *old, known, row.claim.reason.as_deref().unwrap_or_default()).await?;
        }
        ended.extend(&row.targets);
        claims.insert(known);
        sender.report.same(&row, known);
        return Ok(ImportedRule { line, claim: None, row: None, refused: None });
    }
    let (claim, refused) = match sender.try_store(&row).await? {
        RowOutcome::Claim(claim) => (Some(claim), None),
        RowOutcome::Refused(refused) if elsewhere.came_after(&row, &refused) => {
            let reason = format!("A later commit changed or removed it ({}).", row.source);
            (sender.keep_both(&row, &refused, CardAct::Dismiss, None, &reason).await?, None)
        }
        RowOutcome::Refused(refused) => (None, Some(refused)),
        RowOutcome::Skipped => (None, None),
    };
    if claim.is_some() {
        ended.extend(&row.targets);
        claims.extend(claim);
    }
    Ok(ImportedRule { line, claim, row: Some(row).filter(|_| claim.is_none()), refused })
}

/// Returns the rules of a version as rows, which hold from the day of its commit.
fn rows(path: &str, version: &Version) -> Vec<ImportRow> {
    let row = |rule: &rules::Rule| {
        let source = format!("{path}:{}", rule.line);
        let claim = RememberRequest {
            statement: rule.statement.clone(),
            kind: Some(rule.kind),
            reason: Some(reason(&version.commit)),
            source: Some(source.clone()),
            qualifiers: Qualifiers { valid_from: Some(version.commit.day.clone()), ..Qualifiers::default() },
            ..RememberRequest::default()
        };
        ImportRow { claim, targets: Vec::new(), file: row_file(path, &version.commit), source }
    };
    version.rules.iter().map(row).collect()
}

fn rule_line(rule: &rules::Rule) -> RuleLine {
    RuleLine { statement: rule.statement.clone(), line: rule.line }
}

/// Returns what identifies a row together with its statement: a rule that comes back in a later commit is another row.
fn row_file(path: &str, commit: &Commit) -> String {
    format!("{path}@{}", commit.id)
}

/// Returns the reason that a commit gives: its subject, its author, and its short id, by which [`is_from_commit`] recognises it.
fn reason(commit: &Commit) -> String {
    let subject = text::cut(commit.subject.trim().trim_end_matches('.'), MAX_SUBJECT);
    let id = commit.id.get(..SHORT_ID).unwrap_or(&commit.id);
    format!("{subject} ({}, {id})", commit.author)
}

/// Returns the beginning of the reason with which the claim of a removed line is retracted.
pub(super) fn removed_from(path: &str) -> String {
    format!("Removed from {path}: ")
}
