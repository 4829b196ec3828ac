//! Background work of the engine: missing vectors, and the deep stage.

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
    store::{Reader, Store, StoreError, VectorModel},
};

/// Claims that are embedded in one go: a few hundred milliseconds of one core.
const BATCH: usize = 16;

/// Chunks that are embedded in one go: they are longer, and a question waits for what is at work.
const CHUNK_BATCH: usize = 4;

/// Claims that are embedded with their reasons between two writes of what came out.
const REASONS: usize = 8;

/// How long nobody waits.
const PATIENCE: Duration = Duration::from_mins(1);

/// The most claims without a vector that are read to find some which the embedder takes.
const MOST_READ: usize = 4096;

/// Claims whose text the embedder refused: they are found by their words, and asked about again by the next daemon.
#[derive(Debug, Default)]
pub(super) struct Unembeddable {
    refused: Mutex<HashSet<EventId>>,
    /// Why nothing could be embedded the last time that it was tried.
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

/// Puts vectors where they belong; returns how many found their place.
type Write<'a> = dyn Fn(&VectorModel, &[(EventId, Vec<f32>)]) -> Result<usize, StoreError> + 'a;

/// What became of a few claims that were to be embedded.
enum EmbedResult {
    /// So many got a vector.
    Stored(usize),
    /// One of their texts, or its vector, is refused.
    Refused(String),
    /// The embedder or the store cannot at present.
    Failed(String),
}

/// What became of the claims that wait for a vector.
enum ClaimVectors {
    /// So many got one; there may be more.
    Stored(usize),
    /// None waits that the embedder takes.
    NoneLeft,
    /// There is no embedder, or it cannot at present.
    Failed,
}

impl Engine {
    /// Embeds a few claims that have no vector yet: after an import, or if the embedder failed. Returns how many got one; 0 is:
    /// there is nothing to do.
    ///
    /// # Errors
    /// If the store cannot be read or written. That the model fails, or that the store's vectors are of another one, is no error: it
    /// is logged, and there is nothing to do.
    pub fn fill_vectors(&self) -> Result<usize, ApiError> {
        match self.fill_claim_vectors()? {
            ClaimVectors::Stored(stored) => Ok(stored),
            ClaimVectors::Failed => Ok(0),
            ClaimVectors::NoneLeft => self.fill_chunk_vectors(),
        }
    }

    /// [`Engine::fill_vectors`] until no claim waits that the embedder takes: chunks of files stay for the background.
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
            let most = (BATCH + refused.len()).min(MOST_READ);
            let mut waiting = self.readers.lend().claims_without_vector(most)?;
            waiting.retain(|(id, _)| !refused.contains(id));
            waiting.truncate(BATCH);
            let stored = self.embed_each(&waiting, &|model, vectors| self.write_vectors(model, vectors));
            if stored > 0 {
                return Ok(ClaimVectors::Stored(stored));
            }
            // Where all of these were refused, others may wait behind them.
            if self.unembeddable.lock().len() == refused.len() {
                return Ok(if waiting.is_empty() { ClaimVectors::NoneLeft } else { ClaimVectors::Failed });
            }
        }
    }

    /// Embeds a few reference chunks that have no vector yet; claims go first.
    fn fill_chunk_vectors(&self) -> Result<usize, ApiError> {
        let refused = self.unembeddable.lock().clone();
        let most = (CHUNK_BATCH + refused.len()).min(MOST_READ);
        let mut waiting = self.readers.lend().chunks_without_vector(most)?;
        waiting.retain(|(id, _)| !refused.contains(id));
        waiting.truncate(CHUNK_BATCH);
        if waiting.is_empty() {
            self.unembeddable.note(None);
        }
        Ok(self.embed_each(&waiting, &|model, vectors| self.write_chunk_vectors(model, vectors)))
    }

    /// Embeds a few claims together with their reasons, if that was not done: one after the other, since a question or a write waits for what is at
    /// work. It is for when nothing changes. Returns whether it did anything.
    ///
    /// # Errors
    /// If the store cannot be read or written. That the model fails is none: it is asked again the next time.
    pub fn fill_reasons(&self) -> Result<bool, ApiError> {
        if !self.reasons_wait() {
            return Ok(false);
        }
        let looked = self.write(|store| store.look_at_reasons(REASONS))?;
        let (mut made, mut dimension) = (Vec::with_capacity(looked.waiting.len()), 0);
        for (id, text) in looked.waiting {
            let vector = match self.models.embed(&[text], Call::background(PATIENCE)) {
                // One without a direction is as good as refused.
                Ok(vectors) => vectors.into_iter().next().filter(|vector| vector.iter().any(|x| *x != 0.0)),
                Err(InferError::Refused(_)) => None,
                Err(_) => break,
            };
            dimension = vector.as_ref().map_or(dimension, Vec::len);
            made.push((id, vector));
        }
        if made.is_empty() {
            return Ok(looked.done > 0);
        }
        let model = self.vector_model(dimension);
        match self.write(|store| store.put_reason_vectors(&model, &made)) {
            Ok(_) => Ok(true),
            Err(StoreError::VectorModel { .. }) => Ok(looked.done > 0),
            Err(error) => Err(error.into()),
        }
    }

    fn write<T>(&self, act: impl FnOnce(&mut Store) -> Result<T, StoreError>) -> Result<T, StoreError> {
        act(&mut self.writer.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether [`Engine::fill_reasons`] has something to do.
    pub fn reasons_wait(&self) -> bool {
        let waits = || {
            let reader = self.readers.lend();
            // With another embedder than the store's there is nothing to do but `reembed`, which is asked for elsewhere.
            let ours = reader.vector_model()?.is_some_and(|model| model.name == self.vector_model(0).name);
            Ok::<_, StoreError>(ours && reader.reasons_wait()?)
        };
        self.models.info().role(ModelRole::Embedder).is_some() && waits().unwrap_or(false)
    }

    /// Whether something waits for a vector since the embedder failed the last time.
    pub fn embedder_failed(&self) -> bool {
        self.unembeddable.problem.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// What waits for its vector.
    pub(super) fn unembedded(&self, reader: &Reader) -> Result<Unembedded, ApiError> {
        let (claims, chunks) = reader.without_vector()?;
        let known = self.unembeddable.problem.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // One is built in, and serves where another cannot: none is there by choice alone.
        let off = self.models.info().role(ModelRole::Embedder).is_none();
        let problem = known.filter(|_| !off && claims + chunks > 0);
        Ok(Unembedded { claims, chunks, problem, off })
    }

    /// Embeds texts together, and if one of them is refused each by itself. Returns how many got a vector.
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
        let vectors = match self.models.embed(&texts, Call::background(PATIENCE)) {
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
            Err(error @ StoreError::BadVector(_)) => EmbedResult::Refused(error.to_string()),
            Err(error) => EmbedResult::Failed(error.to_string()),
        }
    }
}
