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

/// How many are asked for first, to learn how far away the nearest are.
const PROBE: usize = 16;

/// The place among those from which the tail of the distances is taken to be regular; the very nearest are often a case of their own.
const REGULAR: usize = 4;

/// The least spread that is reckoned with, as a part of all bits: 4 of 384.
const LEAST: f64 = 0.01;

/// The claims of a lane whose signs differ least, the nearest first.
///
/// sqlite-vec looks through all rows once for each that it returns (version 0.1.9), so many of them are asked for within a distance: it
/// leaves the rows beyond out beforehand. How far that is, is estimated: the answer may be a third shorter than asked for.
pub(in crate::store) fn nearest(db: &Connection, lane: i64, code: &[u8], limit: usize) -> Result<Vec<i64>> {
    let signs = super::signs(code);
    let plain = "SELECT claim, distance FROM vector_index WHERE lane = ?1 AND signs MATCH vec_bit(?2) AND k = ?3
         ORDER BY distance";
    let search = |limit: usize| -> Result<Vec<(i64, f64)>> {
        let mut read = db.prepare_cached(plain)?;
        let rows = read.query_map(params![lane, signs, limit], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    };
    let first = search(limit.min(PROBE))?;
    if first.len() < PROBE || limit <= PROBE {
        return Ok(first.into_iter().map(|(claim, _)| claim).collect());
    }
    let at = |place: usize| first.get(place - 1).map_or(0.0, |(_, distance)| *distance);
    // Near its end the distribution of distances is about exponential: so many bits more for e times as many rows; many rows at one distance
    // say nothing of that. A half more than needed is cheaper than searching once more.
    let bits = (at(PROBE) - at(REGULAR)) / ((PROBE / REGULAR) as f64).ln();
    let needed = bits.max((signs.len() * 8) as f64 * LEAST) * (limit as f64 / PROBE as f64).ln();
    let mut within = db.prepare_cached(
        "SELECT claim FROM vector_index WHERE lane = ?1 AND signs MATCH vec_bit(?2) AND k = ?3 AND distance <= ?4
         ORDER BY distance",
    )?;
    for reserve in [1.5, 4.0] {
        let reach = needed.mul_add(reserve, at(PROBE));
        let found = within.query_map(params![lane, signs, limit, reach], |row| row.get(0))?;
        let found = found.collect::<rusqlite::Result<Vec<i64>>>()?;
        if found.len() >= limit * 2 / 3 {
            return Ok(found);
        }
    }
    Ok(search(limit)?.into_iter().map(|(claim, _)| claim).collect())
}

/// How many claims are in it.
pub(super) fn count(db: &Connection) -> Result<usize> {
    Ok(db.query_row("SELECT count(*) FROM vector_index", [], |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes whose signs are pseudo-random; the first `close` of them differ from the asked one in few dimensions.
    fn lane(rows: usize, close: usize) -> (Connection, Vec<u8>, Vec<u32>) {
        register().unwrap();
        let db = Connection::open_in_memory().unwrap();
        create(&db, 384).unwrap();
        let bits = |seed: usize| {
            let mut hasher = blake3::Hasher::new();
            hasher.update(&seed.to_le_bytes());
            let mut code = vec![0; 384];
            hasher.finalize_xof().fill(&mut code);
            code
        };
        let asked = bits(usize::MAX);
        let mut distances = Vec::new();
        for row in 0..rows {
            let mut code = bits(row);
            if row < close {
                code[row + 1..].copy_from_slice(&asked[row + 1..]);
            }
            let (own, theirs) = (super::super::signs(&code), super::super::signs(&asked));
            distances.push(own.iter().zip(theirs).map(|(a, b)| (a ^ b).count_ones()).sum());
            add(&db, i64::try_from(row).unwrap(), 7, &code).unwrap();
        }
        (db, asked, distances)
    }

    #[test]
    fn the_nearest_are_those_of_a_full_comparison() {
        // A cloud alone, a few that are much nearer than the rest, as many of these as are asked for, and too few rows.
        for (rows, close) in [(1500, 0), (1500, 20), (1500, 144), (100, 0), (10, 3)] {
            let (db, asked, distances) = lane(rows, close);
            let found = nearest(&db, 7, &asked, 144).unwrap();
            let of_found: Vec<u32> = found.iter().map(|row| distances[usize::try_from(*row).unwrap()]).collect();
            let mut wanted = distances;
            wanted.sort_unstable();
            wanted.truncate(of_found.len());
            assert!(of_found.len() >= rows.min(96), "{rows} rows, {close} of them close: {}", of_found.len());
            assert_eq!(of_found, wanted, "{rows} rows, {close} of them close");
        }
    }
}
