//! `ergo man`: the manual page, generated from the arguments.

use clap::CommandFactory;

use super::{Cli, CliError, Context, Exit, reference};
use crate::tui::action::keys_roff;

/// Print the manual page.
#[derive(Debug, clap::Args)]
#[command(after_help = "Read it with: ergo man | man -l -")]
pub(crate) struct Args {
    /// Print the page of this command, such as `remember`.
    #[arg(value_name = "COMMAND")]
    verb: Option<String>,
    /// Print the reference of all commands as Markdown.
    #[arg(long, conflicts_with = "verb")]
    markdown: bool,
}

/// Runs the verb.
pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let mut command = Cli::command();
    command.build();
    if args.markdown {
        cx.ui.raw(reference::markdown(&command).as_bytes());
        return Ok(Exit::Ok);
    }
    let command = match &args.verb {
        None => command,
        Some(verb) => {
            command.find_subcommand(verb).cloned().map(|found| found.display_name(format!("ergo-{verb}"))).ok_or_else(
                || CliError::usage(format_args!("unknown command “{verb}”")).hint("`ergo --help` lists them"),
            )?
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|error| CliError::internal(format_args!("cannot generate the manual page: {error}")))?;
    if args.verb.as_deref() == Some("tui") {
        page.extend_from_slice(keys_roff().as_bytes());
    }
    cx.ui.raw(&page);
    Ok(Exit::Ok)
}
