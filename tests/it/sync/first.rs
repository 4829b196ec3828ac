//! A first sync with many events: its cost, interruptions, and misuse of its messages by a peer.

use std::{
    io::Write as _,
    sync::{Arc, Mutex, atomic::Ordering},
};

use ergo::{
    domain::{EventId, SignedEvent, roster::Role},
    store::DocumentRow,
    sync::{
        document::DocumentEntry,
        frame::{
            self, CompactDocument, DocumentMessage, FollowingBodies, Message, RejectCode, Rejection, TurnKind, WireBody,
        },
        session::{SessionCommand, SessionEnd, SessionPhase, SessionSide},
        worker,
    },
};
use flate2::{Compression, write::DeflateEncoder};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, duplex};

use super::{
    hostile::{ScriptedPeer, two},
    nodes::{Node, connect_cut, meet, scope},
};

/// A frame that went through: its type, and how long it was.
type Seen = Arc<Mutex<Vec<(u8, usize)>>>;

/// A stream whose frames are noted; `change` may put another message in the place of one.
fn tapped(change: fn(Message) -> Message) -> (DuplexStream, DuplexStream, Seen) {
    let ((one, left), (right, other)) = (duplex(64 * 1024), duplex(64 * 1024));
    let ((from_a, to_a), (from_b, to_b)) = (tokio::io::split(left), tokio::io::split(right));
    let seen = Seen::default();
    for (from, to) in [(from_a, to_b), (from_b, to_a)] {
        tokio::spawn(tap(from, to, Arc::clone(&seen), change));
    }
    (one, other, seen)
}

async fn tap(
    mut from: ReadHalf<DuplexStream>,
    mut to: WriteHalf<DuplexStream>,
    seen: Seen,
    change: fn(Message) -> Message,
) {
    loop {
        let mut head = [0; frame::LENGTH];
        if from.read_exact(&mut head).await.is_err() {
            return;
        }
        let mut body = vec![0; frame::length(head).unwrap()];
        if from.read_exact(&mut body).await.is_err() {
            return;
        }
        seen.lock().unwrap().push((body[0] & !frame::PACKED, head.len() + body.len()));
        let bytes = match frame::decode(&body).unwrap() {
            hello @ Message::Hello(_) => frame::encode(&change(hello)).unwrap(),
            _ => [&head[..], &body].concat(),
        };
        if to.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

/// Lets two meet through a tap; the frames.
async fn meet_tapped(a: &Node, b: &Node, team: EventId, change: fn(Message) -> Message) -> Vec<(u8, usize)> {
    a.flush(team).await;
    b.flush(team).await;
    let (one, other, seen) = tapped(change);
    let (mut x, mut y) =
        (a.session(SessionSide::Dialler, b, team, one), b.session(SessionSide::Acceptor, a, team, other));
    x.synced().await;
    y.synced().await;
    x.commands.send(SessionCommand::Stop).unwrap();
    assert_eq!((x.end().await, y.end().await), (SessionEnd::Closed, SessionEnd::ClosedByPeer));
    let seen = seen.lock().unwrap();
    seen.clone()
}

fn of(frames: &[(u8, usize)], kind: u8) -> usize {
    frames.iter().filter(|(of, _)| *of == kind).count()
}

/// Signatures, headers, salts and bodies of a node's events as one deflated stream: what `ergo-bench sync` compares with.
fn compressed_size(node: &Node, team: EventId) -> usize {
    let events = node.engine.with_reader(|r| r.events_after(&team, &scope("api"), &[], None, 10_000)).unwrap().events;
    let mut packed = DeflateEncoder::new(Vec::new(), Compression::default());
    for event in events {
        let body = event.body.unwrap();
        for part in [&event.header_bytes[..], &event.signature, &body.salt, &body.bytes] {
            packed.write_all(part).unwrap();
        }
    }
    packed.finish().unwrap().len()
}

#[tokio::test]
async fn a_first_sync_costs_no_more_than_its_events_deflated() {
    let (a, b, late) = (Node::new(150), Node::new(151), Node::new(152));
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    a.admit(team, &late, Role::Writer, None);
    a.facts("api", "mine", 700);
    let frames = meet_tapped(&b, &a, team, |hello| hello).await;
    assert_eq!(b.set(team, "api"), a.set(team, "api"));
    // Nothing is asked for, but where a change seemed to be known already.
    assert!(of(&frames, 13) >= 1 && of(&frames, 14) >= 1 && of(&frames, 5) <= 1, "{frames:?}");
    let (wire, events) = (frames.iter().map(|(_, bytes)| bytes).sum::<usize>(), compressed_size(&a, team));
    println!("{wire} bytes on the wire for {events} of events deflated");
    assert!(wire as f64 <= 1.2 * events as f64, "{wire} for {events}");
    b.assert_sound();
    // The side that dialled does not matter, and events received in the compact encoding are passed on.
    meet_tapped(&late, &b, team, |hello| hello).await;
    assert_eq!(late.set(team, "api"), a.set(team, "api"));
    // A single further claim is sent in the usual way.
    a.fact("api", "news", "one more");
    let frames = meet_tapped(&a, &b, team, |hello| hello).await;
    assert_eq!((of(&frames, 13), b.set(team, "api").0), (0, 701));
}

#[tokio::test]
async fn a_peer_that_does_not_know_these_messages_gets_everything_as_before() {
    let (a, b) = (Node::new(153), Node::new(154));
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    a.facts("api", "mine", 400);
    b.facts("api", "theirs", 300);
    // Each takes the other for the first version, which announces no features.
    let frames = meet_tapped(&b, &a, team, |hello| match hello {
        Message::Hello(hello) => Message::Hello(frame::SessionHello { minor: 0, features: vec![], ..hello }),
        other => other,
    })
    .await;
    assert_eq!((of(&frames, 13), of(&frames, 14)), (0, 0), "{frames:?}");
    assert_eq!(a.set(team, "api"), b.set(team, "api"));
    assert_eq!(a.set(team, "api").0, 700);
}

#[tokio::test]
async fn a_first_sync_that_is_cut_at_any_frame_is_resumed() {
    let (a, b) = (Node::new(155), Node::new(156));
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    a.facts("api", "mine", 300);
    a.flush(team).await;
    let mut cuts = 0;
    for frames in 0..60 {
        let (mut x, y, passed) = connect_cut(&b, &a, team, frames);
        let level = tokio::select! {
            seen = x.seen.wait_for(|view| view.phase == SessionPhase::Live && view.in_sync) => seen.is_ok(),
            _ = &mut x.ended => false,
        };
        drop(x.commands);
        if level {
            break;
        }
        let ended = y.end().await;
        assert!(
            matches!(ended, SessionEnd::Interrupted(_) | SessionEnd::ClosedByPeer),
            "cut after {frames} frames: {ended:?}"
        );
        assert!(passed.load(Ordering::SeqCst) >= frames);
        let there = b.set(team, "api").0;
        assert!(there == 0 || there == 300, "{there} after {frames} frames: all of it, or nothing");
        b.assert_sound();
        cuts += 1;
    }
    assert!(cuts > 8, "it was cut {cuts} times");
    meet(&a, &b, team).await;
    assert_eq!(a.set(team, "api"), b.set(team, "api"));
    a.assert_sound();
}

/// The document of `api`.
fn row(node: &Node, team: EventId) -> DocumentRow {
    node.engine.with_reader(|r| r.documents(&team, Some(&scope("api")))).unwrap().remove(0)
}

/// Acts for `bad` until it has sent all of its document in the compact encoding. Returns the entries, in order.
async fn send_compact(
    scripted: &mut ScriptedPeer,
    mut fork: worker::DocumentSession,
    first: Option<Vec<u8>>,
    row: &DocumentRow,
) -> (CompactDocument, Vec<EventId>) {
    let turn = |turn, message: Vec<u8>| DocumentMessage {
        scope: scope("api"),
        month: row.month,
        part: row.part,
        exchange: 0,
        turn,
        messages: vec![message.into()],
    };
    scripted.send(&Message::Doc(turn(TurnKind::First, first.unwrap()))).await;
    loop {
        let Message::Doc(answer) = scripted.receive(|message| matches!(message, Message::Doc(_))).await else {
            unreachable!()
        };
        for message in answer.messages {
            let Some(reply) = fork.message(message.into()).await.unwrap().reply else { continue };
            let next = turn(TurnKind::Next, reply);
            let (compact, ids) = CompactDocument::of(&next).unwrap();
            if !ids.is_empty() {
                return (compact, ids);
            }
            // It seemed that the other side had them already.
            scripted.send(&Message::Doc(next)).await;
        }
    }
}

fn following(row: &DocumentRow, bodies: Vec<Option<WireBody>>) -> Message {
    let mut following = FollowingBodies {
        scope: scope("api"),
        month: row.month,
        part: row.part,
        exchange: 0,
        lengths: vec![],
        salts: vec![],
        bytes: vec![],
    };
    for body in bodies {
        following.push(body);
    }
    Message::FollowingBodies(following)
}

fn bodies(node: &Node, team: EventId, ids: &[EventId]) -> Vec<Option<WireBody>> {
    let found = node.engine.with_reader(|r| r.bodies(&team, &scope("api"), ids)).unwrap();
    found.iter().map(|(_, body)| body.as_ref().map(WireBody::from)).collect()
}

/// `bad` has three facts in its document, and is about to send them.
async fn about_to_say(
    good: &Node,
    bad: &Node,
    team: EventId,
) -> (ScriptedPeer, DocumentRow, CompactDocument, Vec<EventId>) {
    bad.flush(team).await;
    let row = row(bad, team);
    let mut scripted = ScriptedPeer::after_rosters(good, bad, team).await;
    let (fork, first) = bad.context.documents.begin(row.id, good.device(), None, true).await.unwrap();
    let (compact, ids) = send_compact(&mut scripted, fork, first, &row).await;
    (scripted, row, compact, ids)
}

#[tokio::test]
async fn a_correct_compact_turn_is_accepted() {
    let (good, bad, team) = two(160);
    bad.facts("api", "theirs", 3);
    let (mut scripted, row, compact, ids) = about_to_say(&good, &bad, team).await;
    // The bodies of an exchange that does not exist are ignored.
    let Message::FollowingBodies(mut other) = following(&row, vec![None]) else { unreachable!() };
    other.exchange = 98;
    scripted.send(&Message::FollowingBodies(other)).await;
    scripted.send(&Message::Compact(compact)).await;
    let all = bodies(&bad, team, &ids);
    scripted.send(&following(&row, all[..1].to_vec())).await;
    scripted.send(&following(&row, all[1..].to_vec())).await;
    scripted.good.until(|view| view.received == 3).await;
    assert_eq!(good.set(team, "api"), bad.set(team, "api"));
    good.assert_sound();
}

#[tokio::test]
async fn what_breaks_a_rule_of_a_first_sync_ends_the_session_and_changes_nothing() {
    let (good, bad, team) = two(162);
    bad.facts("api", "theirs", 3);
    type Say = fn(CompactDocument, &DocumentRow) -> Vec<Message>;
    let cases: [(&str, Say, RejectCode); 4] = [
        (
            "more bodies than entries",
            |compact, row| vec![Message::Compact(compact), following(row, vec![None, None, None, None])],
            RejectCode::Version,
        ),
        (
            "parts that do not fit",
            |mut compact, _| {
                compact.messages[0].header_lengths[0] += 1;
                vec![Message::Compact(compact)]
            },
            RejectCode::Version,
        ),
        (
            "more than a message holds",
            |mut compact, _| {
                compact.messages[0].skeleton.resize(40 * 1024 * 1024, 0);
                vec![Message::Compact(compact)]
            },
            RejectCode::TooBig,
        ),
        (
            "bodies that do not fit",
            |compact, row| {
                let Message::FollowingBodies(mut bodies) = following(row, vec![None]) else { unreachable!() };
                bodies.bytes = vec![1, 2, 3];
                vec![Message::Compact(compact), Message::FollowingBodies(bodies)]
            },
            RejectCode::Version,
        ),
    ];
    for (case, say, code) in cases {
        let (mut scripted, row, compact, _) = about_to_say(&good, &bad, team).await;
        for message in say(compact, &row) {
            scripted.send(&message).await;
        }
        scripted.refused(code, case).await;
        assert_eq!(good.set(team, "api").0, 0, "{case}");
    }
    good.assert_sound();
    meet(&bad, &good, team).await;
    assert_eq!(good.set(team, "api").0, 3);
}

/// The document is refused, and the session goes on.
async fn refuses_the_document(scripted: &mut ScriptedPeer, row: &DocumentRow) -> Rejection {
    let rejection = scripted.refusal().await;
    assert_eq!(rejection.document, Some(row.id), "{rejection:?}");
    rejection
}

#[tokio::test]
async fn a_body_that_follows_and_is_not_the_events_own_refuses_the_document() {
    let (good, bad, team) = two(164);
    bad.facts("api", "theirs", 3);
    let (mut scripted, row, compact, ids) = about_to_say(&good, &bad, team).await;
    scripted.send(&Message::Compact(compact)).await;
    let mut all = bodies(&bad, team, &ids);
    all.swap(0, 2);
    scripted.send(&following(&row, all)).await;
    assert_eq!(refuses_the_document(&mut scripted, &row).await.code, RejectCode::BadEvent);
    assert_eq!(good.set(team, "api").0, 0, "nothing of it was stored");
}

#[tokio::test]
async fn a_bit_that_was_changed_on_the_way_is_noticed_before_anything_is_taken() {
    let (good, bad, team) = two(166);
    bad.facts("api", "theirs", 3);
    let (mut scripted, row, mut compact, _) = about_to_say(&good, &bad, team).await;
    compact.messages[0].incompressible[5] ^= 1;
    scripted.send(&Message::Compact(compact)).await;
    assert_eq!(refuses_the_document(&mut scripted, &row).await.code, RejectCode::DocPoisoned);
    assert_eq!(good.set(team, "api").0, 0);
}

/// Makes `bad` write a forged entry into its document, and send it.
async fn with_entry(
    good: &Node,
    bad: &Node,
    team: EventId,
    spoil: fn(&SignedEvent, &Node) -> SignedEvent,
) -> (ScriptedPeer, DocumentRow) {
    bad.facts("api", "theirs", 2);
    bad.flush(team).await;
    let row = row(bad, team);
    let honest = bad.engine.with_reader(|r| r.events_after(&team, &scope("api"), &[], None, 10)).unwrap().events;
    let spoiled = spoil(&honest[0], bad);
    let entry = DocumentEntry { id: spoiled.id, signature: spoiled.signature, header: spoiled.header_bytes.clone() };
    let staged = bad.context.documents.rebuild(row.id, vec![entry]).await.unwrap();
    staged.commit().await;
    let mut scripted = ScriptedPeer::after_rosters(good, bad, team).await;
    let (fork, first) = bad.context.documents.begin(row.id, good.device(), None, true).await.unwrap();
    let (compact, ids) = send_compact(&mut scripted, fork, first, &row).await;
    assert_eq!(ids, [spoiled.id]);
    scripted.send(&Message::Compact(compact)).await;
    scripted.send(&following(&row, vec![spoiled.body.as_ref().map(WireBody::from)])).await;
    (scripted, row)
}

#[tokio::test]
async fn an_event_whose_author_did_not_sign_it_refuses_the_document() {
    let (good, bad, team) = two(168);
    let (mut scripted, row) = with_entry(&good, &bad, team, |event, _| {
        let mut header = event.header.clone();
        header.author = ergo::domain::DeviceId([7; 32]);
        let body = event.body.clone().unwrap();
        SignedEvent::sign(header, body, &ed25519_dalek::SigningKey::from_bytes(&[99; 32])).unwrap()
    })
    .await;
    assert_eq!(refuses_the_document(&mut scripted, &row).await.code, RejectCode::BadEvent);
    assert_eq!(good.set(team, "api").0, 0);
    good.assert_sound();
}

#[tokio::test]
async fn an_event_of_another_team_is_quarantined_and_both_sides_are_notified() {
    let (good, bad, team) = two(170);
    let (mut scripted, _) = with_entry(&good, &bad, team, |event, bad| {
        let header = ergo::domain::Header { team: Some(EventId([9; 32])), ..event.header.clone() };
        SignedEvent::sign(header, event.body.clone().unwrap(), &bad.key).unwrap()
    })
    .await;
    scripted.good.until(|view| view.quarantined == 1).await;
    // After the offer of the other side arrived.
    scripted.send(&Message::Offer(frame::Offer::default())).await;
    let offer_message =
        scripted.receive(|message| matches!(message, Message::Offer(offer) if offer.waiting.is_some())).await;
    assert!(matches!(offer_message, Message::Offer(offer) if offer.waiting == Some(1)));
    assert_eq!(good.set(team, "api").0, 0);
    good.assert_sound();
}

#[tokio::test]
async fn a_redacted_body_is_sent_as_none() {
    let (a, b) = (Node::new(172), Node::new(173));
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    // Enough that what is left is still sent at once if a peer seems to know one change already (a Bloom filter's 1 %).
    a.facts("api", "mine", 700);
    let gone = a.fact("api", "secret", "not for anybody");
    let caller = ergo::api::Caller {
        org_id: "acme".into(),
        project: "api".into(),
        who: "ada".into(),
        ..ergo::api::Caller::default()
    };
    let act = ergo::api::ActRequest { caller, target: gone.to_hex(), reason: "gone".into(), ..Default::default() };
    a.engine.redact(act).unwrap();
    let frames = meet_tapped(&b, &a, team, |hello| hello).await;
    assert!(of(&frames, 13) >= 1, "{frames:?}");
    assert_eq!(a.set(team, "api"), b.set(team, "api"));
    assert!(b.engine.claim(&gone.to_hex()).unwrap().flags.redacted);
    b.assert_sound();
}
