//! Limits how many calls of one client run at the same time, and how many wait.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Semaphore, SemaphorePermit};

/// The maximum number of calls of one client that run at the same time.
const MAX_RUNNING: usize = 16;

/// The maximum number of further calls that wait. A client exceeds it only if it does not wait for answers.
const MAX_WAITING: usize = 512;

/// The limit of calls of one client.
#[derive(Debug)]
pub(super) struct CallLimit {
    running: Semaphore,
    /// The number of running and waiting calls.
    inside: AtomicUsize,
}

/// A running call. It is counted until it is dropped.
pub(super) struct RunningCall<'a> {
    limit: &'a CallLimit,
    _permit: SemaphorePermit<'a>,
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        self.limit.inside.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A waiting call. It is counted until it is dropped, unless it has become a running one (`None`).
struct WaitingCall<'a>(Option<&'a CallLimit>);

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        if let Some(limit) = self.0 {
            limit.inside.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl CallLimit {
    pub(super) fn new() -> Self {
        Self { running: Semaphore::new(MAX_RUNNING), inside: AtomicUsize::new(0) }
    }

    /// Waits until the call may run. Returns an error message for the agent if too many calls wait already.
    pub(super) async fn enter(&self) -> Result<RunningCall<'_>, String> {
        let inside = self.inside.fetch_add(1, Ordering::Relaxed);
        let mut waiting = WaitingCall(Some(self));
        if inside >= MAX_RUNNING + MAX_WAITING {
            return Err(format!(
                "too many calls: {inside} are already running or waiting, so this one was not made. Next: wait for their \
                    answers, then call again"
            ));
        }
        let permit = self.running.acquire().await.map_err(|_| "the session is ending".to_owned())?;
        waiting.0 = None;
        Ok(RunningCall { limit: self, _permit: permit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_flood_is_refused_and_what_was_let_in_gives_its_place_back() {
        let limit = CallLimit::new();
        let mut calls = Vec::new();
        for _ in 0..MAX_RUNNING {
            calls.push(limit.enter().await.unwrap());
        }
        limit.inside.fetch_add(MAX_WAITING, Ordering::Relaxed);
        assert!(limit.enter().await.err().unwrap().contains("wait for their answers"));
        limit.inside.fetch_sub(MAX_WAITING, Ordering::Relaxed);
        calls.clear();
        assert_eq!(limit.inside.load(Ordering::Relaxed), 0);
        drop(limit.enter().await.unwrap());
    }
}
