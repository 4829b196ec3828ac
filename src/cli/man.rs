//! `ergo man`: the manual pages, generated from the arguments.

use std::path::PathBuf;

use clap::{Command, CommandFactory};

use super::{Cli, CliError, Context, Exit, reference};
use crate::tui::action::keys_roff;

/// Print the manual page.
#[derive(Debug, clap::Args)]
#[command(after_help = "Read it with: ergo man | man -l -")]
pub(crate) struct Args {
    /// Print the page of this command, such as `remember` or `sync join`.
    #[arg(value_name = "COMMAND")]
    verb: Vec<String>,
    /// Print the reference of all commands as Markdown.
    #[arg(long, conflicts_with = "verb")]
    markdown: bool,
    /// Write the pages of the program and of all commands into this folder: `ergo.1`, `ergo-remember.1`, `ergo-sync-join.1`, …
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
        for (name, page) in pages(NAME, &command)? {
            let path = folder.join(format!("{name}.1"));
            std::fs::write(&path, page).map_err(|error| CliError::file("write", &path, &error))?;
        }
        return Ok(Exit::Ok);
    }
    let (mut name, mut found) = (NAME.to_owned(), &command);
    for verb in &args.verb {
        found = found.find_subcommand(verb).ok_or_else(|| {
            let parent = name.replace('-', " ");
            CliError::usage(format_args!("unknown command “{verb}”")).hint(format_args!("`{parent} --help` lists them"))
        })?;
        name = format!("{name}-{}", found.get_name());
    }
    cx.ui.raw(&page(&name, found)?);
    Ok(Exit::Ok)
}

/// The name of the program.
const NAME: &str = "ergo";

/// Returns the manual page of a command and those of all its subcommands, with their names.
fn pages(name: &str, command: &Command) -> Result<Vec<(String, Vec<u8>)>, CliError> {
    let mut found = vec![(name.to_owned(), page(name, command)?)];
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help") {
        found.extend(pages(&format!("{name}-{}", verb.get_name()), verb)?);
    }
    Ok(found)
}

fn page(name: &str, command: &Command) -> Result<Vec<u8>, CliError> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone().display_name(name.to_owned()))
        .render(&mut page)
        .map_err(|error| CliError::internal(format_args!("cannot generate the manual page: {error}")))?;
    if name == "ergo-tui" {
        page.extend_from_slice(keys_roff().as_bytes());
    }
    Ok(page)
}
