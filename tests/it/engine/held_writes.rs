//! A held write that other callers repeat: the latest version is stored.

use std::collections::{BTreeMap, BTreeSet};

use ergo::{
    api::{Consider, ErrorCode, JudgeRequest},
    domain::{EventKind, PairVerdict, Status, derive::local},
    store::EventDraft,
};

use super::{
    doubts::{commit, doubting},
    *,
};

const TEXT: &str = "The weekly report goes to the finance team as a draft";

fn considered(outcome: WriteOutcome) -> Consider {
    match outcome {
        WriteOutcome::Consider(consider) => consider,
        other => panic!("not asked: {other:#?}"),
    }
}

fn asking(reason: &str) -> RememberRequest {
    RememberRequest { caller: agent(), consider: true, ..request(TEXT, reason) }
}

#[test]
fn a_held_write_keeps_the_reason_premises_and_targets_that_were_given_last() {
    let fixture = Fixture::new().reopen_with(doubting());
    fixture.remember("The weekly report goes to the finance team first", "they plan by it");
    let target = fixture.remember("Containers run as an ordinary user", "least privilege");
    let premise = fixture.remember("Invoices are printed on Mondays", "habit");
    let first = considered(fixture.engine.remember(asking("they asked for it")).unwrap());
    let claim = RememberRequest { depends_on: vec![premise.to_hex()], ..asking("the board wants it") };
    let claim = RememberRequest { caller: Caller { op_id: Some(op(3)), ..agent() }, ..claim };
    let request = SupersedeRequest { targets: vec![target.to_hex()], claim, ..SupersedeRequest::default() };
    let second = considered(fixture.engine.supersede(request.clone()).unwrap());
    assert_eq!((&second.token, second.replayed, second.op_id), (&first.token, false, op(3)));
    let again = considered(fixture.engine.supersede(request).unwrap());
    assert_eq!((&again.token, again.replayed), (&first.token, true));

    let verdicts = first.doubts.iter().map(|doubt| (doubt.id.short(), PairVerdict::Compatible)).collect();
    let judged = JudgeRequest {
        caller: agent(),
        token: first.token,
        verdicts,
        because: Some("read both".into()),
        ..JudgeRequest::default()
    };
    let new = stored(fixture.engine.judge(&judged).unwrap());
    assert_eq!(new.superseded, [target]);
    assert_eq!(fixture.claim(target).status, Status::Superseded);
    let claim = fixture.claim(new.claim_id);
    assert_eq!((claim.reason.as_deref(), claim.premises), (Some("the board wants it"), vec![premise]));
    assert!(fixture.engine.questions(&ergo::api::QuestionsQuery::default()).unwrap().items.is_empty());
}

/// A held write with this data.
fn held(statement: &str, data: &str) -> EventDraft {
    let mut draft = EventDraft::new(EventKind::Local(local::HELD.into()), []);
    draft.claim_kind = Some(ClaimKind::Decision);
    draft.body.statement = Some(statement.into());
    draft.body.reason = Some("it was there".into());
    draft.body.data = Some(data.into());
    draft
}

#[test]
fn a_held_write_that_cannot_be_stored_does_not_keep_others_waiting() {
    let fixture = Fixture::new().reopen_with(doubting());
    fixture.remember("The weekly report goes to the finance team first", "they plan by it");
    let question = considered(fixture.engine.remember(asking("they asked for it")).unwrap());
    // Nothing can be stored in a name with an invisible character.
    let unstorable = held("Shelves are painted blue", r#"{"question": {"doubts": [], "until": 0}}"#);
    commit(&fixture, "ada\u{202e}", vec![unstorable]);
    fixture.clock.store(question.until, Ordering::Relaxed);
    let mut failed = BTreeSet::new();
    while fixture.engine.store_unanswered(&mut failed).unwrap() {}
    assert_eq!(failed.len(), 1);
    let claims = fixture.engine.claims(&ergo::api::ClaimsQuery::default()).unwrap().items;
    assert!(claims.iter().any(|claim| claim.statement == TEXT), "{claims:?}");
}

#[test]
fn a_held_write_whose_question_cannot_be_read_stays_held() {
    let fixture = Fixture::new();
    commit(&fixture, "ada", vec![held("Shelves are painted blue", r#"{"question": {"until": "soon"}}"#)]);
    let mut failed = BTreeSet::new();
    while fixture.engine.store_unanswered(&mut failed).unwrap() {}
    assert_eq!((failed.len(), fixture.engine.next_unanswered().unwrap()), (1, None));
    assert!(fixture.engine.claims(&ergo::api::ClaimsQuery::default()).unwrap().items.is_empty());
    assert!(fixture.engine.questions(&ergo::api::QuestionsQuery::default()).unwrap().items.is_empty());
}

#[test]
fn the_card_of_a_held_write_that_was_undone_says_so() {
    let fixture = Fixture::new().reopen_with(doubting());
    fixture.remember("The weekly report goes to the finance team first", "they plan by it");
    let question = considered(fixture.engine.remember(asking("they asked for it")).unwrap());
    let undo = UndoRequest { caller: agent(), target_op: Some(question.op_id), ..UndoRequest::default() };
    fixture.engine.undo(undo).unwrap();
    let settled = fixture.card(question.card_id).settled.unwrap();
    assert_eq!((settled.act.as_str(), settled.outcome()), ("undone", "the write was undone"));
    assert_eq!(settled.reason, None);
    let answer = stale(fixture.resolve(question.card_id, order(CardAct::Discard, "late")));
    assert!(
        answer.message.ends_with("no longer applies (the write was undone); nothing was done"),
        "{}",
        answer.message
    );
}

#[test]
fn a_held_write_whose_target_was_replaced_meanwhile_stands_on_a_card_with_the_new_claim() {
    for answered in [true, false] {
        let fixture = Fixture::new().reopen_with(doubting());
        fixture.remember("The weekly report goes to the finance team first", "they plan by it");
        let target = fixture.remember("Containers run as an ordinary user", "least privilege");
        let request = SupersedeRequest {
            targets: vec![target.to_hex()],
            claim: asking("they asked"),
            ..SupersedeRequest::default()
        };
        let question = considered(fixture.engine.supersede(request).unwrap());
        let other = stored(fixture.supersede(target, "Containers run without root", "clearer")).claim_id;

        let verdicts = question.doubts.iter().map(|doubt| (doubt.id.short(), PairVerdict::Compatible));
        let judged = JudgeRequest {
            caller: agent(),
            token: question.token.clone(),
            verdicts: if answered { verdicts.collect() } else { BTreeMap::default() },
            because: answered.then(|| "read both".into()),
            unanswered: !answered,
            ..JudgeRequest::default()
        };
        let new = stored(fixture.engine.judge(&judged).unwrap());
        assert!(
            new.superseded.is_empty() && new.warnings.iter().any(|warning| warning.code == "target_replaced"),
            "{new:?}"
        );
        let cards = fixture.engine.conflicts(&ergo::api::ConflictsQuery::default()).unwrap().items;
        let between = cards.iter().filter(|card| card.members.contains(&new.claim_id) && card.members.contains(&other));
        assert_eq!(between.count(), 1, "{cards:?}");
    }
}

#[test]
fn a_token_of_no_held_write_is_reported_as_such() {
    let fixture = Fixture::new().reopen_with(doubting());
    for unanswered in [false, true] {
        let verdicts = BTreeMap::from([("0123456789ab".to_owned(), PairVerdict::Compatible)]);
        let verdicts = if unanswered { BTreeMap::default() } else { verdicts };
        let token = "0123456789abcdef".to_owned();
        let because = (!unanswered).then(|| "read both".into());
        let judged = JudgeRequest { caller: agent(), token, verdicts, because, unanswered, ..JudgeRequest::default() };
        let error = fixture.engine.judge(&judged).unwrap_err();
        assert_eq!((error.code, error.field.as_deref()), (ErrorCode::NotFound, Some("token")));
        assert_eq!(error.message, "there is no held write with the token 0123456789abcdef");
        assert!(error.hint.unwrap().contains("`consider`"));
    }
}
