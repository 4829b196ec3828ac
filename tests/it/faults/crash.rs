//! kill -9 of either side while both write, at a step of the session or the store, or after a number of writes. In the
//! end both have each acknowledged write once. The side and the point follow from a seed that is printed:
//! `ERGO_TEST_SEED` repeats it, and `ERGO_KILLS=200` runs longer.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use ergo::{
    api::WriteOutcome,
    client::Client,
    domain::{ClaimId, OpId},
};

use super::{
    assert_sound,
    steps::{STEPS, level},
};
use crate::support::{TEST_TIMEOUT, block_on, eventually, fact, laptop::Laptop, random::Random, until_within};

/// The number of kills in a usual run.
const KILLS: usize = 16;

/// The number of writes of each side between two kills, unless it dies before.
const WRITES: usize = 40;

type Acknowledged = Arc<Mutex<BTreeMap<ClaimId, String>>>;

/// The point at which a side dies.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// At the nth time that it reaches this step.
    Step(&'static str, usize),
    /// After this many acknowledged writes of both sides, at whatever step.
    Acknowledged(usize),
}

impl Moment {
    fn any(random: &mut Random) -> Self {
        let steps = [&STEPS[..], &["commit", "committed"]].concat();
        match random.pick(&steps) {
            Some(step) if random.percent(70) => Self::Step(step, 1 + random.below(4)),
            _ => Self::Acknowledged(1 + random.below(WRITES)),
        }
    }
}

/// Writes facts until all are written or it is told to stop. Records the acknowledged ones.
async fn write(client: Client, who: &'static str, kill: usize, stop: Arc<AtomicBool>, acknowledged: Acknowledged) {
    for number in 0..WRITES {
        let key = format!("{who}k{kill}n{number}");
        let statement = format!("Host {key} is up.");
        let mut request = fact(&statement, &key);
        let op = u128::from(who.as_bytes()[0]) << 96 | (kill as u128) << 32 | number as u128;
        request.caller.op_id = Some(OpId(op.to_be_bytes()));
        eventually("it is stored", async || {
            let is_over = stop.load(Ordering::SeqCst);
            match client.remember(&request).await {
                Ok(WriteOutcome::Stored(stored)) => {
                    acknowledged.lock().unwrap().insert(stored.claim_id, statement.clone());
                    true
                }
                _ => is_over,
            }
        })
        .await;
        if stop.load(Ordering::SeqCst) {
            return;
        }
    }
}

/// The state of the killed side, as the other side sees it.
fn doing(other: &Laptop) -> &'static str {
    let status = other.status();
    let peer = &status["teams"][0]["peers"][0];
    match (peer["connected"] == true, peer["digests_equal"] == true) {
        (false, _) => "not connected",
        (true, false) => "exchanging",
        (true, true) => "level",
    }
}

/// Whether both have the same events and report it.
fn is_level(pair: &[Laptop; 2]) -> bool {
    let [ours, theirs] = pair.each_ref().map(level);
    ours.is_some() && ours == theirs
}

#[test]
fn kill_nine_of_either_side_at_any_moment_loses_nothing_and_doubles_nothing() {
    let mut pair = [Laptop::at_a_port("ada"), Laptop::at_a_port("bob")];
    pair[0].create_team();
    pair[0].admit(&pair[1], &[]);
    let acknowledged = Acknowledged::default();
    let mut moments: BTreeMap<&str, usize> = BTreeMap::new();
    let kills = std::env::var("ERGO_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let mut random = Random::of_this_run();
    for kill in 0..kills {
        let (victim, moment) = (random.below(2), Moment::any(&mut random));
        if let Moment::Step(step, nth) = moment {
            pair[victim].kill();
            pair[victim].start_to_die_at(&format!("{step} #{nth}"));
        }
        let before = acknowledged.lock().unwrap().len();
        let stop = Arc::new(AtomicBool::new(false));
        let writers: Vec<_> = pair
            .iter()
            .map(|laptop| {
                let (client, who) = (laptop.home.client(), laptop.who);
                let (stop, acknowledged) = (Arc::clone(&stop), Arc::clone(&acknowledged));
                thread::spawn(move || block_on(write(client, who, kill, stop, acknowledged)))
            })
            .collect();
        let mut died = false;
        until_within(TEST_TIMEOUT, &format!("kill {kill} at {moment:?}, or all is said"), || {
            died = pair[victim].daemon.as_mut().is_some_and(|daemon| !daemon.alive());
            let is_enough = match moment {
                Moment::Step(..) => writers.iter().all(JoinHandle::is_finished) && is_level(&pair),
                Moment::Acknowledged(count) => acknowledged.lock().unwrap().len() >= before + count,
            };
            died || is_enough
        });
        let seen = if died { "at its step" } else { doing(&pair[1 - victim]) };
        *moments.entry(seen).or_default() += 1;
        pair[victim].kill();
        stop.store(true, Ordering::SeqCst);
        for writer in writers {
            writer.join().unwrap();
        }
        pair[victim].start_here();
    }
    let took = until_within(TEST_TIMEOUT, "both have the same", || is_level(&pair));
    let acknowledged = acknowledged.lock().unwrap().clone();
    for laptop in &pair {
        let client = laptop.home.client();
        for (id, statement) in &acknowledged {
            let claim = block_on(async { client.claim(&id.to_hex()).await });
            let claim = claim.unwrap_or_else(|error| panic!("{} lost {id:?}: {error}", laptop.who));
            assert_eq!(claim.statement, *statement);
        }
        assert_eq!(laptop.status()["teams"][0]["quarantined"], 0);
    }
    let (events, _) = pair[0].set();
    let statements: BTreeSet<&String> = acknowledged.values().collect();
    assert_eq!(statements.len(), acknowledged.len(), "nothing was written twice");
    // A write that was not acknowledged in time may be stored, too: one for each writer and kill.
    assert!(events as usize >= acknowledged.len() && events as usize <= acknowledged.len() + 2 * kills, "{events}");
    println!(
        "{kills} kills, {} claims acknowledged, {events} there, one again after {took:?}; {moments:?}",
        acknowledged.len()
    );
    for laptop in &mut pair {
        laptop.stop();
        assert_sound(laptop);
    }
}
