//! The event log: appends signed events and reads them.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{Result, StoreError, levels, open};
use crate::domain::{
    Body, DeviceId, EventId, EventKind, Header, Scope, SignedEvent, derive,
    event::{EventError, SealedBody},
    verified::Verified,
};

/// The meaning of an edge (table `edges`) for the event that it points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum EdgeRole {
    /// The source acts on it.
    Target = 0,
    /// It replaces the targets of the source.
    Successor = 1,
    /// The writer of the source had seen it.
    Seen = 2,
    /// It is not an event but the card that the source creates or refers to.
    Card = 3,
    /// It is not an event but a list that contains the source.
    List = 4,
    /// It is not an event but the key of the two statements that the source judges.
    Pair = 5,
}

/// A `SELECT` of the columns that [`LoadedEvent::read`] reads; the argument is the rest of the statement after `FROM`.
macro_rules! select_loaded {
    ($rest:literal) => {
        concat!("SELECT e.n, e.id, e.scope, e.effective, e.header FROM ", $rest)
    };
}
pub(super) use select_loaded;

/// The setting that counts how often events have left the log or changed their scope. Counts of events are valid until
/// it changes.
const MOVE_COUNT_SETTING: &str = "events.moved";

/// Returns how often events have left the log or changed their scope.
pub(super) fn move_count(db: &Connection) -> Result<i64> {
    Ok(open::setting(db, MOVE_COUNT_SETTING)?.unwrap_or(0))
}

/// Records that events leave the log or change their scope, in the transaction that moves them.
pub(super) fn record_move(db: &Connection) -> Result<()> {
    open::set(db, MOVE_COUNT_SETTING, move_count(db)? + 1)
}

/// An event as the projections use it.
#[derive(Clone, Debug)]
pub(super) struct LoadedEvent {
    /// The row number, in the order of arrival.
    pub n: i64,
    pub id: EventId,
    /// The row number of the event's scope.
    pub scope: i64,
    pub header: Header,
    /// The kind as this version understands it; [`EventKind::Unknown`] otherwise.
    pub kind: EventKind,
    /// The event was not undone.
    pub effective: bool,
}

impl LoadedEvent {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let header = header_at(row, 4)?;
        Ok(Self {
            n: row.get(0)?,
            id: id_at(row, 1)?,
            scope: row.get(2)?,
            kind: derive::understood(&header),
            header,
            effective: row.get(3)?,
        })
    }
}

/// Returns the error for a column whose content ergo cannot have written.
pub(super) fn conversion(column: usize, error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Blob, Box::new(error))
}

/// Returns the error for a code that ergo cannot have written.
pub(super) fn unknown_code(what: &str, code: i64) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(
        0,
        rusqlite::types::Type::Integer,
        format!("unknown {what} {code}").into(),
    )
}

/// Decodes a header from a column.
pub(super) fn header_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Header> {
    let bytes = row.get_ref(column)?.as_blob().map_err(rusqlite::Error::from)?;
    minicbor::decode(bytes).map_err(|error| conversion(column, error))
}

/// Reads a 32-byte id from a column.
pub(super) fn id_at(row: &Row<'_>, column: usize) -> rusqlite::Result<EventId> {
    Ok(EventId(row.get(column)?))
}

/// Reads a 32-byte id from a column that may be NULL.
pub(super) fn optional_id_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<EventId>> {
    Ok(row.get::<_, Option<[u8; 32]>>(column)?.map(EventId))
}

/// Converts a wall clock to SQLite's integer. Times after the year 292,278,994 are capped; the header keeps the exact
/// time.
pub(super) fn wall(wall: u64) -> i64 {
    i64::try_from(wall).unwrap_or(i64::MAX)
}

/// Returns the row number of an event, if the event is in the log.
pub(super) fn row_number(db: &Connection, id: &EventId) -> Result<Option<i64>> {
    let mut read = db.prepare_cached("SELECT n FROM events WHERE id = ?1")?;
    Ok(read.query_row([id.0], |row| row.get(0)).optional()?)
}

/// Loads an event by its row number.
pub(super) fn load(db: &Connection, n: i64) -> Result<LoadedEvent> {
    Ok(db.prepare_cached(select_loaded!("events e WHERE e.n = ?1"))?.query_row([n], LoadedEvent::read)?)
}

/// Loads an event by its id, if it is in the log.
pub(super) fn load_id(db: &Connection, id: &EventId) -> Result<Option<LoadedEvent>> {
    Ok(db
        .prepare_cached(select_loaded!("events e WHERE e.id = ?1"))?
        .query_row([id.0], LoadedEvent::read)
        .optional()?)
}

/// Returns the events of one scope that point to `id` in a role, in the order of arrival.
pub(super) fn pointing_at(db: &Connection, id: &EventId, role: EdgeRole, scope: i64) -> Result<Vec<LoadedEvent>> {
    let mut read = db.prepare_cached(select_loaded!(
        "edges x JOIN events e ON e.n = x.src WHERE x.dst = ?1 AND x.role = ?2 AND e.scope = ?3 ORDER BY e.n"
    ))?;
    let rows = read.query_map(params![id.0, role as u8, scope], LoadedEvent::read)?;
    let mut rows = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    rows.dedup_by_key(|event| event.n);
    Ok(rows)
}

/// Returns the body of an event; `None` if it was redacted, has not arrived or cannot be decoded. If the event shares
/// the reason of a claim of its scope or organisation, the body has that reason, unless the claim was redacted.
pub(super) fn body(db: &Connection, n: i64) -> Result<Option<Body>> {
    let Some(mut body) = stored_body(db, n)? else { return Ok(None) };
    if let Some(of) = body.reason_of.filter(|_| body.reason.is_none())
        && let Some(claim) = load_id(db, &of)?
    {
        let scope = load(db, n)?.scope;
        if claim.scope == scope || levels::above(db, scope)? == Some(claim.scope) {
            body.reason = stored_body(db, claim.n)?.and_then(|body| body.reason);
        }
    }
    Ok(Some(body))
}

fn stored_body(db: &Connection, n: i64) -> Result<Option<Body>> {
    let mut read = db.prepare_cached("SELECT body FROM events WHERE n = ?1")?;
    Ok(read
        .query_row([n], |row| {
            let bytes = row.get_ref(0)?.as_blob_or_null()?;
            Ok(bytes.and_then(|bytes| minicbor::decode::<Body>(bytes).ok()))
        })
        .optional()?
        .flatten())
}

/// Returns the row number of a scope, which is inserted if it is new.
pub(super) fn scope_number(db: &Connection, scope: &Scope) -> Result<i64> {
    if let Some(n) = known_scope(db, scope)? {
        return Ok(n);
    }
    scope.check()?;
    db.prepare_cached("INSERT INTO scopes (org, project) VALUES (?1, ?2)")?.execute([&scope.org_id, &scope.project])?;
    Ok(db.last_insert_rowid())
}

/// Returns the row number of a scope, if the store has it.
pub(super) fn known_scope(db: &Connection, scope: &Scope) -> Result<Option<i64>> {
    let mut read = db.prepare_cached("SELECT n FROM scopes WHERE org = ?1 AND project = ?2")?;
    Ok(read.query_row([&scope.org_id, &scope.project], |row| row.get(0)).optional()?)
}

/// The scope filter of a read: the row number of one scope, or `None` for all scopes.
pub(super) struct WantedScope(pub(super) Option<i64>);

/// Resolves the optional scope of a read; `None` if the store does not have the named scope, so that nothing matches.
pub(super) fn wanted_scope(db: &Connection, scope: Option<&Scope>) -> Result<Option<WantedScope>> {
    let Some(scope) = scope else { return Ok(Some(WantedScope(None))) };
    Ok(known_scope(db, scope)?.map(|n| WantedScope(Some(n))))
}

/// Returns the row numbers of those scopes that the store has, in the same order.
pub(super) fn known_scopes(db: &Connection, scopes: &[Scope]) -> Result<Vec<i64>> {
    let mut found = Vec::with_capacity(scopes.len());
    for scope in scopes {
        found.extend(known_scope(db, scope)?);
    }
    Ok(found)
}

/// Returns the scope with a row number.
pub(super) fn scope_by_number(db: &Connection, n: i64) -> Result<Scope> {
    let mut read = db.prepare_cached("SELECT org, project FROM scopes WHERE n = ?1")?;
    Ok(read.query_row([n], |row| Ok(Scope { org_id: row.get(0)?, project: row.get(1)? }))?)
}

/// Caches the names of scopes by row number.
#[derive(Default)]
pub(super) struct ScopeNames(HashMap<i64, Scope>);

impl ScopeNames {
    /// Returns the scope with a row number.
    pub(super) fn of(&mut self, db: &Connection, n: i64) -> Result<Scope> {
        if let Some(scope) = self.0.get(&n) {
            return Ok(scope.clone());
        }
        let scope = scope_by_number(db, n)?;
        self.0.insert(n, scope.clone());
        Ok(scope)
    }
}

/// Returns the next sequence number of a chain and its last event.
pub(super) fn chain_end(
    db: &Connection,
    author: &DeviceId,
    epoch: u64,
    scope: i64,
    local: bool,
    team: Option<i64>,
) -> Result<(u64, Option<EventId>)> {
    let mut read = db.prepare_cached(
        "SELECT seq, id FROM events WHERE author = ?1 AND epoch = ?2 AND scope = ?3 AND log = ?4 AND team IS ?5
         ORDER BY seq DESC LIMIT 1",
    )?;
    let last: Option<(i64, EventId)> = read
        .query_row(params![author.0, epoch.cast_signed(), scope, local, team], |row| Ok((row.get(0)?, id_at(row, 1)?)))
        .optional()?;
    Ok(last.map_or((0, None), |(seq, id)| (seq.cast_unsigned() + 1, Some(id))))
}

/// When and from where an event arrived, and its team.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EventOrigin {
    /// The wall clock at arrival, in milliseconds since the Unix epoch.
    pub received_at: u64,
    /// The device that delivered the event.
    pub from: Option<DeviceId>,
    /// The row number of the team in the header.
    pub team: Option<i64>,
    /// The row number of the team's scope that accepts the event.
    pub shared: Option<i64>,
}

/// The result of appending an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AppendOutcome {
    /// The event is new; its row number.
    New(i64),
    /// The event was known without its body, which was added now; its row number.
    Filled(i64),
    /// The event was already stored.
    Known,
}

/// Returns whether the body of an event is stored.
pub(super) fn has_body(db: &Connection, n: i64) -> Result<bool> {
    let mut read = db.prepare_cached("SELECT body IS NOT NULL FROM events WHERE n = ?1")?;
    Ok(read.query_row([n], |row| row.get(0))?)
}

/// Appends an event with its edges.
pub(super) fn append(db: &Connection, event: Verified<'_>, scope: i64, origin: EventOrigin) -> Result<AppendOutcome> {
    let mut known = db.prepare_cached("SELECT n, body IS NULL FROM events WHERE id = ?1")?;
    let known: Option<(i64, bool)> = known.query_row([event.id.0], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let (salt, body) = match &event.body {
        Some(body) => (Some(body.salt), Some(&body.bytes)),
        None => (None, None),
    };
    match (known, body) {
        (Some((n, true)), Some(_)) => {
            db.prepare_cached("UPDATE events SET salt = ?2, body = ?3 WHERE n = ?1")?
                .execute(params![n, salt, body])?;
            return Ok(AppendOutcome::Filled(n));
        }
        (Some(_), _) => return Ok(AppendOutcome::Known),
        (None, _) => {}
    }
    let header = &event.header;
    db.prepare_cached(
        "INSERT INTO events (id, log, scope, author, epoch, seq, wall, tick, kind, op, who, agent, header, signature,
            salt, body, received_at, received_from, team, shared)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)",
    )?
    .execute(params![
        event.id.0,
        derive::is_local(header),
        scope,
        header.author.0,
        header.epoch.cast_signed(),
        header.seq.cast_signed(),
        wall(header.clock.wall),
        header.clock.count,
        derive::understood(header).to_string(),
        header.op.0,
        header.who,
        header.agent,
        event.header_bytes,
        event.signature,
        salt,
        body,
        wall(origin.received_at),
        origin.from.map(|device| device.0),
        origin.team,
        origin.shared,
    ])?;
    let n = db.last_insert_rowid();
    for (role, ids) in [
        (EdgeRole::Target, header.targets.as_slice()),
        (EdgeRole::Successor, header.successor.as_slice()),
        (EdgeRole::Seen, header.seen.as_slice()),
    ] {
        for (ord, id) in ids.iter().enumerate() {
            add_edge(db, n, role, ord, id)?;
        }
    }
    if derive::is_notice(&derive::understood(header)) {
        add_edge(db, n, EdgeRole::List, 0, &derive::NOTICE_LIST)?;
    }
    db.prepare_cached("UPDATE scopes SET latest = ?2 WHERE n = ?1 AND latest < ?2")?
        .execute(params![scope, wall(header.clock.wall)])?;
    Ok(AppendOutcome::New(n))
}

pub(super) fn add_edge(db: &Connection, src: i64, role: EdgeRole, ord: usize, dst: &EventId) -> Result<()> {
    db.prepare_cached("INSERT INTO edges (src, role, ord, dst) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![src, role as u8, ord, dst.0])?;
    Ok(())
}

/// Reads a signed event as it is stored.
pub(super) fn read_signed(row: &Row<'_>) -> rusqlite::Result<std::result::Result<SignedEvent, EventError>> {
    let signature: [u8; 64] = row.get("signature")?;
    let salt: Option<[u8; 16]> = row.get("salt")?;
    let bytes: Option<Vec<u8>> = row.get("body")?;
    let body = salt.zip(bytes).map(|(salt, bytes)| SealedBody { salt, bytes });
    Ok(SignedEvent::from_parts(row.get("header")?, signature, body))
}

/// Reads events after a row number, in the order of arrival.
pub(super) fn signed_after(db: &Connection, after: i64, limit: usize) -> Result<Vec<(i64, SignedEvent)>> {
    let mut read =
        db.prepare_cached("SELECT n, header, signature, salt, body FROM events WHERE n > ?1 ORDER BY n LIMIT ?2")?;
    let rows = read.query_map(params![after, limit], |row| Ok((row.get::<_, i64>(0)?, read_signed(row)?)))?;
    rows.map(|row| {
        let (n, event) = row?;
        event
            .map(|event| (n, event))
            .map_err(|error| StoreError::Damaged(format!("event {n} of the log cannot be read: {error}")))
    })
    .collect()
}
