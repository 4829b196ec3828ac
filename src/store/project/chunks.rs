//! Reference chunks: active while their event is effective, their text exists, and nothing removed them.

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

/// The hash by which equal texts are found: they share what was computed of them.
pub(in crate::store) fn content_of(text: &str) -> [u8; 32] {
    *blake3::hash(text.as_bytes()).as_bytes()
}

impl Projector<'_> {
    /// Notes chunks that an event makes or takes out.
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

    /// Brings the chunks that may have changed into their tables and indexes, or out of them.
    pub(super) fn update_chunks(&mut self) -> Result<()> {
        let mut leaving = Vec::new();
        // Those that come first: a text that only moved keeps its vector.
        for n in std::mem::take(&mut self.dirty.chunks) {
            let event = log::load(self.db, n)?;
            let body = log::body(self.db, n)?.filter(|body| body.statement.is_some());
            let found = body.as_ref().and_then(place_of);
            match body.zip(found) {
                Some((body, found)) if event.effective && !self.is_gone(&event)? => {
                    self.take_chunk(&event, &body, &found)?;
                }
                _ => leaving.push(n),
            }
        }
        for n in leaving {
            self.drop_chunk(n)?;
        }
        Ok(())
    }

    /// Whether an act with effect took a chunk out.
    fn is_gone(&self, chunk: &LoadedEvent) -> Result<bool> {
        let pointing = log::pointing_at(self.db, &chunk.id, EdgeRole::Target, chunk.scope)?;
        Ok(pointing.iter().any(|event| event.effective && derive::is_chunk_gone(&event.kind)))
    }

    fn take_chunk(&self, event: &LoadedEvent, body: &Body, found: &ChunkPlace) -> Result<()> {
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
            .execute(params![event.n, event.scope, found.path, found.first, found.last, content])?;
        self.db
            .prepare_cached("INSERT INTO chunk_texts (rowid, text, path, place) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![event.n, stemmed(text), stemmed(&found.path), scope_word(event.scope)])?;
        let code = match vectors::stored(self.db, event.n)? {
            Some(code) => Some(code),
            None => self.vector_of(&content)?,
        };
        if let Some(code) = code {
            vectors::put_chunk(self.db, event.n, event.scope, &code)?;
        }
        Ok(())
    }

    /// The vector of a chunk with the same text.
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

    /// Takes a chunk whose event leaves the log out of every table.
    pub(super) fn forget_chunk(&self, n: i64) -> Result<()> {
        self.drop_chunk(n)?;
        self.db.prepare_cached("DELETE FROM chunks WHERE n = ?1")?.execute([n])?;
        Ok(())
    }
}

/// The position of a chunk in its file, from its event.
pub(in crate::store) fn place_of(body: &Body) -> Option<ChunkPlace> {
    serde_json::from_str(body.data.as_deref()?).ok()
}
