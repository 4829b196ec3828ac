//! The queue of doubts: how long it gets, and that it keeps nothing of redacted words.

use std::fs;

use ergo::{
    domain::{ClaimId, DoubtBand, EventId, EventKind},
    store::NewDoubt,
};

use super::support::{Fixture, decision, on};

fn doubt(newer: ClaimId, older: ClaimId, pair: u8) -> NewDoubt {
    NewDoubt { newer, older, pair: EventId([pair; 32]), band: DoubtBand::Ask }
}

fn queued(f: &Fixture, doubt: &NewDoubt) -> bool {
    f.store.reader().known_doubt(&doubt.id().to_hex()).unwrap().is_some()
}

#[test]
fn a_redaction_drops_the_pairs_of_the_claim() {
    let mut f = Fixture::new();
    let [first, secret, last] = ["port", "password", "cache"].map(|subject| f.add(decision(subject, "on")));
    let doubts = [doubt(secret, first, 0xd1), doubt(last, secret, 0xd2), doubt(last, first, 0xd3)];
    let in_files = |f: &Fixture, pair: u8| {
        let files = fs::read_dir(f.dir.path()).unwrap().map(|file| file.unwrap().path());
        files
            .filter(|file| !file.to_string_lossy().ends_with("-shm"))
            .any(|file| fs::read(file).unwrap().windows(32).any(|window| window == [pair; 32]))
    };
    assert_eq!(f.store.queue_doubts(&doubts).unwrap(), 3);
    assert!(in_files(&f, 0xd1) && in_files(&f, 0xd2));
    f.act(vec![on(EventKind::Redact, &[secret], "a secret")]);
    assert_eq!(doubts.each_ref().map(|doubt| queued(&f, doubt)), [false, false, true]);
    assert!(!in_files(&f, 0xd1) && !in_files(&f, 0xd2), "words can be guessed back from the hash of both");
    // Who compared them before queues them after.
    assert_eq!(f.store.queue_doubts(&doubts).unwrap(), 0);
    assert!(!queued(&f, &doubts[0]) && !in_files(&f, 0xd1));
}

#[test]
fn the_newest_thousand_pairs_of_each_scope_stay() {
    let mut f = Fixture::new();
    let mut doubts = Vec::new();
    for (place, last) in [("api", 1_003), ("web", 2)] {
        let claims = f.act_in(place, (0..=last).map(|n| decision(&format!("subject{n}"), "on")).collect()).created;
        doubts.extend(claims[1..].iter().map(|newer| doubt(*newer, claims[0], 1)));
    }
    // The newest come first: what stays does not depend on the order.
    doubts.reverse();
    assert_eq!(f.store.queue_doubts(&doubts).unwrap(), 1_005);
    let kept: Vec<bool> = doubts.iter().map(|doubt| queued(&f, doubt)).collect();
    assert!(kept[..1_002].iter().all(|kept| *kept), "two of web and a thousand of api");
    assert_eq!(kept[1_002..], [false; 3]);
}
