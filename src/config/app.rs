//! `tui.json`: the app's state on this machine. It is never synced or backed up.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{ConfigError, write_private};
use crate::files;

/// The app's state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AppMemory {
    /// Whether the tour was shown.
    pub toured: bool,
    /// When the app was last closed, in milliseconds since the Unix epoch.
    pub last_here: Option<u64>,
}

impl AppMemory {
    /// Reads the state. A missing or invalid file counts as empty.
    pub fn read(path: &Path) -> Self {
        files::bytes(path, files::MAX_SETTINGS)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default()
    }

    /// Writes the state atomically.
    pub fn write(&self, path: &Path) -> Result<(), ConfigError> {
        let text = serde_json::to_vec_pretty(self).map_err(|e| ConfigError::io("write", path, e))?;
        write_private(path, &text)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn it_is_read_back_and_rubbish_is_nothing_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tui.json");
        assert_eq!(AppMemory::read(&path), AppMemory::default());
        let kept = AppMemory { toured: true, last_here: Some(7) };
        kept.write(&path).unwrap();
        assert_eq!(AppMemory::read(&path), kept);
        fs::write(&path, "rubbish").unwrap();
        assert_eq!(AppMemory::read(&path), AppMemory::default());
    }
}
