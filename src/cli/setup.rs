//! `ergo setup`: connects coding agents to ergo, or removes ergo from their files. [`crate::setup`] makes the changes.

use clap::ValueEnum;
use serde::Serialize;
use serde_json::json;

use super::{CliError, Context, Exit, ask, scope::top_of, show::text::count, ui::SafeText};
use crate::setup::{AgentFiles, CodingAgent, SetupError, SetupPlan};

/// Connect coding agents to ergo: MCP server, hooks and instructions.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ergo setup                        all agents that are installed here, for all your projects
  ergo setup claude-code --project  this repository only, in files that the team shares
  ergo setup --dry-run              only show what would change
  ergo setup --remove               remove it from your own files again
  ergo setup --remove --project     remove it from the files of this repository")]
pub(crate) struct Args {
    /// Only these agents: claude-code, codex, cursor, gemini, opencode, vscode.
    #[arg(value_name = "AGENT", hide_possible_values = true)]
    agents: Vec<CodingAgent>,
    /// All supported agents, installed or not.
    #[arg(long, conflicts_with = "agents")]
    all: bool,
    /// Configure the agents for all your projects (default); --project: for this repository, in files that the team shares.
    #[arg(long)]
    user: bool,
    /// Show what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Remove what setup wrote: for all your projects, or with --project in this repository.
    #[arg(long)]
    remove: bool,
    /// Do not ask.
    #[arg(short = 'y', long)]
    yes: bool,
}

/// Runs the verb.
pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let args = with_agent_after_project(args, cx)?;
    let here = std::env::current_dir().map_err(CliError::usage)?;
    let project = (!args.user && cx.globals.project.is_some()).then(|| top_of(&here));
    let place = AgentFiles::from_environment(project)?;
    let plan = SetupPlan::new(chosen_agents(&args, &place)?, &place, &cx.paths()?.state, args.remove)?;
    let outcome = carry_out(cx, &plan, args.dry_run, args.yes)?;
    if cx.ui.json {
        cx.ui.value(&answer(outcome, &plan));
    } else if !plan.in_repositories().is_empty() {
        cx.ui.line(
            "These files of repositories still name ergo. In each repository: `ergo setup --remove --all --project`.",
        );
        for file in plan.in_repositories() {
            cx.ui.line(text!("  {}", file.display()));
        }
    }
    Ok(if outcome == SetupOutcome::Declined { Exit::Refused } else { Exit::Ok })
}

/// Returns the answer in JSON.
pub(super) fn answer(outcome: SetupOutcome, plan: &SetupPlan) -> serde_json::Value {
    let files: Vec<_> = plan.files().collect();
    json!({ "result": outcome, "files": files, "diff": plan.diff(), "in_repositories": plan.in_repositories() })
}

/// The result of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SetupOutcome {
    /// The files were written.
    Written,
    /// All files are as the plan would make them.
    Unchanged,
    /// With `--dry-run` nothing was written.
    DryRun,
    /// The user declined.
    Declined,
}

/// Shows the changes of a plan, asks, and makes them. With `--json` it shows nothing.
pub(super) fn carry_out(
    cx: &mut Context,
    plan: &SetupPlan,
    dry_run: bool,
    yes: bool,
) -> Result<SetupOutcome, CliError> {
    let shown = !cx.ui.json;
    if plan.is_empty() || dry_run {
        if shown {
            show_diff(cx, plan);
            cx.ui.line(SafeText::line(plan.summary()));
        }
        return Ok(if plan.is_empty() { SetupOutcome::Unchanged } else { SetupOutcome::DryRun });
    }
    if shown {
        show_diff(cx, plan);
    }
    if !ask::confirm(cx, yes, text!("Write {}?", count(plan.len(), "file", "files")))? {
        cx.ui.line("Nothing was written.");
        return Ok(SetupOutcome::Declined);
    }
    let done = plan.apply()?;
    if shown {
        cx.ui.line(SafeText::line(done));
    }
    Ok(SetupOutcome::Written)
}

fn show_diff(cx: &mut Context, plan: &SetupPlan) {
    if !plan.is_empty() {
        cx.ui.line(SafeText::lines(plan.diff().trim_end()));
        cx.ui.line("");
    }
}

impl From<SetupError> for CliError {
    fn from(error: SetupError) -> Self {
        match error {
            SetupError::File { verb, path, error } => Self::file(verb, &path, &error),
            changed @ SetupError::Changed(_) => Self::new(Exit::Stale, changed),
            SetupError::Input { message, hint } => {
                let error = Self::usage(message);
                match hint {
                    Some(hint) => error.hint(hint),
                    None => error,
                }
            }
        }
    }
}

/// Adds a word that follows `--project` to the agents: with every other verb the option takes a name, but here it takes none.
fn with_agent_after_project(mut args: Args, cx: &Context) -> Result<Args, CliError> {
    let Some(word) = cx.globals.project.as_deref() else { return Ok(args) };
    if args.user {
        return Err(CliError::usage("`--project` and `--user` exclude each other").hint("leave one of them out"));
    }
    if !word.is_empty() {
        let agent = CodingAgent::named(word).ok_or_else(|| {
            CliError::usage(format_args!(
                "unknown agent “{word}”; with `ergo setup`, `--project` is not followed by a project's name"
            ))
            .hint("run it in the repository: `ergo setup --project`")
        })?;
        args.agents.push(agent);
    }
    Ok(args)
}

fn chosen_agents(args: &Args, place: &AgentFiles) -> Result<Vec<CodingAgent>, CliError> {
    if args.all {
        return Ok(CodingAgent::value_variants().to_vec());
    }
    if args.agents.is_empty() {
        return Ok(CodingAgent::chosen(place, args.remove)?);
    }
    let mut named = args.agents.clone();
    named.dedup();
    Ok(named)
}
