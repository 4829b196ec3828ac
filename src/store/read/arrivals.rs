//! Reads the claims that became active since a position of the log.

use rusqlite::params;

use super::claims::bare_claims_by_number;
use crate::{
    domain::{EventKind, Scope, derive},
    store::{ClaimRow, Reader, Result, log},
};

impl Reader {
    /// Returns the active claims of some scopes that were stored since a position of the log
    /// ([`Reader::log_position`]), in the order of arrival, without their relations. `None` if older claims may have
    /// become active since, or if more than `most` events arrived.
    pub fn claims_since(&self, position: (i64, i64), scopes: &[Scope], most: usize) -> Result<Option<Vec<ClaimRow>>> {
        self.snapshot(|reader| {
            let db = &reader.db;
            let (move_count, last) = position;
            if log::move_count(db)? != move_count {
                return Ok(None);
            }
            let mut kinds = db.prepare_cached("SELECT kind FROM events WHERE n > ?1 LIMIT ?2")?;
            let mut arrived = 0;
            for kind in kinds.query_map(params![last, most + 1], |row| row.get::<_, String>(0))? {
                let Ok(kind) = kind?.parse::<EventKind>();
                arrived += 1;
                if arrived > most || derive::may_revive(&kind) {
                    return Ok(None);
                }
            }
            let mut read =
                db.prepare_cached("SELECT n FROM claims WHERE n > ?1 AND scope = ?2 AND status = 0 AND undone = 0")?;
            let mut numbers = Vec::new();
            for scope in log::known_scopes(db, scopes)? {
                let found = read.query_map(params![last, scope], |row| row.get::<_, i64>(0))?;
                numbers.extend(found.collect::<rusqlite::Result<Vec<_>>>()?);
            }
            numbers.sort_unstable();
            Ok(Some(bare_claims_by_number(db, numbers)?))
        })
    }
}
