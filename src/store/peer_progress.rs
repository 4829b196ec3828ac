//! How far other devices have received each chain of a scope, according to their last bundle.

use rusqlite::{OptionalExtension, params};

use super::{Reader, Result, Store, StoreError, commit};
use crate::domain::{DeviceId, EventId, Scope, replica::ChainEnd};

impl Store {
    /// Stores how far a device has received the chains of a team's scope. `at` is the device's clock in milliseconds
    /// since the Unix epoch; a report that is older than the stored one changes nothing.
    pub fn put_peer_progress(
        &mut self,
        team: &EventId,
        peer: &DeviceId,
        scope: &Scope,
        ends: &[ChainEnd],
        at: u64,
    ) -> Result<()> {
        let at = i64::try_from(at).unwrap_or(i64::MAX);
        let ends = minicbor::to_vec(ends).unwrap_or_default();
        let tx = commit::begin(&mut self.reader)?;
        tx.prepare_cached(
            "INSERT INTO peer_progress (peer, team, org_id, project, chain_ends, reported_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT DO UPDATE SET chain_ends = excluded.chain_ends, reported_at = excluded.reported_at
             WHERE excluded.reported_at >= reported_at",
        )?
        .execute(params![peer.0, team.0, scope.org_id, scope.project, ends, at])?;
        tx.commit()
    }
}

impl Reader {
    /// Returns how far a device has received the chains of a team's scope; `None` if it never reported.
    pub fn peer_progress(&self, team: &EventId, peer: &DeviceId, scope: &Scope) -> Result<Option<Vec<ChainEnd>>> {
        let mut read = self.db.prepare_cached(
            "SELECT chain_ends FROM peer_progress WHERE peer = ?1 AND team = ?2 AND org_id = ?3 AND project = ?4",
        )?;
        let found: Option<Vec<u8>> =
            read.query_row(params![peer.0, team.0, scope.org_id, scope.project], |row| row.get(0)).optional()?;
        found
            .map(|ends| {
                minicbor::decode(&ends).map_err(|error| StoreError::Damaged(format!("the progress of a peer: {error}")))
            })
            .transpose()
    }
}
