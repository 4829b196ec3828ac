//! What the daemon does when nobody waits: vectors for claims that have none yet, and the deep stage.

use std::time::Duration;

use super::Engine;
use crate::{
    api::ApiError,
    infer::{Call, InferError, Role},
};

/// Claims that are embedded in one go: a few hundred milliseconds of one core.
const BATCH: usize = 16;

/// How long nobody waits.
const PATIENCE: Duration = Duration::from_mins(1);

impl Engine {
    /// Embeds a few claims that have no vector yet: after an import, or where the embedder failed. Answers how many got one; 0 is:
    /// there is nothing to do.
    ///
    /// # Errors
    /// Where the store cannot be read or written. That the model fails, or that the store's vectors are of another one, is no error: it
    /// is logged, and there is nothing to do.
    pub fn fill_vectors(&self) -> Result<usize, ApiError> {
        if self.models.info().role(Role::Embedder).is_none() {
            return Ok(0);
        }
        let waiting = self.readers.lend().claims_without_vector(BATCH)?;
        if waiting.is_empty() {
            return Ok(0);
        }
        let texts: Vec<String> = waiting.iter().map(|(_, statement)| statement.clone()).collect();
        let vectors = match self.models.embed(&texts, Call::background(PATIENCE)) {
            Ok(vectors) if vectors.len() == texts.len() => vectors,
            Ok(vectors) => {
                tracing::warn!(texts = texts.len(), vectors = vectors.len(), "the embedder left texts out");
                return Ok(0);
            }
            Err(InferError::NoModel { .. }) => return Ok(0),
            Err(error) => {
                tracing::warn!(%error, "claims are without a vector");
                return Ok(0);
            }
        };
        let model = self.vector_model(vectors.first().map_or(0, Vec::len));
        let named: Vec<_> = waiting.into_iter().map(|(id, _)| id).zip(vectors).collect();
        match self.write_vectors(&model, &named) {
            Ok(stored) => Ok(stored),
            Err(error) => {
                tracing::warn!(%error, "vectors could not be stored");
                Ok(0)
            }
        }
    }
}
