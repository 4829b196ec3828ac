//! Facts, which are replaced by key and keep their history.

use ergo::{
    api::{AddRequest, DoubtBand, RememberRequest, WriteOutcome},
    domain::Status,
};

use super::*;

#[test]
fn a_fact_replaces_the_fact_under_its_key_and_keeps_it_in_history() {
    let fixture = Fixture::new();
    let set = |statement: &str| {
        let request = RememberRequest { key: Some("db/version".into()), ..fact(statement) };
        stored(fixture.engine.remember(request).unwrap())
    };
    let first = set("Postgres 15");
    let second = set("Postgres 16");
    assert_eq!(second.superseded, [first.claim_id]);
    assert_eq!(fixture.claim(first.claim_id).status, Status::Superseded);
    let history = fixture.engine.history(&second.claim_id.to_hex()).unwrap();
    assert_eq!(history.chain.len(), 2);
    assert_eq!(history.chain[1].claim.statement, "Postgres 15");
    // Undoing the second one restores the first one.
    fixture.undo();
    assert_eq!(fixture.claim(first.claim_id).status, Status::Active);
}

#[test]
fn facts_without_a_key_replace_only_what_is_the_same() {
    let fixture = Fixture::new();
    let a = stored(fixture.engine.remember(fact("The build server is in Bonn")).unwrap());
    let b = stored(fixture.engine.remember(fact("The build server was bought in 2019")).unwrap());
    assert!(b.superseded.is_empty());
    let again = stored(fixture.engine.remember(fact("The build server is in Bonn")).unwrap());
    assert!(again.duplicate && again.claim_id == a.claim_id);
}

fn keyed(key: &str, statement: &str) -> RememberRequest {
    RememberRequest { key: Some(key.into()), ..fact(statement) }
}

#[test]
fn one_text_under_two_keys_is_two_facts() {
    let fixture = Fixture::new();
    let set = |key: &str, text: &str| stored(fixture.engine.remember(keyed(key, text)).unwrap());
    let prod = set("prod/region", "eu-west-1");
    let staging = set("staging/region", "eu-west-1");
    assert!(!staging.duplicate && staging.superseded.is_empty() && staging.claim_id != prod.claim_id);
    let again = set("prod/region", "eu-west-1.");
    assert!(again.duplicate && again.claim_id == prod.claim_id);
    // Without a key, it is one of those that are known.
    assert!(stored(fixture.engine.remember(fact("eu-west-1")).unwrap()).duplicate);
    assert_eq!(set("prod/region", "us-east-1").superseded, [prod.claim_id]);
    assert_eq!(fixture.claim(staging.claim_id).status, Status::Active);
}

#[test]
fn what_is_added_is_not_stored_again_under_another_key() {
    let fixture = Fixture::new();
    let text = "The API port is 8080.";
    let known = stored(fixture.engine.remember(keyed("api.port", text)).unwrap()).claim_id;
    let add = AddRequest { caller: caller(), text: text.into(), ..AddRequest::default() };
    assert_eq!(fixture.engine.add(&add).unwrap().stored, [known]);
}

#[test]
fn a_text_without_a_word_is_refused_by_its_own_name() {
    let add = AddRequest { caller: caller(), text: "…".into(), ..AddRequest::default() };
    let error = Fixture::new().engine.add(&add).unwrap_err();
    assert_eq!((error.code, error.field.as_deref()), (ergo::api::ErrorCode::BadRequest, Some("text")));
}

#[test]
fn a_fact_that_is_given_a_key_later_keeps_one_value() {
    let fixture = Fixture::new();
    let text = "The API port is 8080.";
    let without = stored(fixture.engine.remember(fact(text)).unwrap());
    let with = stored(fixture.engine.remember(keyed("api.port", text)).unwrap());
    assert_eq!((with.duplicate, with.superseded), (false, vec![without.claim_id]));
    assert_eq!(fixture.claim(with.claim_id).key.as_deref(), Some("api.port"));
    let next = stored(fixture.engine.remember(keyed("api.port", "The API port is 9090.")).unwrap());
    assert_eq!(next.superseded, [with.claim_id]);
    let page = fixture.engine.claims(&ergo::api::ClaimsQuery::default()).unwrap();
    let active = page.items.iter().filter(|claim| claim.status == Status::Active);
    assert_eq!(active.map(|claim| claim.id).collect::<Vec<_>>(), [next.claim_id]);
}

#[test]
fn a_fact_without_a_key_replaces_the_value_before_it_although_its_text_has_a_key_elsewhere() {
    let fixture = Fixture::new();
    stored(fixture.engine.remember(keyed("docs/port", "The API port is 8080.")).unwrap());
    let before = stored(fixture.engine.remember(fact("The API port is 9090.")).unwrap());
    let after = stored(fixture.engine.remember(fact("The API port is 8080.")).unwrap());
    assert_eq!((after.duplicate, after.superseded), (false, vec![before.claim_id]));
}

#[test]
fn facts_without_a_key_replace_another_value_of_a_property_and_nothing_else() {
    let replaced = |older: &str, newer: &str| {
        let fixture = Fixture::new();
        stored(fixture.engine.remember(fact(older)).unwrap());
        !stored(fixture.engine.remember(fact(newer)).unwrap()).superseded.is_empty()
    };
    assert!(replaced("The web server's port is 80.", "The web server's port is 443."));
    assert!(replaced("The default branch name is master.", "The default branch name is main."));
    for (older, newer) in [
        ("The outage of May 2 lasted 3 hours.", "The outage of May 9 lasted 5 hours."),
        ("The release of March 3 was rolled back.", "The release of March 9 was rolled back."),
        ("CI runs on Linux.", "CI runs on macOS."),
        ("Alpha fact 1.", "Alpha fact 2."),
    ] {
        assert!(!replaced(older, newer), "{newer}");
    }
}

#[test]
fn a_fact_names_those_that_differ_from_it_only_in_values() {
    let named = |older: &str, newer: &str| {
        let fixture = Fixture::new();
        let first = stored(fixture.engine.remember(fact(older)).unwrap());
        let second = stored(fixture.engine.remember(fact(newer)).unwrap());
        assert_eq!(fixture.claim(first.claim_id).status == Status::Superseded, !second.superseded.is_empty());
        second.doubts.iter().map(|doubt| (doubt.id == first.claim_id, doubt.band)).collect::<Vec<_>>()
    };
    let mentioned = [(true, DoubtBand::Mention)];
    let deployed = |region: &str| format!("The payments service is deployed to {region}.");
    assert_eq!(named(&deployed("eu-central-1"), &deployed("us-east-1")), mentioned);
    let host = |host: &str| format!("The staging database runs on {host}, port 5433.");
    assert_eq!(named(&host("db-stg-2.internal"), &host("db-stg-3.internal")), mentioned);
    assert_eq!(named("Backups are kept for 30 days.", "We keep backups for 90 days."), mentioned);
    // It is replaced, or about something else.
    assert_eq!(named("The web server's port is 80.", "The web server's port is 443."), []);
    assert_eq!(named("Worker 3 runs on port 9003.", "Worker 4 runs on port 9004."), []);
    assert_eq!(named(&deployed("eu-central-1"), "The payments service is written in Rust."), []);
}

#[test]
fn a_fact_needs_no_reason_and_passes_no_guard() {
    let fixture = Fixture::new();
    fixture.remember("Deployments must use a blue canary", "safe");
    let outcome = fixture.engine.remember(fact("Deployments must use a red canary")).unwrap();
    assert!(matches!(outcome, WriteOutcome::Stored(_)));
    assert_eq!(fixture.open_cards(), 0);
}

#[test]
fn a_decision_that_contradicts_a_known_fact_is_stored_with_a_warning_that_names_it() {
    let fixture = Fixture::new();
    stored(fixture.engine.remember(fact("The API port is 9090.")).unwrap());
    let outcome = stored(fixture.try_remember("The API port must be 8080.", "the proxy expects it"));
    let warning = &outcome.warnings[0];
    assert_eq!(warning.code, "softer_conflict");
    assert!(warning.message.contains("the fact “The API port is 9090.”"), "{}", warning.message);
    assert_eq!(warning.conflict.as_ref().map(|conflict| conflict.tier), Some(ergo::domain::Tier::Warn));
    assert_eq!(fixture.open_cards(), 0);
}

#[test]
fn a_fact_that_contradicts_a_decision_warns_and_replaces_the_fact_under_its_key() {
    let fixture = Fixture::new();
    fixture.remember("The API port must be 8080.", "the proxy expects it");
    let first = stored(fixture.engine.remember(fact("The API port is 8080.")).unwrap());
    assert!(first.warnings.is_empty(), "{:?}", first.warnings);
    let second = stored(fixture.engine.remember(fact("The API port is 9090.")).unwrap());
    assert_eq!(second.superseded, [first.claim_id]);
    let warning = &second.warnings[0];
    assert!(warning.message.contains("the decision “The API port must be 8080.”"), "{}", warning.message);
}

#[test]
fn an_audit_compares_facts_with_decisions_and_not_with_each_other() {
    let fixture = Fixture::new();
    stored(
        fixture.engine.remember(RememberRequest { key: Some("a".into()), ..fact("The API port is 9090.") }).unwrap(),
    );
    stored(
        fixture.engine.remember(RememberRequest { key: Some("b".into()), ..fact("The API port is 7070.") }).unwrap(),
    );
    let audit = || fixture.engine.audit(ergo::api::AuditRequest { caller: caller(), dry_run: false }).unwrap();
    assert_eq!(audit().opened.len(), 0);
    let rule = fixture.remember("The API port must be 8080.", "the proxy expects it");
    let outcome = audit();
    assert_eq!((outcome.claims, outcome.opened.len()), (3, 2));
    let card = outcome.opened[0].id;
    let winner = Some(rule.to_hex());
    done(fixture.resolve(card, ResolveRequest { winner, ..order(CardAct::Supersede, "the fact is out of date") }));
    assert_eq!(fixture.open_cards(), 1);
}

#[test]
fn a_key_that_was_derived_is_not_shown() {
    let fixture = Fixture::new();
    let id = stored(fixture.engine.remember(fact("The staging database listens on port 5433.")).unwrap()).claim_id;
    assert_eq!(fixture.claim(id).key, None);
    let later = stored(fixture.engine.remember(fact("The staging database listens on port 5434.")).unwrap());
    assert_eq!(later.superseded, [id]);
    let given = RememberRequest { key: Some("databases".into()), ..fact("Two databases run on one host.") };
    assert_eq!(
        fixture.claim(stored(fixture.engine.remember(given).unwrap()).claim_id).key.as_deref(),
        Some("databases")
    );
}
