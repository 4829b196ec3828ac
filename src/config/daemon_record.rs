//! `daemon.json`: the addresses of the running daemon, by which clients find it.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{ConfigError, Paths, write_private};
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
    /// Reads the record of the daemon of this home's store; `None` if there is none. The copy of a home contains a copy
    /// of the record, which names the store of the original.
    pub fn of(paths: &Paths) -> Option<Self> {
        Self::read(&paths.record()).filter(|record| is_same_file(&record.store, &paths.store()))
    }

    /// Reads the record; `None` if it is missing or invalid.
    fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&files::bytes(path, files::MAX_SETTINGS).ok()?).ok()
    }

    /// Writes the record atomically.
    pub fn write(&self, path: &Path) -> Result<(), ConfigError> {
        let text = serde_json::to_vec_pretty(self).map_err(|e| ConfigError::io("write", path, e))?;
        write_private(path, &text)
    }
}

/// Whether two paths lead to one file, for example through a symbolic link.
fn is_same_file(a: &Path, b: &Path) -> bool {
    let identity = |path| fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
    a == b || identity(a).is_some_and(|a| identity(b) == Some(a))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_in_a_copied_home_is_the_originals() {
        let dir = tempfile::tempdir().unwrap();
        let [home, linked, copy] = ["home", "linked", "copy"].map(|name| Paths::under(dir.path().join(name)));
        let record = DaemonRecord {
            socket: home.socket.clone(),
            tcp: None,
            pid: 7,
            version: "1.2.3".into(),
            store: home.store(),
            log: home.log(),
        };
        for paths in [&home, &copy] {
            fs::create_dir(&paths.data).unwrap();
            fs::write(paths.store(), "store").unwrap();
            record.write(&paths.record()).unwrap();
        }
        std::os::unix::fs::symlink(&home.data, &linked.data).unwrap();
        assert_eq!(DaemonRecord::of(&home), Some(record.clone()));
        assert_eq!(DaemonRecord::of(&linked), Some(record));
        assert_eq!(DaemonRecord::of(&copy), None);
    }

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
