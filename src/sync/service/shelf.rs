//! Where the worker's documents come from.

use std::sync::Arc;

use crate::{domain::replica::DocumentId, engine::Engine, store::DocumentChunk, sync::worker::Shelf};

/// The store's chunks.
pub struct StoreShelf(Arc<Engine>);

impl StoreShelf {
    /// Those of this engine's store.
    pub fn new(engine: Arc<Engine>) -> Self {
        Self(engine)
    }
}

impl Shelf for StoreShelf {
    fn chunks(&self, document: DocumentId) -> Result<Vec<Vec<u8>>, String> {
        let chunks = self.0.sync_read(|r| r.document_chunks(&document)).map_err(|error| error.to_string())?;
        Ok(chunks
            .into_iter()
            .map(|chunk| match chunk {
                DocumentChunk::Append(bytes) | DocumentChunk::Snapshot(bytes) => bytes,
            })
            .collect())
    }
}
