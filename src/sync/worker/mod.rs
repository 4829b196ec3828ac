//! The replication index in a worker process, `ergo worker sync`.
//!
//! automerge turns 182 hostile bytes into 730 MB of memory, and panics where its decoders are wrong. The preflight
//! check rejects the input that is known to do that. Other such input ends the worker and fails one call. The daemon
//! holds documents as bytes and edits them through [`Documents`].
//!
//! Architecture Invariant: automerge reads bytes in the worker process alone. So a peer cannot crash the daemon.

mod documents;
mod error;
mod host;
mod link;
mod wire;

#[cfg(test)]
mod tests;

pub use documents::{DocumentSession, DocumentStore, Documents, StagedDocument};
pub use error::DocumentError;
pub use host::serve;
pub use link::{DocumentWorkerInfo, WorkerOptions};
