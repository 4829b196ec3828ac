//! Counts the writes that are in progress.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use super::Engine;

/// The number of writes in progress above which a write with a waiting client is compared by the rules alone; the
/// background compares it with the models later. Two cores embed about as many texts a second as ten busy agents ask
/// questions, so the models of their writes would slow down every question (`ergo-bench agents`).
const MOST_WRITES_WITH_MODELS: usize = 5;

/// The writes that have begun and not ended.
#[derive(Debug, Default)]
pub(super) struct WritesInProgress {
    count: AtomicUsize,
    /// When there were last more than [`MOST_WRITES_WITH_MODELS`].
    crowded_at: Mutex<Option<Instant>>,
}

/// A write in progress; it ends when this is dropped.
pub(super) struct WriteInProgress<'a>(&'a WritesInProgress);

impl WritesInProgress {
    /// Counts a write until the result is dropped.
    pub(super) fn begin(&self) -> WriteInProgress<'_> {
        if self.count.fetch_add(1, Ordering::Relaxed) >= MOST_WRITES_WITH_MODELS {
            *self.crowded_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
        WriteInProgress(self)
    }

    /// Whether so many clients write that the models are left to questions.
    pub(super) fn are_crowded(&self) -> bool {
        self.count.load(Ordering::Relaxed) > MOST_WRITES_WITH_MODELS
    }
}

impl Engine {
    /// Whether so many clients wrote at once, at most this long ago, that the models were left to questions.
    pub fn was_crowded(&self, within: Duration) -> bool {
        let at = *self.writes_in_progress.crowded_at.lock().unwrap_or_else(PoisonError::into_inner);
        at.is_some_and(|at| at.elapsed() < within)
    }
}

impl Drop for WriteInProgress<'_> {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use ed25519_dalek::SigningKey;

    use super::MOST_WRITES_WITH_MODELS;
    use crate::{
        api::{Caller, RememberRequest, WriteOutcome},
        domain::ClaimKind,
        engine::{Engine, EngineConfig},
        infer::FakeModels,
    };

    #[test]
    fn a_write_beside_many_others_is_compared_by_the_rules_alone() {
        let folder = tempfile::tempdir().unwrap();
        let mut config = EngineConfig::new(folder.path().join("store.db"), SigningKey::from_bytes(&[7; 32]));
        config.models = Arc::new(FakeModels::new().embedding(|text| Ok(FakeModels::bag_of_words(text))));
        let engine = Engine::open(config).unwrap();
        let caller = Caller { org_id: "acme".into(), project: "api".into(), who: "jane".into(), ..Caller::default() };
        let is_skipped = |statement: &str| {
            let request = RememberRequest {
                caller: caller.clone(),
                kind: Some(ClaimKind::Decision),
                statement: statement.into(),
                reason: Some("nobody can swap one".into()),
                ..RememberRequest::default()
            };
            let WriteOutcome::Stored(stored) = engine.remember(request).unwrap() else { panic!("{statement}") };
            stored.warnings.iter().any(|warning| warning.code == "stage_skipped")
        };
        let minute = Duration::from_mins(1);
        let mut others: Vec<_> = (1..MOST_WRITES_WITH_MODELS).map(|_| engine.writes_in_progress.begin()).collect();
        assert!(!is_skipped("Tags are signed") && !engine.was_crowded(minute));
        others.push(engine.writes_in_progress.begin());
        assert!(is_skipped("Backups are encrypted"));
        assert_eq!(engine.fill_vectors().unwrap(), 1, "the background computes the vector");
        drop(others);
        assert!(engine.was_crowded(minute) && !engine.was_crowded(Duration::ZERO));
        assert!(!is_skipped("Logs are kept for a month"));
    }
}
