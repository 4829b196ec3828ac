//! Simulation of peers: whatever happens, they agree in the end, and nothing is lost.
//!
//! Each seed is a world of five to eight devices with real stores: they write, contradict each other, redact and undo; they are parted and
//! meet again; exchanges are cut, repeated and shuffled; files travel in place of the network, some damaged; stores are restarted, restored
//! from old copies and moved; clocks run apart; devices join late, change their grants and are revoked. No sockets. In most worlds events go
//! from store to store; in some, sessions bring them by the replication index.
//!
//! `ERGO_SIM_SEED=7` runs one seed, `ERGO_SIM_SEEDS=10000` that many; `ERGO_SIM_DOCUMENTS=1` has them all meet
//! by their documents.

mod judge;
mod meeting;
mod peer;
mod tally;
mod world;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use tally::Tally;
use world::World;

/// Seeds of a usual run.
const SEEDS: u64 = 200;

/// Of so many worlds there is one in which devices meet as in life: by their documents, over a pipe, each with a worker. It takes half a
/// second.
const DOCUMENTS: u64 = 10;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn whatever_happens_between_peers_they_agree_and_nothing_is_lost() {
    let (first, last) = match number("ERGO_SIM_SEED") {
        Some(seed) => (seed, seed + 1),
        None => (0, number("ERGO_SIM_SEEDS").unwrap_or(SEEDS)),
    };
    let documents = number("ERGO_SIM_DOCUMENTS").unwrap_or(DOCUMENTS).max(1);
    let (next, tally, failed) = (AtomicU64::new(first), Mutex::new(Tally::default()), Mutex::new(Vec::new()));
    // Worlds that meet by their documents listen more than they compute.
    let threads = 2 * std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= last || !failed.lock().unwrap().is_empty() {
                        return;
                    }
                    match catch_unwind(AssertUnwindSafe(|| World::new(seed, seed % documents == 0).run())) {
                        Ok(done) => tally.lock().unwrap().add(&done),
                        Err(_) => failed.lock().unwrap().push(seed),
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(
        failed.is_empty(),
        "seeds {failed:?} failed; one alone: ERGO_SIM_SEED={} cargo test --test it simulation",
        failed[0]
    );
    let tally = tally.into_inner().unwrap();
    println!("{} seeds: {tally:?}", last - first);
    if last - first >= SEEDS {
        tally.assert_everything_happened(last - first);
    }
}
