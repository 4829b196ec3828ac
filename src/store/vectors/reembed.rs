//! Computes the vectors of another embedder beside those in use, and switches when all exist.

use rusqlite::{Connection, params};

use super::{VectorModel, lock, model, put_chunk, stored, unit, vector_index};
use crate::store::{Reader, Result, Store, commit, log, open, project};

/// Settings of the reembedding in progress: the model, its dimension, and the row number of the last processed text.
const MODEL_SETTING: &str = "vectors.next.model";
const DIMENSION_SETTING: &str = "vectors.next.dimension";
const POSITION_SETTING: &str = "vectors.next.at";

/// Selects what gets a vector: claims with words that are active or had a vector, and active chunks.
const SELECT_WANTED: &str = "SELECT n FROM (
    SELECT c.n FROM claims c WHERE c.indexed & 1 = 1
        AND (c.status = 0 OR EXISTS (SELECT 1 FROM vectors v WHERE v.claim = c.n))
    UNION ALL SELECT n FROM chunks WHERE active = 1)";

/// The progress of computing vectors of a new model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReembeddingProgress {
    /// The number of texts that were processed.
    pub done: usize,
    /// The number of all texts.
    pub total: usize,
    /// No reembedding is in progress: the store uses the vectors of the model.
    pub finished: bool,
}

/// A text that has no vector of the new model yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingText {
    n: i64,
    pub text: String,
}

impl Store {
    /// Begins or continues to compute vectors of a model, and discards those that were begun for another model. Returns
    /// whether anything is to be done: `false` if the store's vectors are of this model already.
    ///
    /// # Errors
    /// [`crate::store::StoreError::BadModel`] if the name or dimension of the model is invalid.
    pub fn begin_reembedding(&mut self, given: &VectorModel) -> Result<bool> {
        let tx = commit::begin(&mut self.reader)?;
        let next = next_model(&tx)?;
        let needed = match model(&tx)? {
            Some(stored) if stored == *given => false,
            Some(_) => true,
            None => {
                lock(&tx, given)?;
                false
            }
        };
        if next.as_ref().is_some_and(|next| next != given) || !needed {
            clear(&tx)?;
        }
        if needed && next.as_ref() != Some(given) {
            open::set(&tx, MODEL_SETTING, &given.name)?;
            open::set(&tx, DIMENSION_SETTING, given.dimension)?;
            open::set(&tx, POSITION_SETTING, 0)?;
        }
        tx.commit()?;
        Ok(needed)
    }

    /// Stores vectors of the new model, in the order of [`Reader::waiting_for_reembedding`]. `None` is for a text that
    /// the model refuses.
    pub fn put_reembedded(&mut self, given: &VectorModel, vectors: &[(PendingText, Option<Vec<f32>>)]) -> Result<()> {
        let tx = commit::begin(&mut self.reader)?;
        // Another request may have begun another model in the meantime.
        if next_model(&tx)?.as_ref() == Some(given) {
            let mut write = tx.prepare_cached(
                "INSERT OR REPLACE INTO vectors_next (claim, code)
                 SELECT n, ?2 FROM events WHERE n = ?1 AND body IS NOT NULL",
            )?;
            for (waiting, vector) in vectors {
                if let Some(vector) = vector {
                    write.execute(params![waiting.n, super::encode(&unit(given, vector)?)])?;
                }
                open::set(&tx, POSITION_SETTING, waiting.n)?;
            }
        }
        tx.commit()?;
        Ok(())
    }

    /// Replaces the old vectors by the new ones in one transaction, unless texts still wait. Returns whether it did.
    pub fn finish_reembedding(&mut self) -> Result<bool> {
        let tx = commit::begin(&mut self.reader)?;
        let Some(given) = next_model(&tx)? else { return Ok(false) };
        if !waiting(&tx, 1)?.is_empty() {
            return Ok(false);
        }
        tx.execute("DELETE FROM vectors", [])?;
        tx.execute("INSERT INTO vectors (claim, code) SELECT claim, code FROM vectors_next", [])?;
        lock(&tx, &given)?;
        // The vectors of reasons are computed later, when the daemon is idle.
        tx.execute("DELETE FROM reason_vectors", [])?;
        tx.execute("UPDATE claims SET indexed = indexed & ~?1", [project::IN_VECTOR_INDEX | project::REASON_CHECKED])?;
        tx.execute("UPDATE chunks SET indexed = 0", [])?;
        {
            let mut read = tx.prepare("SELECT n, scope, kind FROM claims WHERE status = 0 AND indexed & 1 = 1")?;
            let lane = |row: &rusqlite::Row<'_>| {
                Ok((row.get(0)?, vector_index::lane(row.get(1)?, project::kind_of(row.get(2)?)?)))
            };
            let claims = read.query_map([], lane)?.collect::<rusqlite::Result<Vec<(i64, i64)>>>()?;
            let mut mark = tx.prepare("UPDATE claims SET indexed = indexed | ?2 WHERE n = ?1")?;
            for (n, lane) in claims {
                if let Some(code) = stored(&tx, n)? {
                    vector_index::add(&tx, n, lane, &code)?;
                    mark.execute([n, project::IN_VECTOR_INDEX])?;
                }
            }
            let mut read = tx.prepare("SELECT n, scope FROM chunks WHERE active = 1")?;
            let chunks = read.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            for (n, scope) in chunks.collect::<rusqlite::Result<Vec<(i64, i64)>>>()? {
                if let Some(code) = stored(&tx, n)? {
                    put_chunk(&tx, n, scope, &code)?;
                }
            }
        }
        clear(&tx)?;
        tx.commit()?;
        Ok(true)
    }
}

impl Reader {
    /// Returns the next texts that wait for a vector of the new model.
    pub fn waiting_for_reembedding(&self, limit: usize) -> Result<Vec<PendingText>> {
        self.snapshot(|reader| {
            let mut all = Vec::new();
            for n in waiting(&reader.db, limit)? {
                let text = log::body(&reader.db, n)?.and_then(|body| body.statement).unwrap_or_default();
                all.push(PendingText { n, text });
            }
            Ok(all)
        })
    }

    /// Returns the progress of the reembedding; `finished` if none is in progress.
    pub fn reembedding(&self) -> Result<ReembeddingProgress> {
        self.snapshot(|reader| {
            let db = &reader.db;
            let count = |sql: &str| -> Result<usize> { Ok(db.query_row(sql, [], |row| row.get(0))?) };
            let total = count(&format!("SELECT count(*) FROM ({SELECT_WANTED})"))?;
            if next_model(db)?.is_none() {
                return Ok(ReembeddingProgress { done: total, total, finished: true });
            }
            let at: i64 = open::setting(db, POSITION_SETTING)?.unwrap_or(0);
            let left: usize =
                db.query_row(&format!("SELECT count(*) FROM ({SELECT_WANTED} WHERE n > ?1)"), [at], |row| row.get(0))?;
            Ok(ReembeddingProgress { done: total - left.min(total), total, finished: false })
        })
    }
}

fn next_model(db: &Connection) -> Result<Option<VectorModel>> {
    let (name, dimension) =
        (open::setting::<String>(db, MODEL_SETTING)?, open::setting::<usize>(db, DIMENSION_SETTING)?);
    Ok(name.zip(dimension).map(|(name, dimension)| VectorModel { name, dimension }))
}

fn waiting(db: &Connection, limit: usize) -> Result<Vec<i64>> {
    let at: i64 = open::setting(db, POSITION_SETTING)?.unwrap_or(0);
    let mut read = db.prepare_cached(&format!("{SELECT_WANTED} WHERE n > ?1 ORDER BY n LIMIT ?2"))?;
    let rows = read.query_map(params![at, limit], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Discards the vectors of the new model.
fn clear(db: &Connection) -> Result<()> {
    db.execute("DELETE FROM vectors_next", [])?;
    db.execute(
        "DELETE FROM settings WHERE name IN (?1, ?2, ?3)",
        [MODEL_SETTING, DIMENSION_SETTING, POSITION_SETTING],
    )?;
    Ok(())
}
