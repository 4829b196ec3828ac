//! `ergo commit-check`: reports open conflicts and violated constraints, before a commit and in CI.

mod acts;
mod comments;
mod constraints;
mod git_diff;
mod places;
mod prohibition;
mod words;

use std::{
    io::{ErrorKind, Read},
    path::PathBuf,
    process::Stdio,
    thread,
};

use serde::Serialize;

use super::{CliError, Context, Exit, git, paging, show::text::count};
use crate::{
    api::{CardSummary, ClaimView, ClaimsQuery, ConflictsQuery},
    client::Client,
    domain::{Level, Scope, ago::day, text::escape},
    files,
};
use constraints::{ConstraintCheck, ConstraintViolation, NotChecked};
use git_diff::InvalidDiff;

/// The maximum size of a diff, in bytes: a larger one was not written by hand.
const MAX_DIFF: u64 = 32 * 1024 * 1024;

/// The maximum number of bytes that are read of git's stderr.
const MAX_STDERR: u64 = 64 * 1024;

/// Check a commit for open conflicts and violated constraints.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
As a git hook, in the file that `git rev-parse --git-path hooks/pre-commit` prints:
  #!/bin/sh
  command -v ergo >/dev/null || exit 0
  exec ergo commit-check
In CI, where the store is empty and the check alone would find nothing: commit the file that
`ergo export jsonl claims.jsonl` writes, then
  ergo import jsonl claims.jsonl --yes && ergo commit-check --no-conflicts --base origin/main

It finds: a forbidden package in a manifest; a forbidden word in `backquotes` in a line of code; a change to
a protected path; a wrong port. In comments it finds only a forbidden word that begins one, such as `@ts-ignore`;
strings count as code. If a constraint names places (“outside tests”, “in src/daemon/”), it is checked
only there: by the path, and by the name of a Rust module that the diff shows around the line. “In TypeScript”
limits it to files of that language. Lines that only move are not reported, nor is the deletion of a file that
must not be committed. What violates a constraint that has an exception is reported as allowed. Constraints that
cannot be checked are counted; --json names them.
The exit code is 1 if something was found, or 0 with --warn-only.")]
pub(crate) struct Args {
    /// Check the changes since this commit instead of the staged ones.
    #[arg(long, value_name = "COMMIT", conflicts_with = "diff")]
    base: Option<String>,
    /// Check a diff in a file, in the format of `git diff`; - reads it from stdin.
    #[arg(long, value_name = "FILE")]
    diff: Option<PathBuf>,
    /// Report, and exit with 0.
    #[arg(long)]
    warn_only: bool,
    /// Ignore open conflicts.
    #[arg(long)]
    no_conflicts: bool,
}

/// The result of the check.
#[derive(Debug, Serialize)]
struct CheckResult {
    conflicts: Vec<CardSummary>,
    /// Constraints that the diff violates.
    broken: Vec<ConstraintViolation>,
    /// Violations that an exception to the constraint allows.
    allowed: Vec<ConstraintViolation>,
    /// The number of constraints that were compared with the diff.
    checked: usize,
    /// The other constraints.
    not_checked: Vec<SkippedConstraint>,
}

/// A constraint that was not compared with the diff.
#[derive(Debug, Serialize)]
struct SkippedConstraint {
    /// The constraint's short id.
    claim: String,
    statement: String,
    why: NotChecked,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let text = read_diff(&args)?;
    let (client, scope) = cx.reader().await?;
    let conflicts = if args.no_conflicts { Vec::new() } else { open_cards(&client, &scope).await? };
    let mut constraints = constraints(&client, &scope, None).await?;
    if scope.level() == Level::Project {
        // The organisation's constraints hold in each project that has not narrowed them.
        constraints.extend(self::constraints(&client, &scope.organisation(), Some(&scope.project)).await?);
    }
    let files = git_diff::read(&text).map_err(|error| match error {
        InvalidDiff::Truncated { line } => {
            CliError::usage(format_args!("the diff is truncated: line {line} should continue a hunk"))
                .hint("nothing was checked: create the diff again with `git diff`")
        }
        InvalidDiff::Combined { line } => {
            CliError::usage(format_args!("line {line} begins a combined diff, which compares with several commits"))
                .hint("nothing was checked: compare with one commit, such as `git diff HEAD^1 HEAD`")
        }
        InvalidDiff::InvalidHunk { line } => {
            CliError::usage(format_args!("line {line} of the diff begins a hunk without valid line numbers"))
                .hint("nothing was checked: create the diff again with `git diff`")
        }
    })?;
    if args.diff.is_some() && files.is_empty() && !text.trim().is_empty() {
        return Err(CliError::usage("the input is not a diff: it names no changed file").hint(
            "nothing was checked: pass what `git diff` prints without --stat or --name-only, which begins with `diff --git` or `---`",
        ));
    }
    let today = day(Context::now());
    let mut found =
        CheckResult { conflicts, broken: Vec::new(), allowed: Vec::new(), checked: 0, not_checked: Vec::new() };
    for claim in &constraints {
        match ConstraintCheck::of(claim, &files, &today) {
            Ok(check) => {
                found.checked += 1;
                let violations = check.violations(&files).into_iter();
                let (broken, allowed): (Vec<_>, Vec<_>) = violations.partition(|one| one.exceptions.is_empty());
                found.broken.extend(broken);
                found.allowed.extend(allowed);
            }
            Err(why) => {
                let (claim, statement) = (claim.id.short(), claim.statement.clone());
                found.not_checked.push(SkippedConstraint { claim, statement, why });
            }
        }
    }
    let clean = found.conflicts.is_empty() && found.broken.is_empty();
    if cx.ui.json {
        cx.ui.value(&found);
    } else {
        show(&found, &scope, args.no_conflicts, cx);
    }
    Ok(if clean || args.warn_only { Exit::Ok } else { Exit::Refused })
}

/// Prints the result.
fn show(found: &CheckResult, scope: &Scope, no_conflicts: bool, cx: &mut Context) {
    let allowed: &[ConstraintViolation] = if cx.ui.quiet { &[] } else { &found.allowed };
    for violation in found.broken.iter().chain(allowed) {
        show_violation(violation, cx);
    }
    if !found.conflicts.is_empty() {
        let many = count(found.conflicts.len(), "open conflict", "open conflicts");
        cx.ui.line(text!("{} in {}:", many, escape(&scope.to_string())));
        for card in &found.conflicts {
            cx.ui.line(text!("  {}  {}", card.id.short(), card.headline));
        }
        cx.ui.line("  `ergo tui` shows them; `ergo resolve CARD …` settles one.");
    }
    if !found.broken.is_empty() {
        cx.ui.line("Change the code, or replace the constraint: `ergo supersede ID '…' --reason '…'`. `git commit --no-verify` skips all hooks.");
    } else if found.conflicts.is_empty() && !cx.ui.quiet {
        let many = count(found.checked, "constraint", "constraints");
        let skipped = |why: NotChecked| found.not_checked.iter().filter(|one| one.why == why).count();
        let limited = match skipped(NotChecked::Limited) {
            0 => String::new(),
            1 => "; 1 skipped, which is limited to an environment, team, tenant or period".to_owned(),
            many => format!("; {many} skipped, which are limited to an environment, team, tenant or period"),
        };
        let not_comparable = match skipped(NotChecked::NotComparable) {
            0 => String::new(),
            many => format!("; {many} cannot be checked in a diff"),
        };
        let scope = escape(&scope.to_string());
        let conflicts = if no_conflicts { "open conflicts ignored" } else { "no open conflicts" };
        let checked = text!("{} checked{}{}", many, limited, not_comparable);
        cx.ui.line(text!("Passed: {} in {}; {}.", conflicts, scope, checked));
        if found.checked == 0 && found.not_checked.is_empty() {
            cx.ui.note("no constraint is stored here; in CI, import the claims first: `ergo import jsonl FILE --yes`");
        }
    }
}

/// Shows a violation, or one that an exception allows.
fn show_violation(violation: &ConstraintViolation, cx: &mut Context) {
    let ConstraintViolation { claim, statement, reason, file, line, text, why, exceptions } = violation;
    let place = line.map_or_else(|| file.clone(), |line| format!("{file}:{line}"));
    cx.ui.line(text!("{}: {}", place, why));
    if let Some(text) = text {
        cx.ui.line(text!("  + {}", text.trim().chars().take(160).collect::<String>()));
    }
    let verb = if exceptions.is_empty() { "violates" } else { "allowed, by an exception to" };
    cx.ui.line(text!("  {} {}: {}", verb, claim, statement));
    if let Some(reason) = reason {
        cx.ui.line(text!("  because: {}", reason));
    }
    for exception in exceptions {
        let (label, words) = exception.words();
        cx.ui.line(text!("  {}: {}", label, words));
    }
}

async fn open_cards(client: &Client, scope: &Scope) -> Result<Vec<CardSummary>, CliError> {
    let query = paging::cards_of(scope);
    paging::all(async |cursor| {
        let page = client.conflicts(&ConflictsQuery { cursor, ..query.clone() }).await?;
        Ok((page.items, page.next))
    })
    .await
}

/// Returns the constraints of a scope, without those that a project narrowed for itself.
async fn constraints(
    client: &Client,
    scope: &Scope,
    not_narrowed_in: Option<&str>,
) -> Result<Vec<ClaimView>, CliError> {
    let query = ClaimsQuery {
        kind: Some("constraint".to_owned()),
        not_narrowed_in: not_narrowed_in.map(str::to_owned),
        ..paging::claims_of(scope)
    };
    paging::all(async |cursor| {
        let page = client.claims(&ClaimsQuery { cursor, ..query.clone() }).await?;
        Ok((page.items, page.next))
    })
    .await
}

/// Returns the complete diff.
fn read_diff(args: &Args) -> Result<String, CliError> {
    let bytes = match &args.diff {
        Some(file) => {
            let read = if file.as_os_str() == "-" {
                files::all_of(std::io::stdin(), MAX_DIFF)
            } else {
                files::bytes(file, MAX_DIFF)
            };
            read.map_err(|error| with_size_hint(&error, CliError::file("read", file, &error)))?
        }
        None => from_git(args.base.as_deref())?,
    };
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Adds a hint to the error of a diff that is too large: a diff that was not read completely is not checked at all.
fn with_size_hint(error: &std::io::Error, failed: CliError) -> CliError {
    if error.kind() != ErrorKind::FileTooLarge {
        return failed;
    }
    failed.hint("nothing was checked: split the diff and check each part with `ergo commit-check --diff FILE`")
}

fn from_git(base: Option<&str>) -> Result<Vec<u8>, CliError> {
    let mut git = git::diff();
    match base {
        // A name that begins with a dash would be an option.
        Some(base) if base.starts_with('-') => {
            return Err(CliError::usage(format_args!("invalid commit “{base}”")).hint("name a branch, a tag or a hash"));
        }
        Some(base) => git.arg(format!("{base}...HEAD")),
        None => git.arg("--cached"),
    };
    let failed = |error: std::io::Error| {
        CliError::usage(format_args!("cannot run git: {error}")).hint("or pass a diff: `--diff FILE`")
    };
    let mut child = git.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(failed)?;
    let (out, errors) = (child.stdout.take(), child.stderr.take());
    // Read both at once: git blocks if either pipe is full.
    let stderr_reader = thread::spawn(move || {
        let mut stderr = Vec::new();
        if let Some(mut errors) = errors {
            let _ = errors.by_ref().take(MAX_STDERR).read_to_end(&mut stderr);
            let _ = std::io::copy(&mut errors, &mut std::io::sink());
        }
        stderr
    });
    let read = out.map_or_else(|| Ok(Vec::new()), |out| files::all_of(out, MAX_DIFF));
    if read.is_err() {
        // git may still be writing.
        let _ = child.kill();
    }
    let status = child.wait().map_err(failed)?;
    let stderr = stderr_reader.join().unwrap_or_default();
    let bytes = read.map_err(|error| {
        with_size_hint(&error, CliError::usage(format_args!("cannot read the output of `git diff`: {error}")))
    })?;
    if !status.success() {
        if !is_repository() {
            return Err(CliError::usage("this folder is not in a git repository, so there is no change to check")
                .hint("run it in a repository, or check a diff: `ergo commit-check --diff FILE`"));
        }
        let stderr = String::from_utf8_lossy(&stderr);
        let stderr = stderr.lines().next().unwrap_or("it failed");
        return Err(CliError::usage(format_args!("git diff: {stderr}"))
            .hint("name a branch, tag or commit that the repository has, or check a diff: `--diff FILE`"));
    }
    Ok(bytes)
}

/// Whether the working directory is in a git repository.
fn is_repository() -> bool {
    let git = git::command(["rev-parse", "--git-dir"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    git.is_ok_and(|status| status.success())
}
