//! Teams: which events are shared or refused, and that two stores with the same events have the same projection.

use ergo::{
    domain::{
        DeviceId, EventId, EventKind, Scope, SignedEvent, Status,
        replica::{ChainEnd, DocumentId, Month, SetDigest},
        roster::{Grant, Granted, Refusal, Role, RosterChange},
    },
    store::{
        AgentTally, DocumentChunk, DocumentUpdate, Fork, RosterDraft, StoreError, SyncImport, SyncImported, SyncPage,
    },
};

use super::support::*;

/// Exchange between devices of a team.
pub trait Peer {
    fn device(&self) -> DeviceId;
    fn change(&mut self, team: Option<EventId>, change: RosterChange) -> (EventId, SyncImported);
    fn found(&mut self) -> EventId;
    fn adopt(&mut self, team: EventId, place: &str);
    fn admit(&mut self, team: EventId, other: &Fixture, role: Role);
    fn join(&mut self, team: EventId, other: &Fixture) -> SyncImported;
    fn take(&mut self, team: EventId, events: Vec<SignedEvent>) -> SyncImported;
    /// Imports all events that another store has in any scope and this one lacks.
    fn pull(&mut self, team: EventId, from: &Fixture) -> SyncImported;
    fn shared(&self, team: EventId, place: &str) -> (usize, SetDigest);
    fn roster_events(&self, team: EventId) -> Vec<SignedEvent>;
}

impl Peer for Fixture {
    fn device(&self) -> DeviceId {
        self.store.device()
    }

    fn change(&mut self, team: Option<EventId>, change: RosterChange) -> (EventId, SyncImported) {
        let draft = RosterDraft {
            team,
            change,
            reason: None,
            who: "ada".into(),
            agent: None,
            op: self.op(),
            now: self.now() + 1_000,
        };
        self.store.commit_roster(draft).unwrap()
    }

    fn found(&mut self) -> EventId {
        let change = RosterChange::Create { name: "acme".into(), person: "ada".into(), device_name: "laptop".into() };
        self.change(None, change).0
    }

    fn adopt(&mut self, team: EventId, place: &str) {
        let heads = self.store.reader().heads_of(&scope(place)).unwrap();
        self.change(Some(team), RosterChange::Adopt { scope: scope(place), identity: None, heads });
    }

    fn admit(&mut self, team: EventId, other: &Fixture, role: Role) {
        let grant = Grant { role, scopes: Granted::All };
        let (person, name) = ("bob".into(), "bob-laptop".into());
        self.change(Some(team), RosterChange::Add { device: other.device(), person, name, grant });
    }

    fn join(&mut self, team: EventId, other: &Fixture) -> SyncImported {
        let now = self.now();
        self.store.join_team(team, &other.roster_events(team), Some(other.device()), now).unwrap()
    }

    fn take(&mut self, team: EventId, events: Vec<SignedEvent>) -> SyncImported {
        let now = self.now() + 1_000_000;
        let import = SyncImport { team, from: None, events, document: None, peer: None, now };
        self.store.import_synced(&import).unwrap()
    }

    fn pull(&mut self, team: EventId, from: &Fixture) -> SyncImported {
        let mut events = Vec::new();
        for scope in from.store.reader().team_scopes(&team).unwrap() {
            let vector = self.store.reader().vector(&team, &scope.scope).unwrap();
            events.extend(all_after(from, team, &scope.scope, &vector));
        }
        let (now, from) = (self.now() + 1_000_000, Some(from.device()));
        let import = SyncImport { team, from, events, document: None, peer: None, now };
        self.store.import_synced(&import).unwrap()
    }

    fn shared(&self, team: EventId, place: &str) -> (usize, SetDigest) {
        self.store.reader().set(&team, &scope(place)).unwrap()
    }

    fn roster_events(&self, team: EventId) -> Vec<SignedEvent> {
        let roster = self.store.reader().roster(&team).unwrap().unwrap();
        all_after(self, team, roster.scope(), &[])
    }
}

/// Every page, three events at a time.
pub fn all_after(from: &Fixture, team: EventId, scope: &Scope, vector: &[ChainEnd]) -> Vec<SignedEvent> {
    let (mut events, mut cursor) = (Vec::new(), None);
    loop {
        let SyncPage { events: page, next } =
            from.store.reader().events_after(&team, scope, vector, cursor.as_ref(), 3).unwrap();
        events.extend(page);
        match next {
            Some(next) => cursor = Some(next),
            None => return events,
        }
    }
}

/// Two devices in a team that shares `api`, into which the first brought a claim from before.
pub fn pair() -> (Fixture, Fixture, EventId) {
    let (mut a, mut b) = (Fixture::of(1), Fixture::of(2));
    a.add(decision("port", "80"));
    let team = a.found();
    a.adopt(team, "api");
    a.admit(team, &b, Role::Writer);
    b.join(team, &a);
    b.pull(team, &a);
    (a, b, team)
}

/// Whether two stores have the same events in a scope, mean the same by them, and are sound.
pub fn assert_alike(a: &Fixture, b: &Fixture, team: EventId) {
    assert_eq!(a.shared(team, "api"), b.shared(team, "api"));
    assert_eq!(a.store.reader().projection().unwrap(), b.store.reader().projection().unwrap());
    for f in [a, b] {
        assert_eq!(f.store.check().unwrap().problems, Vec::<String>::new());
        let scopes = f.store.reader().team_scopes(&team).unwrap();
        let api = scopes.iter().find(|row| row.scope == scope("api")).unwrap();
        let ids: Vec<EventId> = all_after(f, team, &scope("api"), &[]).iter().map(|event| event.id).collect();
        assert_eq!((api.events, api.digest), (ids.len(), SetDigest::of(&ids)), "the kept digest is that of the events");
    }
}

#[test]
fn history_is_adopted_and_later_events_name_the_team() {
    let (mut a, mut b, team) = pair();
    assert_eq!(a.shared(team, "api").0, 1);
    let mine = a.add(decision("cache", "on"));
    let theirs = b.add(decision("log", "json"));
    let done = b.pull(team, &a);
    assert_eq!((done.stored.as_slice(), done.claims.as_slice()), (&[mine][..], &[mine][..]));
    assert_eq!(a.pull(team, &b).stored, [theirs]);
    assert_alike(&a, &b, team);
    let row = b.store.reader().claim(&mine).unwrap().unwrap();
    assert_eq!((row.device, row.received_from, row.team), (a.device(), Some(a.device()), Some(team)));
    assert_eq!(b.store.reader().claim(&theirs).unwrap().unwrap().received_from, None);
    // Again changes nothing.
    let done = a.take(team, b.events());
    assert_eq!((done.stored.len(), done.quarantined.len()), (0, 0));
    assert_eq!(a.store.reader().team_of(&scope("api")).unwrap(), Some((team, scope("api"))));
}

#[test]
fn the_roster_is_in_no_list_and_no_count() {
    let (a, _, team) = pair();
    let reader = a.store.reader();
    assert_eq!(reader.scopes(0).unwrap().iter().map(|row| row.scope.clone()).collect::<Vec<_>>(), [scope("api")]);
    assert_eq!(reader.counts(0).unwrap().events, 1);
    assert_eq!(reader.log(&ergo::store::LogFilter::default(), 50, None).unwrap().items.len(), 1);
    assert_eq!(
        reader.last_op(&a.store.device(), "ada", None, None).unwrap(),
        Some(reader.log(&ergo::store::LogFilter::default(), 1, None).unwrap().items[0].op)
    );
    let roster = reader.roster(&team).unwrap().unwrap();
    assert_eq!(reader.team_scopes(&team).unwrap().iter().filter(|row| row.is_roster).count(), 1);
    assert_eq!(reader.set(&team, roster.scope()).unwrap().0, 3);
}

#[test]
fn a_scope_of_another_identity_gets_another_name_here() {
    let (mut a, mut b) = (Fixture::of(1), Fixture::of(2));
    let from = |f: &mut Fixture, identity: &str, value: &str| {
        let op = f.op();
        f.store.commit(ergo::store::Act {
            scope: scope("api"),
            identity: Some(identity.into()),
            who: "ada".into(),
            agent: None,
            op,
            now: f.now(),
            drafts: vec![decision("port", value)],
        })
    };
    from(&mut a, "git@a", "80").unwrap();
    from(&mut b, "git@b", "81").unwrap();
    let team = a.found();
    let heads = a.store.reader().heads_of(&scope("api")).unwrap();
    a.change(Some(team), RosterChange::Adopt { scope: scope("api"), identity: Some("git@a".into()), heads });
    a.admit(team, &b, Role::Writer);
    b.join(team, &a);
    b.pull(team, &a);
    let rows = b.store.reader().team_scopes(&team).unwrap();
    let api = rows.iter().find(|row| row.scope == scope("api")).unwrap();
    assert_eq!((api.local.clone(), api.events), (scope("api-2"), 1));
    // Their claims are shown, and compared, under the name here; what is written there bears the team's name.
    let there = ergo::store::ClaimFilter { scope: Some(scope("api-2")), ..ergo::store::ClaimFilter::default() };
    let shown = b.store.reader().claims(&there, 9, None).unwrap().items;
    assert_eq!(shown.iter().map(|row| row.scope.clone()).collect::<Vec<_>>(), [scope("api-2")]);
    let done = b.act_in("api-2", vec![decision("port", "82")]);
    assert_eq!((done.scope, done.cards.len()), (scope("api-2"), 1));
    assert_eq!(b.store.check().unwrap().problems, Vec::<String>::new());
    assert_eq!(a.pull(team, &b).stored, done.events);
    assert_eq!(a.store.reader().claim(&done.created[0]).unwrap().unwrap().scope, scope("api"));
    assert!(b.store.reader().past(None, u64::MAX >> 1).unwrap().claim(&done.created[0]).unwrap().is_some());
    // It is moved where the person wants it.
    b.store.bind_scope(team, &scope("api"), &scope("theirs")).unwrap();
    assert_eq!(b.store.reader().claim(&done.created[0]).unwrap().unwrap().scope, scope("theirs"));
    assert!(matches!(b.store.bind_scope(team, &scope("web"), &scope("x")), Err(StoreError::NotShared { .. })));
    assert_eq!(b.store.check().unwrap().problems, Vec::<String>::new());
}

#[test]
fn what_is_not_taken_waits_in_quarantine_and_takes_part_in_nothing() {
    let (mut a, mut b, team) = pair();
    a.change(
        Some(team),
        RosterChange::Grant {
            device: b.device(),
            grant: Grant { role: Role::Reader, scopes: Granted::All },
            cuts: a.store.reader().cuts_of(&team, &b.device()).unwrap(),
        },
    );
    let claim = b.add(decision("port", "81"));
    let events = b.events().into_iter().filter(|event| event.id == claim).collect::<Vec<_>>();
    let done = a.take(team, events.clone());
    assert_eq!(done.quarantined, [(claim, Refusal::Reader)]);
    assert_eq!(a.store.reader().claim(&claim).unwrap(), None);
    assert_eq!(a.take(team, events.clone()).known, 1);
    let held = a.store.reader().quarantined(&team, 9, 0).unwrap();
    assert_eq!((held.len(), held[0].refusal, held[0].event.id), (1, Refusal::Reader, claim));
    // Looked at, and not wanted; then let in all the same.
    assert_eq!(a.store.discard_quarantined(&[claim]).unwrap(), 1);
    assert_eq!(a.store.reader().quarantined_count(&team).unwrap(), 0);
    let (_, done) = a.change(Some(team), RosterChange::Accept { events: vec![claim] });
    assert_eq!((done.readmitted.as_slice(), done.cards.len()), (&[claim][..], 1), "it contradicts what is there");
    b.pull(team, &a);
    assert_alike(&a, &b, team);
}

#[test]
fn a_promotion_lets_in_what_was_refused_for_the_role() {
    let (mut a, mut b, team) = pair();
    let grant = |role| Grant { role, scopes: Granted::All };
    a.change(Some(team), RosterChange::Grant { device: b.device(), grant: grant(Role::Reader), cuts: vec![] });
    b.pull(team, &a);
    let claim = b.add(decision("log", "json"));
    assert!(!all_after(&b, team, &scope("api"), &[]).iter().any(|event| event.id == claim), "a reader sends nothing");
    assert_eq!(b.store.reader().claim(&claim).unwrap().unwrap().status, Status::Active, "and keeps it");
    let kept = |f: &Fixture| {
        let roster = f.store.reader().roster(&team).unwrap().unwrap();
        let kept = f.store.reader().kept_back(&team, &roster, &f.store.device()).unwrap();
        kept.into_iter().map(|kept| (kept.scope, kept.refusal, kept.events)).collect::<Vec<_>>()
    };
    assert_eq!(kept(&b), [(scope("api"), Refusal::Reader, 1)]);
    assert_eq!(kept(&a), []);
    a.take(team, b.events());
    let (_, done) =
        a.change(Some(team), RosterChange::Grant { device: b.device(), grant: grant(Role::Writer), cuts: vec![] });
    assert_eq!(done.readmitted, [claim]);
    b.pull(team, &a);
    assert_alike(&a, &b, team);
    assert_eq!(kept(&b), []);
}

#[test]
fn what_a_revoked_device_wrote_after_the_cut_leaves_whatever_the_order() {
    let (mut a, mut b, team) = pair();
    let mut c = Fixture::of(3);
    a.admit(team, &c, Role::Writer);
    c.join(team, &a);
    let kept = b.add(decision("log", "json"));
    a.pull(team, &b);
    let cuts = a.store.reader().cuts_of(&team, &b.device()).unwrap();
    assert_eq!(cuts.iter().map(|cut| cut.id).collect::<Vec<_>>(), [kept]);
    // A second device had already what the first refuses.
    let op = b.op();
    let by_agent = ergo::store::Act {
        scope: scope("api"),
        identity: None,
        who: "ada".into(),
        agent: Some("codex".into()),
        op,
        now: b.now(),
        drafts: vec![decision("port", "81")],
    };
    let late = b.store.commit(by_agent).unwrap().created[0];
    c.pull(team, &a);
    c.pull(team, &b);
    assert_eq!(c.store.reader().claim(&late).unwrap().unwrap().status, Status::Active);
    let mut tally = AgentTally::default();
    assert_eq!(c.store.reader().agents(&mut tally, None).unwrap().len(), 1);
    a.change(Some(team), RosterChange::Revoke { device: b.device(), cuts });
    assert_eq!(a.pull(team, &b).quarantined, [(late, Refusal::AfterCut)]);
    let done = c.pull(team, &a);
    assert_eq!(c.store.reader().agents(&mut tally, None).unwrap(), [], "what left the log is no longer counted");
    assert_eq!(done.withdrawn, [(late, Refusal::AfterCut)]);
    assert_eq!(c.store.reader().claim(&late).unwrap(), None);
    assert_alike(&a, &c, team);
    assert_eq!(a.shared(team, "api").0, 2);
    // A revoked device keeps everything, and shares nothing from then on.
    let done = b.pull(team, &a);
    assert!(done.roster_changed && b.store.reader().teams().unwrap()[0].left_at.is_some());
    let after = b.add(decision("x", "1"));
    assert_eq!(b.store.reader().claim(&late).unwrap().unwrap().status, Status::Active);
    assert_eq!(b.store.reader().claim(&after).unwrap().unwrap().team, None);
    assert_eq!(b.store.reader().team_of(&scope("api")).unwrap(), None);
    // Let in again, it is taken whole.
    a.admit(team, &b, Role::Writer);
    assert_eq!(a.store.reader().quarantined_count(&team).unwrap(), 0);
    b.pull(team, &a);
    a.pull(team, &b);
    assert_eq!(a.shared(team, "api"), b.shared(team, "api"));
    assert_eq!(a.shared(team, "api").0, 3);
}

#[test]
fn a_side_chain_below_the_cut_is_refused_in_either_order() {
    for forged_first in [true, false] {
        let (mut a, mut b, team) = pair();
        let real: Vec<EventId> = (0..3).map(|n| b.add(decision(&format!("real{n}"), "1"))).collect();
        a.pull(team, &b);
        let cuts = a.store.reader().cuts_of(&team, &b.device()).unwrap();
        let last = a.store.reader().claim(&real[1]).unwrap().unwrap();
        let mut forged = b.events().into_iter().find(|event| event.id == last.id).unwrap();
        forged.header.clock.wall -= 5;
        let body = forged.body.take().unwrap();
        let forged = SignedEvent::sign(forged.header, body, &key(2)).unwrap();
        let mut c = Fixture::of(3);
        a.admit(team, &c, Role::Writer);
        a.change(Some(team), RosterChange::Revoke { device: b.device(), cuts });
        c.join(team, &a);
        if forged_first {
            c.take(team, vec![forged.clone()]);
            assert!(c.store.reader().claim(&forged.id).unwrap().is_some(), "nothing says yet that it is none of them");
        }
        let done = c.pull(team, &a);
        let refused = if forged_first { done.withdrawn } else { c.take(team, vec![forged.clone()]).quarantined };
        assert_eq!(refused, [(forged.id, Refusal::AfterCut)]);
        assert_eq!(a.shared(team, "api"), c.shared(team, "api"));
        assert_eq!(c.store.check().unwrap().problems, Vec::<String>::new());
    }
}

#[test]
fn both_sides_of_a_fork_are_kept_named_and_passed_on() {
    let (mut a, mut b, team) = pair();
    let one = b.add(decision("real", "1"));
    let mut twin = b.events().into_iter().find(|event| event.id == one).unwrap();
    twin.header.clock.wall += 1;
    let body = twin.body.take().unwrap();
    let twin = SignedEvent::sign(twin.header, body, &key(2)).unwrap();
    let next = b.add(decision("next", "1"));
    a.take(team, vec![twin.clone()]);
    let done = a.pull(team, &b);
    let mut both = vec![one, twin.id];
    both.sort_unstable();
    assert_eq!(done.forks.iter().map(|fork| fork.events.clone()).collect::<Vec<_>>(), [both.clone()]);
    let forks: Vec<Fork> = a.store.reader().forks(&team).unwrap();
    assert_eq!((forks.len(), forks[0].seq, &forks[0].events), (1, 0, &both));
    a.store.rebuild().unwrap();
    assert_eq!(a.store.reader().forks(&team).unwrap(), forks);
    assert!(a.store.reader().claim(&next).unwrap().is_some());
    b.pull(team, &a);
    assert_alike(&a, &b, team);
    assert_eq!(b.store.reader().forks(&team).unwrap(), forks);
}

#[test]
fn a_redaction_reaches_the_log_and_the_quarantine_of_everyone() {
    let (mut a, mut b, team) = pair();
    let secret = b.add(decision("password", "hunter2"));
    a.pull(team, &b);
    // The same words wait in quarantine elsewhere.
    let mut c = Fixture::of(3);
    a.admit(team, &c, Role::Writer);
    a.change(Some(team), RosterChange::Revoke { device: b.device(), cuts: vec![] });
    c.join(team, &a);
    assert_eq!(c.take(team, b.events()).quarantined, [(secret, Refusal::AfterCut)]);
    assert!(c.store.reader().quarantined(&team, 9, 0).unwrap()[0].event.body.is_some());
    let mut d = Fixture::of(4);
    a.admit(team, &d, Role::Writer);
    d.join(team, &a);
    d.act(vec![on(EventKind::Redact, &[secret], "a secret")]);
    for f in [&mut a, &mut c] {
        assert!(f.pull(team, &d).redacted);
        let held = f.store.reader().quarantined(&team, 9, 0).unwrap();
        assert_eq!((held.len(), held[0].event.body.is_none()), (1, true));
    }
    // It comes again with its words, and they are dropped again.
    d.take(team, b.events());
    assert!(d.store.reader().quarantined(&team, 9, 0).unwrap()[0].event.body.is_none());
}

#[test]
fn a_body_that_comes_late_is_filled_in() {
    let (mut a, mut b, team) = pair();
    let claim = b.add(decision("log", "json"));
    let whole = b.events().into_iter().find(|event| event.id == claim).unwrap();
    let bare = SignedEvent { body: None, ..whole.clone() };
    assert_eq!(a.take(team, vec![bare.clone()]).stored, [claim]);
    let reader = a.store.reader();
    assert_eq!(reader.missing_bodies(&team, &scope("api"), None, 9).unwrap(), [claim]);
    assert_eq!(reader.missing_bodies(&team, &scope("api"), Some(&claim), 9).unwrap(), []);
    assert_eq!(reader.bodies(&team, &scope("api"), &[claim]).unwrap(), [(claim, None)]);
    assert_eq!(b.store.reader().bodies(&team, &scope("api"), &[claim]).unwrap(), [(claim, whole.body.clone())]);
    assert_eq!(b.store.reader().bodies(&team, &scope("web"), &[claim]).unwrap(), []);
    a.take(team, vec![whole]);
    assert_eq!(a.store.reader().missing_bodies(&team, &scope("api"), None, 9).unwrap(), []);
    assert_alike(&a, &b, team);
}

#[test]
fn documents_know_what_stands_in_them() {
    let (mut a, _, team) = pair();
    let more = a.add(decision("cache", "on"));
    let api = scope("api");
    let waiting = a.store.reader().undocumented(&team, &api, 9).unwrap();
    assert_eq!(waiting.len(), 2);
    let month = Month::of(waiting[0].clock);
    let page = a.store.reader().entries(&team, &api, month, None, 1).unwrap();
    let rest = a.store.reader().entries(&team, &api, month, page.next.as_ref(), 9).unwrap();
    assert_eq!([page.entries, rest.entries].concat(), waiting);
    let id = DocumentId::of(team, &api, month, 0);
    let mut update = DocumentUpdate {
        id,
        scope: api.clone(),
        month,
        part: 0,
        base: None,
        chunk: Some(DocumentChunk::Append(vec![1])),
        heads: vec![7],
        entries: vec![waiting[0].id],
    };
    a.store.write_document(team, &update).unwrap();
    (update.entries, update.chunk) = (vec![waiting[0].id, more], Some(DocumentChunk::Append(vec![2])));
    a.store.write_document(team, &update).unwrap();
    let reader = a.store.reader();
    assert_eq!(reader.undocumented(&team, &api, 9).unwrap(), []);
    let rows = reader.documents(&team, Some(&api)).unwrap();
    assert_eq!((rows.len(), rows[0].events, rows[0].bytes, rows[0].chunks), (1, 2, 2, 2));
    assert_eq!(rows[0].digest, reader.set(&team, &api).unwrap().1);
    update.chunk = Some(DocumentChunk::Snapshot(vec![3]));
    a.store.write_document(team, &update).unwrap();
    assert_eq!(a.store.reader().document_chunks(&id).unwrap(), [DocumentChunk::Snapshot(vec![3])]);
    update.part = 1;
    assert!(matches!(a.store.write_document(team, &update), Err(StoreError::BadDocument(_))));
    a.store.drop_document(&id).unwrap();
    assert_eq!(a.store.reader().undocumented(&team, &api, 9).unwrap().len(), 2);
    assert_eq!(a.store.reader().documents(&team, None).unwrap(), []);
}

#[test]
fn forged_events_refuse_the_whole_import_and_strangers_do_not_join() {
    let (mut a, mut b, team) = pair();
    b.add(decision("log", "json"));
    let mut events = b.events();
    events.last_mut().unwrap().signature[3] ^= 1;
    let import = SyncImport { team, from: None, events, document: None, peer: None, now: a.now() };
    let before = a.shared(team, "api");
    assert!(matches!(a.store.import_synced(&import), Err(StoreError::Event(_))));
    assert_eq!(a.shared(team, "api"), before);
    let mut stranger = Fixture::of(9);
    let roster = a.roster_events(team);
    assert!(matches!(stranger.store.join_team(team, &roster, None, 1), Err(StoreError::NotAMember { .. })));
    assert!(matches!(stranger.store.join_team(EventId([1; 32]), &roster, None, 1), Err(StoreError::NoRoster(_))));
    assert_eq!(stranger.store.reader().teams().unwrap(), []);
}
