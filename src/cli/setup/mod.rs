//! `ergo setup`: tells coding agents of ergo, in their own files, and takes it back.
//!
//! What is written where stands in [`clients`]; how, without touching what else is in a file, in [`edit`]; [`ledger`] keeps each file as
//! it was, so that taking back gives it back byte for byte.

mod block;
mod clients;
mod edit;
mod json;
mod ledger;
mod toml;

use std::{
    fs,
    io::{ErrorKind, IsTerminal},
    path::{Path, PathBuf},
};

use clap::ValueEnum;
use similar::TextDiff;

use super::{CliError, Context, Exit, ask::Asker, scope::top_of, show::text::count, ui::SafeText};
use crate::files::{self, Place, locate, real_path};
use clients::{Client, Target, Where};
use ledger::{Before, Ledger};

/// Tell coding agents of ergo: its MCP server, its hooks, and how to use it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ergo setup                       all agents that are installed here, for every project of yours
  ergo setup claude-code --project this repository only, in files that the team shares
  ergo setup --dry-run             only show what would change
  ergo setup --remove              take it all back")]
pub(crate) struct Args {
    /// Only these: claude-code, codex, cursor, gemini, opencode, vscode.
    #[arg(value_name = "AGENT", hide_possible_values = true)]
    agents: Vec<Client>,
    /// All of them, installed or not.
    #[arg(long, conflicts_with = "agents")]
    all: bool,
    /// For every project of yours (default). --project: for this repository, in files that the team shares.
    #[arg(long)]
    user: bool,
    /// Show what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Take back what setup wrote.
    #[arg(long)]
    remove: bool,
    /// Do not ask.
    #[arg(short = 'y', long)]
    yes: bool,
}

/// A file that is to change.
struct Change {
    target: Target,
    /// The file behind links.
    path: PathBuf,
    before: Option<String>,
    /// `None` where the file goes.
    after: Option<String>,
}

/// Runs the verb.
pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let args = shared(args, cx)?;
    let place = place(&args, cx)?;
    let clients = chosen(&args, &place)?;
    let ledger = Ledger::new(&cx.paths()?.state);
    let program = program(&place);
    let mut changes = Vec::new();
    for target in clients::targets(&clients, &place, &program) {
        changes.extend(change(target, place.project.as_deref(), args.remove, &ledger)?);
    }
    let names: Vec<_> = clients.iter().map(|client| client.title()).collect();
    if changes.is_empty() {
        let state = if args.remove { "knows nothing of ergo" } else { "is set up already" };
        cx.ui.line(text!("{}: {}. Nothing changes.", names.join(", "), state));
        return Ok(Exit::Ok);
    }
    for change in &changes {
        cx.ui.line(SafeText::lines(diff(change).trim_end()));
        cx.ui.line("");
    }
    if args.dry_run {
        cx.ui.line(text!("{} would change; nothing was written.", count(changes.len(), "file", "files")));
        return Ok(Exit::Ok);
    }
    if !args.yes && std::io::stdin().is_terminal() {
        let question = text!("Write {}?", count(changes.len(), "this file", "these files"));
        let agreed = Asker::new().map_or(Ok(false), |mut asker| asker.yes(cx, question))?;
        if !agreed {
            cx.ui.line("Nothing was written.");
            return Ok(Exit::Ok);
        }
    }
    for change in &changes {
        write(change, args.remove, &ledger)?;
    }
    if args.remove {
        cx.ui.line(text!("Taken back from {}: {}.", names.join(", "), count(changes.len(), "file", "files")));
    } else {
        cx.ui.line(text!("{} know of ergo now: start a new session there. The files as they were are in {}; `ergo setup --remove` takes it back.", names.join(", "), ledger.folder().display()));
    }
    Ok(Exit::Ok)
}

/// `--project` takes a name with every other verb, and stands alone here: what follows it is an agent.
fn shared(mut args: Args, cx: &Context) -> Result<Args, CliError> {
    let Some(word) = cx.globals.project.as_deref() else { return Ok(args) };
    if args.user {
        return Err(CliError::usage("`--project` and `--user` exclude each other").hint("leave one of them out"));
    }
    if !word.is_empty() {
        let agent = Client::from_str(word, false).map_err(|_| {
            CliError::usage(format_args!("“{word}” is no agent that ergo knows; `--project` takes no name here"))
                .hint("run it in the repository: `ergo setup --project`")
        })?;
        args.agents.push(agent);
    }
    Ok(args)
}

/// Whose files: the person's, or this repository's.
fn place(args: &Args, cx: &Context) -> Result<Where, CliError> {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from).ok_or_else(|| {
        CliError::usage("the environment says no HOME, and the files of agents are there").hint("set HOME")
    })?;
    let config = std::env::var_os("XDG_CONFIG_HOME").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let here = std::env::current_dir().map_err(CliError::usage)?;
    let project = (!args.user && cx.globals.project.is_some()).then(|| top_of(&here));
    Ok(Where { config: config.unwrap_or_else(|| home.join(".config")), home, project })
}

fn chosen(args: &Args, place: &Where) -> Result<Vec<Client>, CliError> {
    let every = Client::value_variants().iter().copied();
    let clients: Vec<Client> = if args.all {
        every.collect()
    } else if args.agents.is_empty() {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        every.filter(|client| client.is_installed(place, &folders)).collect()
    } else {
        let mut named = args.agents.clone();
        named.dedup();
        named
    };
    if clients.is_empty() {
        return Err(CliError::usage("no coding agent that ergo knows is installed here")
            .hint("name one: ergo setup claude-code, codex, cursor, gemini, opencode or vscode"));
    }
    Ok(clients)
}

/// The name under which agents find this program: its own where the shell finds it by that, or where others read the file.
fn program(place: &Where) -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("ergo")).find(|file| file.is_file());
    let own = std::env::current_exe().ok();
    let same = |file: PathBuf| fs::canonicalize(file).ok() == own.as_ref().and_then(|own| fs::canonicalize(own).ok());
    match own.as_ref() {
        Some(own) if place.project.is_none() && !found.is_some_and(same) => own.display().to_string(),
        _ => "ergo".to_owned(),
    }
}

/// The file behind links. A repository's own files stay in it: whoever made the repository chose where its links lead.
fn behind(target: &Path, project: Option<&Path>) -> Result<PathBuf, CliError> {
    let failed = |error: std::io::Error| CliError::file("follow", target, &error);
    // A person's link to a file in a repository of settings stays a link.
    let Some(project) = project else { return real_path(target).map_err(failed) };
    match locate(project, target).map_err(failed)? {
        Place::Inside(real) => Ok(real),
        Place::Outside(real) => Err(CliError::usage(format_args!(
            "{} leads to {}, outside of the project {}; nothing was changed",
            target.display(),
            real.display(),
            project.display()
        ))
        .hint("put a file of the project in the link's place, or run `ergo setup` without `--project`")),
    }
}

/// What becomes of a file; `None` where nothing does.
fn change(target: Target, project: Option<&Path>, remove: bool, ledger: &Ledger) -> Result<Option<Change>, CliError> {
    let path = behind(&target.path, project)?;
    let before =
        match files::bytes(&path, files::MAX_SETTINGS) {
            Ok(bytes) => Some(String::from_utf8(bytes).map_err(|_| {
                CliError::usage(format_args!("{} is not UTF-8 text; nothing was changed", path.display()))
            })?),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(CliError::file("read", &path, &error)),
        };
    let after = match (&before, remove) {
        (None, true) => return Ok(None),
        (Some(text), true) => match ledger.before(&path, text) {
            Some(Before(kept)) => kept,
            None => Some(edit::unset(text, &target)?),
        },
        (text, false) => Some(edit::set(text.as_deref(), &target)?),
    };
    Ok((before != after).then_some(Change { target, path, before, after }))
}

fn diff(change: &Change) -> String {
    let name = change.target.path.display().to_string();
    let (old, new) = (change.before.as_deref().unwrap_or_default(), change.after.as_deref().unwrap_or_default());
    let from = if change.before.is_some() { name.as_str() } else { "/dev/null" };
    let to = if change.after.is_some() { name.as_str() } else { "/dev/null" };
    TextDiff::from_lines(old, new).unified_diff().context_radius(2).header(from, to).to_string()
}

fn write(change: &Change, remove: bool, ledger: &Ledger) -> Result<(), CliError> {
    if !remove && let Some(after) = &change.after {
        ledger.keep(&change.path, change.before.as_deref(), after)?;
    }
    match &change.after {
        Some(text) => replace(&change.path, text)?,
        None => fs::remove_file(&change.path).map_err(|error| CliError::file("remove", &change.path, &error))?,
    }
    if remove {
        ledger.forget(&change.path);
    }
    Ok(())
}

/// Writes a file whole or not at all, with the rights that it had.
fn replace(path: &Path, text: &str) -> Result<(), CliError> {
    let failed = |error: std::io::Error| CliError::file("write", path, &error);
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let beside = folder.join(format!(".{name}.ergo-{}", std::process::id()));
    fs::write(&beside, text).map_err(failed)?;
    if let Ok(meta) = fs::metadata(path) {
        fs::set_permissions(&beside, meta.permissions()).map_err(failed)?;
    }
    fs::rename(&beside, path).map_err(|error| {
        // It is of no use any more; what matters is why.
        drop(fs::remove_file(&beside));
        failed(error)
    })
}

#[cfg(test)]
mod tests;
