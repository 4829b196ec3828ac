//! The dry run of an import: imports into a copy of the store, which is then deleted.
//!
//! It does not use a transaction that is rolled back, because a large file would hold the write lock for seconds, and
//! the copy needs no second code path.

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
    store::dry_run_folder,
};

/// Allows one dry run at a time, since each needs a copy of the store.
static LOCK: Mutex<()> = Mutex::new(());

/// Returns what [`import()`] would do.
///
/// # Errors
/// As the import; also if there is no space for a copy of the store beside it.
pub fn dry_run(engine: &Engine, input: impl Read) -> Result<ImportOutcome, ApiError> {
    let _turn = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = ScratchDir::make(&engine.config().path).map_err(|error| no_room(&error))?;
    let path = folder.0.join("ergo.db");
    engine.copy_unchecked(&path)?;
    let (device, clock) = (engine.config().device.clone(), engine.config().clock.clone());
    let copy = Engine::open(EngineConfig { clock, readers: 1, durable: false, ..EngineConfig::new(path, device) })?;
    let outcome = import(&copy, input)?;
    Ok(ImportOutcome { dry_run: true, ..outcome })
}

/// Deletes the copy of a store that a dry run left when the daemon was killed, because later redactions do not reach
/// it.
pub fn delete_left_copy(store: &Path) -> io::Result<()> {
    match fs::remove_dir_all(dry_run_folder(store)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn no_room(error: &io::Error) -> ApiError {
    ApiError::new(ErrorCode::Unavailable, format!("a dry run needs a copy of the store beside it: {error}"))
        .hint("free disk space, or import without `--dry-run`: an import never loses anything")
}

/// A private folder beside the store. It is deleted with its content on drop.
struct ScratchDir(PathBuf);

impl ScratchDir {
    fn make(store: &Path) -> io::Result<Self> {
        delete_left_copy(store)?;
        let path = dry_run_folder(store);
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        // If this fails, the next dry run or the next start of the daemon deletes the folder.
        let _left = fs::remove_dir_all(&self.0);
    }
}
