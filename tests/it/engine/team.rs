//! Two devices write while disconnected and sync: both have all claims, and the same cards.

use ergo::{
    api::{
        AdoptRequest, CardKind, CardStatus, CardSummary, CreateTeamRequest, ErrorCode, GrantRequest, InboxKind,
        InboxQuery, LeaveRequest, QuarantineRequest, QuarantinedQuery, RenameRequest, RevokeRequest, TeamView,
    },
    domain::{
        EventId, Scope, SignedEvent, Status,
        roster::{Grant, Granted, MAX_DEVICES, Role},
    },
    engine::TeamNotes,
    infer::FakeModels,
    store::{SyncImport, SyncImported},
};

use super::*;

fn api() -> Scope {
    Scope::new("acme", "api").unwrap()
}

pub(super) fn all() -> Grant {
    Grant { role: Role::Writer, scopes: Granted::All }
}

pub(super) fn create(fixture: &Fixture) -> TeamView {
    let request = CreateTeamRequest {
        caller: caller(),
        name: "acme".into(),
        device_name: Some("ada-laptop".into()),
        scopes: vec![api()],
    };
    fixture.engine.create_team(&request).unwrap()
}

pub(super) fn add(to: &Fixture, other: &Fixture, name: &str, grant: &Grant) -> Vec<SignedEvent> {
    to.engine.add_member(&caller(), None, other.engine.device(), "bob", name, grant).unwrap().1
}

/// Imports the events that another laptop has and this one lacks.
pub(super) fn pull(fixture: &Fixture, from: &Fixture, team: EventId) -> SyncImported {
    let mut events = Vec::new();
    let scopes = from.engine.with_reader(|reader| reader.team_scopes(&team)).unwrap();
    for scope in scopes {
        let ours = fixture.engine.with_reader(|reader| reader.vector(&team, &scope.scope)).unwrap();
        let page = from.engine.with_reader(|reader| reader.events_after(&team, &scope.scope, &ours, None, 9_999));
        events.extend(page.unwrap().events);
    }
    let (from, now) = (Some(from.engine.device()), fixture.engine.now());
    fixture.engine.import_synced(&SyncImport { team, from, events, document: None, peer: None, now }).unwrap()
}

pub(super) fn meet(a: &Fixture, b: &Fixture, team: EventId) {
    pull(a, b, team);
    pull(b, a, team);
}

/// Two laptops in one team; `before` was written by the first.
pub(super) fn pair(before: &[(&str, &str)]) -> (Fixture, Fixture, EventId) {
    let (a, b) = (Fixture::of(1, AgentPolicy::Force), Fixture::of(2, AgentPolicy::Force));
    for (statement, reason) in before {
        a.remember(statement, reason);
    }
    let team = create(&a).id;
    let roster = add(&a, &b, "bob-laptop", &all());
    b.engine.join_team(&caller(), team, &roster, Some(a.engine.device()), &[], &[]).unwrap();
    meet(&a, &b, team);
    (a, b, team)
}

/// The cards of a laptop, by id.
fn cards(fixture: &Fixture, status: &str) -> Vec<CardSummary> {
    let query = ConflictsQuery { status: Some(status.into()), ..ConflictsQuery::default() };
    let mut cards = fixture.engine.conflicts(&query).unwrap().items;
    cards.sort_by_key(|card| card.id);
    cards
}

/// The one open card, the same on both.
pub(super) fn common_card(a: &Fixture, b: &Fixture) -> CardSummary {
    let (ours, theirs) = (cards(a, "open"), cards(b, "open"));
    assert_eq!((ours.len(), theirs.len()), (1, 1), "{ours:#?} {theirs:#?}");
    assert_eq!((ours[0].id, ours[0].kind, &ours[0].members), (theirs[0].id, theirs[0].kind, &theirs[0].members));
    ours[0].clone()
}

pub(super) fn status(fixture: &Fixture, id: ClaimId) -> (Status, bool) {
    let claim = fixture.claim(id);
    (claim.status, claim.flags.contested)
}

pub(super) const KAFKA: &str = "We must use Kafka as the message broker";
pub(super) const NO_KAFKA: &str = "We must not use Kafka as the message broker";

#[test]
fn what_was_decided_apart_and_contradicts_is_one_card_and_settled_once() {
    let (a, b, team) = pair(&[]);
    let yes = a.remember(KAFKA, "we know it");
    let no = b.remember(NO_KAFKA, "too heavy");
    assert_eq!((a.open_cards(), b.open_cards()), (0, 0));
    meet(&a, &b, team);
    let card = common_card(&a, &b);
    assert_eq!(card.kind, CardKind::Contradiction);
    // Resolved on one, closed on the other.
    let mut order = order(CardAct::Supersede, "ada is right");
    order.winner = Some(yes.to_hex());
    done(a.resolve(card.id, order));
    pull(&b, &a, team);
    for fixture in [&a, &b] {
        assert_eq!(
            (fixture.open_cards(), status(fixture, yes).0, status(fixture, no).0),
            (0, Status::Active, Status::Superseded)
        );
        assert_eq!(fixture.card(card.id).summary.status, CardStatus::Settled);
    }
}

#[test]
fn two_who_kept_opposite_sides_meet_their_card_again_and_can_keep_either() {
    let (a, b, team) = pair(&[]);
    let (yes, no) = (a.remember(KAFKA, "we know it"), b.remember(NO_KAFKA, "too heavy"));
    meet(&a, &b, team);
    let card = common_card(&a, &b).id;
    let keep = |fixture: &Fixture, winner: ClaimId| {
        let winner = Some(winner.to_hex());
        done(fixture.resolve(card, ResolveRequest { winner, ..order(CardAct::Supersede, "decided") }));
    };
    keep(&a, yes);
    keep(&b, no);
    meet(&a, &b, team);
    let again = common_card(&a, &b);
    assert_eq!((again.id, again.kind), (card, CardKind::Contested));
    for fixture in [&a, &b] {
        let contested = (Status::Superseded, true);
        assert_eq!((status(fixture, yes), status(fixture, no)), (contested, contested));
    }
    keep(&b, yes);
    pull(&a, &b, team);
    for fixture in [&a, &b] {
        assert_eq!(fixture.open_cards(), 0);
        assert_eq!((status(fixture, yes), status(fixture, no)), ((Status::Active, false), (Status::Superseded, false)));
    }
}

#[test]
fn a_third_who_decided_the_same_late_opens_a_new_card_the_same_on_all() {
    let (a, b, team) = pair(&[]);
    let yes = a.remember(KAFKA, "we know it");
    b.remember(NO_KAFKA, "too heavy");
    meet(&a, &b, team);
    let card = common_card(&a, &b);
    let mut order = order(CardAct::Supersede, "ada is right");
    order.winner = Some(yes.to_hex());
    done(a.resolve(card.id, order));
    pull(&b, &a, team);
    // This device was away while the card was decided and settled.
    let c = Fixture::of(3, AgentPolicy::Force);
    let roster = add(&a, &c, "cyd-laptop", &all());
    c.engine.join_team(&caller(), team, &roster, None, &[], &[]).unwrap();
    let late = c.remember(NO_KAFKA, "it was down again");
    meet(&a, &c, team);
    meet(&a, &b, team);
    let second = common_card(&a, &b);
    assert_eq!(common_card(&a, &c).id, second.id);
    assert_ne!(second.id, card.id);
    assert!(second.members.contains(&late) && second.members.contains(&yes));
    for fixture in [&a, &b] {
        assert_eq!(fixture.card(card.id).summary.status, CardStatus::Settled, "what was settled stays so");
    }
}

#[test]
fn a_claim_replaced_on_both_sides_is_contested_on_both() {
    let (a, b, team) = pair(&[("We use Postgres 14", "it is there")]);
    let old = b.engine.claims(&ergo::api::ClaimsQuery::default()).unwrap().items[0].id;
    stored(a.supersede(old, "We use Postgres 16", "faster"));
    stored(b.supersede(old, "We use MariaDB", "cheaper"));
    meet(&a, &b, team);
    let contested: Vec<CardId> =
        cards(&a, "open").into_iter().filter(|card| card.kind == CardKind::Contested).map(|card| card.id).collect();
    let theirs: Vec<CardId> =
        cards(&b, "open").into_iter().filter(|card| card.kind == CardKind::Contested).map(|card| card.id).collect();
    assert_eq!((contested.len(), &contested), (1, &theirs));
    assert_eq!((status(&a, old), status(&b, old)), ((Status::Superseded, true), (Status::Superseded, true)));
}

#[test]
fn retracted_here_and_replaced_there_it_is_out_on_both_and_the_successor_stands() {
    let (a, b, team) = pair(&[("We use Postgres 14", "it is there")]);
    let old = b.engine.claims(&ergo::api::ClaimsQuery::default()).unwrap().items[0].id;
    a.retract(old, "never decided");
    let new = stored(b.supersede(old, "We use Postgres 16", "faster")).claim_id;
    meet(&a, &b, team);
    assert_eq!(status(&a, old), status(&b, old));
    assert_eq!(
        (status(&a, old).0, status(&a, new).0, status(&b, new).0),
        (Status::Retracted, Status::Active, Status::Active)
    );
    let card = common_card(&a, &b);
    assert_eq!((card.kind, card.members.contains(&old)), (CardKind::Contested, true), "{card:?}");
}

#[test]
fn a_race_for_a_fact_shows_both_values_on_one_card() {
    let (a, b, team) = pair(&[]);
    let set = |fixture: &Fixture, value: &str| {
        let request = RememberRequest { key: Some("port".into()), ..fact(&format!("The port is {value}")) };
        stored(fixture.engine.remember(request).unwrap()).claim_id
    };
    let first = set(&a, "80");
    meet(&a, &b, team);
    let (one, other) = (set(&a, "81"), set(&b, "82"));
    meet(&a, &b, team);
    let card = common_card(&a, &b);
    assert_eq!(card.kind, CardKind::Contested);
    for fixture in [&a, &b] {
        assert_eq!(status(fixture, first).0, Status::Superseded);
        assert_eq!((status(fixture, one), status(fixture, other)), ((Status::Active, true), (Status::Active, true)));
    }
    // Whoever sets it anew, having seen both, ends the race.
    let last = set(&b, "83");
    pull(&a, &b, team);
    for fixture in [&a, &b] {
        assert_eq!((fixture.open_cards(), status(fixture, last)), (0, (Status::Active, false)));
    }
}

#[test]
fn in_whatever_order_they_meet_three_laptops_say_the_same() {
    let orders = [[0, 1, 2], [2, 1, 0], [1, 2, 0]];
    let mut seen = Vec::new();
    for order in orders {
        let (a, b, team) = pair(&[("We use Postgres 14", "it is there")]);
        let c = Fixture::of(3, AgentPolicy::Force);
        c.engine.join_team(&caller(), team, &add(&a, &c, "cyd", &all()), None, &[], &[]).unwrap();
        pull(&c, &a, team);
        pull(&b, &a, team);
        let fixtures = [a, b, c];
        for (fixture, statement) in fixtures.iter().zip([KAFKA, NO_KAFKA, "We should use Kafka as the message broker"])
        {
            fixture.remember(statement, "since it is so");
        }
        for _ in 0..2 {
            for at in order {
                for with in 0..3 {
                    if with != at {
                        meet(&fixtures[at], &fixtures[with], team);
                    }
                }
            }
        }
        let say = |fixture: &Fixture| {
            let mut cards: Vec<_> =
                cards(fixture, "all").into_iter().map(|card| (card.headline, card.kind, card.status)).collect();
            cards.sort_by(|x, y| x.0.cmp(&y.0));
            cards
        };
        let ids = |fixture: &Fixture| cards(fixture, "all").iter().map(|card| card.id).collect::<Vec<_>>();
        for fixture in &fixtures[1..] {
            assert_eq!(ids(fixture), ids(&fixtures[0]));
            assert_eq!(say(fixture), say(&fixtures[0]));
        }
        seen.push(say(&fixtures[0]).len());
    }
    assert!(seen[0] > 0 && seen.iter().all(|count| *count == seen[0]), "{seen:?}");
}

#[test]
fn a_claim_says_whose_device_signed_it_and_who_brought_it() {
    let (a, b, team) = pair(&[("We deploy on Fridays", "nobody is there at weekends")]);
    let claim = b.remember("We log as JSON", "machines read it");
    pull(&a, &b, team);
    let from = a.claim(claim).provenance;
    assert_eq!((from.device_name.as_deref(), from.team), (Some("bob-laptop"), Some(team)));
    assert_eq!((from.arrived_from, from.arrived_from_name.as_deref()), (Some(b.engine.device()), Some("bob-laptop")));
    assert!(from.verified);
    let view = a.claim(claim);
    assert_eq!(view.device_words().as_deref(), Some("bob-laptop, which is bob's"), "the writer calls himself ada");
    let words = view.signed_words().unwrap();
    assert!(words.contains("signature valid") && words.ends_with("received directly"), "{words}");
    let history = a.engine.history(&claim.to_hex()).unwrap();
    assert_eq!(history.events[0].device_name.as_deref(), Some("bob-laptop"));
    assert_eq!(b.claim(claim).provenance.arrived_from, None);
    assert_eq!(a.acts().last().unwrap(), "sync");
}

#[test]
fn models_judge_what_arrived_afterwards_and_what_they_find_stays_on_this_machine() {
    let (a, b, team) = pair(&[("Reviews are asked for early, while the change is small", "cheap")]);
    let models = FakeModels::new()
        .embedding(|text| Ok(FakeModels::bag_of_words(text)))
        .classifying(|a, b| Ok([0.0, 0.0, if a.contains("early") == b.contains("early") { -5.0 } else { 9.0 }]));
    let a = a.reopen_with_models(super::inference::trusting(), Arc::new(models));
    b.remember("Reviews are asked for once the whole change is done", "one look is enough");
    pull(&a, &b, team);
    assert_eq!(a.open_cards(), 0, "nobody waits for a model");
    while a.engine.fill_vectors().unwrap() > 0 || a.engine.deepen_next().unwrap() {}
    let found = cards(&a, "open");
    assert_eq!(found.iter().map(|card| card.kind).collect::<Vec<_>>(), [CardKind::Found]);
    let sets = || [&a, &b].map(|fixture| fixture.engine.with_reader(|reader| reader.set(&team, &api())).unwrap());
    assert_eq!(sets()[0], sets()[1], "it is no event that could travel");
    assert_eq!(pull(&b, &a, team), SyncImported::default());
    assert_eq!(b.open_cards(), 0, "what a model finds stays where it was found");
}

#[test]
fn a_team_is_run_by_its_admins() {
    let (a, b, team) = pair(&[]);
    let refused = |result: Result<ergo::api::TeamDone, ergo::api::ApiError>| result.unwrap_err().code;
    let revoke =
        |device: &str| RevokeRequest { caller: caller(), in_team: None, device: device.into(), reason: "lost".into() };
    assert_eq!(refused(b.engine.revoke_from_team(&revoke("ada-laptop"))), ErrorCode::Forbidden);
    let web = Scope::new("acme", "web").unwrap();
    let adopt = AdoptRequest { caller: caller(), in_team: Some("acme".into()), scope: web.clone() };
    assert_eq!(refused(b.engine.adopt_into_team(&adopt)), ErrorCode::Forbidden);
    a.engine.adopt_into_team(&adopt).unwrap();
    // Names, roles, and what may not happen.
    let rename = |device: Option<&str>, name: &str| RenameRequest {
        caller: caller(),
        device: device.map(str::to_owned),
        name: name.into(),
        ..RenameRequest::default()
    };
    b.engine.rename_in_team(&rename(Some("bob-laptop"), "bobs")).unwrap();
    assert_eq!(refused(b.engine.rename_in_team(&rename(None, "mine"))), ErrorCode::Forbidden);
    pull(&a, &b, team);
    let demote = GrantRequest {
        caller: caller(),
        device: "ada-laptop".into(),
        role: Some(Role::Writer),
        ..GrantRequest::default()
    };
    assert!(a.engine.grant_in_team(&demote).unwrap_err().message.contains("needs at least one admin"));
    let leave = LeaveRequest { caller: caller(), in_team: None };
    assert!(a.engine.leave_team(&leave).unwrap_err().message.contains("needs at least one admin"));
    let narrow = GrantRequest {
        caller: caller(),
        device: "bobs".into(),
        role: Some(Role::Reader),
        scopes: Some(vec![web]),
        ..GrantRequest::default()
    };
    a.engine.grant_in_team(&narrow).unwrap();
    // A reader's events go into quarantine, and are accepted once a person wants them.
    let claim = b.remember(KAFKA, "we know it");
    let mut events = b.engine.with_reader(|reader| reader.signed_events(0, 99)).unwrap();
    events.retain(|(_, event)| event.id == claim);
    let events: Vec<SignedEvent> = events.into_iter().map(|(_, event)| event).collect();
    let import = SyncImport { team, from: None, events, document: None, peer: None, now: a.engine.now() };
    a.engine.import_synced(&import).unwrap();
    let held = a.engine.quarantined(&QuarantinedQuery::default()).unwrap();
    assert_eq!((held.total, held.items[0].author_name.as_deref()), (1, Some("bobs")));
    let in_inbox = |project: Option<&str>| {
        let org_id = project.map(|_| "acme".to_owned());
        let query = InboxQuery { org_id, project: project.map(str::to_owned), ..InboxQuery::default() };
        let groups = a.engine.inbox(&query).unwrap().groups;
        groups.iter().find(|group| group.group == InboxKind::Quarantined).map(|group| (group.total, group.items.len()))
    };
    assert_eq!([Some("api"), Some("web"), None].map(in_inbox), [Some((1, 1)), None, Some((1, 1))]);
    assert_eq!(a.engine.team_notes(team).unwrap(), TeamNotes::default(), "what waits is counted elsewhere");
    assert_eq!((held.items[0].refusal.as_str(), held.items[0].text.as_deref()), ("reader", Some(KAFKA)));
    let accept = QuarantineRequest { caller: caller(), events: vec![claim.short()], ..QuarantineRequest::default() };
    a.engine.accept_quarantined(&accept).unwrap();
    assert_eq!(a.claim(claim).status, Status::Active);
    a.engine.revoke_from_team(&revoke("bobs")).unwrap();
    assert_eq!(b.engine.team_end(team).unwrap(), None, "it does not know yet");
    pull(&b, &a, team);
    assert_eq!(b.engine.team_named(None).unwrap_err().code, ErrorCode::NotFound);
    let end = b.engine.team_end(team).unwrap().unwrap();
    assert_eq!((end.left, end.by.as_deref()), (false, Some("ada (ada-laptop)")));
    assert!(end.says.contains("This device keeps what it has") && end.says.contains("new invitation"), "{}", end.says);
    assert_eq!(a.engine.team_view(team).unwrap().members, 1);
    assert!(a.engine.leave_team(&leave).is_ok(), "nobody is left who would miss an admin");
}

#[test]
fn a_copied_device_is_reported_until_it_was_revoked_and_admitted_again() {
    let (a, b, team) = pair(&[]);
    let claim = b.remember(KAFKA, "we know it");
    // The same place of the chain, written by a copy of b.
    let stored = b.engine.with_reader(|reader| reader.signed_events(0, 99)).unwrap();
    let mut twin = stored.into_iter().map(|(_, event)| event).find(|event| event.id == claim).unwrap();
    twin.header.clock.wall += 1;
    let body = twin.body.take().unwrap();
    let key = ed25519_dalek::SigningKey::from_bytes(&[2; 32]);
    let twin = SignedEvent::sign(twin.header, body, &key).unwrap();
    let import = SyncImport { team, from: None, events: vec![twin], document: None, peer: None, now: a.engine.now() };
    a.engine.import_synced(&import).unwrap();
    pull(&a, &b, team);
    let notes = a.engine.team_notes(team).unwrap();
    assert_eq!(notes.forks, 1);
    let forked =
        "bob-laptop has forked its history: once, in acme/api, it signed two different events after the same one";
    assert!(notes.says[0].contains(forked), "{notes:?}");
    assert!(notes.says[0].contains("ergo sync revoke bob-laptop"), "it says what to do: {notes:?}");
    let revoke = RevokeRequest {
        caller: caller(),
        device: "bob-laptop".into(),
        reason: "its store was copied".into(),
        ..RevokeRequest::default()
    };
    a.engine.revoke_from_team(&revoke).unwrap();
    add(&a, &b, "bob-laptop", &all());
    assert_eq!(a.engine.team_notes(team).unwrap(), TeamNotes::default());
}

#[test]
fn a_retry_of_an_act_on_a_team_is_answered() {
    let a = Fixture::of(1, AgentPolicy::Force);
    a.remember(KAFKA, "we know it");
    let by = |n: u8| Caller { op_id: Some(op(n)), ..caller() };
    let request = CreateTeamRequest {
        caller: by(1),
        name: "acme".into(),
        device_name: Some("ada-laptop".into()),
        scopes: vec![api()],
    };
    let team = a.engine.create_team(&request).unwrap();
    assert_eq!(a.engine.create_team(&request).unwrap(), team);
    let rename = RenameRequest {
        caller: by(2),
        device: Some("ada-laptop".into()),
        name: "ada-desk".into(),
        ..RenameRequest::default()
    };
    let leave = LeaveRequest { caller: by(3), in_team: None };
    a.engine.rename_in_team(&rename).unwrap();
    assert_eq!(a.engine.rename_in_team(&rename).unwrap().team, team.id);
    a.engine.leave_team(&leave).unwrap();
    let events = a.engine.counts().unwrap().events;
    assert!(a.engine.leave_team(&leave).unwrap().summary.contains("Already done"));
    assert_eq!(a.engine.counts().unwrap().events, events);
}

#[test]
fn a_team_has_no_more_devices_than_it_may() {
    let a = Fixture::of(1, AgentPolicy::Force);
    create(&a);
    let device = |n: usize| {
        let key = ed25519_dalek::SigningKey::from_bytes(&[u8::try_from(n).unwrap() + 9; 32]);
        ergo::domain::DeviceId(key.verifying_key().to_bytes())
    };
    let add = |n| a.engine.add_member(&caller(), None, device(n), "bob", &format!("laptop-{n}"), &all());
    for n in 1..MAX_DEVICES {
        add(n).unwrap();
    }
    let error = add(MAX_DEVICES).unwrap_err();
    assert!(
        error.message.contains("64 devices") && error.hint.as_ref().is_some_and(|hint| hint.contains("revoke")),
        "{error:?}"
    );
    assert!(add(1).is_ok(), "one that is in may be let in again, with another grant");
}

#[test]
fn a_device_with_the_name_of_another_one_gets_a_number() {
    let a = Fixture::of(1, AgentPolicy::Force);
    let team = create(&a).id;
    let device =
        |n: u8| ergo::domain::DeviceId(ed25519_dalek::SigningKey::from_bytes(&[n; 32]).verifying_key().to_bytes());
    let add = |n, name: &str| {
        a.engine.add_member(&caller(), None, device(n), "bob", name, &all()).unwrap();
        a.engine.sync_read(|reader| reader.roster(&team)).unwrap().unwrap().member(&device(n)).unwrap().name.clone()
    };
    assert_eq!(add(2, "ubuntu"), "ubuntu");
    assert_eq!(add(3, "Ubuntu"), "Ubuntu-2");
    assert_eq!(add(4, "ubuntu"), "ubuntu-3");
    assert_eq!(add(2, "ubuntu"), "ubuntu", "its own name is no other's");
    let long = "é".repeat(50);
    assert_eq!((add(5, &long), add(6, &long)), (long.clone(), format!("{}-2", "é".repeat(48))));
}

#[test]
fn reserved_names_are_refused_and_team_acts_are_not_undone() {
    let a = Fixture::new();
    a.remember(KAFKA, "we know it");
    let mut request = request("We log as JSON", "machines read it");
    request.caller.org_id = "@team".into();
    let error = a.engine.remember(request).unwrap_err();
    assert_eq!((error.code, error.field.as_deref()), (ErrorCode::BadRequest, Some("org_id")));
    let team = create(&a);
    assert_eq!(team.scopes.len(), 1);
    let roster = a.engine.with_reader(|reader| reader.roster_events(&team.id)).unwrap();
    let undo = UndoRequest { caller: caller(), target_op: Some(roster[0].header.op), ..UndoRequest::default() };
    assert!(a.engine.undo(undo).unwrap_err().message.contains("team"));
    // The last act that can be undone is the claim's.
    assert!(a.undo().summary.contains("Kafka"));
    let again = CreateTeamRequest {
        caller: caller(),
        name: "other".into(),
        device_name: Some("x".into()),
        scopes: vec![api()],
    };
    assert!(a.engine.create_team(&again).unwrap_err().message.contains("another team"));
    let agents = Fixture::of(4, AgentPolicy::Propose);
    let by_agent = CreateTeamRequest { caller: agent(), scopes: vec![], ..again };
    assert_eq!(agents.engine.create_team(&by_agent).unwrap_err().code, ErrorCode::NeedsPerson);
}
