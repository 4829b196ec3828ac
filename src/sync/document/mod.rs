//! The replication index of one team, scope and month: an automerge document with one map, from the id of an event to its
//! signature and header.
//!
//! It decides nothing and holds nothing that is not in the store: it says which events two peers lack of each other, and
//! can be made anew from the events at any time. Only ever called in the worker process, see [`super::worker`].

mod entry;
mod exchange;

#[cfg(test)]
pub(in crate::sync) mod tests;

use std::collections::HashSet;

use automerge::{
    ActorId, Automerge, ChangeHash, ObjId, ObjType, ROOT, ReadDoc,
    transaction::{CommitOptions, Transactable},
};

use super::gate::{MAX_ENTRIES_PER_CHANGE, scan};
use crate::domain::EventId;

pub use entry::{Chunk, Entry, Facts};
pub use exchange::{Exchange, Step};

/// The events after which a writer begins another part of the month.
pub const SOFT_ENTRIES: usize = 10_000;

/// The most events that a writer puts into one document.
pub const HARD_ENTRIES: usize = 20_000;

/// The actor that began every document; nobody writes as it.
pub(super) const GENESIS_ACTOR: &[u8] = &[0; 16];

/// The operation of [`GENESIS_ACTOR`] that made the map of entries.
pub(super) const ENTRIES: u64 = 2;

/// Values of one change, in bytes, after which another one is begun.
const CHANGE_BYTES: usize = 1024 * 1024;

/// A document whose increments are that many is stored whole again; also one with so many bytes of them.
const MANY_INCREMENTS: usize = 500;
const LARGE_INCREMENTS: usize = 4 * 1024 * 1024;

/// The next state of a document, worked out and not yet taken.
#[derive(Debug)]
pub struct Next {
    /// The document.
    pub document: Document,
    /// What is to be stored of it; `None` where nothing changed.
    pub chunk: Option<Chunk>,
    /// The events that are new in it.
    pub new: Vec<EventId>,
}

/// Bytes that are no document of ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stored index cannot be read: {0}")]
pub struct Unreadable(pub String);

/// Why entries were not put into a document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// It would hold so many, more than [`HARD_ENTRIES`].
    #[error("the index would hold {0} events; at most {HARD_ENTRIES} go into one: begin another part of the month")]
    Full(usize),
    /// automerge said so.
    #[error("the index took no entries: {0}")]
    Refused(String),
}

/// A replication index in memory, written to by an actor of its own.
#[derive(Clone)]
pub struct Document {
    doc: Automerge,
    known: HashSet<EventId>,
    /// How many increments are stored behind the last snapshot, and their bytes.
    increments: usize,
    increment_bytes: usize,
}

impl std::fmt::Debug for Document {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Document").field("entries", &self.known.len()).finish_non_exhaustive()
    }
}

/// The map of entries: the same operation in every document.
fn entries() -> ObjId {
    ObjId::Id(ENTRIES, ActorId::from(GENESIS_ACTOR), 0)
}

fn silent() -> CommitOptions {
    CommitOptions::default().with_time(0)
}

/// The document before anything was written: the same bytes everywhere, or documents could not meet.
fn genesis() -> Automerge {
    let mut doc = Automerge::new().with_actor(ActorId::from(GENESIS_ACTOR));
    // Writing to a new document cannot fail; one without its map would hold nothing, and say so when it is written to.
    let made = doc.transact_with(
        |()| silent(),
        |tx| {
            tx.put(ROOT, "v", 1_u64)?;
            tx.put_object(ROOT, "e", ObjType::Map).map(|_| ())
        },
    );
    drop(made);
    doc
}

impl Document {
    /// An empty document.
    pub fn create() -> Self {
        Self::over(genesis(), HashSet::new())
    }

    fn over(doc: Automerge, known: HashSet<EventId>) -> Self {
        // A new actor for every life of a document: one that came back with an older copy would write other changes under
        // numbers that it has used, and the documents would never meet again.
        Self { doc: doc.with_actor(ActorId::random()), known, increments: 0, increment_bytes: 0 }
    }

    /// The document in these chunks, in the order in which they were stored; an empty one where there are none.
    ///
    /// # Errors
    /// Where they are not what [`Next::chunk`] gave.
    pub fn load(chunks: &[Vec<u8>]) -> Result<Self, Unreadable> {
        let Some(first) = chunks.first() else { return Ok(Self::create()) };
        let whole = first.get(scan::TYPE_AT) == Some(&scan::DOCUMENT);
        let mut bytes = if whole { Vec::new() } else { genesis().save() };
        bytes.extend(chunks.iter().flatten());
        let unreadable = |why: &dyn std::fmt::Display| Unreadable(why.to_string());
        let doc = Automerge::load(&bytes).map_err(|error| unreadable(&error))?;
        if !doc.get_missing_deps(&[]).is_empty() {
            return Err(unreadable(&"a part of it is missing"));
        }
        // A document that began otherwise has its map elsewhere, and would take no entries.
        let beginning = genesis().get_heads();
        if beginning.iter().any(|head| doc.get_change_meta_by_hash(head).is_none()) {
            return Err(unreadable(&"it begins otherwise"));
        }
        let known = doc.keys(entries()).map(|key| key.parse()).collect::<Result<HashSet<EventId>, _>>();
        let known = known.map_err(|error| unreadable(&error))?;
        let increments = chunks.len() - usize::from(whole);
        let increment_bytes = chunks.iter().skip(usize::from(whole)).map(Vec::len).sum();
        Ok(Self { increments, increment_bytes, ..Self::over(doc, known) })
    }

    /// The document of these events and no others, in whatever order they come: the same bytes everywhere.
    ///
    /// # Errors
    /// Where automerge refuses them.
    pub fn rebuild(mut events: Vec<Entry>) -> Result<Next, WriteError> {
        events.sort_unstable_by_key(|entry| entry.id);
        events.dedup_by_key(|entry| entry.id);
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"ergo/rebuild/1");
        for entry in &events {
            // The signatures too: one actor must never write two different documents.
            hasher.update(&entry.id.0);
            hasher.update(&entry.signature);
        }
        let actor = ActorId::from(&hasher.finalize().as_bytes()[..GENESIS_ACTOR.len()]);
        let mut document = Self::create();
        document.doc.set_actor(actor);
        document.put(&events)?;
        document.renew();
        let chunk = Some(Chunk::Snapshot(document.doc.save()));
        Ok(Next { document, chunk, new: events.into_iter().map(|entry| entry.id).collect() })
    }

    /// Writes as another actor from now on: what this one wrote last is neither known to be stored nor to be lost.
    pub fn renew(&mut self) {
        self.doc.set_actor(ActorId::random());
    }

    /// What it is.
    pub fn facts(&self) -> Facts {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"ergo/heads/1");
        let mut heads = self.doc.get_heads();
        heads.sort_unstable();
        for head in heads {
            hasher.update(head.as_ref());
        }
        Facts { entries: self.known.len() as u64, heads: *hasher.finalize().as_bytes(), ops: self.ops() }
    }

    /// The events in it, in no order.
    pub fn ids(&self) -> impl Iterator<Item = EventId> {
        self.known.iter().copied()
    }

    /// An estimate of the memory that it takes, in bytes: 29 MB for 10,000 entries of 500.
    pub fn weight(&self) -> usize {
        64 * 1024 + 2900 * self.ops() as usize
    }

    fn ops(&self) -> u64 {
        self.doc.stats().num_ops
    }

    fn holds(&self, change: &ChangeHash) -> bool {
        self.doc.get_change_meta_by_hash(change).is_some()
    }

    /// With these events, those that it has left out.
    ///
    /// # Errors
    /// Where there would be more than a document may hold.
    pub fn with(&self, entries: &[Entry]) -> Result<Next, WriteError> {
        let mut seen = HashSet::new();
        let new: Vec<Entry> =
            entries.iter().filter(|entry| !self.known.contains(&entry.id) && seen.insert(entry.id)).cloned().collect();
        if self.known.len() + new.len() > HARD_ENTRIES {
            return Err(WriteError::Full(self.known.len() + new.len()));
        }
        let mut document = self.clone();
        document.put(&new)?;
        let ids = new.into_iter().map(|entry| entry.id).collect();
        Ok(document.after(self, None, ids))
    }

    /// The same document, to be stored whole.
    pub fn compacted(&self) -> Next {
        let document = Self { increments: 0, increment_bytes: 0, ..self.clone() };
        let chunk = Some(Chunk::Snapshot(document.doc.save()));
        Next { document, chunk, new: Vec::new() }
    }

    /// This document as the one that follows another one; `changes` are those between the two, where they are at hand.
    fn after(mut self, before: &Self, changes: Option<Vec<u8>>, new: Vec<EventId>) -> Next {
        let heads = before.doc.get_heads();
        if self.doc.get_heads() == heads {
            return Next { document: self, chunk: None, new };
        }
        let chunk = if before.increments >= MANY_INCREMENTS || before.increment_bytes > LARGE_INCREMENTS {
            (self.increments, self.increment_bytes) = (0, 0);
            Chunk::Snapshot(self.doc.save())
        } else {
            // automerge packs changes that it is asked for, and unpacks them again.
            let bytes = changes.unwrap_or_else(|| self.doc.save_after(&heads));
            self.increments = before.increments + 1;
            self.increment_bytes = before.increment_bytes + bytes.len();
            Chunk::Append(bytes)
        };
        Next { document: self, chunk: Some(chunk), new }
    }

    /// Puts entries that it does not have.
    fn put(&mut self, new: &[Entry]) -> Result<(), WriteError> {
        let mut rest = new;
        while !rest.is_empty() {
            let mut bytes = 0;
            let small = |entry: &&Entry| {
                bytes += entry.header.len();
                bytes < CHANGE_BYTES
            };
            let count = rest.iter().take(MAX_ENTRIES_PER_CHANGE).take_while(small).count().max(1);
            let (change, later) = rest.split_at(count);
            rest = later;
            let map = entries();
            self.doc
                .transact_with(
                    |()| silent(),
                    |tx| change.iter().try_for_each(|entry| tx.put(&map, entry.id.to_hex(), entry.value())),
                )
                .map_err(|failure| WriteError::Refused(failure.error.to_string()))?;
            self.known.extend(change.iter().map(|entry| entry.id));
        }
        Ok(())
    }
}
