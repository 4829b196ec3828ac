//! Connects coding agents to ergo: writes its MCP server, hooks and instructions into the agents' own files, and
//! removes them.
//!
//! [`agents`] defines what is written into which file, [`edit`] changes texts without affecting the rest, and
//! [`backups`] keeps each original file, so that removal restores it byte for byte. Prints nothing: the command line
//! and the app both call [`SetupPlan`].

mod agents;
mod backups;
mod edit;
mod instructions;
mod json;
mod toml;

use std::{
    fmt::Write as _,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use clap::ValueEnum;
use similar::TextDiff;

use crate::files::{self, DraftFile, PathTarget, locate, real_path};
pub use agents::{AgentFiles, CodingAgent, HookEvent};
use agents::{Edit, Target};
use backups::Backups;

/// The maximal size of an agent's file, in bytes: some agents keep the history of all projects in their settings.
const MAX_AGENT_FILE: u64 = 64 * 1024 * 1024;

/// The reason why setup stopped. Files that were written before stay written.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A file cannot be read or written.
    #[error("cannot {verb} {}: {error}", path.display())]
    File {
        /// The failed operation, such as "write".
        verb: &'static str,
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A file has changed since the plan was made.
    #[error("{} has changed since it was read, so it was left as it is; run setup again", .0.display())]
    Changed(PathBuf),
    /// A person must change something first.
    #[error("{message}")]
    Input {
        message: String,
        /// What to do about it.
        hint: Option<&'static str>,
    },
}

impl SetupError {
    fn file(verb: &'static str, path: &Path, error: io::Error) -> Self {
        Self::File { verb, path: path.to_owned(), error }
    }

    fn input(message: impl Into<String>, hint: impl Into<Option<&'static str>>) -> Self {
        Self::Input { message: message.into(), hint: hint.into() }
    }
}

/// A planned change of a file.
#[derive(Debug)]
struct FileChange {
    target: Target,
    /// The path of the file behind links.
    path: PathBuf,
    before: Option<String>,
    /// `None` if the file will be removed.
    after: Option<String>,
}

/// The planned changes of setup. Nothing is written before [`SetupPlan::apply`].
#[derive(Debug)]
pub struct SetupPlan {
    agents: Vec<CodingAgent>,
    changes: Vec<FileChange>,
    backups: Backups,
    remove: bool,
    /// Whether the files are those of a repository.
    project: bool,
    /// The files of repositories that setup wrote, if ergo is removed from the person's own files.
    in_repositories: Vec<PathBuf>,
}

impl SetupPlan {
    /// Reads the files of these agents and plans what to write into them, or what to remove. `state` is the state
    /// folder of this device, which contains the backups.
    ///
    /// # Errors
    /// If a file cannot be read, has an invalid syntax, or is a link that leads out of the project.
    pub fn new(agents: Vec<CodingAgent>, place: &AgentFiles, state: &Path, remove: bool) -> Result<Self, SetupError> {
        let backups = Backups::new(state);
        let mut changes = Vec::new();
        for target in agents::targets(&agents, place, &program(place)) {
            if remove && is_needed(&target, &agents, place) {
                continue;
            }
            changes.extend(plan_change(target, place.project.as_deref(), remove, &backups)?);
        }
        let project = place.project.is_some();
        let in_repositories = if remove && !project { in_repositories(place, &backups) } else { Vec::new() };
        Ok(Self { agents, changes, backups, remove, project, in_repositories })
    }

    /// Returns the files that would change, or were changed.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.changes.iter().map(|change| change.target.path.as_path())
    }

    /// Returns the files of repositories that setup wrote and that this plan does not change, because it removes ergo
    /// only from the person's own files.
    pub fn in_repositories(&self) -> &[PathBuf] {
        &self.in_repositories
    }

    /// Returns the number of files that would change.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Returns whether no file would change.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Returns the changes as unified diffs, each followed by an empty line.
    pub fn diff(&self) -> String {
        let mut out = String::new();
        for change in &self.changes {
            let _ = writeln!(out, "{}\n", diff(change).trim_end());
        }
        out
    }

    /// Describes what would be written.
    pub fn summary(&self) -> String {
        match (self.changes.len(), self.remove) {
            (0, true) => format!("{}: ergo is not set up. Nothing changes.", self.titles()),
            (0, false) => format!("{}: ergo is already set up. Nothing changes.", self.titles()),
            (1, _) => "1 file would change; nothing was written.".to_owned(),
            (n, _) => format!("{n} files would change; nothing was written."),
        }
    }

    /// Writes the changes, and describes what was done.
    ///
    /// # Errors
    /// If a file cannot be written, or was changed after the plan was made. The files before it stay written.
    pub fn apply(&self) -> Result<String, SetupError> {
        for change in &self.changes {
            write(change, self.remove, &self.backups)?;
        }
        let files = if self.changes.len() == 1 { "file" } else { "files" };
        Ok(if self.remove {
            format!("Removed ergo from {}: {} {files} changed.", self.titles(), self.changes.len())
        } else {
            format!(
                "ergo is set up for {}: start a new session there. The original files are in {}; `ergo setup \
                    --remove{}` restores them.",
                self.titles(),
                self.backups.folder().display(),
                if self.project { " --project" } else { "" }
            )
        })
    }

    fn titles(&self) -> String {
        self.agents.iter().map(|agent| agent.title()).collect::<Vec<_>>().join(", ")
    }
}

/// Returns whether an agent has ergo's server in its settings, whatever else setup would change there.
///
/// # Errors
/// If a file cannot be read, has an invalid syntax, or is a link that leads out of the project.
pub fn is_connected(agent: CodingAgent, place: &AgentFiles) -> Result<bool, SetupError> {
    for target in agents::targets(&[agent], place, "ergo") {
        let is_server = |edit: &Edit| matches!(edit, Edit::Entry(..) | Edit::Server(_));
        let server = Target { edits: target.edits.into_iter().filter(is_server).collect(), ..target };
        if server.edits.is_empty() {
            continue;
        }
        let text = read(&resolve_links(&server.path, place.project.as_deref())?)?.unwrap_or_default();
        if edit::unset(&text, &server)? != text {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether another agent, which stays connected, reads the instructions in a file from which they would be
/// removed.
fn is_needed(target: &Target, removed: &[CodingAgent], place: &AgentFiles) -> bool {
    let reads =
        |agent: &CodingAgent| agents::targets(&[*agent], place, "ergo").iter().any(|other| other.path == target.path);
    let mut others = CodingAgent::value_variants().iter().filter(|agent| !removed.contains(agent));
    target.edits == [Edit::Instructions]
        // An agent whose settings cannot be read may be connected.
        && others.any(|agent| reads(agent) && is_connected(*agent, place).unwrap_or(true))
}

/// Returns the files with a backup that are not among the person's own agent files.
fn in_repositories(place: &AgentFiles, backups: &Backups) -> Vec<PathBuf> {
    let own = agents::targets(CodingAgent::value_variants(), place, "ergo");
    let own: Vec<PathBuf> = own.iter().filter_map(|target| real_path(&target.path).ok()).collect();
    backups.paths().into_iter().filter(|path| !own.contains(path)).collect()
}

/// Returns the name by which agents start this program: `ergo` if the `PATH` leads to this program or the files are
/// shared with a project, else its path.
fn program(place: &AgentFiles) -> String {
    let found = files::find_program("ergo");
    // Linux appends this to the path of a program that was replaced while it runs.
    let current = |own: PathBuf| match own.to_str().and_then(|own| own.strip_suffix(" (deleted)")) {
        Some(path) if Path::new(path).exists() => PathBuf::from(path),
        _ => own,
    };
    let own = std::env::current_exe().ok().map(current);
    let same = |file: PathBuf| fs::canonicalize(file).ok() == own.as_ref().and_then(|own| fs::canonicalize(own).ok());
    match own.as_ref() {
        Some(own) if place.project.is_none() && !found.is_some_and(same) => own.display().to_string(),
        _ => "ergo".to_owned(),
    }
}

/// Returns the path of the file behind links. A link of a repository must not lead out of it, because the repository's
/// author chose its target.
fn resolve_links(target: &Path, project: Option<&Path>) -> Result<PathBuf, SetupError> {
    let failed = |error: io::Error| SetupError::file("follow", target, error);
    // Links of a person stay links, such as one into a repository of settings.
    let Some(project) = project else { return real_path(target).map_err(failed) };
    match locate(project, target).map_err(failed)? {
        PathTarget::Inside(real) => Ok(real),
        PathTarget::Outside(real) => Err(SetupError::input(
            format!(
                "{} is a link to {}, outside of the project {}; nothing was changed",
                target.display(),
                real.display(),
                project.display()
            ),
            "replace the link with a regular file in the project, or run `ergo setup` without `--project`",
        )),
    }
}

/// Plans the change of a file; `None` if it stays as it is.
fn plan_change(
    target: Target,
    project: Option<&Path>,
    remove: bool,
    backups: &Backups,
) -> Result<Option<FileChange>, SetupError> {
    let path = resolve_links(&target.path, project)?;
    let before = read(&path)?;
    let after = match (&before, remove) {
        (None, true) => return Ok(None),
        (Some(text), true) => match backups.original(&path, text) {
            // If a person changed the file between two runs of setup, the kept text contains what the first run wrote.
            Some(original) => original.text.map(|text| edit::unset(&text, &target)).transpose()?,
            None => Some(edit::unset(text, &target)?),
        },
        (text, false) => Some(edit::set(text.as_deref(), &target)?),
    };
    Ok((before != after).then_some(FileChange { target, path, before, after }))
}

/// Reads an agent's file; `None` if there is none.
fn read(path: &Path) -> Result<Option<String>, SetupError> {
    match files::bytes(path, MAX_AGENT_FILE) {
        Ok(bytes) => String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| SetupError::input(format!("{} is not UTF-8 text; nothing was changed", path.display()), None)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(SetupError::file("read", path, error)),
    }
}

fn diff(change: &FileChange) -> String {
    let name = change.target.path.display().to_string();
    let (old, new) = (change.before.as_deref().unwrap_or_default(), change.after.as_deref().unwrap_or_default());
    let from = if change.before.is_some() { name.as_str() } else { "/dev/null" };
    let to = if change.after.is_some() { name.as_str() } else { "/dev/null" };
    TextDiff::from_lines(old, new).unified_diff().context_radius(2).header(from, to).to_string()
}

fn write(change: &FileChange, remove: bool, backups: &Backups) -> Result<(), SetupError> {
    let now = read(&change.path)?;
    // Two paths may lead to the same file, which then has its new text already.
    if now == change.after {
        return Ok(());
    }
    // The agent or its user may have written the file since.
    if now != change.before {
        return Err(SetupError::Changed(change.path.clone()));
    }
    if !remove && let Some(after) = &change.after {
        backups.keep(&change.path, change.before.as_deref(), after)?;
    }
    match &change.after {
        Some(text) => replace(&change.path, text)?,
        None => fs::remove_file(&change.path).map_err(|error| SetupError::file("remove", &change.path, error))?,
    }
    if remove {
        backups.forget(&change.path);
    }
    Ok(())
}

/// Writes a file atomically, with the permissions that it had.
fn replace(path: &Path, text: &str) -> Result<(), SetupError> {
    let write = || {
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        let draft = DraftFile::beside(path)?;
        draft.file().write_all(text.as_bytes())?;
        draft.keep_mode()?;
        draft.publish(true)
    };
    write().map_err(|error| SetupError::file("write", path, error))
}

#[cfg(test)]
mod tests;
