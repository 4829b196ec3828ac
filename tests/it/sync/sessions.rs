//! Two devices over a pipe.

use std::{sync::atomic::Ordering, time::Duration};

use ergo::{
    api::ErrorCode,
    domain::{
        EventId, EventKind, Header, SignedEvent,
        event::VERSION,
        roster::{Role, RosterChange},
    },
    store::{DocumentBase, DocumentChunk, DocumentUpdate, SyncImport},
    sync::{
        frame::RejectCode,
        index,
        session::{DocumentKey, SessionCommand, SessionEnd, SessionLimits, SessionPhase},
    },
};

use tokio::sync::mpsc::UnboundedSender;

use super::nodes::{Node, connect, connect_cut, meet, scope};
use crate::support::random::Random;

#[tokio::test]
async fn events_written_apart_reach_both_and_are_counted() {
    let (a, b) = (Node::new(1), Node::new(2));
    a.facts("api", "before", 3);
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    a.facts("api", "alone", 40);
    let (x, y) = meet(&a, &b, team).await;
    assert_eq!((x.received, y.received, y.quarantined), (0, 43, 0), "history and what came after it");
    a.facts("api", "left", 50);
    b.facts("api", "right", 50);
    let (x, y) = meet(&a, &b, team).await;
    assert_eq!((x.received, y.received), (50, 50), "each brings its own, and nothing twice");
    assert_eq!(a.set(team, "api"), b.set(team, "api"));
    assert_eq!(a.set(team, "api").0, 143);
    let (x, y) = meet(&a, &b, team).await;
    assert_eq!((x.received, y.received, x.missing_here, y.missing_at_peer), (0, 0, 0, 0));
    a.assert_sound();
    b.assert_sound();
}

#[tokio::test]
async fn a_cut_at_any_frame_leaves_both_stores_whole_and_the_next_session_goes_on() {
    let (a, b) = (Node::new(3), Node::new(4));
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    let mut whole = false;
    for frames in 0..60 {
        a.fact("api", &format!("a{frames}"), "made by one");
        b.fact("api", &format!("b{frames}"), "made by the other");
        a.flush(team).await;
        b.flush(team).await;
        let (mut x, y, passed) = connect_cut(&a, &b, team, frames);
        let level = tokio::select! {
            seen = x.seen.wait_for(|view| view.phase == SessionPhase::Live && view.in_sync) => seen.is_ok(),
            _ = &mut x.ended => false,
        };
        drop(x.commands);
        if level {
            whole = true;
            break;
        }
        let ended = y.end().await;
        assert!(
            matches!(ended, SessionEnd::Interrupted(_) | SessionEnd::ClosedByPeer),
            "cut after {frames} frames: {ended:?}"
        );
        assert!(passed.load(Ordering::SeqCst) >= frames);
        a.assert_sound();
        b.assert_sound();
    }
    assert!(whole, "a session takes fewer frames than that");
    meet(&a, &b, team).await;
    assert_eq!(a.set(team, "api"), b.set(team, "api"));
}

#[tokio::test]
async fn a_write_is_pushed_while_the_session_lives() {
    let (a, b) = (Node::new(5), Node::new(6));
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    let (mut x, mut y) = connect(&a, &b, team);
    x.synced().await;
    y.synced().await;
    for (from, to, received) in [(&a, &b, 1), (&b, &a, 1), (&a, &b, 2)] {
        let id = from.fact("api", &format!("key{received}{}", from.device().short()), "pushed");
        let documents = index::flush(&from.context, team).await.unwrap();
        assert_eq!(documents.len(), 1);
        let (pushes, sees) = if from.device() == a.device() { (&x, &mut y) } else { (&y, &mut x) };
        pushes.commands.send(SessionCommand::Push(documents)).unwrap();
        sees.until(|view| view.received == received).await;
        assert!(to.engine.claim(&id.to_hex()).is_ok());
    }
    x.synced().await;
    y.synced().await;
    assert_eq!(a.set(team, "api"), b.set(team, "api"));
}

#[tokio::test]
async fn both_push_at_once_and_nothing_is_lost() {
    let (a, b) = (Node::new(7), Node::new(8));
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    let (mut x, mut y) = connect(&a, &b, team);
    x.synced().await;
    y.synced().await;
    for round in 0..10 {
        a.fact("api", &format!("a{round}"), "at once");
        b.fact("api", &format!("b{round}"), "at once");
        let (one, other) = tokio::join!(index::flush(&a.context, team), index::flush(&b.context, team));
        x.commands.send(SessionCommand::Push(one.unwrap())).unwrap();
        y.commands.send(SessionCommand::Push(other.unwrap())).unwrap();
    }
    x.until(|view| view.received == 10).await;
    y.until(|view| view.received == 10).await;
    x.synced().await;
    y.synced().await;
    assert_eq!(a.set(team, "api"), b.set(team, "api"));
}

#[tokio::test]
async fn what_is_written_while_the_caller_waits_for_bodies_is_exchanged_at_once() {
    // Silence never ends these sessions.
    let limits = SessionLimits { idle: Duration::from_hours(1), ..SessionLimits::default() };
    let (a, b) = (Node::with(61, limits), Node::with(62, limits));
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    for round in 0..10 {
        b.facts("api", &format!("round{round}"), 40);
        let documents = index::flush(&b.context, team).await.unwrap();
        let document = |(key, _): &(DocumentKey, Vec<EventId>)| (key.clone(), Vec::new());
        let again: Vec<_> = documents.iter().map(document).collect();
        let (mut x, mut y) = connect(&a, &b, team);
        let pushes = y.commands.clone();
        // During each exchange, b adds more events to the document.
        let pushing = tokio::spawn(async move {
            while pushes.send(SessionCommand::Push(again.clone())).is_ok() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
        x.until(|view| view.in_sync && view.received == 40).await;
        pushing.abort();
        drop(pushing.await);
        b.fact("api", &format!("last{round}"), "written last");
        let documents = index::flush(&b.context, team).await.unwrap();
        y.commands.send(SessionCommand::Push(documents)).unwrap();
        x.until(|view| view.received == 41).await;
        x.synced().await;
        y.synced().await;
        x.commands.send(SessionCommand::Stop).unwrap();
        x.end().await;
        y.end().await;
    }
    assert_eq!(a.set(team, "api"), b.set(team, "api"));
}

/// The number of facts that the other side lacks when the two connect.
const BEFORE: usize = 40;

/// Writes bursts of facts, and pushes each, as the service does.
async fn write_bursts(node: &Node, team: EventId, commands: UnboundedSender<SessionCommand>, seed: u64) -> usize {
    let (mut random, mut written) = (Random::new(seed), 0);
    for burst in 0..3 + random.below(9) {
        let many = if random.percent(20) { 300 } else { 1 + random.below(20) };
        node.facts("api", &format!("{}b{burst}", node.device().short()), many);
        written += many;
        let documents = index::flush(&node.context, team).await.unwrap();
        commands.send(SessionCommand::Push(documents)).unwrap();
        tokio::time::sleep(Duration::from_millis(random.next() % 40)).await;
    }
    written
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bursts_on_both_sides_come_together_without_a_timeout() {
    let seeds = std::env::var("ERGO_BURST_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(3);
    let limits = SessionLimits { idle: Duration::from_hours(1), ..SessionLimits::default() };
    for seed in 0..seeds {
        let (a, b) = (Node::with(63, limits), Node::with(64, limits));
        let team = a.create_team(&["api"]);
        a.admit(team, &b, Role::Writer, None);
        a.facts("api", "before", BEFORE);
        a.flush(team).await;
        let (mut x, mut y) = connect(&a, &b, team);
        let (one, other) = tokio::join!(
            write_bursts(&a, team, x.commands.clone(), 2 * seed),
            write_bursts(&b, team, y.commands.clone(), 2 * seed + 1)
        );
        println!("seed {seed}: {one} and {other} facts");
        x.until(|view| view.received == other as u64).await;
        y.until(|view| view.received == (BEFORE + one) as u64).await;
        x.synced().await;
        y.synced().await;
        assert_eq!(a.set(team, "api"), b.set(team, "api"), "seed {seed}");
    }
}

#[tokio::test]
async fn a_reader_gets_everything_and_changes_nothing() {
    let (a, b, c) = (Node::new(9), Node::new(10), Node::new(11));
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Reader, None);
    a.admit(team, &c, Role::Writer, None);
    a.facts("api", "shared", 5);
    meet(&a, &b, team).await;
    assert_eq!(b.set(team, "api"), a.set(team, "api"));
    b.fact("api", "mine", "a reader's own stays with it");
    b.flush(team).await;
    let (mut mine, mut theirs) = connect(&a, &b, team);
    mine.until(|view| view.phase == SessionPhase::Live).await;
    theirs.until(|view| view.phase == SessionPhase::Live).await;
    mine.commands.send(SessionCommand::Stop).unwrap();
    mine.end().await;
    assert_eq!(a.set(team, "api").0, 5);
    a.assert_sound();
}

#[tokio::test]
async fn a_reader_hands_on_what_only_it_has_of_others() {
    let (a, reader, lost) = (Node::new(26), Node::new(27), Node::new(28));
    let team = a.create_team(&["api"]);
    a.admit(team, &lost, Role::Writer, None);
    a.admit(team, &reader, Role::Reader, None);
    meet(&a, &lost, team).await;
    for (calls, total) in [(true, 1), (false, 2)] {
        lost.fact("api", &format!("port{total}"), "written on a laptop that nobody sees again");
        lost.flush(team).await;
        meet(&lost, &reader, team).await;
        let (mut here, there) = if calls {
            connect(&a, &reader, team)
        } else {
            let (there, here) = connect(&reader, &a, team);
            (here, there)
        };
        here.until(|view| view.received == 1).await;
        for side in [here, there] {
            side.commands.send(SessionCommand::Stop).ok();
            side.end().await;
        }
        assert_eq!(a.set(team, "api"), reader.set(team, "api"));
        assert_eq!(a.set(team, "api").0, total);
        a.flush(team).await;
        meet(&a, &reader, team).await;
    }
    a.assert_sound();
}

#[tokio::test]
async fn a_redacted_text_is_in_no_byte_of_any_peers_files() {
    let (a, b, c) = (Node::new(23), Node::new(24), Node::new(25));
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    a.admit(team, &c, Role::Writer, None);
    let secret = "hunter2swordfish";
    let id = a.fact("api", "password", secret);
    meet(&a, &b, team).await;
    meet(&b, &c, team).await;
    assert!([&a, &b, &c].iter().all(|node| node.holds(secret)), "it would be found");
    let caller = ergo::api::Caller {
        org_id: "acme".into(),
        project: "api".into(),
        who: "ada".into(),
        ..ergo::api::Caller::default()
    };
    let act = ergo::api::ActRequest { caller, target: id.to_hex(), reason: "gone".into(), ..Default::default() };
    a.engine.redact(act).unwrap();
    meet(&a, &b, team).await;
    meet(&b, &c, team).await;
    for node in [&a, &b, &c] {
        assert!(node.engine.claim(&id.to_hex()).unwrap().flags.redacted);
        assert!(!node.holds(secret), "it is still there");
        node.assert_sound();
    }
}

#[tokio::test]
async fn scopes_that_were_not_granted_do_not_travel() {
    let (a, b) = (Node::new(12), Node::new(13));
    let team = a.create_team(&["api", "web"]);
    a.admit(team, &b, Role::Writer, Some(&["web"]));
    a.facts("api", "secret", 5);
    a.facts("web", "open", 3);
    meet(&a, &b, team).await;
    assert_eq!((b.set(team, "web").0, b.set(team, "api").0), (3, 0));
}

#[tokio::test]
async fn a_revoked_device_is_notified_and_disconnected() {
    let (a, b) = (Node::new(14), Node::new(15));
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    let (mut x, mut y) = connect(&a, &b, team);
    x.synced().await;
    y.synced().await;
    let cuts = a.engine.with_reader(|r| r.cuts_of(&team, &b.device())).unwrap();
    a.change(Some(team), RosterChange::Revoke { device: b.device(), cuts });
    x.commands.send(SessionCommand::Roster).unwrap();
    let words = "the rejected device no longer belongs to the team".to_owned();
    assert_eq!(x.end().await, SessionEnd::Rejected(RejectCode::NotPaired, words.clone()));
    assert_eq!(y.end().await, SessionEnd::RejectedByPeer(RejectCode::NotPaired, words));
    // And at the greeting of the next one.
    let (x, y) = connect(&b, &a, team);
    assert!(matches!(x.end().await, SessionEnd::RejectedByPeer(RejectCode::NotPaired, _)));
    assert!(matches!(y.end().await, SessionEnd::Rejected(RejectCode::NotPaired, _)));
}

#[tokio::test]
async fn a_device_that_left_says_so_of_itself() {
    let (a, b) = (Node::new(185), Node::new(186));
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    let (mut x, mut y) = connect(&a, &b, team);
    x.synced().await;
    y.synced().await;
    b.change(Some(team), RosterChange::Leave { cuts: vec![] });
    y.commands.send(SessionCommand::Roster).unwrap();
    let words = "the rejecting device no longer belongs to the team".to_owned();
    assert_eq!(y.end().await, SessionEnd::Rejected(RejectCode::TeamMismatch, words.clone()));
    assert_eq!(x.end().await, SessionEnd::RejectedByPeer(RejectCode::TeamMismatch, words));
    // And to one that has not heard of it and calls.
    let (x, y) = connect(&a, &b, team);
    let words = "the rejecting device does not belong to that team".to_owned();
    assert_eq!(x.end().await, SessionEnd::RejectedByPeer(RejectCode::TeamMismatch, words));
    drop(y.end().await);
}

#[tokio::test]
async fn a_live_session_learns_of_a_new_member() {
    let (a, b, c) = (Node::new(16), Node::new(17), Node::new(18));
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    let (mut mine, mut theirs) = connect(&a, &b, team);
    mine.synced().await;
    theirs.synced().await;
    a.admit(team, &c, Role::Writer, None);
    mine.commands.send(SessionCommand::Roster).unwrap();
    let mut b = b;
    let peer_events = tokio::time::timeout(super::nodes::TEST_TIMEOUT, b.peer_events.recv()).await.unwrap().unwrap();
    assert!(peer_events.roster);
    let roster = b.engine.with_reader(|r| r.roster(&team)).unwrap().unwrap();
    assert!(roster.is_member(&c.device()));
    // And what the new member brings is taken, by whom it may come.
    c.fact("api", "third", "by the third");
    meet(&c, &b, team).await;
    assert_eq!(b.set(team, "api").0, 1);
}

#[tokio::test]
async fn sessions_are_of_one_team_and_of_its_members() {
    let (a, b) = (Node::new(19), Node::new(20));
    let (mine, theirs) = (a.create_team(&["api"]), b.create_team(&["api"]));
    let (x, y) = connect(&a, &b, mine);
    assert!(matches!(y.end().await, SessionEnd::Rejected(RejectCode::TeamMismatch, _)), "it knows no such team");
    assert!(matches!(x.end().await, SessionEnd::RejectedByPeer(RejectCode::TeamMismatch, _)));
    let (x, y) = connect(&b, &a, theirs);
    assert!(matches!(y.end().await, SessionEnd::Rejected(RejectCode::TeamMismatch, _)));
    drop(x.end().await);
}

#[tokio::test]
async fn a_damaged_document_is_rebuilt() {
    let (a, b) = (Node::new(21), Node::new(22));
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    a.facts("api", "first", 10);
    meet(&a, &b, team).await;
    b.facts("api", "second", 10);
    b.flush(team).await;
    let row = a.engine.with_reader(|r| r.documents(&team, Some(&scope("api")))).unwrap().remove(0);
    let base = |events, heads: &[u8]| Some(DocumentBase { events, heads: heads.to_vec() });
    let (right, wrong) =
        (base(row.events, &row.heads), [base(row.events + 1, &row.heads), base(row.events, b"others")]);
    let mut update = DocumentUpdate {
        id: row.id,
        scope: row.scope,
        month: row.month,
        part: row.part,
        base: right,
        chunk: Some(DocumentChunk::Snapshot(b"no document".to_vec())),
        heads: row.heads,
        entries: vec![],
    };
    a.engine.with_store(|store| store.write_document(team, &update)).unwrap();
    for wrong in wrong {
        update.base = wrong;
        let refused = a.engine.with_store(|store| store.write_document(team, &update)).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Stale, "it was worked out from another document: {refused}");
    }
    let a = a.restarted();
    let (x, _) = meet(&a, &b, team).await;
    assert_eq!(x.problem, None, "what was reported is over");
    assert_eq!(a.set(team, "api"), b.set(team, "api"));
    assert_eq!(a.set(team, "api").0, 20);
}

#[tokio::test]
async fn a_document_stored_past_its_worker_is_loaded_again() {
    let (a, b) = (Node::new(177), Node::new(178));
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    for node in [&a, &b] {
        let past = node.beside();
        node.fact("api", "one", "the worker holds it");
        node.flush(team).await;
        node.fact("api", "two", "stored by another way");
        index::flush(&past, team).await.unwrap();
        node.fact("api", "three", "the worker writes again");
        node.flush(team).await;
        // The last word is the other's: what comes from the peer meets a document that this worker does not know.
        node.fact("api", "four", "stored by another way");
        index::flush(&past, team).await.unwrap();
    }
    let (ours, theirs) = meet(&a, &b, team).await;
    assert_eq!((ours.received, theirs.received, ours.problem, theirs.problem), (4, 4, None, None));
    assert_eq!(a.set(team, "api"), b.set(team, "api"));
    assert_eq!(a.set(team, "api").0, 8);
    // Everything is stored.
    let (a, b) = (a.restarted(), b.restarted());
    meet(&a, &b, team).await;
    let third = Node::new(179);
    a.admit(team, &third, Role::Writer, None);
    meet(&a, &third, team).await;
    assert_eq!(third.set(team, "api"), a.set(team, "api"));
}

#[tokio::test]
async fn a_readmitted_device_has_whole_documents() {
    let (a, b, c) = (Node::new(180), Node::new(181), Node::new(182));
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    a.facts("api", "shared", 5);
    meet(&a, &b, team).await;
    let device = b.device();
    let cuts = a.engine.with_reader(|r| r.cuts_of(&team, &device)).unwrap();
    a.change(Some(team), RosterChange::Revoke { device, cuts });
    let hears = |node: &Node| {
        let (events, now) = (a.roster(team), node.engine.now());
        node.engine.import_synced(&SyncImport { team, from: None, events, document: None, peer: None, now }).unwrap();
    };
    hears(&b);
    assert_eq!(b.engine.with_reader(|r| r.documents(&team, None)).unwrap(), [], "it shares nothing any more");
    a.admit(team, &c, Role::Writer, None);
    a.admit(team, &b, Role::Writer, None);
    hears(&c);
    // Its worker still holds the document of before.
    b.flush(team).await;
    let b = b.restarted();
    meet(&b, &c, team).await;
    assert_eq!(c.set(team, "api"), a.set(team, "api"));
    b.assert_sound();
}

#[tokio::test]
async fn events_of_a_newer_version_are_kept_and_passed_on() {
    let (a, b, c) = (Node::new(174), Node::new(175), Node::new(176));
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    a.admit(team, &c, Role::Writer, None);
    b.fact("api", "known", "as ever");
    let read =
        |node: &Node| node.engine.with_reader(|r| r.events_after(&team, &scope("api"), &[], None, 10)).unwrap().events;
    let last = read(&b).remove(0);
    // What b's ergo of tomorrow makes of the same chain.
    let header = Header {
        version: VERSION + 1,
        kind: EventKind::Unknown("assert.of_tomorrow".into()),
        seq: last.header.seq + 1,
        prev: Some(last.id),
        ..last.header.clone()
    };
    let newer = SignedEvent::sign(header, last.body.clone().unwrap(), &b.key).unwrap();
    let events = vec![last, newer.clone()];
    let (from, now) = (Some(b.device()), a.engine.now());
    a.engine.import_synced(&SyncImport { team, from, events, document: None, peer: None, now }).unwrap();
    meet(&c, &a, team).await;
    assert_eq!((c.set(team, "api").0, c.set(team, "api")), (2, a.set(team, "api")));
    let passed_on = read(&c).into_iter().find(|event| event.id == newer.id);
    assert_eq!(passed_on, Some(newer.clone()), "byte for byte");
    for node in [&a, &c] {
        assert!(node.engine.claim(&newer.id.to_hex()).is_err(), "it means nothing here");
        node.assert_sound();
    }
}
