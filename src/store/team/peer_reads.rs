//! Reads for peers: ends of chains, pages of events, bodies.

use std::{
    collections::{HashMap, HashSet},
    ops::RangeInclusive,
};

use rusqlite::{Connection, Row, params};

use super::{
    bound,
    ledger::{self, events_at},
    sync_rows::{Fork, LogEntry, LogEntryCursor, LogEntryPage, SyncCursor, SyncPage, TeamRow},
};
use crate::{
    domain::{
        DeviceId, EventId, Hlc, Roster, Scope, SignedEvent,
        event::SealedBody,
        replica::{Chain, ChainEnd, Month},
    },
    store::{
        Reader, Result, StoreError,
        log::{self, id_at, optional_id_at},
    },
};

/// The size from which a page of events is full, in bytes.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// The query of [`Reader::missing_bodies`].
pub(in crate::store) const MISSING_BODIES: &str = "SELECT id FROM events
     WHERE shared = ?1 AND body IS NULL AND id > ?2 AND NOT EXISTS (
        SELECT 1 FROM edges x JOIN events r ON r.n = x.src AND r.kind = 'redact' AND r.scope = events.scope
        WHERE x.dst = events.id AND x.role = 0)
     ORDER BY id LIMIT ?3";

/// The `SELECT` that [`read_entry`] reads.
const ENTRY: &str = "SELECT n, id, wall, tick, header, signature FROM events";

fn read_entry(row: &Row<'_>) -> rusqlite::Result<(LogEntryCursor, LogEntry)> {
    let (n, wall, tick) = (row.get(0)?, row.get::<_, i64>(2)?, row.get(3)?);
    let entry = LogEntry {
        id: id_at(row, 1)?,
        clock: Hlc { wall: wall.unsigned_abs(), count: tick },
        header: row.get(4)?,
        signature: row.get(5)?,
    };
    Ok((LogEntryCursor { wall, tick, n }, entry))
}

impl Reader {
    /// Returns the teams that this device belongs or belonged to, by the time of joining.
    pub fn teams(&self) -> Result<Vec<TeamRow>> {
        let mut read = self.db.prepare_cached("SELECT id, joined_at, left_at FROM teams ORDER BY n")?;
        let rows = read.query_map([], |row| {
            Ok(TeamRow {
                id: id_at(row, 0)?,
                joined_at: row.get::<_, i64>(1)?.unsigned_abs(),
                left_at: row.get::<_, Option<i64>>(2)?.map(i64::unsigned_abs),
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the teams like [`Reader::teams`], each with its roster, which is computed from all of its events.
    pub fn teams_with_rosters(&self) -> Result<Vec<(TeamRow, Roster)>> {
        self.snapshot(|reader| {
            let mut teams = Vec::new();
            for team in reader.teams()? {
                teams.extend(reader.roster(&team.id)?.map(|roster| (team, roster)));
            }
            Ok(teams)
        })
    }

    /// Returns how far this device has each chain of a team's scope, by chain.
    pub fn vector(&self, team: &EventId, scope: &Scope) -> Result<Vec<ChainEnd>> {
        match bound(&self.db, team, scope)? {
            Some(shared) => vector(&self.db, shared),
            None => Ok(Vec::new()),
        }
    }

    /// Returns up to `limit` events of a team's scope that a peer with `vector` lacks; fewer if they are large.
    ///
    /// Includes both branches of forks, and the whole of a chain if the peer's end of it is unknown here. Events that
    /// the peer already has do no harm.
    pub fn events_after(
        &self,
        team: &EventId,
        scope: &Scope,
        vector: &[ChainEnd],
        cursor: Option<&SyncCursor>,
        limit: usize,
    ) -> Result<SyncPage> {
        self.snapshot(|reader| {
            let Some(shared) = bound(&reader.db, team, scope)? else { return Ok(SyncPage::default()) };
            let theirs: HashMap<Chain, &ChainEnd> = vector.iter().map(|end| (end.chain, end)).collect();
            let mut page = SyncPage::default();
            for end in self::vector(&reader.db, shared)? {
                let chain = end.chain;
                if cursor.is_some_and(|cursor| chain < cursor.chain) {
                    continue;
                }
                let first = first_lacking(&reader.db, shared, &chain, theirs.get(&chain).copied())?;
                let after =
                    cursor.filter(|cursor| cursor.chain == chain).map_or((0, 0), |cursor| (cursor.seq, cursor.n));
                for positions in lacking(&reader.db, shared, &chain, first, after.0)? {
                    read_chain(&reader.db, shared, &chain, positions, after, limit, &mut page)?;
                    if page.next.is_some() {
                        break;
                    }
                }
                if page.next.is_some() {
                    break;
                }
            }
            Ok(page)
        })
    }

    /// Returns a page of the signed parts of a month's events in a team's scope, by their clock.
    pub fn entries(
        &self,
        team: &EventId,
        scope: &Scope,
        month: Month,
        cursor: Option<&LogEntryCursor>,
        limit: usize,
    ) -> Result<LogEntryPage> {
        let Some(shared) = bound(&self.db, team, scope)? else { return Ok(LogEntryPage::default()) };
        let (first, next) = month.bounds();
        let last = log::wall(next.saturating_sub(u64::from(next < u64::MAX)));
        let after = cursor.copied().unwrap_or(LogEntryCursor { wall: log::wall(first), tick: 0, n: 0 });
        let mut read = self.db.prepare_cached(&format!(
            "{ENTRY} WHERE shared = ?1 AND (wall, tick, n) > (?2, ?3, ?4) AND wall <= ?5 ORDER BY wall, tick, n LIMIT ?6"
        ))?;
        let rows = read
            .query_map(params![shared, after.wall, after.tick, after.n, last, limit.saturating_add(1)], read_entry)?;
        let mut found = rows.collect::<rusqlite::Result<Vec<_>>>()?;
        let more = found.len() > limit;
        found.truncate(limit);
        Ok(LogEntryPage {
            next: found.last().filter(|_| more).map(|(cursor, _)| *cursor),
            entries: found.into_iter().map(|(_, entry)| entry).collect(),
        })
    }

    /// Returns up to `limit` events of a team's scope that are in no document, by their clock. Rosters have no
    /// documents.
    pub fn undocumented(&self, team: &EventId, scope: &Scope, limit: usize) -> Result<Vec<LogEntry>> {
        let Some(shared) = bound(&self.db, team, scope)? else { return Ok(Vec::new()) };
        if crate::domain::roster::is_roster_scope(scope) {
            return Ok(Vec::new());
        }
        let mut read = self
            .db
            .prepare_cached(&format!("{ENTRY} WHERE shared = ?1 AND documented = 0 ORDER BY wall, n LIMIT ?2"))?;
        let rows = read.query_map(params![shared, limit], |row| Ok(read_entry(row)?.1))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Counts the events of a team's scope that are in no document.
    pub fn undocumented_count(&self, team: &EventId, scope: &Scope) -> Result<u64> {
        let Some(shared) = bound(&self.db, team, scope)? else { return Ok(0) };
        let mut read = self.db.prepare_cached("SELECT count(*) FROM events WHERE shared = ?1 AND documented = 0")?;
        Ok(read.query_row([shared], |row| row.get::<_, i64>(0))?.unsigned_abs())
    }

    /// Returns those of these events that this device has, in the log or in quarantine.
    pub fn known(&self, events: &[EventId]) -> Result<HashSet<EventId>> {
        let mut read = self
            .db
            .prepare_cached("SELECT 1 FROM events WHERE id = ?1 UNION ALL SELECT 1 FROM quarantined WHERE id = ?1")?;
        let mut known = HashSet::new();
        for id in events {
            if read.exists([id.0])? {
                known.insert(*id);
            }
        }
        Ok(known)
    }

    /// Returns the bodies of those of these events that a team shares in a scope; `None` for a body that was redacted
    /// or has not arrived.
    pub fn bodies(
        &self,
        team: &EventId,
        scope: &Scope,
        events: &[EventId],
    ) -> Result<Vec<(EventId, Option<SealedBody>)>> {
        let Some(shared) = bound(&self.db, team, scope)? else { return Ok(Vec::new()) };
        let mut read = self.db.prepare_cached("SELECT salt, body FROM events WHERE id = ?1 AND shared = ?2")?;
        let mut found = Vec::new();
        for id in events {
            let mut rows = read.query(params![id.0, shared])?;
            if let Some(row) = rows.next()? {
                let (salt, bytes): (Option<[u8; 16]>, Option<Vec<u8>>) = (row.get(0)?, row.get(1)?);
                found.push((*id, salt.zip(bytes).map(|(salt, bytes)| SealedBody { salt, bytes })));
            }
        }
        Ok(found)
    }

    /// Returns up to `limit` events of a team's scope whose body is missing although no known redaction names them, by
    /// id, those after `after`.
    pub fn missing_bodies(
        &self,
        team: &EventId,
        scope: &Scope,
        after: Option<&EventId>,
        limit: usize,
    ) -> Result<Vec<EventId>> {
        let Some(shared) = bound(&self.db, team, scope)? else { return Ok(Vec::new()) };
        let mut read = self.db.prepare_cached(MISSING_BODIES)?;
        // Every id is greater than an empty blob.
        let after = after.map_or(&[][..], |id| &id.0[..]);
        let rows = read.query_map(params![shared, after, limit], |row| id_at(row, 0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the forks in the chains of a team, in all scopes that are bound on this device.
    pub fn forks(&self, team: &EventId) -> Result<Vec<Fork>> {
        let mut read = self.db.prepare_cached(
            "SELECT f.shared, f.author, f.epoch, f.adopted, f.seq FROM forks f JOIN team_scopes s ON s.n = f.shared
             JOIN teams t ON t.n = s.team WHERE t.id = ?1 ORDER BY f.shared, f.author, f.epoch, f.adopted, f.seq",
        )?;
        let rows = read.query_map([team.0], |row| {
            let chain = Chain {
                author: DeviceId(row.get(1)?),
                epoch: row.get::<_, i64>(2)?.cast_unsigned(),
                adopted: row.get(3)?,
            };
            Ok((row.get::<_, i64>(0)?, chain, row.get::<_, i64>(4)?.cast_unsigned()))
        })?;
        rows.map(|row| {
            let (shared, chain, seq) = row?;
            ledger::fork(&self.db, shared, chain, seq)
        })
        .collect()
    }
}

fn vector(db: &Connection, shared: i64) -> Result<Vec<ChainEnd>> {
    let mut read = db.prepare_cached("SELECT author, epoch, adopted, next, head FROM chains WHERE shared = ?1")?;
    let rows = read.query_map([shared], |row| {
        let chain =
            Chain { author: DeviceId(row.get(0)?), epoch: row.get::<_, i64>(1)?.cast_unsigned(), adopted: row.get(2)? };
        Ok(ChainEnd { chain, next: row.get::<_, i64>(3)?.cast_unsigned(), head: optional_id_at(row, 4)? })
    })?;
    let mut ends = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    ends.sort_unstable_by_key(|end| end.chain);
    Ok(ends)
}

/// Returns the first position of a chain that the peer lacks: 0 if the peer's last event is unknown here.
fn first_lacking(db: &Connection, shared: i64, chain: &Chain, theirs: Option<&ChainEnd>) -> Result<u64> {
    let Some(theirs) = theirs.filter(|end| end.next > 0) else { return Ok(0) };
    let ours = events_at(db, shared, chain, theirs.next - 1)?;
    let other = !ours.is_empty() && theirs.head.is_none_or(|head| !ours.contains(&head));
    Ok(if other { 0 } else { theirs.next })
}

/// Returns the positions of a chain that a peer may lack, from a position on: those before its end at which the chain
/// forks, and all from `first` on.
fn lacking(db: &Connection, shared: i64, chain: &Chain, first: u64, from: u64) -> Result<Vec<RangeInclusive<u64>>> {
    let forks = ledger::positions_of_forks(db, shared, chain)?;
    let before = forks.into_iter().filter(|seq| (from..first).contains(seq)).map(|seq| seq..=seq);
    // Positions are stored as signed numbers.
    Ok(before.chain([first..=i64::MAX.cast_unsigned()]).collect())
}

/// Adds events of a chain to a page: those at these positions and after an event, given by its position and row number.
/// If the page is full, sets its cursor.
fn read_chain(
    db: &Connection,
    shared: i64,
    chain: &Chain,
    positions: RangeInclusive<u64>,
    after: (u64, i64),
    limit: usize,
    page: &mut SyncPage,
) -> Result<()> {
    let mut read = db.prepare_cached(
        "SELECT n, seq, header, signature, salt, body FROM events
         WHERE shared = ?1 AND author = ?2 AND epoch = ?3
            AND team IS (SELECT CASE WHEN ?4 THEN NULL ELSE team END FROM team_scopes WHERE n = ?1)
            AND seq >= ?5 AND (seq > ?5 OR n > ?6) AND seq <= ?7
         ORDER BY seq, n",
    )?;
    let (seq, n) = after.max((*positions.start(), 0));
    let mut rows = read.query(params![
        shared,
        chain.author.0,
        chain.epoch.cast_signed(),
        chain.adopted,
        seq.cast_signed(),
        n,
        positions.end().cast_signed()
    ])?;
    let mut last = (seq, n);
    let mut bytes: usize = page.events.iter().map(size).sum();
    while let Some(row) = rows.next()? {
        if page.events.len() >= limit || bytes >= PAGE_BYTES {
            page.next = Some(SyncCursor { chain: *chain, seq: last.0, n: last.1 });
            return Ok(());
        }
        last = (row.get::<_, i64>(1)?.cast_unsigned(), row.get(0)?);
        let event = log::read_signed(row)?.map_err(|error| StoreError::Damaged(error.to_string()))?;
        bytes += size(&event);
        page.events.push(event);
    }
    Ok(())
}

/// Returns the size of an event's header and body, in bytes.
fn size(event: &SignedEvent) -> usize {
    event.header_bytes.len() + event.body.as_ref().map_or(0, |body| body.bytes.len())
}
