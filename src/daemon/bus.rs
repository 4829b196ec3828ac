//! Broadcasts changes to the clients of `GET /events`.

use std::sync::{Mutex, PoisonError};

use tokio::sync::broadcast;

use crate::api::Change;

/// How many changes a slow follower may be behind before it is told that it missed some.
const BEHIND: usize = 1024;

/// The changes since the daemon started.
#[derive(Debug)]
pub(super) struct Bus {
    sender: broadcast::Sender<Change>,
    seq: Mutex<u64>,
}

impl Bus {
    pub(super) fn new() -> Self {
        Self { sender: broadcast::channel(BEHIND).0, seq: Mutex::new(0) }
    }

    /// Numbers a change and sends it on. The number is given and the change sent under one lock, so that followers see
    /// the numbers in order.
    pub(super) fn send(&self, mut change: Change) {
        let mut seq = self.seq.lock().unwrap_or_else(PoisonError::into_inner);
        *seq += 1;
        change.seq = *seq;
        "change".clone_into(&mut change.event);
        // Nobody follows: nothing to do.
        drop(self.sender.send(change));
    }

    /// The greeting for a new follower, and what comes after it.
    pub(super) fn follow(&self) -> (Change, broadcast::Receiver<Change>) {
        let seq = self.seq.lock().unwrap_or_else(PoisonError::into_inner);
        let hello = Change { event: "hello".to_owned(), seq: *seq, ..Change::default() };
        (hello, self.sender.subscribe())
    }
}
