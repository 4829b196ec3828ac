//! Durations of the stages of a write, for `GET /diagnose`.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use crate::api::Timing;

/// The durations of one stage.
#[derive(Debug, Default)]
pub(super) struct StageTimer {
    count: AtomicU64,
    sum: AtomicU64,
    max: AtomicU64,
}

/// A running measurement; it ends when dropped.
pub(super) struct RunningTimer<'a> {
    timer: &'a StageTimer,
    since: Instant,
}

impl StageTimer {
    /// Starts a measurement.
    pub(super) fn start(&self) -> RunningTimer<'_> {
        RunningTimer { timer: self, since: Instant::now() }
    }

    fn note(&self, us: u64) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(us, Ordering::Relaxed);
        self.max.fetch_max(us, Ordering::Relaxed);
    }

    fn timing(&self, stage: &str) -> Option<Timing> {
        let count = self.count.load(Ordering::Relaxed);
        let mean_us = self.sum.load(Ordering::Relaxed).checked_div(count)?;
        Some(Timing { stage: stage.to_owned(), count, mean_us, max_us: self.max.load(Ordering::Relaxed) })
    }
}

impl Drop for RunningTimer<'_> {
    fn drop(&mut self) {
        self.timer.note(u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX));
    }
}

#[derive(Debug, Default)]
pub(super) struct StageTimers {
    /// Asking models before a write.
    pub(super) models: StageTimer,
    /// Waiting for the write lock.
    pub(super) queue: StageTimer,
    /// An act under the write lock: reading, judging, committing.
    pub(super) act: StageTimer,
    /// Comparing a stored claim in the background pass.
    pub(super) deep: StageTimer,
    /// Reading a few claims of a story, in the background.
    pub(super) story: StageTimer,
    /// A language model reading a part of a story.
    pub(super) story_model: StageTimer,
}

impl StageTimers {
    /// Returns the stages that ran, in the order of a write.
    pub(super) fn timings(&self) -> Vec<Timing> {
        let parts = [
            (&self.models, "models before a write"),
            (&self.queue, "waiting for other writes"),
            (&self.act, "checking and storing"),
            (&self.deep, "checking after a write"),
            (&self.story, "reading the story"),
            (&self.story_model, "story by language model"),
        ];
        parts.into_iter().filter_map(|(timer, stage)| timer.timing(stage)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ran_is_counted_and_what_did_not_is_left_out() {
        let clocks = StageTimers::default();
        assert_eq!(clocks.timings(), []);
        clocks.act.note(10);
        clocks.act.note(30);
        drop(clocks.act.start());
        let timings = clocks.timings();
        assert_eq!(timings.len(), 1);
        assert_eq!((timings[0].count, timings[0].max_us), (3, 30));
    }
}
