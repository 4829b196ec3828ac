//! Maintains, as events arrive, the end and the forks of each shared chain, and the count and digest of each scope's
//! events.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::sync_rows::Fork;
use crate::{
    domain::{
        EventId, Header, Scope, SignedEvent,
        replica::{Chain, SetSum},
    },
    store::{Result, log::id_at},
};

/// Changes to counts, chain ends and forks that are not saved yet.
#[derive(Default)]
pub(in crate::store) struct ChainLedger {
    sets: BTreeMap<i64, (usize, SetSum)>,
    ends: BTreeMap<(i64, Chain), (u64, Option<EventId>)>,
    forks: Vec<(i64, Chain, u64)>,
}

/// Returns the chain of the event with this header.
pub(super) fn chain_of(header: &Header) -> Chain {
    Chain { author: header.author, epoch: header.epoch, adopted: header.team.is_none() }
}

impl ChainLedger {
    /// Records an event that was just stored as one of the team's.
    pub(in crate::store) fn add(&mut self, db: &Connection, shared: i64, event: &SignedEvent) -> Result<()> {
        self.note(db, shared, chain_of(&event.header), event.header.seq, &event.id)
    }

    /// Records an event like [`ChainLedger::add`], given by its chain, sequence number and id.
    pub(super) fn note(&mut self, db: &Connection, shared: i64, chain: Chain, seq: u64, id: &EventId) -> Result<()> {
        let (count, sum) = match self.sets.entry(shared) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                let mut read = db.prepare_cached("SELECT events, sum FROM team_scopes WHERE n = ?1")?;
                entry.insert(read.query_row([shared], |row| Ok((row.get(0)?, sum_at(row, 1)?)))?)
            }
        };
        *count += 1;
        sum.add(id);
        let end = match self.ends.entry((shared, chain)) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => entry.insert(saved_end(db, shared, &chain)?),
        };
        let (next, head) = end;
        if seq == *next {
            *head = Some(*id);
            *next += 1;
            while let Some(first) = events_at(db, shared, &chain, *next)?.first() {
                *head = Some(*first);
                *next += 1;
            }
        }
        // If the event is not the new end, it may be a second one at its position: surely so before the end, possibly
        // after a gap.
        if seq + 1 != *next || *head != Some(*id) {
            let events = events_at(db, shared, &chain, seq)?;
            if events.len() > 1 {
                self.forks.push((shared, chain, seq));
                if seq + 1 == *next {
                    *head = events.first().copied();
                }
            }
        }
        Ok(())
    }

    /// Records the next event of a chain that is read again from its beginning.
    fn note_in_order(&mut self, shared: i64, chain: Chain, seq: u64, id: EventId, last: &mut Option<(Chain, u64)>) {
        let (next, head) = self.ends.entry((shared, chain)).or_default();
        if *next == seq {
            (*next, *head) = (seq + 1, Some(id));
        }
        if *last == Some((chain, seq)) {
            self.forks.push((shared, chain, seq));
        }
        *last = Some((chain, seq));
    }

    /// Saves the changes, and returns the new forks.
    pub(in crate::store) fn save(&mut self, db: &Connection) -> Result<Vec<Fork>> {
        let mut write = db.prepare_cached("UPDATE team_scopes SET events = ?2, sum = ?3, digest = ?4 WHERE n = ?1")?;
        for (shared, (count, sum)) in std::mem::take(&mut self.sets) {
            write.execute(params![shared, count, sum.to_bytes(), sum.digest().0])?;
        }
        let mut write = db.prepare_cached(
            "INSERT INTO chains (shared, author, epoch, adopted, next, head) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT DO UPDATE SET next = ?5, head = ?6",
        )?;
        for ((shared, chain), (next, head)) in std::mem::take(&mut self.ends) {
            write.execute(params![
                shared,
                chain.author.0,
                chain.epoch.cast_signed(),
                chain.adopted,
                next.cast_signed(),
                head.map(|id| id.0)
            ])?;
        }
        let mut write = db.prepare_cached(
            "INSERT OR IGNORE INTO forks (shared, author, epoch, adopted, seq) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        let mut new = Vec::new();
        for (shared, chain, seq) in std::mem::take(&mut self.forks) {
            let position = params![shared, chain.author.0, chain.epoch.cast_signed(), chain.adopted, seq.cast_signed()];
            if write.execute(position)? > 0 {
                new.push(fork(db, shared, chain, seq)?);
            }
        }
        Ok(new)
    }
}

/// Recomputes counts, digest, chains and forks of a team's scope from its events.
pub(super) fn recount(db: &Connection, shared: i64) -> Result<()> {
    for table in ["chains", "forks"] {
        db.execute(&format!("DELETE FROM {table} WHERE shared = ?1"), [shared])?;
    }
    let mut ledger = ChainLedger::default();
    ledger.sets.insert(shared, (0, SetSum::default()));
    let mut read = db.prepare_cached(
        "SELECT author, epoch, team IS NULL, seq, id FROM events WHERE shared = ?1 ORDER BY author, epoch, team, seq, id",
    )?;
    let mut rows = read.query([shared])?;
    let mut last = None;
    while let Some(row) = rows.next()? {
        let chain = Chain {
            author: crate::domain::DeviceId(row.get(0)?),
            epoch: row.get::<_, i64>(1)?.cast_unsigned(),
            adopted: row.get(2)?,
        };
        let (seq, id) = (row.get::<_, i64>(3)?.cast_unsigned(), id_at(row, 4)?);
        let (count, sum) = ledger.sets.entry(shared).or_default();
        *count += 1;
        sum.add(&id);
        ledger.note_in_order(shared, chain, seq, id, &mut last);
    }
    ledger.save(db)?;
    Ok(())
}

/// Removes deleted events from the count and digest of a scope, and recomputes their chains.
pub(super) fn subtract(db: &Connection, shared: i64, events: &[(Chain, EventId)]) -> Result<()> {
    let mut ledger = ChainLedger::default();
    let mut read = db.prepare_cached("SELECT events, sum FROM team_scopes WHERE n = ?1")?;
    let (mut count, mut sum): (usize, SetSum) = read.query_row([shared], |row| Ok((row.get(0)?, sum_at(row, 1)?)))?;
    for (_, id) in events {
        count = count.saturating_sub(1);
        sum.remove(id);
    }
    ledger.sets.insert(shared, (count, sum));
    for chain in events.iter().map(|(chain, _)| *chain).collect::<BTreeSet<_>>() {
        let position = params![shared, chain.author.0, chain.epoch.cast_signed(), chain.adopted];
        for sql in [
            "DELETE FROM chains WHERE shared = ?1 AND author = ?2 AND epoch = ?3 AND adopted = ?4",
            "DELETE FROM forks WHERE shared = ?1 AND author = ?2 AND epoch = ?3 AND adopted = ?4",
        ] {
            db.prepare_cached(sql)?.execute(position)?;
        }
        let mut read = db.prepare_cached(
            "SELECT seq, id FROM events WHERE shared = ?1 AND author = ?2 AND epoch = ?3
             AND team IS (SELECT CASE WHEN ?4 THEN NULL ELSE team END FROM team_scopes WHERE n = ?1) ORDER BY seq, id",
        )?;
        let mut last = None;
        let mut rows = read.query(position)?;
        while let Some(row) = rows.next()? {
            ledger.note_in_order(shared, chain, row.get::<_, i64>(0)?.cast_unsigned(), id_at(row, 1)?, &mut last);
        }
    }
    ledger.save(db)?;
    Ok(())
}

/// Reads a [`SetSum`] from a column.
pub(super) fn sum_at(row: &Row<'_>, column: usize) -> rusqlite::Result<SetSum> {
    let bytes = row.get_ref(column)?.as_blob().map_err(rusqlite::Error::from)?;
    SetSum::from_bytes(bytes).ok_or(rusqlite::Error::InvalidColumnType(
        column,
        "sum".into(),
        rusqlite::types::Type::Blob,
    ))
}

fn saved_end(db: &Connection, shared: i64, chain: &Chain) -> Result<(u64, Option<EventId>)> {
    let mut read = db.prepare_cached(
        "SELECT next, head FROM chains WHERE shared = ?1 AND author = ?2 AND epoch = ?3 AND adopted = ?4",
    )?;
    let found = read.query_row(params![shared, chain.author.0, chain.epoch.cast_signed(), chain.adopted], |row| {
        Ok((row.get::<_, i64>(0)?.cast_unsigned(), crate::store::log::optional_id_at(row, 1)?))
    });
    Ok(found.optional()?.unwrap_or_default())
}

/// Returns the shared events at one position of a chain, by id.
pub(super) fn events_at(db: &Connection, shared: i64, chain: &Chain, seq: u64) -> Result<Vec<EventId>> {
    let mut read = db.prepare_cached(
        "SELECT id FROM events WHERE shared = ?1 AND author = ?2 AND epoch = ?3
         AND team IS (SELECT CASE WHEN ?4 THEN NULL ELSE team END FROM team_scopes WHERE n = ?1) AND seq = ?5
         ORDER BY id",
    )?;
    let position = params![shared, chain.author.0, chain.epoch.cast_signed(), chain.adopted, seq.cast_signed()];
    Ok(read.query_map(position, |row| id_at(row, 0))?.collect::<rusqlite::Result<_>>()?)
}

/// Returns the positions at which a chain forks.
pub(super) fn positions_of_forks(db: &Connection, shared: i64, chain: &Chain) -> Result<Vec<u64>> {
    let mut read = db.prepare_cached(
        "SELECT seq FROM forks WHERE shared = ?1 AND author = ?2 AND epoch = ?3 AND adopted = ?4 ORDER BY seq",
    )?;
    let rows = read.query_map(params![shared, chain.author.0, chain.epoch.cast_signed(), chain.adopted], |row| {
        Ok(row.get::<_, i64>(0)?.cast_unsigned())
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the forks of a chain.
pub(super) fn forks_of(db: &Connection, shared: i64, chain: &Chain) -> Result<Vec<Fork>> {
    positions_of_forks(db, shared, chain)?.into_iter().map(|seq| fork(db, shared, *chain, seq)).collect()
}

/// Reads a fork with its scope and events.
pub(super) fn fork(db: &Connection, shared: i64, chain: Chain, seq: u64) -> Result<Fork> {
    let mut read = db.prepare_cached("SELECT org, project FROM team_scopes WHERE n = ?1")?;
    let scope = read.query_row([shared], |row| Ok(Scope { org_id: row.get(0)?, project: row.get(1)? }))?;
    Ok(Fork { scope, chain, seq, events: events_at(db, shared, &chain, seq)? })
}
