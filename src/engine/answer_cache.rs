//! The latest answers of the small models, so that they are not asked the same again: the deep stage reads what was just written, a refused write comes
//! again with what it supersedes, and a dry run is followed by the write.

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

    /// What the cross-encoder says of pairs (stored, incoming), both orders of those that are new in one batch.
    pub(super) fn inferences(&self, pairs: &[(&str, &str)], call: Call) -> Result<Vec<Inference>, InferError> {
        // Both orders were asked: the answer about a pair is that about its reverse, turned.
        let keys: Vec<(Key, bool)> = pairs
            .iter()
            .map(|(stored, incoming)| {
                let turned = stored > incoming;
                let texts = if turned { [*incoming, *stored] } else { [*stored, *incoming] };
                (self.key(ModelRole::Nli, &texts), turned)
            })
            .collect();
        let turn = |inference: Inference, turned: bool| if turned { inference.turned() } else { inference };
        let known: Vec<Option<Inference>> =
            keys.iter().map(|(key, turned)| Some(turn(self.answer_cache.inferences.get(key)?, *turned))).collect();
        let asked: Vec<(&str, &str)> =
            pairs.iter().zip(&known).filter(|(_, known)| known.is_none()).map(|(pair, _)| *pair).collect();
        let mut fresh = if asked.is_empty() { Vec::new() } else { self.infer(&asked, call)? }.into_iter();
        let mut out = Vec::with_capacity(pairs.len());
        for ((key, turned), known) in keys.into_iter().zip(known) {
            let Some(inference) = known.or_else(|| fresh.next()) else { break };
            self.answer_cache.inferences.put(key, turn(inference, turned));
            out.push(inference);
        }
        Ok(out)
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
