//! Copies of files from before setup changed them: removal restores every byte if nobody else has changed them since.

use std::{
    fs,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{MAX_AGENT_FILE, SetupError};
use crate::files;

/// The folder of the backups.
#[derive(Debug)]
pub(super) struct Backups {
    folder: PathBuf,
}

/// A backup, as it is stored.
#[derive(Debug, Serialize, Deserialize)]
struct Backup {
    path: PathBuf,
    /// What was in it; `None` if there was no such file.
    before: Option<String>,
    /// The hash of what setup wrote.
    after: String,
}

/// What was in a file before setup.
pub(super) struct Original {
    /// `None` if there was no such file.
    pub(super) text: Option<String>,
}

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

impl Backups {
    /// The backups in this folder of the machine's state.
    pub(super) fn new(state: &Path) -> Self {
        Self { folder: state.join("setup") }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    fn file(&self, path: &Path) -> PathBuf {
        let name = hash(&path.display().to_string());
        self.folder.join(format!("{}.json", name.get(..32).unwrap_or_default()))
    }

    fn backup(&self, path: &Path) -> Option<Backup> {
        let text = files::text(&self.file(path), 4 * MAX_AGENT_FILE).ok()?;
        serde_json::from_str(&text).ok().filter(|backup: &Backup| backup.path == path)
    }

    /// The file before setup, if it holds what setup wrote and nothing else.
    pub(super) fn original(&self, path: &Path, now: &str) -> Option<Original> {
        let backup = self.backup(path).filter(|backup| backup.after == hash(now))?;
        Some(Original { text: backup.before })
    }

    /// Keeps a file as it is, before it is changed to `after`.
    pub(super) fn keep(&self, path: &Path, now: Option<&str>, after: &str) -> Result<(), SetupError> {
        // If the file holds what an earlier run of setup wrote, what was there before that run is kept.
        let earlier = now.and_then(|now| self.original(path, now));
        let before = earlier.map_or_else(|| now.map(str::to_owned), |original| original.text);
        let backup = Backup { path: path.to_owned(), before, after: hash(after) };
        let file = self.file(path);
        let failed = |error: std::io::Error| SetupError::file("write", &file, error);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).map_err(failed)?;
        let text = serde_json::to_string_pretty(&backup).map_err(|error| failed(error.into()))?;
        files::write_private(&file, text.as_bytes()).map_err(failed)
    }

    /// The files of which there are backups, in alphabetical order: those that setup wrote and has not restored.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut paths: Vec<PathBuf> = files
            .filter_map(|file| serde_json::from_str(&files::text(&file, 4 * files::MAX_SETTINGS).ok()?).ok())
            .map(|backup: Backup| backup.path)
            .filter(|path| path.is_file())
            .collect();
        paths.sort_unstable();
        paths
    }

    /// Removes the backup of a file that setup has restored.
    pub(super) fn forget(&self, path: &Path) {
        // A backup that stays does no harm: it counts only for a file with the text that setup wrote.
        drop(fs::remove_file(self.file(path)));
    }
}
