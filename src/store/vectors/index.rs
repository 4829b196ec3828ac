//! The table of sqlite-vec: the signs of active claims' vectors, by lane.
//!
//! A lane is what one search reads: the guarded claims of a scope, its facts, or its reference chunks.

use std::{mem::transmute, sync::OnceLock};

use rusqlite::{
    Connection,
    auto_extension::{RawAutoExtension, register_auto_extension},
    params,
};
use sqlite_vec::sqlite3_vec_init;

use crate::{
    domain::ClaimKind,
    store::{Result, StoreError},
};

/// What one search reads.
pub(in crate::store) fn lane(scope: i64, kind: ClaimKind) -> i64 {
    lane_of(scope, kind.is_guarded())
}

/// [`lane`], by whether the kind is guarded.
pub(in crate::store) fn lane_of(scope: i64, guarded: bool) -> i64 {
    scope * 2 + i64::from(guarded)
}

/// The reference chunks of a scope.
pub(in crate::store) fn chunks_of(scope: i64) -> i64 {
    -scope
}

/// Gives sqlite-vec to every connection that this process opens from now on. Once is enough.
pub(in crate::store) fn register() -> Result<()> {
    static DONE: OnceLock<Result<(), String>> = OnceLock::new();
    let done = DONE.get_or_init(|| {
        // SAFETY: the crate declares its entry point without parameters; compiled for static linking, as it is here, the
        // function has the signature of a SQLite extension, and it opens, closes and registers nothing else.
        #[allow(unsafe_code)]
        let done = unsafe { register_auto_extension(transmute::<*const (), RawAutoExtension>(sqlite3_vec_init as _)) };
        done.map_err(|error| error.to_string())
    });
    done.clone().map_err(|error| StoreError::Damaged(format!("sqlite-vec cannot be registered: {error}")))
}

/// Makes the index for a dimension, in place of the one that is there.
pub(super) fn create(db: &Connection, dimension: usize) -> Result<()> {
    let bits = dimension.next_multiple_of(8);
    db.execute("DROP TABLE IF EXISTS vector_index", [])?;
    let sql = format!(
        "CREATE VIRTUAL TABLE vector_index USING vec0 (
            lane INTEGER PARTITION KEY, claim INTEGER PRIMARY KEY, signs bit[{bits}])"
    );
    db.execute(&sql, [])?;
    Ok(())
}

/// Adds a claim that is not there.
pub(in crate::store) fn add(db: &Connection, claim: i64, lane: i64, code: &[u8]) -> Result<()> {
    db.prepare_cached("INSERT INTO vector_index (claim, lane, signs) VALUES (?1, ?2, vec_bit(?3))")?
        .execute(params![claim, lane, super::signs(code)])?;
    Ok(())
}

/// Takes a claim out; sqlite-vec overwrites its bits with zeros.
pub(in crate::store) fn remove(db: &Connection, claim: i64) -> Result<()> {
    db.prepare_cached("DELETE FROM vector_index WHERE claim = ?1")?.execute([claim])?;
    Ok(())
}

/// The claims of a lane whose signs differ least, the nearest first.
pub(in crate::store) fn nearest(db: &Connection, lane: i64, code: &[u8], limit: usize) -> Result<Vec<i64>> {
    let mut read = db.prepare_cached(
        "SELECT claim FROM vector_index WHERE lane = ?1 AND signs MATCH vec_bit(?2) AND k = ?3 ORDER BY distance",
    )?;
    let rows = read.query_map(params![lane, super::signs(code), limit], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// How many claims are in it.
pub(super) fn count(db: &Connection) -> Result<usize> {
    Ok(db.query_row("SELECT count(*) FROM vector_index", [], |row| row.get(0))?)
}
