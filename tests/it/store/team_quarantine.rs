//! Events of a team that are dated far ahead, or that find the quarantine full.

use ergo::{
    domain::{
        EventId, SignedEvent,
        replica::{DocumentId, Month},
        roster::{Refusal, Role, RosterChange},
    },
    store::{DocumentChunk, DocumentUpdate, RosterDraft, SyncImport},
};

use super::{
    support::*,
    team::{Peer, assert_alike, pair},
};

const TEN_DAYS: u64 = 10 * 24 * 3_600_000;

#[test]
fn a_clock_far_ahead_waits_for_its_day() {
    let (mut a, mut b, team) = pair();
    let op = b.op();
    let ahead = b.now() + TEN_DAYS;
    let done = b.store.commit(ergo::store::Act {
        scope: scope("api"),
        identity: None,
        who: "bob".into(),
        agent: None,
        op,
        now: ahead,
        drafts: vec![decision("log", "json")],
    });
    let event = done.unwrap().events[0];
    let import = |a: &mut Fixture, events, now| {
        a.store.import_synced(&SyncImport { team, from: None, events, document: None, peer: None, now }).unwrap()
    };
    let now = a.now();
    assert_eq!(import(&mut a, b.events(), now).quarantined, [(event, Refusal::Clock)]);
    let is_due = |a: &Fixture, now| a.store.reader().quarantine_is_due(&team, now).unwrap();
    assert_eq!((is_due(&a, now), is_due(&a, ahead)), (false, true));
    assert_eq!(import(&mut a, vec![], ahead).readmitted, [event]);
    assert!(!is_due(&a, ahead));
    assert_alike(&a, &b, team);
}

#[test]
fn what_comes_with_a_document_is_quarantined_even_if_the_quarantine_is_full() {
    let (mut a, mut b, team) = pair();
    a.change(Some(team), RosterChange::Revoke { device: b.device(), cuts: vec![] });
    let ids: Vec<EventId> = (0..3).map(|n| b.add(decision(&format!("s{n}"), "1"))).collect();
    let events: Vec<SignedEvent> = b.events().into_iter().filter(|event| ids.contains(&event.id)).collect();
    assert_eq!(a.take(team, vec![events[0].clone()]).quarantined.len(), 1);
    // Full of copies of that one, under other ids.
    let fill = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
        INSERT INTO quarantined (id, team, org, project, author, epoch, seq, wall, header, signature, salt, body, reason,
            received_from, received_at)
        SELECT randomblob(32), team, org, project, author, epoch, seq, wall, header, signature, salt, body, reason,
            received_from, received_at FROM quarantined, n";
    let db = rusqlite::Connection::open(a.dir.path().join("ergo.db")).unwrap();
    db.execute(fill, [ergo::store::MOST_QUARANTINED]).unwrap();
    drop(db);
    let kept = |a: &Fixture| a.store.reader().known(&ids).unwrap().len();
    assert_eq!(a.take(team, vec![events[1].clone()]).quarantined.len(), 1);
    assert_eq!(kept(&a), 1, "it is counted, and comes again");
    let month = Month::of(events[2].header.clock);
    let document = DocumentUpdate {
        id: DocumentId::of(team, &scope("api"), month, 0),
        scope: scope("api"),
        month,
        part: 0,
        base: None,
        chunk: Some(DocumentChunk::Append(vec![1])),
        heads: vec![7],
        entries: vec![events[2].id],
    };
    let (events, now) = (vec![events[2].clone()], a.now());
    let import = SyncImport { team, from: None, events, document: Some(document), peer: None, now };
    assert_eq!(a.store.import_synced(&import).unwrap().quarantined.len(), 1);
    assert_eq!(kept(&a), 2, "its document names it, so it does not come again");
}

/// A roster change by a device whose clock is ten days ahead.
fn change_ahead(f: &mut Fixture, team: EventId, change: RosterChange) {
    let (op, now) = (f.op(), f.now() + TEN_DAYS);
    let draft = RosterDraft { team: Some(team), change, reason: None, who: "ada".into(), agent: None, op, now };
    f.store.commit_roster(draft).unwrap();
}

#[test]
fn a_revocation_dated_far_ahead_counts_in_the_log_at_once() {
    let (mut a, mut b, team) = pair();
    let mut c = Fixture::of(3);
    a.admit(team, &c, Role::Writer);
    c.join(team, &a);
    for out in [c.device(), b.device()] {
        let cuts = a.store.reader().cuts_of(&team, &out).unwrap();
        change_ahead(&mut a, team, RosterChange::Revoke { device: out, cuts });
        assert_eq!(b.pull(team, &a).quarantined, []);
        assert!(!b.store.reader().roster(&team).unwrap().unwrap().is_member(&out));
        if out == c.device() {
            let late = c.add(decision("late", "1"));
            assert_eq!(b.pull(team, &c).quarantined, [(late, Refusal::AfterCut)]);
        }
    }
    assert!(b.store.reader().teams().unwrap()[0].left_at.is_some());
}

#[test]
fn a_roster_event_dated_far_ahead_does_not_move_the_clock() {
    let (mut a, mut b, team) = pair();
    change_ahead(&mut a, team, RosterChange::Rename { device: None, name: "other".into() });
    b.pull(team, &a);
    // Another event is dated an hour ahead, which is believed: what b writes next is dated after it.
    let op = a.op();
    let soon = a.store.commit(ergo::store::Act {
        scope: scope("api"),
        identity: None,
        who: "ada".into(),
        agent: None,
        op,
        now: b.now() + 3_600_000,
        drafts: vec![decision("cache", "on")],
    });
    let soon = soon.unwrap().events[0];
    assert_eq!(b.pull(team, &a).stored, [soon]);
    let next = b.add(decision("log", "json"));
    let clock = |id| b.events().into_iter().find(|event| event.id == id).unwrap().header.clock;
    assert!(clock(next) > clock(soon), "{} and {}", clock(next), clock(soon));
}

#[test]
fn a_changed_roster_reads_only_what_it_readmits() {
    let (mut a, mut b, team) = pair();
    a.change(Some(team), RosterChange::Revoke { device: b.device(), cuts: vec![] });
    let refused = [b.add(decision("log", "json")), b.add(decision("cache", "on"))];
    a.pull(team, &b);
    assert_eq!(a.store.reader().quarantined_count(&team).unwrap(), 2);
    // Nobody can read one of the two any more.
    let db = rusqlite::Connection::open(a.dir.path().join("ergo.db")).unwrap();
    db.execute("UPDATE quarantined SET salt = x'00' WHERE id = ?1", [refused[1].0]).unwrap();
    drop(db);
    let (_, done) = a.change(Some(team), RosterChange::Accept { events: vec![refused[0]] });
    assert_eq!(done.readmitted, [refused[0]]);
}
