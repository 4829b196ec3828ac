//! Three real daemons over QUIC on loopback, the one between the others among those that die.

use ergo::{api::ConflictsQuery, domain::CardId};

use super::{assert_sound, assert_well};
use crate::support::{TEST_TIMEOUT, block_on, laptop::Laptop, until_within};

const KAFKA: &str = "We must use Kafka as the message broker";
const NO_KAFKA: &str = "We must not use Kafka as the message broker";

/// The open cards, by id.
fn cards(laptop: &Laptop) -> Vec<CardId> {
    let query = ConflictsQuery { status: Some("open".into()), ..ConflictsQuery::default() };
    let page = block_on(async { laptop.home.client().conflicts(&query).await }).unwrap();
    let mut ids: Vec<CardId> = page.items.iter().map(|card| card.id).collect();
    ids.sort_unstable();
    ids
}

/// Waits until all have this number of events, and the same ones.
fn level(laptops: &[&Laptop], events: u64) {
    until_within(TEST_TIMEOUT, &format!("all have the same {events} events"), || {
        let sets: Vec<_> = laptops.iter().map(|laptop| laptop.set()).collect();
        sets.iter().all(|set| set.0 == events && *set == sets[0])
    });
}

#[test]
fn three_daemons_on_loopback_agree_though_the_one_between_the_others_dies() {
    let [mut ada, mut bob, mut eve] = ["ada", "bob", "eve"].map(Laptop::at_a_port);
    ada.remember("Deploys run only on green CI.");
    ada.create_team();
    // Ada admitted both, so they know her address; what they write reaches the other through her.
    ada.admit(&bob, &[]);
    ada.admit(&eve, &[]);
    level(&[&ada, &bob, &eve], 1);
    ada.kill();
    bob.remember(KAFKA);
    eve.remember(NO_KAFKA);
    assert_eq!((cards(&bob), cards(&eve)), (Vec::new(), Vec::new()), "nobody has heard of the other");
    ada.start_here();
    level(&[&ada, &bob, &eve], 3);
    let open = cards(&ada);
    assert_eq!((open.len(), &cards(&bob), &cards(&eve)), (1, &open, &open), "one card, the same everywhere");
    // Settled by one, while the one between is away again: settled everywhere.
    ada.kill();
    let card = open[0].to_hex();
    eve.run(&["resolve", &card, "--keep", "1", "--reason", "we asked around"]).ok();
    ada.start_here();
    until_within(TEST_TIMEOUT, "the card is settled everywhere", || {
        [&ada, &bob, &eve].iter().all(|laptop| cards(laptop).is_empty())
    });
    let settled = eve.set();
    until_within(TEST_TIMEOUT, "all have the same", || [&ada, &bob].iter().all(|laptop| laptop.set() == settled));
    for laptop in [&mut ada, &mut bob, &mut eve] {
        assert_eq!(laptop.status()["teams"][0]["quarantined"], 0);
        assert_well(laptop);
        laptop.stop();
        assert_sound(laptop);
    }
}
