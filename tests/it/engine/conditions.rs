//! Conditions of claims that are superseded or merged: the new text keeps those that all of them share.

use ergo::{api::Warning, domain::Status};

use super::*;

fn limited(env: Option<&str>, team: Option<&str>, until: Option<&str>) -> Qualifiers {
    let text = |text: Option<&str>| text.map(str::to_owned);
    Qualifiers { env: text(env), team: text(team), valid_until: text(until), ..Qualifiers::default() }
}

fn remember(fixture: &Fixture, statement: &str, qualifiers: Qualifiers) -> ClaimId {
    let request = RememberRequest { qualifiers, kind: Some(ClaimKind::Constraint), ..request(statement, "an audit") };
    stored(fixture.engine.remember(request).unwrap()).claim_id
}

fn replacing(targets: &[ClaimId], statement: &str) -> SupersedeRequest {
    let targets = targets.iter().map(|id| id.to_hex()).collect();
    SupersedeRequest { targets, claim: request(statement, "it changed"), ..SupersedeRequest::default() }
}

/// The message about kept conditions.
fn kept(warnings: &[Warning]) -> Option<&str> {
    let kept = warnings.iter().find(|warning| warning.code == Warning::CONDITIONS_KEPT);
    kept.map(|warning| warning.message.as_str())
}

#[test]
fn a_new_text_keeps_the_conditions_of_the_claim_that_it_replaces() {
    let fixture = Fixture::new();
    let old = remember(&fixture, "Rotate keys every month.", limited(Some("prod"), Some("infra"), Some("2027-01-01")));
    let mut request = replacing(&[old], "Rotate keys every week.");
    request.claim.caller.op_id = Some(op(1));
    let new = stored(fixture.engine.supersede(request.clone()).unwrap());
    assert_eq!(
        kept(&new.warnings),
        Some("it keeps the conditions of the claim that it replaces: env prod, team infra, until 2027-01-01")
    );
    let claim = fixture.claim(new.claim_id);
    assert_eq!(claim.qualifiers, limited(Some("prod"), Some("infra"), Some("2027-01-01")));
    assert!(claim.norms.iter().all(|norm| norm.scope.env.as_deref() == Some("prod")), "{:?}", claim.norms);
    let again = stored(fixture.engine.supersede(request).unwrap());
    assert_eq!((again.claim_id, again.replayed), (new.claim_id, true));
}

#[test]
fn another_value_changes_a_condition_and_all_can_be_dropped() {
    let fixture = Fixture::new();
    let old = remember(&fixture, "Rotate keys every month.", limited(Some("prod"), Some("infra"), None));
    let mut request = replacing(&[old], "Rotate keys every week.");
    request.claim.qualifiers = in_env("staging");
    let staging = stored(fixture.engine.supersede(request).unwrap());
    assert_eq!(fixture.claim(staging.claim_id).qualifiers, limited(Some("staging"), Some("infra"), None));
    let request =
        SupersedeRequest { drop_conditions: true, ..replacing(&[staging.claim_id], "Rotate keys every day.") };
    let dropped = stored(fixture.engine.supersede(request).unwrap());
    assert_eq!((fixture.claim(dropped.claim_id).qualifiers, kept(&dropped.warnings)), (Qualifiers::default(), None));
}

#[test]
fn only_conditions_that_all_replaced_claims_share_are_kept() {
    let fixture = Fixture::new();
    let one = remember(&fixture, "Rotate keys every month.", limited(Some("prod"), Some("infra"), None));
    let two = remember(&fixture, "Store keys in the vault.", limited(Some("prod"), Some("web"), None));
    let new = stored(fixture.engine.supersede(replacing(&[one, two], "Rotate keys in the vault.")).unwrap());
    assert_eq!(fixture.claim(new.claim_id).qualifiers, in_env("prod"));
    assert_eq!(kept(&new.warnings), Some("it keeps the conditions of the claims that it replaces: env prod"));
}

#[test]
fn a_first_day_is_kept_only_while_it_lies_ahead() {
    for (day, is_kept) in [("2026-02-01", false), ("2026-04-01", true)] {
        let fixture = Fixture::new();
        let from = Qualifiers { valid_from: Some(day.into()), ..Qualifiers::default() };
        let old = remember(&fixture, "Rotate keys every month.", from.clone());
        let new = stored(fixture.engine.supersede(replacing(&[old], "Rotate keys every week.")).unwrap());
        assert_eq!(fixture.claim(new.claim_id).qualifiers == from, is_kept, "{day}");
    }
}

#[test]
fn a_period_that_would_end_before_it_begins_is_refused() {
    let fixture = Fixture::new();
    let old = remember(&fixture, "Rotate keys every month.", limited(None, None, Some("2026-06-01")));
    let mut request = replacing(&[old], "Rotate keys every week.");
    request.claim.qualifiers.valid_from = Some("2026-07-01".into());
    assert_eq!(fixture.engine.supersede(request).unwrap_err().field.as_deref(), Some("valid_until"));
}

#[test]
fn the_guard_compares_the_conditions_that_are_kept() {
    let fixture = Fixture::new();
    remember(&fixture, "Deploy on Fridays.", in_env("staging"));
    let old = remember(&fixture, "Deploy on any day.", in_env("prod"));
    stored(fixture.engine.supersede(replacing(&[old], "Never deploy on Fridays.")).unwrap());
}

#[test]
fn a_merged_text_keeps_the_conditions_that_both_sides_share() {
    for drop_conditions in [false, true] {
        let fixture = Fixture::new();
        remember(&fixture, "Deploy on Fridays.", limited(Some("prod"), Some("pay"), None));
        let refusing = RememberRequest {
            qualifiers: limited(Some("prod"), Some("pay"), None),
            ..request("Never deploy on Fridays.", "an outage")
        };
        let card = refused(fixture.engine.remember(refusing).unwrap()).card_id.unwrap();
        let order = ResolveRequest {
            statement: Some("Deploy on Fridays until noon.".into()),
            drop_conditions,
            ..order(CardAct::Supersede, "both had a point")
        };
        let done = done(fixture.resolve(card, order));
        let claim = fixture.claim(done.claim_id.unwrap());
        let expected = if drop_conditions { Qualifiers::default() } else { limited(Some("prod"), Some("pay"), None) };
        assert_eq!(claim.qualifiers, expected);
        assert_eq!(kept(&done.warnings).is_some(), !drop_conditions, "{:?}", done.warnings);
    }
}

#[test]
fn two_stored_claims_are_merged_with_the_conditions_that_they_share() {
    let fixture = Fixture::new();
    let one = remember(&fixture, "Deploy on Fridays.", in_env("prod"));
    let retract = fixture.retract(one, "never so");
    remember(&fixture, "Never deploy on Fridays.", limited(Some("prod"), Some("pay"), None));
    let undo = UndoRequest { caller: caller(), target_op: Some(retract.op_id), ..UndoRequest::default() };
    fixture.engine.undo(undo).unwrap();
    let card = fixture.engine.conflicts(&ConflictsQuery::default()).unwrap().items[0].id;
    let dismiss = ResolveRequest { drop_conditions: true, ..order(CardAct::Dismiss, "no") };
    let error = fixture.engine.resolve(&card.to_hex(), dismiss).unwrap_err();
    assert_eq!(error.field.as_deref(), Some("drop_conditions"), "it has no effect there: {error}");
    let statement = Some("Deploy on Fridays until noon.".into());
    let done =
        done(fixture.resolve(card, ResolveRequest { statement, ..order(CardAct::Supersede, "both had a point") }));
    assert_eq!(fixture.claim(done.claim_id.unwrap()).qualifiers, in_env("prod"));
    assert_eq!(kept(&done.warnings), Some("it keeps the conditions of the claims that it replaces: env prod"));
}

#[test]
fn who_states_the_condition_of_the_refused_write_on_its_card_declares_that_both_hold() {
    let fixture = Fixture::new();
    let write = |statement| RememberRequest { qualifiers: in_env("staging"), ..request(statement, "r") };
    let blue = stored(fixture.engine.remember(write("Deployments must use a blue canary")).unwrap()).claim_id;
    let card = refused(fixture.engine.remember(write("Deployments must use a red canary")).unwrap()).card_id.unwrap();
    let target = Some(fixture.card(card).sides[0].claim.id.to_hex());
    let narrow = ResolveRequest { target, qualifiers: in_env("staging"), ..order(CardAct::Narrow, "only there") };
    let red = done(fixture.resolve(card, narrow)).claim_id.unwrap();
    assert_eq!(fixture.claim(red).qualifiers, in_env("staging"));
    assert_eq!([blue, red].map(|id| fixture.claim(id).status), [Status::Active; 2]);
    assert_eq!(fixture.open_cards(), 0);
}
