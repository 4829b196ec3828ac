//! How many calls of one client run at once, and how many wait.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Semaphore, SemaphorePermit};

/// How many calls of one client the daemon is asked at once.
const AT_ONCE: usize = 16;

/// How many more wait for their turn. Who sends more without reading answers is told so.
const WAITING: usize = 512;

/// Lets a bounded number of calls through.
#[derive(Debug)]
pub(super) struct CallLimit {
    running: Semaphore,
    inside: AtomicUsize,
}

/// A call that is counted until this is dropped.
pub(super) struct Pass<'a> {
    gate: &'a CallLimit,
    _permit: SemaphorePermit<'a>,
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.gate.inside.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One that waits for its turn; counted too, and no more if it is given up.
struct Turn<'a>(Option<&'a CallLimit>);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(gate) = self.0 {
            gate.inside.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl CallLimit {
    pub(super) fn new() -> Self {
        Self { running: Semaphore::new(AT_ONCE), inside: AtomicUsize::new(0) }
    }

    /// Waits for a turn; `Err` with what to do if too many wait already.
    pub(super) async fn pass(&self) -> Result<Pass<'_>, String> {
        let inside = self.inside.fetch_add(1, Ordering::Relaxed);
        let mut turn = Turn(Some(self));
        if inside >= AT_ONCE + WAITING {
            return Err(format!(
                "too many calls: {inside} are already waiting, so this one was not made. Next: wait for their \
                    answers, then call again"
            ));
        }
        let permit = self.running.acquire().await.map_err(|_| "the session is ending".to_owned())?;
        turn.0 = None;
        Ok(Pass { gate: self, _permit: permit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_flood_is_refused_and_what_was_let_in_gives_its_place_back() {
        let gate = CallLimit::new();
        let mut passes = Vec::new();
        for _ in 0..AT_ONCE {
            passes.push(gate.pass().await.unwrap());
        }
        gate.inside.fetch_add(WAITING, Ordering::Relaxed);
        assert!(gate.pass().await.err().unwrap().contains("wait for their answers"));
        gate.inside.fetch_sub(WAITING, Ordering::Relaxed);
        passes.clear();
        assert_eq!(gate.inside.load(Ordering::Relaxed), 0);
        drop(gate.pass().await.unwrap());
    }
}
