//! A disk that becomes full while a peer sends many events.

use std::{fs, time::Duration};

use super::{assert_sound, facts};
use crate::support::{SmallDisk, TestHome, laptop::Laptop, until, until_within};

const FACTS: usize = 6_000;

#[test]
fn a_full_disk_is_reported_and_what_did_not_fit_comes_once_there_is_room() {
    let home = TestHome::with_config("");
    let path = home.path().to_owned();
    let Some(disk) = SmallDisk::new(&path, 7_000) else { return };
    let at_a_port = Laptop::at_a_port("bob");
    fs::copy(at_a_port.home.paths().config, home.paths().config).unwrap();
    fs::create_dir(home.work()).unwrap();
    drop(at_a_port);
    let (mut ada, mut bob) = (Laptop::at_a_port("ada"), Laptop { home, daemon: None, who: "bob" });
    bob.start_here();
    ada.create_team();
    ada.stop();
    facts(&ada, FACTS);
    ada.start_here();
    ada.admit(&bob, &[]);
    let problems = || {
        let status = bob.status();
        let peer = &status["teams"][0]["peers"][0]["last_error"];
        format!("{} {peer}", status["problems"])
    };
    until_within(Duration::from_mins(1), "bob says that his disk is full", || problems().contains("full"));
    println!("bob says: {}", problems());
    // Both sides report the problem and what to do.
    let doctor = bob.run(&["doctor"]).stdout;
    assert!(doctor.contains("is full") && doctor.contains("free "), "{doctor}");
    let at_ada = || {
        let peer = ada.status()["teams"][0]["peers"][0].clone();
        (peer["last_error"].to_string(), peer["advice"].to_string())
    };
    let (mut error, mut advice) = at_ada();
    // One look for both: at the beginning of the next attempt there is nothing to say.
    until_within(Duration::from_mins(1), "ada says that bob's disk is full", || {
        (error, advice) = at_ada();
        error.contains("full")
    });
    assert!(error.contains("the peer cannot store") && advice.contains("free "), "{error} {advice}");
    let doctor = || ada.run(&["doctor"]).stdout.contains("bob-laptop: the peer cannot store");
    // The doctor takes seconds on a busy machine, and between two attempts there is nothing to say.
    until_within(Duration::from_mins(3), "ada's doctor says so", doctor);
    let there = bob.set().0;
    assert!((there as usize) < FACTS, "{there} of {FACTS} fit");
    assert_ne!(bob.status()["teams"][0]["in_sync"], true, "{}", bob.status());
    // Reads work, and nobody else is held up.
    bob.run(&["claims"]).ok();
    let eve = Laptop::of("eve");
    ada.admit(&eve, &[]);
    until_within(Duration::from_mins(1), "eve has everything", || eve.set().0 as usize == FACTS);
    disk.grow(200_000);
    until_within(Duration::from_secs(90), "bob has everything", || bob.set().0 as usize == FACTS);
    assert_eq!(bob.set(), ada.set());
    until("and it is not said any more", || !problems().contains("full"));
    bob.stop();
    assert_sound(&bob);
    // First the mount, then the folder that it lies on.
    drop(disk);
    drop(bob);
}
