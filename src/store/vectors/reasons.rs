//! What a claim means together with its reason: a second vector. A question may be about the reason as well as about what follows from it.
//!
//! It is kept apart from the first one and is in no index: the guard compares statements, and recall compares it with the few dozen claims that words and
//! statements have found. It is made when there is nothing else to do; a claim that has none yet is ranked without.

use rusqlite::{Connection, OptionalExtension, params};

use super::{VectorModel, encoding, model, must_be, unit};
use crate::{
    domain::ClaimId,
    store::{Reader, Result, Store, commit, log, project},
};

/// How many claims are looked at in one go.
const LOOKED_AT: usize = 256;

/// Claims that were examined for whether their reason needs a vector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingReasonVectors {
    /// How many need none: they give no reason, or have one already. They are not looked at again.
    pub done: usize,
    /// Those that need one, with statement and reason as one text.
    pub waiting: Vec<(ClaimId, String)>,
}

impl Store {
    /// Looks at the newest active claims that were not looked at yet, until `limit` of them need a vector of their reason.
    pub fn look_at_reasons(&mut self, limit: usize) -> Result<MissingReasonVectors> {
        let tx = commit::begin(&mut self.reader)?;
        let mut found = MissingReasonVectors::default();
        {
            let mut read = tx.prepare_cached(
                "SELECT n, id, EXISTS (SELECT 1 FROM reason_vectors v WHERE v.claim = claims.n)
                 FROM claims WHERE status = 0 AND indexed & 12 = 4 ORDER BY n DESC LIMIT ?1",
            )?;
            let rows = read.query_map([LOOKED_AT], |row| {
                Ok((row.get::<_, i64>(0)?, log::id_at(row, 1)?, row.get::<_, bool>(2)?))
            })?;
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

    /// Stores the vectors of claims with their reasons; `None` for one that the model refuses, which is not asked about again. Answers how many were stored.
    ///
    /// # Errors
    /// [`crate::store::StoreError::VectorModel`] where the store's vectors were made with another model; [`crate::store::StoreError::BadVector`] where one has
    /// another length than the model says, or no direction.
    pub fn put_reason_vectors(
        &mut self,
        given: &VectorModel,
        vectors: &[(ClaimId, Option<Vec<f32>>)],
    ) -> Result<usize> {
        let tx = commit::begin(&mut self.reader)?;
        let mut stored = 0;
        if let Some(known) = model(&tx)? {
            let mut place = tx.prepare_cached("SELECT n FROM claims WHERE id = ?1 AND indexed & 5 = 5")?;
            let mut write = tx.prepare_cached("INSERT OR REPLACE INTO reason_vectors (claim, code) VALUES (?1, ?2)")?;
            for (id, vector) in vectors {
                // Redacted or retired meanwhile, or without a vector of its own: looked at again when it is back.
                let Some(n) = place.query_row([id.0], |row| row.get(0)).optional()? else { continue };
                if let Some(vector) = vector {
                    must_be(&known, given)?;
                    write.execute(params![n, encoding::bytes(&unit(given, vector)?)])?;
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
    /// Whether there are claims of which it is not known yet whether their reason needs a vector.
    pub fn reasons_wait(&self) -> Result<bool> {
        let mut read = self.db.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM claims WHERE status = 0 AND indexed & 12 = 4 ORDER BY n DESC)",
        )?;
        Ok(read.query_row([], |row| row.get(0))?)
    }
}

/// The exact vector of a claim with its reason, as it is stored.
pub(in crate::store) fn with_reason(db: &Connection, n: i64) -> Result<Option<Vec<u8>>> {
    let mut read = db.prepare_cached("SELECT code FROM reason_vectors WHERE claim = ?1")?;
    Ok(read.query_row([n], |row| row.get(0)).optional()?)
}

/// Marks a claim as examined.
fn mark(db: &Connection, n: i64) -> Result<()> {
    db.prepare_cached("UPDATE claims SET indexed = indexed | ?2 WHERE n = ?1")?.execute([n, project::REASON_CHECKED])?;
    Ok(())
}
