//! The steps of a session by name, such as `send DURABLE`, `receive WANT`, `store` or `stored`, so that a test
//! can end a daemon at each of them.

use std::fmt;

use crate::{steps, sync::frame::name};

/// A step of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionStep {
    /// A message of this type is about to be sent.
    Send(u8),
    /// A message of this type was received and not handled yet.
    Receive(u8),
    /// Received events are about to be stored.
    Store,
    /// They are stored but not yet reported to the peer.
    Stored,
}

/// Records that a step was reached.
pub(super) fn at(step: SessionStep) {
    steps::reached(step);
}

impl fmt::Display for SessionStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send(kind) => write!(f, "send {}", name(*kind)),
            Self::Receive(kind) => write!(f, "receive {}", name(*kind)),
            Self::Store => f.write_str("store"),
            Self::Stored => f.write_str("stored"),
        }
    }
}
