//! The steps of a session by name, such as `say DURABLE`, `hear WANT`, `store` or `stored`, so that a test can end a daemon at each of them.

use std::fmt;

use crate::{steps, sync::frame::name};

/// A step of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A message of this type is ready to be said; the peer has not heard it.
    Say(u8),
    /// A message of this type was heard, and nothing was done about it.
    Hear(u8),
    /// Events that came are about to be stored.
    Store,
    /// They are on the disk, and nobody was told.
    Stored,
}

/// The session is at a step.
pub(super) fn at(step: Step) {
    steps::reached(step);
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Say(kind) => write!(f, "say {}", name(*kind)),
            Self::Hear(kind) => write!(f, "hear {}", name(*kind)),
            Self::Store => f.write_str("store"),
            Self::Stored => f.write_str("stored"),
        }
    }
}
