//! Care of the whole store: checks and copies, which take seconds in a large one.

use std::path::Path;

use super::Engine;
use crate::{
    api::{ApiError, StoreCheck},
    store::CheckReport,
};

pub use crate::store::{StoreProgress, StoreStep};

impl Engine {
    /// Looks the whole store over, beside the writer: signatures, chains, what is derived, what teams do not take.
    pub fn check_store(&self) -> Result<StoreCheck, ApiError> {
        self.check_store_shown(&mut ())
    }

    /// [`Engine::check_store`] that says how far it is.
    pub fn check_store_shown(&self, progress: &mut dyn StoreProgress) -> Result<StoreCheck, ApiError> {
        let CheckReport { events, devices, redacted, problems, notes } = self.checked(progress)?;
        Ok(StoreCheck { events, devices, redacted, problems, notes })
    }

    /// Copies the store to a new file, safely while it is in use. Returns with the copy's size in bytes.
    ///
    /// # Errors
    /// `bad_request` if the file exists already.
    pub fn backup(&self, to: &Path) -> Result<u64, ApiError> {
        self.backup_shown(to, &mut ())
    }

    /// [`Engine::backup`] that says how far it is.
    pub fn backup_shown(&self, to: &Path, progress: &mut dyn StoreProgress) -> Result<u64, ApiError> {
        Ok(self.readers.lend().backup_shown(to, progress)?)
    }
}
