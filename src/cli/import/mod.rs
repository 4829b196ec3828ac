//! `ergo import`: imports decision records, rule files and exports through the guard.
//!
//! All acts of an import have ids with the same prefix, the import's number, with which `ergo undo --import` undoes all of it. A
//! rule file is compared with its last import ([`reimport`]), and each of its imports has a new number. In the other formats the
//! id of each row's act is a hash of its content and source, so that running an import again changes nothing, even if claims
//! were superseded or retracted in the meantime. So all runs of such an import share a number and are undone together.

mod adr;
mod agree;
mod change_order;
mod changes_view;
mod chat;
mod claims_elsewhere;
mod closed_claims;
mod earlier_claims;
mod file_versions;
mod guard_checks;
mod jsonl;
mod memory;
mod past_imports;
mod reimport;
mod report;
mod rule_history;
mod rules;
mod send;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{CliError, Context, Exit, scope};
use crate::files;

pub(crate) use send::NUMBER_DIGITS;

/// The maximum size of a record or rule file, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// Import decision records, rule files, an export, another tool's memories, or decisions from chats.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The guard checks every imported decision or rule. One that contradicts an active claim opens a conflict card, and the import
continues with exit code 0; `ergo import jsonl` ends with exit code 1 if a claim was not imported. Running an import again
stores nothing twice. When a rule file is imported again, changed lines supersede their old versions, and the claims of
removed lines are retracted.")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: ImportCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ImportCommand {
    Adr(adr::Args),
    Rules(rules::Args),
    Jsonl(jsonl::Args),
    Memory(memory::Args),
    Chat(chat::Args),
    Proposals(chat::Ticked),
}

/// The options of every import.
#[derive(Clone, Copy, Debug, clap::Args)]
struct ImportOptions {
    /// Show what would be imported, and what the guard finds among the stored claims; store nothing. Lines are not
    /// compared with each other.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask before a large import.
    #[arg(short, long)]
    yes: bool,
    /// List skipped lines with the reason.
    #[arg(long)]
    details: bool,
    /// Preview even a small import and ask for confirmation.
    #[arg(skip)]
    always_preview: bool,
}

/// The files that [`preview_and_import`] imports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ImportSource {
    /// Folders of decision records.
    Records(Vec<PathBuf>),
    /// Rule files.
    Rules(Vec<PathBuf>),
}

/// The result of an import that the user could decline.
pub(super) enum ImportEnd {
    /// The user declined.
    Declined,
    /// The import was done or previewed; with its number, by which it can be undone, if it changed anything.
    Done(Option<String>),
}

impl ImportEnd {
    fn exit(&self) -> Exit {
        match self {
            Self::Declined => Exit::Refused,
            Self::Done(_) => Exit::Ok,
        }
    }

    fn number(self) -> Option<String> {
        match self {
            Self::Declined => None,
            Self::Done(number) => number,
        }
    }
}

/// Shows what an import would store, asks unless `yes`, and imports it. Returns the import's number, by which it can be undone,
/// if it changed anything.
pub(crate) async fn preview_and_import(
    cx: &mut Context,
    source: ImportSource,
    dry_run: bool,
    yes: bool,
) -> Result<Option<String>, CliError> {
    let options = ImportOptions { dry_run, yes, details: false, always_preview: true };
    let end = match source {
        ImportSource::Records(paths) => adr::import(&adr::Args { paths, proposed: false, options }, cx).await?,
        ImportSource::Rules(files) => rules::import(&rules::Args { files, history: None, options }, cx).await?,
    };
    Ok(end.number())
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    match args.command {
        ImportCommand::Adr(args) => adr::run(args, cx).await,
        ImportCommand::Rules(args) => rules::run(args, cx).await,
        ImportCommand::Jsonl(args) => jsonl::run(args, cx).await,
        ImportCommand::Memory(args) => memory::run(args, cx).await,
        ImportCommand::Chat(args) => chat::run(args, cx),
        ImportCommand::Proposals(args) => chat::ticked(args, cx).await,
    }
}

/// Reads a file that a person named; `-` is stdin.
fn read(path: &Path, max: u64) -> Result<String, CliError> {
    let read = if path.as_os_str() == "-" { files::all_of(io::stdin(), max) } else { files::bytes(path, max) };
    let bytes = read.map_err(|error| unreadable(path, &error))?;
    String::from_utf8(bytes).map(|text| text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)).map_err(
        |_| {
            let error = CliError::usage(format_args!("{} is not UTF-8 text", path.display()));
            error.hint("save it as UTF-8 and import it again")
        },
    )
}

/// Returns the error of a file or folder that a person named.
fn unreadable(path: &Path, error: &io::Error) -> CliError {
    let failed = CliError::file("read", path, error);
    match error.kind() {
        io::ErrorKind::FileTooLarge => failed.hint("split it and import the parts one by one"),
        io::ErrorKind::InvalidInput => failed.hint("write it to a regular file, or pass it on stdin: `-`"),
        _ => failed,
    }
}

/// Returns the absolute path of a file without symbolic links. A deleted file, whose history can still be imported, keeps the path
/// that it had in its folder. Standard input is an error.
fn real_path(path: &Path) -> io::Result<PathBuf> {
    let missing = match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.as_os_str() != "-" => error,
        found => return found,
    };
    let name = path.file_name().ok_or(missing)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(fs::canonicalize(folder)?.join(name))
}

/// Returns the file that a source names, as [`source_path`] wrote it in this working tree.
fn file_of_source(source: &str) -> PathBuf {
    let top = std::env::current_dir().and_then(fs::canonicalize).map(|folder| scope::top_of(&folder).join(source));
    top.unwrap_or_else(|_| source.into())
}

/// Returns a path for use as a source: relative to the top of the working tree if it is inside one, else unchanged.
fn source_path(path: &Path) -> String {
    let inside = || {
        let full = real_path(path).ok()?;
        let top = scope::top_of(&fs::canonicalize(std::env::current_dir().ok()?).ok()?);
        full.strip_prefix(top).ok().map(Path::to_owned)
    };
    inside().unwrap_or_else(|| path.to_owned()).display().to_string()
}
