//! A counting semaphore for threads.

use std::sync::{Condvar, Mutex, PoisonError};

/// Limits how many threads work at a time.
pub(super) struct Semaphore {
    free: Mutex<usize>,
    returned: Condvar,
}

/// A permit; returned when dropped.
pub(super) struct Permit<'a>(&'a Semaphore);

impl Semaphore {
    /// Creates a semaphore with `count` permits, at least one.
    pub(super) fn new(count: usize) -> Self {
        Self { free: Mutex::new(count.max(1)), returned: Condvar::new() }
    }

    /// Waits for a permit.
    pub(super) fn take(&self) -> Permit<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.returned.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Permit(self)
    }
}

impl Drop for Permit<'_> {
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
    fn no_more_than_so_many_have_a_permit_and_everybody_gets_one() {
        let (permits, at_once, had) = (Semaphore::new(2), AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let _permit = permits.take();
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
    fn a_panic_gives_its_permit_back() {
        let permits = Semaphore::new(0);
        let failed = thread::scope(|scope| {
            let panics = scope.spawn(|| {
                let _permit = permits.take();
                panic!("a write fails");
            });
            panics.join()
        });
        assert!(failed.is_err());
        drop(permits.take());
    }
}
