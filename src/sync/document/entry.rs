//! What goes into a document and comes out of it, as plain data.

use minicbor::{Decode, Encode};

use crate::domain::{EventId, SignedEvent};

/// An event as it stands in a document.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Entry {
    /// The hash of the header.
    #[n(0)]
    pub id: EventId,
    /// The author's signature. Not verified by anything in here.
    #[cbor(n(1), with = "minicbor::bytes")]
    pub signature: [u8; 64],
    /// The header's canonical bytes.
    #[cbor(n(2), with = "minicbor::bytes")]
    pub header: Vec<u8>,
}

impl Entry {
    /// The entry of an event.
    pub fn of(event: &SignedEvent) -> Self {
        Self { id: event.id, signature: event.signature, header: event.header_bytes.clone() }
    }

    pub(super) fn value(&self) -> Vec<u8> {
        [&self.signature, &*self.header].concat()
    }

    /// Whether the author signed it.
    pub(super) fn verifies(&self) -> bool {
        SignedEvent::from_parts(self.header.clone(), self.signature, None).is_ok_and(|event| event.verify().is_ok())
    }
}

/// What of a document is to be stored.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Chunk {
    /// Behind what is stored.
    #[n(0)]
    Append(#[cbor(n(0), with = "minicbor::bytes")] Vec<u8>),
    /// Instead of all that is stored.
    #[n(1)]
    Snapshot(#[cbor(n(0), with = "minicbor::bytes")] Vec<u8>),
}

/// What a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Facts {
    /// How many events it holds.
    #[n(0)]
    pub entries: u64,
    /// BLAKE3 of its heads in ascending order: equal ones mean equal documents.
    #[cbor(n(1), with = "minicbor::bytes")]
    pub heads: [u8; 32],
    /// Operations: entries, and those that came in by two ways once more.
    #[n(2)]
    pub ops: u64,
}
