//! `ergo-bench agents`: what coding agents wait for. Hooks and bridges are processes that end at once or live with a session; both are measured from
//! the outside, as the agent's program sees them, beside a daemon of their own with the built-in models.
//!
//! In the end every write that was acknowledged is looked for: none may be lost, and none there twice.

mod bridge;
mod crowd;
mod home;
mod hooks;
mod report;

use std::{path::PathBuf, sync::Arc, time::Duration};

use self::home::Home;
use super::store::BenchError;
use ergo::infer::Models;
pub use report::{Crowd, Hook, Report};

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// Active claims in the scope.
    pub claims: usize,
    /// How often each hook runs, and how many bridges are started one after the other.
    pub samples: usize,
    /// Agents that write and ask at once.
    pub clients: usize,
    /// How long they do.
    pub time: Duration,
    /// Where the home is made; the caller removes it. The path must be short: a socket lies in it.
    pub folder: PathBuf,
    /// The program that is the daemon, the hooks and the bridges.
    pub program: PathBuf,
}

/// Makes a home, measures, and counts. `models` embed what the home holds. `progress` is told in words what goes on.
///
/// # Errors
/// Where the store, a model or the daemon fails, or a bridge answers what is no answer.
pub fn run(options: &Options, models: &Arc<dyn Models>, progress: &mut dyn FnMut(&str)) -> Result<Report, BenchError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| BenchError::Io { path: PathBuf::from("the runtime"), error })?;
    progress(&format!("filling a store with {} claims", options.claims));
    let mut home = Home::make(options, models)?;
    runtime.block_on(home.start())?;
    progress("running hooks");
    let hooks = hooks::measure(&home, options.claims, options.samples, "alone")?;
    progress("starting bridges");
    let (bridge_ms, first_call_ms) = bridge::starts(&home, options.samples)?;
    progress(&format!("{} agents at once, for {} s", options.clients, options.time.as_secs()));
    let (answers, hooks_in_crowd) = crowd::all(&home, options)?;
    progress("counting what they wrote");
    let crowd = runtime.block_on(answers.counted(&home))?;
    runtime.block_on(home.daemon.stop())?;
    let claims = options.claims;
    Ok(Report { claims, hooks, bridge_ms, first_call_ms, crowd, hooks_in_crowd, bars: Vec::new() }.judged())
}
