//! What the daemon does when nobody waits: vectors for claims that have none yet, and the deep stage.

use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::Engine;
use crate::{
    api::ApiError,
    domain::ClaimId,
    infer::{Call, InferError, Role},
    store::StoreError,
};

/// Claims that are embedded in one go: a few hundred milliseconds of one core.
const BATCH: usize = 16;

/// How long nobody waits.
const PATIENCE: Duration = Duration::from_mins(1);

/// The most claims without a vector that are read to find some which the embedder takes.
const MOST_READ: usize = 4096;

/// Claims whose text the embedder refused: they are found by their words, and asked about again by the next daemon.
#[derive(Debug, Default)]
pub(super) struct Unembeddable(Mutex<HashSet<ClaimId>>);

impl Unembeddable {
    fn lock(&self) -> MutexGuard<'_, HashSet<ClaimId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What became of a few claims that were to be embedded.
enum Fate {
    /// So many got a vector.
    Stored(usize),
    /// One of their texts, or its vector, is refused.
    Refused(String),
    /// The embedder or the store cannot at present.
    Failed(String),
}

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
        loop {
            let refused = self.unembeddable.lock().clone();
            let most = (BATCH + refused.len()).min(MOST_READ);
            let mut waiting = self.readers.lend().claims_without_vector(most)?;
            waiting.retain(|(id, _)| !refused.contains(id));
            waiting.truncate(BATCH);
            let stored = self.embed_claims(&waiting);
            // Where all of these were refused, others may wait behind them.
            if stored > 0 || self.unembeddable.lock().len() == refused.len() {
                return Ok(stored);
            }
        }
    }

    /// Embeds claims together, and where one of them is refused each by itself. Answers how many got a vector.
    fn embed_claims(&self, claims: &[(ClaimId, String)]) -> usize {
        match self.try_embed(claims) {
            Fate::Stored(stored) => stored,
            Fate::Refused(why) => match claims {
                [] => 0,
                [(id, _)] => {
                    tracing::warn!(why, claim = %id.short(), "a claim stays without a vector");
                    self.unembeddable.lock().insert(*id);
                    0
                }
                several => several.chunks(1).map(|one| self.embed_claims(one)).sum(),
            },
            Fate::Failed(why) => {
                tracing::warn!(why, "claims are without a vector");
                0
            }
        }
    }

    fn try_embed(&self, claims: &[(ClaimId, String)]) -> Fate {
        if claims.is_empty() {
            return Fate::Stored(0);
        }
        let texts: Vec<String> = claims.iter().map(|(_, statement)| statement.clone()).collect();
        let vectors = match self.models.embed(&texts, Call::background(PATIENCE)) {
            Ok(vectors) if vectors.len() == texts.len() => vectors,
            Ok(vectors) => return Fate::Failed(format!("{} vectors for {} texts", vectors.len(), texts.len())),
            Err(InferError::NoModel { .. }) => return Fate::Stored(0),
            Err(InferError::Refused(why)) => return Fate::Refused(why),
            Err(error) => return Fate::Failed(error.to_string()),
        };
        let model = self.vector_model(vectors.first().map_or(0, Vec::len));
        let named: Vec<_> = claims.iter().map(|(id, _)| *id).zip(vectors).collect();
        match self.write_vectors(&model, &named) {
            Ok(stored) => Fate::Stored(stored),
            Err(error @ StoreError::BadVector(_)) => Fate::Refused(error.to_string()),
            Err(error) => Fate::Failed(error.to_string()),
        }
    }
}
