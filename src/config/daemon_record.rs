//! `daemon.json`: the addresses of the running daemon, by which clients find it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{ConfigError, write_private};
use crate::files;

/// The daemon's addresses and files. A crash leaves the record behind, so it does not prove that the daemon runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonRecord {
    /// The Unix socket.
    pub socket: PathBuf,
    /// The TCP address; `None` if TCP is off or the port is in use.
    #[serde(default)]
    pub tcp: Option<String>,
    pub pid: u32,
    /// The daemon's version of ergo.
    pub version: String,
    /// The store's file.
    pub store: PathBuf,
    /// The log file.
    pub log: PathBuf,
}

impl DaemonRecord {
    /// Reads the record; `None` if it is missing or invalid.
    pub fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&files::bytes(path, files::MAX_SETTINGS).ok()?).ok()
    }

    /// Writes the record atomically.
    pub fn write(&self, path: &Path) -> Result<(), ConfigError> {
        let text = serde_json::to_vec_pretty(self).map_err(|e| ConfigError::io("write", path, e))?;
        write_private(path, &text)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::MetadataExt};

    use super::*;

    #[test]
    fn round_trips_in_a_private_file_and_rubbish_is_no_record() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("daemon.json");
        let record = DaemonRecord {
            socket: "/run/ergo.sock".into(),
            tcp: Some("127.0.0.1:8788".into()),
            pid: 7,
            version: "1.2.3".into(),
            store: "/s/ergo.db".into(),
            log: "/s/daemon.log".into(),
        };
        record.write(&path).unwrap();
        assert_eq!(DaemonRecord::read(&path), Some(record));
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        fs::write(&path, "{").unwrap();
        assert_eq!(DaemonRecord::read(&path), None);
    }
}
