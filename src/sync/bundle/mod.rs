//! Bundles: files that carry events between devices without a network.
//!
//! A bundle holds signed events, first those of the roster, then scope by scope. Its open header says which
//! team it is of, who made it and whom it is sealed to; everything else is encrypted, each scope with a key of
//! its own, so that nobody opens what they may not read. Frames of at most [`MAX_CHUNK_EVENTS`] events are
//! compressed, encrypted and checked one by one: what is readable of a damaged file is used, and what is
//! missing is named. The last frame signs the whole.
//!
//! A *receipt* is a bundle without events that says what its maker has; a *grant* is a bundle of the roster
//! alone. A [`note`], such as the card of a device that asks to be admitted, has a format of its own.
//!
//! ```text
//! magic 8 | kind 1 | version 1 | length u32 | Header                           little endian, all of it open
//! frame: kind 1 | section u32 | stored u32 | plain u32 | check 32 | bytes      zstd, then ChaCha20-Poly1305 unless open
//!   Manifest   once, section 0
//!   Head       once a section: its scope, how many events follow, how far the maker's chains reach
//!   Events     CBOR, at most 1,024 events, in the order of the sections; section 0 is the roster
//!   Trailer    once, never sealed: counts, a digest of all checks, the maker's signature
//! ```
//!
//! Pure: bytes and randomness are passed in. A bundle never holds automerge's bytes.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod error;
mod event_chunk;
mod format;
pub mod note;
mod reader;
mod seal;
#[cfg(test)]
mod tests;
mod writer;

pub use error::{BundleDamage, BundleError};
pub use event_chunk::{MAX_CHUNK_BYTES, MAX_CHUNK_EVENTS};
pub use format::{
    BundleHeader, BundleId, BundleManifest, FileKind, MAX_RECIPIENTS, MAX_SECTIONS, SectionHead, file_kind,
};
pub use reader::{BundleItem, BundleReader, BundleReport};
pub use writer::{BundlePlan, BundleWriter, Recipient};
