//! One device keeps a claim on a card, and another retracts that claim.

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
