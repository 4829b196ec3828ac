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
use crate::domain::DeviceId;

impl Engine {
    pub fn device(&self) -> DeviceId {
        DeviceId(self.config.device.verifying_key().to_bytes())
    }

    /// Returns the wall clock, in milliseconds since the Unix epoch.
    pub fn now(&self) -> u64 {
        (self.config.clock)()
    }
}
