use std::collections::BTreeMap;

use ed25519_dalek::SigningKey;
use proptest::prelude::*;

use super::*;
use crate::domain::{Body, ClaimKind, EventKind, Header, OpId, SignedEvent, event::VERSION};

fn key(n: u8) -> SigningKey {
    SigningKey::from_bytes(&[n; 32])
}

fn device(n: u8) -> DeviceId {
    DeviceId(key(n).verifying_key().to_bytes())
}

fn scope(project: &str) -> Scope {
    Scope::new("acme", project).unwrap()
}

fn writer() -> Grant {
    Grant { role: Role::Writer, scopes: Granted::All }
}

fn grant(role: Role, scopes: &[&str]) -> Grant {
    Grant { role, scopes: Granted::Only(scopes.iter().map(|name| scope(name)).collect()) }
}

/// A team whose founder is device 1, with all its roster events.
struct Team {
    id: EventId,
    events: Vec<SignedEvent>,
    ends: BTreeMap<u8, (u64, EventId)>,
    wall: u64,
}

impl Team {
    fn new() -> Self {
        let create =
            RosterChange::Create { name: "acme".into(), person: "ada".into(), device_name: "ada-laptop".into() };
        let mut team = Self { id: EventId([0; 32]), events: vec![], ends: BTreeMap::new(), wall: 0 };
        let event = team.sign(1, EventKind::Roster(RosterAct::Create), Some(create), &[]);
        team.id = event.id;
        team.events.push(event);
        team
    }

    fn sign(&mut self, by: u8, kind: EventKind, change: Option<RosterChange>, seen: &[EventId]) -> SignedEvent {
        self.wall += 1;
        let founded = self.id != EventId([0; 32]);
        let end = self.ends.get(&by);
        let header = Header {
            version: VERSION,
            team: founded.then_some(self.id),
            scope: Scope::new(ORG, "0123456789abcdef").unwrap(),
            author: device(by),
            epoch: 1,
            seq: end.map_or(0, |(seq, _)| seq + 1),
            prev: end.map(|(_, id)| *id),
            clock: Hlc { wall: self.wall, count: 0 },
            kind,
            op: OpId([0; 16]),
            targets: vec![],
            successor: None,
            seen: seen.to_vec(),
            claim_kind: None,
            key_hash: None,
            who: format!("person {by}"),
            agent: None,
            body_hash: EventId([0; 32]),
        };
        let body = Body { roster: change, ..Body::default() };
        let event = SignedEvent::sign(header, body.seal([0; 16]), &key(by)).unwrap();
        if founded {
            self.ends.insert(by, (event.header.seq, event.id));
        }
        event
    }

    /// Adds an act of a device that has seen all events so far.
    fn act(&mut self, by: u8, change: RosterChange) -> EventId {
        let heads = self.roster().heads().to_vec();
        self.act_after(by, change, &heads)
    }

    /// Adds an act of a device that has seen its own chain and the events `seen`.
    fn act_after(&mut self, by: u8, change: RosterChange, seen: &[EventId]) -> EventId {
        let event = self.sign(by, EventKind::Roster(change.act()), Some(change), seen);
        let id = event.id;
        self.events.push(event);
        id
    }

    fn add(&mut self, by: u8, who: u8, grant: Grant) -> EventId {
        self.act(by, add(who, grant))
    }

    fn share(&mut self, by: u8, project: &str) -> EventId {
        self.act(by, RosterChange::Adopt { scope: scope(project), identity: None, heads: vec![] })
    }

    fn roster(&self) -> Roster {
        Roster::of(self.id, &self.events).unwrap()
    }

    /// Returns the header of a claim that a device wrote for the team, and its id.
    fn claim(&self, by: u8, project: &str, seq: u64, wall: u64) -> (EventId, Header) {
        let header = Header {
            team: Some(self.id),
            scope: scope(project),
            author: device(by),
            epoch: 1,
            seq,
            prev: None,
            clock: Hlc { wall, count: 0 },
            kind: EventKind::Assert,
            claim_kind: Some(ClaimKind::Decision),
            seen: vec![],
            ..self.events[0].header.clone()
        };
        (EventId::of_header(&minicbor::to_vec(&header).unwrap()), header)
    }
}

fn add(who: u8, grant: Grant) -> RosterChange {
    RosterChange::Add { device: device(who), person: format!("person {who}"), name: format!("laptop {who}"), grant }
}

fn revoke(who: u8, cuts: Vec<ChainCut>) -> RosterChange {
    RosterChange::Revoke { device: device(who), cuts }
}

fn cut_at((id, header): &(EventId, Header)) -> ChainCut {
    ChainCut { scope: header.scope.clone(), epoch: header.epoch, seq: header.seq, id: *id }
}

#[test]
fn a_device_is_named_in_any_case_and_present_ones_before_former_ones() {
    let mut team = Team::new();
    let named = |who: u8, name: &str| {
        let (person, name) = ("bob".to_owned(), name.to_owned());
        RosterChange::Add { device: device(who), person, name, grant: writer() }
    };
    let found = |team: &Team, text: &str| -> Vec<DeviceId> {
        team.roster().devices_named(text).iter().map(|member| member.device).collect()
    };
    team.act(1, named(2, "bob-laptop"));
    team.act(1, RosterChange::Revoke { device: device(2), cuts: vec![] });
    assert_eq!(found(&team, "Bob-Laptop"), [device(2)]);
    team.act(1, named(3, "Bob-laptop"));
    assert_eq!(found(&team, "bob-laptop"), [device(3)]);
    assert_eq!(found(&team, &device(2).to_hex().to_uppercase()), [device(2)]);
    assert_eq!(found(&team, "bob"), []);
    assert!(team.roster().is_named("acme") && team.roster().is_named(&team.id.to_hex()));
    assert!(!team.roster().is_named("ac"));
}

#[test]
fn whoever_a_revoked_admin_let_in_unseen_can_do_nothing() {
    let mut team = Team::new();
    team.share(1, "api");
    let seen = [team.add(1, 2, Grant { role: Role::Admin, scopes: Granted::All })];
    // Device 1 is revoked. Without having seen that, it admits 3, which admits 4 and adopts what it wrote before.
    team.act_after(2, revoke(1, vec![]), &seen);
    let three = team.act_after(1, add(3, Grant { role: Role::Admin, scopes: Granted::All }), &[]);
    let four = team.act_after(3, add(4, writer()), &[three]);
    let head = ChainHead { author: device(3), epoch: 1, seq: 0, id: EventId([7; 32]) };
    team.act_after(3, RosterChange::Adopt { scope: scope("api"), identity: None, heads: vec![head.clone()] }, &[]);
    let roster = team.roster();
    assert_eq!((roster.member(&device(3)), roster.member(&device(4))), (None, None));
    assert_eq!(roster.adopted().count(), 0);
    // Their roster events are kept nevertheless, because another device may have received them before the revocation.
    for event in team.events.iter().filter(|event| event.header.author == device(3)) {
        assert_eq!(roster.admits(&event.id, &event.header), Ok(()));
    }
    // Once an admin admits 3, its later acts count.
    let again = team.act_after(2, add(3, writer()), &[four]);
    team.act_after(3, RosterChange::Adopt { scope: scope("api"), identity: None, heads: vec![head] }, &[again]);
    let roster = team.roster();
    assert!(roster.is_member(&device(3)) && roster.member(&device(4)).is_none());
    assert_eq!(roster.adopted().count(), 1);
}

#[test]
fn members_may_do_what_they_were_granted() {
    let mut team = Team::new();
    team.share(1, "api");
    team.share(1, "web");
    team.add(1, 2, grant(Role::Writer, &["api"]));
    team.add(1, 3, grant(Role::Reader, &["api"]));
    let roster = team.roster();
    assert_eq!((roster.name(), roster.scopes().count(), roster.members().count()), ("acme", 2, 3));
    let admits = |by, project| {
        let (id, header) = team.claim(by, project, 0, 9);
        roster.admits(&id, &header)
    };
    assert_eq!(admits(1, "web"), Ok(()));
    assert_eq!((admits(2, "api"), admits(2, "web")), (Ok(()), Err(Refusal::NoGrant)));
    assert_eq!((admits(3, "api"), admits(4, "api")), (Err(Refusal::Reader), Err(Refusal::NotAMember)));
    assert_eq!(admits(1, "secret"), Err(Refusal::NoGrant), "nobody shared it");
    assert!(roster.may_read(&device(3), &scope("api")) && !roster.may_read(&device(3), &scope("web")));
    assert!(roster.may_read(&device(3), roster.scope()) && !roster.may_read(&device(4), roster.scope()));
    let (id, mut header) = team.claim(1, "api", 0, 9);
    header.team = Some(EventId([9; 32]));
    assert_eq!(roster.admits(&id, &header), Err(Refusal::WrongTeam));
    header.team = None;
    assert_eq!(roster.admits(&id, &header), Err(Refusal::NotAdopted));
}

#[test]
fn history_is_taken_in_up_to_the_named_event() {
    let mut team = Team::new();
    let (id, mut header) = team.claim(7, "api", 5, 1);
    header.team = None;
    let head = ChainHead { author: device(7), epoch: 1, seq: 5, id };
    let adopt = |heads| RosterChange::Adopt { scope: scope("api"), identity: Some("git@x".into()), heads };
    team.add(1, 2, writer());
    // A writer cannot add a scope to the team, nor adopt chains of others.
    team.act(2, adopt(vec![head.clone()]));
    assert_eq!(team.roster().admits(&id, &header), Err(Refusal::NoGrant));
    team.share(1, "api");
    team.act(2, adopt(vec![head.clone()]));
    assert_eq!(team.roster().admits(&id, &header), Err(Refusal::NotAdopted));
    team.act(1, adopt(vec![head]));
    let roster = team.roster();
    assert_eq!(roster.admits(&id, &header), Ok(()));
    assert_eq!(roster.scopes().next().unwrap().identity.as_deref(), Some("git@x"));
    let at = |seq| {
        let header = Header { seq, ..header.clone() };
        roster.admits(&EventId([seq as u8; 32]), &header)
    };
    assert_eq!((at(4), at(5), at(6)), (Ok(()), Err(Refusal::NotAdopted), Err(Refusal::NotAdopted)));
    let mut own = team.claim(2, "api", 0, 1);
    own.1.team = None;
    team.act(2, adopt(vec![ChainHead { author: device(2), epoch: 1, seq: 0, id: own.0 }]));
    assert_eq!(team.roster().admits(&own.0, &own.1), Ok(()));
}

#[test]
fn what_was_written_after_the_cut_is_refused_whatever_its_date() {
    let mut team = Team::new();
    team.share(1, "api");
    team.add(1, 2, writer());
    let last = team.claim(2, "api", 7, 100);
    team.act(1, revoke(2, vec![cut_at(&last)]));
    let roster = team.roster();
    let admits = |seq, wall| {
        let (id, header) = team.claim(2, "api", seq, wall);
        roster.admits(&id, &header)
    };
    assert_eq!(roster.admits(&last.0, &last.1), Ok(()));
    assert_eq!((admits(3, 50), admits(8, 1), admits(8, 200)), (Ok(()), Err(Refusal::AfterCut), Err(Refusal::AfterCut)));
    assert_eq!(admits(7, 99), Err(Refusal::AfterCut), "another event in the place of the last");
    let (id, mut header) = team.claim(2, "api", 0, 1);
    header.epoch = 2;
    assert_eq!(roster.admits(&id, &header), Err(Refusal::AfterCut), "another epoch has no cut");
    // An admin accepts one event, and later admits the device again.
    let late = team.claim(2, "api", 8, 200);
    team.act(1, RosterChange::Accept { events: vec![late.0] });
    assert_eq!(team.roster().admits(&late.0, &late.1), Ok(()));
    assert_eq!(team.roster().member(&device(2)).unwrap().state, MemberState::Revoked);
    team.add(1, 2, writer());
    let later = team.claim(2, "api", 9, 200);
    assert_eq!(team.roster().admits(&later.0, &later.1), Ok(()));
}

#[test]
fn who_leaves_keeps_what_was_said_and_a_lesser_grant_does_too() {
    let mut team = Team::new();
    team.share(1, "api");
    team.add(1, 2, writer());
    team.add(1, 3, writer());
    let (two, three) = (team.claim(2, "api", 4, 9), team.claim(3, "api", 4, 9));
    team.act(2, RosterChange::Leave { cuts: vec![cut_at(&two)] });
    let reader = grant(Role::Reader, &["api"]);
    team.act(1, RosterChange::Grant { device: device(3), grant: reader, cuts: vec![cut_at(&three)] });
    let roster = team.roster();
    assert_eq!(roster.member(&device(2)).unwrap().state, MemberState::Left);
    let beyond = |by| {
        let (id, header) = team.claim(by, "api", 5, 9);
        roster.admits(&id, &header)
    };
    assert_eq!((roster.admits(&two.0, &two.1), roster.admits(&three.0, &three.1)), (Ok(()), Ok(())));
    assert_eq!((beyond(2), beyond(3)), (Err(Refusal::AfterCut), Err(Refusal::Reader)));
    assert_eq!(roster.role(&device(2)), None);
}

#[test]
fn what_was_written_before_a_departure_stays_if_the_device_returns_with_a_lesser_grant() {
    for leaves in [false, true] {
        let mut team = Team::new();
        team.share(1, "api");
        team.share(1, "web");
        team.add(1, 2, writer());
        let last = team.claim(2, "api", 4, 9);
        let beyond = team.claim(2, "api", 5, 9);
        let cuts = vec![cut_at(&last)];
        let (by, departure) = if leaves { (2, RosterChange::Leave { cuts }) } else { (1, revoke(2, cuts)) };
        team.act(by, departure);
        let admits = |team: &Team, (id, header): &(EventId, Header)| team.roster().admits(id, header);
        team.add(1, 2, grant(Role::Reader, &["api"]));
        assert_eq!((admits(&team, &last), admits(&team, &beyond)), (Ok(()), Err(Refusal::Reader)));
        team.add(1, 2, grant(Role::Writer, &["web"]));
        assert_eq!((admits(&team, &last), admits(&team, &beyond)), (Ok(()), Err(Refusal::NoGrant)));
        // It is revoked again by an admin who has none of its events.
        team.act(1, revoke(2, vec![]));
        assert_eq!((admits(&team, &last), admits(&team, &beyond)), (Ok(()), Err(Refusal::AfterCut)));
    }
}

#[test]
fn a_device_that_leaves_has_nothing_accepted_where_it_could_not_write() {
    let mut team = Team::new();
    team.share(1, "api");
    team.share(1, "web");
    team.add(1, 2, grant(Role::Writer, &["web"]));
    let claims = ["api", "web"].map(|project| team.claim(2, project, 4, 9));
    team.act(2, RosterChange::Leave { cuts: claims.each_ref().map(cut_at).to_vec() });
    let admitted = claims.map(|(id, header)| team.roster().admits(&id, &header));
    assert_eq!(admitted, [Err(Refusal::AfterCut), Ok(())]);
}

#[test]
fn a_revoked_device_does_not_move_the_cut_by_leaving() {
    let mut team = Team::new();
    team.share(1, "api");
    let seen = [team.add(1, 2, writer())];
    let (last, late) = (team.claim(2, "api", 4, 9), team.claim(2, "api", 5, 9));
    team.act(1, revoke(2, vec![cut_at(&last)]));
    team.act_after(2, RosterChange::Leave { cuts: vec![cut_at(&late)] }, &seen);
    let admitted = [last, late].map(|(id, header)| team.roster().admits(&id, &header));
    assert_eq!(admitted, [Ok(()), Err(Refusal::AfterCut)]);
}

#[test]
fn who_left_unseen_is_admitted_again_unless_a_revocation_holds() {
    let mut team = Team::new();
    team.share(1, "api");
    team.add(1, 2, writer());
    let heads = team.roster().heads().to_vec();
    let two = team.claim(2, "api", 4, 9);
    let leave = team.act_after(2, RosterChange::Leave { cuts: vec![] }, &heads);
    assert_eq!(team.roster().member(&device(2)).unwrap().state, MemberState::Left, "its first admission is older");
    // Device 1 has not received the leave.
    let again = team.act_after(1, add(2, writer()), &heads);
    let roster = team.roster();
    assert!(roster.is_member(&device(2)) && roster.admits(&two.0, &two.1).is_ok());
    team.act_after(2, RosterChange::Leave { cuts: vec![] }, &[leave, again]);
    assert_eq!(team.roster().member(&device(2)).unwrap().state, MemberState::Left, "it leaves once more");

    let mut team = Team::new();
    let admin = Grant { role: Role::Admin, scopes: Granted::All };
    team.add(1, 3, admin);
    team.add(1, 2, writer());
    let heads = team.roster().heads().to_vec();
    team.act_after(2, RosterChange::Leave { cuts: vec![] }, &heads);
    team.act_after(3, revoke(2, vec![]), &heads);
    team.act_after(1, add(2, writer()), &heads);
    assert_eq!(
        team.roster().member(&device(2)).unwrap().state,
        MemberState::Revoked,
        "nobody cancels what device 3 did"
    );
}

#[test]
fn two_admins_who_revoke_each_other_are_both_revoked_and_it_is_reported() {
    let mut team = Team::new();
    team.add(1, 2, Grant { role: Role::Admin, scopes: Granted::All });
    team.add(1, 3, Grant { role: Role::Admin, scopes: Granted::All });
    let heads = team.roster().heads().to_vec();
    team.act_after(1, revoke(2, vec![]), &heads);
    let before = team.act_after(2, revoke(1, vec![]), &heads);
    let roster = team.roster();
    let (one, other) = (device(1).min(device(2)), device(1).max(device(2)));
    assert_eq!(roster.disputes(), [Dispute { one, other }]);
    assert!(!roster.is_member(&device(1)) && !roster.is_member(&device(2)) && roster.is_member(&device(3)));
    // A later act of device 2, which was revoked concurrently, does not count.
    team.act_after(2, add(4, writer()), &[before]);
    assert!(team.roster().member(&device(4)).is_none());
    // Device 3 resolves the dispute by admitting device 1 again.
    team.add(3, 1, Grant { role: Role::Admin, scopes: Granted::All });
    let roster = team.roster();
    assert!(roster.is_member(&device(1)) && roster.disputes().is_empty());
}

#[test]
fn who_was_taken_out_unseen_lets_nobody_in_again() {
    let mut team = Team::new();
    let admin = || Grant { role: Role::Admin, scopes: Granted::All };
    team.add(1, 2, admin());
    team.add(1, 3, admin());
    team.act(1, revoke(3, vec![]));
    let heads = team.roster().heads().to_vec();
    // Device 2 is revoked and, without having seen that, admits device 3 again.
    team.act_after(1, revoke(2, vec![]), &heads);
    team.act_after(2, add(3, admin()), &heads);
    let roster = team.roster();
    assert!(!roster.is_member(&device(2)) && !roster.is_member(&device(3)));
}

#[test]
fn an_event_waits_for_what_it_had_seen() {
    let mut team = Team::new();
    let seen = team.add(1, 2, Grant { role: Role::Admin, scopes: Granted::All });
    team.add(2, 3, writer());
    let whole = team.roster();
    let without: Vec<SignedEvent> = team.events.iter().filter(|event| event.id != seen).cloned().collect();
    let part = Roster::of(team.id, &without).unwrap();
    assert_eq!((part.members().count(), whole.members().count()), (1, 3));
    assert_eq!(Roster::of(EventId([3; 32]), &team.events), None, "another team");
}

/// A step of a random history: the device, whether it has seen all events, and its act.
#[derive(Clone, Debug)]
struct Step {
    by: u8,
    up_to_date: bool,
    what: u8,
    on: u8,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (1u8..6, any::<bool>(), 0u8..8, 1u8..6).prop_map(|(by, up_to_date, what, on)| Step {
        by,
        up_to_date,
        what,
        on,
    });
    prop::collection::vec(step, 1..25)
}

fn play(team: &mut Team, steps: &[Step]) {
    let mut views: BTreeMap<u8, Vec<EventId>> = BTreeMap::new();
    let first = team.events[0].id;
    for step in steps {
        let heads = team.roster().heads().to_vec();
        let view = views.entry(step.by).or_insert_with(|| vec![first]);
        if step.up_to_date {
            *view = heads;
        }
        let seen = view.clone();
        let change = match step.what {
            0 => add(step.on, writer()),
            1 => add(step.on, Grant { role: Role::Admin, scopes: Granted::All }),
            2 => add(step.on, grant(Role::Reader, &["api"])),
            3 => revoke(step.on, vec![]),
            4 => RosterChange::Leave { cuts: vec![] },
            5 => RosterChange::Adopt { scope: scope("api"), identity: None, heads: vec![] },
            6 => RosterChange::Grant { device: device(step.on), grant: grant(Role::Writer, &["api"]), cuts: vec![] },
            _ => RosterChange::Rename { device: Some(device(step.on)), name: format!("by {}", step.by) },
        };
        let id = team.act_after(step.by, change, &seen);
        views.insert(step.by, vec![id]);
    }
}

proptest! {
    #[test]
    fn order_and_repeats_do_not_matter(steps in steps(), seed in any::<u64>()) {
        let mut team = Team::new();
        play(&mut team, &steps);
        let whole = team.roster();
        let mut shuffled = team.events.clone();
        let mut state = seed | 1;
        for at in (1..shuffled.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            shuffled.swap(at, (state >> 33) as usize % (at + 1));
        }
        let repeats = shuffled[..shuffled.len() / 2].to_vec();
        shuffled.extend(repeats);
        prop_assert_eq!(Roster::of(team.id, &shuffled).unwrap(), whole);
    }

    #[test]
    fn what_an_outsider_or_a_reader_says_changes_nothing(steps in steps(), attempts in steps()) {
        let mut team = Team::new();
        team.add(1, 8, grant(Role::Reader, &["api"]));
        play(&mut team, &steps);
        // No event above names devices 8 and 9.
        let mut attacked = Team { events: team.events.clone(), ends: team.ends.clone(), ..Team::new() };
        attacked.id = team.id;
        attacked.wall = 1_000;
        for (at, step) in attempts.iter().enumerate() {
            let change = match step.what {
                0..=2 => add(step.on, Grant { role: Role::Admin, scopes: Granted::All }),
                3 | 4 => revoke(step.on, vec![]),
                5 => RosterChange::Adopt { scope: scope("stolen"), identity: None, heads: vec![] },
                6 => RosterChange::Accept { events: vec![EventId([1; 32])] },
                _ => RosterChange::Rename { device: None, name: "owned".into() },
            };
            attacked.act(if at % 2 == 0 { 8 } else { 9 }, change);
        }
        let (mut before, mut after) = (team.roster(), attacked.roster());
        before.heads.clear();
        after.heads.clear();
        prop_assert_eq!(before, after);
    }
}
