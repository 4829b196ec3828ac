//! kill -9 of either side while both write, after a number of writes. In the end both have each acknowledged write once.
//! The side and the number follow from a seed that is printed: `ERGO_TEST_SEED` repeats it, and `ERGO_KILLS=200` runs
//! longer. `steps` has the kills at each step of a session.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use ergo::{
    api::WriteOutcome,
    client::Client,
    domain::{ClaimId, OpId},
};

use super::{assert_sound, steps::level};
use crate::support::{TEST_TIMEOUT, block_on, eventually, fact, laptop::Laptop, random::Random, until_within};

/// The number of kills in a usual run.
const KILLS: usize = 16;

/// The number of writes of each side between two kills, unless it dies before.
const WRITES: usize = 40;

type Acknowledged = Arc<Mutex<BTreeMap<ClaimId, String>>>;

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
        let (victim, count) = (random.below(2), 1 + random.below(WRITES));
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
        until_within(TEST_TIMEOUT, &format!("kill {kill} after {count} writes"), || {
            acknowledged.lock().unwrap().len() >= before + count
        });
        *moments.entry(doing(&pair[1 - victim])).or_default() += 1;
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
