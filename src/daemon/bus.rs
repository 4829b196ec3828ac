//! Broadcasts changes to the clients of `GET /events`.

use std::sync::{Mutex, PoisonError};

use tokio::sync::broadcast;

use crate::api::Change;

/// The number of changes that a slow follower can lag behind. A slower one misses changes and is told so.
const CAPACITY: usize = 1024;

/// The broadcast of changes. They are numbered from the daemon's start.
#[derive(Debug)]
pub(super) struct Bus {
    sender: broadcast::Sender<Change>,
    seq: Mutex<u64>,
}

impl Bus {
    pub(super) fn new() -> Self {
        Self { sender: broadcast::channel(CAPACITY).0, seq: Mutex::new(0) }
    }

    /// Numbers a change and sends it to all followers. Both happen under one lock, so that followers receive the
    /// numbers in order.
    pub(super) fn send(&self, mut change: Change) {
        let mut seq = self.seq.lock().unwrap_or_else(PoisonError::into_inner);
        *seq += 1;
        change.seq = *seq;
        "change".clone_into(&mut change.event);
        // Sending fails if there are no followers.
        drop(self.sender.send(change));
    }

    /// Returns a greeting for a new follower, with the number of the latest change, and the receiver of later changes.
    pub(super) fn follow(&self) -> (Change, broadcast::Receiver<Change>) {
        let seq = self.seq.lock().unwrap_or_else(PoisonError::into_inner);
        let hello = Change { event: "hello".to_owned(), seq: *seq, ..Change::default() };
        (hello, self.sender.subscribe())
    }
}
