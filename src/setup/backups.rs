//! Backups of files from before setup changed them. If nobody else has changed a file since, removal restores it byte
//! for byte.

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

/// A stored backup.
#[derive(Debug, Serialize, Deserialize)]
struct Backup {
    path: PathBuf,
    /// The content before setup; `None` if there was no file.
    before: Option<String>,
    /// The hash of the content that setup wrote.
    after: String,
}

/// The content of a file before setup.
pub(super) struct Original {
    /// `None` if there was no file.
    pub(super) text: Option<String>,
}

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// Reads a backup; `None` if it cannot be read.
fn load(file: &Path) -> Option<Backup> {
    // As JSON, a text may take several times its size.
    serde_json::from_str(&files::text(file, 4 * MAX_AGENT_FILE).ok()?).ok()
}

impl Backups {
    /// Uses the folder `setup` in this device's state folder.
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
        load(&self.file(path)).filter(|backup| backup.path == path)
    }

    /// Returns the content before setup if the file contains exactly what setup wrote.
    pub(super) fn original(&self, path: &Path, now: &str) -> Option<Original> {
        let backup = self.backup(path).filter(|backup| backup.after == hash(now))?;
        Some(Original { text: backup.before })
    }

    /// Stores the content `now` of a file before it is changed to `after`.
    pub(super) fn keep(&self, path: &Path, now: Option<&str>, after: &str) -> Result<(), SetupError> {
        // If the file contains what an earlier run of setup wrote, keep the content from before that run.
        let earlier = now.and_then(|now| self.original(path, now));
        let before = earlier.map_or_else(|| now.map(str::to_owned), |original| original.text);
        let backup = Backup { path: path.to_owned(), before, after: hash(after) };
        let file = self.file(path);
        let failed = |error: std::io::Error| SetupError::file("write", &file, error);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).map_err(failed)?;
        let text = serde_json::to_string_pretty(&backup).map_err(|error| failed(error.into()))?;
        files::write_private(&file, text.as_bytes()).map_err(failed)
    }

    /// Returns the existing files with a backup, in alphabetical order: those that setup wrote and has not restored.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut paths: Vec<PathBuf> =
            files.filter_map(|file| load(&file)).map(|backup| backup.path).filter(|path| path.is_file()).collect();
        paths.sort_unstable();
        paths
    }

    /// Removes the backup of a file that setup has restored.
    pub(super) fn forget(&self, path: &Path) {
        // A remaining backup does no harm: it is used only for a file with the content that setup wrote.
        drop(fs::remove_file(self.file(path)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_file_is_among_those_that_setup_wrote() {
        let dir = tempfile::tempdir().unwrap();
        let (backups, path) = (Backups::new(dir.path()), dir.path().join("CLAUDE.md"));
        fs::write(&path, "after").unwrap();
        let before = "x".repeat(17 << 20);
        backups.keep(&path, Some(&before), "after").unwrap();
        assert_eq!(backups.original(&path, "after").unwrap().text.map(|text| text.len()), Some(before.len()));
        assert_eq!(backups.paths(), [path]);
    }
}
