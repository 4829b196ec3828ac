//! ergo: memory for coding agents that keeps decisions with their reasons, and refuses what contradicts them.
//!
//! The code map and the invariants between these modules are in `ARCHITECTURE.md`; `tests/it/arch.rs` checks the edges.
#![allow(missing_docs, reason = "an application: its modules are not a public API")]

pub mod cli;
pub mod client;
pub mod config;
pub mod daemon;
pub mod engine;
pub mod files;
pub mod infer;
pub mod interchange;
pub mod mcp;
pub mod setup;
mod steps;
pub mod store;
pub mod sync;
pub mod tui;
mod worker;

pub use ergo_core::{api, domain, guard, notes, recall, story};
