//! `ergo import`: imports decision records, rule files and exports through the guard.
//!
//! All acts of an import have ids with the same prefix, the import's number, by which `ergo undo --import` undoes all of it. A
//! rule file is compared with its last import ([`reimport`]), and each of its imports has a new number. In the other formats the
//! id of each row's act is a hash of its content and source, so that running an import again changes nothing, even if claims
//! were superseded or retracted in the meantime. So all runs of such an import share a number and are undone together.

mod adr;
mod agree;
mod chat;
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

pub(crate) use send::NUMBER;

/// The maximum size of a record or rule file, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// Import decision records, rule files, an export, another tool's memories, or decisions from chats.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The guard checks every imported decision or rule. One that contradicts an active claim opens a conflict card, and the import
continues with exit code 0. Running an import again stores nothing twice. When a rule file is imported again, changed lines
supersede their old versions, and the claims of removed lines are retracted.")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Adr(adr::Args),
    Rules(rules::Args),
    Jsonl(jsonl::Args),
    Memory(memory::Args),
    Chat(chat::Args),
    Proposals(chat::Ticked),
}

/// The options of every import.
#[derive(Clone, Copy, Debug, clap::Args)]
struct How {
    /// Show what would be imported, and what the guard finds; store nothing.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask before a large import.
    #[arg(short, long)]
    yes: bool,
    /// List skipped lines with the reason.
    #[arg(long)]
    details: bool,
    /// Show what would be imported and ask, however few rows there are.
    #[arg(skip)]
    shown: bool,
}

/// What [`take_in`] imports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ImportSource {
    /// Folders of decision records.
    Records(Vec<PathBuf>),
    /// Rule files.
    Rules(Vec<PathBuf>),
}

/// How an import ended.
pub(super) enum ImportEnd {
    /// The person said no.
    Declined,
    /// It was done or previewed; with its number, by which it can be undone, if it changed anything.
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
pub(crate) async fn take_in(
    cx: &mut Context,
    what: ImportSource,
    dry_run: bool,
    yes: bool,
) -> Result<Option<String>, CliError> {
    let how = How { dry_run, yes, details: false, shown: true };
    let end = match what {
        ImportSource::Records(paths) => adr::import(&adr::Args { paths, proposed: false, how }, cx).await?,
        ImportSource::Rules(files) => rules::import(&rules::Args { files, history: None, how }, cx).await?,
    };
    Ok(end.number())
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    match args.what {
        What::Adr(args) => adr::run(args, cx).await,
        What::Rules(args) => rules::run(args, cx).await,
        What::Jsonl(args) => jsonl::run(args, cx).await,
        What::Memory(args) => memory::run(args, cx).await,
        What::Chat(args) => chat::run(args, cx),
        What::Proposals(args) => chat::ticked(args, cx).await,
    }
}

/// Reads a file that a person named; `-` is stdin.
fn read(path: &Path, most: u64) -> Result<String, CliError> {
    let read = if path.as_os_str() == "-" { files::all_of(io::stdin(), most) } else { files::bytes(path, most) };
    let bytes = read.map_err(|error| unreadable(path, &error))?;
    String::from_utf8(bytes)
        .map(|text| text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
        .map_err(|_| CliError::usage(format_args!("{} is not UTF-8 text", path.display())))
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

/// Returns a path for use as a source: relative to the top of the working tree if it is inside one, else unchanged.
fn shown(path: &Path) -> String {
    let inside = || {
        let full = fs::canonicalize(path).ok()?;
        let top = scope::top_of(&fs::canonicalize(std::env::current_dir().ok()?).ok()?);
        full.strip_prefix(top).ok().map(Path::to_owned)
    };
    let shown: PathBuf = inside().unwrap_or_else(|| path.to_owned());
    shown.display().to_string()
}
