//! The second vector of a claim: the embedding of its statement and reason together, because a question may be about
//! the reason.
//!
//! It is stored apart from the first and is in no index: the guard compares statements, and recall uses it only for the
//! few dozen claims that words and statements have found. It is computed when the daemon is idle; a claim that has none
//! yet is ranked without it.

use rusqlite::{Connection, OptionalExtension, params};

use super::{VectorModel, check_model, encoding, model, unit};
use crate::{
    domain::ClaimId,
    store::{Reader, Result, Store, commit, log, project},
};

/// The most claims that are examined in one transaction.
const BATCH: usize = 256;

/// The result of examining whether claims need a vector of their reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingReasonVectors {
    /// The number of claims that need none: they have no reason, or the vector exists. They are not examined again.
    pub done: usize,
    /// The claims that need one, with statement and reason as one text.
    pub waiting: Vec<(ClaimId, String)>,
}

impl Store {
    /// Examines the newest active claims that were not examined yet, until `limit` of them need a vector of their
    /// reason.
    pub fn look_at_reasons(&mut self, limit: usize) -> Result<MissingReasonVectors> {
        let tx = commit::begin(&mut self.reader)?;
        let mut found = MissingReasonVectors::default();
        {
            let mut read = tx.prepare_cached(
                "SELECT n, id, EXISTS (SELECT 1 FROM reason_vectors v WHERE v.claim = claims.n)
                 FROM claims WHERE status = 0 AND indexed & 12 = 4 ORDER BY n DESC LIMIT ?1",
            )?;
            let rows = read
                .query_map([BATCH], |row| Ok((row.get::<_, i64>(0)?, log::id_at(row, 1)?, row.get::<_, bool>(2)?)))?;
            for (n, id, has) in rows.collect::<rusqlite::Result<Vec<_>>>()? {
                if found.waiting.len() >= limit {
                    break;
                }
                let body = if has { None } else { log::body(&tx, n)? };
                match body.and_then(|body| Some((body.statement?, body.reason?))) {
                    Some((statement, reason)) if !reason.trim().is_empty() => {
                        found.waiting.push((id, format!("{statement} {reason}")));
                    }
                    _ => {
                        mark(&tx, n)?;
                        found.done += 1;
                    }
                }
            }
        }
        tx.commit()?;
        Ok(found)
    }

    /// Stores the vectors of claims with their reasons, and returns how many were stored. `None` is for a text that the
    /// model refuses; its claim is not examined again.
    ///
    /// # Errors
    /// [`crate::store::StoreError::VectorModel`] if another model computed the store's vectors;
    /// [`crate::store::StoreError::BadVector`] if a vector's length is not the dimension of the model, or the vector is
    /// zero or not finite.
    pub fn put_reason_vectors(
        &mut self,
        given: &VectorModel,
        vectors: &[(ClaimId, Option<Vec<f32>>)],
    ) -> Result<usize> {
        let tx = commit::begin(&mut self.reader)?;
        let mut stored = 0;
        if let Some(known) = model(&tx)? {
            let mut find = tx.prepare_cached("SELECT n FROM claims WHERE id = ?1 AND indexed & 5 = 5")?;
            let mut write = tx.prepare_cached("INSERT OR REPLACE INTO reason_vectors (claim, code) VALUES (?1, ?2)")?;
            for (id, vector) in vectors {
                // Redacted or no longer active, or without a vector of the statement: it is examined again if that
                // changes.
                let Some(n) = find.query_row([id.0], |row| row.get(0)).optional()? else { continue };
                if let Some(vector) = vector {
                    check_model(&known, given)?;
                    write.execute(params![n, encoding::encode(&unit(given, vector)?)])?;
                    stored += 1;
                }
                mark(&tx, n)?;
            }
        }
        tx.commit()?;
        Ok(stored)
    }
}

impl Reader {
    /// Returns whether there are claims to examine for a vector of their reason.
    pub fn reasons_wait(&self) -> Result<bool> {
        let mut read = self.db.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM claims WHERE status = 0 AND indexed & 12 = 4 ORDER BY n DESC)",
        )?;
        Ok(read.query_row([], |row| row.get(0))?)
    }
}

/// Returns the stored vector of a claim with its reason, one byte per dimension.
pub(in crate::store) fn with_reason(db: &Connection, n: i64) -> Result<Option<Vec<u8>>> {
    let mut read = db.prepare_cached("SELECT code FROM reason_vectors WHERE claim = ?1")?;
    Ok(read.query_row([n], |row| row.get(0)).optional()?)
}

/// Marks a claim as examined for a vector of its reason.
fn mark(db: &Connection, n: i64) -> Result<()> {
    db.prepare_cached("UPDATE claims SET indexed = indexed | ?2 WHERE n = ?1")?
        .execute([n, project::REASON_CHECKED])?;
    Ok(())
}
