//! Creates a store at the first start, or on request after a store was lost.

use std::{
    fs,
    io::{self, ErrorKind},
};

use ed25519_dalek::SigningKey;

use super::DaemonError;
use crate::{
    config::{ConfigError, Paths, StoreFile, StoreLock},
    engine::{Engine, EngineConfig},
    files::with_suffix,
};

/// Creates an empty store after this device's store was lost. The old store's write-ahead log, if it is left, is kept
/// as `ergo.db-wal.old`.
///
/// # Errors
/// If a store exists, or another process owns it. Then nothing is changed.
pub fn begin_anew(paths: &Paths) -> Result<(), DaemonError> {
    paths.make()?;
    let _lock = StoreLock::take(paths, "daemon")?;
    match StoreFile::look(paths)? {
        StoreFile::Present => Err(ConfigError::StoreThere(paths.store()).into()),
        StoreFile::Absent | StoreFile::Empty => make(paths),
    }
}

/// Creates an empty store in place of a missing or empty file. The store gets its name only once it is complete.
pub(super) fn make(paths: &Paths) -> Result<(), DaemonError> {
    let store = paths.store();
    // SQLite would apply a left write-ahead log of another store to this one.
    let log = with_suffix(&store, "-wal");
    ignore_missing(fs::rename(&log, with_suffix(&store, "-wal.old")))
        .map_err(|error| ConfigError::io("move away", log, error))?;
    let index = with_suffix(&store, "-shm");
    ignore_missing(fs::remove_file(&index)).map_err(|error| ConfigError::io("remove", index, error))?;
    if StoreFile::look(paths)? == StoreFile::Empty {
        fs::remove_file(&store).map_err(|error| ConfigError::io("remove", &store, error))?;
    }
    // Opening a store signs nothing, so the key does not matter.
    let opened = Engine::open(EngineConfig::new(&store, SigningKey::from_bytes(&[0; 32])));
    opened.map(drop).map_err(DaemonError::Engine)
}

/// Turns the error for a missing file into success.
fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
