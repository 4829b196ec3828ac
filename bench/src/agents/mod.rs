//! `ergo-bench agents`: how long coding agents wait for hooks and bridges.
//!
//! Hooks are processes that end at once, bridges live as long as a session. Both are measured from the outside, as an
//! agent's program sees them, with a daemon of their own and the built-in models. In the end, every acknowledged write is
//! looked up: none may be lost, and none may be stored twice.

mod bridge;
mod crowd;
mod home;
mod hooks;
mod report;

use std::{path::PathBuf, sync::Arc, time::Duration};

use self::home::AgentsHome;
use super::{daemon::runtime, error::BenchError};
use ergo::infer::Models;
pub use report::{AgentsReport, ConcurrentAgents, HookTimes};

/// Options of `ergo-bench agents`.
#[derive(Clone, Debug)]
pub struct AgentsOptions {
    /// Active claims in the scope.
    pub claims: usize,
    /// Runs of each hook, and bridges that are started one after the other.
    pub samples: usize,
    /// Concurrent agents.
    pub clients: usize,
    /// The least time for which the concurrent agents work. They go on until all hooks beside them have run.
    pub time: Duration,
    /// The folder of the home, which the caller removes. Its path must be short, since a socket is created in it.
    pub folder: PathBuf,
    /// The program to run as daemon, hooks and bridges.
    pub program: PathBuf,
}

/// Creates a home, measures hooks, bridges and concurrent agents, and counts the claims. `models` embed the claims with
/// which the store is filled.
pub fn run(
    options: &AgentsOptions,
    models: &Arc<dyn Models>,
    progress: &mut dyn FnMut(&str),
) -> Result<AgentsReport, BenchError> {
    let runtime = runtime()?;
    progress(&format!("filling a store with {} claims", options.claims));
    let mut home = AgentsHome::make(options, models)?;
    runtime.block_on(home.start())?;
    progress("running hooks");
    let hooks = hooks::measure(&home, options.claims, options.samples, "alone")?;
    progress("starting bridges");
    let (bridge_ms, first_call_ms) = bridge::starts(&home, options.samples)?;
    progress(&format!("{} agents at once, for at least {} s", options.clients, options.time.as_secs()));
    let (answers, hooks_in_crowd) = crowd::run(&home, options)?;
    progress("counting what they wrote");
    let crowd = runtime.block_on(answers.count(&home))?;
    runtime.block_on(home.daemon.stop())?;
    let claims = options.claims;
    Ok(AgentsReport { claims, hooks, bridge_ms, first_call_ms, crowd, hooks_in_crowd, bars: Vec::new() }.with_bars())
}
