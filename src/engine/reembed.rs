//! `reembed`: computes vectors of the current embedder, in steps, so that it can be interrupted and its progress
//! shown; then they replace those of the old one.

use std::{sync::PoisonError, time::Duration};

use super::Engine;
use crate::{
    api::{ApiError, ErrorCode, Reembedded},
    infer::{Call, InferError, ModelRole},
    store::PendingText,
};

/// Texts of one step: about a second of one core.
const STEP: usize = 64;

/// How long a step waits for the embedder.
const PATIENCE: Duration = Duration::from_mins(2);

/// A text and its new vector; none if the embedder refuses it.
type Made = (PendingText, Option<Vec<f32>>);

impl Engine {
    /// Makes a few vectors of the present embedder; when all are there they take the place of the old ones. Call it until it says that it is finished.
    ///
    /// # Errors
    /// `bad_request` if no embedder is chosen; `unavailable` if it fails: what was made stays, and the next call goes on.
    pub fn reembed(&self) -> Result<Reembedded, ApiError> {
        let name = self.models.info().role(ModelRole::Embedder).map(|role| role.name.clone());
        let name = name.ok_or_else(|| {
            ApiError::new(ErrorCode::BadRequest, "no embedder is chosen, so there are no vectors to compute").hint(
                "`ergo models use embedder default` chooses the built-in one; if config.toml says `embedder = \
                    \"none\"`, remove that line first",
            )
        })?;
        // Which length its vectors have is known from one.
        let probe = self.models.embed(&["probe".to_owned()], Call::foreground(PATIENCE));
        let dimension = probe.map_err(|error| unavailable(&error))?.first().map_or(0, Vec::len);
        let model = self.vector_model(dimension);
        let begun = self.writer.lock().unwrap_or_else(PoisonError::into_inner).begin_reembedding(&model)?;
        if begun {
            let waiting = self.readers.lend().waiting_for_reembedding(STEP)?;
            let made = self.embed_waiting(waiting)?;
            let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
            writer.put_reembedded(&model, &made)?;
            writer.finish_reembedding()?;
        }
        let state = self.readers.lend().reembedding()?;
        Ok(Reembedded { model: name, done: state.done, total: state.total, finished: state.finished })
    }

    fn embed_waiting(&self, waiting: Vec<PendingText>) -> Result<Vec<Made>, ApiError> {
        let texts: Vec<String> = waiting.iter().map(|waiting| waiting.text.clone()).collect();
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        match self.models.embed(&texts, Call::background(PATIENCE)) {
            Ok(vectors) if vectors.len() == texts.len() => {
                Ok(waiting.into_iter().zip(vectors.into_iter().map(Some)).collect())
            }
            Ok(vectors) => {
                let message = format!("the embedder gave {} vectors for {} texts", vectors.len(), texts.len());
                Err(ApiError::new(ErrorCode::Unavailable, message))
            }
            // One of them is refused: each by itself, and the refused one is found by its words.
            Err(InferError::Refused(_)) => waiting
                .into_iter()
                .map(|waiting| {
                    match self.models.embed(std::slice::from_ref(&waiting.text), Call::background(PATIENCE)) {
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
