//! Teams: which events are shared with whom, which are refused, and the documents that replicate them.
//!
//! This module names scopes as the team does, so that all peers use the same names; [`scopes`] binds each to a scope of
//! this device.

mod accepted_branches;
mod apply_roster;
mod author_rates;
pub(super) mod consistency;
mod documents;
mod events_by_id;
mod intake;
pub(super) mod ledger;
mod peer_reads;
mod peers;
mod quarantine;
pub(super) mod restore_teams;
mod roster;
mod roster_cache;
pub(super) mod scopes;
mod signatures;
pub(super) mod sync_rows;
mod unaccepted;

pub(super) use apply_roster::{REFERENCES_TO_EVENTS, with_reference_indexes};
pub use author_rates::BusyAuthor;
#[cfg(test)]
pub(super) use peer_reads::MISSING_BODIES;
pub use quarantine::MOST_QUARANTINED;
#[cfg(test)]
pub(super) use quarantine::{COUNT_FROM_PEER, COUNT_IN_SCOPE};
pub(super) use roster_cache::RosterCache;
use rusqlite::{Connection, OptionalExtension};

use super::{Reader, Result, StoreError, log};
use crate::domain::{EventId, Roster, Scope, SignedEvent};

/// A team with its row number and id.
#[derive(Clone, Copy, Debug)]
pub(super) struct Team {
    pub(super) n: i64,
    pub(super) id: EventId,
    /// When this device left or was revoked, in milliseconds since the Unix epoch.
    pub(super) left_at: Option<u64>,
}

impl Team {
    /// Returns the team with an id, if this store has it.
    pub(super) fn known(db: &Connection, id: EventId) -> Result<Option<Self>> {
        let mut read = db.prepare_cached("SELECT n, left_at FROM teams WHERE id = ?1")?;
        let team = read.query_row([id.0], |row| {
            Ok(Self { n: row.get(0)?, id, left_at: row.get::<_, Option<i64>>(1)?.map(i64::unsigned_abs) })
        });
        Ok(team.optional()?)
    }

    /// Returns the team with an id, or [`StoreError::UnknownTeam`].
    pub(super) fn find(db: &Connection, id: EventId) -> Result<Self> {
        Self::known(db, id)?.ok_or(StoreError::UnknownTeam(id))
    }

    /// Returns the team's roster events, in the order of arrival.
    pub(super) fn roster_events(&self, db: &Connection) -> Result<Vec<SignedEvent>> {
        let mut read = db.prepare_cached(
            "SELECT e.header, e.signature, e.salt, e.body FROM team_scopes t JOIN events e ON e.shared = t.n
             WHERE t.team = ?1 AND t.roster = 1 ORDER BY e.n",
        )?;
        let mut events = Vec::new();
        for event in read.query_map([self.n], log::read_signed)? {
            events.push(event?.map_err(|error| StoreError::Damaged(error.to_string()))?);
        }
        Ok(events)
    }

    /// Computes the team's roster. [`RosterCache::get`] returns it without computing it each time.
    pub(super) fn roster(&self, db: &Connection) -> Result<Roster> {
        Roster::of(self.id, &self.roster_events(db)?)
            .ok_or_else(|| StoreError::Damaged(format!("the first event of team {}'s roster is missing", self.id)))
    }
}

/// Returns the row number of a team's scope, if it is bound on this device.
fn bound(db: &Connection, team: &EventId, scope: &Scope) -> Result<Option<i64>> {
    let mut read = db.prepare_cached(
        "SELECT s.n FROM team_scopes s JOIN teams t ON t.n = s.team WHERE t.id = ?1 AND s.org = ?2 AND s.project = ?3",
    )?;
    let found = read.query_row(rusqlite::params![team.0, scope.org_id, scope.project], |row| row.get(0));
    Ok(found.optional()?)
}

impl Reader {
    /// Returns the roster of a team; `None` if this store does not know the team.
    pub fn roster(&self, team: &EventId) -> Result<Option<Roster>> {
        self.snapshot(|reader| match Team::known(&reader.db, *team)? {
            Some(team) => reader.rosters.get(&reader.db, &team).map(|roster| Some((*roster).clone())),
            None => Ok(None),
        })
    }
}
