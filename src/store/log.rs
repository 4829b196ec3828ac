//! The event log: appending signed events, and reading them back.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{Result, StoreError, open};
use crate::domain::{
    Body, DeviceId, EventId, EventKind, Header, Scope, SignedEvent, derive,
    event::{EventError, SealedBody},
    verified::Verified,
};

/// What an edge means for the event that it points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum EdgeRole {
    /// It is acted on.
    Target = 0,
    /// It takes the targets' place.
    Successor = 1,
    /// The writer had seen it.
    Seen = 2,
    /// Not an event: the card that the source creates or refers to.
    Card = 3,
    /// Not an event: the list in which the source stands.
    List = 4,
    /// Not an event: the pair of claims that the source judges, by their words.
    Pair = 5,
}

/// `SELECT` of what [`LoadedEvent::read`] reads, with the rest of the statement.
macro_rules! select_loaded {
    ($rest:literal) => {
        concat!("SELECT e.n, e.id, e.scope, e.effective, e.header FROM ", $rest)
    };
}
pub(super) use select_loaded;

/// The setting that counts how often events have left the log or changed their scope: what was counted of them holds until then.
const MOVED: &str = "events.moved";

/// How often events have left the log or changed their scope.
pub(super) fn moved(db: &Connection) -> Result<i64> {
    Ok(open::setting(db, MOVED)?.unwrap_or(0))
}

/// Notes that events leave the log or change their scope, in the transaction that moves them.
pub(super) fn note_moved(db: &Connection) -> Result<()> {
    open::set(db, MOVED, moved(db)? + 1)
}

/// An event as the projections use it.
#[derive(Clone, Debug)]
pub(super) struct LoadedEvent {
    /// Its place in the order of arrival.
    pub n: i64,
    /// Its id.
    pub id: EventId,
    /// The number of its scope.
    pub scope: i64,
    /// Its header.
    pub header: Header,
    /// What it does, as far as this version understands it.
    pub kind: EventKind,
    /// It was not undone.
    pub effective: bool,
}

impl LoadedEvent {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let header: Header = row
            .get_ref(4)?
            .as_blob()
            .map_err(rusqlite::Error::from)
            .and_then(|bytes| minicbor::decode(bytes).map_err(|error| conversion(4, error)))?;
        Ok(Self {
            n: row.get(0)?,
            id: id_at(row, 1)?,
            scope: row.get(2)?,
            kind: derive::understood(&header),
            header,
            effective: row.get(3)?,
        })
    }

    /// Whether this event creates a claim that this version understands.
    pub(super) fn is_claim(&self) -> bool {
        self.header.creates_claim() && !matches!(self.kind, EventKind::Unknown(_))
    }
}

/// A column that does not hold what ergo wrote there.
pub(super) fn conversion(column: usize, error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Blob, Box::new(error))
}

/// A 32-byte id in a column.
pub(super) fn id_at(row: &Row<'_>, column: usize) -> rusqlite::Result<EventId> {
    Ok(EventId(row.get(column)?))
}

/// A 32-byte id in a column that may be empty.
pub(super) fn optional_id_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<EventId>> {
    Ok(row.get::<_, Option<[u8; 32]>>(column)?.map(EventId))
}

/// A wall clock as SQLite stores it; what lies beyond the year 292,278,994 is kept in the header alone.
pub(super) fn wall(wall: u64) -> i64 {
    i64::try_from(wall).unwrap_or(i64::MAX)
}

/// The place of an event, where it is known.
pub(super) fn number_of(db: &Connection, id: &EventId) -> Result<Option<i64>> {
    let mut read = db.prepare_cached("SELECT n FROM events WHERE id = ?1")?;
    Ok(read.query_row([id.0], |row| row.get(0)).optional()?)
}

/// One event by its place.
pub(super) fn load(db: &Connection, n: i64) -> Result<LoadedEvent> {
    Ok(db.prepare_cached(select_loaded!("events e WHERE e.n = ?1"))?.query_row([n], LoadedEvent::read)?)
}

/// One event by its id, where it is known.
pub(super) fn load_id(db: &Connection, id: &EventId) -> Result<Option<LoadedEvent>> {
    Ok(db
        .prepare_cached(select_loaded!("events e WHERE e.id = ?1"))?
        .query_row([id.0], LoadedEvent::read)
        .optional()?)
}

/// The events of one scope that point to `id` in a role, in the order of arrival.
pub(super) fn pointing_at(db: &Connection, id: &EventId, role: EdgeRole, scope: i64) -> Result<Vec<LoadedEvent>> {
    let mut read = db.prepare_cached(select_loaded!(
        "edges x JOIN events e ON e.n = x.src WHERE x.dst = ?1 AND x.role = ?2 AND e.scope = ?3 ORDER BY e.n"
    ))?;
    let rows = read.query_map(params![id.0, role as u8, scope], LoadedEvent::read)?;
    let mut rows = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    rows.dedup_by_key(|event| event.n);
    Ok(rows)
}

/// The body of an event: `None` once redacted, or where it cannot be read.
pub(super) fn body(db: &Connection, n: i64) -> Result<Option<Body>> {
    let mut read = db.prepare_cached("SELECT body FROM events WHERE n = ?1")?;
    Ok(read
        .query_row([n], |row| {
            let bytes = row.get_ref(0)?.as_blob_or_null()?;
            Ok(bytes.and_then(|bytes| minicbor::decode::<Body>(bytes).ok()))
        })
        .optional()?
        .flatten())
}

/// The number of a scope, made where it is new.
pub(super) fn scope_number(db: &Connection, scope: &Scope) -> Result<i64> {
    if let Some(n) = known_scope(db, scope)? {
        return Ok(n);
    }
    scope.check()?;
    db.prepare_cached("INSERT INTO scopes (org, project) VALUES (?1, ?2)")?.execute([&scope.org_id, &scope.project])?;
    Ok(db.last_insert_rowid())
}

/// The number of a scope, where it is known.
pub(super) fn known_scope(db: &Connection, scope: &Scope) -> Result<Option<i64>> {
    let mut read = db.prepare_cached("SELECT n FROM scopes WHERE org = ?1 AND project = ?2")?;
    Ok(read.query_row([&scope.org_id, &scope.project], |row| row.get(0)).optional()?)
}

/// The scope of which a read is: one by its number, or all of them.
pub(super) struct WantedScope(pub(super) Option<i64>);

/// The scope of a read that may name one; `None` if it names one that is not known, of which there is nothing.
pub(super) fn wanted_scope(db: &Connection, scope: Option<&Scope>) -> Result<Option<WantedScope>> {
    let Some(scope) = scope else { return Ok(Some(WantedScope(None))) };
    Ok(known_scope(db, scope)?.map(|n| WantedScope(Some(n))))
}

/// The numbers of those scopes that are known, in their order.
pub(super) fn known_scopes(db: &Connection, scopes: &[Scope]) -> Result<Vec<i64>> {
    let mut found = Vec::with_capacity(scopes.len());
    for scope in scopes {
        found.extend(known_scope(db, scope)?);
    }
    Ok(found)
}

/// The scope with a number.
pub(super) fn scope_named(db: &Connection, n: i64) -> Result<Scope> {
    let mut read = db.prepare_cached("SELECT org, project FROM scopes WHERE n = ?1")?;
    Ok(read.query_row([n], |row| Ok(Scope { org_id: row.get(0)?, project: row.get(1)? }))?)
}

/// The names of scopes here, read once each.
#[derive(Default)]
pub(super) struct ScopeNames(HashMap<i64, Scope>);

impl ScopeNames {
    /// The name of the scope with a number.
    pub(super) fn of(&mut self, db: &Connection, n: i64) -> Result<Scope> {
        if let Some(scope) = self.0.get(&n) {
            return Ok(scope.clone());
        }
        let scope = scope_named(db, n)?;
        self.0.insert(n, scope.clone());
        Ok(scope)
    }
}

/// The end of a chain: the next sequence number, and the event before it.
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
    /// The wall clock when it came, in milliseconds since the Unix epoch.
    pub received_at: u64,
    /// The device that brought it.
    pub from: Option<DeviceId>,
    /// The number of the team in its header.
    pub team: Option<i64>,
    /// The number of the team's scope that takes it.
    pub shared: Option<i64>,
}

/// The result of appending an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AppendOutcome {
    /// It is new, with this number.
    New(i64),
    /// It was known without its body, which is stored now.
    Filled(i64),
    /// It was known.
    Known,
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

/// Adds an edge.
pub(super) fn add_edge(db: &Connection, src: i64, role: EdgeRole, ord: usize, dst: &EventId) -> Result<()> {
    db.prepare_cached("INSERT INTO edges (src, role, ord, dst) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![src, role as u8, ord, dst.0])?;
    Ok(())
}

/// A signed event as it was stored.
pub(super) fn read_signed(row: &Row<'_>) -> rusqlite::Result<std::result::Result<SignedEvent, EventError>> {
    let signature: [u8; 64] = row.get("signature")?;
    let salt: Option<[u8; 16]> = row.get("salt")?;
    let bytes: Option<Vec<u8>> = row.get("body")?;
    let body = salt.zip(bytes).map(|(salt, bytes)| SealedBody { salt, bytes });
    Ok(SignedEvent::from_parts(row.get("header")?, signature, body))
}

/// Reads events in the order of arrival, after a place.
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
