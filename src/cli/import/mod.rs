//! `ergo import`: takes over decision records and rule files, through the guard.
//!
//! The acts of one import begin with the same digits: its number, by which `ergo undo --import` takes it back whole. A rule
//! file is compared with what came from it before ([`follow`]), and each of its imports has a number of its own. In the other
//! forms each row is an act whose id is made of what it says and where, so that an import that is run again does nothing twice,
//! also for what was replaced or retracted meanwhile.

mod adr;
mod agree;
mod chat;
mod follow;
mod jsonl;
mod memory;
mod report;
mod rules;
mod send;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{CliError, Context, Exit, scope};
use crate::files;

pub(crate) use send::NUMBER;

/// The largest file that is read, in bytes: what is larger is no record and no rule file.
const MAX_FILE: u64 = 1024 * 1024;

/// Take over decision records, rule files, an export, another tool's memories, or what chats decided.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every row passes the guard. One that contradicts what is in force is kept on a conflict card, and the import goes on; it
then still ends with exit code 0. Running an import again stores nothing twice. A rule file is followed: a line that changed
replaces its old version, and one that is gone retires its claim.")]
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

/// How an import goes, whatever it reads.
#[derive(Clone, Copy, Debug, clap::Args)]
struct How {
    /// Show what would be imported, and store nothing.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask before a large import.
    #[arg(short, long)]
    yes: bool,
    /// List what is skipped, and why.
    #[arg(long)]
    details: bool,
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

/// The text of a file that a person named; `-` is stdin.
fn read(path: &Path, most: u64) -> Result<String, CliError> {
    let read = if path.as_os_str() == "-" { files::all_of(io::stdin(), most) } else { files::bytes(path, most) };
    let bytes = read.map_err(|error| {
        let failed = CliError::file("read", path, &error);
        match error.kind() {
            io::ErrorKind::FileTooLarge => failed.hint("divide it, and import the parts one after the other"),
            io::ErrorKind::InvalidInput => failed.hint("write it into a file first, or give it on stdin: `-`"),
            _ => failed,
        }
    })?;
    String::from_utf8(bytes)
        .map(|text| text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
        .map_err(|_| CliError::usage(format_args!("{} is not UTF-8 text", path.display())))
}

/// A path as it shall stand in a source: from the top of the working tree where it is in one, else as it was given.
fn shown(path: &Path) -> String {
    let inside = || {
        let full = fs::canonicalize(path).ok()?;
        let top = scope::top_of(&fs::canonicalize(std::env::current_dir().ok()?).ok()?);
        full.strip_prefix(top).ok().map(Path::to_owned)
    };
    let shown: PathBuf = inside().unwrap_or_else(|| path.to_owned());
    shown.display().to_string()
}
