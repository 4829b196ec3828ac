//! Maintains the reference chunks: a chunk is active while its event is effective, its text exists, and no event has
//! removed it.

use rusqlite::{OptionalExtension, params};

use super::Projector;
use crate::{
    domain::{Body, ChunkPlace, derive},
    store::{
        Result,
        log::{self, EdgeRole, LoadedEvent},
        project::{scope_word, stemmed},
        vectors,
    },
};

/// Returns the hash by which chunks with equal texts are found, which share their vector.
pub(in crate::store) fn content_of(text: &str) -> [u8; 32] {
    *blake3::hash(text.as_bytes()).as_bytes()
}

impl Projector<'_> {
    /// Marks as dirty the chunk that an event creates, or those that it removes.
    pub(super) fn mark_chunks(&mut self, event: &LoadedEvent) -> Result<()> {
        if derive::is_chunk(&event.kind) {
            self.dirty.chunks.insert(event.n);
        } else if derive::is_chunk_gone(&event.kind) {
            for target in &event.header.targets {
                if let Some(chunk) = log::load_id(self.db, target)?
                    && chunk.scope == event.scope
                    && derive::is_chunk(&chunk.kind)
                {
                    self.dirty.chunks.insert(chunk.n);
                }
            }
        }
        Ok(())
    }

    /// Adds the chunks that may have changed to their tables and indexes, or removes them.
    pub(super) fn update_chunks(&mut self) -> Result<()> {
        let mut leaving = Vec::new();
        // Add chunks before removing others, so that a text that only moved keeps its vector.
        for n in std::mem::take(&mut self.dirty.chunks) {
            let event = log::load(self.db, n)?;
            let body = log::body(self.db, n)?.filter(|body| body.statement.is_some());
            let position = body.as_ref().and_then(place_of);
            match body.zip(position) {
                Some((body, position)) if event.effective && !self.is_gone(&event)? => {
                    self.add_chunk(&event, &body, &position)?;
                }
                _ => leaving.push(n),
            }
        }
        for n in leaving {
            self.drop_chunk(n)?;
        }
        Ok(())
    }

    /// Returns whether an effective event removed a chunk.
    fn is_gone(&self, chunk: &LoadedEvent) -> Result<bool> {
        let pointing = log::pointing_at(self.db, &chunk.id, EdgeRole::Target, chunk.scope)?;
        Ok(pointing.iter().any(|event| event.effective && derive::is_chunk_gone(&event.kind)))
    }

    fn add_chunk(&self, event: &LoadedEvent, body: &Body, position: &ChunkPlace) -> Result<()> {
        let text = body.statement.as_deref().unwrap_or_default();
        let active: Option<bool> = self
            .db
            .prepare_cached("SELECT active FROM chunks WHERE n = ?1")?
            .query_row([event.n], |row| row.get(0))
            .optional()?;
        if active == Some(true) {
            return Ok(());
        }
        let content = content_of(text);
        self.db
            .prepare_cached(
                "INSERT INTO chunks (n, scope, path, first, last, content, active) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1)
                 ON CONFLICT (n) DO UPDATE SET active = 1",
            )?
            .execute(params![event.n, event.scope, position.path, position.first, position.last, content])?;
        self.db
            .prepare_cached("INSERT INTO chunk_texts (rowid, text, path, place) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![event.n, stemmed(text), stemmed(&position.path), scope_word(event.scope)])?;
        let code = match vectors::stored(self.db, event.n)? {
            Some(code) => Some(code),
            None => self.vector_of(&content)?,
        };
        if let Some(code) = code {
            vectors::put_chunk(self.db, event.n, event.scope, &code)?;
        }
        Ok(())
    }

    /// Returns the vector of a chunk with the same text.
    fn vector_of(&self, content: &[u8; 32]) -> Result<Option<Vec<u8>>> {
        let mut read = self.db.prepare_cached(
            "SELECT v.code FROM chunks c JOIN vectors v ON v.claim = c.n WHERE c.content = ?1 LIMIT 1",
        )?;
        Ok(read.query_row([content], |row| row.get(0)).optional()?)
    }

    fn drop_chunk(&self, n: i64) -> Result<()> {
        let indexed: Option<bool> = self
            .db
            .prepare_cached("SELECT indexed FROM chunks WHERE n = ?1")?
            .query_row([n], |row| row.get(0))
            .optional()?;
        let Some(indexed) = indexed else { return Ok(()) };
        if indexed {
            vectors::vector_index::remove(self.db, n)?;
        }
        vectors::forget(self.db, n)?;
        self.db.prepare_cached("DELETE FROM chunk_texts WHERE rowid = ?1")?.execute([n])?;
        self.db.prepare_cached("UPDATE chunks SET active = 0, indexed = 0 WHERE n = ?1")?.execute([n])?;
        Ok(())
    }

    /// Deletes a chunk whose event leaves the log from all tables.
    pub(super) fn forget_chunk(&self, n: i64) -> Result<()> {
        self.drop_chunk(n)?;
        self.db.prepare_cached("DELETE FROM chunks WHERE n = ?1")?.execute([n])?;
        Ok(())
    }
}

/// Reads the position of a chunk in its file from its event.
pub(in crate::store) fn place_of(body: &Body) -> Option<ChunkPlace> {
    serde_json::from_str(body.data.as_deref()?).ok()
}
