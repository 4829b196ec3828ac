//! The exchange of one document with a peer.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

use automerge::{
    AutomergeError, ChangeHash, ReadDoc,
    sync::{Message, State, SyncDoc},
};
use minicbor::{Decode, Encode};

use super::{DocumentEntry, IndexDocument, NextDocument, entries, estimated_bytes};
use crate::{
    domain::EventId,
    sync::preflight::{MAX_OPS, MAX_SESSION, Violation, ViolationCode, inspect, scan},
};

impl IndexDocument {
    /// Begins an exchange on a fork. `state` is the peer state of the last exchange with this peer. If this side
    /// `initiates`, also returns the first message, which must be sent. Both sides may initiate.
    pub fn begin_exchange(&self, state: Option<&[u8]>, initiates: bool) -> (DocumentExchange, Option<Vec<u8>>) {
        // An invalid state, or one that names changes from before a rebuild, is dropped. This only makes a message
        // longer.
        let state = state.and_then(|bytes| State::decode(bytes).ok());
        let state = state.filter(|state| state.shared_heads.iter().all(|head| self.contains_change(head)));
        let mut exchange = DocumentExchange {
            base: self.doc.get_heads(),
            fork: Self { doc: self.doc.fork(), known: self.known.clone(), ..*self },
            state: state.unwrap_or_default(),
            ops: self.ops(),
            changes: HashMap::new(),
            new: Vec::new(),
            received: Vec::new(),
            bytes: 0,
        };
        let first = if initiates { exchange.next_message() } else { None };
        (exchange, first)
    }
}

/// The parts of a received change that are checked at the end of the exchange.
struct ReceivedChange {
    first: u64,
    last: u64,
    deps: Vec<ChangeHash>,
}

/// An exchange with a peer's document. Changes go to a fork, which is dropped unless the exchange succeeds.
pub struct DocumentExchange {
    fork: IndexDocument,
    base: Vec<ChangeHash>,
    state: State,
    /// The expected number of operations of the fork, counted from the received changes.
    ops: u64,
    changes: HashMap<ChangeHash, ReceivedChange>,
    new: Vec<EventId>,
    /// The bytes of the received changes, as they are stored.
    received: Vec<u8>,
    bytes: usize,
}

impl std::fmt::Debug for DocumentExchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange").field("fork", &self.fork).field("new", &self.new.len()).finish_non_exhaustive()
    }
}

/// The result of one received message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct ExchangeStep {
    /// The message to send back.
    #[cbor(n(0), with = "minicbor::bytes")]
    pub reply: Option<Vec<u8>>,
    /// The entries that this message added; their signatures are not verified.
    #[n(1)]
    pub new: Vec<DocumentEntry>,
    /// Whether both sides have announced equal heads.
    #[n(2)]
    pub converged: bool,
}

impl DocumentExchange {
    /// Estimates the exchange's memory in bytes.
    pub fn estimated_bytes(&self) -> usize {
        estimated_bytes(self.ops) + self.bytes
    }

    /// Applies a message of the peer. After an error the exchange must not be used again.
    ///
    /// # Errors
    /// The rule that the peer broke.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<ExchangeStep, Violation> {
        self.bytes += bytes.len();
        if self.bytes > MAX_SESSION {
            return Err(Violation::new(ViolationCode::TooBig, format!("more than {MAX_SESSION} bytes in one session")));
        }
        let chunks = scan::message(bytes)?;
        // From here on automerge reads a peer's bytes. The peer is to blame for a panic, and the fork is not used
        // again.
        let taken = catch_unwind(AssertUnwindSafe(|| self.take(bytes, &chunks)));
        taken.unwrap_or_else(|_| Err(Violation::malformed("automerge panicked")))
    }

    fn take(&mut self, bytes: &[u8], chunks: &[&[u8]]) -> Result<ExchangeStep, Violation> {
        let mut new = Vec::new();
        for chunk in chunks {
            let change = inspect::change(chunk)?;
            // A peer that lost its state sends known changes again, even the first of the document.
            if self.changes.contains_key(&change.hash()) || self.fork.contains_change(&change.hash()) {
                continue;
            }
            let entries = inspect::entries(&change)?;
            self.ops += entries.len() as u64;
            if self.ops > MAX_OPS {
                return Err(Violation::new(ViolationCode::Full, format!("at most {MAX_OPS} operations")));
            }
            let received =
                ReceivedChange { first: change.start_op().get(), last: change.max_op(), deps: change.deps().to_vec() };
            self.changes.insert(change.hash(), received);
            self.received.extend_from_slice(chunk);
            for entry in entries {
                if self.fork.known.insert(entry.id) {
                    self.new.push(entry.id);
                    new.push(entry);
                } else if !self.has_same_value(&entry) && !entry.verifies() {
                    // The entry had arrived before, by another way. Only its author can have signed it twice.
                    return Err(Violation::for_event(ViolationCode::BadSignature, entry.id, ""));
                }
            }
        }
        let message = Message::decode(bytes).map_err(|error| Violation::malformed(error.to_string()))?;
        self.fork.doc.receive_sync_message(&mut self.state, message).map_err(|error| match error {
            AutomergeError::DuplicateSeqNumber(..) => Violation::new(ViolationCode::DuplicateSeq, error.to_string()),
            error => Violation::malformed(error.to_string()),
        })?;
        let reply = self.next_message();
        let converged = self.state.their_heads.as_ref() == Some(&self.fork.doc.get_heads());
        Ok(ExchangeStep { reply, new, converged })
    }

    /// Whether the document holds an entry with the same value.
    fn has_same_value(&self, entry: &DocumentEntry) -> bool {
        let held = self.fork.doc.get(entries(), entry.id.to_hex()).ok().flatten();
        held.is_some_and(|(value, _)| value.as_bytes() == Some(&*entry.value()))
    }

    /// Returns the next message to the peer, in the version that the preflight check accepts.
    fn next_message(&mut self) -> Option<Vec<u8>> {
        let mut message = self.fork.doc.generate_sync_message(&mut self.state)?;
        // If this side announced more capabilities, the peer would answer with whole documents, which cannot be
        // inspected.
        message.flags = None;
        Some(message.encode())
    }

    /// Ends the exchange. Returns `main` with the received changes, and the peer state to keep.
    ///
    /// # Errors
    /// If changes are missing, differ from what was announced, or conflict with changes of others.
    pub fn finish(mut self, main: &IndexDocument) -> Result<(NextDocument, Vec<u8>), Violation> {
        let missing = self.fork.doc.get_missing_deps(&[]);
        if !missing.is_empty() {
            return Err(Violation::new(ViolationCode::Gaps, format!("{} changes are missing", missing.len())));
        }
        if self.fork.ops() != self.ops {
            let why = format!("{} operations, and {} were announced", self.fork.ops(), self.ops);
            return Err(Violation::malformed(why));
        }
        self.check_counters()?;
        let state = self.state.encode();
        if main.doc.get_heads() == self.base {
            self.fork.doc.set_actor(main.doc.get_actor().clone());
            return Ok((self.fork.next_after(main, Some(self.received), self.new), state));
        }
        // Other changes were committed first. Only an actor that used a sequence number twice makes them conflict.
        let mut document = main.clone();
        document
            .doc
            .merge(&mut self.fork.doc)
            .map_err(|error| Violation::new(ViolationCode::DuplicateSeq, error.to_string()))?;
        // If the document was loaded again in the meantime, the fork holds more new events than this exchange received.
        self.new = self.fork.known.iter().filter(|id| document.known.insert(**id)).copied().collect();
        Ok((document.next_after(main, None, self.new), state))
    }

    /// Checks that every change starts where its dependencies end. A gap would use up the operation counter.
    fn check_counters(&self) -> Result<(), Violation> {
        for received in self.changes.values() {
            let end = |dep: &ChangeHash| match self.changes.get(dep) {
                Some(received) => received.last,
                None => self.fork.doc.get_change_meta_by_hash(dep).map_or(0, |change| change.max_op),
            };
            let before = received.deps.iter().map(end).max().unwrap_or(0);
            if received.first != before + 1 {
                let why = format!("its operations begin at {}, expected after {before}", received.first);
                return Err(Violation::new(ViolationCode::Counter, why));
            }
        }
        Ok(())
    }
}
