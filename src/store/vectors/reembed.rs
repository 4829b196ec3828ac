//! Computes the vectors of another embedder beside those in use, and switches when all exist.

use rusqlite::{Connection, params};

use super::{VectorModel, lock, model, put_chunk, stored, unit, vector_index};
use crate::store::{Reader, Result, Store, commit, log, open, project};

const MODEL: &str = "vectors.next.model";
const DIMENSION: &str = "vectors.next.dimension";
const AT: &str = "vectors.next.at";

/// What is to have a vector: claims with words that are active or had one, and chunks in force.
const WANTED: &str = "SELECT n FROM (
    SELECT c.n FROM claims c WHERE c.indexed & 1 = 1
        AND (c.status = 0 OR EXISTS (SELECT 1 FROM vectors v WHERE v.claim = c.n))
    UNION ALL SELECT n FROM chunks WHERE active = 1)";

/// How many texts have a vector of the new model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReembeddingProgress {
    /// Texts that are done.
    pub done: usize,
    /// Texts in all.
    pub total: usize,
    /// The store's vectors are of the model now.
    pub finished: bool,
}

/// A text that has no vector of the new model yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingText {
    n: i64,
    /// The text.
    pub text: String,
}

impl Store {
    /// Begins, or goes on, making vectors of a model. One that was begun for another model is dropped. Answers whether there is anything to do: not where the
    /// store's vectors are of this model already.
    ///
    /// # Errors
    /// [`crate::store::StoreError::BadVector`] for a model that no store can have.
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
            open::set(&tx, MODEL, &given.name)?;
            open::set(&tx, DIMENSION, given.dimension)?;
            open::set(&tx, AT, 0)?;
        }
        tx.commit()?;
        Ok(needed)
    }

    /// Stores vectors of the model that was begun, of texts in the order in which they were given out; `None` for one that the model refuses.
    pub fn put_reembedded(&mut self, given: &VectorModel, vectors: &[(PendingText, Option<Vec<f32>>)]) -> Result<()> {
        let tx = commit::begin(&mut self.reader)?;
        // Somebody else may have begun another one meanwhile.
        if next_model(&tx)?.as_ref() == Some(given) {
            let mut write = tx.prepare_cached(
                "INSERT OR REPLACE INTO vectors_next (claim, code)
                 SELECT n, ?2 FROM events WHERE n = ?1 AND body IS NOT NULL",
            )?;
            for (waiting, vector) in vectors {
                if let Some(vector) = vector {
                    write.execute(params![waiting.n, super::bytes(&unit(given, vector)?)])?;
                }
                open::set(&tx, AT, waiting.n)?;
            }
        }
        tx.commit()?;
        Ok(())
    }

    /// Puts the new vectors in the place of the old ones, where nothing waits any more; all at once. Answers whether it did.
    pub fn finish_reembedding(&mut self) -> Result<bool> {
        let tx = commit::begin(&mut self.reader)?;
        let Some(given) = next_model(&tx)? else { return Ok(false) };
        if !waiting(&tx, 1)?.is_empty() {
            return Ok(false);
        }
        tx.execute("DELETE FROM vectors", [])?;
        tx.execute("INSERT INTO vectors (claim, code) SELECT claim, code FROM vectors_next", [])?;
        lock(&tx, &given)?;
        // Those of reasons follow when there is nothing else to do.
        tx.execute("DELETE FROM reason_vectors", [])?;
        tx.execute("UPDATE claims SET indexed = indexed & ~?1", [project::IN_VECTOR_INDEX | project::REASON_CHECKED])?;
        tx.execute("UPDATE chunks SET indexed = 0", [])?;
        {
            let mut read = tx.prepare("SELECT n, scope, kind FROM claims WHERE status = 0 AND indexed & 1 = 1")?;
            let lane = |row: &rusqlite::Row<'_>| {
                Ok((row.get(0)?, vector_index::lane(row.get(1)?, project::kind_of(row.get(2)?))))
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
    /// The next texts that wait for their vector of the model that was begun.
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

    /// The progress; `finished` if none was begun.
    pub fn reembedding(&self) -> Result<ReembeddingProgress> {
        self.snapshot(|reader| {
            let db = &reader.db;
            let count = |sql: &str| -> Result<usize> { Ok(db.query_row(sql, [], |row| row.get(0))?) };
            let total = count(&format!("SELECT count(*) FROM ({WANTED})"))?;
            if next_model(db)?.is_none() {
                return Ok(ReembeddingProgress { done: total, total, finished: true });
            }
            let at: i64 = open::setting(db, AT)?.unwrap_or(0);
            let left: usize =
                db.query_row(&format!("SELECT count(*) FROM ({WANTED} WHERE n > ?1)"), [at], |row| row.get(0))?;
            Ok(ReembeddingProgress { done: total - left.min(total), total, finished: false })
        })
    }
}

fn next_model(db: &Connection) -> Result<Option<VectorModel>> {
    let (name, dimension) = (open::setting::<String>(db, MODEL)?, open::setting::<usize>(db, DIMENSION)?);
    Ok(name.zip(dimension).map(|(name, dimension)| VectorModel { name, dimension }))
}

fn waiting(db: &Connection, limit: usize) -> Result<Vec<i64>> {
    let at: i64 = open::setting(db, AT)?.unwrap_or(0);
    let mut read = db.prepare_cached(&format!("{WANTED} WHERE n > ?1 ORDER BY n LIMIT ?2"))?;
    let rows = read.query_map(params![at, limit], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Discards the vectors of the new model.
fn clear(db: &Connection) -> Result<()> {
    db.execute("DELETE FROM vectors_next", [])?;
    db.execute("DELETE FROM settings WHERE name IN (?1, ?2, ?3)", [MODEL, DIMENSION, AT])?;
    Ok(())
}
