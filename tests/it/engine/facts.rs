//! Facts: cheap, upserted by key, their history kept.

use ergo::{
    api::{RememberRequest, WriteOutcome},
    domain::Status,
};

use super::*;

#[test]
fn a_fact_replaces_the_fact_under_its_key_and_keeps_it_in_history() {
    let bed = Bed::new();
    let set = |statement: &str| {
        let request = RememberRequest { key: Some("db/version".into()), ..fact(statement) };
        stored(bed.engine.remember(request).unwrap())
    };
    let first = set("Postgres 15");
    let second = set("Postgres 16");
    assert_eq!(second.superseded, [first.claim_id]);
    assert_eq!(bed.claim(first.claim_id).status, Status::Superseded);
    let history = bed.engine.history(&second.claim_id.to_hex()).unwrap();
    assert_eq!(history.chain.len(), 2);
    assert_eq!(history.chain[1].claim.statement, "Postgres 15");
    // Taking the second back brings the first one back.
    bed.undo();
    assert_eq!(bed.claim(first.claim_id).status, Status::Active);
}

#[test]
fn facts_without_a_key_replace_only_what_is_the_same() {
    let bed = Bed::new();
    let a = stored(bed.engine.remember(fact("The build server is in Bonn")).unwrap());
    let b = stored(bed.engine.remember(fact("The build server was bought in 2019")).unwrap());
    assert!(b.superseded.is_empty());
    let again = stored(bed.engine.remember(fact("The build server is in Bonn")).unwrap());
    assert!(again.duplicate && again.claim_id == a.claim_id);
}

#[test]
fn a_fact_needs_no_reason_and_passes_no_guard() {
    let bed = Bed::new();
    bed.remember("Deployments must use a blue canary", "safe");
    let outcome = bed.engine.remember(fact("Deployments must use a red canary")).unwrap();
    assert!(matches!(outcome, WriteOutcome::Stored(_)));
    assert_eq!(bed.open_cards(), 0);
}
