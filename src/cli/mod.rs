//! The command line: one file a verb.
//!
//! A verb is a `clap::Args` struct and a function `run(args, &mut Context) -> Result<Exit, CliError>`; those that speak to
//! the daemon are `async` and run on a current-thread runtime that is made only for them. Nothing here prints by itself:
//! all output goes through [`ui::Ui`], which knows about colour, width, `--json` and broken pipes.

mod args;
mod backup;
mod bench;
mod completions;
mod context;
mod daemon;
mod demo;
mod doctor;
mod error;
mod man;
mod tui;
mod ui;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

pub use args::{Cli, Globals};
use args::{Command, When};
pub(crate) use context::Context;
pub(crate) use error::{CliError, Exit};

/// Runs the program with the arguments of this process.
pub fn main() -> ExitCode {
    let matches = match Cli::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return usage(&error),
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let mut cx = Context::new(cli.globals);
    let result = dispatch(cli.command, &mut cx);
    let exit = match result {
        Ok(exit) => exit,
        Err(error) => {
            cx.ui.error(&error);
            error.kind
        }
    };
    match cx.ui.finish() {
        Ok(()) => exit.into(),
        Err(error) => {
            cx.ui.error(&error);
            error.kind.into()
        }
    }
}

/// Shows what clap has to say: help and version on stdout with success, the rest on stderr.
fn usage(error: &clap::Error) -> ExitCode {
    // A reader that has gone away is no reason to fail.
    let _gone = error.print();
    if error.use_stderr() { Exit::Usage.into() } else { Exit::Ok.into() }
}

fn dispatch(command: Command, cx: &mut Context) -> Result<Exit, CliError> {
    match command {
        Command::Daemon(args) => daemon::run(args, cx),
        Command::Tui(args) => tui::run(args, cx),
        Command::Bench(args) => bench::run(args, cx),
        Command::Demo(args) => demo::run(args, cx),
        Command::Doctor(args) => doctor::run(args, cx),
        Command::Backup(args) => backup::run(args, cx),
        Command::Completions(args) => completions::run(args, cx),
        Command::Man(args) => man::run(args, cx),
    }
}
