//! Progress of a long task on the whole store.

/// The progress of one step of a long task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreStep {
    /// The name of the step as it is shown, such as `checking signatures`.
    pub doing: &'static str,
    /// What is counted, such as `events` or `pages`.
    pub unit: &'static str,
    /// How many units are done.
    pub done: u64,
    /// The number of all units; 0 if they are not counted.
    pub total: u64,
}

impl StoreStep {
    /// Creates a step without a count.
    pub(super) fn whole(doing: &'static str) -> Self {
        Self { doing, unit: "", done: 0, total: 0 }
    }
}

/// Receives the progress of a long task: at the beginning of each step, and then after some hundreds of units.
pub trait StoreProgress {
    /// Receives the progress. Called between reads, so it must return at once.
    fn at(&mut self, step: StoreStep);
}

/// Ignores the progress.
impl StoreProgress for () {
    fn at(&mut self, _: StoreStep) {}
}

impl<F: FnMut(StoreStep)> StoreProgress for F {
    fn at(&mut self, step: StoreStep) {
        self(step);
    }
}
