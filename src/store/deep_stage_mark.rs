//! How far the background pass has read: a mark in the store's file, so that what waits for it outlives the process.

use rusqlite::params;

use super::{Reader, Result, Store, log, open};
use crate::domain::ClaimId;

const MARK: &str = "deep.read";

impl Store {
    /// Notes that the background pass has read a claim, and with it all that were stored before. Without a claim: all that are stored now, where
    /// nothing was noted before.
    pub fn mark_read(&mut self, claim: Option<&ClaimId>) -> Result<()> {
        let db = &self.reader.db;
        let known: Option<i64> = open::setting(db, MARK)?;
        let at = match claim {
            Some(claim) => log::number_of(db, claim)?,
            None if known.is_some() => None,
            None => Some(db.query_row("SELECT coalesce(max(n), 0) FROM claims", [], |row| row.get(0))?),
        };
        match at.filter(|at| known.is_none_or(|known| known < *at)) {
            Some(at) => open::set(db, MARK, at),
            None => Ok(()),
        }
    }
}

impl Reader {
    /// The active guarded claims that were stored after the last one that the background pass has read, the newest `most` of them, the
    /// oldest first; none where it has never read.
    pub fn unread(&self, most: usize) -> Result<Vec<ClaimId>> {
        let Some(mark) = open::setting::<i64>(&self.db, MARK)? else { return Ok(Vec::new()) };
        let mut read = self.db.prepare_cached(
            "SELECT id FROM claims WHERE n > ?1 AND status = 0 AND kind <> 0 ORDER BY n DESC LIMIT ?2",
        )?;
        let rows = read.query_map(params![mark, most], |row| log::id_at(row, 0))?;
        let mut found = rows.collect::<rusqlite::Result<Vec<_>>>()?;
        found.reverse();
        Ok(found)
    }
}
