//! ergo: memory for coding agents that keeps decisions with their reasons, and refuses what contradicts them.
//!
//! The code map and the invariants between these modules are in `ARCHITECTURE.md`; `tests/it/arch.rs` checks the edges.

#[allow(missing_docs, reason = "no other crate uses it")]
pub mod cli;
pub mod client;
pub mod config;
#[allow(missing_docs, reason = "no other crate uses it")]
pub mod daemon;
pub mod engine;
pub mod files;
pub mod infer;
#[allow(missing_docs, reason = "ergo-bench uses `rules::parse` alone")]
pub mod interchange;
#[allow(missing_docs, reason = "no other crate uses it")]
pub mod mcp;
pub mod setup;
mod steps;
pub mod store;
pub mod sync;
#[allow(missing_docs, reason = "no other crate uses it")]
pub mod tui;
mod worker;

pub use ergo_core::{api, domain, guard, notes, recall, story};
