//! retract, reinstate, redact, depend, reviewed.

use ergo::{
    api::{DependRequest, ErrorCode, RememberRequest, WhyRequest},
    domain::Status,
};

use super::*;

fn resting(fixture: &Fixture, statement: &str, on: ClaimId) -> ClaimId {
    let request = RememberRequest { depends_on: vec![on.to_hex()], ..request(statement, "r") };
    stored(fixture.engine.remember(request).unwrap()).claim_id
}

#[test]
fn a_retract_needs_a_reason_and_stays_in_history() {
    let fixture = Fixture::new();
    let id = fixture.remember("We ship on Fridays", "habit");
    assert_eq!(fixture.engine.retract(on(id, " ")).unwrap_err().field.as_deref(), Some("reason"));
    let answer = fixture.retract(id, "test junk");
    assert!(answer.summary.contains("We ship on Fridays"));
    let kept = fixture.remember("Backups are encrypted", "law");
    let unknown = ergo::domain::EventId([9; 32]);
    assert_eq!(fixture.engine.active_claims(&[id, kept, unknown]).unwrap(), [kept].into());
    let claim = fixture.claim(id);
    assert_eq!((claim.status, claim.closing_reason.as_deref()), (Status::Retracted, Some("test junk")));
    let again = stale(fixture.engine.retract(on(id, "twice")).unwrap());
    assert!(again.message.contains("already retracted") && again.can_reinstate);
    let kinds: Vec<String> =
        fixture.engine.history(&id.to_hex()).unwrap().events.into_iter().map(|event| event.kind).collect();
    assert_eq!(kinds, ["assert", "retract"]);
}

#[test]
fn the_answers_about_a_claim_on_which_many_rest_are_no_longer_than_a_page() {
    let fixture = Fixture::new();
    let premise = fixture.remember("Everything rests on this", "it is so");
    for n in 0..230 {
        let fact = RememberRequest {
            kind: Some(ergo::domain::ClaimKind::Fact),
            key: Some(format!("k{n}")),
            ..request(&format!("key {n} is set"), "r")
        };
        let request = RememberRequest { depends_on: vec![premise.to_hex()], ..fact };
        stored(fixture.engine.remember(request).unwrap());
    }
    let history = fixture.engine.history(&premise.to_hex()).unwrap();
    assert_eq!((history.claim.dependents, history.dependents.len(), history.events.len()), (230, 100, 101));
    let first = history.events.first().unwrap().kind.clone();
    assert_eq!(first, "assert", "what made it is there, whatever came later");
    let done = fixture.retract(premise, "it is not so");
    assert_eq!((done.needs_review.len(), done.claims.len()), (230, 200));
    assert_eq!(done.claims[0].id, premise, "what it was about comes first");
    let kinds: Vec<String> =
        fixture.engine.history(&premise.to_hex()).unwrap().events.into_iter().map(|event| event.kind).collect();
    assert_eq!((kinds.len(), kinds.last().unwrap().as_str()), (102, "retract"));
    let made = fixture.engine.history(&premise.to_hex()).unwrap().events[0].op_id;
    let error = fixture
        .engine
        .undo(UndoRequest { caller: caller(), target_op: Some(made), ..UndoRequest::default() })
        .unwrap_err();
    assert_eq!((error.code, error.candidates.len()), (ErrorCode::BuiltOn, 20), "{error}");
    assert!(
        error.message.contains(" and 228 more"),
        "230 that rest on it and the retract, of which three are named: {error}"
    );
}

#[test]
fn unknown_and_ambiguous_ids_are_told_apart() {
    let fixture = Fixture::new();
    let unknown = ActRequest { target: "00000000".into(), ..on(fixture.remember("a b c", "r"), "x") };
    assert_eq!(fixture.engine.retract(unknown).unwrap_err().code, ErrorCode::NotFound);
    let odd = ActRequest { target: "not an id".into(), ..on(fixture.remember("d e f", "r"), "x") };
    let error = fixture.engine.retract(odd).unwrap_err();
    assert_eq!((error.code, error.field.as_deref()), (ErrorCode::BadRequest, Some("target")));
}

#[test]
fn a_premise_that_gives_way_marks_what_rests_on_it_until_it_is_reviewed() {
    let fixture = Fixture::new();
    let base = fixture.remember("We run on Postgres", "team knows it");
    let middle = resting(&fixture, "Migrations are written in SQL", base);
    let top = resting(&fixture, "Reviewers read the SQL", middle);
    let answer = fixture.retract(base, "never did");
    assert_eq!(answer.needs_review.len(), 2);
    assert!(fixture.claim(middle).flags.needs_review && fixture.claim(top).flags.needs_review);

    let answer = done(fixture.engine.reviewed(on(middle, "SQLite too is SQL")).unwrap());
    assert_eq!(answer.claim_id, None);
    assert!(!fixture.claim(middle).flags.needs_review);
    assert!(stale(fixture.engine.reviewed(on(middle, "again")).unwrap()).message.contains("does not need review"));
    fixture.undo();
    assert!(fixture.claim(middle).flags.needs_review);
}

#[test]
fn superseding_a_premise_asks_for_review_too_and_says_so() {
    let fixture = Fixture::new();
    let base = fixture.remember("We run on Postgres", "team knows it");
    let top = resting(&fixture, "Migrations are written in SQL", base);
    let outcome = stored(fixture.supersede(base, "We run on SQLite", "simpler"));
    assert!(outcome.warnings.iter().any(|warning| warning.code == "needs_review"), "{:?}", outcome.warnings);
    assert!(fixture.claim(top).flags.needs_review);
}

#[test]
fn nothing_rests_on_itself() {
    let fixture = Fixture::new();
    let a = fixture.remember("We run on Postgres", "team knows it");
    let b = resting(&fixture, "Migrations are written in SQL", a);
    let depend = |claim: ClaimId, premise: ClaimId| DependRequest {
        caller: caller(),
        claim: claim.to_hex(),
        premises: vec![premise.to_hex()],
    };
    assert_eq!(fixture.engine.depend(depend(a, a)).unwrap_err().field.as_deref(), Some("premises"));
    assert_eq!(fixture.engine.depend(depend(a, b)).unwrap_err().field.as_deref(), Some("premises"));
    fixture.acts();
    assert!(done(fixture.engine.depend(depend(b, a)).unwrap()).summary.contains("already"));
    assert_eq!(fixture.acts(), Vec::<String>::new());
    let again = RememberRequest { depends_on: vec![b.to_hex()], ..request("We run on Postgres", "team knows it") };
    assert_eq!(fixture.engine.remember(again).unwrap_err().field.as_deref(), Some("depends_on"));
    assert_eq!(fixture.claim(a).premises, Vec::<ClaimId>::new());
    let c = fixture.remember("Seeds are checked in", "tests");
    done(fixture.engine.depend(depend(c, a)).unwrap());
    assert_eq!(fixture.claim(c).premises, [a]);
}

#[test]
fn reinstate_restores_a_claim_that_nothing_contradicts() {
    let fixture = Fixture::new();
    let blue = fixture.remember("Deployments must use a blue canary", "safe");
    let red = stored(fixture.supersede(blue, "Deployments must use a red canary", "changed")).claim_id;
    // Its successor is active and contradicts it.
    let refusal = refused(fixture.engine.reinstate(on(blue, "blue after all")).unwrap());
    assert_eq!(refusal.conflicts[0].claim.id, red);
    fixture.retract(red, "wrong");
    assert_eq!(fixture.claim(blue).status, Status::Superseded);
    done(fixture.engine.reinstate(on(blue, "blue after all")).unwrap());
    assert_eq!(fixture.claim(blue).status, Status::Active);
    assert!(stale(fixture.engine.reinstate(on(blue, "again")).unwrap()).message.contains("active already"));
    fixture.undo();
    assert_eq!(fixture.claim(blue).status, Status::Superseded);
}

#[test]
fn redacted_text_is_gone_from_every_view_and_from_the_file() {
    let fixture = Fixture::new();
    let secret = "hunter2swordfish";
    fixture.remember("Deployments must use a blue canary", "safe");
    let id = fixture.remember(&format!("The staging password is {secret}"), "handy");
    let card = fixture.refuse(&format!("Deployments must use a red canary ({secret})"), "oops");
    let answer = done(fixture.engine.redact(on(id, "a secret was pasted")).unwrap());
    assert!(!answer.summary.contains(secret));
    let new_claim = fixture.card(card).sides[0].claim.id;
    done(fixture.engine.redact(on(new_claim, "a secret was pasted")).unwrap());
    let claim = fixture.claim(id);
    assert!(claim.flags.redacted && claim.statement.is_empty() && claim.reason.is_none());
    let why =
        WhyRequest { org_id: "acme".into(), project: "api".into(), question: id.to_hex(), ..WhyRequest::default() };
    let note = fixture.engine.why(&why).unwrap().note.unwrap();
    assert!(note.contains("redacted") && !note.contains("no recorded reason"), "{note}");
    assert!(fixture.engine.reinstate(on(id, "x")).is_ok());
    let error = fixture
        .engine
        .undo(UndoRequest { caller: caller(), target_op: Some(answer.op_id), ..UndoRequest::default() })
        .unwrap_err();
    assert!(error.message.contains("cannot be undone"), "{error}");
    assert!(!fixture.holds(secret));
}

#[test]
fn a_redaction_takes_one_target_and_its_revision() {
    let fixture = Fixture::new();
    fixture.remember("Deployments must use a blue canary", "safe");
    let (first, second) = (fixture.remember("The first token is 1", "handy"), fixture.remember("Tea is free", "kind"));
    let both = ActRequest { also: vec![second.to_hex()], ..on(first, "a secret") };
    assert_eq!(fixture.engine.redact(both).unwrap_err().field.as_deref(), Some("also"));
    assert!(!fixture.claim(first).flags.redacted);

    let card = fixture.card(fixture.refuse("Deployments must use a red canary", "oops"));
    let new_claim = card.sides[0].claim.id;
    for target in [card.summary.id.to_hex(), new_claim.to_hex()] {
        let old = ActRequest { target, expect_rev: Some(card.summary.rev + 1), ..on(new_claim, "a secret") };
        let error = fixture.engine.redact(old).unwrap_err();
        assert_eq!(error.code, ErrorCode::Stale, "{error}");
    }
    let retracted = fixture.retract(second, "test junk").op_id;
    let events = fixture.engine.history(&second.to_hex()).unwrap().events;
    let event = events.iter().find(|event| event.op_id == retracted).unwrap().id;
    let request = ActRequest { expect_rev: Some(1), ..on(event, "a secret") };
    assert_eq!(fixture.engine.redact(request).unwrap_err().field.as_deref(), Some("expect_rev"));
    let current = ActRequest { expect_rev: Some(card.summary.rev), ..on(new_claim, "a secret") };
    done(fixture.engine.redact(current).unwrap());
}
