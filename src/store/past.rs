//! The store at an earlier time: the events up to then in a separate database, projected by the same code as the
//! present store. (record 42)
//!
//! So each read of the store also works on its past with the same meaning. The cost is a rebuild of the scope, in an
//! unnamed file that is deleted with its connection.

use std::sync::Arc;

use rusqlite::{
    Connection, params, params_from_iter,
    types::{ToSqlOutput, Value, ValueRef},
};

use super::{Reader, Result, StoreError, log, open, rebuild, vectors};
use crate::domain::Scope;

/// A time later than that of any event, in milliseconds since the Unix epoch: selects the present.
pub const EVER: u64 = u64::MAX >> 1;

/// Identifies the events up to a time. If the mark has changed, earlier reads of that past are out of date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PastMark {
    /// The number of events up to the time.
    events: usize,
    /// The number of these events that have a body.
    bodies: usize,
    /// The highest row number among them.
    last: i64,
    /// Whether the scope has later events.
    over: bool,
}

impl PastMark {
    /// Returns whether an event was redacted between this mark and the later mark `now`.
    pub fn lost_words(&self, now: &Self) -> bool {
        now.events.saturating_sub(now.bodies) > self.events.saturating_sub(self.bodies)
    }

    /// Returns whether there are no later events, so that the past equals the present.
    pub fn is_present(&self) -> bool {
        !self.over
    }
}

/// SQL condition that selects the events before a point in time, by event clock: those of one scope and its
/// organisation's level, or all. Binds ?1 and ?3 to the two scopes, ?2 to the time.
macro_rules! select_past {
    ($select:literal) => {
        concat!($select, " WHERE (?1 IS NULL OR e.scope IN (?1, ?3)) AND e.wall <= ?2")
    };
}

/// Tables that are copied as a whole. A table comes after those that it refers to.
const WHOLE_TABLES: [&str; 4] = ["scopes", "teams", "team_scopes", "devices"];

impl Reader {
    /// Returns the mark of the past of a scope, or of the whole store, as it is now. `as_of` is a wall time in
    /// milliseconds since the Unix epoch.
    pub fn past_mark(&self, scope: Option<&Scope>, as_of: u64) -> Result<PastMark> {
        self.snapshot(|reader| {
            let db = &reader.db;
            let Some([scope, level]) = scope_values(db, scope)? else { return Ok(PastMark::default()) };
            // With a scope, each of these queries reads only an index.
            let of = |select: &str| format!("{select} FROM events e WHERE {} AND e.wall <= ?2", in_scope(&scope));
            let bound = params![scope, log::wall(as_of), level];
            let mut read = db.prepare_cached(&of("SELECT count(*), coalesce(max(e.n), 0)"))?;
            let (events, last): (usize, _) = read.query_row(bound, |row| Ok((row.get(0)?, row.get(1)?)))?;
            let mut read = db.prepare_cached(&format!("{} AND e.body IS NULL", of("SELECT count(*)")))?;
            let redacted: usize = read.query_row(bound, |row| row.get(0))?;
            let bodies = events.saturating_sub(redacted);
            let mut read = db
                .prepare_cached("SELECT coalesce(max(latest), 0) > ?2 FROM scopes WHERE ?1 IS NULL OR n IN (?1, ?3)")?;
            let over = read.query_row(bound, |row| row.get(0))?;
            Ok(PastMark { events, bodies, last, over })
        })
    }

    /// Counts the vectors of statements and reasons in the whole store. Reads their tables: 26 ms with 200,000 of them.
    pub fn vector_count(&self) -> Result<usize> {
        let count = "SELECT (SELECT count(*) FROM vectors) + (SELECT count(*) FROM reason_vectors)";
        Ok(self.db.query_row(count, [], |row| row.get(0))?)
    }

    /// Returns a copy of the store, in a temporary database, with the events up to a wall time, by their clocks: those
    /// of one scope and its organisation's level, or all. Bodies that were redacted since then are missing there, too.
    pub fn past(&self, scope: Option<&Scope>, as_of: u64) -> Result<Self> {
        let then = open::temporary()?;
        self.snapshot(|reader| {
            let tx = then.unchecked_transaction()?;
            reader.copy_to(&tx, scope, as_of)?;
            rebuild::fill(&tx, &*self.check, &mut ())?;
            tx.commit()?;
            Ok::<_, StoreError>(())
        })?;
        open::make_read_only(&then)?;
        let (path, check) = (self.path.clone(), self.check.clone());
        Ok(Self { db: then, path, file: None, check, rosters: Arc::default() })
    }

    fn copy_to(&self, then: &Connection, scope: Option<&Scope>, as_of: u64) -> Result<()> {
        for table in WHOLE_TABLES {
            copy(&self.db, then, table, &format!("SELECT * FROM {table}"), &[])?;
        }
        let Some([scope, level]) = scope_values(&self.db, scope)? else { return Ok(()) };
        let bound = [scope, Value::from(log::wall(as_of)), level];
        copy(&self.db, then, "events", select_past!("SELECT e.* FROM events e"), &bound)?;
        let edges = concat!(
            select_past!("SELECT x.* FROM edges x JOIN events e ON e.n = x.src"),
            " AND x.role NOT IN (?4, ?5)"
        );
        // Edges to cards and pairs are projections, which the rebuild creates again.
        let roles = [log::EdgeRole::Card, log::EdgeRole::Pair].map(|role| Value::from(role as i64));
        copy(&self.db, then, "edges", edges, &[bound.as_slice(), &roles].concat())?;
        if let Some(model) = vectors::model(&self.db)? {
            vectors::lock(then, &model)?;
            copy(
                &self.db,
                then,
                "vectors",
                select_past!("SELECT v.* FROM vectors v JOIN events e ON e.n = v.claim"),
                &bound,
            )?;
            copy(
                &self.db,
                then,
                "reason_vectors",
                select_past!("SELECT v.* FROM reason_vectors v JOIN events e ON e.n = v.claim"),
                &bound,
            )?;
        }
        Ok(())
    }
}

/// Returns the SQL condition for a scope and its level, on `?1` and `?3`. With a scope it is a plain `IN`, so that
/// SQLite can use the index.
fn in_scope(scope: &Value) -> &'static str {
    if *scope == Value::Null { "(?1 IS NULL OR ?3 IS NULL)" } else { "e.scope IN (?1, ?3)" }
}

/// Returns what to bind for a scope: the row numbers of the scope and its organisation's level (if only one exists,
/// twice that); NULL for all scopes; `None` if neither exists.
fn scope_values(db: &Connection, scope: Option<&Scope>) -> Result<Option<[Value; 2]>> {
    let Some(scope) = scope else { return Ok(Some([Value::Null, Value::Null])) };
    let known = log::known_scopes(db, &scope.in_force())?;
    Ok(known.first().map(|first| [Value::from(*first), Value::from(known.last().copied().unwrap_or(*first))]))
}

/// Copies the rows of a query into a table of the same columns.
pub(super) fn copy(from: &Connection, to: &Connection, table: &str, query: &str, bound: &[Value]) -> Result<()> {
    let mut read = from.prepare(query)?;
    let columns = read.column_count();
    let placeholders = vec!["?"; columns].join(", ");
    let mut write = to.prepare(&format!("INSERT INTO {table} VALUES ({placeholders})"))?;
    let mut rows = read.query(params_from_iter(bound))?;
    while let Some(row) = rows.next()? {
        let values = (0..columns).map(|at| row.get_ref(at)).collect::<rusqlite::Result<Vec<ValueRef<'_>>>>()?;
        write.execute(params_from_iter(values.into_iter().map(ToSqlOutput::Borrowed)))?;
    }
    Ok(())
}
