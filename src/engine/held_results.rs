//! What was found about writes that wait for verdicts, so that it is not looked for again when somebody answers.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::model_results::ModelResults;
use crate::domain::CardId;

/// For so many writes it is kept, the latest. A choice: an agent answers in seconds, and few write at once.
const KEPT: usize = 32;

/// The results of the writes that were held last, by their cards.
#[derive(Debug, Default)]
pub(super) struct HeldResults(Mutex<VecDeque<(CardId, ModelResults)>>);

impl HeldResults {
    pub(super) fn keep(&self, card: CardId, results: ModelResults) {
        let mut kept = self.lock();
        if kept.len() >= KEPT {
            kept.pop_front();
        }
        kept.push_back((card, results));
    }

    /// The results of a held write, if they are still kept; they are not kept any longer.
    pub(super) fn take(&self, card: &CardId) -> Option<ModelResults> {
        let mut kept = self.lock();
        let at = kept.iter().position(|(of, _)| of == card)?;
        kept.remove(at).map(|(_, results)| results)
    }

    /// Forgets all of them: one may be of a text that was redacted.
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
    fn the_latest_are_kept_until_they_are_taken() {
        let results = HeldResults::default();
        let card = |n: usize| CardId([n as u8; 32]);
        for n in 0..=KEPT {
            results.keep(card(n), ModelResults::default());
        }
        assert!(results.take(&card(0)).is_none());
        assert!(results.take(&card(1)).is_some() && results.take(&card(1)).is_none());
        results.forget();
        assert!(results.take(&card(2)).is_none());
    }
}
