//! What ergo computes from its arguments alone: no file, clock, thread or network. The rest of the program is in `lib.rs`.
//!
//! It is a package of its own (`core/Cargo.toml`), so that the compiler holds this border.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod api;
pub mod domain;
pub mod guard;
pub mod notes;
pub mod recall;
pub mod story;
