//! Parsers and writers of other formats for decisions and rules.
//!
//! Invariant: no I/O and no clock. The command line reads and writes the files, and sends the parsed claims to the daemon, so that
//! the guard checks them.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod adr;
pub mod adr_export;
pub mod agents_export;
pub mod chat;
#[cfg(test)]
mod fixture;
pub mod jsonl;
pub mod line_diff;
pub mod markdown;
pub mod memory;
pub mod plan;
pub mod rules;
pub mod sentence;

/// Returns the reason for retracting a claim whose line or record is no longer in its file.
pub fn no_longer_in(path: &str) -> String {
    format!("No longer in {path}.")
}

/// Returns the reason for reinstating a claim whose line is in its file again.
pub fn again_in(path: &str) -> String {
    format!("Again in {path}.")
}

/// Text of an imported file that became no claim.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SkippedText {
    /// The line, from 1.
    pub line: usize,
    /// The text, shortened.
    pub text: String,
    /// Why it was skipped.
    pub why: String,
}
