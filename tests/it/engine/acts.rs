//! retract, reinstate, redact, depend, reviewed.

use ergo::{
    api::{DependRequest, ErrorCode, RememberRequest},
    domain::Status,
};

use super::*;

fn resting(bed: &Bed, statement: &str, on: ClaimId) -> ClaimId {
    let request = RememberRequest { depends_on: vec![on.to_hex()], ..request(statement, "r") };
    stored(bed.engine.remember(request).unwrap()).claim_id
}

#[test]
fn a_retract_needs_a_reason_and_stays_in_history() {
    let bed = Bed::new();
    let id = bed.remember("We ship on Fridays", "habit");
    assert_eq!(bed.engine.retract(on(id, " ")).unwrap_err().field.as_deref(), Some("reason"));
    let answer = bed.retract(id, "test junk");
    assert!(answer.summary.contains("We ship on Fridays"));
    let claim = bed.claim(id);
    assert_eq!((claim.status, claim.closing_reason.as_deref()), (Status::Retracted, Some("test junk")));
    let again = stale(bed.engine.retract(on(id, "twice")).unwrap());
    assert!(again.message.contains("already retracted") && again.can_reinstate);
    let kinds: Vec<String> =
        bed.engine.history(&id.to_hex()).unwrap().events.into_iter().map(|event| event.kind).collect();
    assert_eq!(kinds, ["assert", "retract"]);
}

#[test]
fn the_answers_about_a_claim_on_which_many_rest_are_no_longer_than_a_page() {
    let bed = Bed::new();
    let premise = bed.remember("Everything rests on this", "it is so");
    for n in 0..230 {
        let fact = RememberRequest {
            kind: Some(ergo::domain::ClaimKind::Fact),
            key: Some(format!("k{n}")),
            ..request(&format!("key {n} is set"), "r")
        };
        let request = RememberRequest { depends_on: vec![premise.to_hex()], ..fact };
        stored(bed.engine.remember(request).unwrap());
    }
    let history = bed.engine.history(&premise.to_hex()).unwrap();
    assert_eq!((history.claim.dependents, history.dependents.len(), history.events.len()), (230, 100, 101));
    let first = history.events.first().unwrap().kind.clone();
    assert_eq!(first, "assert", "what made it is there, whatever came later");
    let done = bed.retract(premise, "it is not so");
    assert_eq!((done.needs_review.len(), done.claims.len()), (230, 200));
    assert_eq!(done.claims[0].id, premise, "what it was about comes first");
    let kinds: Vec<String> =
        bed.engine.history(&premise.to_hex()).unwrap().events.into_iter().map(|event| event.kind).collect();
    assert_eq!((kinds.len(), kinds.last().unwrap().as_str()), (102, "retract"));
    let made = bed.engine.history(&premise.to_hex()).unwrap().events[0].op_id;
    let error = bed.engine.undo(UndoRequest { caller: caller(), target_op: Some(made) }).unwrap_err();
    assert_eq!((error.code, error.candidates.len()), (ErrorCode::BuiltOn, 20), "{error}");
    assert!(
        error.message.contains(" and 228 more"),
        "230 that rest on it and the retract, of which three are named: {error}"
    );
}

#[test]
fn unknown_and_ambiguous_ids_are_told_apart() {
    let bed = Bed::new();
    let unknown = ActRequest { target: "00000000".into(), ..on(bed.remember("a b c", "r"), "x") };
    assert_eq!(bed.engine.retract(unknown).unwrap_err().code, ErrorCode::NotFound);
    let odd = ActRequest { target: "not an id".into(), ..on(bed.remember("d e f", "r"), "x") };
    let error = bed.engine.retract(odd).unwrap_err();
    assert_eq!((error.code, error.field.as_deref()), (ErrorCode::BadRequest, Some("target")));
}

#[test]
fn a_premise_that_gives_way_marks_what_rests_on_it_until_it_is_reviewed() {
    let bed = Bed::new();
    let base = bed.remember("We run on Postgres", "team knows it");
    let middle = resting(&bed, "Migrations are written in SQL", base);
    let top = resting(&bed, "Reviewers read the SQL", middle);
    let answer = bed.retract(base, "never did");
    assert_eq!(answer.needs_review.len(), 2);
    assert!(bed.claim(middle).flags.needs_review && bed.claim(top).flags.needs_review);

    let answer = done(bed.engine.reviewed(on(middle, "SQLite too is SQL")).unwrap());
    assert_eq!(answer.claim_id, None);
    assert!(!bed.claim(middle).flags.needs_review);
    assert!(stale(bed.engine.reviewed(on(middle, "again")).unwrap()).message.contains("does not need review"));
    bed.undo();
    assert!(bed.claim(middle).flags.needs_review);
}

#[test]
fn superseding_a_premise_asks_for_review_too_and_says_so() {
    let bed = Bed::new();
    let base = bed.remember("We run on Postgres", "team knows it");
    let top = resting(&bed, "Migrations are written in SQL", base);
    let outcome = stored(bed.supersede(base, "We run on SQLite", "simpler"));
    assert!(outcome.warnings.iter().any(|warning| warning.code == "needs_review"), "{:?}", outcome.warnings);
    assert!(bed.claim(top).flags.needs_review);
}

#[test]
fn nothing_rests_on_itself() {
    let bed = Bed::new();
    let a = bed.remember("We run on Postgres", "team knows it");
    let b = resting(&bed, "Migrations are written in SQL", a);
    let depend = |claim: ClaimId, premise: ClaimId| DependRequest {
        caller: caller(),
        claim: claim.to_hex(),
        premises: vec![premise.to_hex()],
    };
    assert_eq!(bed.engine.depend(depend(a, a)).unwrap_err().field.as_deref(), Some("premises"));
    assert_eq!(bed.engine.depend(depend(a, b)).unwrap_err().field.as_deref(), Some("premises"));
    bed.acts();
    assert!(done(bed.engine.depend(depend(b, a)).unwrap()).summary.contains("already"));
    assert_eq!(bed.acts(), Vec::<String>::new());
    let c = bed.remember("Seeds are checked in", "tests");
    done(bed.engine.depend(depend(c, a)).unwrap());
    assert_eq!(bed.claim(c).premises, [a]);
}

#[test]
fn reinstate_restores_a_claim_that_nothing_contradicts() {
    let bed = Bed::new();
    let blue = bed.remember("Deployments must use a blue canary", "safe");
    let red = stored(bed.supersede(blue, "Deployments must use a red canary", "changed")).claim_id;
    // Its successor is active and contradicts it.
    let refusal = refused(bed.engine.reinstate(on(blue, "blue after all")).unwrap());
    assert_eq!(refusal.conflicts[0].claim.id, red);
    bed.retract(red, "wrong");
    assert_eq!(bed.claim(blue).status, Status::Superseded);
    done(bed.engine.reinstate(on(blue, "blue after all")).unwrap());
    assert_eq!(bed.claim(blue).status, Status::Active);
    assert!(stale(bed.engine.reinstate(on(blue, "again")).unwrap()).message.contains("active already"));
    bed.undo();
    assert_eq!(bed.claim(blue).status, Status::Superseded);
}

#[test]
fn redacted_text_is_gone_from_every_view_and_from_the_file() {
    let bed = Bed::new();
    let secret = "hunter2swordfish";
    bed.remember("Deployments must use a blue canary", "safe");
    let id = bed.remember(&format!("The staging password is {secret}"), "handy");
    let card = bed.refuse(&format!("Deployments must use a red canary ({secret})"), "oops");
    let answer = done(bed.engine.redact(on(id, "a secret was pasted")).unwrap());
    assert!(!answer.summary.contains(secret));
    let new_claim = bed.card(card).sides[0].claim.id;
    done(bed.engine.redact(on(new_claim, "a secret was pasted")).unwrap());
    let claim = bed.claim(id);
    assert!(claim.flags.redacted && claim.statement.is_empty() && claim.reason.is_none());
    assert!(bed.engine.reinstate(on(id, "x")).is_ok());
    let error = bed.engine.undo(UndoRequest { caller: caller(), target_op: Some(answer.op_id) }).unwrap_err();
    assert!(error.message.contains("cannot be undone"), "{error}");
    let dir = bed.dir.path().to_owned();
    let Bed { engine, dir: kept, .. } = bed;
    drop(engine);
    for file in std::fs::read_dir(&dir).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
    }
    drop(kept);
}
