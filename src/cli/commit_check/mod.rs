//! `ergo commit-check`: before a commit, and in CI: conflicts that wait, and changes that break a constraint in force.

mod diff;
mod rules;

use std::{
    io::{ErrorKind, Read},
    path::PathBuf,
    process::Stdio,
    thread,
};

use serde::Serialize;

use super::{CliError, Context, Exit, git, show::text::count};
use crate::{
    api::{CardSummary, ClaimView, ClaimsQuery, ConflictsQuery},
    client::Client,
    domain::{Scope, text::escape},
    files,
};
use rules::Breach;

/// The largest change that is checked, in bytes: a larger one was not written by hand.
const MOST: u64 = 32 * 1024 * 1024;

/// The most bytes of what git complains of.
const MAX_COMPLAINT: u64 = 64 * 1024;

/// Say whether a commit meets open conflicts, or breaks a constraint in force.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
As a hook of git, in .git/hooks/pre-commit:
  #!/bin/sh
  exec ergo commit-check
In CI:
  ergo commit-check --base origin/main

A constraint is broken where that can be shown: a package that must not be used appears in a manifest; a word in `backquotes` that must
not be used, in a line of code; a path that must not be changed, among the files; a port that is another than it must be.
Exit code 1 where there is something; 0 with --warn-only.")]
pub(crate) struct Args {
    /// What was changed since this commit, instead of what is staged.
    #[arg(long, value_name = "COMMIT", conflicts_with = "diff")]
    base: Option<String>,
    /// A change in a file, as `git diff` writes it; - reads it from stdin.
    #[arg(long, value_name = "FILE")]
    diff: Option<PathBuf>,
    /// Say what there is, and exit with 0.
    #[arg(long)]
    warn_only: bool,
    /// Only the change: conflicts that wait do not count.
    #[arg(long)]
    no_conflicts: bool,
}

/// What there is.
#[derive(Debug, Serialize)]
struct Found {
    /// Conflicts that wait for a decision.
    conflicts: Vec<CardSummary>,
    /// Constraints that the change breaks.
    broken: Vec<Breach>,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let text = change(&args)?;
    let (client, scope) = cx.reader().await?;
    let conflicts = if args.no_conflicts { Vec::new() } else { open(&client, &scope).await? };
    let constraints = constraints(&client, &scope).await?;
    let files = diff::read(&text).map_err(|diff::Cut { line }| {
        CliError::usage(format_args!("the change is cut: the rest of a hunk is missing in line {line}"))
            .hint("nothing was checked: write the change anew with `git diff`")
    })?;
    let broken: Vec<Breach> = constraints.iter().flat_map(|claim| rules::breaches(claim, &files)).collect();
    let found = Found { conflicts, broken };
    let clean = found.conflicts.is_empty() && found.broken.is_empty();
    if cx.ui.json {
        cx.ui.value(&found);
    } else {
        say(&found, &scope, constraints.len(), cx);
    }
    Ok(if clean || args.warn_only { Exit::Ok } else { Exit::Refused })
}

fn say(found: &Found, scope: &Scope, constraints: usize, cx: &mut Context) {
    for Breach { claim, statement, reason, file, line, text, why } in &found.broken {
        let place = line.map_or_else(|| file.clone(), |line| format!("{file}:{line}"));
        cx.ui.line(text!("{}: {}", place, why));
        if let Some(text) = text {
            cx.ui.line(text!("  + {}", text.trim().chars().take(160).collect::<String>()));
        }
        cx.ui.line(text!("  breaks {}: {}", claim, statement));
        if let Some(reason) = reason {
            cx.ui.line(text!("  because: {}", reason));
        }
    }
    if !found.conflicts.is_empty() {
        let many = count(found.conflicts.len(), "conflict waits", "conflicts wait");
        cx.ui.line(text!("{} for a decision in {}:", many, escape(&scope.to_string())));
        for card in &found.conflicts {
            cx.ui.line(text!("  {}  {}", card.id.short(), card.headline));
        }
        cx.ui.line("  `ergo tui` shows them; `ergo resolve CARD …` settles one.");
    }
    if !found.broken.is_empty() {
        cx.ui.line("Change it, or replace the constraint: `ergo supersede ID '…' --reason '…'`. `git commit --no-verify` passes all hooks.");
    } else if found.conflicts.is_empty() && !cx.ui.quiet {
        let many = count(constraints, "constraint", "constraints");
        let scope = escape(&scope.to_string());
        cx.ui.line(text!("Nothing against it: no open conflict in {}, and none of {} is broken.", scope, many));
    }
}

async fn open(client: &Client, scope: &Scope) -> Result<Vec<CardSummary>, CliError> {
    let query = ConflictsQuery {
        org_id: Some(scope.org_id.clone()),
        project: Some(scope.project.clone()),
        limit: Some(200),
        ..ConflictsQuery::default()
    };
    Ok(client.conflicts(&query).await?.items)
}

async fn constraints(client: &Client, scope: &Scope) -> Result<Vec<ClaimView>, CliError> {
    let mut all = Vec::new();
    let mut query = ClaimsQuery {
        org_id: Some(scope.org_id.clone()),
        project: Some(scope.project.clone()),
        kind: Some("constraint".to_owned()),
        limit: Some(200),
        ..ClaimsQuery::default()
    };
    loop {
        let page = client.claims(&query).await?;
        all.extend(page.items);
        match page.next {
            Some(next) => query.cursor = Some(next),
            None => return Ok(all),
        }
    }
}

/// The change, as `git diff` writes it, whole.
fn change(args: &Args) -> Result<String, CliError> {
    let bytes = match &args.diff {
        Some(file) => {
            let read =
                if file.as_os_str() == "-" { files::all_of(std::io::stdin(), MOST) } else { files::bytes(file, MOST) };
            read.map_err(|error| not_whole(&error, CliError::file("read", file, &error)))?
        }
        None => from_git(args.base.as_deref())?,
    };
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A change of which a part was not read is not checked at all.
fn not_whole(error: &std::io::Error, failed: CliError) -> CliError {
    if error.kind() != ErrorKind::FileTooLarge {
        return failed;
    }
    failed.hint("nothing was checked: divide the change, and check each part with `ergo commit-check --diff FILE`")
}

fn from_git(base: Option<&str>) -> Result<Vec<u8>, CliError> {
    let mut git = git::diff();
    match base {
        // A name that begins with a dash would be an option.
        Some(base) if base.starts_with('-') => {
            return Err(CliError::usage(format_args!("“{base}” is no commit")).hint("name a branch, a tag or a hash"));
        }
        Some(base) => git.arg(format!("{base}...HEAD")),
        None => git.arg("--cached"),
    };
    let failed = |error: std::io::Error| {
        CliError::usage(format_args!("cannot run git: {error}")).hint("or give the change: `--diff FILE`")
    };
    let mut child = git.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(failed)?;
    let (out, errors) = (child.stdout.take(), child.stderr.take());
    // Both at once: git stands still while one of them is full.
    let complaint = thread::spawn(move || {
        let mut said = Vec::new();
        if let Some(mut errors) = errors {
            let _cut = errors.by_ref().take(MAX_COMPLAINT).read_to_end(&mut said);
            let _rest = std::io::copy(&mut errors, &mut std::io::sink());
        }
        said
    });
    let read = out.map_or_else(|| Ok(Vec::new()), |out| files::all_of(out, MOST));
    if read.is_err() {
        // It may still be writing; where it ended already, there is nothing to end.
        let _ended = child.kill();
    }
    let status = child.wait().map_err(failed)?;
    let said = complaint.join().unwrap_or_default();
    let bytes = read.map_err(|error| {
        not_whole(&error, CliError::usage(format_args!("cannot read what `git diff` writes: {error}")))
    })?;
    if !status.success() {
        let said = String::from_utf8_lossy(&said);
        let said = said.lines().next().unwrap_or("it failed");
        return Err(
            CliError::usage(format_args!("git diff: {said}")).hint("run it in a repository, or give `--diff FILE`")
        );
    }
    Ok(bytes)
}
