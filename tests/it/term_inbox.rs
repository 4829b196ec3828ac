//! The Inbox in a real terminal against a real daemon.

use crate::{
    support::{PROGRAM, TestHome},
    term::{App, assert_clean},
    term_flows::{USUAL, WIDE, home},
};

/// A home in which a claim depends on another, which was then superseded.
fn reviewed_home() -> (TestHome, crate::support::Daemon) {
    let home = TestHome::new();
    let daemon = home.daemon();
    let json =
        home.run(["remember", "We deploy on green CI", "--reason", "red builds broke prod", "--json"]).ok().json();
    let premise = json["claim_id"].as_str().unwrap().to_owned();
    let rests =
        ["remember", "Hotfixes need one review as well", "--reason", "CI is not enough", "--depends-on", &premise];
    home.run(rests).ok();
    home.run([
        "supersede",
        &premise,
        "We deploy on green CI and an approved review",
        "--reason",
        "a green build was bad",
    ])
    .ok();
    (home, daemon)
}

#[test]
fn what_needs_review_is_shown_with_its_cause_and_settled_in_two_keys() {
    let (home, _daemon) = reviewed_home();
    let mut app = App::open(&home, &[], WIDE, &[]);
    app.sees("Need review");
    app.sees("Hotfixes need one review as well");
    app.sees("A claim that this one depends on changed");
    app.sees("a green build was bad");
    app.keys("v");
    app.sees("It still holds, although");
    app.enter();
    app.undoable();
    app.sees("Nothing needs your attention");
    app.sees("You settled one item");
    app.keys("u");
    app.sees("Hotfixes need one review as well");
    app.keys("q");
    let (well, left) = app.ends();
    assert!(well);
    assert_clean(&left);
}

#[test]
fn a_review_settled_elsewhere_says_who_did_it_and_stays_until_the_cursor_leaves() {
    let (home, _daemon) = reviewed_home();
    let claims = home.run(["claims", "--needs-review", "--json"]).ok().json();
    let claim = claims["items"][0]["id"].as_str().unwrap().to_owned();
    let mut app = App::open(&home, &[], USUAL, &[]);
    app.sees("Hotfixes need one review as well");
    home.run(["reviewed", &claim, "--reason", "I looked"]).ok();
    app.sees("Already settled by");
    app.sees("It disappears when you move on");
    app.sees("Hotfixes need one review as well");
}

#[test]
fn the_tour_is_shown_once_and_can_be_asked_for() {
    let (home, _daemon) = home();
    let mut app = App::first(&home, &[], USUAL);
    app.sees("Memory that refuses contradictions");
    app.enter();
    app.sees("settled with one key");
    app.enter();
    app.sees("Every change is kept");
    app.enter();
    app.sees("Refused writes");
    app.keys("q");
    assert!(app.ends().0);
    let mut app = App::open(&home, &[], USUAL, &[]);
    app.sees("Refused writes");
    assert!(!app.sees("1 of 2").contains("Memory that refuses contradictions"), "once on a machine");
    app.keys("q");
    assert!(app.ends().0);
    let mut app = App::open(&home, &["--tour"], USUAL, &[]);
    app.sees("Memory that refuses contradictions");
    assert!(!PROGRAM.is_empty());
}

#[test]
fn the_timeline_tells_what_happened_since_the_person_was_last_here() {
    let (home, _daemon) = home();
    let mut app = App::open(&home, &[], WIDE, &[]);
    app.sees("Refused writes");
    app.keys("q");
    assert!(app.ends().0);
    home.run(["remember", "Logs are kept for a week", "--reason", "the disk is small"]).ok();
    let mut app = App::open(&home, &[], WIDE, &[]);
    app.keys("5");
    app.sees("since your last visit");
    app.sees("Logs are kept for a week");
    assert!(!app.sees("1 of 1").contains("Never deploy on Fridays"));
    app.keys("f");
    app.sees("since yesterday");
    app.sees("Never deploy on Fridays");
    app.keys("6");
    app.sees("Models and daemon");
    app.keys("5");
    app.sees("undoes this change");
}

#[test]
fn a_dead_daemon_is_shown_on_every_screen_and_s_starts_it_again() {
    let (home, daemon) = home();
    let mut app = App::open(&home, &[], WIDE, &[]);
    app.sees("Refused writes");
    daemon.kill();
    app.sees("no daemon: s starts it");
    app.sees("Refused writes");
    app.keys("2");
    app.sees("No daemon is running");
    app.keys("s");
    app.sees("Claims: active");
    app.sees("Never deploy on Fridays");
    app.keys("1");
    app.sees("1 of 2");
}
