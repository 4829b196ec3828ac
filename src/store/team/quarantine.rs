//! Events that a team does not accept: stored with the reason, and checked again when the roster changes.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{Team, sync_rows::QuarantinedRow};
use crate::{
    domain::{
        DeviceId, EventId, Header, Scope, SignedEvent,
        clock::AHEAD,
        event::{EventError, SealedBody},
        roster::Refusal,
    },
    store::{Lookup, Reader, Result, Store, StoreError, commit, log, read::id_range},
};

/// The most undiscarded events of one peer in quarantine. Sessions pause a peer that reaches the limit.
///
/// Beyond the limit, a refused event that arrived without a document is not stored, only reported: it is sent again
/// later. Events of a document are stored nevertheless, because an event that a stored document lists is not sent
/// again.
pub const MOST_QUARANTINED: usize = 10_000;

/// Counts the undiscarded events from a peer, or from files.
pub(in crate::store) const COUNT_FROM_PEER: &str =
    "SELECT count(*) FROM quarantined WHERE team = ?1 AND received_from IS ?2 AND discarded = 0";

/// Counts the undiscarded events of a scope.
pub(in crate::store) const COUNT_IN_SCOPE: &str =
    "SELECT count(*) FROM quarantined WHERE team = ?1 AND org = ?2 AND project = ?3 AND discarded = 0";

/// Returns how many more events from a peer, or from files, fit into the quarantine.
pub(super) fn room(db: &Connection, team: &Team, from: Option<DeviceId>) -> Result<usize> {
    let mut read = db.prepare_cached(COUNT_FROM_PEER)?;
    let held = read.query_row(params![team.n, from.map(|device| device.0)], |row| row.get(0))?;
    Ok(MOST_QUARANTINED.saturating_sub(held))
}

/// Returns whether events of a team are in quarantine for a date that has now come, in scopes that are bound on this
/// device.
pub(super) fn is_due(db: &Connection, team: &Team, now: u64) -> Result<bool> {
    let mut read = db.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM quarantined q JOIN team_scopes s
            ON s.team = q.team AND s.org = q.org AND s.project = q.project
            WHERE q.team = ?1 AND q.reason = 'clock' AND q.wall <= ?2)",
    )?;
    let latest = log::wall(now.saturating_add(AHEAD));
    Ok(read.query_row(params![team.n, latest], |row| row.get(0))?)
}

/// Quarantines a verified event, or adds a body and a new reason to one that is in quarantine.
pub(super) fn put(
    db: &Connection,
    team: &Team,
    event: &SignedEvent,
    refusal: Refusal,
    from: Option<DeviceId>,
    received_at: u64,
) -> Result<()> {
    let header = &event.header;
    db.prepare_cached(
        "INSERT INTO quarantined (id, team, org, project, author, epoch, seq, wall, header, signature, salt, body, reason,
            received_from, received_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
         ON CONFLICT (id) DO UPDATE SET reason = excluded.reason, salt = coalesce(salt, excluded.salt),
            body = coalesce(body, excluded.body)",
    )?
    .execute(params![
        event.id.0,
        team.n,
        header.scope.org_id,
        header.scope.project,
        header.author.0,
        header.epoch.cast_signed(),
        header.seq.cast_signed(),
        log::wall(header.clock.wall),
        event.header_bytes,
        event.signature,
        event.body.as_ref().map(|body| body.salt),
        event.body.as_ref().map(|body| &body.bytes),
        refusal.as_str(),
        from.map(|device| device.0),
        log::wall(received_at),
    ])?;
    Ok(())
}

/// Removes an event from the quarantine.
pub(super) fn remove(db: &Connection, id: &EventId) -> Result<()> {
    db.prepare_cached("DELETE FROM quarantined WHERE id = ?1")?.execute([id.0])?;
    Ok(())
}

/// What the quarantine holds of an event.
pub(super) struct HeldEvent {
    pub(super) has_body: bool,
    pub(super) refusal: Refusal,
    pub(super) discarded: bool,
}

/// Returns what the quarantine holds of an event; `None` if it is not in quarantine.
pub(super) fn held(db: &Connection, id: &EventId) -> Result<Option<HeldEvent>> {
    let mut read = db.prepare_cached("SELECT body IS NOT NULL, reason, discarded FROM quarantined WHERE id = ?1")?;
    let held = read.query_row([id.0], |row| {
        let reason: String = row.get(1)?;
        Ok(HeldEvent { has_body: row.get(0)?, refusal: refusal(&reason), discarded: row.get(2)? })
    });
    Ok(held.optional()?)
}

/// Adds the body of an event, which arrived after its header.
pub(super) fn fill(db: &Connection, id: &EventId, body: &SealedBody) -> Result<()> {
    db.prepare_cached("UPDATE quarantined SET salt = ?2, body = ?3 WHERE id = ?1 AND body IS NULL")?
        .execute(params![id.0, body.salt, body.bytes])?;
    Ok(())
}

/// Calls `take` with the id, header and reason of each event in quarantine of a team, by chain. Their bodies are not
/// read.
pub(super) fn for_each_header(
    db: &Connection,
    team: &Team,
    mut take: impl FnMut(EventId, &Header, Refusal) -> Result<()>,
) -> Result<()> {
    let mut read = db
        .prepare_cached("SELECT id, header, reason FROM quarantined WHERE team = ?1 ORDER BY author, epoch, seq, id")?;
    let mut rows = read.query([team.n])?;
    while let Some(row) = rows.next()? {
        let reason: String = row.get(2)?;
        take(log::id_at(row, 0)?, &log::header_at(row, 1)?, refusal(&reason))?;
    }
    Ok(())
}

/// Returns the events in quarantine of one scope of a team, by its name in the team.
pub(super) fn in_scope(db: &Connection, team: &Team, scope: &Scope) -> Result<Vec<SignedEvent>> {
    let mut read = db.prepare_cached(
        "SELECT header, signature, salt, body FROM quarantined WHERE team = ?1 AND org = ?2 AND project = ?3",
    )?;
    let rows = read.query_map(params![team.n, scope.org_id, scope.project], log::read_signed)?;
    rows.map(|event| event?.map_err(unreadable)).collect()
}

/// Returns an event in quarantine; `None` if it is not there.
pub(super) fn load(db: &Connection, id: &EventId) -> Result<Option<QuarantinedRow>> {
    let mut read = db.prepare_cached(
        "SELECT header, signature, salt, body, reason, received_from, received_at, discarded FROM quarantined
         WHERE id = ?1",
    )?;
    read.query_row([id.0], read_row).optional()?.transpose()
}

/// Changes the reason for which an event is in quarantine.
pub(super) fn set_refusal(db: &Connection, id: &EventId, refusal: Refusal) -> Result<()> {
    db.prepare_cached("UPDATE quarantined SET reason = ?2 WHERE id = ?1")?.execute(params![id.0, refusal.as_str()])?;
    Ok(())
}

/// Deletes the bodies of events in quarantine that a redaction of their scope names. Returns whether there were any.
pub(super) fn redact(db: &Connection, team: &Team) -> Result<bool> {
    let dropped = db
        .prepare_cached(
            "UPDATE quarantined SET salt = NULL, body = NULL WHERE team = ?1 AND body IS NOT NULL AND EXISTS (
                SELECT 1 FROM edges x JOIN events e ON e.n = x.src AND e.kind = 'redact'
                JOIN team_scopes s ON s.n = e.shared
                WHERE x.dst = quarantined.id AND x.role = 0 AND s.org = quarantined.org
                    AND s.project = quarantined.project)",
        )?
        .execute([team.n])?;
    Ok(dropped > 0)
}

/// Returns why an event is in quarantine. A later version may have stored another word.
fn refusal(reason: &str) -> Refusal {
    reason.parse().unwrap_or(Refusal::NotAMember)
}

fn unreadable(error: EventError) -> StoreError {
    StoreError::Damaged(format!("an event in quarantine cannot be read: {error}"))
}

fn read_row(row: &Row<'_>) -> rusqlite::Result<Result<QuarantinedRow>> {
    let reason: String = row.get(4)?;
    let event = match log::read_signed(row)? {
        Ok(event) => event,
        Err(error) => return Ok(Err(unreadable(error))),
    };
    Ok(Ok(QuarantinedRow {
        event,
        refusal: refusal(&reason),
        from: row.get::<_, Option<[u8; 32]>>(5)?.map(DeviceId),
        received_at: row.get::<_, i64>(6)?.unsigned_abs(),
        discarded: row.get(7)?,
    }))
}

impl Reader {
    /// Returns whether events of a team are in quarantine for a date that has come at `now`, in milliseconds since the
    /// Unix epoch. The next import accepts them, even if it contains no events.
    pub fn quarantine_is_due(&self, team: &EventId, now: u64) -> Result<bool> {
        match Team::known(&self.db, *team)? {
            Some(team) if team.left_at.is_none() => is_due(&self.db, &team, now),
            _ => Ok(false),
        }
    }

    /// Returns the events in quarantine of a team, the latest arrival first: `limit` of them after the first `after`.
    pub fn quarantined(&self, team: &EventId, limit: usize, after: usize) -> Result<Vec<QuarantinedRow>> {
        let mut read = self.db.prepare_cached(
            "SELECT q.header, q.signature, q.salt, q.body, q.reason, q.received_from, q.received_at, q.discarded
             FROM quarantined q JOIN teams t ON t.n = q.team WHERE t.id = ?1
             ORDER BY q.received_at DESC, q.id LIMIT ?2 OFFSET ?3",
        )?;
        read.query_map(params![team.0, limit, after], read_row)?.map(|row| row?).collect()
    }

    /// Returns the undiscarded events in quarantine of a team, the latest arrival first.
    pub fn quarantined_undiscarded(&self, team: &EventId, limit: usize) -> Result<Vec<QuarantinedRow>> {
        self.undiscarded(team, limit)?.into_iter().collect()
    }

    /// Returns the undiscarded events in quarantine of one scope of a team, by its name in the team, the latest arrival
    /// first.
    pub fn quarantined_in(&self, team: &EventId, scope: &Scope, limit: usize) -> Result<Vec<QuarantinedRow>> {
        let mut read = self.db.prepare_cached(
            "SELECT q.header, q.signature, q.salt, q.body, q.reason, q.received_from, q.received_at, q.discarded
             FROM quarantined q JOIN teams t ON t.n = q.team
             WHERE t.id = ?1 AND q.org = ?2 AND q.project = ?3 AND q.discarded = 0
             ORDER BY q.received_at DESC, q.id LIMIT ?4",
        )?;
        let bound = params![team.0, scope.org_id, scope.project, limit];
        read.query_map(bound, read_row)?.map(|row| row?).collect()
    }

    /// Returns [`Reader::quarantined_undiscarded`], with an error for each event that cannot be read.
    pub(in crate::store) fn undiscarded(&self, team: &EventId, limit: usize) -> Result<Vec<Result<QuarantinedRow>>> {
        let mut read = self.db.prepare_cached(
            "SELECT q.header, q.signature, q.salt, q.body, q.reason, q.received_from, q.received_at, q.discarded
             FROM quarantined q JOIN teams t ON t.n = q.team WHERE t.id = ?1 AND q.discarded = 0
             ORDER BY q.received_at DESC, q.id LIMIT ?2",
        )?;
        Ok(read.query_map(params![team.0, limit], read_row)?.collect::<rusqlite::Result<_>>()?)
    }

    /// Finds a quarantined event of a team, discarded or not, by its id or a prefix of it.
    pub fn find_quarantined(&self, team: &EventId, prefix: &str) -> Result<Lookup<EventId>> {
        let Some((low, high)) = id_range(prefix) else { return Ok(Lookup::None) };
        let mut read = self.db.prepare_cached(
            "SELECT q.id FROM quarantined q JOIN teams t ON t.n = q.team
             WHERE t.id = ?1 AND q.id BETWEEN ?2 AND ?3 LIMIT 10",
        )?;
        let found = read.query_map(params![team.0, low, high], |row| Ok(EventId(row.get(0)?)))?;
        Ok(Lookup::of(found.collect::<rusqlite::Result<_>>()?))
    }

    /// Returns why an event is in quarantine; `None` if it is not.
    pub fn quarantine_refusal(&self, id: &EventId) -> Result<Option<Refusal>> {
        let mut read = self.db.prepare_cached("SELECT reason FROM quarantined WHERE id = ?1")?;
        let reason: Option<String> = read.query_row([id.0], |row| row.get(0)).optional()?;
        Ok(reason.as_deref().map(refusal))
    }

    /// Counts the undiscarded events in quarantine of one scope of a team, by its name in the team.
    pub fn quarantined_count_in(&self, team: &EventId, scope: &Scope) -> Result<usize> {
        let Some(team) = Team::known(&self.db, *team)? else { return Ok(0) };
        let mut read = self.db.prepare_cached(COUNT_IN_SCOPE)?;
        Ok(read.query_row(params![team.n, scope.org_id, scope.project], |row| row.get(0))?)
    }

    /// Counts the undiscarded events in quarantine that a device wrote, whoever delivered them.
    pub fn quarantined_count_of(&self, team: &EventId, author: &DeviceId) -> Result<usize> {
        let Some(team) = Team::known(&self.db, *team)? else { return Ok(0) };
        let mut read = self
            .db
            .prepare_cached("SELECT count(*) FROM quarantined WHERE team = ?1 AND author = ?2 AND discarded = 0")?;
        Ok(read.query_row(params![team.n, author.0], |row| row.get(0))?)
    }

    /// Counts the undiscarded events in quarantine of a team.
    pub fn quarantined_count(&self, team: &EventId) -> Result<usize> {
        let mut read = self.db.prepare_cached(
            "SELECT count(*) FROM quarantined q JOIN teams t ON t.n = q.team WHERE t.id = ?1 AND q.discarded = 0",
        )?;
        Ok(read.query_row([team.0], |row| row.get(0))?)
    }

    /// Counts the events in quarantine of a team, with those that were discarded.
    pub fn quarantined_total(&self, team: &EventId) -> Result<usize> {
        let mut read = self
            .db
            .prepare_cached("SELECT count(*) FROM quarantined q JOIN teams t ON t.n = q.team WHERE t.id = ?1")?;
        Ok(read.query_row([team.0], |row| row.get(0))?)
    }
}

impl Store {
    /// Records that a person wants to see events in quarantine no more. They stay stored, so that they need not be
    /// fetched again; an admin may still accept them. Returns the number of these events.
    pub fn discard_quarantined(&mut self, events: &[EventId]) -> Result<usize> {
        let tx = commit::begin(&mut self.reader)?;
        let mut discarded = 0;
        for id in events {
            discarded += tx.prepare_cached("UPDATE quarantined SET discarded = 1 WHERE id = ?1")?.execute([id.0])?;
        }
        tx.commit()?;
        Ok(discarded)
    }

    /// Discards all quarantined events of a team, or all that one device wrote. Returns how many there were.
    pub fn discard_all_quarantined(&mut self, team: &EventId, author: Option<&DeviceId>) -> Result<usize> {
        let tx = commit::begin(&mut self.reader)?;
        let discarded = tx
            .prepare_cached(
                "UPDATE quarantined SET discarded = 1 WHERE discarded = 0
                    AND team = (SELECT n FROM teams WHERE id = ?1) AND (?2 IS NULL OR author = ?2)",
            )?
            .execute(params![team.0, author.map(|device| device.0)])?;
        tx.commit()?;
        Ok(discarded)
    }
}
