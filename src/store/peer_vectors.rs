//! What other devices are known to have, as their files said.

use rusqlite::{OptionalExtension, params};

use super::{Reader, Result, Store, StoreError};
use crate::domain::{DeviceId, EventId, Scope, replica::ChainEnd};

impl Store {
    /// Notes how far a device had a team's scope at a time by its own clock, in milliseconds since the Unix epoch. What is known from later
    /// stays.
    pub fn write_peer_vector(
        &mut self,
        team: &EventId,
        peer: &DeviceId,
        scope: &Scope,
        ends: &[ChainEnd],
        at: u64,
    ) -> Result<()> {
        let at = i64::try_from(at).unwrap_or(i64::MAX);
        let ends = minicbor::to_vec(ends).unwrap_or_default();
        self.reader
            .db
            .prepare_cached(
                "INSERT INTO peer_vectors (peer, team, org_id, project, ends, learnt_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT DO UPDATE SET ends = excluded.ends, learnt_at = excluded.learnt_at
                 WHERE excluded.learnt_at >= learnt_at",
            )?
            .execute(params![peer.0, team.0, scope.org_id, scope.project, ends, at])?;
        Ok(())
    }
}

impl Reader {
    /// How far a device is known to have a team's scope; `None` where it never said.
    pub fn peer_vector(&self, team: &EventId, peer: &DeviceId, scope: &Scope) -> Result<Option<Vec<ChainEnd>>> {
        let mut read = self.db.prepare_cached(
            "SELECT ends FROM peer_vectors WHERE peer = ?1 AND team = ?2 AND org_id = ?3 AND project = ?4",
        )?;
        let found: Option<Vec<u8>> =
            read.query_row(params![peer.0, team.0, scope.org_id, scope.project], |row| row.get(0)).optional()?;
        found
            .map(|ends| {
                minicbor::decode(&ends).map_err(|error| StoreError::Damaged(format!("a peer's vector: {error}")))
            })
            .transpose()
    }
}
