//! Import and export: other forms of decisions and rules, as plain functions from text to values and back.
//!
//! Invariant: no I/O and no clock. The command line reads and writes the files, and sends what comes out of here through
//! the daemon, so that the guard sees it.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod adr;
pub mod adr_export;
pub mod agents_export;
pub mod chat;
#[cfg(test)]
mod fixture;
pub mod follow;
pub mod jsonl;
pub mod markdown;
pub mod memory;
pub mod plan;
pub mod rules;
pub mod sentence;

/// Something in an imported file that became no claim.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Skipped {
    /// The line, from 1.
    pub line: usize,
    /// What stands there, shortened.
    pub text: String,
    /// Why it was left out.
    pub why: String,
}
