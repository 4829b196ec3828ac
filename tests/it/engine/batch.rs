//! Many cards settled by one act: one undo, a guard check for each, and no plan that changes another card.

use ergo::api::{CardRef, CardStatus, ErrorCode, Keep, ResolveManyRequest, ResolvedMany};

use super::*;

const PAIRS: [(&str, &str); 3] = [
    ("Deployments must use a blue canary", "Deployments must use a red canary"),
    ("Backups are kept for 30 days", "Backups are kept for 7 days"),
    ("Never deploy on Fridays", "Always deploy on Fridays"),
];

/// An engine with three stored claims and the cards of three writes that contradict them.
fn three() -> (Fixture, Vec<ClaimId>, Vec<CardId>) {
    let fixture = Fixture::new();
    let stored = PAIRS.iter().map(|(stored, _)| fixture.remember(stored, "it was so")).collect();
    let cards = PAIRS.iter().map(|(_, refused)| fixture.refuse(refused, "it is so now")).collect();
    fixture.acts();
    (fixture, stored, cards)
}

fn all(fixture: &Fixture, cards: &[CardId], act: CardAct, keep: Option<Keep>) -> ResolveManyRequest {
    let shown = |id: &CardId| CardRef { id: id.to_hex(), expect_rev: Some(fixture.card(*id).summary.rev) };
    ResolveManyRequest {
        caller: caller(),
        cards: cards.iter().map(shown).collect(),
        act,
        keep,
        reason: String::new(),
        until: None,
        dry_run: false,
    }
}

fn settle(fixture: &Fixture, request: &ResolveManyRequest) -> ResolvedMany {
    fixture.engine.resolve_many(request).unwrap()
}

#[test]
fn one_act_settles_them_all_each_for_its_own_reason_and_one_undo_takes_all_back() {
    let (fixture, stored, cards) = three();
    let request = all(&fixture, &cards, CardAct::Supersede, Some(Keep::First));
    let preview = settle(&fixture, &ResolveManyRequest { dry_run: true, ..request.clone() });
    assert_eq!((preview.settled(), preview.dry_run, fixture.open_cards()), (3, true, 3));
    assert!(fixture.acts().is_empty(), "a preview tells nobody");

    let answer = settle(&fixture, &request);
    assert_eq!((answer.settled(), answer.summary.as_str()), (3, "Settled 3 cards"));
    assert_eq!((fixture.open_cards(), fixture.acts()), (0, vec!["resolve".to_owned()]));
    for id in &stored {
        let old = fixture.claim(*id);
        assert_eq!(old.status, ergo::domain::Status::Superseded);
        assert_eq!(fixture.claim(old.replaced_by[0]).reason.as_deref(), Some("it is so now"));
    }
    let undone = fixture.undo();
    assert_eq!((undone.undone, undone.summary.as_str()), (answer.op_id, "Undid: settled 3 cards at once"));
    assert_eq!(fixture.open_cards(), 3);
    assert!(stored.iter().all(|id| fixture.claim(*id).status == ergo::domain::Status::Active));
}

#[test]
fn cards_that_one_act_dismisses_settle_their_own_pairs_alone() {
    let (fixture, stored, cards) = three();
    let request =
        ResolveManyRequest { reason: "no contradiction".into(), ..all(&fixture, &cards, CardAct::Dismiss, None) };
    assert_eq!(settle(&fixture, &request).settled(), 3);
    let made: Vec<ClaimId> = cards.iter().map(|card| fixture.card(*card).settled.unwrap().stored_as.unwrap()).collect();
    for (i, one) in stored.iter().enumerate() {
        for (j, other) in made.iter().enumerate() {
            let settled = fixture.engine.with_reader(|reader| reader.is_settled_pair(one, other)).unwrap();
            assert_eq!(settled, i == j, "{i} {j}");
        }
    }
    assert!(!fixture.engine.with_reader(|reader| reader.is_settled_pair(&made[0], &made[1])).unwrap());
}

#[test]
fn a_contradiction_that_is_dismissed_with_a_refused_write_says_who_did_it() {
    let fixture = Fixture::new();
    let old = fixture.remember(PAIRS[0].0, "it was so");
    let retract = fixture.retract(old, "never so");
    fixture.remember(PAIRS[0].1, "it is so now");
    fixture
        .engine
        .undo(UndoRequest { caller: caller(), target_op: Some(retract.op_id), ..UndoRequest::default() })
        .unwrap();
    let contradiction = fixture.engine.conflicts(&ConflictsQuery::default()).unwrap().items[0].id;
    fixture.remember(PAIRS[1].0, "it was so");
    let refused = fixture.refuse(PAIRS[1].1, "it is so now");
    let cards = [refused, contradiction];
    let reason = "no contradiction".to_owned();
    let answer = settle(&fixture, &ResolveManyRequest { reason, ..all(&fixture, &cards, CardAct::Dismiss, None) });
    assert_eq!((answer.settled(), fixture.open_cards()), (2, 0));
    for card in cards {
        let settled = fixture.card(card).settled.unwrap();
        assert_eq!((settled.act.as_str(), settled.reason.as_deref()), ("dismiss", Some("no contradiction")));
    }
    fixture.undo();
    assert_eq!(fixture.open_cards(), 2);
}

#[test]
fn what_was_there_stays_and_the_refused_writes_are_dropped() {
    let (fixture, _, cards) = three();
    let answer = settle(&fixture, &all(&fixture, &cards, CardAct::Supersede, Some(Keep::Second)));
    assert_eq!((answer.settled(), fixture.open_cards(), fixture.engine.counts().unwrap().claims), (3, 0, 3));
}

#[test]
fn a_retry_answers_as_the_first_time_and_does_nothing() {
    let (fixture, _, cards) = three();
    let mut request = all(&fixture, &cards, CardAct::Discard, None);
    request.caller.op_id = Some(op(3));
    settle(&fixture, &request);
    fixture.acts();
    let again = settle(&fixture, &request);
    assert_eq!((again.replayed, again.settled(), fixture.acts().len()), (true, 3, 0));
}

#[test]
fn a_card_that_changed_or_has_no_reason_is_left_and_the_others_are_settled() {
    let (fixture, _, cards) = three();
    let request = all(&fixture, &cards, CardAct::Dismiss, None);
    let answer = settle(&fixture, &request);
    assert_eq!((answer.settled(), fixture.open_cards()), (0, 3));
    assert!(answer.items[0].summary.contains("no reason is known for this card"), "{answer:?}");

    done(fixture.resolve(cards[1], order(CardAct::Discard, "a slip")));
    let answer = settle(&fixture, &ResolveManyRequest { reason: "another matter".into(), ..request });
    let settled: Vec<bool> = answer.items.iter().map(|item| item.settled).collect();
    assert_eq!((settled, answer.summary.as_str()), (vec![true, false, true], "Settled 2 of 3 cards"));
    assert!(answer.items[1].summary.contains("was settled by ada (the new claim was discarded)"), "{answer:?}");
    assert_eq!(fixture.card(cards[0]).summary.status, CardStatus::Settled);
}

#[test]
fn the_side_of_one_source_stays_wherever_it_stands() {
    let fixture = Fixture::new();
    let from = |statement: &str, source: &str| RememberRequest {
        source: Some(source.into()),
        ..request(statement, "as it says there")
    };
    for ((stored, _), source) in PAIRS.iter().zip(["CLAUDE.md:3", "a talk", "a talk"]) {
        super::stored(fixture.engine.remember(from(stored, source)).unwrap());
    }
    let cards: Vec<CardId> = PAIRS
        .iter()
        .zip(["a talk", "CLAUDE.md:9", "a mail"])
        .map(|((_, write), source)| refused(fixture.engine.remember(from(write, source)).unwrap()).card_id.unwrap())
        .collect();
    let answer = settle(&fixture, &all(&fixture, &cards, CardAct::Supersede, Some(Keep::Source("CLAUDE.md".into()))));
    let settled: Vec<bool> = answer.items.iter().map(|item| item.settled).collect();
    assert_eq!(settled, [true, true, false]);
    assert_eq!(answer.items[2].summary, "no claim on this card is from “CLAUDE.md”");
    assert_eq!(fixture.engine.counts().unwrap().active, 3, "one dropped, one replaced, one left");
}

#[test]
fn cards_that_meet_in_one_claim_do_not_change_it_twice() {
    let fixture = Fixture::new();
    let blue = fixture.remember("Deployments must use a blue canary", "safe");
    let cards =
        ["red", "green"].map(|color| fixture.refuse(&format!("Deployments must use a {color} canary"), "prettier"));
    let answer = settle(&fixture, &all(&fixture, &cards, CardAct::Supersede, Some(Keep::First)));
    let settled: Vec<bool> = answer.items.iter().map(|item| item.settled).collect();
    assert_eq!(settled, [true, false], "{answer:?}");
    assert!(answer.items[1].summary.contains("was replaced or retracted by another of these cards"), "{answer:?}");
    let old = fixture.claim(blue);
    assert_eq!((old.replaced_by.len(), old.flags.contested), (1, false));
    assert_eq!(fixture.engine.counts().unwrap().active, 1, "red and green never hold together");
}

#[test]
fn a_card_that_is_named_twice_is_settled_once() {
    let (fixture, _, cards) = three();
    let mut request = all(&fixture, &[cards[0], cards[1]], CardAct::Dismiss, None);
    request.reason = "both hold".into();
    request.cards.push(CardRef { id: cards[0].short(), expect_rev: None });
    request.caller.op_id = Some(op(6));
    let answer = settle(&fixture, &request);
    assert_eq!((answer.settled(), answer.items.len(), fixture.open_cards()), (2, 2, 1));
    let retry = settle(&fixture, &request);
    assert_eq!((retry.replayed, retry.items.len()), (true, 2));
    let stored = fixture.engine.claims(&ergo::api::ClaimsQuery::default()).unwrap();
    assert_eq!(stored.items.iter().filter(|claim| claim.statement == PAIRS[0].1).count(), 1);
}

#[test]
fn what_means_another_act_on_each_card_is_refused_whole() {
    let (fixture, _, cards) = three();
    for (act, keep, field) in [(CardAct::Retract, None, "act"), (CardAct::Supersede, None, "keep")] {
        let error = fixture.engine.resolve_many(&all(&fixture, &cards, act, keep)).unwrap_err();
        assert_eq!((error.code, error.field.as_deref()), (ErrorCode::BadRequest, Some(field)));
    }
    let error = fixture.engine.resolve_many(&all(&fixture, &[], CardAct::Discard, None)).unwrap_err();
    assert_eq!(error.field.as_deref(), Some("cards"));
}

#[test]
fn snoozed_cards_come_back_together() {
    let (fixture, _, cards) = three();
    let request = ResolveManyRequest { until: Some(NOON + 86_400_000), ..all(&fixture, &cards, CardAct::Snooze, None) };
    assert_eq!((settle(&fixture, &request).summary.as_str(), fixture.open_cards()), ("Snoozed 3 cards", 0));
    fixture.undo();
    assert_eq!(fixture.open_cards(), 3);
}
