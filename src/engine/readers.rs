//! A few read-only connections, lent out one at a time.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use crate::store::{Reader, Store, StoreError};

/// The connections; there is at least one.
pub(super) struct Readers {
    first: Mutex<Reader>,
    others: Vec<Mutex<Reader>>,
    turn: AtomicUsize,
}

impl Readers {
    /// Opens `count` connections, at least one.
    pub(super) fn open(store: &Store, count: usize) -> Result<Self, StoreError> {
        let others = (1..count).map(|_| store.open_reader().map(Mutex::new)).collect::<Result<_, _>>()?;
        Ok(Self { first: Mutex::new(store.open_reader()?), others, turn: AtomicUsize::new(0) })
    }

    /// A connection that is free; else waits its turn for one.
    pub(super) fn lend(&self) -> MutexGuard<'_, Reader> {
        let all = || std::iter::once(&self.first).chain(&self.others);
        if let Some(free) = all().find_map(|reader| reader.try_lock().ok()) {
            return free;
        }
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % (self.others.len() + 1);
        let reader = all().nth(turn).unwrap_or(&self.first);
        // A reader holds no state that a panic could leave half changed.
        reader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
