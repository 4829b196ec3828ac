//! The errors of the replication index.

use crate::{domain::replica::DocumentId, sync::preflight::Violation};

/// The reason why the replication index rejected or failed a call. The message is for people.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DocumentError {
    /// The peer broke a rule. Nothing of its session was accepted: stop exchanging this document with it.
    #[error(transparent)]
    Violation(#[from] Violation),
    /// The worker exited, hung or ran out of memory on a call with a peer's bytes. Stop exchanging this
    /// document with that peer.
    #[error(
        "a message from the peer crashed the worker that reads it ({why}). Nothing of it was accepted, and other \
            documents still sync; exchange a bundle instead (`ergo sync export`, `ergo sync import`)"
    )]
    Poisoned { why: String },
    /// The stored bytes of a document are invalid: rebuild it from the events.
    #[error("the stored index {document:?} cannot be read ({why}); it is rebuilt from the events, and none is lost")]
    Corrupt { document: DocumentId, why: String },
    /// The worker was replaced, through no fault of this session: begin the exchange again.
    #[error("the exchange was interrupted and starts again")]
    Interrupted,
    /// The worker cannot be started, or has no capacity: try later.
    #[error("the index is unavailable now: {why}")]
    Unavailable { why: String },
    /// A document or a message would exceed its limit.
    #[error("{why}")]
    TooLarge {
        /// Names the size and the limit.
        why: String,
    },
}

impl DocumentError {
    /// Returns the stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Violation(violation) => violation.code.as_str(),
            Self::Poisoned { .. } => "poisoned",
            Self::Corrupt { .. } => "broken",
            Self::Interrupted => "interrupted",
            Self::Unavailable { .. } => "unavailable",
            Self::TooLarge { .. } => "too_large",
        }
    }
}
