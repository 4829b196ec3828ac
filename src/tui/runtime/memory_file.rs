//! The app's state on this machine. Changes are written one after another: the tour and the app may end at the same
//! time.

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use crate::config::AppMemory;

/// The file, and what is in it.
pub(super) struct MemoryFile {
    path: PathBuf,
    kept: Mutex<AppMemory>,
}

impl MemoryFile {
    /// What the file at this path holds.
    pub(super) fn at(path: PathBuf) -> Self {
        Self { kept: Mutex::new(AppMemory::read(&path)), path }
    }

    /// Changes what is to be kept, and writes nothing yet.
    pub(super) fn note(&self, change: impl FnOnce(&mut AppMemory)) {
        change(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Writes what is to be kept. Where the file cannot be written, only this session knows of it.
    pub(super) fn write(&self) {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        drop(kept.write(&self.path));
    }
}
