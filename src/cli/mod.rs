//! The command line: one file per verb.
//!
//! A verb is a `clap::Args` struct and a function `run(args, &mut Context) -> Result<Exit, CliError>`; those that speak to
//! the daemon are `async` and run on a current-thread runtime that is started only for them. Nothing here prints by itself:
//! all output goes through [`ui::Ui`], which knows about colour, width, `--json` and broken pipes.

#[macro_use]
mod safe_text;

mod act;
mod add;
mod agents;
mod api_words;
#[cfg(feature = "testing")]
mod app_capture;
mod args;
mod ask;
mod audit;
mod backup;
mod calibrate;
mod claims;
mod commit_check;
mod compact_log;
mod completions;
mod conflicts;
mod context;
mod daemon;
mod deep_audit;
mod demo;
mod demote;
mod depend;
mod doctor;
mod doubts;
mod error;
mod export;
mod git;
mod history;
mod hook;
mod import;
mod inbox;
mod ingest;
mod injected;
mod insights;
mod judge;
mod learn;
mod log;
mod man;
mod manual;
mod mcp;
mod models;
mod notes;
mod pace;
mod paging;
mod promote;
mod recall;
mod redact;
mod reembed;
mod reference;
mod reinstate;
mod remember;
mod resolve;
mod resolve_many;
mod retract;
mod review;
mod reviewed;
mod scopes;
mod seed;
mod setup;
mod show;
mod snapshot;
mod status;
mod story;
mod supersede;
mod sync;
mod tour;
mod tui;
mod ui;
mod undo;
mod walkthrough;
mod why;
mod worker;
mod write;

use std::process::ExitCode;

use clap::{
    CommandFactory, FromArgMatches,
    error::{ContextKind, ContextValue, ErrorKind},
};

use crate::files::repository as scope;
use args::Command;
pub use args::{Cli, Globals};
pub(crate) use context::Context;
pub(crate) use error::{CliError, Exit};
use ui::{SafeText, Ui};

/// Runs the program with the arguments of this process.
pub fn main() -> ExitCode {
    survive_file_size_limit();
    match run() {
        // Programs of coding agents take code 2 of a hook as an order to block the prompt.
        exit if exit != Exit::Ok && args::is_hook(std::env::args_os()) => Exit::Ok.into(),
        exit => exit.into(),
    }
}

fn run() -> Exit {
    let matches = match Cli::command().try_get_matches() {
        Ok(matches) => matches,
        // The paragraphs are joined only here and not at every start: hooks start ergo at every prompt.
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            let with_paragraphs = args::with_joined_help(Cli::command()).try_get_matches();
            return usage(&with_paragraphs.err().unwrap_or(error));
        }
        Err(error) => return usage(&without_hidden(error)),
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let mut cx = Context::new(cli.globals);
    if let Some(name) = args::empty_argument(&matches) {
        let error = CliError::usage(format_args!("`{name}` is empty")).hint("give it a value, or leave it out");
        cx.ui.error(&error);
        return error.kind;
    }
    let result = dispatch(cli.command, &mut cx);
    cx.closing_notes();
    let exit = match result {
        Ok(exit) => exit,
        Err(error) => {
            cx.ui.error(&error);
            error.kind
        }
    };
    match cx.ui.finish() {
        Ok(()) => exit,
        Err(error) => {
            cx.ui.error(&error);
            error.kind
        }
    }
}

/// Turns a write beyond the limit on file sizes (`ulimit -f`) into an error like that of a full disk. By default the system ends
/// the process (SIGXFSZ), the daemon and its workers included.
fn survive_file_size_limit() {
    let raised = std::sync::Arc::default();
    // Best effort: without the handler, such a write ends the process.
    drop(signal_hook::flag::register(rustix::process::Signal::XFSZ.as_raw(), raised));
}

/// Removes hidden commands from an error that lists the valid ones.
fn without_hidden(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::Strings(names)) = error.get(ContextKind::ValidSubcommand) {
        let root = Cli::command();
        let shown = |name: &&String| !root.find_subcommand(name).is_some_and(clap::Command::is_hide_set);
        let shown = names.iter().filter(shown).cloned().collect();
        error.insert(ContextKind::ValidSubcommand, ContextValue::Strings(shown));
    }
    error
}

/// Prints clap's help and version on stdout with success, its errors on stderr.
fn usage(error: &clap::Error) -> Exit {
    if !error.use_stderr() {
        // A closed pipe is no reason to fail.
        let _ = error.print();
        return Exit::Ok;
    }
    // Parsing failed, so the flag is looked up in the raw arguments.
    let json = std::env::args_os().skip(1).take_while(|arg| arg != "--").any(|arg| arg == "--json");
    let mut ui = Ui::new(&Globals { json, ..Globals::default() });
    let foreign = Some(error.kind()).filter(|kind| *kind == ErrorKind::InvalidSubcommand);
    if let Some(error) = foreign.and_then(|_| args::foreign_verb(std::env::args_os())) {
        ui.error(&error);
    } else if json {
        let text = error.render().to_string();
        ui.error(&CliError::usage(text.trim_end().trim_start_matches("error: ")));
    } else {
        // clap quotes arguments unescaped.
        ui.usage_error(&SafeText::lines(error.render()));
    }
    Exit::Usage
}

fn dispatch(command: Command, cx: &mut Context) -> Result<Exit, CliError> {
    match command {
        Command::Remember(args) => cx.block_on(async |cx| remember::run(*args, cx).await),
        Command::Learn(args) => cx.block_on(async |cx| learn::run(*args, cx).await),
        Command::Supersede(args) => cx.block_on(async |cx| supersede::run(*args, cx).await),
        Command::Retract(args) => cx.block_on(async |cx| retract::run(args, cx).await),
        Command::Reinstate(args) => cx.block_on(async |cx| reinstate::run(args, cx).await),
        Command::Redact(args) => cx.block_on(async |cx| redact::run(args, cx).await),
        Command::Reviewed(args) => cx.block_on(async |cx| reviewed::run(args, cx).await),
        Command::Depend(args) => cx.block_on(async |cx| depend::run(args, cx).await),
        Command::Promote(args) => cx.block_on(async |cx| promote::run(args, cx).await),
        Command::Demote(args) => cx.block_on(async |cx| demote::run(args, cx).await),
        Command::Undo(args) => cx.block_on(async |cx| undo::run(args, cx).await),
        Command::Why(args) => cx.block_on(async |cx| why::run(args, cx).await),
        Command::Recall(args) => cx.block_on(async |cx| recall::run(args, cx).await),
        Command::History(args) => cx.block_on(async |cx| history::run(args, cx).await),
        Command::Claims(args) => cx.block_on(async |cx| claims::run(args, cx).await),
        Command::Inbox(args) => cx.block_on(async |cx| inbox::run(args, cx).await),
        Command::Conflicts(args) => cx.block_on(async |cx| conflicts::run(args, cx).await),
        Command::Resolve(args) => cx.block_on(async |cx| resolve::run(*args, cx).await),
        Command::Judge(args) => cx.block_on(async |cx| judge::run(args, cx).await),
        Command::Audit(args) => cx.block_on(async |cx| audit::run(args, cx).await),
        Command::Agents(args) => cx.block_on(async |cx| agents::run(args, cx).await),
        Command::Scopes(args) => cx.block_on(async |cx| scopes::run(args, cx).await),
        Command::Log(args) => cx.block_on(async |cx| log::run(args, cx).await),
        Command::Status(args) => cx.block_on(async |cx| status::run(args, cx).await),
        Command::Import(args) => cx.block_on(async |cx| import::run(args, cx).await),
        Command::Calibrate(args) => cx.block_on(async |cx| calibrate::run(args, cx).await),
        Command::Reembed(args) => cx.block_on(async |cx| reembed::run(args, cx).await),
        Command::Story(args) => cx.block_on(async |cx| story::run(args, cx).await),
        Command::Snapshot(args) => cx.block_on(async |cx| snapshot::run(args, cx).await),
        Command::Add(args) => cx.block_on(async |cx| add::run(args, cx).await),
        Command::Ingest(args) => cx.block_on(async |cx| ingest::run(args, cx).await),
        Command::Seed(args) => cx.block_on(async |cx| seed::run(args, cx).await),
        Command::Notes(args) => cx.block_on(async |cx| notes::run(args, cx).await),
        Command::Insights(args) => cx.block_on(async |cx| insights::run(args, cx).await),
        Command::Export(args) => cx.block_on(async |cx| export::run(args, cx).await),
        Command::Tui(args) => tui::run(args, cx),
        Command::Daemon(args) => daemon::run(args, cx),
        Command::Demo(args) => demo::run(args, cx),
        Command::Models(args) => models::run(args, cx),
        Command::Sync(args) => cx.block_on(async |cx| sync::run(args, cx).await),
        Command::Doctor(args) => doctor::run(args, cx),
        Command::Compact(args) => compact_log::run(args, cx),
        Command::Backup(args) => cx.block_on(async |cx| backup::run(args, cx).await),
        Command::Completions(args) => completions::run(args, cx),
        Command::Man(args) => man::run(args, cx),
        Command::Manual(args) => manual::run(args, cx),
        Command::Tour(args) => tour::run(args, cx),
        Command::Mcp(args) => mcp::run(args, cx),
        Command::Hook(args) => Ok(hook::run(args, cx)),
        Command::Injected(args) => injected::run(args, cx),
        Command::Setup(args) => setup::run(args, cx),
        Command::CommitCheck(args) => cx.block_on(async |cx| commit_check::run(args, cx).await),
        Command::Worker(args) => worker::run(args, cx),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_fit_together() {
        Cli::command().debug_assert();
    }

    /// clap would confuse the two and panic.
    #[test]
    fn no_argument_of_a_verb_shadows_a_global_one() {
        let command = Cli::command();
        let shared: Vec<_> = command.get_arguments().map(|arg| arg.get_id().clone()).collect();
        let mut waiting: Vec<_> = command.get_subcommands().collect();
        while let Some(verb) = waiting.pop() {
            for arg in verb.get_arguments() {
                assert!(!shared.contains(arg.get_id()), "{} shadows the global `{}`", verb.get_name(), arg.get_id());
            }
            waiting.extend(verb.get_subcommands());
        }
    }

    #[test]
    fn every_verb_has_its_help() {
        let mut command = Cli::command();
        command.build();
        let mut waiting: Vec<_> = command.get_subcommands().collect();
        while let Some(verb) = waiting.pop() {
            assert!(verb.get_about().is_some(), "{} has no help", verb.get_name());
            for arg in verb.get_arguments() {
                assert!(arg.get_help().is_some(), "{} {arg} has no help", verb.get_name());
            }
            waiting.extend(verb.get_subcommands());
        }
    }
}
