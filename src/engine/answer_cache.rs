//! Caches the latest answers of the small models, because the same pairs recur: the deep stage compares new claims
//! again, a refused write returns with what it supersedes, and a dry run is followed by the write.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, PoisonError},
};

use super::{Engine, model_results::Embedding};
use crate::{
    guard::Inference,
    infer::{Call, InferError, ModelRole},
};

/// The greatest number of cached answers of each kind: those of the last hundred writes, less than a megabyte.
const MAX_ANSWERS: usize = 512;

/// The hash of a text or pair and of the model that was asked about it.
type Key = blake3::Hash;

/// The latest answers of the small models.
#[derive(Default)]
pub(super) struct AnswerCache {
    vectors: BoundedCache<Embedding>,
    inferences: BoundedCache<Inference>,
}

/// The latest answers of one kind; a new one replaces the oldest.
struct BoundedCache<T>(Mutex<(HashMap<Key, T>, VecDeque<Key>)>);

impl<T> Default for BoundedCache<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> BoundedCache<T> {
    fn get(&self, key: &Key) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0.get(key).cloned()
    }

    fn put(&self, key: Key, answer: T) {
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (answers, order) = &mut *latest;
        if answers.insert(key, answer).is_some() {
            return;
        }
        order.push_back(key);
        if order.len() > MAX_ANSWERS
            && let Some(oldest) = order.pop_front()
        {
            answers.remove(&oldest);
        }
    }
}

impl Engine {
    /// Returns the vector of a statement, from the cache or the embedder.
    pub(super) fn vector(&self, statement: &str, call: Call) -> Result<Embedding, InferError> {
        let key = self.key(ModelRole::Embedder, &[statement]);
        if let Some(vector) = self.answer_cache.vectors.get(&key) {
            return Ok(vector);
        }
        let vector = self.embed(statement, call)?;
        self.answer_cache.vectors.put(key, vector.clone());
        Ok(vector)
    }

    /// Returns the cross-encoder's inferences for pairs (stored, incoming), in both orders if the first one does not
    /// decide.
    pub(super) fn inferences(&self, pairs: &[(&str, &str)], call: Call) -> Result<Vec<Inference>, InferError> {
        let cache = &self.answer_cache.inferences;
        cached_or_asked(
            pairs,
            |pair| self.known_inference(pair),
            |pair, inference| cache.put(self.pair_key(pair), in_cached_order(pair, inference)),
            |new| self.infer(new, &[], call),
        )
    }

    /// Returns the cross-encoder's inferences for pairs (stored, incoming) in that order only.
    pub(super) fn inferences_in_one_order(
        &self,
        pairs: &[(&str, &str)],
        call: Call,
    ) -> Result<Vec<Inference>, InferError> {
        let cache = &self.answer_cache.inferences;
        let key = |pair: &(&str, &str)| self.key(ModelRole::Nli, &[pair.0, pair.1, "one way"]);
        cached_or_asked(
            pairs,
            |pair| cache.get(&key(pair)).or_else(|| self.known_inference(pair)),
            |pair, inference| cache.put(key(pair), inference),
            |new| self.infer(&[], new, call),
        )
    }

    fn known_inference(&self, pair: &(&str, &str)) -> Option<Inference> {
        Some(in_cached_order(pair, self.answer_cache.inferences.get(&self.pair_key(pair))?))
    }

    /// Returns the key of a pair, which is also that of the reversed pair: its inference is the same one, reversed. If
    /// one order decided, it stands for both.
    fn pair_key(&self, pair: &(&str, &str)) -> Key {
        let texts = if is_reversed_in_cache(pair) { [pair.1, pair.0] } else { [pair.0, pair.1] };
        self.key(ModelRole::Nli, &texts)
    }

    fn key(&self, role: ModelRole, texts: &[&str]) -> Key {
        let info = self.models.info();
        let (name, hash) = info.role(role).map_or(("", ""), |role| (&*role.name, &*role.sha256));
        let mut hasher = blake3::Hasher::new();
        for part in [name, hash].iter().chain(texts) {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        hasher.finalize()
    }
}

/// Returns one inference for each pair: cached ones, and for the others those that `ask` returns for all of them
/// together.
fn cached_or_asked<'p>(
    pairs: &[(&'p str, &'p str)],
    known: impl Fn(&(&'p str, &'p str)) -> Option<Inference>,
    keep: impl Fn(&(&'p str, &'p str), Inference),
    ask: impl FnOnce(&[(&'p str, &'p str)]) -> Result<Vec<Inference>, InferError>,
) -> Result<Vec<Inference>, InferError> {
    let known: Vec<Option<Inference>> = pairs.iter().map(known).collect();
    let new: Vec<_> = pairs.iter().zip(&known).filter(|(_, known)| known.is_none()).map(|(pair, _)| *pair).collect();
    let mut fresh = if new.is_empty() { Vec::new() } else { ask(&new)? }.into_iter();
    let mut inferences = Vec::with_capacity(pairs.len());
    for (pair, known) in pairs.iter().zip(known) {
        let Some(inference) = known.or_else(|| fresh.next()) else { break };
        keep(pair, inference);
        inferences.push(inference);
    }
    Ok(inferences)
}

/// Whether a pair is cached in the reverse order.
fn is_reversed_in_cache((stored, incoming): &(&str, &str)) -> bool {
    stored > incoming
}

/// Converts an inference between the order of the pair and the order in the cache, in either direction.
fn in_cached_order(pair: &(&str, &str), inference: Inference) -> Inference {
    if is_reversed_in_cache(pair) { inference.turned() } else { inference }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_answers_go() {
        let latest = BoundedCache::default();
        let key = |n: usize| blake3::hash(&n.to_le_bytes());
        for n in 0..MAX_ANSWERS + 10 {
            latest.put(key(n), n);
            latest.put(key(n), n);
        }
        assert_eq!(
            (latest.get(&key(9)), latest.get(&key(10)), latest.get(&key(MAX_ANSWERS + 9))),
            (None, Some(10), Some(MAX_ANSWERS + 9))
        );
        assert_eq!(latest.0.lock().unwrap().1.len(), MAX_ANSWERS);
    }
}
