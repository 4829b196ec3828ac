//! Exceptions, dismissals and superseding on the command line.

use super::{super::support::TestHome, refused, remember, transcript};

#[test]
fn an_exception_names_its_rule_and_shows_it() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let rule = remember(&home, "Every service keeps its data in PostgreSQL.", "One thing to run.");
    let local = "The kiosk keeps a small SQLite file on its disk.";
    let alone =
        home.run(["remember", local, "--reason", "It is small.", "--force-exception", "It has no network."]).ok();
    assert!(alone.stdout.contains("`--exception-to`"), "{alone:?}");
    let named = [
        "remember",
        local,
        "--reason",
        "It is small.",
        "--force-exception",
        "It has no network.",
        "--exception-to",
        &rule[..10],
    ];
    insta::assert_snapshot!("exception_named", transcript(&home.run(named).ok()));
    insta::assert_snapshot!("exception_rule", transcript(&home.run(["why", &rule[..10]]).ok()));
    let found = home.run(["recall", "kiosk SQLite file"]).ok();
    assert!(found.stdout.contains("It has no network."), "{found:?}");
}

#[test]
fn the_side_that_is_the_exception_can_be_named() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let card = refused(&home);
    home.run(["resolve", &card, "--exception=2", "--reason", "Blue was for one week."]).ok();
    let claims = home.run(["claims", "--json"]).ok().json();
    let blue = claims["items"].as_array().unwrap().iter().find(|c| c["statement"] == "The canary must be blue.");
    assert_eq!(blue.unwrap()["beside"][0]["relation"], "rule", "{claims}");
    assert!(blue.unwrap()["closing_reason"].is_null());
}

#[test]
fn a_dismissal_and_the_first_id_are_shown() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let card = refused(&home);
    let sides = home.run(["conflicts", &card, "--json"]).ok().json();
    let first = sides["sides"][0]["claim"]["id"].as_str().unwrap().to_owned();
    let early = home.run(["history", &first]);
    assert!(early.code == Some(2) && early.stderr.contains("it is on card"), "{early:?}");
    home.run(["resolve", &card, "--dismiss", "--reason", "There are two canaries."]).ok();
    insta::assert_snapshot!("dismissed_history", transcript(&home.run(["history", &first]).ok()));
    let shown = home.run(["conflicts", &card]).ok();
    assert!(shown.stdout.contains("stored as"), "{shown:?}");
}

#[test]
fn a_change_names_what_stays_and_a_long_statement_is_told_to_be_split() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let pnpm = remember(&home, "The package manager is pnpm.", "It is fast.");
    remember(&home, "pnpm is pinned to 10.5.2.", "The lock file changed its form.");
    let change = ["supersede", &pnpm[..10], "The package manager is Bun.", "--reason", "One tool for all."];
    insta::assert_snapshot!("still_in_force", transcript(&home.run(change).ok()));
    let two = ["remember", "Deploy with Helm. Never log request bodies.", "--reason", "Safe."];
    insta::assert_snapshot!("several_claims", transcript(&home.run(two).ok()));
}
