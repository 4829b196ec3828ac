//! The Models screen: the model of each role, the progress of vectors, and the state of the daemon.

use crate::api::{Diagnose, IngestedFiles, Reembedded};

/// How often the daemon is asked again while vectors are being made, in milliseconds.
pub const PULSE_MS: u64 = 1_000;

/// The screen.
#[derive(Clone, Debug, Default)]
pub struct ModelsState {
    /// The daemon's last answer; `None` before the first one.
    pub diagnose: Option<Box<Diagnose>>,
    /// When that was, in milliseconds since the Unix epoch.
    pub at: u64,
    /// When the last request failed, if it was later; in milliseconds since the Unix epoch.
    failed_at: u64,
    /// The first line shown.
    pub scroll: usize,
    /// Why it could not be read.
    pub error: Option<String>,
    /// The files of the scope shown that were ingested; `None` before they were read.
    pub files: Option<IngestedFiles>,
    /// The most texts that waited for their vectors since none did: what a bar is drawn against.
    pub most_waiting: usize,
    /// The vectors are being made anew by this app: how far they are.
    pub reembed: Option<Reembedded>,
}

impl ModelsState {
    /// Takes what the daemon says of itself at a time.
    pub fn accept(&mut self, diagnose: Box<Diagnose>, now: u64) {
        let waiting = diagnose.unembedded.claims + diagnose.unembedded.chunks;
        self.most_waiting = if waiting == 0 { 0 } else { self.most_waiting.max(waiting) };
        (self.diagnose, self.at, self.error) = (Some(diagnose), now, None);
    }

    /// Takes note at a time that the daemon did not answer.
    pub fn failed(&mut self, error: String, now: u64) {
        (self.error, self.failed_at) = (Some(error), now);
    }

    /// How many texts wait for their vectors.
    pub fn waiting(&self) -> usize {
        self.diagnose.as_ref().map_or(0, |diagnose| diagnose.unembedded.claims + diagnose.unembedded.chunks)
    }

    /// When the daemon should be asked again without anything happening; `None` if nothing is under way.
    pub fn again_at(&self) -> Option<u64> {
        let stuck = self
            .diagnose
            .as_ref()
            .is_some_and(|diagnose| diagnose.unembedded.off || diagnose.unembedded.problem.is_some());
        (self.waiting() > 0 && !stuck).then_some(self.at.max(self.failed_at) + PULSE_MS)
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
        assert_eq!(accepted(40, None), (40, Some(50 + PULSE_MS)));
        assert_eq!(accepted(10, None), (40, Some(50 + PULSE_MS)), "the bar is drawn against the most");
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
        assert_eq!(models.again_at(), Some(9_000 + PULSE_MS));
        models.accept(Box::new(one), 12_000);
        assert_eq!(models.again_at(), Some(12_000 + PULSE_MS));
    }
}
