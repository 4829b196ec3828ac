//! Named steps of work that must survive `kill -9`, so that a test can end the program at each of them.
//!
//! A debug build whose environment has `ERGO_STOP_AT`, such as `send DURABLE` or `backup copied`, ends at that step as `kill -9` ends it;
//! with `commit #3`, when it comes there for the third time. The optimised program, which people have, does not know the variable.

use std::fmt::Display;

/// Marks that a step was reached.
#[cfg(debug_assertions)]
pub(crate) fn reached(step: impl Display) {
    use std::sync::{
        LazyLock,
        atomic::{AtomicU32, Ordering},
    };

    /// The step, and how often it is still passed.
    static STOP_AT: LazyLock<Option<(String, AtomicU32)>> = LazyLock::new(|| {
        let text = std::env::var("ERGO_STOP_AT").ok()?;
        let (step, count) = text.split_once(" #").unwrap_or((&text, "1"));
        Some((step.to_owned(), AtomicU32::new(count.parse().ok()?)))
    });
    if let Some((stop, left)) = &*STOP_AT
        && *stop == step.to_string()
        && left.fetch_sub(1, Ordering::Relaxed) == 1
    {
        use rustix::process::{Signal, getpid, kill_process};

        // Nothing is flushed, closed or logged any more.
        let _dead = kill_process(getpid(), Signal::KILL);
    }
}

/// Marks that a step was reached.
#[cfg(not(debug_assertions))]
pub(crate) fn reached(_: impl Display) {}
