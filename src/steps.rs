//! Named steps at which a test can kill the program, to check that the work survives `kill -9`.
//!
//! A debug build kills itself at the step that the environment variable `ERGO_STOP_AT` names, such as `send DURABLE` or
//! `backup copied`; with `commit #3`, when it reaches the step `commit` for the third time. Release builds ignore the
//! variable.

use std::fmt::Display;

/// Kills the program if the step is the one that `ERGO_STOP_AT` names.
#[cfg(debug_assertions)]
pub(crate) fn reached(step: impl Display) {
    use std::sync::{
        LazyLock,
        atomic::{AtomicU32, Ordering},
    };

    /// The step, and how many more times the program must reach it.
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

        // SIGKILL, so that nothing is flushed, closed or logged.
        let _dead = kill_process(getpid(), Signal::KILL);
    }
}

/// Kills the program if the step is the one that `ERGO_STOP_AT` names.
#[cfg(not(debug_assertions))]
pub(crate) fn reached(_: impl Display) {}
