//! `ergo-bench sync`: two daemons that sync over this machine's loopback network, as their clients see them.
//!
//! Measures the first sync in time, memory and bytes; how soon a new claim is visible on the other device; how soon two
//! devices are in sync again after a partition; and what two idle devices do. In the end, both stores are opened and every
//! event is counted.

mod laptop;
mod proc;
mod report;
mod steps;
mod team;
mod withdraw;

use std::{path::PathBuf, time::Duration};

use self::{laptop::Laptop, steps::Meeting};
use super::{daemon::runtime, error::BenchError};
pub use report::{AfterPartition, EventCounts, FirstSync, IdlePeers, RevocationCost, SyncReport};

/// Options of `ergo-bench sync`.
#[derive(Clone, Debug)]
pub struct SyncOptions {
    /// Claims of the first sync.
    pub claims: usize,
    /// Claims that are written one by one.
    pub samples: usize,
    /// Claims that each device writes during the partition.
    pub apart: usize,
    /// The number of these claims that contradict one of the other device.
    pub contrary: usize,
    /// The time for which the idle daemons are measured.
    pub idle: Duration,
    /// The folder of the homes, which the caller removes. Its path must be short, since sockets are created in it.
    pub folder: PathBuf,
    /// The program to run as the daemons.
    pub program: PathBuf,
}

impl SyncOptions {
    /// Measures 10,000 claims in the first sync, 50 claims one by one, 50 claims on each side of a partition, and 20 s of
    /// idle time.
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

/// Creates two homes and measures their daemons.
///
/// # Errors
/// Also if a step does not end within ten minutes.
pub fn run(options: &SyncOptions, progress: &mut dyn FnMut(&str)) -> Result<SyncReport, BenchError> {
    runtime()?.block_on(measure(options, progress))
}

async fn measure(options: &SyncOptions, progress: &mut dyn FnMut(&str)) -> Result<SyncReport, BenchError> {
    let mut meeting = Meeting::new(Laptop::founder(options)?, Laptop::joiner(options)?, options);
    progress(&format!("writing {} claims on the first device", options.claims));
    let filled = team::create(&meeting.ada, &meeting.bob, options).await?;
    meeting.team = filled.team;
    meeting.start().await?;
    progress("the second device gets everything for the first time");
    let first = meeting.first_sync(&filled).await?;
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
    Ok(SyncReport { claims, first, one_ms, one_after_ms, met, idle, counted, withdrawn, bars }.with_bars())
}
