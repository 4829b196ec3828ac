//! Simulation of peers: whatever happens, they agree in the end, and nothing is lost.
//!
//! Each seed is a world of five to eight devices with real stores: they write, contradict each other, redact and undo; they are parted and
//! meet again; exchanges are cut, repeated and shuffled; files travel in place of the network, some damaged; stores are restarted, restored
//! from old copies and moved; clocks run apart; devices join late, change their grants and are revoked. No sockets. In most worlds events go
//! from store to store; in some, sessions bring them by the replication index.
//!
//! `make simulate SEEDS=10000` runs that many (`ERGO_SIM_SEEDS`); `ERGO_SIM_SEED=7` runs one seed; `ERGO_SIM_DOCUMENTS=1` has them all meet by
//! their documents, and 0 none. `make simulate DEVICES=64` measures how a team grows (`growth`).

mod growth;
mod judge;
mod meeting;
mod peer;
mod seeds;
mod tally;
mod world;

use seeds::Seeds;
use world::World;

/// The number of seeds in a usual run; `.ci/run` has more.
const SEEDS: u64 = 50;

/// In one of this many worlds, devices sync as in reality: by their documents, over a pipe, each with a worker. It
/// takes half a second.
const DOCUMENTS: u64 = 10;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn whatever_happens_between_peers_they_agree_and_nothing_is_lost() {
    let (first, end) = match number("ERGO_SIM_SEED") {
        Some(seed) => (seed, seed + 1),
        None => (0, number("ERGO_SIM_SEEDS").unwrap_or(SEEDS)),
    };
    let documents = number("ERGO_SIM_DOCUMENTS").unwrap_or(DOCUMENTS);
    let seeds = Seeds { first, end, documents };
    let tally =
        seeds.run(|seed, documents| World::new(seed, documents).run()).unwrap_or_else(|failures| panic!("{failures}"));
    println!("seeds {first} to {}: {tally:?}", end.saturating_sub(1));
    if end - first >= SEEDS {
        tally.assert_everything_happened(end - first);
    }
}

/// A device there was let in by an admin who was revoked meanwhile. Whether its roster events were kept depended on what came first.
const LET_IN_BY_A_REVOKED_ADMIN: u64 = 6066;

#[test]
fn a_roster_does_not_depend_on_what_came_first() {
    World::new(LET_IN_BY_A_REVOKED_ADMIN, false).run();
}

/// Devices there became readers with events that nobody else had: they met by documents, and nobody took these from a reader.
const READERS_WITH_THE_ONLY_COPY: [u64; 5] = [670, 930, 1210, 1340, 1520];

#[test]
fn what_only_a_reader_has_reaches_the_others() {
    std::thread::scope(|scope| {
        for seed in READERS_WITH_THE_ONLY_COPY {
            scope.spawn(move || World::new(seed, true).run());
        }
    });
}
