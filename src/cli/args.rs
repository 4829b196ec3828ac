//! The arguments of the program: the global options and the list of verbs.

use std::{ffi::OsString, sync::LazyLock};

use clap::{ArgMatches, Args, CommandFactory, Parser, Subcommand, ValueEnum, parser::ValueSource};

use super::CliError;
use crate::store::SCHEMA;

/// Memory for coding agents: keeps decisions with their reasons, and refuses what contradicts them.
#[derive(Debug, Parser)]
#[command(name = "ergo", version = version(), propagate_version = false, max_term_width = 100)]
#[command(after_long_help = AFTER_HELP)]
pub struct Cli {
    /// The options of every verb.
    #[command(flatten)]
    pub globals: Globals,
    #[command(subcommand)]
    pub(super) command: Command,
}

/// The version, the commit that it was built from, if the build named one (`ERGO_COMMIT`), and the schema of the store.
fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let commit = option_env!("ERGO_COMMIT").filter(|commit| !commit.is_empty());
        let commit = commit.map(|commit| format!("commit {commit}, ")).unwrap_or_default();
        format!("{} ({commit}schema {SCHEMA})", env!("CARGO_PKG_VERSION"))
    });
    &VERSION
}

const AFTER_HELP: &str = "\
A claim is a stored statement: a decision, a rule or a fact, with its source and its reason. The guard is the check that runs on
every new decision or rule: it refuses one that contradicts an active claim, and opens a conflict card for a person to settle.

Exit codes: 0 done; 1 refused by the guard or declined by you, or a person or an admin of the team must do it; 2 invalid usage, or not
found; 3 the daemon or another server cannot be reached, or the daemon must be stopped first; 4 a bug, a disk error, or a problem that
`ergo doctor` found; 5 the claim or card changed after it was read.

Environment: ERGO_HOME puts all files into one folder; ERGO_API_URL and ERGO_API_TOKEN select another daemon;
ERGO_AGENT names the agent that acts for you; NO_COLOR turns colour off.";

/// The options of every verb.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Global options")]
pub struct Globals {
    /// Print the answer as JSON.
    #[arg(long, global = true)]
    pub json: bool,
    /// The organisation, the first part of a scope [default: `org_id` in config.toml, else `claude-code`].
    #[arg(long, global = true, value_name = "ORG")]
    pub org: Option<String>,
    /// The project, the second part of a scope [default: the name of the repository, the same for all its worktrees].
    #[arg(long, global = true, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    pub project: Option<String>,
    /// The scope: organisation and project together.
    #[arg(long, global = true, value_name = "ORG/PROJECT", conflicts_with_all = ["org", "project"])]
    pub scope: Option<String>,
    /// Do not start the daemon if it is not running.
    #[arg(long, global = true)]
    pub no_spawn: bool,
    /// When to use colour.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = false)]
    pub color: When,
    /// Suppress informational output.
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    Remember(Box<super::remember::Args>),
    Learn(Box<super::learn::Args>),
    Supersede(Box<super::supersede::Args>),
    Retract(super::retract::Args),
    Reinstate(super::reinstate::Args),
    Redact(super::redact::Args),
    Reviewed(super::reviewed::Args),
    Depend(super::depend::Args),
    Promote(super::promote::Args),
    Demote(super::demote::Args),
    Undo(super::undo::Args),
    Why(super::why::Args),
    Recall(super::recall::Args),
    History(super::history::Args),
    Claims(super::claims::Args),
    Inbox(super::inbox::Args),
    Conflicts(super::conflicts::Args),
    Resolve(Box<super::resolve::Args>),
    Judge(super::judge::Args),
    Audit(super::audit::Args),
    Scopes(super::scopes::Args),
    Log(super::log::Args),
    Status(super::status::Args),
    Import(super::import::Args),
    Snapshot(super::snapshot::Args),
    Story(super::story::Args),
    Calibrate(super::calibrate::Args),
    Add(super::add::Args),
    Ingest(super::ingest::Args),
    Seed(super::seed::Args),
    Export(super::export::Args),
    /// Follow rule files such as CLAUDE.md: store their rules as claims, and write active claims back.
    Notes(super::notes::Args),
    Insights(super::insights::Args),
    /// Open the review app: inbox, claims, reasons, conflicts.
    Tui(super::tui::Args),
    Mcp(super::mcp::Args),
    Setup(super::setup::Args),
    Hook(super::hook::Args),
    Injected(super::injected::Args),
    Agents(super::agents::Args),
    CommitCheck(super::commit_check::Args),
    /// Start, stop and inspect the daemon, which owns the store.
    Daemon(super::daemon::Args),
    /// Share claims with a team, peer to peer.
    Sync(super::sync::Args),
    /// List, download, import, verify, choose and benchmark models.
    Models(super::models::Args),
    Reembed(super::reembed::Args),
    Doctor(super::doctor::Args),
    Backup(super::backup::Args),
    Compact(super::compact_log::Args),
    /// Try ergo on its own decisions, in a temporary store.
    Demo(super::demo::Args),
    Tour(super::tour::Args),
    Completions(super::completions::Args),
    Man(super::man::Args),
    Manual(super::manual::Args),
    #[command(hide = true)]
    Worker(super::worker::Args),
}

/// Verbs that people expect from other programs, and the commands that do this here.
const FOREIGN_VERBS: [(&[&str], &str); 7] = [
    (
        &["find", "query", "search"],
        "`ergo recall '…'` searches claims; `ergo claims WORDS` lists those with these words",
    ),
    (&["list", "ls"], "`ergo claims` lists claims, `ergo conflicts` open conflicts, `ergo log` changes"),
    (
        &["get", "show", "view"],
        "`ergo history ID` shows a claim, `ergo conflicts CARD` a card; `ergo claims` lists claims",
    ),
    (&["edit", "replace", "update"], "`ergo supersede ID '…' --reason '…'` replaces a claim"),
    (
        &["delete", "forget", "remove", "rm"],
        "`ergo retract ID --reason '…'` withdraws a claim; `ergo redact ID` deletes its text",
    ),
    (&["redo"], "to redo a change, undo the undo: `ergo log` lists the ids for `ergo undo ID`"),
    (&["restore"], "`ergo backup --help` says how to go back to a backup"),
];

/// Returns the error for arguments that begin with a verb of other programs.
pub(super) fn foreign_verb<T: Into<OsString> + Clone>(args: impl IntoIterator<Item = T>) -> Option<CliError> {
    let matches = Cli::command().allow_external_subcommands(true).try_get_matches_from(args).ok()?;
    let verb = matches.subcommand_name()?;
    let (_, hint) = FOREIGN_VERBS.iter().find(|(verbs, _)| verbs.contains(&verb))?;
    Some(CliError::usage(format_args!("unknown command “{verb}”")).hint(*hint))
}

/// Returns whether arguments, valid or not, run a hook.
pub(super) fn is_hook<T: Into<OsString> + Clone>(args: impl IntoIterator<Item = T>) -> bool {
    let matches = Cli::command().ignore_errors(true).try_get_matches_from(args);
    matches.is_ok_and(|matches| matches.subcommand_name() == Some("hook"))
}

/// Joins the lines of each paragraph below the options of every verb: clap wraps them to the terminal.
pub(super) fn with_joined_help(mut command: clap::Command) -> clap::Command {
    if let Some(text) = command.get_after_help().map(ToString::to_string) {
        command = command.after_help(joined_paragraphs(&text));
    }
    if let Some(text) = command.get_after_long_help().map(ToString::to_string) {
        command = command.after_long_help(joined_paragraphs(&text));
    }
    command.mut_subcommands(with_joined_help)
}

/// Joins neighbouring lines that begin at the left margin. Headings such as “Examples:” and indented lines stay apart.
fn joined_paragraphs(text: &str) -> String {
    let mut joined = String::new();
    let mut previous = "";
    for line in text.lines() {
        let continues = |line: &str| !line.is_empty() && !line.starts_with(' ');
        if continues(previous) && continues(line) && !previous.ends_with(':') {
            joined.push(' ');
        } else if !joined.is_empty() {
            joined.push('\n');
        }
        joined.push_str(line);
        previous = line;
    }
    joined
}

/// Arguments that report an empty value themselves, or that may be given without one.
const MAY_BE_EMPTY: [&str; 6] = ["exception", "force_exception", "org", "project", "reason", "scope"];

/// Returns the first option, or card, that was given as an empty text, which would count as not given.
pub(super) fn empty_argument(matches: &ArgMatches) -> Option<String> {
    let root = Cli::command();
    let (mut command, mut matches) = (&root, matches);
    loop {
        for arg in command.get_arguments() {
            let id = arg.get_id().as_str();
            let value = arg.get_value_names().and_then(<[_]>::first);
            let name = match (arg.get_long(), value) {
                _ if MAY_BE_EMPTY.contains(&id) || matches.value_source(id) != Some(ValueSource::CommandLine) => {
                    continue;
                }
                (Some(long), _) => format!("--{long}"),
                (None, Some(value)) if value == "CARD" => value.to_string(),
                _ => continue,
            };
            let empty = |text: &std::ffi::OsStr| text.to_str().is_some_and(|text| text.trim().is_empty());
            if matches.get_raw(id).is_some_and(|mut values| values.any(empty)) {
                return Some(name);
            }
        }
        let (verb, inner) = matches.subcommand()?;
        (command, matches) = (command.find_subcommand(verb)?, inner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_of_help_are_one_line_each_and_examples_stay() {
        let text = "One sentence that\ngoes on.\n\nExamples:\n  ergo a\n  ergo b\n\nThe\nend.";
        assert_eq!(joined_paragraphs(text), "One sentence that goes on.\n\nExamples:\n  ergo a\n  ergo b\n\nThe end.");
    }

    #[rstest::rstest]
    #[case(&["search", "the port", "--limit", "3"], Some("`ergo recall"))]
    #[case(&["--scope", "a/b", "list", "--json"], Some("`ergo claims`"))]
    #[case(&["show", "abcd"], Some("`ergo history ID`"))]
    #[case(&["restore", "x.db"], Some("ergo backup --help"))]
    #[case(&["frobnicate"], None)]
    #[case(&["notes", "list"], None)]
    #[case(&["claims", "search"], None)]
    fn a_verb_of_other_programs_is_answered_with_the_command(#[case] args: &[&str], #[case] hint: Option<&str>) {
        let error = foreign_verb([&["ergo"], args].concat());
        assert_eq!(error.is_some(), hint.is_some(), "{error:?}");
        assert!(error.is_none_or(|error| error.hints[0].contains(hint.unwrap())));
    }

    /// Such a verb would never be answered.
    #[test]
    fn no_verb_of_other_programs_is_a_command() {
        let root = Cli::command();
        let mut verbs = FOREIGN_VERBS.iter().flat_map(|(verbs, _)| *verbs);
        assert_eq!(verbs.find(|verb| root.find_subcommand(verb).is_some()), None);
    }

    #[rstest::rstest]
    #[case(&["remember", "x", "--env", ""], Some("--env"))]
    #[case(&["remember", "x", "--kind", "fact", "--key", " "], Some("--key"))]
    #[case(&["claims", "--who", ""], Some("--who"))]
    #[case(&["sync", "export", "x", "--to", "bob", "--to", ""], Some("--to"))]
    #[case(&["resolve", ""], Some("CARD"))]
    #[case(&["resolve", "abcd", "--exception", "--reason", ""], None)]
    #[case(&["remember", "", "--env", "prod"], None)]
    #[case(&["remember", "x", "--project", "--dry-run"], None)]
    fn an_empty_value_is_found(#[case] args: &[&str], #[case] found: Option<&str>) {
        let matches = Cli::command().try_get_matches_from([&["ergo"], args].concat()).unwrap();
        assert_eq!(empty_argument(&matches).as_deref(), found);
    }
}
