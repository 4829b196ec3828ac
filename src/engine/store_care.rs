//! Checks and copies of the whole store, which take seconds if it is large.

use std::path::Path;

use super::Engine;
use crate::{
    api::{ApiError, ErrorCode, StoreCheck},
    store::{CheckReport, Reader, StoreError},
};

pub use crate::store::{StoreProgress, StoreStep};

impl Engine {
    /// Returns the error of every write, if the store's file is no longer the open one, is read-only, was truncated or
    /// is known to be damaged.
    pub fn check_writable(&self) -> Result<(), ApiError> {
        self.check_writable_with(&self.readers.lend())
    }

    /// [`Engine::check_writable`] with a reader that the caller has.
    pub(super) fn check_writable_with(&self, reader: &Reader) -> Result<(), ApiError> {
        reader.writable()?;
        self.damage().cloned().map_or(Ok(()), Err)
    }

    /// Refuses all later writes if `error` says that the store is damaged: what they store might be unreadable. Opening
    /// the store again ends this.
    pub fn note_damage(&self, error: &ApiError) {
        if error.code == ErrorCode::Damaged {
            // Of several, the first is kept.
            let _ = self.damage.set(error.clone());
        }
    }

    /// Returns the result, after [`Engine::note_damage`] if it is an error.
    pub(super) fn noting_damage<T>(&self, result: Result<T, StoreError>) -> Result<T, ApiError> {
        result.map_err(ApiError::from).inspect_err(|error| self.note_damage(error))
    }

    /// Returns the damage that was noted, see [`Engine::note_damage`].
    pub fn damage(&self) -> Option<&ApiError> {
        self.damage.get()
    }

    /// Checks the whole store without blocking the writer: signatures, chains, projections, quarantine.
    pub fn check_store(&self) -> Result<StoreCheck, ApiError> {
        self.check_store_shown(&mut ())
    }

    /// [`Engine::check_store`] with progress.
    pub fn check_store_shown(&self, progress: &mut dyn StoreProgress) -> Result<StoreCheck, ApiError> {
        let CheckReport { events, devices, redacted, problems, notes, .. } = self.checked(progress)?;
        Ok(StoreCheck { events, devices, redacted, problems, notes })
    }

    /// Copies the store to a new file and checks the copy; safe while the store is in use. Returns the size of the copy
    /// in bytes.
    ///
    /// # Errors
    /// `bad_request` if the file exists already, `damaged` if the copy fails its check; then there is no copy.
    pub fn backup(&self, to: &Path) -> Result<u64, ApiError> {
        self.backup_shown(to, &mut ())
    }

    /// Copies the store like [`Engine::backup`], but does not check the copy: for a copy that is soon deleted.
    pub fn copy_unchecked(&self, to: &Path) -> Result<u64, ApiError> {
        Ok(self.readers.lend().copy_unchecked(to)?)
    }

    /// [`Engine::backup`] with progress.
    pub fn backup_shown(&self, to: &Path, progress: &mut dyn StoreProgress) -> Result<u64, ApiError> {
        Ok(self.readers.lend().backup_shown(to, progress)?)
    }
}
