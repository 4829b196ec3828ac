//! The replication index of one team, scope and month: an automerge document with a single map, from the id of an event
//! to its signature and header.
//!
//! Architecture Invariant: a document holds nothing that is not in the store. It only tells two peers which events each
//! of them lacks, so it can be rebuilt from the events at any time. Only the worker process uses it, see
//! [`super::worker`].

mod entry;
mod exchange;

#[cfg(test)]
pub(in crate::sync) mod tests;

use std::collections::HashSet;

use automerge::{
    ActorId, Automerge, ChangeHash, ObjId, ObjType, ROOT, ReadDoc,
    transaction::{CommitOptions, Transactable},
};

use super::preflight::{MAX_ENTRIES_PER_CHANGE, scan};
use crate::domain::EventId;

pub use entry::{ChunkUpdate, DocumentEntry, DocumentSummary};
pub use exchange::{DocumentExchange, ExchangeStep};

/// The number of events after which a writer begins another part of the month.
pub const SOFT_ENTRIES: usize = 10_000;

/// The most events that a writer puts into one document.
pub const HARD_ENTRIES: usize = 20_000;

/// The actor of the first change of every document; no device writes as it.
pub(super) const GENESIS_ACTOR: &[u8] = &[0; 16];

/// The number of the operation by which [`GENESIS_ACTOR`] created the map of entries.
pub(super) const ENTRIES: u64 = 2;

/// Bytes of values after which another change begins.
const CHANGE_BYTES: usize = 1024 * 1024;

/// The number of increments, and of their bytes, after which a document is stored as a snapshot.
const MAX_INCREMENTS: usize = 500;
const MAX_INCREMENT_BYTES: usize = 4 * 1024 * 1024;

/// The next state of a document, not yet committed.
#[derive(Debug)]
pub struct NextDocument {
    pub document: IndexDocument,
    /// What to store; `None` if nothing changed.
    pub chunk: Option<ChunkUpdate>,
    /// The events that are new in it.
    pub new: Vec<EventId>,
}

/// The error for stored bytes that are not a valid document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stored index cannot be read: {0}")]
pub struct UnreadableDocument(pub String);

/// The reason why entries were not added to a document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentWriteError {
    /// The document would hold this many events, more than [`HARD_ENTRIES`].
    #[error("the index would hold {0} events; at most {HARD_ENTRIES} fit into one document")]
    Full(usize),
    /// automerge rejected the entries.
    #[error("the index rejected the entries: {0}")]
    Refused(String),
}

/// A replication index in memory, with an actor of its own.
#[derive(Clone)]
pub struct IndexDocument {
    doc: Automerge,
    known: HashSet<EventId>,
    /// The number of increments that are stored after the last snapshot, and their bytes.
    increments: usize,
    increment_bytes: usize,
}

impl std::fmt::Debug for IndexDocument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Document").field("entries", &self.known.len()).finish_non_exhaustive()
    }
}

/// Returns the id of the map of entries, the same in every document.
fn entries() -> ObjId {
    ObjId::Id(ENTRIES, ActorId::from(GENESIS_ACTOR), 0)
}

/// Estimates the memory of a document with this many operations: 29 MB for 10,000 entries of 500 bytes.
fn estimated_bytes(ops: u64) -> usize {
    64 * 1024 + 2900 * ops as usize
}

fn commit_options() -> CommitOptions {
    CommitOptions::default().with_time(0)
}

/// Returns the document before the first write. Its bytes must be the same everywhere, or documents could not be
/// merged.
fn genesis() -> Automerge {
    let mut doc = Automerge::new().with_actor(ActorId::from(GENESIS_ACTOR));
    // Writing to a new document cannot fail. If the map were missing, the first write would fail.
    let made = doc.transact_with(
        |()| commit_options(),
        |tx| {
            tx.put(ROOT, "v", 1_u64)?;
            tx.put_object(ROOT, "e", ObjType::Map).map(|_| ())
        },
    );
    drop(made);
    doc
}

impl IndexDocument {
    /// Creates an empty document.
    pub fn empty() -> Self {
        Self::from_parts(genesis(), HashSet::new())
    }

    fn from_parts(doc: Automerge, known: HashSet<EventId>) -> Self {
        // Every instance gets a new actor. With the old one, a restored copy would reuse sequence numbers for other
        // changes, and the documents could never be merged again.
        Self { doc: doc.with_actor(ActorId::random()), known, increments: 0, increment_bytes: 0 }
    }

    /// Loads a document from its chunks, oldest first; an empty one if there are none.
    ///
    /// # Errors
    /// If the chunks are not those that [`NextDocument::chunk`] returned.
    pub fn load(chunks: &[Vec<u8>]) -> Result<Self, UnreadableDocument> {
        let Some(first) = chunks.first() else { return Ok(Self::empty()) };
        let whole = first.get(scan::TYPE_OFFSET) == Some(&scan::DOCUMENT);
        let mut bytes = if whole { Vec::new() } else { genesis().save() };
        bytes.extend(chunks.iter().flatten());
        let unreadable = |why: &dyn std::fmt::Display| UnreadableDocument(why.to_string());
        let doc = Automerge::load(&bytes).map_err(|error| unreadable(&error))?;
        if !doc.get_missing_deps(&[]).is_empty() {
            return Err(unreadable(&"a chunk is missing"));
        }
        // The map of a document with another first change is elsewhere, so the two could not be merged.
        let beginning = genesis().get_heads();
        if beginning.iter().any(|head| doc.get_change_meta_by_hash(head).is_none()) {
            return Err(unreadable(&"it does not continue the stored document"));
        }
        let known = doc.keys(entries()).map(|key| key.parse()).collect::<Result<HashSet<EventId>, _>>();
        let known = known.map_err(|error| unreadable(&error))?;
        let increments = chunks.len() - usize::from(whole);
        let increment_bytes = chunks.iter().skip(usize::from(whole)).map(Vec::len).sum();
        Ok(Self { increments, increment_bytes, ..Self::from_parts(doc, known) })
    }

    /// Creates the document of exactly these events, in any order, with the same bytes on every device.
    ///
    /// # Errors
    /// If automerge rejects them.
    pub fn rebuild(mut events: Vec<DocumentEntry>) -> Result<NextDocument, DocumentWriteError> {
        events.sort_unstable_by_key(|entry| entry.id);
        events.dedup_by_key(|entry| entry.id);
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"ergo/rebuild/1");
        for entry in &events {
            // Signatures are hashed, too, since one actor must never write two different documents.
            hasher.update(&entry.id.0);
            hasher.update(&entry.signature);
        }
        let actor = ActorId::from(&hasher.finalize().as_bytes()[..GENESIS_ACTOR.len()]);
        let mut document = Self::empty();
        document.doc.set_actor(actor);
        document.put(&events)?;
        document.renew_actor();
        let chunk = Some(ChunkUpdate::Snapshot(document.doc.save()));
        Ok(NextDocument { document, chunk, new: events.into_iter().map(|entry| entry.id).collect() })
    }

    /// Continues with another actor, since it is unknown whether the last writes of this one were stored.
    pub fn renew_actor(&mut self) {
        self.doc.set_actor(ActorId::random());
    }

    /// Returns the size and heads.
    pub fn summary(&self) -> DocumentSummary {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"ergo/heads/1");
        let mut heads = self.doc.get_heads();
        heads.sort_unstable();
        for head in heads {
            hasher.update(head.as_ref());
        }
        DocumentSummary { entries: self.known.len() as u64, heads: *hasher.finalize().as_bytes(), ops: self.ops() }
    }

    /// Returns the events, in no order.
    pub fn ids(&self) -> impl Iterator<Item = EventId> {
        self.known.iter().copied()
    }

    /// Estimates the document's memory in bytes.
    pub fn estimated_bytes(&self) -> usize {
        estimated_bytes(self.ops())
    }

    fn ops(&self) -> u64 {
        self.doc.stats().num_ops
    }

    fn contains_change(&self, change: &ChangeHash) -> bool {
        self.doc.get_change_meta_by_hash(change).is_some()
    }

    /// Adds these events, except those that the document holds.
    ///
    /// # Errors
    /// If the document would hold more than [`HARD_ENTRIES`] events.
    pub fn with_entries(&self, entries: &[DocumentEntry]) -> Result<NextDocument, DocumentWriteError> {
        let mut seen = HashSet::new();
        let new: Vec<DocumentEntry> =
            entries.iter().filter(|entry| !self.known.contains(&entry.id) && seen.insert(entry.id)).cloned().collect();
        if self.known.len() + new.len() > HARD_ENTRIES {
            return Err(DocumentWriteError::Full(self.known.len() + new.len()));
        }
        let mut document = self.clone();
        document.put(&new)?;
        let ids = new.into_iter().map(|entry| entry.id).collect();
        Ok(document.next_after(self, None, ids))
    }

    /// Returns the same document, to be stored as a snapshot.
    pub fn compacted(&self) -> NextDocument {
        let document = Self { increments: 0, increment_bytes: 0, ..self.clone() };
        let chunk = Some(ChunkUpdate::Snapshot(document.doc.save()));
        NextDocument { document, chunk, new: Vec::new() }
    }

    /// Completes the state that follows `before`; `changes` are those between the two, if known.
    fn next_after(mut self, before: &Self, changes: Option<Vec<u8>>, new: Vec<EventId>) -> NextDocument {
        let heads = before.doc.get_heads();
        if self.doc.get_heads() == heads {
            return NextDocument { document: self, chunk: None, new };
        }
        let chunk = if before.increments >= MAX_INCREMENTS || before.increment_bytes > MAX_INCREMENT_BYTES {
            (self.increments, self.increment_bytes) = (0, 0);
            ChunkUpdate::Snapshot(self.doc.save())
        } else {
            // automerge compresses the changes that it returns, and would decompress them again when it loads them.
            let bytes = changes.unwrap_or_else(|| self.doc.save_after(&heads));
            self.increments = before.increments + 1;
            self.increment_bytes = before.increment_bytes + bytes.len();
            ChunkUpdate::Append(bytes)
        };
        NextDocument { document: self, chunk: Some(chunk), new }
    }

    /// Adds entries that the document does not hold.
    fn put(&mut self, new: &[DocumentEntry]) -> Result<(), DocumentWriteError> {
        let mut rest = new;
        while !rest.is_empty() {
            let mut bytes = 0;
            let small = |entry: &&DocumentEntry| {
                bytes += entry.header.len();
                bytes < CHANGE_BYTES
            };
            let count = rest.iter().take(MAX_ENTRIES_PER_CHANGE).take_while(small).count().max(1);
            let (change, later) = rest.split_at(count);
            rest = later;
            let map = entries();
            self.doc
                .transact_with(
                    |()| commit_options(),
                    |tx| change.iter().try_for_each(|entry| tx.put(&map, entry.id.to_hex(), entry.value())),
                )
                .map_err(|failure| DocumentWriteError::Refused(failure.error.to_string()))?;
            self.known.extend(change.iter().map(|entry| entry.id));
        }
        Ok(())
    }
}
