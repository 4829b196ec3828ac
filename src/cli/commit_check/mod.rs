//! `ergo commit-check`: before a commit, and in CI: conflicts that wait, and changes that break a constraint in force.

mod diff;
mod rules;

use std::{
    io::Read,
    path::PathBuf,
    process::{Command, Stdio},
};

use serde::Serialize;

use super::{CliError, Context, Exit, show::text::count};
use crate::{
    api::{CardSummary, ClaimView, ClaimsQuery, ConflictsQuery},
    client::Client,
    domain::{Scope, text::sanitize_line},
};
use rules::Breach;

/// The most bytes of a change that are looked at: what is larger was not written by hand.
const MOST: u64 = 32 * 1024 * 1024;

/// The most constraints that are looked at.
const CONSTRAINTS: usize = 2_000;

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
    let files = diff::read(&text);
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
        cx.ui.line(sanitize_line(&format!("{place}: {why}")));
        if let Some(text) = text {
            cx.ui.line(sanitize_line(&format!("  + {}", text.trim().chars().take(160).collect::<String>())));
        }
        cx.ui.line(sanitize_line(&format!("  breaks {claim}: {statement}")));
        if let Some(reason) = reason {
            cx.ui.line(sanitize_line(&format!("  because: {reason}")));
        }
    }
    if !found.conflicts.is_empty() {
        let many = count(found.conflicts.len(), "conflict waits", "conflicts wait");
        cx.ui.line(sanitize_line(&format!("{many} for a decision in {scope}:")));
        for card in &found.conflicts {
            cx.ui.line(sanitize_line(&format!("  {}  {}", card.id.short(), card.headline)));
        }
        cx.ui.line("  `ergo tui` shows them; `ergo resolve CARD …` settles one.");
    }
    if !found.broken.is_empty() {
        cx.ui.line("Change it, or replace the constraint: `ergo supersede ID '…' --reason '…'`. `git commit --no-verify` passes all hooks.");
    } else if found.conflicts.is_empty() && !cx.ui.quiet {
        let many = count(constraints, "constraint", "constraints");
        cx.ui.line(sanitize_line(&format!(
            "Nothing against it: no open conflict in {scope}, and none of {many} is broken."
        )));
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
            Some(next) if all.len() < CONSTRAINTS => query.cursor = Some(next),
            _ => return Ok(all),
        }
    }
}

/// The change, as `git diff` writes it.
fn change(args: &Args) -> Result<String, CliError> {
    let mut bytes = Vec::new();
    if let Some(file) = &args.diff {
        let failed = |error: std::io::Error| CliError::file("read", file, &error);
        let read = if file.as_os_str() == "-" {
            std::io::stdin().take(MOST).read_to_end(&mut bytes)
        } else {
            std::fs::File::open(file).map_err(failed)?.take(MOST).read_to_end(&mut bytes)
        };
        read.map_err(failed)?;
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    let mut git = Command::new("git");
    git.args(["diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-renames"]);
    match &args.base {
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
    let mut child = git.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(failed)?;
    if let Some(out) = child.stdout.take() {
        out.take(MOST).read_to_end(&mut bytes).map_err(failed)?;
    }
    let ended = child.wait_with_output().map_err(failed)?;
    if !ended.status.success() {
        let said = String::from_utf8_lossy(&ended.stderr);
        let said = said.lines().next().unwrap_or("it failed");
        return Err(
            CliError::usage(format_args!("git diff: {said}")).hint("run it in a repository, or give `--diff FILE`")
        );
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
