//! `reembed`: computes the vectors of the current embedder in steps, so that it can be interrupted and show its
//! progress. Complete vectors replace those of the old embedder.

use std::time::Duration;

use super::Engine;
use crate::{
    api::{ApiError, ErrorCode, Reembedded},
    infer::{Call, InferError, ModelRole},
    store::PendingText,
};

/// The number of texts in one step: about a second of one core.
const STEP_TEXTS: usize = 64;

/// The deadline of one call of the embedder.
const EMBED_TIMEOUT: Duration = Duration::from_mins(2);

/// A text and its new vector; `None` if the embedder refuses the text.
type NewVector = (PendingText, Option<Vec<f32>>);

impl Engine {
    /// Computes a few vectors of the current embedder. Once all are there, they replace the old ones. Call it until the
    /// answer says `finished`.
    ///
    /// # Errors
    /// `bad_request` if no embedder is chosen; `unavailable` if it fails: the computed vectors stay, and the next call
    /// continues.
    pub fn reembed(&self) -> Result<Reembedded, ApiError> {
        let name = self.models.info().role(ModelRole::Embedder).map(|role| role.name.clone());
        let name = name.ok_or_else(|| {
            ApiError::new(ErrorCode::BadRequest, "no embedder is chosen, so there are no vectors to compute").hint(
                "`ergo models use embedder default` chooses the built-in one; if config.toml says `embedder = \
                    \"none\"`, remove that line first",
            )
        })?;
        // The length of the model's vectors is learned from a sample.
        let probe = self.models.embed(&["probe".to_owned()], Call::foreground(EMBED_TIMEOUT));
        let dimension = probe.map_err(|error| unavailable(&error))?.first().map_or(0, Vec::len);
        let model = self.vector_model(dimension);
        let begun = self.writer().begin_reembedding(&model)?;
        if begun {
            let waiting = self.readers.lend().waiting_for_reembedding(STEP_TEXTS)?;
            let vectors = self.embed_waiting(waiting)?;
            let mut writer = self.writer();
            writer.put_reembedded(&model, &vectors)?;
            writer.finish_reembedding()?;
        }
        let state = self.readers.lend().reembedding()?;
        Ok(Reembedded { model: name, done: state.done, total: state.total, finished: state.finished })
    }

    fn embed_waiting(&self, waiting: Vec<PendingText>) -> Result<Vec<NewVector>, ApiError> {
        let texts: Vec<String> = waiting.iter().map(|waiting| waiting.text.clone()).collect();
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        match self.models.embed(&texts, Call::background(EMBED_TIMEOUT)) {
            Ok(vectors) if vectors.len() == texts.len() => {
                Ok(waiting.into_iter().zip(vectors.into_iter().map(Some)).collect())
            }
            Ok(vectors) => {
                let message = format!("the embedder gave {} vectors for {} texts", vectors.len(), texts.len());
                Err(ApiError::new(ErrorCode::Unavailable, message))
            }
            // One of the texts is refused: try each alone. The refused one is found by its words only.
            Err(InferError::Refused(_)) => waiting
                .into_iter()
                .map(|waiting| {
                    match self.models.embed(std::slice::from_ref(&waiting.text), Call::background(EMBED_TIMEOUT)) {
                        Ok(vectors) => Ok((waiting, vectors.into_iter().next())),
                        Err(InferError::Refused(_)) => Ok((waiting, None)),
                        Err(error) => Err(unavailable(&error)),
                    }
                })
                .collect(),
            Err(error) => Err(unavailable(&error)),
        }
    }
}

fn unavailable(error: &InferError) -> ApiError {
    ApiError::new(ErrorCode::Unavailable, error.to_string())
        .hint("the vectors computed so far are kept: run `ergo reembed` again to continue")
}
