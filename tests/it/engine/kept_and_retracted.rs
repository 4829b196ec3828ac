//! Two devices act on a claim without having seen each other's act: one keeps what another retracts, or replaces what
//! another takes back.

use ergo::{api::CardKind, domain::Status};

use super::{
    team::{KAFKA, NO_KAFKA, common_card, meet, pair, pull, status},
    *,
};

#[test]
fn a_claim_that_one_keeps_and_the_other_retracts_is_not_lost_with_the_one_that_it_replaced() {
    let rejoin = |keeps_kept: bool| {
        let (a, b, team) = pair(&[]);
        let (yes, no) = (a.remember(KAFKA, "we know it"), b.remember(NO_KAFKA, "too heavy"));
        meet(&a, &b, team);
        let card = common_card(&a, &b).id;
        let keep = |fixture: &Fixture, winner: ClaimId| {
            let winner = Some(winner.to_hex());
            done(fixture.resolve(card, ResolveRequest { winner, ..order(CardAct::Supersede, "decided") }));
        };
        keep(&a, no);
        b.retract(no, "it was never right");
        meet(&a, &b, team);
        let again = common_card(&a, &b);
        assert_eq!((again.id, again.kind), (card, CardKind::Contested));
        assert!(again.headline.contains("was retracted and kept instead of"), "{again:#?}");
        let view = a.card(card);
        assert!((0..2).all(|side| view.can_act_on(CardAct::Supersede, side).is_ok()), "as the advice says: {view:#?}");
        for fixture in [&a, &b] {
            let states = ((Status::Superseded, true), (Status::Retracted, true));
            assert_eq!((status(fixture, yes), status(fixture, no)), states);
        }
        let (winner, loser, gone) =
            if keeps_kept { (no, yes, Status::Superseded) } else { (yes, no, Status::Retracted) };
        keep(&b, winner);
        pull(&a, &b, team);
        for fixture in [&a, &b] {
            assert_eq!(fixture.open_cards(), 0);
            assert_eq!((status(fixture, winner), status(fixture, loser)), ((Status::Active, false), (gone, false)));
        }
    };
    rejoin(true);
    rejoin(false);
}

#[test]
fn a_claim_that_was_kept_is_retracted_for_good_by_one_who_knows_that_it_was_kept() {
    let (a, b, team) = pair(&[]);
    let (yes, no) = (a.remember(KAFKA, "we know it"), b.remember(NO_KAFKA, "too heavy"));
    meet(&a, &b, team);
    let winner = Some(no.to_hex());
    let card = common_card(&a, &b).id;
    done(a.resolve(card, ResolveRequest { winner, ..order(CardAct::Supersede, "bob is right") }));
    pull(&b, &a, team);
    b.retract(no, "not needed any more");
    pull(&a, &b, team);
    for fixture in [&a, &b] {
        assert_eq!(fixture.open_cards(), 0);
        assert_eq!(
            (status(fixture, yes), status(fixture, no)),
            ((Status::Superseded, false), (Status::Retracted, false))
        );
    }
}

#[test]
fn a_claim_that_one_retracts_and_the_other_replaces_has_a_card_that_is_settled_as_advised() {
    let (a, b, team) = pair(&[("We use Postgres 14", "it is there")]);
    let old = b.engine.claims(&ergo::api::ClaimsQuery::default()).unwrap().items[0].id;
    a.retract(old, "never decided");
    b.clock.fetch_add(60_000, Ordering::Relaxed);
    let new = stored(b.supersede(old, "We use Postgres 16", "faster")).claim_id;
    meet(&a, &b, team);
    let closing = [&a, &b].map(|fixture| fixture.claim(old).closing_reason);
    assert_eq!(closing, [Some("never decided".to_owned()), Some("never decided".to_owned())]);
    let card = common_card(&a, &b);
    let expected = "“We use Postgres 14” was retracted, and was replaced by “We use Postgres 16”";
    assert!(card.headline.starts_with(expected), "{}", card.headline);
    let view = a.card(card.id);
    assert!(view.advice.contains("dismiss the card") && !view.advice.contains("merge"), "{}", view.advice);
    done(a.resolve(card.id, order(CardAct::Dismiss, "the new one holds")));
    pull(&b, &a, team);
    for fixture in [&a, &b] {
        assert_eq!((fixture.open_cards(), status(fixture, new).0), (0, Status::Active));
    }
}

#[test]
fn what_an_undo_makes_active_again_and_what_another_wrote_meanwhile_are_on_one_card() {
    let (a, b, team) = pair(&[("We use Postgres 14", "it is there")]);
    let old = b.engine.claims(&ergo::api::ClaimsQuery::default()).unwrap().items[0].id;
    let new = stored(a.supersede(old, "We use Postgres 16", "faster"));
    meet(&a, &b, team);
    a.undo();
    b.clock.fetch_add(60_000, Ordering::Relaxed);
    let newest = stored(b.supersede(new.claim_id, "We use Postgres 17", "supported for longer")).claim_id;
    meet(&a, &b, team);
    let card = common_card(&a, &b);
    assert_eq!((card.kind, &card.members), (CardKind::Contested, &vec![newest, old]));
    for fixture in [&a, &b] {
        let states = [old, newest].map(|claim| status(fixture, claim));
        assert_eq!(states, [(Status::Active, true), (Status::Active, true)]);
    }
    let winner = Some(newest.to_hex());
    done(b.resolve(card.id, ResolveRequest { winner, ..order(CardAct::Supersede, "we upgraded") }));
    pull(&a, &b, team);
    for fixture in [&a, &b] {
        let states = [old, newest].map(|claim| status(fixture, claim));
        assert_eq!((fixture.open_cards(), states), (0, [(Status::Superseded, false), (Status::Active, false)]));
    }
    b.undo();
    pull(&a, &b, team);
    assert_eq!(common_card(&a, &b).id, card.id, "without the answer the question is open again");
}
