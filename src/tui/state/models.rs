//! The Models screen: the model of each role, the progress of computing vectors, and the state of the daemon.

use crate::api::{Diagnose, IngestedFiles, Reembedded};

/// How often the daemon is asked for the progress of computing vectors, in milliseconds.
pub const PROGRESS_POLL_MS: u64 = 1_000;

#[derive(Clone, Debug, Default)]
pub struct ModelsState {
    /// The daemon's last answer; `None` before the first one.
    pub diagnose: Option<Box<Diagnose>>,
    /// When that answer arrived, in milliseconds since the Unix epoch.
    pub at: u64,
    /// When the last request failed, in milliseconds since the Unix epoch; 0 if none did. May be before `at`.
    failed_at: u64,
    /// The first visible line.
    pub scroll: usize,
    /// The error message, if reading failed.
    pub error: Option<String>,
    /// The ingested files of the shown scope; `None` before they were read.
    pub files: Option<IngestedFiles>,
    /// The full length of the progress bar: the largest number of texts that waited for their vectors since the number
    /// was last 0.
    pub most_waiting: usize,
    /// The progress of recomputing all vectors, while this app does that.
    pub reembed: Option<Reembedded>,
}

impl ModelsState {
    /// Takes the daemon's answer, which arrived at `now`.
    pub fn accept(&mut self, diagnose: Box<Diagnose>, now: u64) {
        let waiting = diagnose.unembedded.claims + diagnose.unembedded.chunks;
        self.most_waiting = if waiting == 0 { 0 } else { self.most_waiting.max(waiting) };
        (self.diagnose, self.at, self.error) = (Some(diagnose), now, None);
    }

    /// Records that the request failed at `now`.
    pub fn failed(&mut self, error: String, now: u64) {
        (self.error, self.failed_at) = (Some(error), now);
    }

    /// Returns the number of texts that wait for their vectors.
    pub fn waiting(&self) -> usize {
        self.diagnose.as_ref().map_or(0, |diagnose| diagnose.unembedded.claims + diagnose.unembedded.chunks)
    }

    /// Returns when to ask the daemon for the progress again; `None` if no vectors are being computed.
    pub fn again_at(&self) -> Option<u64> {
        let stuck = self
            .diagnose
            .as_ref()
            .is_some_and(|diagnose| diagnose.unembedded.off || diagnose.unembedded.problem.is_some());
        (self.waiting() > 0 && !stuck).then_some(self.at.max(self.failed_at) + PROGRESS_POLL_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::sample::screens::diagnose;

    #[test]
    fn the_daemon_is_asked_again_while_something_is_under_way_and_no_longer() {
        let mut models = ModelsState::default();
        let mut accepted = |claims, problem: Option<&str>| {
            let mut one = diagnose();
            one.unembedded.claims = claims;
            one.unembedded.problem = problem.map(str::to_owned);
            models.accept(Box::new(one), 50);
            (models.most_waiting, models.again_at())
        };
        assert_eq!(accepted(0, None), (0, None));
        assert_eq!(accepted(40, None), (40, Some(50 + PROGRESS_POLL_MS)));
        assert_eq!(accepted(10, None), (40, Some(50 + PROGRESS_POLL_MS)), "the bar is drawn against the most");
        assert_eq!(accepted(10, Some("no embedder")), (40, None), "what is stuck is not asked after");
        assert_eq!(accepted(0, None), (0, None));
        let mut one = diagnose();
        (one.unembedded.claims, one.unembedded.off) = (10, true);
        models.accept(Box::new(one), 50);
        assert_eq!(models.again_at(), None, "nor what nothing is done about");
    }

    #[test]
    fn a_daemon_that_does_not_answer_is_asked_again_after_a_pause() {
        let mut models = ModelsState::default();
        let mut one = diagnose();
        one.unembedded.claims = 40;
        models.accept(Box::new(one.clone()), 50);
        models.failed("it took too long".into(), 9_000);
        assert_eq!(models.again_at(), Some(9_000 + PROGRESS_POLL_MS));
        models.accept(Box::new(one), 12_000);
        assert_eq!(models.again_at(), Some(12_000 + PROGRESS_POLL_MS));
    }
}
