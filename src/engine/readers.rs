//! A few read-only connections, lent out one at a time.

use std::sync::{
    Mutex, MutexGuard, PoisonError, TryLockError,
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
        if let Some(free) = self.free() {
            return free;
        }
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % (self.others.len() + 1);
        let reader = self.all().nth(turn).unwrap_or(&self.first);
        reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn all(&self) -> impl Iterator<Item = &Mutex<Reader>> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// A connection that nobody has. A reader holds no state that a panic could leave half changed.
    fn free(&self) -> Option<MutexGuard<'_, Reader>> {
        self.all().find_map(|reader| match reader.try_lock() {
            Ok(free) => Some(free),
            Err(TryLockError::Poisoned(free)) => Some(free.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::SigningKey;

    use crate::{
        engine::{Engine, EngineConfig},
        infer::NoModels,
    };

    #[test]
    fn a_connection_is_lent_again_after_a_panic() {
        let dir = tempfile::tempdir().unwrap();
        let mut config = EngineConfig::new(dir.path().join("store.db"), SigningKey::from_bytes(&[7; 32]));
        config.readers = 1;
        let engine =
            Engine::open_with_models(config, crate::guard::Guard::default(), std::sync::Arc::new(NoModels)).unwrap();
        let failed = std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    let _lent = engine.readers.lend();
                    panic!("a read fails");
                })
                .join()
        });
        assert!(failed.is_err());
        assert!(engine.readers.free().is_some());
    }
}
