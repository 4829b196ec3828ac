//! Removes old events of the local log that nothing is computed from any more. (record 58)
//!
//! Only what agents did and a person has seen, the marks that say so, and chunks that are no longer in their file, with what took them out.
//! Warnings stay, since lists of claims ask for them; so does every event of a card, every undo with what it undid, and the whole shared log.

use std::{
    collections::{BTreeSet, HashMap},
    path::Path,
};

use rusqlite::{Connection, params};

use super::{Reader, Result, Store, commit, log, project::Projector, team, vectors};
use crate::domain::{DeviceId, Scope};

/// The kinds that may be removed, once they are old enough and nothing needs them.
const KINDS: &str = "('local.forced', 'local.retracted', 'local.seen', 'local.chunk', 'local.chunk_gone')";

/// Old events of these kinds, apart from notices that no person has seen (they may wait again if their claim changes), chunks in force, the end of
/// each chain (the next event names it), the newest event (its number must not be used again), and the newest act of each writer (`undo` takes it
/// back). ?1: the time.
fn old_events() -> String {
    format!(
        "SELECT e.n FROM events e WHERE e.log = 1 AND e.kind IN {KINDS} AND e.wall < ?1
         AND (e.kind NOT IN ('local.forced', 'local.retracted') OR EXISTS (
            SELECT 1 FROM edges s JOIN events m ON m.n = s.src AND m.kind = 'local.seen' AND m.effective = 1
            WHERE s.dst = e.id AND s.role = 0))
         AND NOT EXISTS (SELECT 1 FROM chunks c WHERE c.n = e.n AND c.active = 1)
         AND EXISTS (SELECT 1 FROM events f WHERE f.author = e.author AND f.epoch = e.epoch AND f.scope = e.scope AND f.log = 1
            AND f.team IS e.team AND f.seq > e.seq)
         AND e.n < (SELECT max(n) FROM events)
         AND EXISTS (SELECT 1 FROM events f WHERE f.who = e.who AND f.agent IS e.agent AND f.op <> e.op AND f.wall >= e.wall)"
    )
}

/// What a compaction removes, or would remove.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactedLog {
    /// Events.
    pub events: usize,
    /// Bytes of their headers and bodies.
    pub bytes: u64,
}

/// What became of the file after a compaction, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileShrink {
    /// Its free pages were returned to the system.
    Shrunk {
        /// The file before.
        before: u64,
        /// The file after.
        after: u64,
    },
    /// Returning them would write more than it frees: new claims use them first.
    Kept {
        /// Free pages in the file.
        free: u64,
        /// What would have to be written.
        used: u64,
    },
    /// The disk has no room for the copy that SQLite makes meanwhile.
    NoRoom {
        /// What it takes.
        needed: u64,
    },
}

impl Reader {
    /// What [`Store::compact`] would remove.
    pub fn compactable(&self, before: u64) -> Result<CompactedLog> {
        self.snapshot(|reader| {
            let places = removable(&reader.db, before)?;
            sum_of(&reader.db, &places)
        })
    }

    /// How many events were removed from each local chain: gaps of that size are no damage.
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

    /// The bytes of the pages that hold nothing, and of all others.
    pub(super) fn page_bytes(&self) -> Result<[u64; 2]> {
        let read = |name| self.db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let page = read("page_size")?.unsigned_abs();
        let free = read("freelist_count")?.unsigned_abs();
        Ok([free * page, read("page_count")?.unsigned_abs().saturating_sub(free) * page])
    }
}

impl Store {
    /// Removes the events of the local log from before a time, in milliseconds since the Unix epoch, that nothing needs any more; all of them, or
    /// none. What claims, cards, notices and counts say stays the same.
    pub fn compact(&mut self, before: u64) -> Result<CompactedLog> {
        let tx = commit::begin(&mut self.reader)?;
        let places = removable(&tx, before)?;
        let removed = sum_of(&tx, &places)?;
        if places.is_empty() {
            return Ok(removed);
        }
        for n in &places {
            tx.prepare_cached(
                "INSERT INTO compacted (author, epoch, scope, events) SELECT author, epoch, scope, 1 FROM events WHERE n = ?1
                 ON CONFLICT (author, epoch, scope) DO UPDATE SET events = events + 1",
            )?
            .execute([n])?;
        }
        log::record_move(&tx)?;
        // No claim is among them.
        team::with_reference_indexes(&tx, places.len(), &team::TO_EVENTS, || {
            let mut projector = Projector::new(&tx, &*self.check)?;
            let leaving = projector.leave(places.iter().copied())?;
            for n in &places {
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

    /// Returns the file's free pages to the system if that frees more than the file still holds, which SQLite writes anew for it. `room` is what
    /// is free on the disk, if known. No other connection may have the file open.
    pub fn shrink(&mut self, room: Option<u64>) -> Result<FileShrink> {
        self.reader.in_place()?;
        let [free, used] = self.reader.page_bytes()?;
        if free <= used {
            return Ok(FileShrink::Kept { free, used });
        }
        // The copy, and the write-ahead log that brings it into the file.
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

    /// The file of the store.
    pub fn path(&self) -> &Path {
        self.reader.path()
    }
}

/// The events to remove: old ones without those that one which stays refers to, and without those that change one which stays.
fn removable(db: &Connection, before: u64) -> Result<BTreeSet<i64>> {
    let mut read = db.prepare(&old_events())?;
    let rows = read.query_map([log::wall(before)], |row| row.get(0))?;
    let mut leaving = rows.collect::<rusqlite::Result<BTreeSet<i64>>>()?;
    // What refers to an event, by its targets, as its successor, or as seen.
    let mut pointing =
        db.prepare("SELECT x.src FROM events e JOIN edges x ON x.dst = e.id AND x.role < 3 WHERE e.n = ?1")?;
    // Those in the log that a mark or a removal acts on: without it they would come back.
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

fn sum_of(db: &Connection, places: &BTreeSet<i64>) -> Result<CompactedLog> {
    let mut read = db.prepare(
        "SELECT length(header) + length(signature) + coalesce(length(salt) + length(body), 0) FROM events WHERE n = ?1",
    )?;
    let mut bytes = 0;
    for n in places {
        bytes += read.query_row(params![n], |row| row.get::<_, i64>(0))?.unsigned_abs();
    }
    Ok(CompactedLog { events: places.len(), bytes })
}
