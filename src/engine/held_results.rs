//! Caches the model results of writes that wait for verdicts, so that the models are not asked again when somebody
//! answers.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::model_results::ModelResults;
use crate::domain::CardId;

/// The greatest number of cached results; the latest writes stay. A choice: an agent answers in seconds, and few write
/// at once.
const MAX_WRITES: usize = 32;

/// The results of the latest held writes, by their cards.
#[derive(Debug, Default)]
pub(super) struct HeldResults(Mutex<VecDeque<(CardId, ModelResults)>>);

impl HeldResults {
    pub(super) fn keep(&self, card: CardId, results: ModelResults) {
        let mut kept = self.lock();
        if kept.len() >= MAX_WRITES {
            kept.pop_front();
        }
        kept.push_back((card, results));
    }

    /// Returns the results of a held write, if they are still cached.
    pub(super) fn get(&self, card: &CardId) -> Option<ModelResults> {
        self.lock().iter().find(|(of, _)| of == card).map(|(_, results)| results.clone())
    }

    /// Removes the results of a write whose question was answered.
    pub(super) fn remove(&self, card: &CardId) {
        self.lock().retain(|(of, _)| of != card);
    }

    /// Removes all results, because a text was redacted and one of them may contain it.
    pub(super) fn forget(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(CardId, ModelResults)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_kept_until_they_are_removed() {
        let results = HeldResults::default();
        let card = |n: usize| CardId([n as u8; 32]);
        for n in 0..=MAX_WRITES {
            results.keep(card(n), ModelResults::default());
        }
        assert!(results.get(&card(0)).is_none());
        assert!(results.get(&card(1)).is_some() && results.get(&card(1)).is_some());
        results.remove(&card(1));
        assert!(results.get(&card(1)).is_none() && results.get(&card(2)).is_some());
        results.forget();
        assert!(results.get(&card(2)).is_none());
    }
}
