//! Background work of the engine: computes missing vectors.

use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::Engine;
use crate::{
    api::{ApiError, Unembedded},
    domain::EventId,
    infer::{Call, InferError, ModelRole},
    store::{Reader, StoreError, VectorModel},
};

/// Claims that are embedded in one call: a few hundred milliseconds of one core.
const CLAIM_BATCH: usize = 16;

/// Chunks that are embedded in one call. Fewer than claims: chunks are longer, and a question waits for a running call.
const CHUNK_BATCH: usize = 4;

/// Claims that are embedded with their reasons between two writes of the results.
const REASON_BATCH: usize = 8;

/// The deadline of one call of the embedder. Long, because nobody waits for it.
const EMBED_TIMEOUT: Duration = Duration::from_mins(1);

/// The greatest number of claims without a vector that are read to find some that the embedder accepts.
const MAX_READ: usize = 4096;

/// Claims whose text the embedder refused. They are found by their words only; the next daemon tries them again.
#[derive(Debug, Default)]
pub(super) struct Unembeddable {
    refused: Mutex<HashSet<EventId>>,
    /// Why no vector could be computed at the last attempt.
    problem: Mutex<Option<String>>,
}

impl Unembeddable {
    fn lock(&self) -> MutexGuard<'_, HashSet<EventId>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, problem: Option<String>) {
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = problem;
    }
}

/// Stores vectors, and returns how many were stored.
type Write<'a> = dyn Fn(&VectorModel, &[(EventId, Vec<f32>)]) -> Result<usize, StoreError> + 'a;

/// The result of embedding a few texts.
enum EmbedResult {
    /// The number of stored vectors.
    Stored(usize),
    /// The embedder refuses one of the texts, or the store its vector.
    Refused(String),
    /// The embedder or the store fails at present.
    Failed(String),
}

/// The result of embedding the claims that have no vector.
enum ClaimVectors {
    /// The number of stored vectors; there may be more claims.
    Stored(usize),
    /// No claim without a vector is left that the embedder accepts.
    NoneLeft,
    /// There is no embedder, or it fails at present.
    Failed,
}

impl Engine {
    /// Computes the vectors of a few claims that have none, after an import or a failure of the embedder. Returns how
    /// many were stored; 0 means that there is nothing to do.
    ///
    /// # Errors
    /// Fails only if the store fails. If the model fails, or the store's vectors are of another model, this is logged
    /// and there is nothing to do.
    pub fn fill_vectors(&self) -> Result<usize, ApiError> {
        match self.fill_claim_vectors()? {
            ClaimVectors::Stored(stored) => Ok(stored),
            ClaimVectors::Failed => Ok(0),
            ClaimVectors::NoneLeft => self.fill_chunk_vectors(),
        }
    }

    /// [`Engine::fill_vectors`] until no claim without a vector is left that the embedder accepts. Chunks of files are
    /// left to the background.
    pub(super) fn fill_all_claim_vectors(&self) -> Result<(), ApiError> {
        while let ClaimVectors::Stored(_) = self.fill_claim_vectors()? {}
        Ok(())
    }

    fn fill_claim_vectors(&self) -> Result<ClaimVectors, ApiError> {
        if self.models.info().role(ModelRole::Embedder).is_none() {
            return Ok(ClaimVectors::Failed);
        }
        loop {
            let refused = self.unembeddable.lock().clone();
            let most = (CLAIM_BATCH + refused.len()).min(MAX_READ);
            let mut waiting = self.readers.lend().claims_without_vector(most)?;
            waiting.retain(|(id, _)| !refused.contains(id));
            waiting.truncate(CLAIM_BATCH);
            let stored = self.embed_each(&waiting, &|model, vectors| self.writer().put_vectors(model, vectors));
            if stored > 0 {
                return Ok(ClaimVectors::Stored(stored));
            }
            // If all of these were refused, there may be others after them.
            if self.unembeddable.lock().len() == refused.len() {
                return Ok(if waiting.is_empty() { ClaimVectors::NoneLeft } else { ClaimVectors::Failed });
            }
        }
    }

    /// Computes the vectors of a few chunks of references. Claims take precedence.
    fn fill_chunk_vectors(&self) -> Result<usize, ApiError> {
        let refused = self.unembeddable.lock().clone();
        let most = (CHUNK_BATCH + refused.len()).min(MAX_READ);
        let mut waiting = self.readers.lend().chunks_without_vector(most)?;
        waiting.retain(|(id, _)| !refused.contains(id));
        waiting.truncate(CHUNK_BATCH);
        if waiting.is_empty() {
            self.unembeddable.note(None);
        }
        Ok(self.embed_each(&waiting, &|model, vectors| self.writer().put_chunk_vectors(model, vectors)))
    }

    /// Computes vectors of a few claims together with their reasons, one by one, because a question or a write waits
    /// for a running call. To be called when nothing changes. Returns whether it did anything.
    ///
    /// # Errors
    /// Fails only if the store fails. If the model fails, it is asked again the next time.
    pub fn fill_reasons(&self) -> Result<bool, ApiError> {
        if !self.reasons_wait() {
            return Ok(false);
        }
        let batch = self.writer().look_at_reasons(REASON_BATCH)?;
        let (mut made, mut dimension) = (Vec::with_capacity(batch.waiting.len()), 0);
        for (id, text) in batch.waiting {
            let vector = match self.models.embed(&[text], Call::background(EMBED_TIMEOUT)) {
                // A zero vector has no direction, and counts as refused.
                Ok(vectors) => vectors.into_iter().next().filter(|vector| vector.iter().any(|x| *x != 0.0)),
                Err(InferError::Refused(_)) => None,
                Err(_) => break,
            };
            dimension = vector.as_ref().map_or(dimension, Vec::len);
            made.push((id, vector));
        }
        if made.is_empty() {
            return Ok(batch.done > 0);
        }
        let model = self.vector_model(dimension);
        let stored = self.writer().put_reason_vectors(&model, &made);
        match stored {
            Ok(_) => Ok(true),
            Err(StoreError::VectorModel { .. }) => Ok(batch.done > 0),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether [`Engine::fill_reasons`] has something to do.
    pub fn reasons_wait(&self) -> bool {
        let waits = || {
            let reader = self.readers.lend();
            // If the store's vectors are of another embedder, only `reembed` can help, which a person runs.
            let ours = reader.vector_model()?.is_some_and(|model| model.name == self.vector_model(0).name);
            Ok::<_, StoreError>(ours && reader.reasons_wait()?)
        };
        self.models.info().role(ModelRole::Embedder).is_some() && waits().unwrap_or(false)
    }

    /// Whether texts wait for a vector because the embedder failed at the last attempt.
    pub fn embedder_failed(&self) -> bool {
        self.unembeddable.problem.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Returns the numbers of claims and chunks without a vector, and the reason.
    pub(super) fn unembedded(&self, reader: &Reader) -> Result<Unembedded, ApiError> {
        let (claims, chunks) = reader.without_vector()?;
        let known = self.unembeddable.problem.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // There is a built-in embedder, also used if another one cannot run: having none is a choice.
        let off = self.models.info().role(ModelRole::Embedder).is_none();
        let problem = known.filter(|_| !off && claims + chunks > 0);
        Ok(Unembedded { claims, chunks, problem, off })
    }

    /// Computes the vectors of texts together, or one by one if one of them is refused. Returns how many were stored.
    fn embed_each(&self, claims: &[(EventId, String)], write: &Write<'_>) -> usize {
        match self.try_embed(claims, write) {
            EmbedResult::Stored(stored) => {
                if stored > 0 {
                    self.unembeddable.note(None);
                }
                stored
            }
            EmbedResult::Refused(why) => match claims {
                [] => 0,
                [(id, _)] => {
                    tracing::warn!(why, id = %id.short(), "cannot compute the vector of a text");
                    self.unembeddable.lock().insert(*id);
                    0
                }
                several => several.chunks(1).map(|one| self.embed_each(one, write)).sum(),
            },
            EmbedResult::Failed(why) => {
                tracing::warn!(why, "cannot compute vectors");
                self.unembeddable.note(Some(why));
                0
            }
        }
    }

    fn try_embed(&self, claims: &[(EventId, String)], write: &Write<'_>) -> EmbedResult {
        if claims.is_empty() {
            return EmbedResult::Stored(0);
        }
        let texts: Vec<String> = claims.iter().map(|(_, statement)| statement.clone()).collect();
        let vectors = match self.models.embed(&texts, Call::background(EMBED_TIMEOUT)) {
            Ok(vectors) if vectors.len() == texts.len() => vectors,
            Ok(vectors) => return EmbedResult::Failed(format!("{} vectors for {} texts", vectors.len(), texts.len())),
            Err(InferError::NoModel { .. }) => return EmbedResult::Stored(0),
            Err(InferError::Refused(why)) => return EmbedResult::Refused(why),
            Err(error) => return EmbedResult::Failed(error.to_string()),
        };
        let model = self.vector_model(vectors.first().map_or(0, Vec::len));
        let named: Vec<_> = claims.iter().map(|(id, _)| *id).zip(vectors).collect();
        match write(&model, &named) {
            Ok(stored) => EmbedResult::Stored(stored),
            Err(error @ (StoreError::BadVector(_) | StoreError::BadModel(_))) => {
                EmbedResult::Refused(error.to_string())
            }
            Err(error) => EmbedResult::Failed(error.to_string()),
        }
    }
}
