//! One meeting with a peer's document.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

use automerge::{
    AutomergeError, ChangeHash, ReadDoc,
    sync::{Message, State, SyncDoc},
};
use minicbor::{Decode, Encode};

use super::{Document, Entry, Next, entries};
use crate::{
    domain::EventId,
    sync::gate::{Code, MAX_OPS, MAX_SESSION, Violation, inspect, scan},
};

impl Document {
    /// Begins to meet a peer's document, on a fork. `state` is what was kept of the last time with this peer. Where this side
    /// `speaks` first, also what it says, which must be sent; both may.
    pub fn meet(&self, state: Option<&[u8]>, speaks: bool) -> (Exchange, Option<Vec<u8>>) {
        // What does not decode, or names changes of a history that was rebuilt since, only costs a longer message.
        let state = state.and_then(|bytes| State::decode(bytes).ok());
        let state = state.filter(|state| state.shared_heads.iter().all(|head| self.holds(head)));
        let mut exchange = Exchange {
            base: self.doc.get_heads(),
            fork: Self { doc: self.doc.fork(), known: self.known.clone(), ..*self },
            state: state.unwrap_or_default(),
            ops: self.ops(),
            changes: HashMap::new(),
            new: Vec::new(),
            came: Vec::new(),
            bytes: 0,
        };
        let first = if speaks { exchange.say() } else { None };
        (exchange, first)
    }
}

/// A change that came in, as far as the end of the exchange asks for it.
struct Came {
    first: u64,
    last: u64,
    deps: Vec<ChangeHash>,
}

/// One meeting with a peer's document, on a fork that is thrown away unless it ends well.
pub struct Exchange {
    fork: Document,
    base: Vec<ChangeHash>,
    state: State,
    /// How many operations the fork is to have, from what was counted.
    ops: u64,
    changes: HashMap<ChangeHash, Came>,
    new: Vec<EventId>,
    /// The changes that came, as they came: what is to be stored of the exchange.
    came: Vec<u8>,
    bytes: usize,
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange").field("fork", &self.fork).field("new", &self.new.len()).finish_non_exhaustive()
    }
}

/// What a message came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Step {
    /// What to send back.
    #[cbor(n(0), with = "minicbor::bytes")]
    pub reply: Option<Vec<u8>>,
    /// The entries that came with this message and are new here; signatures not verified.
    #[n(1)]
    pub new: Vec<Entry>,
    /// Both sides have told each other that they hold the same.
    #[n(2)]
    pub converged: bool,
}

impl Exchange {
    /// Takes a message from the peer. After an error nothing of this exchange may be used.
    ///
    /// # Errors
    /// The rule that the peer broke.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<Step, Violation> {
        self.bytes += bytes.len();
        if self.bytes > MAX_SESSION {
            return Err(Violation::new(Code::TooBig, format!("more than {MAX_SESSION} bytes in one session")));
        }
        let chunks = scan::message(bytes)?;
        // What follows is automerge's code on a peer's bytes. A panic in it is theirs, and the fork is not used again.
        let taken = catch_unwind(AssertUnwindSafe(|| self.take(bytes, &chunks)));
        taken.unwrap_or_else(|_| Err(Violation::malformed("automerge panicked")))
    }

    fn take(&mut self, bytes: &[u8], chunks: &[&[u8]]) -> Result<Step, Violation> {
        let mut new = Vec::new();
        for chunk in chunks {
            let change = inspect::change(chunk)?;
            // Known ones come again where a peer has lost its notes: also the one that began the document.
            if self.changes.contains_key(&change.hash()) || self.fork.holds(&change.hash()) {
                continue;
            }
            let entries = inspect::entries(&change)?;
            self.ops += entries.len() as u64;
            if self.ops > MAX_OPS {
                return Err(Violation::new(Code::Full, format!("at most {MAX_OPS} operations")));
            }
            let came = Came { first: change.start_op().get(), last: change.max_op(), deps: change.deps().to_vec() };
            self.changes.insert(change.hash(), came);
            self.came.extend_from_slice(chunk);
            for entry in entries {
                if self.fork.known.insert(entry.id) {
                    self.new.push(entry.id);
                    new.push(entry);
                } else if !self.same(&entry) && !entry.verifies() {
                    // It came in by another way before. The author may have signed it twice, but nobody else.
                    return Err(Violation::of(Code::BadSignature, entry.id, ""));
                }
            }
        }
        let message = Message::decode(bytes).map_err(|error| Violation::malformed(error.to_string()))?;
        self.fork.doc.receive_sync_message(&mut self.state, message).map_err(|error| match error {
            AutomergeError::DuplicateSeqNumber(..) => Violation::new(Code::DuplicateSeq, error.to_string()),
            error => Violation::malformed(error.to_string()),
        })?;
        let reply = self.say();
        let converged = self.state.their_heads.as_ref() == Some(&self.fork.doc.get_heads());
        Ok(Step { reply, new, converged })
    }

    /// Whether the document holds an entry with the same value.
    fn same(&self, entry: &Entry) -> bool {
        let held = self.fork.doc.get(entries(), entry.id.to_hex()).ok().flatten();
        held.is_some_and(|(value, _)| value.as_bytes() == Some(&*entry.value()))
    }

    /// The next message to the peer, in the one form that it will take.
    fn say(&mut self) -> Option<Vec<u8>> {
        let mut message = self.fork.doc.generate_sync_message(&mut self.state)?;
        // Whoever announces more is answered with whole documents, which cannot be inspected before they are taken.
        message.flags = None;
        Some(message.encode())
    }

    /// Ends the exchange: `main` with what came, and what to keep for the next time with this peer.
    ///
    /// # Errors
    /// Where what came is not what it seemed to be, or does not go with what came from others meanwhile.
    pub fn finish(mut self, main: &Document) -> Result<(Next, Vec<u8>), Violation> {
        let missing = self.fork.doc.get_missing_deps(&[]);
        if !missing.is_empty() {
            return Err(Violation::new(Code::Gaps, format!("{} changes are missing", missing.len())));
        }
        if self.fork.ops() != self.ops {
            let why = format!("{} operations where {} were announced", self.fork.ops(), self.ops);
            return Err(Violation::malformed(why));
        }
        self.counters()?;
        let state = self.state.encode();
        if main.doc.get_heads() == self.base {
            self.fork.doc.set_actor(main.doc.get_actor().clone());
            return Ok((self.fork.after(main, Some(self.came), self.new), state));
        }
        // Others came first. Their changes and these may only clash where an actor wrote twice under one number.
        let mut document = main.clone();
        document
            .doc
            .merge(&mut self.fork.doc)
            .map_err(|error| Violation::new(Code::DuplicateSeq, error.to_string()))?;
        // Where the document was read anew since, the fork holds more that is new to it than what came.
        self.new = self.fork.known.iter().filter(|id| document.known.insert(**id)).copied().collect();
        Ok((document.after(main, None, self.new), state))
    }

    /// Every change begins where the changes that it builds on end: a jump would use up the room for numbers.
    fn counters(&self) -> Result<(), Violation> {
        for came in self.changes.values() {
            let end = |dep: &ChangeHash| match self.changes.get(dep) {
                Some(came) => came.last,
                None => self.fork.doc.get_change_meta_by_hash(dep).map_or(0, |change| change.max_op),
            };
            let before = came.deps.iter().map(end).max().unwrap_or(0);
            if came.first != before + 1 {
                let why = format!("it begins at {} and follows {before}", came.first);
                return Err(Violation::new(Code::Counter, why));
            }
        }
        Ok(())
    }
}
