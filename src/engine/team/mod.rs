//! Teams: acts on them, events that arrive from peers, and the access of sync to the store.

mod arrive;
mod quarantine;
mod sync_access;
mod team_act;
mod team_acts;
mod team_notes;

pub use sync_access::{SyncReader, SyncWriter};
pub use team_notes::TeamNotes;

use super::Engine;
use crate::{api::ApiError, domain::DeviceId};

impl Engine {
    pub fn device(&self) -> DeviceId {
        DeviceId(self.config.device.verifying_key().to_bytes())
    }

    /// Returns the device that wrote the store's own events, if this one wrote none of them.
    pub fn former_device(&self) -> Result<Option<DeviceId>, ApiError> {
        Ok(self.readers.lend().former_device(&self.device())?)
    }

    /// Returns the wall clock, in milliseconds since the Unix epoch.
    pub fn now(&self) -> u64 {
        (self.config.clock)()
    }
}
