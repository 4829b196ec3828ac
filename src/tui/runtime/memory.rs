//! What the app keeps of itself on this machine, changed one after the other: the tour may end and the app be left at once.

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use crate::config::AppMemory;

/// The file, and what is in it.
pub(super) struct Memory {
    path: PathBuf,
    kept: Mutex<AppMemory>,
}

impl Memory {
    /// What the file at this path holds.
    pub(super) fn at(path: PathBuf) -> Self {
        Self { kept: Mutex::new(AppMemory::read(&path)), path }
    }

    /// Changes it. Where the file cannot be written, only this session knows of it.
    pub(super) fn keep(&self, change: impl FnOnce(&mut AppMemory)) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut kept);
        drop(kept.write(&self.path));
    }
}
