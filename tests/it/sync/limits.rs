//! The limit of a peer's events in quarantine before a person must review them, and bodies that must be sent again
//! after a redaction that does not count.

use std::sync::{Arc, atomic::AtomicI64};

use ergo::{
    api::{Caller, ErrorCode, QuarantineRequest, QuarantinedQuery},
    domain::{
        EventId,
        roster::{Role, RosterChange},
    },
    engine::system_clock,
    store::SyncImport,
    sync::{
        frame::RejectCode,
        index,
        session::{SessionCommand, SessionEnd, SessionLimits},
    },
};

use super::nodes::{Node, connect, meet, scope};
use crate::support::eventually;

#[tokio::test]
async fn a_peer_with_too_much_in_quarantine_is_paused_until_reviewed() {
    let a = Node::with(60, SessionLimits { quarantined: 3, ..SessionLimits::default() });
    let (b, c) = (Node::new(61), Node::new(62));
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    a.admit(team, &c, Role::Writer, None);
    c.fact("api", "early", "known to all");
    meet(&a, &c, team).await;
    meet(&a, &b, team).await;
    // b takes more from c before it hears that c is out.
    c.facts("api", "late", 4);
    meet(&b, &c, team).await;
    let cuts = a.engine.with_reader(|r| r.cuts_of(&team, &c.device())).unwrap();
    a.change(Some(team), RosterChange::Revoke { device: c.device(), cuts });
    for round in 0..2 {
        let (at_a, at_b) = connect(&a, &b, team);
        let ended = at_a.end().await;
        let SessionEnd::Rejected(RejectCode::Paused, words) = &ended else { panic!("round {round}: {ended:?}") };
        assert!(words.contains("4 events"), "{words}");
        assert!(matches!(at_b.end().await, SessionEnd::RejectedByPeer(RejectCode::Paused, _)));
    }
    assert_eq!(a.engine.with_reader(|r| r.quarantined_by(&team)).unwrap().get(&Some(b.device())), Some(&4));
    let written_by = |node: &Node| a.engine.with_reader(|r| r.quarantined_count_of(&team, &node.device())).unwrap();
    assert_eq!((written_by(&b), written_by(&c)), (0, 4), "b is not told that events of its own wait");
    assert!(
        !b.engine.with_reader(|r| r.roster(&team)).unwrap().unwrap().is_member(&c.device()),
        "b heard of c all the same"
    );
    let held = a.engine.quarantined(&QuarantinedQuery::default()).unwrap();
    let events = held.items.iter().map(|row| row.id.to_hex()).collect();
    let caller = Caller { who: "ada".into(), ..Caller::default() };
    let request = QuarantineRequest { caller, events, ..QuarantineRequest::default() };
    a.engine.discard_quarantined(&request).unwrap();
    meet(&a, &b, team).await;
    a.assert_sound();
    b.assert_sound();
}

#[tokio::test]
async fn the_quarantined_events_of_one_author_or_all_are_discarded_at_once() {
    let (a, b, c) = (Node::new(81), Node::new(82), Node::new(83));
    let team = a.create_team(&["api"]);
    for (other, name) in [(&b, "bobs"), (&c, "carols")] {
        a.admit(team, other, Role::Writer, None);
        other.facts("api", name, 2);
    }
    for other in [&b, &c] {
        a.change(Some(team), RosterChange::Revoke { device: other.device(), cuts: vec![] });
        give_events(other, &a, team);
    }
    let total = |discarded| {
        let query = QuarantinedQuery { discarded, ..QuarantinedQuery::default() };
        a.engine.quarantined(&query).unwrap().total
    };
    assert_eq!(total(false), 4);
    let caller = || Caller { who: "ada".into(), ..Caller::default() };
    let of_bob = QuarantineRequest {
        caller: caller(),
        author: Some(format!("device-{}", b.device().short())),
        ..QuarantineRequest::default()
    };
    let all = QuarantineRequest { caller: caller(), all: true, ..QuarantineRequest::default() };
    for request in [&of_bob, &all] {
        assert_eq!(a.engine.accept_quarantined(request).unwrap_err().code, ErrorCode::BadRequest);
    }
    let several = QuarantineRequest { events: vec!["abcd".into()], ..all.clone() };
    let nobody = QuarantineRequest { author: Some("nobody".into()), ..of_bob.clone() };
    for (request, field) in [(&several, "events"), (&nobody, "author")] {
        assert_eq!(a.engine.discard_quarantined(request).unwrap_err().field.as_deref(), Some(field));
    }
    assert_eq!(total(false), 4, "nothing was changed");
    assert_eq!(a.engine.discard_quarantined(&of_bob).unwrap().summary, "Discarded 2 events");
    let left = a.engine.quarantined(&QuarantinedQuery::default()).unwrap().items;
    assert!(left.len() == 2 && left.iter().all(|event| event.author == c.device()), "{left:?}");
    assert_eq!(a.engine.discard_quarantined(&all).unwrap().summary, "Discarded 2 events");
    assert_eq!((total(false), total(true)), (0, 4), "they are still there");
}

/// Gives `to` what `from` has of the scope, as a file would.
fn give_events(from: &Node, to: &Node, team: EventId) {
    let ours = to.engine.with_reader(|r| r.vector(&team, &scope("api"))).unwrap();
    let page = from.engine.with_reader(|r| r.events_after(&team, &scope("api"), &ours, None, 999)).unwrap();
    let import = SyncImport { team, from: None, events: page.events, document: None, peer: None, now: to.engine.now() };
    to.engine.import_synced(&import).unwrap();
}

fn reads(node: &Node, id: EventId) -> bool {
    !node.engine.claim(&id.to_hex()).unwrap().flags.redacted
}

#[tokio::test]
async fn bodies_return_to_all_when_a_redaction_does_not_count() {
    let (a, b, c, d) = (Node::new(63), Node::new(64), Node::new(65), Node::new(66));
    let team = a.create_team(&["api"]);
    for other in [&b, &c, &d] {
        a.admit(team, other, Role::Writer, None);
    }
    let id = a.fact("api", "database", "PostgreSQL 17");
    for other in [&b, &c, &d] {
        meet(&a, other, team).await;
    }
    let cuts = a.engine.with_reader(|r| r.cuts_of(&team, &b.device())).unwrap();
    let caller = Caller { org_id: "acme".into(), project: "api".into(), who: "bob".into(), ..Caller::default() };
    let act = ergo::api::ActRequest { caller, target: id.to_hex(), reason: "gone".into(), ..Default::default() };
    b.engine.redact(act).unwrap();
    give_events(&b, &a, team);
    give_events(&b, &d, team);
    assert!(!reads(&a, id) && !reads(&d, id) && reads(&c, id));
    // d sits in a live session with a, and so does c: only c has the words.
    a.flush(team).await;
    let (mut at_a, mut at_d) = connect(&a, &d, team);
    at_a.synced().await;
    at_d.synced().await;
    a.change(Some(team), RosterChange::Revoke { device: b.device(), cuts });
    assert!(!reads(&a, id), "the redaction counts no more, but the words are gone");
    at_a.commands.send(SessionCommand::Roster).unwrap();
    meet(&a, &c, team).await;
    eventually("c gave them", async || reads(&a, id)).await;
    // The service tells the other sessions as this does.
    at_a.commands.send(SessionCommand::Offer).unwrap();
    eventually("and a passed them on", async || reads(&d, id)).await;
    for node in [&a, &c, &d] {
        node.assert_sound();
    }
}

#[tokio::test]
async fn more_than_five_thousand_events_of_an_hour_are_accepted_and_reported_and_history_is_not() {
    // Hours are those of the clock: the test begins with one, so that it does not run across its end.
    let hour = 60 * 60 * 1000;
    let to_next_hour = hour - system_clock() % hour;
    let away = Arc::new(AtomicI64::new(to_next_hour.cast_signed()));
    let [a, flood, history] = [75, 76, 77].map(|n| Node::with_clock(n, &away));
    let team = a.create_team(&["api"]);
    a.admit(team, &flood, Role::Writer, None);
    a.admit(team, &history, Role::Writer, None);
    let notes_about = |limit: usize| {
        let says = a.engine.team_notes(team).unwrap().says;
        says.iter().filter(|note| note.contains(&format!("wrote {limit} events in one hour"))).count()
    };
    let take = |from: &Node| {
        let mut cursor = None;
        loop {
            let page = from.engine.with_reader(|r| r.events_after(&team, &scope("api"), &[], cursor.as_ref(), 2_000));
            let page = page.unwrap();
            let (from, now) = (Some(from.device()), a.engine.now());
            let import = SyncImport { team, from, events: page.events, document: None, peer: None, now };
            a.engine.import_synced(&import).unwrap();
            cursor = page.next;
            if cursor.is_none() {
                return;
            }
        }
    };
    // Six hours of work that come at once: no hour of it has more than 5,000.
    history.many(6, 1_000, hour);
    take(&history);
    assert_eq!((a.set(team, "api").0, a.engine.team_notes(team).unwrap().says.len()), (6_000, 0));
    // Exactly as many as are usual, and one more.
    flood.many(5, 1_000, 0);
    take(&flood);
    assert_eq!(notes_about(5_000), 0);
    flood.fact("api", "last", "one too many");
    take(&flood);
    assert_eq!((notes_about(5_001), a.set(team, "api").0), (1, 11_001), "all of it was taken");
    let busy = |since| a.engine.with_reader(|r| r.busy_authors(&team, since, 5_000)).unwrap();
    assert_eq!(busy(0).len(), 1);
    assert_eq!(busy(a.engine.now() + 1), [], "an hour later nothing is said any more");
}

#[tokio::test]
async fn many_events_that_a_revocation_takes_back_leave_nothing_behind() {
    let (a, eve) = (Node::new(78), Node::new(79));
    let team = a.create_team(&["api"]);
    a.admit(team, &eve, Role::Writer, None);
    a.facts("api", "mine", 5);
    eve.many(2, 100, 0);
    give_events(&eve, &a, team);
    assert_eq!(a.set(team, "api").0, 205);
    // As an admin revokes who had seen none of it.
    a.change(Some(team), RosterChange::Revoke { device: eve.device(), cuts: vec![] });
    assert_eq!(a.set(team, "api").0, 5);
    assert_eq!(a.engine.with_reader(|r| r.quarantined_count(&team)).unwrap(), 200, "they wait, and are not lost");
    a.assert_sound();
    let before = a.engine.with_reader(ergo::store::Reader::projection).unwrap();
    a.engine.with_store(ergo::store::Store::rebuild).unwrap();
    assert_eq!(a.engine.with_reader(ergo::store::Reader::projection).unwrap(), before, "as if they had never come");
    // A second time finds no trace of the first.
    let again = Node::new(80);
    a.admit(team, &again, Role::Writer, None);
    again.many(1, 100, 0);
    give_events(&again, &a, team);
    a.change(Some(team), RosterChange::Revoke { device: again.device(), cuts: vec![] });
    assert_eq!(a.set(team, "api").0, 5);
    a.assert_sound();
}

#[tokio::test]
async fn fragmented_documents_are_compacted_when_idle() {
    let (a, b) = (Node::new(67), Node::new(68));
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    for n in 0..index::FRAGMENTED_CHUNKS + 2 {
        a.fact("api", &format!("key{n}"), "one at a time");
        a.flush(team).await;
    }
    let pieces = || a.engine.with_reader(|r| r.documents(&team, None)).unwrap()[0].chunks;
    assert!(pieces() >= index::FRAGMENTED_CHUNKS);
    index::compact_fragmented(a.context.clone(), vec![team]).await;
    assert_eq!(pieces(), 1);
    meet(&a, &b, team).await;
    assert_eq!(a.set(team, "api"), b.set(team, "api"));
}
