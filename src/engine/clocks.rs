//! How long parts of a write take, for people who look at the daemon's health.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use crate::api::Timing;

/// One part.
#[derive(Debug, Default)]
pub(super) struct Clock {
    count: AtomicU64,
    sum: AtomicU64,
    max: AtomicU64,
}

/// A part that is under way: it is noted when this goes.
pub(super) struct Running<'a> {
    clock: &'a Clock,
    since: Instant,
}

impl Clock {
    /// Begins.
    pub(super) fn start(&self) -> Running<'_> {
        Running { clock: self, since: Instant::now() }
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

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.clock.note(u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX));
    }
}

/// The parts that are measured.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    /// Asking models before a write.
    pub(super) models: Clock,
    /// Waiting for the write lock.
    pub(super) queue: Clock,
    /// An act under the write lock: reading, judging, committing.
    pub(super) act: Clock,
    /// Reading a stored claim deeply, in the background.
    pub(super) deep: Clock,
}

impl Clocks {
    /// Those parts that ran, in the order of a write.
    pub(super) fn timings(&self) -> Vec<Timing> {
        let parts = [
            (&self.models, "models, before a write"),
            (&self.queue, "waiting for other writes"),
            (&self.act, "an act, judged and stored"),
            (&self.deep, "a deep reading, aside"),
        ];
        parts.into_iter().filter_map(|(clock, stage)| clock.timing(stage)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ran_is_counted_and_what_did_not_is_left_out() {
        let clocks = Clocks::default();
        assert_eq!(clocks.timings(), []);
        clocks.act.note(10);
        clocks.act.note(30);
        drop(clocks.act.start());
        let timings = clocks.timings();
        assert_eq!(timings.len(), 1);
        assert_eq!((timings[0].count, timings[0].max_us), (3, 30));
    }
}
