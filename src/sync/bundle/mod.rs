//! Bundles: the road between laptops that share no network, as files.
//!
//! A bundle holds signed events, first those of the roster, then scope by scope. What stands open at its beginning says which team it is
//! of, who made it and whom it is sealed to; everything else is sealed, each scope with a key of its own, so that nobody opens what
//! he may not read. Frames of at most [`MAX_CHUNK_EVENTS`] events are packed, checked and sealed one by one: what arrives of a broken
//! file is used, and what is missing is named. The last frame signs the whole.
//!
//! A *receipt* is a bundle that says what its maker has and holds no events; a *grant* is one that holds the roster alone. Only a
//! [`note`], the card of a device that asks to be let in, is another form.
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
//! Everything here is pure: bytes and randomness come in as arguments. No automerge bytes are ever in a bundle.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod chunk;
mod error;
mod format;
pub mod note;
mod reader;
mod seal;
#[cfg(test)]
mod tests;
mod writer;

pub use chunk::{MAX_CHUNK_BYTES, MAX_CHUNK_EVENTS};
pub use error::{BundleError, Damage};
pub use format::{BundleId, FileKind, Head, Header, MAX_RECIPIENTS, MAX_SECTIONS, Manifest, kind_of};
pub use reader::{BundleReader, Ending, Item};
pub use writer::{BundleWriter, Plan, Recipient};
