//! What may become of a call.

use crate::{domain::replica::DocumentId, sync::gate::Violation};

/// Why the replication index did not do what it was asked. Display is for people.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DocumentError {
    /// The peer broke a rule: nothing of its session was taken. Stop exchanging this document with it.
    #[error(transparent)]
    Violation(#[from] Violation),
    /// The process that reads documents ended, hung or ran out of memory on this call, which carried a peer's bytes. Stop
    /// exchanging this document with that peer.
    #[error(
        "what the peer sent ended the process that reads it ({why}). Nothing of it was taken, and everything else goes on; exchange a bundle instead"
    )]
    Poisoned {
        /// How it ended.
        why: String,
    },
    /// The stored bytes of a document cannot be read: rebuild it from the events.
    #[error(
        "the stored index {document:?} cannot be read ({why}); it is made anew from the events, of which none is lost"
    )]
    Broken {
        /// Which one.
        document: DocumentId,
        /// What is wrong with it.
        why: String,
    },
    /// The worker was replaced through no fault of this session: begin it anew.
    #[error("the exchange was interrupted, and begins anew")]
    Interrupted,
    /// There is no worker, or it has no room: try later.
    #[error("the index cannot be worked on now: {why}")]
    Unavailable {
        /// Why.
        why: String,
    },
    /// More than a document or a message holds.
    #[error("{why}")]
    TooLarge {
        /// What, and how much is allowed.
        why: String,
    },
}

impl DocumentError {
    /// The word under which it is stored and sent.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Violation(violation) => violation.code.as_str(),
            Self::Poisoned { .. } => "poisoned",
            Self::Broken { .. } => "broken",
            Self::Interrupted => "interrupted",
            Self::Unavailable { .. } => "unavailable",
            Self::TooLarge { .. } => "too_large",
        }
    }
}
