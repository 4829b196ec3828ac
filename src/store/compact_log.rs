//! Removes old events of the local log that nothing depends on any more. (record 58)
//!
//! Only these are removed: notices of what agents did, if a person has seen them; the events that mark them as seen;
//! chunks that are no longer in their file; and the events that removed those. Warnings stay, because lists of claims
//! filter by them; so do all events of cards, undo events with what they undid, and the whole shared log.

use std::collections::{BTreeSet, HashMap, HashSet};

use rusqlite::{Connection, Row, params};

use super::{Reader, Result, Store, commit, log, project::Projector, team, vectors};
use crate::domain::{DeviceId, Scope};

/// The kinds of events that may be removed if they are old and nothing needs them.
const REMOVABLE_KINDS: &str = "('local.forced', 'local.retracted', 'local.seen', 'local.chunk', 'local.chunk_gone')";

/// Returns the query for old events of [`REMOVABLE_KINDS`], each with its author and act, except notices that no person
/// has seen (they may wait again if their claim changes), active chunks, the end of each chain (the next event names
/// it) and the newest event (its row number must not be reused). Binds ?1 to the time.
fn old_events() -> String {
    format!(
        "SELECT e.n, e.author, e.op FROM events e WHERE e.log = 1 AND e.kind IN {REMOVABLE_KINDS} AND e.wall < ?1
         AND (e.kind NOT IN ('local.forced', 'local.retracted') OR EXISTS (
            SELECT 1 FROM edges s JOIN events m ON m.n = s.src AND m.kind = 'local.seen' AND m.effective = 1
            WHERE s.dst = e.id AND s.role = 0))
         AND NOT EXISTS (SELECT 1 FROM chunks c WHERE c.n = e.n AND c.active = 1)
         AND EXISTS (SELECT 1 FROM events f WHERE f.author = e.author AND f.epoch = e.epoch AND f.scope = e.scope AND f.log = 1
            AND f.team IS e.team AND f.seq > e.seq)
         AND e.n < (SELECT max(n) FROM events)"
    )
}

/// The last act of each writer, which `undo` reverses: with `max`, SQLite takes the other columns from the same row.
const LAST_ACTS: &str = "SELECT author, op, max(n) FROM events NOT INDEXED GROUP BY author, who, agent";

/// The number and size of the events that a compaction removes, or would remove.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactedLog {
    pub events: usize,
    /// The size of headers, signatures and bodies, in bytes.
    pub bytes: u64,
}

/// The result of [`Store::shrink`], with sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileShrink {
    /// The free pages of the file were returned to the system.
    Shrunk {
        /// The size before, with the write-ahead log.
        before: u64,
        /// The size after, with the write-ahead log.
        after: u64,
    },
    /// The free pages stay, because returning them would write more than it frees. New claims use them first.
    Kept {
        /// The size of the free pages.
        free: u64,
        /// The size of the other pages, which would have to be written.
        used: u64,
    },
    /// The disk has no room for SQLite's temporary copy.
    NoRoom {
        /// The size of the room that is needed.
        needed: u64,
    },
}

impl Reader {
    /// Returns what [`Store::compact`] would remove.
    pub fn compactable(&self, before: u64) -> Result<CompactedLog> {
        self.snapshot(|reader| {
            let numbers = removable(&reader.db, before)?;
            sum_of(&reader.db, &numbers)
        })
    }

    /// Returns how many events compactions removed from each local chain: gaps of that size are no damage.
    pub(super) fn compacted(&self) -> Result<HashMap<(DeviceId, u64, Scope), u64>> {
        let mut read = self.db.prepare("SELECT author, epoch, scope, events FROM compacted")?;
        let rows = read.query_map([], |row| {
            let chain = (DeviceId(row.get(0)?), row.get::<_, i64>(1)?.cast_unsigned());
            Ok((chain, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?.unsigned_abs()))
        })?;
        let mut found = HashMap::new();
        for row in rows {
            let ((author, epoch), scope, events) = row?;
            found.insert((author, epoch, log::scope_by_number(&self.db, scope)?), events);
        }
        Ok(found)
    }

    /// Returns the size of the free pages and of all others, in bytes.
    pub(super) fn page_bytes(&self) -> Result<[u64; 2]> {
        let read = |name| self.db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let page = read("page_size")?.unsigned_abs();
        let free = read("freelist_count")?.unsigned_abs();
        Ok([free * page, read("page_count")?.unsigned_abs().saturating_sub(free) * page])
    }
}

impl Store {
    /// Removes the events of the local log from before a time, in milliseconds since the Unix epoch, that nothing needs
    /// any more: either all or none. Claims, cards, open notices and counts stay the same.
    pub fn compact(&mut self, before: u64) -> Result<CompactedLog> {
        let tx = commit::begin(&mut self.reader)?;
        let numbers = removable(&tx, before)?;
        let removed = sum_of(&tx, &numbers)?;
        if numbers.is_empty() {
            return Ok(removed);
        }
        for n in &numbers {
            tx.prepare_cached(
                "INSERT INTO compacted (author, epoch, scope, events) SELECT author, epoch, scope, 1 FROM events WHERE n = ?1
                 ON CONFLICT (author, epoch, scope) DO UPDATE SET events = events + 1",
            )?
            .execute([n])?;
        }
        log::record_move(&tx)?;
        // Claims are never removed, so indexes of references to events suffice.
        team::with_reference_indexes(&tx, numbers.len(), &team::REFERENCES_TO_EVENTS, || {
            let mut projector = Projector::new(&tx, &*self.check)?;
            let leaving = projector.withdraw_events(numbers.iter().copied())?;
            for n in &numbers {
                vectors::forget(&tx, *n)?;
                tx.prepare_cached("DELETE FROM edges WHERE src = ?1")?.execute([n])?;
                tx.prepare_cached("DELETE FROM events WHERE n = ?1")?.execute([n])?;
            }
            projector.after_removal(&leaving)?;
            projector.finish()
        })?;
        tx.commit()?;
        Ok(removed)
    }

    /// Returns the file's free pages to the system, which makes SQLite write all other pages again, if there are more
    /// free pages than others. `room` is the free space on the disk in bytes, if known. No other connection may have
    /// the file open.
    pub fn shrink(&mut self, room: Option<u64>) -> Result<FileShrink> {
        self.reader.in_place()?;
        let [free, used] = self.reader.page_bytes()?;
        if free <= used {
            return Ok(FileShrink::Kept { free, used });
        }
        // The copy, and the write-ahead log through which it is written into the file.
        let needed = 2 * used;
        if room.is_some_and(|room| room < needed) {
            return Ok(FileShrink::NoRoom { needed });
        }
        let before = self.reader.size()?;
        self.reader.db.execute_batch("VACUUM")?;
        self.reader.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        self.reader.expect_smaller()?;
        Ok(FileShrink::Shrunk { before, after: self.reader.size()? })
    }
}

/// Returns the events to remove: the old ones, except the last act of each writer, those that a remaining event refers to
/// and those that affect a remaining event.
fn removable(db: &Connection, before: u64) -> Result<BTreeSet<i64>> {
    let act_of = |row: &Row<'_>, column| Ok((row.get::<_, [u8; 32]>(column)?, row.get::<_, [u8; 16]>(column + 1)?));
    let mut read = db.prepare(&old_events())?;
    let rows = read.query_map([log::wall(before)], |row| Ok((row.get(0)?, act_of(row, 1)?)))?;
    let old = rows.collect::<rusqlite::Result<Vec<(i64, _)>>>()?;
    if old.is_empty() {
        return Ok(BTreeSet::new());
    }
    let mut read = db.prepare(LAST_ACTS)?;
    let last = read.query_map([], |row| act_of(row, 0))?.collect::<rusqlite::Result<HashSet<_>>>()?;
    let mut leaving: BTreeSet<i64> = old.into_iter().filter(|(_, act)| !last.contains(act)).map(|(n, _)| n).collect();
    // The events that refer to an event as target, successor or seen.
    let mut pointing =
        db.prepare("SELECT x.src FROM events e JOIN edges x ON x.dst = e.id AND x.role < 3 WHERE e.n = ?1")?;
    // The notices or chunks that an event marks as seen or removes: without it they would come back.
    let mut changed = db.prepare(
        "SELECT t.n FROM events e JOIN edges x ON x.src = e.n AND x.role = 0 JOIN events t ON t.id = x.dst
         WHERE e.n = ?1 AND e.kind IN ('local.seen', 'local.chunk_gone')",
    )?;
    let mut neighbours = |n: i64| -> Result<Vec<i64>> {
        let mut found = pointing.query_map([n], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
        for target in changed.query_map([n], |row| row.get(0))? {
            found.push(target?);
        }
        Ok(found)
    };
    loop {
        let mut needed = Vec::new();
        for n in &leaving {
            if neighbours(*n)?.iter().any(|other| !leaving.contains(other)) {
                needed.push(*n);
            }
        }
        if needed.is_empty() {
            return Ok(leaving);
        }
        for n in needed {
            leaving.remove(&n);
        }
    }
}

fn sum_of(db: &Connection, numbers: &BTreeSet<i64>) -> Result<CompactedLog> {
    let mut read = db.prepare(
        "SELECT length(header) + length(signature) + coalesce(length(salt) + length(body), 0) FROM events WHERE n = ?1",
    )?;
    let mut bytes = 0;
    for n in numbers {
        bytes += read.query_row(params![n], |row| row.get::<_, i64>(0))?.unsigned_abs();
    }
    Ok(CompactedLog { events: numbers.len(), bytes })
}

#[cfg(test)]
mod tests {
    use super::{LAST_ACTS, old_events};
    use crate::store::open;

    #[test]
    fn old_events_are_found_in_two_passes() {
        let db = open::temporary().unwrap();
        for sql in [old_events().as_str(), LAST_ACTS] {
            let mut read = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let bound = vec![0; read.parameter_count()];
            let steps = read.query_map(rusqlite::params_from_iter(bound), |row| row.get::<_, String>(3)).unwrap();
            let plan = steps.collect::<rusqlite::Result<Vec<_>>>().unwrap();
            let is_pass = |step: &&String| ["SCAN", "rowid<", "rowid>"].iter().any(|word| step.contains(word));
            let passes = plan.iter().filter(is_pass).count();
            assert_eq!(passes, 1, "{plan:#?}");
        }
    }
}
