//! What ergo computes from its arguments alone: no file, clock, thread or network. The rest of the program is in `lib.rs`.
//!
//! It is a package of its own (`core/Cargo.toml`), so that the compiler holds this border.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod api;
pub mod domain;
#[allow(missing_docs, reason = "its public items are the program's own, not a published API")]
pub mod guard;
#[allow(missing_docs, reason = "its public items are the program's own, not a published API")]
pub mod notes;
#[allow(missing_docs, reason = "its public items are the program's own, not a published API")]
pub mod recall;
#[allow(missing_docs, reason = "its public items are the program's own, not a published API")]
pub mod story;
