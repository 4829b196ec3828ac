//! kill -9 of either side, at moments spread over everything that a session does: what was acknowledged is on both in the end, once.
//! `ERGO_KILLS=200` goes on for longer.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use ergo::{api::WriteOutcome, client::Client, domain::ClaimId};

use super::assert_sound;
use crate::support::{block_on, fact, laptop::Laptop, until_within};

/// Kills of a usual run.
const KILLS: usize = 16;

/// How long the two may take to be one again after the last.
const PATIENCE: Duration = Duration::from_mins(1);

type Acknowledged = Arc<Mutex<BTreeMap<ClaimId, String>>>;

/// Writes facts until told to stop; notes what was answered.
async fn write(client: Client, name: String, stop: Arc<AtomicBool>, acknowledged: Acknowledged) {
    for number in 0.. {
        if stop.load(Ordering::SeqCst) {
            return;
        }
        let key = format!("{name}n{number}");
        let statement = format!("Host {key} is up.");
        if let Ok(WriteOutcome::Stored(stored)) = client.remember(&fact(&statement, &key)).await {
            acknowledged.lock().unwrap().insert(stored.claim_id, statement);
        }
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
}

/// What the killed one was about, as the other sees it.
fn doing(other: &Laptop) -> &'static str {
    let status = other.status();
    let peer = &status["teams"][0]["peers"][0];
    match (peer["connected"] == true, peer["digests_equal"] == true) {
        (false, _) => "not connected",
        (true, false) => "exchanging",
        (true, true) => "level",
    }
}

#[test]
fn kill_nine_of_either_side_at_any_moment_loses_nothing_and_doubles_nothing() {
    let mut pair = [Laptop::at_a_port("ada"), Laptop::at_a_port("bob")];
    pair[0].found();
    pair[0].takes_in(&pair[1], &[]);
    let acknowledged = Acknowledged::default();
    let mut moments: BTreeMap<&str, usize> = BTreeMap::new();
    let kills = std::env::var("ERGO_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    for kill in 0..kills {
        let stop = Arc::new(AtomicBool::new(false));
        let writers: Vec<_> = pair
            .iter()
            .map(|laptop| {
                let (client, name) = (laptop.home.client(), format!("{}k{kill}", laptop.who));
                let (stop, acknowledged) = (Arc::clone(&stop), Arc::clone(&acknowledged));
                thread::spawn(move || block_on(write(client, name, stop, acknowledged)))
            })
            .collect();
        // From the moment it runs: greeting, rosters, offers, documents, import, live. Spread by the golden ratio.
        let spread = (kill as f64 * 0.618_034).fract();
        thread::sleep(Duration::from_millis(20 + (spread * 1_800.0) as u64));
        let victim = kill % 2;
        *moments.entry(doing(&pair[1 - victim])).or_default() += 1;
        pair[victim].kill();
        stop.store(true, Ordering::SeqCst);
        for writer in writers {
            writer.join().unwrap();
        }
        pair[victim].start_here();
    }
    let took = until_within(PATIENCE, "both have the same", || {
        pair.iter().all(|laptop| laptop.level_with(1)) && pair[0].set() == pair[1].set()
    });
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
    // What was written and not answered in time may be there, too: one a writer and kill.
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
