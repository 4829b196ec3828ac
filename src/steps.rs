//! Named steps of work that must survive `kill -9`, so that a test can end the program at each of them.
//!
//! A debug build whose environment has `ERGO_STOP_AT`, such as `send DURABLE` or `backup copied`, ends at that step as `kill -9` ends it. The
//! optimised program, which people have, does not know the variable.

use std::fmt::Display;

/// Marks that a step was reached.
#[cfg(debug_assertions)]
pub(crate) fn reached(step: impl Display) {
    use std::sync::LazyLock;

    static STOP_AT: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("ERGO_STOP_AT").ok());
    if STOP_AT.as_deref().is_some_and(|stop| stop == step.to_string()) {
        use rustix::process::{Signal, getpid, kill_process};

        // Nothing is flushed, closed or said any more.
        let _dead = kill_process(getpid(), Signal::KILL);
    }
}

/// Marks that a step was reached.
#[cfg(not(debug_assertions))]
pub(crate) fn reached(_: impl Display) {}
