//! The documents that are exchanged next, and the exchanges of the peer that are accepted.

use std::collections::{HashSet, VecDeque};

use super::{DocumentKey, SessionSide, StopReason, message_loop::SyncSession};
use crate::sync::frame::{Message, RejectCode, Rejection, TurnKind};

/// The most exchanges that the peer may have open, besides those that this side began.
const MAX_PEER_EXCHANGES: usize = 32;

/// How far the part of a document may exceed those that this device has of the month, since earlier parts may not have
/// arrived yet.
const MAX_PART_GAP: u32 = 64;

/// Documents that wait for their exchange, each once.
#[derive(Default)]
pub(super) struct ExchangeQueue {
    order: VecDeque<DocumentKey>,
    queued: HashSet<DocumentKey>,
}

impl ExchangeQueue {
    fn push(&mut self, key: DocumentKey) {
        if self.queued.insert(key.clone()) {
            self.order.push_back(key);
        }
    }

    fn pop(&mut self) -> Option<DocumentKey> {
        let key = self.order.pop_front()?;
        self.queued.remove(&key);
        Some(key)
    }

    fn remove(&mut self, key: &DocumentKey) {
        if self.queued.remove(key) {
            self.order.retain(|queued| queued != key);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}

impl SyncSession<'_> {
    /// Queues a document for an exchange.
    pub(super) fn enqueue(&mut self, key: DocumentKey) {
        let document = key.document_id(self.team);
        if self.paused.contains(&document) || !self.shares(&key.scope) || !self.is_plausible(&key) {
            return;
        }
        match self.exchanges.get_mut(&document) {
            Some(open) => open.repeat(),
            None => self.queue.push(key),
        }
    }

    /// Begins queued exchanges up to the limit.
    pub(super) async fn begin_queued(&mut self) -> Result<(), StopReason> {
        while self.exchanges.len() < self.context.limits.exchanges
            && let Some(key) = self.queue.pop()
        {
            if let Some(open) = self.exchanges.get_mut(&key.document_id(self.team)) {
                // A second exchange would replace this one, whose other side would wait for answers in vain.
                open.repeat();
                continue;
            }
            let number = self.next_exchange;
            self.next_exchange += 2;
            if let Some((exchange, first)) = self.begin(key.clone(), number, true).await? {
                self.send_turn(&key, number, TurnKind::First, first.into_iter().collect()).await?;
                self.open(exchange);
            }
        }
        Ok(())
    }

    /// Whether to accept an exchange that the peer begins.
    pub(super) fn accept_exchange(&mut self, key: &DocumentKey, number: u64) -> Result<bool, StopReason> {
        let document = key.document_id(self.team);
        if !self.shares(&key.scope) {
            let reason = format!("{} is not shared with your device", key.scope);
            self.stream.send(&Message::Error(Rejection {
                code: RejectCode::RosterStale,
                reason,
                document: Some(document),
            }))?;
            return Ok(false);
        }
        if !self.is_plausible(key) {
            let reason = format!("the rejected device named part {} of {}, which cannot exist", key.part, key.month);
            return Err(StopReason::reject(RejectCode::Version, reason));
        }
        if self.paused.contains(&document) || self.exchanges.len() >= MAX_PEER_EXCHANGES + self.context.limits.exchanges
        {
            self.send_full_turn(key, number, TurnKind::Aborted, Vec::new())?;
            return Ok(false);
        }
        // If both began at the same time, the dialler's exchange continues.
        if let Some(open) = self.exchanges.get_mut(&document)
            && open.is_mine()
            && self.side == SessionSide::Dialler
        {
            if open.is_answered() {
                // The peer has ended that exchange and has more events. This side still waits for bodies, and begins
                // again after that.
                open.repeat();
                self.send_full_turn(key, number, TurnKind::Aborted, Vec::new())?;
            }
            return Ok(false);
        }
        // The peer's exchange starts from the current document, so it covers the exchange that this side had open or
        // queued.
        self.exchanges.remove(&document);
        self.queue.remove(key);
        Ok(true)
    }

    /// Whether a document can exist: its month is valid, and its part is plausible, since parts count up from 0.
    fn is_plausible(&self, key: &DocumentKey) -> bool {
        let scopes = self.mine.scopes.iter().filter(|offer| offer.scope == key.scope);
        let of_month = scopes.flat_map(|offer| &offer.documents).filter(|document| document.month == key.month);
        let latest = of_month.map(|document| document.part).max().unwrap_or(0);
        key.month.exists() && key.part <= latest.saturating_add(MAX_PART_GAP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Scope, replica::Month};

    #[test]
    fn a_document_waits_once_and_can_be_taken_out() {
        let key = |part| DocumentKey {
            scope: Scope { org_id: "acme".into(), project: "api".into() },
            month: Month(202_611),
            part,
        };
        let mut queue = ExchangeQueue::default();
        for part in [1, 2, 1, 3] {
            queue.push(key(part));
        }
        queue.remove(&key(2));
        queue.remove(&key(9));
        assert_eq!((queue.pop(), queue.pop(), queue.pop()), (Some(key(1)), Some(key(3)), None));
        queue.push(key(2));
        assert!(!queue.is_empty(), "what was taken out may come again");
    }
}
