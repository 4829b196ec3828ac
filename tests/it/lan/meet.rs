//! Laptops in one network, found by mDNS alone.

use std::time::Duration;

use ergo::{
    api::{ConflictsQuery, WriteOutcome},
    domain::CardId,
};

use crate::support::{block_on, decision, laptop::Laptop, network::Network, until, until_within};

/// The timeout for discovery, on a busy machine.
const FINDING: Duration = Duration::from_mins(1);

/// How long one who moved may take to be heard from again: about five seconds to give up the old connection, and a call; the rest is
/// for a machine that does other things too.
const MOVING: Duration = Duration::from_secs(30);

fn write(laptop: &Laptop, statement: &str) {
    let outcome = block_on(async { laptop.home.client().remember(&decision(statement)).await }).unwrap();
    assert!(matches!(outcome, WriteOutcome::Stored(_)), "{statement}: {outcome:?}");
}

fn cards(laptop: &Laptop) -> Vec<CardId> {
    let page = block_on(async { laptop.home.client().conflicts(&ConflictsQuery::default()).await }).unwrap();
    let mut ids: Vec<CardId> = page.items.iter().map(|card| card.id).collect();
    ids.sort_unstable();
    ids
}

/// Laptops of one team that do not know each other's addresses; their daemons do not run.
fn team<const N: usize>(names: [&'static str; N]) -> [Laptop; N] {
    let mut laptops = names.map(Laptop::offline);
    for laptop in &mut laptops {
        laptop.start_here_without_sync();
    }
    let (first, others) = laptops.split_first().unwrap();
    first.remember("Deploys run only on green CI.");
    first.create_team();
    for other in others {
        first.admit_by_file(other);
    }
    for laptop in &mut laptops {
        laptop.stop();
    }
    laptops
}

/// Waits until all have the same events and report it. Returns the time that took.
fn level(laptops: &[&Laptop]) -> Duration {
    let others = laptops.len() - 1;
    let took = until_within(FINDING, "all have the same", || {
        laptops.iter().all(|laptop| laptop.level_with(others))
            && laptops.iter().all(|laptop| laptop.set() == laptops[0].set())
    });
    for laptop in laptops {
        assert_eq!(cards(laptop), cards(laptops[0]), "{}", laptop.who);
    }
    took
}

/// Whether it reports that it is connected with none of these.
fn alone(laptop: &Laptop, from: &[&str]) -> bool {
    let status = laptop.status();
    let peers = status["teams"][0]["peers"].as_array().unwrap();
    let gone =
        |who: &&str| peers.iter().any(|peer| peer["name"] == format!("{who}-laptop") && peer["connected"] == false);
    from.iter().all(gone)
}

#[test]
fn three_laptops_find_each_other_and_what_was_written_in_a_partition_meets() {
    let Some(mut network) = Network::new("three laptops in one network") else { return };
    let places = [network.plugged(), network.plugged(), network.plugged()];
    let mut laptops = team(["ada", "bob", "eve"]);
    for (laptop, place) in laptops.iter_mut().zip(&places) {
        laptop.start_in(place);
    }
    let [ada, bob, eve] = &laptops;
    println!("found each other after {:?}", level(&[ada, bob, eve]));
    assert!(bob.knows("Deploys run only on green CI."), "the history of the scope came");
    let path = |laptop: &Laptop| laptop.status()["teams"][0]["peers"][0]["path"].clone();
    assert_eq!(path(bob), "lan");
    // A short partition, as long as the writes take, which connections outlive; and a long one, which ends them: all know that nobody is there, and call in vain.
    let apart = || alone(bob, &["ada", "eve"]) && alone(ada, &["bob"]) && alone(eve, &["bob"]);
    for (round, is_long) in [false, true].into_iter().enumerate() {
        places[1].cut(true);
        for n in 0..10 {
            write(ada, &format!("The cache of service {round}{n} must be 1 MB."));
            write(bob, &format!("The queue of service {round}{n} must be 1 MB."));
        }
        let what = ["Kafka as the message broker", "Redis as the session store"][round];
        write(ada, &format!("We must use {what}."));
        write(bob, &format!("We must not use {what}."));
        if is_long {
            // Fifteen seconds of silence end a connection, counted from the last sign of life that was sent.
            let took = until_within(FINDING, "all know that they are parted", apart);
            println!("know that they are parted after {took:?}");
        }
        assert!(!ada.knows(&format!("The queue of service {round}0 must be 1 MB.")), "they are parted");
        places[1].cut(false);
        let took = level(&[ada, bob, eve]);
        println!("parted, long: {is_long}: one again after {took:?}");
        assert_eq!(cards(bob).len(), round + 1, "the contradiction is a card");
        // 1 of before the team, and 22 of each round.
        assert_eq!(bob.set().0, 1 + 22 * (round as u64 + 1), "nothing is lost, and nothing twice");
    }
}

#[test]
fn a_device_that_joins_or_moves_in_a_network_is_found() {
    let Some(mut network) = Network::new("who comes later") else { return };
    let (here, later) = (network.plugged(), network.place());
    let [mut ada, mut bob] = team(["ada", "bob"]);
    ada.start_in(&here);
    // On the train: no network at all.
    bob.start_in(&later);
    write(&bob, "Logs are kept for thirty days.");
    until("bob knows that nobody is there", || alone(&bob, &["ada"]));
    assert!(!ada.knows("Logs are kept for thirty days."));
    later.plug();
    println!("after the cable was plugged in: {:?}", level(&[&ada, &bob]));
    assert!(ada.knows("Logs are kept for thirty days."));
    // Another address, as after a night.
    later.ip_tool(&format!("addr del {}/24 dev eth0", later.ip()));
    later.ip_tool("addr add 10.77.0.200/24 dev eth0");
    write(&bob, "Backups are made on Sundays.");
    let took = until_within(MOVING, "ada has what bob wrote elsewhere", || ada.knows("Backups are made on Sundays."));
    println!("after the address changed: {took:?}");
    level(&[&ada, &bob]);
}
