//! Creates a store at the first start, or on request after the old one was lost.

use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use ed25519_dalek::SigningKey;

use super::DaemonError;
use crate::{
    config::{ConfigError, Paths, StoreFile, StoreLock},
    engine::{Engine, EngineConfig},
};

/// Makes an empty store if the one that this device had is lost. What is left of the old one's write-ahead log is kept
/// beside it as `ergo.db-wal.old`.
///
/// # Errors
/// If a store is there, or another process owns it; nothing is changed then.
pub fn begin_anew(paths: &Paths) -> Result<(), DaemonError> {
    paths.make()?;
    let _lock = StoreLock::take(paths, "daemon")?;
    match StoreFile::look(paths)? {
        StoreFile::Present => Err(ConfigError::StoreThere(paths.store()).into()),
        StoreFile::Absent | StoreFile::Empty => make(paths),
    }
}

/// Makes an empty store if none is, or an empty file. It gets its name only once it is whole.
pub(super) fn make(paths: &Paths) -> Result<(), DaemonError> {
    let store = paths.store();
    // SQLite would write a log that is left of another store into this one.
    let log = beside(&store, "-wal");
    ignore_missing(fs::rename(&log, beside(&store, "-wal.old")))
        .map_err(|error| ConfigError::io("move away", log, error))?;
    let index = beside(&store, "-shm");
    ignore_missing(fs::remove_file(&index)).map_err(|error| ConfigError::io("remove", index, error))?;
    if StoreFile::look(paths)? == StoreFile::Empty {
        fs::remove_file(&store).map_err(|error| ConfigError::io("remove", &store, error))?;
    }
    // Nothing is signed by opening, so any key will do.
    let opened = Engine::open(EngineConfig::new(&store, SigningKey::from_bytes(&[0; 32])));
    opened.map(drop).map_err(DaemonError::Engine)
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// What is not there is gone.
fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
