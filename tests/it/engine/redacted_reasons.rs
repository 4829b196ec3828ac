//! The reason of a change can be removed by the id that the log shows, and a redacted text is named as such.

use ergo::api::{EventView, LogQuery};

use super::*;

const WORD: &str = "hunter2swordfish";
const BLUE: &str = "Deployments must use a blue canary";
const RED: &str = "Deployments must use a red canary";

/// The latest acts, as `ergo log` lists them.
fn log(fixture: &Fixture) -> Vec<EventView> {
    fixture.engine.log(&LogQuery { acts: true, ..LogQuery::default() }).unwrap().items
}

fn redact(fixture: &Fixture, target: String) -> Result<WriteOutcome, ergo::api::ApiError> {
    let reason = "a secret was pasted".to_owned();
    fixture.engine.redact(ActRequest { caller: caller(), target, reason, ..ActRequest::default() })
}

fn refused_fixture() -> (Fixture, ClaimId, CardId) {
    let fixture = Fixture::new();
    let blue = fixture.remember(BLUE, "blue is known to be safe");
    let card = fixture.refuse(RED, "red is seen from afar");
    (fixture, blue, card)
}

#[test]
fn the_reason_of_each_way_to_settle_a_refused_write_can_be_removed() {
    let reason = format!("because {WORD}");
    for way in 0..8 {
        let (fixture, blue, card) = refused_fixture();
        let side = |at: usize| Some(fixture.card(card).sides[at].claim.id.to_hex());
        let request = match way {
            0 => ResolveRequest { winner: side(0), ..order(CardAct::Supersede, &reason) },
            1 => ResolveRequest { winner: side(1), ..order(CardAct::Supersede, &reason) },
            2 => ResolveRequest { target: side(0), qualifiers: in_env("dev"), ..order(CardAct::Narrow, &reason) },
            3 => ResolveRequest { target: side(1), qualifiers: in_env("dev"), ..order(CardAct::Narrow, &reason) },
            4 => ResolveRequest { target: side(1), ..order(CardAct::Retract, &reason) },
            5 => order(CardAct::Exception, &reason),
            6 => order(CardAct::Dismiss, &reason),
            _ => order(CardAct::Discard, &reason),
        };
        done(fixture.resolve(card, request.clone()));
        let shown = log(&fixture).remove(0);
        assert_eq!(shown.reason.as_deref(), Some(reason.as_str()), "{request:?}");
        done(redact(&fixture, shown.id.short()).unwrap());
        assert_eq!(fixture.card(card).summary.status, ergo::api::CardStatus::Settled);
        assert_eq!(fixture.claim(blue).statement, BLUE, "{request:?}");
        assert!(!fixture.holds(WORD), "{request:?}");
    }
}

#[test]
fn by_the_id_of_the_change_its_reason_is_removed_and_its_claims_stay() {
    let (fixture, blue, card) = refused_fixture();
    let target = Some(fixture.card(card).sides[0].claim.id.to_hex());
    let narrow = ResolveRequest { target, qualifiers: in_env("dev"), ..order(CardAct::Narrow, &format!("x {WORD}")) };
    let narrowed = done(fixture.resolve(card, narrow)).claim_id.unwrap();
    let op = fixture.card(card).settled.unwrap().op_id.unwrap();
    done(redact(&fixture, op.to_hex()).unwrap());
    assert_eq!(fixture.card(card).settled.unwrap().reason, None);
    assert_eq!([blue, narrowed].map(|id| fixture.claim(id).statement), [BLUE, RED]);
    let again = redact(&fixture, op.to_hex()).unwrap_err();
    assert!(again.message.contains("has no reason of its own"), "{again}");
    fixture.engine.undo(UndoRequest { caller: caller(), target_op: Some(op), ..UndoRequest::default() }).unwrap();
    assert_eq!(fixture.open_cards(), 1, "the change can still be undone");
    assert!(!fixture.holds(WORD));
}

#[test]
fn the_reasons_of_a_retraction_and_of_a_redaction_can_be_removed() {
    for redacts in [false, true] {
        let fixture = Fixture::new();
        let claim = fixture.remember(BLUE, "safe");
        let request = on(claim, &format!("because {WORD}"));
        let outcome = if redacts { fixture.engine.redact(request) } else { fixture.engine.retract(request) };
        done(outcome.unwrap());
        done(redact(&fixture, log(&fixture)[0].id.short()).unwrap());
        assert_eq!(fixture.claim(claim).flags.redacted, redacts);
        assert!(!fixture.holds(WORD));
    }
}

#[test]
fn a_reason_without_which_a_card_would_open_again_stays_until_the_change_is_undone() {
    let fixture = Fixture::with(AgentPolicy::Propose);
    let claim = fixture.remember(BLUE, "safe");
    let proposal = fixture.engine.retract(ActRequest { caller: agent(), ..on(claim, "nobody needs it") }).unwrap();
    let card = proposed(proposal).card_id;
    done(fixture.resolve(card, order(CardAct::Dismiss, &format!("because {WORD}"))));
    let id = log(&fixture)[0].id.short();
    let error = redact(&fixture, id.clone()).unwrap_err();
    assert!(error.hint.as_deref().unwrap().contains(&format!("`ergo undo {id}`")), "{error:?}");
    assert_eq!(fixture.open_cards(), 0);
    fixture.undo();
    done(redact(&fixture, id).unwrap());
    assert_eq!(fixture.open_cards(), 1);
    assert!(!fixture.holds(WORD));
}

#[test]
fn an_unknown_id_is_reported_with_what_it_may_name() {
    let error = redact(&Fixture::new(), "abcdef12".into()).unwrap_err();
    assert_eq!(error.message, "there is no claim, refused write or change abcdef12");
}

#[test]
fn the_log_names_no_other_claim_in_place_of_a_redacted_refused_write() {
    let (fixture, _, card) = refused_fixture();
    done(redact(&fixture, card.to_hex()).unwrap());
    let refusal = log(&fixture).into_iter().find(|event| event.kind == "local.refused").unwrap();
    assert_eq!((refusal.verb(), refusal.subject().as_deref()), ("was refused", Some("(redacted)")));
}

#[test]
fn a_card_offers_no_act_that_would_store_a_redacted_text() {
    let (fixture, _, card) = refused_fixture();
    let winner = Some(fixture.card(card).sides[0].claim.id.to_hex());
    done(redact(&fixture, card.to_hex()).unwrap());
    let view = fixture.card(card);
    let offered: Vec<_> = view.acts.iter().filter(|it| it.disabled.is_none()).map(|it| it.act).collect();
    assert_eq!(offered, [CardAct::Supersede, CardAct::Discard, CardAct::Snooze]);
    let keeps = [0, 1].map(|side| view.can_act_on(CardAct::Supersede, side).is_ok());
    assert_eq!((keeps, view.can_merge().is_ok()), ([false, true], true));
    let keep = ResolveRequest { winner, ..order(CardAct::Supersede, "red after all") };
    let error = fixture.engine.resolve(&card.to_hex(), keep).unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("give a new statement in its place, or discard the card"));
}

#[test]
fn a_redacted_claim_beside_another_is_named_as_redacted() {
    let (fixture, blue, card) = refused_fixture();
    let red = done(fixture.resolve(card, order(CardAct::Exception, "one week only"))).claim_id.unwrap();
    done(redact(&fixture, blue.to_hex()).unwrap());
    let (_, words) = fixture.claim(red).beside[0].words();
    assert!(words.starts_with(&format!("to “(redacted)” ({})", blue.short())), "{words}");
}
