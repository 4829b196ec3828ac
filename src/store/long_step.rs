//! How far a long task on the whole store is.

/// The state of a long task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreStep {
    /// What is being done, as it is shown: `checking signatures`.
    pub doing: &'static str,
    /// What is counted: `events`, `pages`.
    pub unit: &'static str,
    /// How many of them are done.
    pub done: u64,
    /// How many there are; 0 if they are not counted.
    pub total: u64,
}

impl StoreStep {
    /// A step whose parts are not counted.
    pub(super) fn whole(doing: &'static str) -> Self {
        Self { doing, unit: "", done: 0, total: 0 }
    }
}

/// Is told how far a long task is: at the beginning of each step, and then after some hundreds of what it counts.
pub trait StoreProgress {
    /// Takes the state. It is called between reads: it must return at once.
    fn at(&mut self, step: StoreStep);
}

/// Nobody looks.
impl StoreProgress for () {
    fn at(&mut self, _: StoreStep) {}
}

impl<F: FnMut(StoreStep)> StoreProgress for F {
    fn at(&mut self, step: StoreStep) {
        self(step);
    }
}
