//! `ergo man`: the manual page, generated from the arguments.

use std::path::PathBuf;

use clap::{Command, CommandFactory};

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
    /// Write the pages of the program and of all commands into this folder: `ergo.1`, `ergo-remember.1`, …
    #[arg(long, value_name = "DIR", conflicts_with_all = ["verb", "markdown"])]
    folder: Option<PathBuf>,
}

/// Runs the verb.
pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let mut command = Cli::command();
    command.build();
    if args.markdown {
        cx.ui.raw(reference::markdown(&command).as_bytes());
        return Ok(Exit::Ok);
    }
    if let Some(folder) = &args.folder {
        std::fs::create_dir_all(folder).map_err(|error| CliError::file("create", folder, &error))?;
        for (name, page) in pages(&command)? {
            let path = folder.join(format!("{name}.1"));
            std::fs::write(&path, page).map_err(|error| CliError::file("write", &path, &error))?;
        }
        return Ok(Exit::Ok);
    }
    let page = match &args.verb {
        None => page(command)?,
        Some(verb) => {
            let found = command.find_subcommand(verb).ok_or_else(|| {
                CliError::usage(format_args!("unknown command “{verb}”")).hint("`ergo --help` lists them")
            })?;
            page_of_verb(found)?
        }
    };
    cx.ui.raw(&page);
    Ok(Exit::Ok)
}

/// Returns the manual pages of the program and of all its commands, with their names.
fn pages(command: &Command) -> Result<Vec<(String, Vec<u8>)>, CliError> {
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help");
    let verbs = verbs.map(|verb| Ok((format!("ergo-{}", verb.get_name()), page_of_verb(verb)?)));
    std::iter::once(page(command.clone()).map(|page| ("ergo".to_owned(), page))).chain(verbs).collect()
}

fn page_of_verb(verb: &Command) -> Result<Vec<u8>, CliError> {
    let name = verb.get_name().to_owned();
    let mut page = page(verb.clone().display_name(format!("ergo-{name}")))?;
    if name == "tui" {
        page.extend_from_slice(keys_roff().as_bytes());
    }
    Ok(page)
}

fn page(command: Command) -> Result<Vec<u8>, CliError> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|error| CliError::internal(format_args!("cannot generate the manual page: {error}")))?;
    Ok(page)
}
