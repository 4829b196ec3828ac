//! Checks and copies of the whole store, which take seconds if it is large.

use std::path::Path;

use super::Engine;
use crate::{
    api::{ApiError, StoreCheck},
    store::CheckReport,
};

pub use crate::store::{StoreProgress, StoreStep};

impl Engine {
    /// Checks the whole store without blocking the writer: signatures, chains, projections, quarantine.
    pub fn check_store(&self) -> Result<StoreCheck, ApiError> {
        self.check_store_shown(&mut ())
    }

    /// [`Engine::check_store`] with progress.
    pub fn check_store_shown(&self, progress: &mut dyn StoreProgress) -> Result<StoreCheck, ApiError> {
        let CheckReport { events, devices, redacted, problems, notes } = self.checked(progress)?;
        Ok(StoreCheck { events, devices, redacted, problems, notes })
    }

    /// Copies the store to a new file; safe while it is in use. Returns the size of the copy in bytes.
    ///
    /// # Errors
    /// `bad_request` if the file exists already.
    pub fn backup(&self, to: &Path) -> Result<u64, ApiError> {
        self.backup_shown(to, &mut ())
    }

    /// [`Engine::backup`] with progress.
    pub fn backup_shown(&self, to: &Path, progress: &mut dyn StoreProgress) -> Result<u64, ApiError> {
        Ok(self.readers.lend().backup_shown(to, progress)?)
    }
}
