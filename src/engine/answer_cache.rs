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

    /// What the cross-encoder says of pairs (stored, incoming): of `pairs` in both orders where the first leaves it open, of `one_way` in one
    /// order. Those that are new are asked together.
    pub(super) fn inferences(
        &self,
        pairs: &[(&str, &str)],
        one_way: &[(&str, &str)],
        call: Call,
    ) -> Result<(Vec<Inference>, Vec<Inference>), InferError> {
        // The answer about a pair is that about its reverse, turned. Where one order decided, it stands for both.
        let turned = |(stored, incoming): &(&str, &str)| stored > incoming;
        let key = |pair: &(&str, &str)| {
            let texts = if turned(pair) { [pair.1, pair.0] } else { [pair.0, pair.1] };
            self.key(ModelRole::Nli, &texts)
        };
        let turn = |inference: Inference, turned: bool| if turned { inference.turned() } else { inference };
        let one_way_key = |pair: &(&str, &str)| self.key(ModelRole::Nli, &[pair.0, pair.1, "one way"]);
        let cache = &self.answer_cache.inferences;
        let known: Vec<_> = pairs.iter().map(|pair| Some(turn(cache.get(&key(pair))?, turned(pair)))).collect();
        let known_one_way: Vec<_> =
            one_way.iter().map(|pair| cache.get(&one_way_key(pair)).or_else(|| cache.get(&key(pair)))).collect();
        let new = |pairs: &[(&'_ str, &'_ str)], known: &[Option<Inference>]| -> Vec<usize> {
            (0..pairs.len()).filter(|at| known[*at].is_none()).collect()
        };
        let (asked, asked_one_way) = (new(pairs, &known), new(one_way, &known_one_way));
        let mut fresh = if asked.is_empty() && asked_one_way.is_empty() {
            Vec::new()
        } else {
            let texts: Vec<_> = asked.iter().map(|at| pairs[*at]).collect();
            let texts_one_way: Vec<_> = asked_one_way.iter().map(|at| one_way[*at]).collect();
            self.infer(&texts, &texts_one_way, call)?
        }
        .into_iter();
        let mut judged = Vec::with_capacity(pairs.len());
        for (pair, known) in pairs.iter().zip(known) {
            let Some(inference) = known.or_else(|| fresh.next()) else { break };
            cache.put(key(pair), turn(inference, turned(pair)));
            judged.push(inference);
        }
        let mut gated = Vec::with_capacity(one_way.len());
        for (pair, known) in one_way.iter().zip(known_one_way) {
            let Some(inference) = known.or_else(|| fresh.next()) else { break };
            cache.put(one_way_key(pair), inference);
            gated.push(inference);
        }
        Ok((judged, gated))
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
