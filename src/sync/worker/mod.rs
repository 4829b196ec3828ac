//! The replication index in a process of its own, `ergo worker sync`: the only place where automerge reads bytes.
//!
//! 182 bytes can cost 730 MB and seconds there, and a mistake in its decoders is a panic. The gate refuses what is known to do
//! that; whatever is not known ends the worker and costs one call. The daemon holds documents as bytes, and asks through
//! [`Documents`].

mod documents;
mod error;
mod host;
mod link;
mod wire;

#[cfg(test)]
mod tests;

pub use documents::{Documents, Session, Shelf, Staged};
pub use error::DocumentError;
pub use host::serve;
pub use link::{Options, WorkerInfo};
