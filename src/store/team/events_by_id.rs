//! Reads shared events by their ids.

use rusqlite::params;

use super::{Reader, Result, StoreError, bound, log};
use crate::domain::{EventId, Scope, SignedEvent};

impl Reader {
    /// Returns those of these events that a team shares in a scope, as they are stored.
    pub fn events_named(&self, team: &EventId, scope: &Scope, events: &[EventId]) -> Result<Vec<SignedEvent>> {
        let Some(shared) = bound(&self.db, team, scope)? else { return Ok(Vec::new()) };
        let mut read =
            self.db.prepare_cached("SELECT header, signature, salt, body FROM events WHERE id = ?1 AND shared = ?2")?;
        let mut found = Vec::new();
        for id in events {
            for event in read.query_map(params![id.0, shared], log::read_signed)? {
                found.push(event?.map_err(|error| StoreError::Damaged(error.to_string()))?);
            }
        }
        Ok(found)
    }
}
