//! Teams: acts on them, what arrives from peers, and the reads and writes that an exchange with them needs.

mod acts;
mod arrive;
mod notes;
mod quarantine;
mod session;

pub use notes::TeamNotes;

use std::sync::PoisonError;

use super::Engine;
use crate::{
    api::ApiError,
    domain::DeviceId,
    store::{Reader, Store, StoreError},
};

impl Engine {
    /// This device.
    pub fn device(&self) -> DeviceId {
        DeviceId(self.config.device.verifying_key().to_bytes())
    }

    /// The wall clock, in milliseconds since the Unix epoch.
    pub fn now(&self) -> u64 {
        (self.config.clock)()
    }

    /// Reads for an exchange, on one state of the file, beside the writer.
    pub fn sync_read<T>(&self, read: impl FnOnce(&Reader) -> Result<T, StoreError>) -> Result<T, ApiError> {
        Ok(self.readers.lend().snapshot(read)?)
    }

    /// Writes of an exchange that change no claim: documents, peers, invitations, addresses. Under the write lock, so keep it
    /// short.
    pub fn sync_write<T>(&self, write: impl FnOnce(&mut Store) -> Result<T, StoreError>) -> Result<T, ApiError> {
        Ok(write(&mut self.writer.lock().unwrap_or_else(PoisonError::into_inner))?)
    }
}
