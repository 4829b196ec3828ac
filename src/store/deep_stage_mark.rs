//! How far the background pass has read: marks in the store's file, so that what waits for it outlives the process.
//!
//! It reads the newest claims first. What it has read are all claims up to one number, and those of a range above: the newest ones, as far down as it
//! has come.

use rusqlite::{Connection, params};

use super::{Reader, Result, Store, commit, log, open};
use crate::domain::ClaimId;

/// All claims up to this number were read.
const READ: &str = "deep.read";

/// The claims above [`ABOVE`] up to [`UP_TO`] were read, too; the same number in both for none.
const ABOVE: &str = "deep.above";
const UP_TO: &str = "deep.up_to";

/// The marks, if the pass has ever read.
fn marks(db: &Connection) -> Result<Option<(i64, i64, i64)>> {
    let Some(read) = open::setting::<i64>(db, READ)? else { return Ok(None) };
    let at = |name| Ok::<i64, super::StoreError>(open::setting(db, name)?.unwrap_or(read));
    Ok(Some((read, at(ABOVE)?, at(UP_TO)?)))
}

impl Store {
    /// Notes that the background pass begins, unless it has before: claims older than `oldest`, the first that waits, are left to an audit; without
    /// one, all that are stored.
    pub fn begin_deep_stage(&mut self, oldest: Option<&ClaimId>) -> Result<()> {
        let tx = commit::begin(&mut self.reader)?;
        if marks(&tx)?.is_some() {
            return Ok(());
        }
        let first = oldest.map(|id| log::row_number(&tx, id)).transpose()?.flatten();
        let read = match first {
            Some(first) => first - 1,
            None => tx.query_row("SELECT coalesce(max(n), 0) FROM claims", [], |row| row.get(0))?,
        };
        open::set(&tx, READ, read)?;
        tx.commit()
    }

    /// Notes how far the background pass has come: `newest` is the number of the newest claim that it has read, and `next` the newest that waits.
    pub fn note_deep_stage(&mut self, newest: i64, next: Option<&ClaimId>) -> Result<()> {
        let tx = commit::begin(&mut self.reader)?;
        let Some((read, above, up_to)) = marks(&tx)? else { return Ok(()) };
        match next.map(|id| log::row_number(&tx, id)).transpose()?.flatten() {
            None => {
                let read = read.max(up_to).max(newest);
                [READ, ABOVE, UP_TO].into_iter().try_for_each(|name| open::set(&tx, name, read))?;
            }
            // Claims that came meanwhile wait above what was read: after a crash they are all read again.
            Some(next) if next >= newest || (above < up_to && next > up_to) => return Ok(()),
            Some(next) => {
                open::set(&tx, ABOVE, next)?;
                open::set(&tx, UP_TO, newest.max(up_to))?;
            }
        }
        tx.commit()
    }
}

impl Reader {
    /// The active guarded claims that wait for the background pass, the newest `most` of them, the oldest first; none if it has never read.
    pub fn deep_stage_waits(&self, most: usize) -> Result<Vec<ClaimId>> {
        let Some((read, above, up_to)) = marks(&self.db)? else { return Ok(Vec::new()) };
        let mut select = self.db.prepare_cached(
            "SELECT id FROM claims WHERE n > ?1 AND NOT (n > ?2 AND n <= ?3) AND status = 0 AND kind <> 0
             ORDER BY n DESC LIMIT ?4",
        )?;
        let rows = select.query_map(params![read, above, up_to, most], |row| log::id_at(row, 0))?;
        let mut found = rows.collect::<rusqlite::Result<Vec<_>>>()?;
        found.reverse();
        Ok(found)
    }

    /// The number of a claim in this file: claims that arrived later have greater ones.
    pub fn claim_number(&self, id: &ClaimId) -> Result<Option<i64>> {
        log::row_number(&self.db, id)
    }
}
