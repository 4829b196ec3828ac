//! The steps of a session by name, so that a test can end a daemon at each of them.
//!
//! A debug build whose environment has `ERGO_STOP_AT`, such as `say DURABLE`, `hear WANT`, `store` or `stored`, ends there as `kill -9` ends
//! it. The optimised program, which people have, does not know the variable.

use std::fmt;

use crate::sync::frame::name;

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
#[cfg(debug_assertions)]
pub(super) fn at(step: Step) {
    use std::sync::LazyLock;

    static STOP_AT: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("ERGO_STOP_AT").ok());
    if STOP_AT.as_deref().is_some_and(|stop| stop == step.to_string()) {
        use rustix::process::{Signal, getpid, kill_process};

        // Nothing is flushed, closed or said any more.
        let _dead = kill_process(getpid(), Signal::KILL);
    }
}

/// The session is at a step.
#[cfg(not(debug_assertions))]
pub(super) fn at(_: Step) {}

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
