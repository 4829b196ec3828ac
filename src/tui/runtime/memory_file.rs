//! The app's memory of earlier sessions on this machine. Changes are written one after another, because the tour and
//! the app may end at the same time.

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use crate::config::AppMemory;

/// The file and its content.
pub(super) struct MemoryFile {
    path: PathBuf,
    content: Mutex<AppMemory>,
}

impl MemoryFile {
    /// Reads the file at this path.
    pub(super) fn read(path: PathBuf) -> Self {
        Self { content: Mutex::new(AppMemory::read(&path)), path }
    }

    /// Changes the content, and writes nothing yet.
    pub(super) fn change(&self, edit: impl FnOnce(&mut AppMemory)) {
        edit(&mut self.content.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Writes the content. If that fails, only this session knows of the change.
    pub(super) fn write(&self) {
        let content = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        drop(content.write(&self.path));
    }
}
