//! Insights on several devices: devices that read different projects agree after a sync.

use ergo::domain::roster::{Grant, Granted, Role};

use super::{
    bundles::{admit_by_file, all, export, import, scope, to},
    insights::{caller, fixture_of, insights, reconcile, rule},
    *,
};
use ergo::api::{CreateTeamRequest, ExportRequest, InsightsQuery, PromoteRequest};

/// Two devices in a team that shares both projects and the organisation's level.
fn pair() -> (Fixture, Fixture) {
    pair_of(fixture_of)
}

/// [`pair`], of devices that are made so.
pub(super) fn pair_of(fixture_of: impl Fn(u8) -> Fixture) -> (Fixture, Fixture) {
    let (a, b) = (fixture_of(1), fixture_of(2));
    let request = CreateTeamRequest {
        caller: super::caller(),
        name: "core".into(),
        device_name: Some("ada-laptop".into()),
        scopes: vec![scope("api"), scope("web"), scope("*")],
    };
    a.engine.create_team(&request).unwrap();
    admit_by_file(&a, &b, "bob-laptop", Grant { role: Role::Writer, scopes: Granted::All });
    (a, b)
}

pub(super) fn exchange(a: &Fixture, b: &Fixture) {
    import(b, &all(a));
    import(a, &all(b));
    import(b, &all(a));
}

/// The insights without parts that depend on the time of the query.
fn seen(fixture: &Fixture) -> Vec<String> {
    let one = |one: ergo::api::InsightView| {
        format!(
            "{:?} {} {} {} {} {:?}",
            one.claim, one.projects, one.sightings, one.first_seen, one.last_seen, one.status
        )
    };
    insights(fixture).into_iter().map(one).collect()
}

#[test]
fn devices_that_read_different_projects_agree_after_sync() {
    let (a, b) = pair();
    stored(a.engine.remember_by_rules(&rule("api", "Use tabs for indentation in code.")).unwrap());
    stored(a.engine.remember_by_rules(&rule("api", "Commits must be signed.")).unwrap());
    stored(b.engine.remember_by_rules(&rule("web", "Use tabs for indentation of code.")).unwrap());
    stored(b.engine.remember_by_rules(&rule("web", "Commits must not be signed.")).unwrap());
    assert_eq!((insights(&a).len(), insights(&b).len()), (2, 2));
    exchange(&a, &b);
    // Each finds the same for itself, before it hears of the other's judgement.
    let (found, theirs) = (reconcile(&a), reconcile(&b));
    assert_eq!((found.merged, found.cards), (1, 1), "{found:?}");
    assert_eq!((theirs.merged, theirs.cards), (1, 1), "{theirs:?}");
    exchange(&a, &b);
    assert_eq!(seen(&a), seen(&b));
    let tabs = insights(&a).into_iter().find(|one| one.statement.contains("tabs")).unwrap();
    assert_eq!((tabs.projects, tabs.sightings, tabs.derivations.len()), (2, 2, 2));
    let cards = |fixture: &Fixture| -> Vec<CardId> {
        fixture.engine.conflicts(&ConflictsQuery::default()).unwrap().items.iter().map(|card| card.id).collect()
    };
    assert_eq!((cards(&a).len(), cards(&a)), (1, cards(&b)), "one card of one name");
    // The same sightings, a year later.
    for fixture in [&a, &b] {
        fixture.clock.fetch_add(365 * 86_400_000, Ordering::Relaxed);
    }
    assert_eq!(seen(&a), seen(&b));
}

#[test]
fn a_card_between_projects_that_was_dismissed_on_one_device_is_settled_on_all() {
    let (a, b) = pair();
    stored(a.engine.remember_by_rules(&rule("api", "Commits must be signed.")).unwrap());
    stored(b.engine.remember_by_rules(&rule("web", "Commits must not be signed.")).unwrap());
    exchange(&a, &b);
    assert_eq!((reconcile(&a).cards, reconcile(&b).cards), (1, 1), "each finds it for itself");
    let open = |fixture: &Fixture| fixture.engine.conflicts(&ConflictsQuery::default()).unwrap().items;
    let id = open(&a)[0].id.to_hex();
    let order = ResolveRequest { caller: caller("api"), ..order(CardAct::Dismiss, "each holds in its project") };
    let dismissed = done(a.engine.resolve(&id, order).unwrap());
    exchange(&a, &b);
    assert_eq!((open(&a).len(), open(&b).len()), (0, 0));
    let settled = b.engine.card(&id).unwrap().settled.unwrap();
    assert_eq!((settled.act.as_str(), settled.reason.as_deref()), ("dismiss", Some("each holds in its project")));
    assert_eq!(reconcile(&b).cards, 0, "and is not found again");
    // After the undo, it waits on both again.
    let undo = UndoRequest { caller: caller("api"), target_op: Some(dismissed.op_id), ..UndoRequest::default() };
    a.engine.undo(undo).unwrap();
    exchange(&a, &b);
    assert_eq!((open(&a).len(), open(&b).len()), (1, 1));
}

#[test]
fn a_claim_of_the_organisation_reaches_a_device_that_shares_its_level_alone() {
    let (a, b) = pair();
    for project in ["api", "web"] {
        stored(a.engine.remember_by_rules(&rule(project, "Releases must be signed.")).unwrap());
    }
    let first = a.engine.claims(&ergo::api::ClaimsQuery::default()).unwrap().items[0].id;
    let request = PromoteRequest { caller: caller("api"), claims: vec![first.to_hex()], ..PromoteRequest::default() };
    let promoted = stored(a.engine.promote(request).unwrap()).claim_id;

    let c = fixture_of(3);
    let only = Granted::Only([scope("*")].into());
    admit_by_file(&a, &c, "cy-laptop", Grant { role: Role::Reader, scopes: only });
    let file = export(&a, &ExportRequest { scopes: vec!["acme/*".into()], ..to("cy-laptop") }).unwrap().0;
    import(&c, &file);
    import(&b, &all(&a));
    let principles = |fixture: &Fixture| {
        let query = InsightsQuery { org_id: "acme".into(), principles: true, ..InsightsQuery::default() };
        fixture.engine.insights(&query).unwrap().items
    };
    let there = principles(&c);
    assert_eq!((there.len(), there[0].principle, there[0].projects), (1, Some(promoted), 2), "{there:?}");
    assert!(there[0].derivations.is_empty(), "of the projects it learns how many there are, and nothing else");
    assert_eq!(principles(&b)[0].derivations.len(), 2);
    // It holds in a project of that device, which refuses what contradicts it.
    let against = rule("mobile", "Releases must not be signed.");
    assert!(matches!(c.engine.remember(against).unwrap(), WriteOutcome::Conflict(_)));
    // Demoted here, it is demoted on the other device, too.
    done(a.engine.demote(super::on(promoted, "they differ")).unwrap());
    import(&c, &export(&a, &ExportRequest { scopes: vec!["acme/*".into()], ..to("cy-laptop") }).unwrap().0);
    assert!(principles(&c).is_empty());
    assert_eq!(c.claim(promoted).status, ergo::domain::Status::Retracted);
}
