//! Settling cards: every act, with one undo each, and the guard's check of what is stored.

use ergo::{
    api::{CardKind, CardStatus, ConflictsQuery, ErrorCode, RememberRequest},
    domain::{Qualifiers, Status},
};

use super::*;

const BLUE: &str = "Deployments must use a blue canary";
const RED: &str = "Deployments must use a red canary";

/// An engine with the blue claim, and the card on which the red one waits.
fn refused_fixture() -> (Fixture, ClaimId, CardId) {
    let fixture = Fixture::new();
    let blue = fixture.remember(BLUE, "safe");
    let card = fixture.refuse(RED, "prettier");
    fixture.acts();
    (fixture, blue, card)
}

fn new_claim(fixture: &Fixture, card: CardId) -> ClaimId {
    fixture.card(card).sides[0].claim.id
}

#[test]
fn supersede_for_the_new_claim_stores_it_and_one_undo_opens_the_card_again() {
    let (fixture, blue, card) = refused_fixture();
    let winner = Some(new_claim(&fixture, card).to_hex());
    let answer =
        done(fixture.resolve(card, ResolveRequest { winner, ..order(CardAct::Supersede, "we changed our minds") }));
    let red = answer.claim_id.unwrap();
    assert_eq!(fixture.claim(red).reason.as_deref(), Some("prettier"), "why it is so stays its own");
    assert_eq!(fixture.claim(blue).closing_reason.as_deref(), Some("we changed our minds"));
    assert_eq!((fixture.claim(blue).status, fixture.claim(blue).replaced_by), (Status::Superseded, vec![red]));
    let settled = fixture.card(card).settled.unwrap();
    assert_eq!((settled.act.as_str(), settled.who.as_str()), ("supersede", "ada"));
    assert_eq!((fixture.open_cards(), fixture.acts()), (0, vec!["resolve".to_owned()]));

    fixture.undo();
    assert_eq!((fixture.claim(blue).status, fixture.claim(red).status), (Status::Active, Status::Retracted));
    assert_eq!((fixture.open_cards(), fixture.card(card).summary.status), (1, CardStatus::Open));
}

#[test]
fn a_write_that_is_refused_again_says_on_its_card_what_it_said_last() {
    const NO_KAFKA: &str = "We must not use Kafka as the message broker";
    let fixture = Fixture::new();
    let kafka = fixture.remember("We must use Kafka as the message broker", "we know it");
    let card = fixture.refuse(NO_KAFKA, "too heavy");
    let narrowed = RememberRequest { qualifiers: in_env("lab7"), ..request(NO_KAFKA, "too heavy for the lab") };
    assert_eq!(refused(fixture.engine.remember(narrowed.clone()).unwrap()).card_id, Some(card));
    let new = fixture.card(card).sides[0].claim.clone();
    assert_eq!((new.qualifiers, new.reason.as_deref()), (in_env("lab7"), Some("too heavy for the lab")));
    fixture.acts();
    assert_eq!(refused(fixture.engine.remember(narrowed).unwrap()).card_id, Some(card));
    assert_eq!(fixture.acts(), Vec::<String>::new(), "it is known");
    let winner = Some(new.id.to_hex());
    let new = done(fixture.resolve(card, ResolveRequest { winner, ..order(CardAct::Supersede, "agreed") }));
    let new = fixture.claim(new.claim_id.unwrap());
    assert_eq!((new.qualifiers, new.reason.as_deref()), (in_env("lab7"), Some("too heavy for the lab")));
    assert_eq!(fixture.claim(kafka).status, Status::Superseded);
}

#[test]
fn supersede_for_the_stored_claim_drops_the_new_claim() {
    let (fixture, blue, card) = refused_fixture();
    let answer = done(
        fixture.resolve(card, ResolveRequest { winner: Some(blue.short()), ..order(CardAct::Supersede, "blue stays") }),
    );
    assert_eq!((answer.claim_id, fixture.open_cards()), (None, 0));
    assert_eq!(fixture.engine.counts().unwrap().claims, 1);
    fixture.undo();
    assert_eq!(fixture.open_cards(), 1);
}

#[test]
fn supersede_by_a_merged_text_replaces_both() {
    let (fixture, blue, card) = refused_fixture();
    let merged = ResolveRequest {
        statement: Some("Deployments must use a purple canary".into()),
        ..order(CardAct::Supersede, "the best of both")
    };
    let id = done(fixture.resolve(card, merged)).claim_id.unwrap();
    assert_eq!(fixture.claim(id).statement, "Deployments must use a purple canary");
    assert_eq!((fixture.claim(blue).status, fixture.open_cards()), (Status::Superseded, 0));
}

#[test]
fn retract_takes_the_stored_claim_out_and_stores_the_new_claim() {
    let (fixture, blue, card) = refused_fixture();
    let answer =
        done(fixture.resolve(
            card,
            ResolveRequest { target: Some(blue.to_hex()), ..order(CardAct::Retract, "blue was a typo") },
        ));
    let red = fixture.claim(answer.claim_id.unwrap());
    assert_eq!((red.statement.as_str(), red.reason.as_deref()), (RED, Some("prettier")));
    assert_eq!((fixture.claim(blue).status, fixture.open_cards()), (Status::Retracted, 0));
    fixture.undo();
    assert_eq!((fixture.claim(blue).status, fixture.open_cards()), (Status::Active, 1));
}

#[test]
fn narrow_qualifies_either_side_and_both_hold() {
    for stored_side in [false, true] {
        let (fixture, blue, card) = refused_fixture();
        let target = if stored_side { blue } else { new_claim(&fixture, card) };
        let narrow = |qualifiers| ResolveRequest {
            target: Some(target.to_hex()),
            qualifiers,
            ..order(CardAct::Narrow, "only there")
        };
        let error = fixture.engine.resolve(&card.to_hex(), narrow(Qualifiers::default())).unwrap_err();
        assert_eq!(error.field.as_deref(), Some("qualifiers"));
        let answer = done(fixture.resolve(card, narrow(in_env("dev"))));
        assert_eq!((fixture.open_cards(), fixture.engine.counts().unwrap().active), (0, 2), "{answer:?}");
        let changed = if stored_side { fixture.claim(blue).replaced_by[0] } else { answer.claim_id.unwrap() };
        assert_eq!(fixture.claim(changed).qualifiers, in_env("dev"));
        let now = |side: usize| fixture.card(card).sides[side].now.iter().map(|claim| claim.id).collect::<Vec<_>>();
        assert_eq!(now(0), [answer.claim_id.unwrap()], "what the new claim was stored as");
        assert_eq!(now(1), if stored_side { vec![changed] } else { vec![] }, "what the stored side became");
        fixture.undo();
        assert_eq!((fixture.open_cards(), fixture.claim(blue).status), (1, Status::Active));
    }
}

#[test]
fn what_is_narrowed_or_merged_keeps_its_premises_that_are_in_force() {
    for merged in [false, true] {
        let fixture = Fixture::new();
        let premise = fixture.remember("Images are signed", "audits");
        let gone = fixture.remember("Pages are cached", "speed");
        let on = vec![premise.to_hex(), gone.to_hex()];
        let blue = RememberRequest { depends_on: on, ..request(BLUE, "safe") };
        let blue = stored(fixture.engine.remember(blue).unwrap()).claim_id;
        fixture.retract(gone, "no longer");
        let card = fixture.refuse(RED, "prettier");
        let settled = if merged {
            let statement = Some("Deployments must use a purple canary".into());
            ResolveRequest { statement, ..order(CardAct::Supersede, "both teams agreed") }
        } else {
            let (target, qualifiers) = (Some(blue.to_hex()), in_env("dev"));
            ResolveRequest { target, qualifiers, ..order(CardAct::Narrow, "only there") }
        };
        done(fixture.resolve(card, settled));
        let now = fixture.claim(blue).replaced_by[0];
        assert_eq!(fixture.claim(now).premises, [premise]);
        fixture.retract(premise, "no longer");
        assert!(fixture.claim(now).flags.needs_review);
    }
}

#[test]
fn narrow_by_a_window_that_has_room_for_both() {
    let fixture = Fixture::new();
    let until = Qualifiers { valid_until: Some("2026-06-30".into()), ..Qualifiers::default() };
    let blue = RememberRequest { qualifiers: until, ..request(BLUE, "safe") };
    stored(fixture.engine.remember(blue).unwrap());
    let card = fixture.refuse(RED, "prettier");
    let from = Qualifiers { valid_from: Some("2026-07-01".into()), ..Qualifiers::default() };
    let narrowed = ResolveRequest {
        target: Some(new_claim(&fixture, card).to_hex()),
        qualifiers: from.clone(),
        ..order(CardAct::Narrow, "from July on")
    };
    let id = done(fixture.resolve(card, narrowed)).claim_id.unwrap();
    assert_eq!(fixture.claim(id).qualifiers, from);
    assert_eq!((fixture.open_cards(), fixture.engine.counts().unwrap().active), (0, 2));
    fixture.undo();
    assert_eq!((fixture.open_cards(), fixture.engine.counts().unwrap().active), (1, 1));
}

#[test]
fn an_exception_keeps_both_on_the_record() {
    let (fixture, blue, card) = refused_fixture();
    let red = done(fixture.resolve(card, order(CardAct::Exception, "for the festival"))).claim_id.unwrap();
    assert!(fixture.claim(red).flags.excepted && fixture.claim(blue).flags.excepted);
    assert_eq!(fixture.open_cards(), 0);
    fixture.undo();
    assert!(!fixture.claim(blue).flags.excepted);
    assert_eq!(fixture.open_cards(), 1);
}

#[test]
fn what_was_dismissed_never_opens_a_card_again() {
    let (fixture, _, card) = refused_fixture();
    let red = done(fixture.resolve(card, order(CardAct::Dismiss, "two different fleets"))).claim_id.unwrap();
    assert!(!fixture.claim(red).flags.excepted);
    let again = stored(fixture.try_remember(RED, "prettier"));
    assert!(again.duplicate && again.claim_id == red);
    let audit = fixture.engine.audit(ergo::api::AuditRequest { caller: caller(), dry_run: false }).unwrap();
    assert_eq!((audit.opened.len(), fixture.open_cards()), (0, 0));
}

#[test]
fn discard_drops_a_refused_write_and_nothing_else() {
    let (fixture, _, card) = refused_fixture();
    let answer = done(fixture.resolve(card, order(CardAct::Discard, "a mistake")));
    assert_eq!((answer.claim_id, fixture.open_cards()), (None, 0));
    assert_eq!(fixture.card(card).settled.unwrap().act, "discard");
    fixture.undo();
    assert_eq!(fixture.open_cards(), 1);
}

#[test]
fn snooze_puts_a_card_off_and_it_comes_back() {
    let (fixture, _, card) = refused_fixture();
    let until = NOON + 3_600_000;
    let snooze = |until| ResolveRequest { until, ..order(CardAct::Snooze, "") };
    for bad in [None, Some(1), Some(u64::MAX)] {
        assert_eq!(fixture.engine.resolve(&card.to_hex(), snooze(bad)).unwrap_err().field.as_deref(), Some("until"));
    }
    done(fixture.resolve(card, snooze(Some(until))));
    assert_eq!((fixture.open_cards(), fixture.card(card).summary.status), (0, CardStatus::Snoozed));
    assert_eq!(fixture.card(card).snoozed_until, Some(until));
    let snoozed = ConflictsQuery { status: Some("snoozed".into()), ..ConflictsQuery::default() };
    assert_eq!(fixture.engine.conflicts(&snoozed).unwrap().total, 1);
    let counted =
        || (fixture.engine.counts().unwrap().open_cards, fixture.engine.scopes().unwrap().items[0].open_cards);
    assert_eq!(counted(), (0, 0), "no count of open cards has it");
    let returns_at = || fixture.engine.inbox(&ergo::api::InboxQuery::default()).unwrap().returns_at;
    assert_eq!(returns_at(), Some(until));
    fixture.clock.store(until + 1, std::sync::atomic::Ordering::Relaxed);
    assert_eq!((fixture.open_cards(), counted(), returns_at()), (1, (1, 1), None));
}

#[test]
fn a_card_that_was_settled_elsewhere_answers_stale_with_its_state() {
    let (fixture, _, card) = refused_fixture();
    let rev = fixture.card(card).summary.rev;
    done(fixture.resolve(card, order(CardAct::Discard, "a mistake")));
    let answer =
        stale(fixture.resolve(card, ResolveRequest { expect_rev: Some(rev), ..order(CardAct::Exception, "x") }));
    assert_eq!(answer.card.unwrap().settled.unwrap().act, "discard");
    assert!(answer.message.contains("settled by ada"));
}

#[test]
fn a_card_that_changed_since_it_was_shown_answers_stale() {
    let (fixture, _, card) = refused_fixture();
    let rev = fixture.card(card).summary.rev;
    let answer =
        stale(fixture.resolve(card, ResolveRequest { expect_rev: Some(rev + 1), ..order(CardAct::Exception, "x") }));
    assert_eq!(answer.card.unwrap().summary.rev, rev);
    assert_eq!(fixture.open_cards(), 1);
}

#[test]
fn a_reason_is_required_and_a_side_must_be_on_the_card() {
    let (fixture, _, card) = refused_fixture();
    let error = |order| fixture.engine.resolve(&card.to_hex(), order).unwrap_err();
    assert_eq!(error(order(CardAct::Exception, " ")).field.as_deref(), Some("reason"));
    assert_eq!(error(order(CardAct::Supersede, "r")).field.as_deref(), Some("winner"));
    let elsewhere = fixture.remember("Logs are kept for 30 days", "disk");
    let foreign = ResolveRequest { winner: Some(elsewhere.to_hex()), ..order(CardAct::Supersede, "r") };
    assert_eq!(error(foreign).field.as_deref(), Some("winner"));
    assert_eq!(fixture.engine.resolve("0000", order(CardAct::Discard, "r")).unwrap_err().code, ErrorCode::NotFound);
}

#[test]
fn a_field_that_the_act_does_not_use_is_refused_by_its_name() {
    let (fixture, blue, card) = refused_fixture();
    let winner = Some(blue.to_hex());
    let in_lab = |act| ResolveRequest { qualifiers: in_env("lab"), ..order(act, "why") };
    for (request, field) in [
        (ResolveRequest { winner: winner.clone(), ..in_lab(CardAct::Supersede) }, "env"),
        (ResolveRequest { target: winner.clone(), ..in_lab(CardAct::Retract) }, "env"),
        (in_lab(CardAct::Exception), "env"),
        (in_lab(CardAct::Dismiss), "env"),
        (ResolveRequest { until: Some(u64::MAX), ..in_lab(CardAct::Snooze) }, "env"),
        (ResolveRequest { winner: winner.clone(), ..order(CardAct::Dismiss, "why") }, "winner"),
        (ResolveRequest { target: winner, ..order(CardAct::Discard, "why") }, "target"),
        (ResolveRequest { statement: Some("Use both".into()), ..order(CardAct::Retract, "why") }, "statement"),
        (ResolveRequest { until: Some(1), ..order(CardAct::Dismiss, "why") }, "until"),
    ] {
        let error = fixture.engine.resolve(&card.to_hex(), request).unwrap_err();
        assert_eq!((error.code, error.field.as_deref()), (ErrorCode::BadRequest, Some(field)));
    }
    let both = Some("Deployments must use a striped canary".into());
    done(fixture.resolve(card, ResolveRequest { statement: both, ..in_lab(CardAct::Supersede) }));
}

#[test]
fn the_guard_looks_again_at_what_a_card_stores() {
    let (fixture, blue, card) = refused_fixture();
    // In the meantime another colour came, which the card does not know.
    fixture.retract(blue, "never so");
    let green = fixture.remember("Deployments must use a green canary", "new fleet");
    let view = fixture.card(card);
    assert!(view.advice.contains("no longer active"), "{}", view.advice);
    let winner = Some(new_claim(&fixture, card).to_hex());
    let answer = refused(fixture.resolve(card, ResolveRequest { winner, ..order(CardAct::Supersede, "r") }));
    assert_eq!((answer.conflicts[0].claim.id, answer.card_id), (green, Some(card)));
    assert_eq!(fixture.open_cards(), 1);
}

#[test]
fn a_new_claim_that_nothing_opposes_any_more_can_be_stored() {
    let (fixture, blue, card) = refused_fixture();
    fixture.retract(blue, "never so");
    let answer = done(fixture.resolve(card, order(CardAct::Supersede, "red it is")));
    assert_eq!(fixture.claim(answer.claim_id.unwrap()).status, Status::Active);
    assert_eq!(fixture.open_cards(), 0);
}

#[test]
fn a_refused_supersede_still_replaces_its_target_when_the_card_is_settled_for_it() {
    let fixture = Fixture::new();
    let blue = fixture.remember(BLUE, "safe");
    let port = fixture.remember("The API port is 8080", "history");
    let card = refused(fixture.supersede(port, RED, "prettier")).card_id.unwrap();
    let red = done(fixture.resolve(card, order(CardAct::Exception, "both fleets"))).claim_id.unwrap();
    assert_eq!((fixture.claim(port).status, fixture.claim(port).replaced_by), (Status::Superseded, vec![red]));
    assert!(fixture.claim(blue).flags.excepted && fixture.claim(blue).status == Status::Active);
}

#[test]
fn a_retry_of_a_resolve_does_nothing_twice() {
    let (fixture, _, card) = refused_fixture();
    let discard =
        ResolveRequest { caller: Caller { op_id: Some(op(9)), ..caller() }, ..order(CardAct::Discard, "a mistake") };
    let first = done(fixture.resolve(card, discard.clone()));
    let again = done(fixture.resolve(card, discard));
    assert_eq!((again.op_id, again.replayed, again.card_id), (first.op_id, true, Some(card)));
}

/// An engine in which blue and red are both active, by an undo past the guard; with the card that follows from it.
fn contradicting_fixture() -> (Fixture, ClaimId, ClaimId, CardId) {
    let fixture = Fixture::new();
    let blue = fixture.remember(BLUE, "safe");
    let retract = fixture.retract(blue, "never so");
    let red = fixture.remember(RED, "prettier");
    fixture
        .engine
        .undo(UndoRequest { caller: caller(), target_op: Some(retract.op_id), ..UndoRequest::default() })
        .unwrap();
    let open = fixture.engine.conflicts(&ConflictsQuery::default()).unwrap();
    assert_eq!((open.total, open.items[0].kind), (1, CardKind::Contradiction));
    (fixture, blue, red, open.items[0].id)
}

#[test]
fn a_contradiction_between_active_claims_is_settled_each_way_and_each_is_undone() {
    let (fixture, blue, red, card) = contradicting_fixture();
    let statuses = || (fixture.claim(blue).status, fixture.claim(red).status);
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
        let answer = done(fixture.resolve(card, order));
        assert_eq!((statuses(), fixture.open_cards(), answer.card_id), (expected, 0, Some(card)), "{word}");
        let settled = fixture.card(card).settled.unwrap();
        assert_eq!((settled.act.as_str(), settled.reason.as_deref()), (word, Some("r")));
        fixture.undo();
        assert_eq!((statuses(), fixture.open_cards()), (both, 1), "{word}");
        assert_eq!(fixture.card(card).summary.status, CardStatus::Open, "{word}");
    }
    let discard = fixture.engine.resolve(&card.to_hex(), order(CardAct::Discard, "r")).unwrap_err();
    assert_eq!(discard.field.as_deref(), Some("act"));
}

/// What the newest change of the log did to the claims of a card, with the reason “r”.
fn outcome(fixture: &Fixture) -> String {
    let log = fixture.engine.log(&ergo::api::LogQuery { acts: true, limit: Some(1), ..Default::default() }).unwrap();
    assert_eq!((log.items[0].verb(), log.items[0].reason.as_deref()), ("settled", Some("r")));
    log.items[0].subject().unwrap()
}

#[test]
fn a_merge_is_called_a_merge() {
    const PURPLE: &str = "Deployments must use a purple canary";
    let merge = || ResolveRequest { statement: Some(PURPLE.into()), ..order(CardAct::Supersede, "r") };
    let (fixture, _, card) = refused_fixture();
    let answer = done(fixture.resolve(card, merge()));
    assert_eq!(answer.summary, format!("Merged “{RED}” and “{BLUE}” into “{PURPLE}”"));
    assert_eq!(outcome(&fixture), format!("merged “{RED}” and “{BLUE}” into “{PURPLE}”"));
    let (fixture, _, _, card) = contradicting_fixture();
    done(fixture.resolve(card, merge()));
    let outcome = outcome(&fixture);
    assert!(outcome.starts_with("merged “") && outcome.ends_with(&format!("into “{PURPLE}”")), "{outcome}");
}

#[test]
fn the_log_says_which_side_of_a_card_was_kept() {
    let (blue, red) = (format!("“{BLUE}”"), format!("“{RED}”"));
    let outcome_of_refused = |act: CardAct, side: Option<usize>| {
        let (fixture, _, card) = refused_fixture();
        let side = side.map(|side| fixture.card(card).sides[side].claim.id.to_hex());
        let (winner, target) = if act == CardAct::Supersede { (side, None) } else { (None, side) };
        let qualifiers = if act == CardAct::Narrow { in_env("dev") } else { Qualifiers::default() };
        done(fixture.resolve(card, ResolveRequest { winner, target, qualifiers, ..order(act, "r") }));
        outcome(&fixture)
    };
    for (act, side, expected) in [
        (CardAct::Supersede, Some(0), format!("kept {red} in place of {blue}")),
        (CardAct::Supersede, Some(1), format!("kept {blue}, discarded {red}")),
        (CardAct::Retract, Some(1), format!("kept {red}, retracted {blue}")),
        (CardAct::Discard, None, format!("discarded {red}")),
    ] {
        assert_eq!(outcome_of_refused(act, side), expected);
    }
    assert!(outcome_of_refused(CardAct::Narrow, Some(1)).starts_with(&format!("narrowed {blue} to")));
    assert!(outcome_of_refused(CardAct::Exception, None).starts_with("kept both as an exception:"));
    let (fixture, blue_id, red_id, card) = contradicting_fixture();
    let winner = Some(red_id.to_hex());
    done(fixture.resolve(card, ResolveRequest { winner, ..order(CardAct::Supersede, "r") }));
    assert_eq!(outcome(&fixture), format!("kept {red} in place of {blue}"));
    fixture.undo();
    let target = Some(blue_id.to_hex());
    done(fixture.resolve(card, ResolveRequest { target, ..order(CardAct::Retract, "r") }));
    assert_eq!(outcome(&fixture), format!("kept {red}, retracted {blue}"));
}

#[test]
fn a_merged_text_that_contradicts_a_third_claim_is_refused_and_the_card_stays() {
    let (fixture, blue, _, card) = contradicting_fixture();
    let port = fixture.remember("The API port must be 8080", "history");
    let merged =
        ResolveRequest { statement: Some("The API port must be 9090".into()), ..order(CardAct::Supersede, "r") };
    let answer = refused(fixture.resolve(card, merged));
    assert_eq!((answer.conflicts[0].claim.id, answer.card_id, answer.unsettled), (port, Some(card), true));
    assert_eq!((fixture.claim(blue).status, fixture.open_cards()), (Status::Active, 1));
}

#[test]
fn a_claim_that_was_replaced_twice_is_contested_until_one_stays() {
    let fixture = Fixture::new();
    let base = fixture.remember("Logs are kept for 30 days", "disk");
    let one = stored(fixture.supersede(base, "Logs are kept in the archive", "audit"));
    let undo = fixture.undo();
    let two = stored(fixture.supersede(base, "Logs are shipped to the vendor", "price"));
    fixture
        .engine
        .undo(UndoRequest { caller: caller(), target_op: Some(undo.op_id), ..UndoRequest::default() })
        .unwrap();
    let open = fixture.engine.conflicts(&ConflictsQuery::default()).unwrap();
    assert_eq!((open.total, open.items[0].kind), (1, CardKind::Contested));
    assert!(fixture.claim(base).flags.contested);
    let winner = Some(one.claim_id.to_hex());
    done(fixture.resolve(open.items[0].id, ResolveRequest { winner, ..order(CardAct::Supersede, "audit wins") }));
    assert_eq!((fixture.claim(two.claim_id).status, fixture.open_cards()), (Status::Superseded, 0));
    assert!(!fixture.claim(base).flags.contested);
}

#[test]
fn the_text_of_a_redacted_new_claim_cannot_be_stored() {
    let (fixture, _, card) = refused_fixture();
    done(fixture.engine.redact(on(new_claim(&fixture, card), "a secret")).unwrap());
    let error = fixture.engine.resolve(&card.to_hex(), order(CardAct::Exception, "r")).unwrap_err();
    assert!(error.message.contains("redacted"), "{error}");
    done(fixture.resolve(card, order(CardAct::Discard, "nothing left")));
}

#[test]
fn what_the_guard_lets_pass_opens_no_card() {
    let fixture = Fixture::new();
    for (label, port) in [("Rule 1", 3001), ("Rule 2", 3002), ("Rule 3", 3003)] {
        fixture.remember(&format!("{label}: the service listens on port {port}"), "each rule has its own");
    }
    assert_eq!(fixture.open_cards(), 0);
}

#[test]
fn narrowing_names_all_conditions_and_refuses_one_that_holds_already() {
    let fixture = Fixture::new();
    let write = |statement| RememberRequest { qualifiers: in_env("staging"), ..request(statement, "r") };
    let blue = stored(fixture.engine.remember(write(BLUE)).unwrap()).claim_id;
    let card = refused(fixture.engine.remember(write(RED)).unwrap()).card_id.unwrap();
    let narrow = |qualifiers| ResolveRequest {
        target: Some(blue.to_hex()),
        qualifiers,
        ..order(CardAct::Narrow, "only phones have it")
    };
    let error = fixture.engine.resolve(&card.to_hex(), narrow(in_env("staging"))).unwrap_err();
    assert!(error.message.contains("the claim holds env staging already"), "{error:?}");
    let mobile = Qualifiers { team: Some("mobile".into()), ..Qualifiers::default() };
    let summary = done(fixture.resolve(card, narrow(mobile))).summary;
    assert!(summary.contains(&format!("“{BLUE}” now holds only in staging, for team mobile")), "{summary}");
    let advice = fixture.card(card).advice;
    let op = fixture.card(card).settled.unwrap().op_id.unwrap();
    assert!(advice.contains(&format!("`ergo undo {}`", op.short())), "{advice}");
}
