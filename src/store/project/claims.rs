//! Computes the state of claims from the acts on them.

use rusqlite::{Connection, OptionalExtension, params};

use super::Projector;
use crate::{
    domain::{
        ClaimKind, EventId, EventKind, Status,
        derive::{ActOnClaim, ClaimState, claim_state},
    },
    store::{
        Result,
        log::{self, LoadedEvent},
    },
};

/// Returns the code of a status in the tables.
pub(in crate::store) fn status_code(status: Status) -> i64 {
    match status {
        Status::Active => 0,
        Status::Superseded => 1,
        // A refused new claim is in no table of claims.
        Status::Retracted | Status::Refused => 2,
    }
}

/// Returns the status with a code. An unknown code counts as retracted, so that its claim is never treated as active.
pub(in crate::store) fn status_of(code: i64) -> Status {
    match code {
        0 => Status::Active,
        1 => Status::Superseded,
        _ => Status::Retracted,
    }
}

pub(in crate::store) fn kind_code(kind: ClaimKind) -> i64 {
    match kind {
        ClaimKind::Fact => 0,
        ClaimKind::Decision => 1,
        ClaimKind::Constraint => 2,
        ClaimKind::Rejection => 3,
        ClaimKind::Convention => 4,
    }
}

/// Returns the kind with a code.
///
/// # Errors
/// For an unknown code, which only damage to the file can cause: a newer version has another schema.
pub(in crate::store) fn kind_of(code: i64) -> rusqlite::Result<ClaimKind> {
    let found = ClaimKind::ALL.into_iter().find(|kind| kind_code(*kind) == code);
    found.ok_or_else(|| log::unknown_code("kind of claim", code))
}

/// Inserts the row of a new claim.
pub(super) fn insert(db: &Connection, event: &LoadedEvent) -> Result<()> {
    let header = &event.header;
    let kind = match event.kind {
        EventKind::FactSet => ClaimKind::Fact,
        _ => header.claim_kind.unwrap_or_default(),
    };
    db.prepare_cached(
        "INSERT INTO claims (n, id, scope, kind, wall, tick, key_hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![
        event.n,
        event.id.0,
        event.scope,
        kind_code(kind),
        log::wall(header.clock.wall),
        header.clock.count,
        header.key_hash.filter(|_| kind == ClaimKind::Fact).map(|key| key.0),
    ])?;
    Ok(())
}

/// Returns the row number of a claim, if it is of this scope.
pub(super) fn in_scope(db: &Connection, id: &EventId, scope: i64) -> Result<Option<i64>> {
    let mut read = db.prepare_cached("SELECT n FROM claims WHERE id = ?1 AND scope = ?2")?;
    Ok(read.query_row(params![id.0, scope], |row| row.get(0)).optional()?)
}

/// Returns the row numbers of the claims that the act of an event created, by the same device in the same scope.
pub(super) fn created_with(db: &Connection, event: &LoadedEvent) -> Result<Vec<i64>> {
    let mut read = db.prepare_cached(
        "SELECT c.n FROM events e JOIN claims c ON c.n = e.n WHERE e.op = ?1 AND e.author = ?2 AND e.scope = ?3",
    )?;
    let rows = read.query_map(params![event.header.op.0, event.header.author.0, event.scope], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Computes the state of a claim from the log.
pub(super) fn state(db: &Connection, claim: &LoadedEvent) -> Result<ClaimState> {
    let mut read = db.prepare_cached(log::select_loaded!(
        "edges x JOIN events e ON e.n = x.src WHERE x.dst = ?1 AND x.role = 0 AND e.scope = ?2 AND e.effective = 1
         AND e.kind IN ('supersede', 'retract', 'reinstate', 'fact_set')"
    ))?;
    let mut acts = Vec::new();
    for act in read.query_map(params![claim.id.0, claim.scope], LoadedEvent::read)? {
        let act = act?;
        acts.extend(ActOnClaim::of(claim.id, &claim.header, act.id, &act.header));
    }
    Ok(claim_state(claim.effective, &acts))
}

impl Projector<'_> {
    /// Recomputes the state of the claims that may have changed.
    pub(super) fn settle_states(&mut self) -> Result<()> {
        for n in std::mem::take(&mut self.dirty.states) {
            let claim = log::load(self.db, n)?;
            let state = state(self.db, &claim)?;
            let mut old = self.db.prepare_cached("SELECT status, undone FROM claims WHERE n = ?1")?;
            let old: Option<(i64, bool)> = old.query_row([n], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            // A later batch of a rebuild projects this event, to which an event of the present batch points.
            let Some((status, undone)) = old else { continue };
            let acts_changed = self.write_acts(n, &state)?;
            let status_changed = status != status_code(state.status);
            if status_changed || undone != state.undone {
                self.db.prepare_cached("UPDATE claims SET status = ?2, undone = ?3 WHERE n = ?1")?.execute(params![
                    n,
                    status_code(state.status),
                    state.undone
                ])?;
            }
            if acts_changed || undone != state.undone {
                let forked = state.live.len() + usize::from(state.undone) >= 2;
                self.db.prepare_cached("UPDATE claims SET forked = ?2 WHERE n = ?1")?.execute(params![n, forked])?;
            }
            if status_changed {
                self.dirty.status_changed.insert(n);
            }
            if status_changed || acts_changed || undone != state.undone {
                self.dirty.state_changed.insert(n);
            }
        }
        self.dirty.rows.extend(&self.dirty.state_changed);
        self.dirty.touched.extend(&self.dirty.state_changed);
        Ok(())
    }

    /// Writes the live acts of a claim, and returns whether they changed.
    fn write_acts(&mut self, n: i64, state: &ClaimState) -> Result<bool> {
        let mut read = self.db.prepare_cached("SELECT act, successor FROM live_acts WHERE claim = ?1 ORDER BY act")?;
        let old = read.query_map([n], |row| Ok((row.get::<_, i64>(0)?, log::optional_id_at(row, 1)?)))?;
        let old = old.collect::<rusqlite::Result<Vec<_>>>()?;
        let mut new = Vec::new();
        for act in &state.live {
            if let Some(event) = log::row_number(self.db, &act.id)? {
                new.push((event, act.successor));
            }
        }
        new.sort_unstable();
        if old == new {
            return Ok(false);
        }
        self.db.prepare_cached("DELETE FROM live_acts WHERE claim = ?1")?.execute([n])?;
        for (act, successor) in &new {
            self.db
                .prepare_cached("INSERT INTO live_acts (claim, act, successor) VALUES (?1, ?2, ?3)")?
                .execute(params![n, act, successor.map(|id| id.0)])?;
        }
        // The rows of the successors list what they replaced.
        for (_, successor) in old.iter().chain(&new) {
            if let Some(id) = successor
                && let Some(successor) = log::row_number(self.db, id)?
            {
                self.dirty.touched.insert(successor);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreError;

    #[test]
    fn an_unknown_kind_of_claim_is_damage() {
        for kind in ClaimKind::ALL {
            assert_eq!(kind_of(kind_code(kind)).unwrap(), kind);
        }
        let error = StoreError::from(kind_of(9).unwrap_err());
        assert!(error.is_damage() && error.to_string().ends_with("unknown kind of claim 9"), "{error}");
    }
}
