//! Caches the latest answers of the small models, because the same pairs come again: the deep stage reads new claims,
//! a refused write returns with what it supersedes, and a dry run is followed by the write.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, PoisonError},
};

use super::{Engine, model_results::Embedding};
use crate::{
    guard::Inference,
    infer::{Call, InferError, ModelRole},
};

/// Answers that are kept, of each sort: those of the last hundred writes, less than a megabyte.
const MOST: usize = 512;

/// A text or pair, and the model that was asked about it.
type Key = blake3::Hash;

/// The latest answers of the small models.
#[derive(Default)]
pub(super) struct AnswerCache {
    vectors: BoundedCache<Embedding>,
    inferences: BoundedCache<Inference>,
}

/// The latest answers of one sort; a new one takes the place of the oldest.
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
        if order.len() > MOST
            && let Some(oldest) = order.pop_front()
        {
            answers.remove(&oldest);
        }
    }
}

impl Engine {
    /// A statement as a vector.
    pub(super) fn vector(&self, statement: &str, call: Call) -> Result<Embedding, InferError> {
        let key = self.key(ModelRole::Embedder, &[statement]);
        if let Some(vector) = self.answer_cache.vectors.get(&key) {
            return Ok(vector);
        }
        let vector = self.embed(statement, call)?;
        self.answer_cache.vectors.put(key, vector.clone());
        Ok(vector)
    }

    /// What the cross-encoder says of pairs (stored, incoming), in both orders where the first leaves it open.
    pub(super) fn inferences(&self, pairs: &[(&str, &str)], call: Call) -> Result<Vec<Inference>, InferError> {
        let cache = &self.answer_cache.inferences;
        known_or_asked(
            pairs,
            |pair| self.known_inference(pair),
            |pair, inference| cache.put(self.pair_key(pair), turned(pair, inference)),
            |new| self.infer(new, &[], call),
        )
    }

    /// What it says of pairs (stored, incoming) in that order alone.
    pub(super) fn inferences_in_one_order(
        &self,
        pairs: &[(&str, &str)],
        call: Call,
    ) -> Result<Vec<Inference>, InferError> {
        let cache = &self.answer_cache.inferences;
        let key = |pair: &(&str, &str)| self.key(ModelRole::Nli, &[pair.0, pair.1, "one way"]);
        known_or_asked(
            pairs,
            |pair| cache.get(&key(pair)).or_else(|| self.known_inference(pair)),
            |pair, inference| cache.put(key(pair), inference),
            |new| self.infer(&[], new, call),
        )
    }

    fn known_inference(&self, pair: &(&str, &str)) -> Option<Inference> {
        Some(turned(pair, self.answer_cache.inferences.get(&self.pair_key(pair))?))
    }

    /// The key of a pair and of its reverse: the answer about one is that about the other, turned. Where one order decided, it stands for both.
    fn pair_key(&self, pair: &(&str, &str)) -> Key {
        let texts = if is_turned(pair) { [pair.1, pair.0] } else { [pair.0, pair.1] };
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

/// One answer for each pair: what is known, and of the others what `ask` says of them together.
fn known_or_asked<'p>(
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

/// Whether a pair is kept in the other order.
fn is_turned((stored, incoming): &(&str, &str)) -> bool {
    stored > incoming
}

/// The answer about a pair as it is kept, or one that is kept as the pair has it.
fn turned(pair: &(&str, &str), inference: Inference) -> Inference {
    if is_turned(pair) { inference.turned() } else { inference }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_answers_go() {
        let latest = BoundedCache::default();
        let key = |n: usize| blake3::hash(&n.to_le_bytes());
        for n in 0..MOST + 10 {
            latest.put(key(n), n);
            latest.put(key(n), n);
        }
        assert_eq!(
            (latest.get(&key(9)), latest.get(&key(10)), latest.get(&key(MOST + 9))),
            (None, Some(10), Some(MOST + 9))
        );
        assert_eq!(latest.0.lock().unwrap().1.len(), MOST);
    }
}
