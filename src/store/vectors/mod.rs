//! Vectors: the embeddings of claims' statements, which find claims of similar meaning.
//!
//! A vector is stored twice. The table `vectors` has one byte per dimension, exact enough for cosines. `vector_index`,
//! a table of sqlite-vec, has the signs of the active claims' vectors, one bit per dimension: small enough to be read
//! whole for a scope; its nearest rows are then compared exactly. (Charikar, "Similarity Estimation Techniques from
//! Rounding Algorithms", 2002: the share of signs that differ estimates the angle.)
//!
//! Vectors are neither events nor part of the projection: they depend on the statement and the model, and can be
//! computed again at any time. The first vector locks the model, because vectors of two models cannot be compared.

mod encoding;
mod reasons;
mod reembed;
pub(super) mod vector_index;

use rusqlite::{Connection, OptionalExtension, params};

pub(super) use encoding::{cosine, decode, encode};
pub use reasons::MissingReasonVectors;
pub(super) use reasons::with_reason;
pub use reembed::{PendingText, ReembeddingProgress};

use super::{Act, Committed, Ref, Result, Store, StoreError, commit, open, project};
use crate::domain::{ClaimId, Status};

/// The most dimensions that a vector may have: the limit of sqlite-vec.
const MAX_DIMENSION: usize = 8192;

/// The model that computed vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorModel {
    /// The unique name: the model's name, or this name with the hash of its file. Compared byte for byte.
    pub name: String,
    /// The number of dimensions of a vector.
    pub dimension: usize,
}

impl std::fmt::Display for VectorModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} dimensions)", self.name, self.dimension)
    }
}

impl Store {
    /// Stores the vectors of claims of any status in one transaction, replacing earlier ones. Returns how many were
    /// stored: unknown and redacted claims are skipped.
    ///
    /// # Errors
    /// [`StoreError::VectorModel`] if another model computed the store's vectors: the first vector locks the model.
    /// [`StoreError::BadModel`] if the name or dimension of the model is invalid. [`StoreError::BadVector`] if a
    /// vector's length is not the dimension of the model, or the vector is zero or not finite.
    pub fn put_vectors(&mut self, model: &VectorModel, vectors: &[(ClaimId, Vec<f32>)]) -> Result<usize> {
        let tx = commit::begin(&mut self.reader)?;
        let stored = put(&tx, model, vectors.iter().map(|(id, vector)| (*id, vector.as_slice())))?;
        tx.commit()?;
        Ok(stored)
    }

    /// Commits an act like [`Store::commit`], and stores vectors of claims that it creates or refers to in the same
    /// transaction.
    ///
    /// # Errors
    /// Also those of [`Store::put_vectors`]; then nothing is stored.
    pub fn commit_with_vectors(
        &mut self,
        act: Act,
        model: &VectorModel,
        vectors: &[(Ref, Vec<f32>)],
    ) -> Result<Committed> {
        self.write_act(act, Some((model, vectors)), None)
    }
}

/// Returns the model that computed the store's vectors; `None` before the first vector.
pub(super) fn model(db: &Connection) -> Result<Option<VectorModel>> {
    let Some(name) = open::setting::<String>(db, "vectors.model")? else { return Ok(None) };
    match open::setting::<usize>(db, "vectors.dimension")? {
        Some(dimension) => Ok(Some(VectorModel { name, dimension })),
        None => Err(StoreError::Damaged("the store names an embedding model without its dimension".into())),
    }
}

/// Returns an error for a model other than the store's.
pub(super) fn check_model(stored: &VectorModel, given: &VectorModel) -> Result<()> {
    if stored == given {
        return Ok(());
    }
    Err(StoreError::VectorModel { stored: Box::new(stored.clone()), given: Box::new(given.clone()) })
}

/// Returns a vector at length 1, or an error if the model cannot have computed it.
pub(super) fn unit(model: &VectorModel, vector: &[f32]) -> Result<Vec<f32>> {
    if vector.len() != model.dimension {
        return Err(StoreError::BadVector(format!("has {} dimensions, but {model} has another number", vector.len())));
    }
    encoding::unit(vector).ok_or_else(|| StoreError::BadVector("is zero or contains invalid numbers".into()))
}

/// Stores vectors within the caller's transaction.
pub(super) fn put<'a>(
    db: &Connection,
    given: &VectorModel,
    vectors: impl IntoIterator<Item = (ClaimId, &'a [f32])>,
) -> Result<usize> {
    match model(db)? {
        Some(stored) => check_model(&stored, given)?,
        None => lock(db, given)?,
    }
    let mut find = db.prepare_cached("SELECT n, scope, kind, status, indexed FROM claims WHERE id = ?1")?;
    let mut write = db.prepare_cached(
        "INSERT INTO vectors (claim, code) VALUES (?1, ?2) ON CONFLICT (claim) DO UPDATE SET code = excluded.code",
    )?;
    let mut mark = db.prepare_cached("UPDATE claims SET indexed = indexed | ?2 WHERE n = ?1")?;
    let mut stored = 0;
    for (id, vector) in vectors {
        let code = encoding::encode(&unit(given, vector)?);
        let found = find.query_row([id.0], |row| {
            let lane = vector_index::lane(row.get(1)?, project::kind_of(row.get(2)?)?);
            Ok((row.get::<_, i64>(0)?, lane, project::status_of(row.get(3)?), row.get::<_, i64>(4)?))
        });
        let Some((n, lane, status, indexes)) = found.optional()? else { continue };
        // A claim without words was redacted, perhaps while its vector was computed.
        if indexes & project::IN_TEXT_INDEX == 0 {
            continue;
        }
        write.execute(params![n, code])?;
        if indexes & project::IN_VECTOR_INDEX != 0 {
            vector_index::remove(db, n)?;
        }
        if status == Status::Active {
            vector_index::add(db, n, lane, &code)?;
            mark.execute([n, project::IN_VECTOR_INDEX])?;
        }
        stored += 1;
    }
    Ok(stored)
}

/// Stores the vector of an active chunk that is not in the index yet.
pub(super) fn put_chunk(db: &Connection, n: i64, scope: i64, code: &[u8]) -> Result<()> {
    db.prepare_cached(
        "INSERT INTO vectors (claim, code) VALUES (?1, ?2) ON CONFLICT (claim) DO UPDATE SET code = excluded.code",
    )?
    .execute(params![n, code])?;
    vector_index::add(db, n, vector_index::chunk_lane(scope), code)?;
    db.prepare_cached("UPDATE chunks SET indexed = 1 WHERE n = ?1")?.execute([n])?;
    Ok(())
}

/// Creates an empty index for a model and makes it the store's model.
pub(super) fn lock(db: &Connection, model: &VectorModel) -> Result<()> {
    let VectorModel { name, dimension } = model;
    if name.trim().is_empty() {
        return Err(StoreError::BadModel("has no name".to_owned()));
    }
    if !(1..=MAX_DIMENSION).contains(dimension) {
        let problem =
            format!("“{name}” gives vectors of {dimension} dimensions, and 1 to {MAX_DIMENSION} are supported");
        return Err(StoreError::BadModel(problem));
    }
    vector_index::create(db, model.dimension)?;
    open::set(db, "vectors.model", &model.name)?;
    open::set(db, "vectors.dimension", model.dimension)
}

/// Returns the stored vector of a claim, one byte per dimension.
pub(super) fn stored(db: &Connection, n: i64) -> Result<Option<Vec<u8>>> {
    let mut read = db.prepare_cached("SELECT code FROM vectors WHERE claim = ?1")?;
    Ok(read.query_row([n], |row| row.get(0)).optional()?)
}

/// Decodes a stored vector to length 1; `None` if it is zero.
pub(super) fn unit_of(code: &[u8]) -> Option<Vec<f32>> {
    encoding::unit(&encoding::decode(code))
}

/// Deletes the vectors of a claim or chunk, except from the index.
pub(super) fn forget(db: &Connection, n: i64) -> Result<()> {
    db.prepare_cached("DELETE FROM vectors WHERE claim = ?1")?.execute([n])?;
    db.prepare_cached("DELETE FROM vectors_next WHERE claim = ?1")?.execute([n])?;
    db.prepare_cached("DELETE FROM reason_vectors WHERE claim = ?1")?.execute([n])?;
    Ok(())
}

/// Empties the index before a rebuild.
pub(super) fn clear_index(db: &Connection) -> Result<()> {
    if let Some(model) = model(db)? {
        vector_index::create(db, model.dimension)?;
    }
    Ok(())
}

/// Describes how vectors, index and claims differ, if they do.
pub(super) fn problem(db: &Connection) -> Result<Option<String>> {
    if model(db)?.is_none() {
        return Ok(None);
    }
    let indexed = vector_index::count(db)?;
    let mut read = db.prepare(
        "SELECT count(*) FROM claims c JOIN vectors v ON v.claim = c.n
         WHERE c.status = 0 AND c.indexed & ?1 = ?1",
    )?;
    let wanted: usize = read.query_row([project::IN_VECTOR_INDEX], |row| row.get(0))?;
    let mut read = db.prepare("SELECT count(*) FROM claims WHERE indexed & ?1 = ?1")?;
    let marked: usize = read.query_row([project::IN_VECTOR_INDEX], |row| row.get(0))?;
    let chunks: usize =
        db.query_row("SELECT count(*) FROM chunks c JOIN vectors v ON v.claim = c.n WHERE c.indexed = 1", [], |row| {
            row.get(0)
        })?;
    let wrong = indexed != wanted + chunks || wanted != marked;
    Ok(wrong.then(|| {
        format!("the vector index holds {indexed} claims instead of {}: run `ergo doctor --rebuild`", wanted + chunks)
    }))
}

/// Converts a stored vector to signs for the index.
pub(super) fn signs(code: &[u8]) -> Vec<u8> {
    encoding::signs(code)
}
