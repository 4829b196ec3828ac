//! Reads reference chunks by file, by words and by vector.

use rusqlite::{OptionalExtension, params};

use super::{
    Reader, Result, RowNumber, Store, VectorModel, WordList, WordLists, WordQuery, commit, log,
    project::scope_word,
    vectors::{self, vector_index},
};
use crate::domain::{ChunkPlace, DeviceId, EventId, Scope};

/// The number of rows of the vector index that are compared exactly for each requested chunk.
const OVERSAMPLED: usize = 3;

/// A reference chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkRow {
    /// The event that stored the chunk.
    pub id: EventId,
    /// The file and lines of the chunk.
    pub place: ChunkPlace,
    /// The text of these lines, unchanged.
    pub text: String,
    /// The event clock when the chunk was stored, in milliseconds since the Unix epoch.
    pub at: u64,
    /// The person who shared the chunk with the team; `None` if it stays on this device.
    pub shared_by: Option<String>,
}

/// An active chunk without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredChunk {
    /// The event that stored the chunk.
    pub id: EventId,
    /// Lines and hash, to compare the chunk with the file.
    pub mark: ChunkMark,
    /// The chunk is in the shared log.
    pub shared: bool,
    /// This device stored the chunk.
    pub own: bool,
}

/// A file with active chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngestedRow {
    /// The path as it was ingested.
    pub path: String,
    /// The number of active chunks.
    pub chunks: usize,
}

/// Lines and text hash of a chunk, to compare a file with its stored chunks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChunkMark {
    /// The first and the last line, counted from 1.
    pub lines: (usize, usize),
    /// The hash of the text that [`ChunkMark::new`] computes.
    pub content: [u8; 32],
}

impl ChunkMark {
    /// Creates the mark of a chunk.
    pub fn new(first: usize, last: usize, text: &str) -> Self {
        Self { lines: (first, last), content: super::project::content_of(text) }
    }
}

impl Store {
    /// Stores the vectors of chunks by event id, and returns how many were stored. Skips ids of other events, of
    /// removed chunks, and of chunks with a vector.
    ///
    /// # Errors
    /// As for [`Store::put_vectors`].
    pub fn put_chunk_vectors(&mut self, model: &VectorModel, vectors: &[(EventId, Vec<f32>)]) -> Result<usize> {
        let tx = commit::begin(&mut self.reader)?;
        // Locks the model, or returns an error for another model.
        vectors::put(&tx, model, [])?;
        let mut stored = 0;
        for (id, vector) in vectors {
            let code = vectors::encode(&vectors::unit(model, vector)?);
            let mut read = tx.prepare_cached(
                "SELECT c.n, c.scope FROM chunks c JOIN events e ON e.n = c.n WHERE e.id = ?1 AND c.active = 1 AND c.indexed = 0",
            )?;
            let found: Option<(i64, i64)> = read.query_row([id.0], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            if let Some((n, scope)) = found {
                vectors::put_chunk(&tx, n, scope, &code)?;
                stored += 1;
            }
        }
        tx.commit()?;
        Ok(stored)
    }
}

impl Reader {
    /// Counts the active chunks of a scope, up to `most`.
    pub fn chunk_count(&self, scope: &Scope, most: usize) -> Result<usize> {
        let Some(scope) = log::known_scope(&self.db, scope)? else { return Ok(0) };
        let mut read = self
            .db
            .prepare_cached("SELECT count(*) FROM (SELECT 1 FROM chunks WHERE scope = ?1 AND active = 1 LIMIT ?2)")?;
        Ok(read.query_row(params![scope, most], |row| row.get(0))?)
    }

    /// Returns the active chunks of a file, in the order of the file. `device` is this device.
    pub fn chunks_of(&self, scope: &Scope, path: &str, device: &DeviceId) -> Result<Vec<StoredChunk>> {
        let Some(scope) = log::known_scope(&self.db, scope)? else { return Ok(Vec::new()) };
        let mut read = self.db.prepare_cached(
            "SELECT e.id, c.first, c.last, c.content, e.log = 0, e.author = ?3 FROM chunks c JOIN events e ON e.n = c.n
             WHERE c.scope = ?1 AND c.path = ?2 AND c.active = 1 ORDER BY c.first, c.n",
        )?;
        let rows = read.query_map(params![scope, path, device.0], |row| {
            let mark = ChunkMark { lines: (row.get(1)?, row.get(2)?), content: row.get(3)? };
            Ok(StoredChunk { id: log::id_at(row, 0)?, mark, shared: row.get(4)?, own: row.get(5)? })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the files of a scope that have active chunks and whose paths begin with `under`, by path.
    pub fn ingested(&self, scope: &Scope, under: &str) -> Result<Vec<IngestedRow>> {
        let Some(scope) = log::known_scope(&self.db, scope)? else { return Ok(Vec::new()) };
        let mut read = self.db.prepare_cached(
            "SELECT path, count(*) FROM chunks WHERE scope = ?1 AND active = 1 AND substr(path, 1, length(?2)) = ?2
             GROUP BY path ORDER BY path",
        )?;
        let rows =
            read.query_map(params![scope, under], |row| Ok(IngestedRow { path: row.get(0)?, chunks: row.get(1)? }))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns, for each query, the chunks of a scope with its words, newest first.
    pub fn chunk_lists(&self, scope: &Scope, queries: &[WordQuery]) -> Result<WordLists> {
        self.snapshot(|reader| {
            let db = &reader.db;
            let Some(n) = log::known_scope(db, scope)? else { return Ok(WordLists::default()) };
            let mut read = db.prepare_cached(
                "SELECT rowid FROM chunk_texts WHERE chunk_texts MATCH ?1 ORDER BY rowid DESC LIMIT ?2",
            )?;
            let mut lists = Vec::with_capacity(queries.len());
            for query in queries {
                let words: Vec<String> = query.stems.iter().filter_map(|stem| super::read::quoted(stem)).collect();
                if words.is_empty() {
                    lists.push(WordList::default());
                    continue;
                }
                let asked = format!("{{text path}} : ({}) AND place : {}", words.join(" AND "), scope_word(n));
                let rows = read.query_map(params![asked, query.limit], |row| row.get(0).map(RowNumber))?;
                let spots = rows.collect::<rusqlite::Result<Vec<_>>>()?;
                lists.push(WordList { claims: spots.len(), complete: spots.len() < query.limit, spots });
            }
            Ok(WordLists { claims: reader.chunk_count(scope, usize::MAX >> 1)?, lists })
        })
    }

    /// Returns the chunks of a scope whose vectors are nearest, with their cosines, the nearest first.
    ///
    /// # Errors
    /// As for [`Reader::near`].
    pub fn near_chunks(
        &self,
        scope: &Scope,
        model: &VectorModel,
        vector: &[f32],
        limit: usize,
    ) -> Result<Vec<(RowNumber, f32)>> {
        self.snapshot(|reader| {
            let (db, stored) = (&reader.db, vectors::model(&reader.db)?);
            let (Some(stored), Some(scope)) = (stored, log::known_scope(db, scope)?) else { return Ok(Vec::new()) };
            vectors::check_model(&stored, model)?;
            let unit = vectors::unit(&stored, vector)?;
            let mut ranked = Vec::new();
            for n in vector_index::nearest(
                db,
                vector_index::chunk_lane(scope),
                &vectors::encode(&unit),
                limit.saturating_mul(OVERSAMPLED),
            )? {
                ranked.extend(vectors::stored(db, n)?.map(|code| (RowNumber(n), vectors::cosine(&unit, &code))));
            }
            ranked.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
            ranked.truncate(limit);
            Ok(ranked)
        })
    }

    /// Returns the chunks with these row numbers, in that order, without removed ones.
    pub fn chunks_at(&self, spots: &[RowNumber]) -> Result<Vec<(RowNumber, ChunkRow)>> {
        self.snapshot(|reader| {
            let mut read = reader.db.prepare_cached(
                "SELECT e.id, c.path, c.first, c.last, e.wall, iif(e.log = 0, e.who, NULL) FROM chunks c JOIN events e ON e.n = c.n
                 WHERE c.n = ?1 AND c.active = 1",
            )?;
            let mut found = Vec::with_capacity(spots.len());
            for spot in spots {
                let row = read.query_row([spot.0], |row| {
                    let place = ChunkPlace { path: row.get(1)?, first: row.get(2)?, last: row.get(3)? };
                    Ok((log::id_at(row, 0)?, place, row.get::<_, i64>(4)?.unsigned_abs(), row.get(5)?))
                });
                let Some((id, place, at, shared_by)) = row.optional()? else { continue };
                let text = log::body(&reader.db, spot.0)?.and_then(|body| body.statement).unwrap_or_default();
                found.push((*spot, ChunkRow { id, place, text, at, shared_by }));
            }
            Ok(found)
        })
    }

    /// Returns the active chunks that have no vector yet, with their texts, newest first.
    pub fn chunks_without_vector(&self, limit: usize) -> Result<Vec<(EventId, String)>> {
        self.snapshot(|reader| {
            let mut read = reader.db.prepare_cached(
                "SELECT c.n, e.id FROM chunks c JOIN events e ON e.n = c.n WHERE c.active = 1 AND c.indexed = 0
                 ORDER BY c.n DESC LIMIT ?1",
            )?;
            let rows = read.query_map([limit], |row| Ok((row.get::<_, i64>(0)?, log::id_at(row, 1)?)))?;
            let mut found = Vec::new();
            for row in rows {
                let (n, id) = row?;
                let text = log::body(&reader.db, n)?.and_then(|body| body.statement);
                found.extend(text.map(|text| (id, text)));
            }
            Ok(found)
        })
    }

    /// Counts the claims and the chunks that wait for a vector.
    pub fn without_vector(&self) -> Result<(usize, usize)> {
        let claims = "SELECT count(*) FROM claims WHERE status = 0 AND indexed & 5 = 1";
        let chunks = "SELECT count(*) FROM chunks WHERE active = 1 AND indexed = 0";
        let count = |sql: &str| self.db.query_row(sql, [], |row| row.get(0));
        Ok((count(claims)?, count(chunks)?))
    }
}
