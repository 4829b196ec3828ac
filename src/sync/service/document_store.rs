//! The stored documents, for the worker.

use std::sync::Arc;

use crate::{domain::replica::DocumentId, engine::Engine, store::DocumentChunk, sync::worker::DocumentStore};

/// Reads the chunks of documents from the engine's store.
pub struct EngineDocumentStore(Arc<Engine>);

impl EngineDocumentStore {
    pub fn new(engine: Arc<Engine>) -> Self {
        Self(engine)
    }
}

impl DocumentStore for EngineDocumentStore {
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
