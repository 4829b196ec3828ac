//! Cards of refused writes of which the opposing claim was replaced since.

use ergo::{
    api::{CardStatus, WriteOutcome},
    domain::Status,
};

use super::*;

const BLUE: &str = "Deployments must use a blue canary";
const GREEN: &str = "Deployments must use a green canary";
const LIME: &str = "Deployments must use a lime canary";
const RED: &str = "Deployments must use a red canary";

/// An engine with the card on which the red claim waits; lime replaced green, which replaced blue.
fn replaced_fixture() -> (Fixture, ClaimId, ClaimId, CardId) {
    let fixture = Fixture::new();
    let blue = fixture.remember(BLUE, "safe");
    let card = fixture.refuse(RED, "prettier");
    let green = stored(fixture.supersede(blue, GREEN, "green is new")).claim_id;
    let lime = stored(fixture.supersede(green, LIME, "lime is newer")).claim_id;
    (fixture, blue, lime, card)
}

fn new_claim(fixture: &Fixture, card: CardId) -> String {
    fixture.card(card).sides[0].claim.id.to_hex()
}

#[test]
fn a_card_compares_with_the_active_claim_in_place_of_a_replaced_one() {
    let (fixture, blue, lime, card) = replaced_fixture();
    let view = fixture.card(card);
    assert_eq!(view.summary.status, CardStatus::Open);
    assert_eq!(view.sides.iter().skip(1).map(|side| side.claim.id).collect::<Vec<_>>(), [lime]);
    let headline = &view.summary.headline;
    assert!(headline.contains(BLUE) && headline.contains(&format!("has been replaced by “{LIME}”")), "{headline}");
    assert!(view.advice.contains("was replaced") && !view.advice.contains("no longer active"), "{}", view.advice);
    for act in [CardAct::Supersede, CardAct::Narrow, CardAct::Exception, CardAct::Retract] {
        assert!(view.acts.iter().any(|option| option.act == act && option.disabled.is_none()), "{act:?}");
        assert!(view.can_act_on(act, 1).is_ok(), "{act:?}");
    }
    let gone = ResolveRequest { winner: Some(blue.to_hex()), ..order(CardAct::Supersede, "blue stays") };
    let error = fixture.engine.resolve(&card.to_hex(), gone).unwrap_err();
    assert!(error.message.contains(&blue.short()) && !error.message.contains(&blue.to_hex()), "{}", error.message);
}

#[test]
fn the_new_claim_is_kept_narrowed_or_excepted_against_the_active_claim() {
    let (fixture, _, lime, card) = replaced_fixture();
    let keep = ResolveRequest { winner: Some(new_claim(&fixture, card)), ..order(CardAct::Supersede, "red it is") };
    let red = done(fixture.resolve(card, keep)).claim_id.unwrap();
    assert_eq!((fixture.claim(lime).replaced_by, fixture.open_cards()), (vec![red], 0));

    let (fixture, _, lime, card) = replaced_fixture();
    let narrow = ResolveRequest {
        target: Some(lime.to_hex()),
        qualifiers: in_env("dev"),
        ..order(CardAct::Narrow, "only there")
    };
    let red = done(fixture.resolve(card, narrow)).claim_id.unwrap();
    let narrowed = fixture.claim(lime).replaced_by[0];
    assert_eq!(fixture.claim(narrowed).qualifiers, in_env("dev"));
    assert_eq!((fixture.claim(red).status, fixture.open_cards()), (Status::Active, 0));

    let (fixture, _, lime, card) = replaced_fixture();
    let red = done(fixture.resolve(card, order(CardAct::Exception, "for the festival"))).claim_id.unwrap();
    assert!(fixture.claim(red).flags.excepted && fixture.claim(lime).flags.excepted);
}

#[test]
fn the_log_says_that_the_claim_in_place_of_a_replaced_one_was_kept() {
    let (fixture, _, lime, card) = replaced_fixture();
    let winner = Some(lime.to_hex());
    done(fixture.resolve(card, ResolveRequest { winner, ..order(CardAct::Supersede, "lime stays") }));
    stored(fixture.supersede(lime, "Deployments must use a teal canary", "teal is newest"));
    let log = fixture.engine.log(&ergo::api::LogQuery { acts: true, ..Default::default() }).unwrap();
    let settled = log.items.iter().find(|event| event.verb() == "settled").unwrap();
    assert_eq!(settled.subject().unwrap(), format!("kept “{LIME}”, discarded “{RED}”"));
}

#[test]
fn a_settled_card_says_whether_its_claims_were_merged() {
    let how = |fixture: &Fixture, card| fixture.card(card).settled.unwrap().outcome().to_owned();
    let (fixture, _, lime, card) = replaced_fixture();
    let merged = Some("Deployments must use a purple canary".into());
    done(fixture.resolve(card, ResolveRequest { statement: merged, ..order(CardAct::Supersede, "neither") }));
    assert_eq!(
        (fixture.claim(lime).status, how(&fixture, card).as_str()),
        (Status::Superseded, "the claims were merged")
    );

    let (fixture, _, _, card) = replaced_fixture();
    let winner = Some(new_claim(&fixture, card));
    done(fixture.resolve(card, ResolveRequest { winner, ..order(CardAct::Supersede, "red it is") }));
    assert_eq!(how(&fixture, card), "one claim was kept");
}

#[test]
fn an_act_on_a_claim_that_was_replaced_after_the_card_was_shown_does_nothing() {
    let (fixture, _, lime, card) = replaced_fixture();
    let shown = fixture.card(card).summary.rev;
    stored(fixture.supersede(lime, "Deployments must use a teal canary", "teal is newest"));
    let keep = ResolveRequest {
        winner: Some(new_claim(&fixture, card)),
        expect_rev: Some(shown),
        ..order(CardAct::Supersede, "red it is")
    };
    assert!(matches!(fixture.resolve(card, keep), WriteOutcome::Stale(_)));
    assert_eq!(fixture.open_cards(), 1);
}

#[test]
fn a_write_that_was_to_replace_a_claim_replaces_the_one_in_its_place() {
    let fixture = Fixture::new();
    fixture.remember(BLUE, "safe");
    let port = fixture.remember("The API port is 8080", "history");
    let card = refused(fixture.supersede(port, RED, "prettier")).card_id.unwrap();
    let moved = stored(fixture.supersede(port, "The API port is 9090", "moved")).claim_id;
    let red = done(fixture.resolve(card, order(CardAct::Exception, "both fleets"))).claim_id.unwrap();
    assert_eq!(fixture.claim(moved).replaced_by, [red]);
}
