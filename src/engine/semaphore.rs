//! A counting semaphore for threads.

use std::sync::{Condvar, Mutex, PoisonError};

/// Limits how many threads work at a time. Permits are given in the order in which they are asked for, so that nobody waits
/// for much longer than the others.
pub(super) struct Semaphore {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    free: usize,
    /// The number of the next thread that asks.
    next: u64,
    /// The number of the thread that gets the next permit.
    turn: u64,
}

/// A permit; returned when dropped.
pub(super) struct Permit<'a>(&'a Semaphore);

impl Semaphore {
    /// Creates a semaphore with `count` permits, at least one.
    pub(super) fn new(count: usize) -> Self {
        Self { state: Mutex::new(State { free: count.max(1), next: 0, turn: 0 }), changed: Condvar::new() }
    }

    /// Waits for a permit.
    pub(super) fn take(&self) -> Permit<'_> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let own = state.next;
        state.next += 1;
        let waits = |state: &mut State| state.free == 0 || state.turn != own;
        let mut state = self.changed.wait_while(state, waits).unwrap_or_else(PoisonError::into_inner);
        state.free -= 1;
        state.turn += 1;
        drop(state);
        // Another permit may be free.
        self.changed.notify_all();
        Permit(self)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).free += 1;
        self.0.changed.notify_all();
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
    fn permits_are_given_in_the_order_of_the_requests() {
        let (permits, order) = (Semaphore::new(1), Mutex::new(Vec::new()));
        thread::scope(|scope| {
            let first = permits.take();
            for number in 1..=4 {
                let (permits, order) = (&permits, &order);
                scope.spawn(move || {
                    let _permit = permits.take();
                    order.lock().unwrap().push(number);
                });
                // Until the thread has asked.
                while permits.state.lock().unwrap().next <= number {
                    thread::yield_now();
                }
            }
            drop(first);
        });
        assert_eq!(order.into_inner().unwrap(), [1, 2, 3, 4]);
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
