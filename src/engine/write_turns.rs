//! Turns for what writes compute before the write lock.

use std::sync::{Condvar, Mutex, PoisonError};

/// Lets a few writes at a time search and parse.
///
/// More of them at once store no more claims, since the processor is busy already, but take it from the reads that a person or a hook
/// waits for. Nobody keeps a turn while it waits for a model.
pub(super) struct WriteTurns {
    free: Mutex<usize>,
    returned: Condvar,
}

/// A turn; it ends when this is dropped.
pub(super) struct WriteTurn<'a>(&'a WriteTurns);

impl WriteTurns {
    /// So many turns at once, at least one.
    pub(super) fn new(count: usize) -> Self {
        Self { free: Mutex::new(count.max(1)), returned: Condvar::new() }
    }

    /// Waits for a turn.
    pub(super) fn take(&self) -> WriteTurn<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.returned.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        WriteTurn(self)
    }
}

impl Default for WriteTurns {
    /// For half of the cores.
    fn default() -> Self {
        Self::new(std::thread::available_parallelism().map_or(1, |cores| cores.get() / 2))
    }
}

impl Drop for WriteTurn<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.returned.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        thread,
    };

    use super::*;

    #[test]
    fn no_more_than_so_many_have_a_turn_and_everybody_gets_one() {
        let (turns, at_once, had) = (WriteTurns::new(2), AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let _turn = turns.take();
                        assert!(at_once.fetch_add(1, Ordering::SeqCst) < 2);
                        thread::yield_now();
                        at_once.fetch_sub(1, Ordering::SeqCst);
                        had.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(had.into_inner(), 400);
    }

    #[test]
    fn a_panic_gives_its_turn_back() {
        let turns = WriteTurns::new(0);
        let failed = thread::scope(|scope| {
            let panics = scope.spawn(|| {
                let _turn = turns.take();
                panic!("a write fails");
            });
            panics.join()
        });
        assert!(failed.is_err());
        drop(turns.take());
    }
}
