//! A dry run: the import itself, into a copy of the store that is thrown away.
//!
//! A copy and not a transaction that is rolled back: a large file would hold the write lock for seconds, and the copy needs no second way
//! through the store.

use std::{
    fs,
    io::{self, Read},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use super::import;
use crate::{
    api::{ApiError, ErrorCode, ImportOutcome},
    engine::{Engine, EngineConfig},
};

/// One at a time: each costs a copy of the store.
static TURN: Mutex<()> = Mutex::new(());

/// What [`import()`] would do.
///
/// # Errors
/// As the import; and where there is no room for a copy of the store beside it.
pub fn rehearse(engine: &Engine, input: impl Read) -> Result<ImportOutcome, ApiError> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Folder::make(&engine.config().path).map_err(|error| no_room(&error))?;
    let path = folder.0.join("ergo.db");
    engine.backup(&path)?;
    let (device, clock) = (engine.config().device.clone(), engine.config().clock.clone());
    let copy = Engine::open(EngineConfig { clock, readers: 1, durable: false, ..EngineConfig::new(path, device) })?;
    let outcome = import(&copy, input)?;
    Ok(ImportOutcome { dry_run: true, ..outcome })
}

fn no_room(error: &io::Error) -> ApiError {
    ApiError::new(ErrorCode::Unavailable, format!("a dry run needs a copy of the store beside it: {error}"))
        .hint("free the disk, or import without `--dry-run`: importing loses nothing")
}

/// A private folder beside the store, removed with all that is in it; what a crash left of an earlier one too.
struct Folder(PathBuf);

impl Folder {
    fn make(store: &Path) -> io::Result<Self> {
        let path = store.with_extension("dry-run");
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays is removed by the next dry run.
        let _left = fs::remove_dir_all(&self.0);
    }
}
