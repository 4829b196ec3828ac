//! The vector index, a table of sqlite-vec: the signs of the vectors of active claims and chunks, by lane.
//!
//! A lane is the part that one search reads: the guarded claims of a scope, its facts, or its reference chunks.

use std::{collections::BinaryHeap, mem::transmute, sync::OnceLock};

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

/// Returns the lane of claims of a kind in a scope.
pub(in crate::store) fn lane(scope: i64, kind: ClaimKind) -> i64 {
    lane_of(scope, kind.is_guarded())
}

/// Returns the lane of the guarded claims, or of the facts, of a scope.
pub(in crate::store) fn lane_of(scope: i64, guarded: bool) -> i64 {
    scope * 2 + i64::from(guarded)
}

/// Returns the lane of the reference chunks of a scope.
pub(in crate::store) fn chunk_lane(scope: i64) -> i64 {
    -scope
}

/// Registers sqlite-vec for every connection that this process opens from now on. Further calls do nothing.
pub(in crate::store) fn register() -> Result<()> {
    static DONE: OnceLock<Result<(), String>> = OnceLock::new();
    let done = DONE.get_or_init(|| {
        // SAFETY: the crate declares its entry point without parameters; compiled for static linking, as it is here, the
        // function has the signature of a SQLite extension, and it opens, closes and registers nothing else.
        #[allow(unsafe_code)]
        let done = unsafe { register_auto_extension(transmute::<*const (), RawAutoExtension>(sqlite3_vec_init as _)) };
        done.map_err(|error| error.to_string())
    });
    done.clone().map_err(|cause| StoreError::System { act: "register sqlite-vec", cause })
}

/// Creates an empty index for a dimension, replacing an existing one.
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

/// Adds a claim or chunk that is not in the index.
pub(in crate::store) fn add(db: &Connection, claim: i64, lane: i64, code: &[u8]) -> Result<()> {
    db.prepare_cached("INSERT INTO vector_index (claim, lane, signs) VALUES (?1, ?2, vec_bit(?3))")?
        .execute(params![claim, lane, super::signs(code)])?;
    Ok(())
}

/// Removes a claim or chunk; sqlite-vec overwrites its bits with zeros.
pub(in crate::store) fn remove(db: &Connection, claim: i64) -> Result<()> {
    db.prepare_cached("DELETE FROM vector_index WHERE claim = ?1")?.execute([claim])?;
    Ok(())
}

/// Returns the row numbers of a lane whose signs differ least from those of a vector, the nearest first.
///
/// Reads the internal tables of sqlite-vec (0.1.9): its own search scans all rows once for each row that it returns,
/// which takes ten times as long. A row of `vector_index_chunks` has a validity bit and a row number for each slot of a
/// chunk; the signs are in `vector_index_vector_chunks00` under the number of the chunk.
pub(in crate::store) fn nearest(db: &Connection, lane: i64, code: &[u8], limit: usize) -> Result<Vec<i64>> {
    let asked = super::signs(code);
    let mut read = db.prepare_cached(
        "SELECT c.validity, c.rowids, v.vectors FROM vector_index_chunks c
         JOIN vector_index_vector_chunks00 v ON v._rowid_ = c.chunk_id WHERE c.partition00 = ?1",
    )?;
    let mut chunks = read.query([lane])?;
    let mut nearest = BinaryHeap::with_capacity(limit + 1);
    while let Some(chunk) = chunks.next()? {
        let blob = |column| chunk.get_ref(column)?.as_blob().map_err(rusqlite::Error::from);
        let (taken, claims, signs) = (blob(0)?, blob(1)?, blob(2)?);
        for (at, (claim, signs)) in claims.chunks_exact(8).zip(signs.chunks_exact(asked.len())).enumerate() {
            if taken.get(at / 8).is_none_or(|byte| byte >> (at % 8) & 1 == 0) {
                continue;
            }
            let distance = differing_bits(&asked, signs);
            if nearest.len() < limit || nearest.peek().is_some_and(|(farthest, _)| distance < *farthest) {
                nearest.push((distance, i64::from_le_bytes(claim.try_into().unwrap_or_default())));
            }
            if nearest.len() > limit {
                nearest.pop();
            }
        }
    }
    Ok(nearest.into_sorted_vec().into_iter().map(|(_, claim)| claim).collect())
}

/// Counts the bits in which two sign vectors of the same length differ.
fn differing_bits(a: &[u8], b: &[u8]) -> u32 {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
    let (a_words, b_words) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest = a_words.remainder().iter().zip(b_words.remainder()).map(|(a, b)| (a ^ b).count_ones());
    let rest: u32 = rest.sum();
    a_words.zip(b_words).map(|(a, b)| (word(a) ^ word(b)).count_ones()).sum::<u32>() + rest
}

/// Returns the number of claims and chunks in the index.
pub(super) fn count(db: &Connection) -> Result<usize> {
    Ok(db.query_row("SELECT count(*) FROM vector_index", [], |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates an index of codes with pseudo-random signs, of which the first `close` differ from the query in few
    /// dimensions.
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
        for (rows, close) in [(2500, 0), (2500, 20), (2500, 144), (100, 0), (10, 3), (0, 0)] {
            let (db, asked, mut wanted) = lane(rows, close);
            let found = nearest(&db, 7, &asked, 144).unwrap();
            let of_found: Vec<u32> = found.iter().map(|row| wanted[usize::try_from(*row).unwrap()]).collect();
            wanted.sort_unstable();
            wanted.truncate(144);
            assert_eq!(of_found, wanted, "{rows} rows, {close} of them close");
        }
    }

    #[test]
    fn the_tables_of_sqlite_vec_hold_what_its_own_search_finds() {
        let (db, asked, distances) = lane(2500, 20);
        // Chunks get free slots, which are used again.
        for row in (0..2500).step_by(3) {
            remove(&db, row).unwrap();
        }
        let other = vec![1; 384];
        add(&db, 9000, 7, &other).unwrap();
        add(&db, 9001, 8, &asked).unwrap();
        let mut read = db
            .prepare("SELECT distance FROM vector_index WHERE lane = 7 AND signs MATCH vec_bit(?1) AND k = 200 ORDER BY distance")
            .unwrap();
        let theirs = read.query_map([super::super::signs(&asked)], |row| row.get(0)).unwrap();
        let theirs: Vec<f64> = theirs.collect::<rusqlite::Result<_>>().unwrap();
        let far = differing_bits(&super::super::signs(&asked), &super::super::signs(&other));
        let ours = nearest(&db, 7, &asked, 200).unwrap();
        let distance = |row: &i64| f64::from(distances.get(usize::try_from(*row).unwrap()).copied().unwrap_or(far));
        assert_eq!(ours.iter().map(distance).collect::<Vec<_>>(), theirs);
        assert_eq!(nearest(&db, 8, &asked, 200).unwrap(), [9001]);
        assert!(ours.iter().all(|row| row % 3 != 0 || *row == 9000));
    }

    #[test]
    fn bits_differ_beyond_the_last_whole_word_too() {
        assert_eq!(differing_bits(&[0xff; 10], &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0xff, 0x7f]), 2);
        assert_eq!(differing_bits(&[], &[]), 0);
    }
}
