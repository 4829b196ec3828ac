//! The progress of the background pass of the guard's deep stage, stored in the file so that it survives a restart.
//!
//! The pass reads the newest claims first. So it has read all claims up to one row number, and a range of newer ones,
//! which grows downwards until it reaches the rest.

use rusqlite::{Connection, params};

use super::{Reader, Result, Store, commit, log, open};
use crate::domain::ClaimId;

/// Setting: all claims up to this row number were read.
const READ_SETTING: &str = "deep.read";

/// Settings: the claims above the first and up to the second row number were read, too; both are equal if there are
/// none.
const ABOVE_SETTING: &str = "deep.above";
const UP_TO_SETTING: &str = "deep.up_to";

/// Returns the three settings, if the pass was ever begun.
fn marks(db: &Connection) -> Result<Option<(i64, i64, i64)>> {
    let Some(read) = open::setting::<i64>(db, READ_SETTING)? else { return Ok(None) };
    let at = |name| Ok::<i64, super::StoreError>(open::setting(db, name)?.unwrap_or(read));
    Ok(Some((read, at(ABOVE_SETTING)?, at(UP_TO_SETTING)?)))
}

impl Store {
    /// Begins the background pass, unless it was begun before. Claims older than `oldest`, the first that waits, are
    /// left to an audit; without `oldest`, all stored claims are.
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
        open::set(&tx, READ_SETTING, read)?;
        tx.commit()
    }

    /// Stores the progress of the background pass: `newest` is the row number of the newest claim that it has read,
    /// `next` the newest claim that waits.
    pub fn note_deep_stage(&mut self, newest: i64, next: Option<&ClaimId>) -> Result<()> {
        let tx = commit::begin(&mut self.reader)?;
        let Some((read, above, up_to)) = marks(&tx)? else { return Ok(()) };
        match next.map(|id| log::row_number(&tx, id)).transpose()?.flatten() {
            None => {
                let read = read.max(up_to).max(newest);
                [READ_SETTING, ABOVE_SETTING, UP_TO_SETTING]
                    .into_iter()
                    .try_for_each(|name| open::set(&tx, name, read))?;
            }
            // Newer claims arrived above the range that was read. The range stays as it is, so after a crash they are
            // all read again.
            Some(next) if next >= newest || (above < up_to && next > up_to) => return Ok(()),
            Some(next) => {
                open::set(&tx, ABOVE_SETTING, next)?;
                open::set(&tx, UP_TO_SETTING, newest.max(up_to))?;
            }
        }
        tx.commit()
    }
}

impl Reader {
    /// Returns the newest `most` active guarded claims that wait for the background pass, the oldest first; none if the
    /// pass was never begun.
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

    /// Returns the row number of a claim in this file; claims that arrived later have greater numbers.
    pub fn claim_number(&self, id: &ClaimId) -> Result<Option<i64>> {
        log::row_number(&self.db, id)
    }
}
