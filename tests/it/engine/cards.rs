//! Settling cards: every act, with one undo each, and the guard's check of what is stored.

use ergo::{
    api::{CardKind, CardStatus, ConflictsQuery, ErrorCode, RememberRequest},
    domain::{Qualifiers, Status},
};

use super::*;

const BLUE: &str = "Deployments must use a blue canary";
const RED: &str = "Deployments must use a red canary";

/// A bed with the blue claim, and the card on which the red one waits.
fn refused_bed() -> (Bed, ClaimId, CardId) {
    let bed = Bed::new();
    let blue = bed.remember(BLUE, "safe");
    let card = bed.refuse(RED, "prettier");
    bed.acts();
    (bed, blue, card)
}

fn new_claim(bed: &Bed, card: CardId) -> ClaimId {
    bed.card(card).sides[0].claim.id
}

#[test]
fn supersede_for_the_new_claim_stores_it_and_one_undo_opens_the_card_again() {
    let (bed, blue, card) = refused_bed();
    let winner = Some(new_claim(&bed, card).to_hex());
    let answer =
        done(bed.resolve(card, ResolveRequest { winner, ..order(CardAct::Supersede, "we changed our minds") }));
    let red = answer.claim_id.unwrap();
    assert_eq!(bed.claim(red).reason.as_deref(), Some("prettier"), "why it is so stays its own");
    assert_eq!(bed.claim(blue).closing_reason.as_deref(), Some("we changed our minds"));
    assert_eq!((bed.claim(blue).status, bed.claim(blue).replaced_by), (Status::Superseded, vec![red]));
    let settled = bed.card(card).settled.unwrap();
    assert_eq!((settled.act.as_str(), settled.who.as_str()), ("supersede", "ada"));
    assert_eq!((bed.open_cards(), bed.acts()), (0, vec!["resolve".to_owned()]));

    bed.undo();
    assert_eq!((bed.claim(blue).status, bed.claim(red).status), (Status::Active, Status::Retracted));
    assert_eq!((bed.open_cards(), bed.card(card).summary.status), (1, CardStatus::Open));
}

#[test]
fn supersede_for_the_stored_claim_drops_the_new_claim() {
    let (bed, blue, card) = refused_bed();
    let answer = done(
        bed.resolve(card, ResolveRequest { winner: Some(blue.short()), ..order(CardAct::Supersede, "blue stays") }),
    );
    assert_eq!((answer.claim_id, bed.open_cards()), (None, 0));
    assert_eq!(bed.engine.counts().unwrap().claims, 1);
    bed.undo();
    assert_eq!(bed.open_cards(), 1);
}

#[test]
fn supersede_by_a_merged_text_replaces_both() {
    let (bed, blue, card) = refused_bed();
    let merged = ResolveRequest {
        statement: Some("Deployments must use a purple canary".into()),
        ..order(CardAct::Supersede, "the best of both")
    };
    let id = done(bed.resolve(card, merged)).claim_id.unwrap();
    assert_eq!(bed.claim(id).statement, "Deployments must use a purple canary");
    assert_eq!((bed.claim(blue).status, bed.open_cards()), (Status::Superseded, 0));
}

#[test]
fn retract_takes_the_stored_claim_out_and_stores_the_new_claim() {
    let (bed, blue, card) = refused_bed();
    let answer = done(
        bed.resolve(card, ResolveRequest { target: Some(blue.to_hex()), ..order(CardAct::Retract, "blue was a typo") }),
    );
    let red = bed.claim(answer.claim_id.unwrap());
    assert_eq!((red.statement.as_str(), red.reason.as_deref()), (RED, Some("prettier")));
    assert_eq!((bed.claim(blue).status, bed.open_cards()), (Status::Retracted, 0));
    bed.undo();
    assert_eq!((bed.claim(blue).status, bed.open_cards()), (Status::Active, 1));
}

#[test]
fn narrow_qualifies_either_side_and_both_hold() {
    for stored_side in [false, true] {
        let (bed, blue, card) = refused_bed();
        let target = if stored_side { blue } else { new_claim(&bed, card) };
        let narrow = |qualifiers| ResolveRequest {
            target: Some(target.to_hex()),
            qualifiers,
            ..order(CardAct::Narrow, "only there")
        };
        let error = bed.engine.resolve(&card.to_hex(), narrow(Qualifiers::default())).unwrap_err();
        assert_eq!(error.field.as_deref(), Some("qualifiers"));
        let answer = done(bed.resolve(card, narrow(in_env("dev"))));
        assert_eq!((bed.open_cards(), bed.engine.counts().unwrap().active), (0, 2), "{answer:?}");
        let changed = if stored_side { bed.claim(blue).replaced_by[0] } else { answer.claim_id.unwrap() };
        assert_eq!(bed.claim(changed).qualifiers, in_env("dev"));
        let now = |side: usize| bed.card(card).sides[side].now.iter().map(|claim| claim.id).collect::<Vec<_>>();
        assert_eq!(now(0), [answer.claim_id.unwrap()], "what the new claim was stored as");
        assert_eq!(now(1), if stored_side { vec![changed] } else { vec![] }, "what the stored side became");
        bed.undo();
        assert_eq!((bed.open_cards(), bed.claim(blue).status), (1, Status::Active));
    }
}

#[test]
fn a_side_that_was_replaced_points_to_what_is_in_force_now() {
    let (bed, blue, card) = refused_bed();
    let green = stored(bed.supersede(blue, "Deployments must use a green canary", "green is new")).claim_id;
    let lime = stored(bed.supersede(green, "Deployments must use a lime canary", "lime is newer")).claim_id;
    let view = bed.card(card);
    assert_eq!(view.summary.status, CardStatus::Open);
    assert_eq!(view.sides[1].now.iter().map(|claim| claim.id).collect::<Vec<_>>(), [lime]);
    assert!(view.sides[0].now.is_empty(), "it is not stored yet");
    let gone = ResolveRequest { winner: Some(blue.to_hex()), ..order(CardAct::Supersede, "blue stays") };
    let error = bed.engine.resolve(&card.to_hex(), gone).unwrap_err();
    assert!(error.message.contains(&blue.short()) && !error.message.contains(&blue.to_hex()), "{}", error.message);
}

#[test]
fn narrow_by_a_window_that_has_room_for_both() {
    let bed = Bed::new();
    let until = Qualifiers { valid_until: Some("2026-06-30".into()), ..Qualifiers::default() };
    let blue = RememberRequest { qualifiers: until, ..request(BLUE, "safe") };
    stored(bed.engine.remember(blue).unwrap());
    let card = bed.refuse(RED, "prettier");
    let from = Qualifiers { valid_from: Some("2026-07-01".into()), ..Qualifiers::default() };
    let narrowed = ResolveRequest {
        target: Some(new_claim(&bed, card).to_hex()),
        qualifiers: from.clone(),
        ..order(CardAct::Narrow, "from July on")
    };
    let id = done(bed.resolve(card, narrowed)).claim_id.unwrap();
    assert_eq!(bed.claim(id).qualifiers, from);
    assert_eq!((bed.open_cards(), bed.engine.counts().unwrap().active), (0, 2));
    bed.undo();
    assert_eq!((bed.open_cards(), bed.engine.counts().unwrap().active), (1, 1));
}

#[test]
fn an_exception_keeps_both_on_the_record() {
    let (bed, blue, card) = refused_bed();
    let red = done(bed.resolve(card, order(CardAct::Exception, "for the festival"))).claim_id.unwrap();
    assert!(bed.claim(red).flags.excepted && bed.claim(blue).flags.excepted);
    assert_eq!(bed.open_cards(), 0);
    bed.undo();
    assert!(!bed.claim(blue).flags.excepted);
    assert_eq!(bed.open_cards(), 1);
}

#[test]
fn what_was_dismissed_never_opens_a_card_again() {
    let (bed, _, card) = refused_bed();
    let red = done(bed.resolve(card, order(CardAct::Dismiss, "two different fleets"))).claim_id.unwrap();
    assert!(!bed.claim(red).flags.excepted);
    let again = stored(bed.try_remember(RED, "prettier"));
    assert!(again.duplicate && again.claim_id == red);
    let audit = bed.engine.audit(ergo::api::AuditRequest { caller: caller(), dry_run: false }).unwrap();
    assert_eq!((audit.opened.len(), bed.open_cards()), (0, 0));
}

#[test]
fn discard_drops_a_refused_write_and_nothing_else() {
    let (bed, _, card) = refused_bed();
    let answer = done(bed.resolve(card, order(CardAct::Discard, "a mistake")));
    assert_eq!((answer.claim_id, bed.open_cards()), (None, 0));
    assert_eq!(bed.card(card).settled.unwrap().act, "discard");
    bed.undo();
    assert_eq!(bed.open_cards(), 1);
}

#[test]
fn snooze_puts_a_card_off_and_it_comes_back() {
    let (bed, _, card) = refused_bed();
    let until = NOON + 3_600_000;
    let snooze = |until| ResolveRequest { until, ..order(CardAct::Snooze, "") };
    for bad in [None, Some(1), Some(u64::MAX)] {
        assert_eq!(bed.engine.resolve(&card.to_hex(), snooze(bad)).unwrap_err().field.as_deref(), Some("until"));
    }
    done(bed.resolve(card, snooze(Some(until))));
    assert_eq!((bed.open_cards(), bed.card(card).summary.status), (0, CardStatus::Snoozed));
    assert_eq!(bed.card(card).snoozed_until, Some(until));
    let snoozed = ConflictsQuery { status: Some("snoozed".into()), ..ConflictsQuery::default() };
    assert_eq!(bed.engine.conflicts(&snoozed).unwrap().total, 1);
    bed.clock.store(until + 1, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(bed.open_cards(), 1);
}

#[test]
fn a_card_that_was_settled_elsewhere_answers_stale_with_its_state() {
    let (bed, _, card) = refused_bed();
    let rev = bed.card(card).summary.rev;
    done(bed.resolve(card, order(CardAct::Discard, "a mistake")));
    let answer = stale(bed.resolve(card, ResolveRequest { expect_rev: Some(rev), ..order(CardAct::Exception, "x") }));
    assert_eq!(answer.card.unwrap().settled.unwrap().act, "discard");
    assert!(answer.message.contains("settled by ada"));
}

#[test]
fn a_card_that_changed_since_it_was_shown_answers_stale() {
    let (bed, _, card) = refused_bed();
    let rev = bed.card(card).summary.rev;
    let answer =
        stale(bed.resolve(card, ResolveRequest { expect_rev: Some(rev + 1), ..order(CardAct::Exception, "x") }));
    assert_eq!(answer.card.unwrap().summary.rev, rev);
    assert_eq!(bed.open_cards(), 1);
}

#[test]
fn a_reason_is_required_and_a_side_must_be_on_the_card() {
    let (bed, _, card) = refused_bed();
    let error = |order| bed.engine.resolve(&card.to_hex(), order).unwrap_err();
    assert_eq!(error(order(CardAct::Exception, " ")).field.as_deref(), Some("reason"));
    assert_eq!(error(order(CardAct::Supersede, "r")).field.as_deref(), Some("winner"));
    let elsewhere = bed.remember("Logs are kept for 30 days", "disk");
    let foreign = ResolveRequest { winner: Some(elsewhere.to_hex()), ..order(CardAct::Supersede, "r") };
    assert_eq!(error(foreign).field.as_deref(), Some("winner"));
    assert_eq!(bed.engine.resolve("0000", order(CardAct::Discard, "r")).unwrap_err().code, ErrorCode::NotFound);
}

#[test]
fn the_guard_looks_again_at_what_a_card_stores() {
    let (bed, blue, card) = refused_bed();
    // Meanwhile blue was replaced by yet another colour, which the card does not know.
    let green = stored(bed.supersede(blue, "Deployments must use a green canary", "new fleet")).claim_id;
    let view = bed.card(card);
    assert!(view.advice.contains("no longer active"), "{}", view.advice);
    let winner = Some(new_claim(&bed, card).to_hex());
    let answer = refused(bed.resolve(card, ResolveRequest { winner, ..order(CardAct::Supersede, "r") }));
    assert_eq!((answer.conflicts[0].claim.id, answer.card_id), (green, Some(card)));
    assert_eq!(bed.open_cards(), 1);
}

#[test]
fn a_new_claim_that_nothing_opposes_any_more_can_be_stored() {
    let (bed, blue, card) = refused_bed();
    bed.retract(blue, "never so");
    let answer = done(bed.resolve(card, order(CardAct::Supersede, "red it is")));
    assert_eq!(bed.claim(answer.claim_id.unwrap()).status, Status::Active);
    assert_eq!(bed.open_cards(), 0);
}

#[test]
fn a_refused_supersede_still_replaces_its_target_when_the_card_is_settled_for_it() {
    let bed = Bed::new();
    let blue = bed.remember(BLUE, "safe");
    let port = bed.remember("The API port is 8080", "history");
    let card = refused(bed.supersede(port, RED, "prettier")).card_id.unwrap();
    let red = done(bed.resolve(card, order(CardAct::Exception, "both fleets"))).claim_id.unwrap();
    assert_eq!((bed.claim(port).status, bed.claim(port).replaced_by), (Status::Superseded, vec![red]));
    assert!(bed.claim(blue).flags.excepted && bed.claim(blue).status == Status::Active);
}

#[test]
fn a_retry_of_a_resolve_does_nothing_twice() {
    let (bed, _, card) = refused_bed();
    let discard =
        ResolveRequest { caller: Caller { op_id: Some(op(9)), ..caller() }, ..order(CardAct::Discard, "a mistake") };
    let first = done(bed.resolve(card, discard.clone()));
    let again = done(bed.resolve(card, discard));
    assert_eq!((again.op_id, again.replayed, again.card_id), (first.op_id, true, Some(card)));
}

/// A bed in which blue and red are both active, by an undo past the guard; with the card that follows from it.
fn contradicting_bed() -> (Bed, ClaimId, ClaimId, CardId) {
    let bed = Bed::new();
    let blue = bed.remember(BLUE, "safe");
    let retract = bed.retract(blue, "never so");
    let red = bed.remember(RED, "prettier");
    bed.engine.undo(UndoRequest { caller: caller(), target_op: Some(retract.op_id) }).unwrap();
    let open = bed.engine.conflicts(&ConflictsQuery::default()).unwrap();
    assert_eq!((open.total, open.items[0].kind), (1, CardKind::Contradiction));
    (bed, blue, red, open.items[0].id)
}

#[test]
fn a_contradiction_between_active_claims_is_settled_each_way_and_each_is_undone() {
    let (bed, blue, red, card) = contradicting_bed();
    let statuses = || (bed.claim(blue).status, bed.claim(red).status);
    let both = (Status::Active, Status::Active);
    let (winner, target) = (Some(red.to_hex()), Some(blue.to_hex()));
    let merged = Some("Deployments must use a purple canary".to_owned());
    for (order, expected) in [
        (ResolveRequest { winner, ..order(CardAct::Supersede, "r") }, (Status::Superseded, Status::Active)),
        (
            ResolveRequest { statement: merged, ..order(CardAct::Supersede, "r") },
            (Status::Superseded, Status::Superseded),
        ),
        (
            ResolveRequest { target: target.clone(), ..order(CardAct::Retract, "r") },
            (Status::Retracted, Status::Active),
        ),
        (
            ResolveRequest { target, qualifiers: in_env("dev"), ..order(CardAct::Narrow, "r") },
            (Status::Superseded, Status::Active),
        ),
        (order(CardAct::Exception, "r"), both),
        (order(CardAct::Dismiss, "r"), both),
    ] {
        let word = order.act.as_str();
        let answer = done(bed.resolve(card, order));
        assert_eq!((statuses(), bed.open_cards(), answer.card_id), (expected, 0, Some(card)), "{word}");
        let settled = bed.card(card).settled.unwrap();
        assert_eq!((settled.act.as_str(), settled.reason.as_deref()), (word, Some("r")));
        bed.undo();
        assert_eq!((statuses(), bed.open_cards()), (both, 1), "{word}");
        assert_eq!(bed.card(card).summary.status, CardStatus::Open, "{word}");
    }
    let discard = bed.engine.resolve(&card.to_hex(), order(CardAct::Discard, "r")).unwrap_err();
    assert_eq!(discard.field.as_deref(), Some("act"));
}

#[test]
fn a_merged_text_that_contradicts_a_third_claim_is_refused_and_the_card_stays() {
    let (bed, blue, _, card) = contradicting_bed();
    let port = bed.remember("The API port must be 8080", "history");
    let merged =
        ResolveRequest { statement: Some("The API port must be 9090".into()), ..order(CardAct::Supersede, "r") };
    let answer = refused(bed.resolve(card, merged));
    assert_eq!((answer.conflicts[0].claim.id, answer.card_id), (port, Some(card)));
    assert_eq!((bed.claim(blue).status, bed.open_cards()), (Status::Active, 1));
}

#[test]
fn a_claim_that_was_replaced_twice_is_contested_until_one_stays() {
    let bed = Bed::new();
    let base = bed.remember("Logs are kept for 30 days", "disk");
    let one = stored(bed.supersede(base, "Logs are kept in the archive", "audit"));
    let undo = bed.undo();
    let two = stored(bed.supersede(base, "Logs are shipped to the vendor", "price"));
    bed.engine.undo(UndoRequest { caller: caller(), target_op: Some(undo.op_id) }).unwrap();
    let open = bed.engine.conflicts(&ConflictsQuery::default()).unwrap();
    assert_eq!((open.total, open.items[0].kind), (1, CardKind::Contested));
    assert!(bed.claim(base).flags.contested);
    let winner = Some(one.claim_id.to_hex());
    done(bed.resolve(open.items[0].id, ResolveRequest { winner, ..order(CardAct::Supersede, "audit wins") }));
    assert_eq!((bed.claim(two.claim_id).status, bed.open_cards()), (Status::Superseded, 0));
    assert!(!bed.claim(base).flags.contested);
}

#[test]
fn the_text_of_a_redacted_new_claim_cannot_be_stored() {
    let (bed, _, card) = refused_bed();
    done(bed.engine.redact(on(new_claim(&bed, card), "a secret")).unwrap());
    let error = bed.engine.resolve(&card.to_hex(), order(CardAct::Exception, "r")).unwrap_err();
    assert!(error.message.contains("redacted"), "{error}");
    done(bed.resolve(card, order(CardAct::Discard, "nothing left")));
}

#[test]
fn what_the_guard_lets_pass_opens_no_card() {
    let bed = Bed::new();
    for (label, port) in [("Rule 1", 3001), ("Rule 2", 3002), ("Rule 3", 3003)] {
        bed.remember(&format!("{label}: the service listens on port {port}"), "each rule has its own");
    }
    assert_eq!(bed.open_cards(), 0);
}
