//! ergo: memory for coding agents that remembers why, and refuses to contradict itself in silence.
//!
//! The code map and the invariants between these modules are in `ARCHITECTURE.md`; `tests/it/arch.rs` checks the edges.

pub mod api;
pub mod cli;
pub mod client;
pub mod config;
pub mod daemon;
pub mod domain;
pub mod engine;
pub mod files;
pub mod guard;
pub mod infer;
pub mod interchange;
pub mod mcp;
pub mod recall;
pub mod setup;
mod steps;
pub mod store;
pub mod sync;
pub mod tui;
mod worker;
