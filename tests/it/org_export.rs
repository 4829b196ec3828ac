//! The organisation's level in exports: an exported file can be imported elsewhere without loss.

use crate::support::TestHome;

/// The device-independent parts (statement, reason and state) of each claim of the organisation, the oldest first.
fn rules(home: &TestHome) -> Vec<String> {
    let listed = home.run(["claims", "--scope", "acme/*", "--status", "all", "--json"]).ok().json();
    let one = |claim: &serde_json::Value| {
        format!("{} {} {} {}", claim["kind"], claim["statement"], claim["reason"], claim["status"])
    };
    let mut found: Vec<String> = listed["items"].as_array().unwrap().iter().map(one).collect();
    found.sort();
    found
}

fn remember(home: &TestHome, scope: &str, statement: &str) -> crate::support::Output {
    home.run(["remember", statement, "--kind", "constraint", "--reason", "audits", "--scope", scope, "--json"])
}

#[test]
fn the_organisations_rules_come_back_from_json_lines_with_their_history_and_hold_there() {
    let (ada, bob) = (TestHome::new(), TestHome::new());
    let (_ada, _bob) = (ada.daemon(), bob.daemon());
    for project in ["acme/a", "acme/b", "acme/c"] {
        remember(&ada, project, "Releases must be signed.").ok();
    }
    let first = ada.run(["claims", "--scope", "acme/a", "--json"]).ok().json()["items"][0]["id"].clone();
    let promoted = ada.run(["promote", first.as_str().unwrap(), "--json"]).ok().json()["claim_id"].clone();
    let signed = "Releases must be signed with a hardware key.";
    ada.run(["supersede", promoted.as_str().unwrap(), signed, "--reason", "stolen key", "--scope", "acme/*"]).ok();
    let gone = remember(&ada, "acme/*", "Audits take place each May.").ok().json()["claim_id"].clone();
    ada.run(["retract", gone.as_str().unwrap(), "--reason", "now in June"]).ok();
    let expected = rules(&ada);
    assert_eq!(expected.len(), 3, "{expected:?}");

    let file = bob.work().join("rules.jsonl").display().to_string();
    ada.run(["export", "jsonl", &file, "--scope", "acme/*"]).ok();
    bob.run(["import", "jsonl", &file, "--scope", "acme/*", "--yes"]).ok();
    assert_eq!(rules(&bob), expected);
    let again = bob.run(["import", "jsonl", &file, "--scope", "acme/*", "--yes"]).ok();
    assert_eq!(rules(&bob), expected, "a second import changes nothing: {again:?}");
    assert_eq!(remember(&bob, "acme/web", "Releases must not be signed with a hardware key.").code, Some(1));
    // Exported again, the file differs only in ids and times.
    let back = bob.work().join("back.jsonl").display().to_string();
    bob.run(["export", "jsonl", &back, "--scope", "acme/*"]).ok();
    let cy = TestHome::new();
    let _cy = cy.daemon();
    cy.run(["import", "jsonl", &back, "--scope", "acme/*", "--yes"]).ok();
    assert_eq!(rules(&cy), expected);
}

#[test]
fn the_organisations_decisions_come_back_from_decision_records() {
    let (ada, bob) = (TestHome::new(), TestHome::new());
    let (_ada, _bob) = (ada.daemon(), bob.daemon());
    let decide = ["remember", "We use Postgres in all services.", "--kind", "decision", "--reason", "one to run"];
    ada.run(decide.into_iter().chain(["--scope", "acme/*"])).ok();
    let folder = bob.work().join("adr").display().to_string();
    ada.run(["export", "adr", &folder, "--scope", "acme/*"]).ok();
    bob.run(["import", "adr", &folder, "--scope", "acme/*", "--yes"]).ok();
    assert_eq!(rules(&bob), rules(&ada));
    // A block for agents names the level's claims, too.
    let block = bob.run(["export", "agents", "--scope", "acme/*"]).ok();
    assert!(block.stdout.contains("We use Postgres in all services"), "{block:?}");
}
