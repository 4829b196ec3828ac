//! A pool of read-only connections.

use std::{
    ops::Deref,
    sync::{Mutex, MutexGuard, PoisonError, TryLockError},
};

use super::semaphore::{Permit, Semaphore};
use crate::store::{Reader, Store, StoreError};

/// The connections; at least one.
pub(super) struct Readers {
    first: Mutex<Reader>,
    others: Vec<Mutex<Reader>>,
    /// One permit for each connection: a thread gets whichever is returned first, because an audit uses one for
    /// minutes.
    permits: Semaphore,
}

/// A borrowed connection; returned to the pool when dropped.
pub(super) struct LentReader<'a> {
    // Dropped before the permit, so that the connection is free when the next thread gets the permit.
    reader: MutexGuard<'a, Reader>,
    _permit: Permit<'a>,
}

impl Readers {
    /// Opens `count` connections, at least one.
    pub(super) fn open(store: &Store, count: usize) -> Result<Self, StoreError> {
        let others = (1..count).map(|_| store.open_reader().map(Mutex::new)).collect::<Result<_, _>>()?;
        Ok(Self { first: Mutex::new(store.open_reader()?), others, permits: Semaphore::new(count) })
    }

    /// Borrows a connection; waits for one if all are in use.
    pub(super) fn lend(&self) -> LentReader<'_> {
        let permit = self.permits.take();
        let reader = self.free().unwrap_or_else(|| self.first.lock().unwrap_or_else(PoisonError::into_inner));
        LentReader { reader, _permit: permit }
    }

    /// Returns a free connection. A poisoned lock is ignored: a reader has no state that a panic could leave
    /// inconsistent.
    fn free(&self) -> Option<MutexGuard<'_, Reader>> {
        std::iter::once(&self.first).chain(&self.others).find_map(|reader| match reader.try_lock() {
            Ok(free) => Some(free),
            Err(TryLockError::Poisoned(free)) => Some(free.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        })
    }
}

impl Deref for LentReader<'_> {
    type Target = Reader;

    fn deref(&self) -> &Reader {
        &self.reader
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Arc, mpsc::channel},
        thread,
        time::Duration,
    };

    use ed25519_dalek::SigningKey;

    use crate::{
        engine::{Engine, EngineConfig},
        infer::NoModels,
    };

    fn engine(dir: &tempfile::TempDir, readers: usize) -> Engine {
        let mut config = EngineConfig::new(dir.path().join("store.db"), SigningKey::from_bytes(&[7; 32]));
        config.readers = readers;
        Engine::open_with_models(config, crate::guard::Guard::default(), std::sync::Arc::new(NoModels)).unwrap()
    }

    #[test]
    fn a_thread_gets_the_connection_that_comes_back_first() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Arc::new(engine(&dir, 2));
        let _long = engine.readers.lend();
        for _ in 0..4 {
            let short = engine.readers.lend();
            let ((begin, begun), (got, came)) = (channel(), channel());
            let other = Arc::clone(&engine);
            thread::spawn(move || {
                begin.send(()).unwrap();
                drop(other.readers.lend());
                got.send(())
            });
            begun.recv().unwrap();
            drop(short);
            assert_eq!(came.recv_timeout(Duration::from_mins(1)), Ok(()), "it waits for another connection");
        }
    }

    #[test]
    fn a_connection_is_lent_again_after_a_panic() {
        let dir = tempfile::tempdir().unwrap();
        let engine = engine(&dir, 1);
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
