//! `ergo-bench sync`: two daemons on this machine's loopback, as their clients see them.
//!
//! How long everything takes to come over for the first time, what that costs in memory and in bytes, how soon one new claim is visible
//! on the other side, how soon two who were parted are one again, and what two who have nothing to say do meanwhile. In the end both
//! stores are opened and every event is counted.

mod laptop;
pub(crate) mod proc;
mod report;
mod steps;
mod team;
mod withdraw;

use std::{path::PathBuf, time::Duration};

use self::{laptop::Laptop, steps::Meeting};
use super::store::BenchError;
pub use report::{Counted, First, Idle, Met, Report, Withdrawn};

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// Claims that the second device gets from nothing.
    pub claims: usize,
    /// Claims that are written one by one.
    pub samples: usize,
    /// Claims that each side writes while the two are parted.
    pub apart: usize,
    /// How many of those contradict one of the other side.
    pub contrary: usize,
    /// How long the two are watched while nothing happens.
    pub idle: Duration,
    /// Where both homes are made; the caller removes it. The path must be short: sockets lie in it.
    pub folder: PathBuf,
    /// The program that is the daemon.
    pub program: PathBuf,
}

impl Options {
    /// 10,000 claims at first, 50 one by one, 50 on each side of a partition, 20 s of silence.
    pub fn new(folder: impl Into<PathBuf>, program: impl Into<PathBuf>) -> Self {
        Self {
            claims: 10_000,
            samples: 50,
            apart: 50,
            contrary: 10,
            idle: Duration::from_secs(20),
            folder: folder.into(),
            program: program.into(),
        }
    }
}

/// Makes two homes, measures, and counts. `progress` is told in words what goes on.
///
/// # Errors
/// Where a store or a daemon fails, or something does not happen within minutes.
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Report, BenchError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| BenchError::Io { path: PathBuf::from("the runtime"), error })?;
    runtime.block_on(measure(options, progress))
}

async fn measure(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Report, BenchError> {
    let mut meeting = Meeting::new(Laptop::founder(options)?, Laptop::joiner(options)?, options);
    progress(&format!("writing {} claims on the first device", options.claims));
    let filled = team::found(&meeting.ada, &meeting.bob, options).await?;
    meeting.team = filled.team;
    meeting.start().await?;
    progress("the second device gets everything for the first time");
    let first = meeting.first(&filled).await?;
    progress(&format!("{} claims, one by one", options.samples));
    let (one_ms, one_after_ms) = meeting.one_by_one().await?;
    progress(&format!("{} claims on each side while the two are parted", options.apart));
    let met = meeting.apart().await?;
    progress(&format!("nothing, for {} s", options.idle.as_secs()));
    let idle = meeting.idle().await?;
    progress("counting every event on both sides");
    let counted = meeting.count().await?;
    progress(&format!("taking {} claims of a third device back", options.claims));
    let withdrawn = withdraw::measure(&meeting.ada, &Laptop::third(options)?, filled.team, options.claims)?;
    let claims = options.claims;
    let bars = Vec::new();
    Ok(Report { claims, first, one_ms, one_after_ms, met, idle, counted, withdrawn, bars }.judged())
}
