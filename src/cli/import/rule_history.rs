//! `ergo import rules --history`: imports a rule file commit by commit, so that a new store has a history.
//!
//! Each commit that changed the file is read in order. Its new rules hold from the day of the commit, with its message as the
//! reason; a changed line supersedes its old version, and the claims of removed lines are retracted.

use std::{
    collections::BTreeSet,
    io::{self, BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::Stdio,
    thread,
};

use super::{
    ImportOptions, MAX_FILE,
    agree::agreed,
    guard_checks::{self, has_store},
    reimport::{self, Reimport, RuleFile},
    send::{ImportRow, NUMBER_DIGITS, RowOutcome, Sender},
    source_path,
};
use crate::{
    api::{ClaimView, Refused, RememberRequest},
    cli::{CliError, Context, Exit, git, show::text::count},
    domain::{ClaimId, Qualifiers, marked_section, text},
    interchange::{
        line_diff::{self, LineChange, RuleLine},
        rules::{self, SHORT_ID, is_from_commit},
    },
};

/// The most commits that are read: the newest of a longer history.
const MAX_COMMITS: usize = 500;

/// The most characters of a commit's subject that become a reason.
const MAX_SUBJECT: usize = 200;

/// The maximum length of the line with which git describes an object, in bytes; longer than a path may be.
const MAX_HEADER_LINE: u64 = 16 * 1024;

/// A commit that changed the file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Commit {
    id: String,
    /// `YYYY-MM-DD`.
    day: String,
    author: String,
    subject: String,
}

/// A version of the file: a commit, and the rules of the file in it.
struct Version {
    commit: Commit,
    rules: Vec<rules::Rule>,
}

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
    let (mut past, mut earlier) = (None, Vec::new());
    if !options.dry_run || has_store(cx)? {
        let (imports, claims) = without_plain_imports(cx, &rule_file).await?;
        (past, earlier) = (Some(imports), claims);
    }
    if options.dry_run {
        return preview(cx, &path, &versions, &earlier).await;
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
        match apply_version(&mut sender, &path, std::mem::take(&mut imported), version, &mut claims).await {
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

/// Shows the versions, and the checks of their rules against the stored claims besides `earlier`, those of the file itself.
async fn preview(cx: &mut Context, path: &str, versions: &[Version], earlier: &[ClaimView]) -> Result<Exit, CliError> {
    let mut known: BTreeSet<&str> = earlier.iter().map(|claim| claim.statement.as_str()).collect();
    let all: Vec<ImportRow> = versions.iter().flat_map(|version| rows(path, version)).collect();
    let new: Vec<ImportRow> = all.iter().filter(|row| known.insert(&row.claim.statement)).cloned().collect();
    let checks = guard_checks::check(cx, &new, &earlier.iter().map(|claim| claim.id).collect()).await?;
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
        after.push(store(sender, line, row, &mut ended, claims).await?);
    }
    // Now that all changes of this version are made, some refused rules may contradict nothing any more.
    let mut rules = Vec::with_capacity(after.len());
    for rule in after {
        let freed = rule.is_refused_because_of(&ended);
        rules.push(match rule {
            ImportedRule { line, row: Some(row), .. } if freed => {
                // With the reason and the first day of the commit that added it.
                let row = ImportRow { file: row_file(path, &version.commit), ..row };
                store(sender, line, row, &mut ended, claims).await?
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
    ended: &mut BTreeSet<ClaimId>,
    claims: &mut BTreeSet<ClaimId>,
) -> Result<ImportedRule, CliError> {
    let (claim, refused) = match sender.try_store(&row).await? {
        RowOutcome::Claim(claim) => (Some(claim), None),
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

/// Reads the versions of a file that git knows, the oldest first.
fn versions(file: &Path) -> Result<Vec<Version>, CliError> {
    let (folder, name) = folder_and_name(file)?;
    let object = |commit: &Commit| format!("{}:./{name}", commit.id);
    let list = run_git(
        &folder,
        file,
        &[
            "log",
            "--no-show-signature",
            "--no-ext-diff",
            "--no-textconv",
            "--no-renames",
            "--no-color",
            "--diff-filter=AM",
            "--format=%H%x1f%aI%x1f%an%x1f%s",
            &format!("--max-count={MAX_COMMITS}"),
            "--",
            &name,
        ],
    )?;
    let commits: Vec<Commit> = commits(&list).into_iter().rev().collect();
    let texts = blobs(&folder, &commits.iter().map(object).collect::<Vec<_>>())?;
    // Versions that are missing or too large are left out, and those in which it is unclear what ergo wrote.
    let read = |(commit, text): (Commit, Option<String>)| {
        let text = text.filter(|text| marked_section::check(text).is_ok())?;
        Some(Version { rules: rules::parse(&name, &text).rules, commit })
    };
    Ok(commits.into_iter().zip(texts).filter_map(read).collect())
}

/// Reads the texts of objects with one call of git, in order; `None` for an object that is missing, or larger than [`MAX_FILE`].
fn blobs(folder: &Path, objects: &[String]) -> Result<Vec<Option<String>>, CliError> {
    if objects.is_empty() {
        return Ok(Vec::new());
    }
    let failed = |error: io::Error| CliError::usage(format_args!("cannot run git in {}: {error}", folder.display()));
    let mut git = git::command(["cat-file", "--batch"]);
    git.current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = git.spawn().map_err(failed)?;
    let (names, answers) = (child.stdin.take(), child.stdout.take());
    let read = thread::scope(|scope| {
        // Written in a thread of its own: git answers before it has read all names, and would block.
        let writer = scope.spawn(move || {
            let mut names = names.ok_or(io::ErrorKind::BrokenPipe)?;
            objects.iter().try_for_each(|object| writeln!(names, "{object}"))
        });
        let mut answers = BufReader::new(answers.ok_or(io::ErrorKind::BrokenPipe)?);
        let read = objects.iter().map(|_| blob(&mut answers)).collect::<io::Result<Vec<_>>>();
        drop(answers);
        // If git ended early, the reader reports it.
        let _ = writer.join();
        read
    });
    // The exit status does not matter once all answers were read.
    let _ = child.wait();
    read.map_err(failed)
}

/// Reads one answer of `git cat-file --batch`: a line with the size, then the content and a line break; or a line that says why there
/// is no content.
fn blob(answers: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    answers.take(MAX_HEADER_LINE).read_until(b'\n', &mut head)?;
    if head.last() != Some(&b'\n') {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "git ended before all versions were read"));
    }
    let head = String::from_utf8_lossy(&head);
    let mut fields = head.trim_end().rsplitn(3, ' ');
    let (Some(size), Some(kind)) = (fields.next().and_then(|size| size.parse::<u64>().ok()), fields.next()) else {
        return Ok(None);
    };
    let wanted = kind == "blob" && size <= MAX_FILE;
    let mut content = answers.take(size);
    let mut text = Vec::new();
    if wanted {
        content.read_to_end(&mut text)?;
    } else {
        io::copy(&mut content, &mut io::sink())?;
    }
    answers.read_exact(&mut [0])?;
    Ok(wanted.then(|| String::from_utf8_lossy(&text).into_owned()))
}

/// Parses the output of `git log`, newest commit first. Invalid lines are left out.
fn commits(list: &str) -> Vec<Commit> {
    let commit = |line: &str| {
        let mut fields = line.splitn(4, '\u{1f}');
        let (id, at, author, subject) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let day = at.get(..10).filter(|day| day.parse::<jiff::civil::Date>().is_ok())?;
        let is_id = id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let text = |text: &str| text.to_owned();
        is_id.then(|| Commit { id: text(id), day: text(day), author: text(author), subject: text(subject) })
    };
    list.lines().filter_map(commit).collect()
}

/// Returns the folder of a file, and its name in that folder.
fn folder_and_name(file: &Path) -> Result<(PathBuf, String), CliError> {
    let name =
        file.file_name().and_then(|name| name.to_str()).filter(|name| !name.starts_with(':') && !name.contains('\n'));
    let Some(name) = name else {
        return Err(CliError::usage(format_args!("invalid file name “{}”", source_path(file))));
    };
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((folder.to_owned(), name.to_owned()))
}

/// Runs git in the folder of a file and returns its output.
fn run_git(folder: &Path, file: &Path, args: &[&str]) -> Result<String, CliError> {
    let output = git::command(args).current_dir(folder).output();
    let output = output.map_err(|error| {
        CliError::usage(format_args!("cannot run git in {}: {error}", folder.display())).hint("--history needs git")
    })?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        let why = why.lines().next().unwrap_or("it failed").trim_start_matches("fatal: ").to_owned();
        return Err(CliError::usage(format_args!("git cannot read the history of {}: {why}", source_path(file))));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_git_are_read_one_by_one_and_large_ones_passed_over() {
        let large = "x".repeat(MAX_FILE as usize + 1);
        let text = format!(
            "{id} blob 6\n- a b\n\n{id}:./CLAUDE.md missing\n{id} tree 3\nabc\n{id} blob {}\n{large}\n{id} blob 0\n\n",
            large.len(),
            id = "a".repeat(40)
        );
        let mut answers = text.as_bytes();
        assert_eq!(blob(&mut answers).unwrap().as_deref(), Some("- a b\n"));
        assert_eq!(blob(&mut answers).unwrap(), None, "missing");
        assert_eq!(blob(&mut answers).unwrap(), None, "a tree");
        assert_eq!(blob(&mut answers).unwrap(), None, "too large");
        assert_eq!(blob(&mut answers).unwrap().as_deref(), Some(""));
        assert!(blob(&mut answers).is_err(), "the end");
    }

    #[test]
    fn lines_of_the_log_are_commits_and_others_are_left_out() {
        let id = "a".repeat(40);
        let list = format!(
            "{id}\u{1f}2026-02-05T10:00:00+01:00\u{1f}Ada\u{1f}Use spaces\nno commit\n{id}\u{1f}soon\u{1f}Ada\u{1f}x\n"
        );
        let found = commits(&list);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].day.as_str(), reason(&found[0]).as_str()), ("2026-02-05", "Use spaces (Ada, aaaaaaaaaa)"));
    }
}
