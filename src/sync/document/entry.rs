//! The entries of a document, and what is stored of it, as plain data.

use minicbor::{Decode, Encode};

use crate::domain::{EventId, SignedEvent};

/// An event in a document.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct DocumentEntry {
    /// The hash of the header.
    #[n(0)]
    pub id: EventId,
    /// The author's signature. The document does not verify it.
    #[cbor(n(1), with = "minicbor::bytes")]
    pub signature: [u8; 64],
    /// The header's canonical bytes.
    #[cbor(n(2), with = "minicbor::bytes")]
    pub header: Vec<u8>,
}

impl DocumentEntry {
    /// Creates the entry of an event.
    pub fn of(event: &SignedEvent) -> Self {
        Self { id: event.id, signature: event.signature, header: event.header_bytes.clone() }
    }

    pub(super) fn value(&self) -> Vec<u8> {
        [&self.signature, &*self.header].concat()
    }

    /// Whether the author's signature is valid.
    pub(super) fn verifies(&self) -> bool {
        SignedEvent::from_parts(self.header.clone(), self.signature, None).is_ok_and(|event| event.verify().is_ok())
    }
}

/// The way to store a change of a document.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum ChunkUpdate {
    /// Append it to the stored chunks.
    #[n(0)]
    Append(#[cbor(n(0), with = "minicbor::bytes")] Vec<u8>),
    /// Replace all stored chunks.
    #[n(1)]
    Snapshot(#[cbor(n(0), with = "minicbor::bytes")] Vec<u8>),
}

/// The size and heads of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct DocumentSummary {
    /// The number of events.
    #[n(0)]
    pub entries: u64,
    /// BLAKE3 of its heads in ascending order: equal hashes mean equal documents.
    #[cbor(n(1), with = "minicbor::bytes")]
    pub heads: [u8; 32],
    /// The number of operations: one for each entry, and one more if an entry arrived both by an exchange and another
    /// way.
    #[n(2)]
    pub ops: u64,
}
