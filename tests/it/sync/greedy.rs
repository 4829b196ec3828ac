//! A member's device that takes memory, time or bandwidth, and files that do so. The limits end that.

use std::time::Duration;

use ergo::{
    api::ErrorCode,
    domain::{
        DeviceId, EventId, Scope, SignedEvent,
        replica::{Chain, ChainEnd, DocumentId, SetDigest},
        roster::{Role, RosterChange},
    },
    sync::{
        bundle::{BundleManifest, BundlePlan, BundleWriter, SectionHead},
        compact,
        frame::{
            self, DocumentMessage, EventPage, Message, Offer, RejectCode, Rejection, SessionHello, TurnKind, WantSince,
        },
        pairing::MAX_ROSTER_EVENTS,
        session::{SessionCommand, SessionEnd, SessionLimits},
        transfer,
    },
};
use tokio::{io::AsyncReadExt, time::timeout};

use super::{
    hostile::{ScriptedPeer, two, two_with},
    nodes::{Node, connect, scope},
};
use crate::support::eventually;

/// Reads the types of all further messages, until the other side closes the stream or sends nothing for a while.
async fn rest(scripted: &mut ScriptedPeer) -> Vec<u8> {
    let mut kinds = Vec::new();
    loop {
        let mut head = [0; frame::LENGTH];
        let mut body = Vec::new();
        let read = async {
            scripted.stream.read_exact(&mut head).await?;
            body.resize(frame::length(head).unwrap(), 0);
            scripted.stream.read_exact(&mut body).await
        };
        match timeout(Duration::from_secs(1), read).await {
            Ok(Ok(_)) => kinds.push(body[0] & !frame::PACKED),
            _ => return kinds,
        }
    }
}

fn count(kinds: &[u8], name: &str) -> usize {
    kinds.iter().filter(|kind| frame::name(**kind) == name).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_roster_that_changes_while_it_is_sent_arrives_whole() {
    let (a, b) = (Node::new(170), Node::new(171));
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    let (mut x, mut y) = connect(&a, &b, team);
    x.synced().await;
    y.synced().await;
    tokio::task::block_in_place(|| {
        for n in 0..200 {
            x.commands.send(SessionCommand::Roster).unwrap();
            a.change(Some(team), RosterChange::Rename { device: None, name: format!("acme {n}") });
        }
    });
    x.commands.send(SessionCommand::Roster).unwrap();
    let expected = a.roster(team).len();
    eventually("the whole roster has arrived", async || b.roster(team).len() == expected).await;
}

#[tokio::test]
async fn the_bodies_of_a_refused_document_are_not_sent() {
    // Bodies are read only when nothing is unsent.
    let (good, bad, team) = two_with(172, SessionLimits { queue: 1, ..SessionLimits::default() });
    good.many(3, 1_000, 0);
    good.flush(team).await;
    let row = good.engine.with_reader(|r| r.documents(&team, Some(&scope("api")))).unwrap().remove(0);
    let mut scripted = ScriptedPeer::through(4 * 1024, &good, &bad, team);
    let features = vec![compact::FEATURE.to_owned()];
    scripted
        .send(&Message::Hello(SessionHello {
            team: Some(team),
            features,
            versions: vec![1],
            ..SessionHello::default()
        }))
        .await;
    scripted.send(&Message::Roster(EventPage { events: vec![], last: true, scope: None })).await;
    scripted.receive(|message| matches!(message, Message::Offer(_))).await;
    let turn = |turn, message: Vec<u8>| {
        let messages = vec![message.into()];
        let (month, part) = (row.month, row.part);
        Message::Doc(DocumentMessage { scope: scope("api"), month, part, exchange: 0, turn, messages })
    };
    let (mut fork, first) = bad.context.documents.begin(row.id, good.device(), None, true).await.unwrap();
    scripted.send(&turn(TurnKind::First, first.unwrap())).await;
    // Until all entries come in one turn, whose bodies follow.
    while let Message::Doc(answer) =
        scripted.receive(|message| matches!(message, Message::Doc(_) | Message::Compact(_))).await
    {
        for message in answer.messages {
            if let Some(reply) = fork.message(message.into()).await.unwrap().reply {
                scripted.send(&turn(TurnKind::Next, reply)).await;
            }
        }
    }
    scripted.send(&turn(TurnKind::Next, b"no message of any document".to_vec())).await;
    // The first page of bodies may be on its way.
    scripted.receive(|message| matches!(message, Message::WantSince(_))).await;
    assert_eq!(count(&rest(&mut scripted).await, "FOLLOWING_BODIES"), 0);
}

#[tokio::test]
async fn a_peer_that_asks_for_offers_and_reads_nothing_is_owed_one() {
    let (good, bad, team) = two_with(174, SessionLimits { queue: 1, ..SessionLimits::default() });
    let mut scripted = ScriptedPeer::through(64, &good, &bad, team).exchange_rosters(team).await;
    for _ in 0..60 {
        scripted.send(&Message::Offer(Offer { reply: true, ..Offer::default() })).await;
    }
    scripted.receive(|message| matches!(message, Message::Offer(_))).await;
    scripted.send(&Message::Bye).await;
    let offers = count(&rest(&mut scripted).await, "OFFER");
    assert!(offers < 20, "{offers} offers");
}

#[tokio::test]
async fn a_request_that_names_too_many_chains_is_rejected() {
    let (good, bad, team) = two(176);
    let mut scripted = ScriptedPeer::after_rosters(&good, &bad, team).await;
    let chain = Chain { author: DeviceId([1; 32]), epoch: 1, adopted: false };
    let chains = vec![ChainEnd { chain, next: 1, head: None }; 100_001];
    scripted.send(&Message::WantSince(WantSince { scope: scope("api"), chains })).await;
    scripted.refused(RejectCode::TooBig, "too many chains").await;
}

#[tokio::test]
async fn the_rejection_of_an_unknown_document_is_ignored() {
    let (good, bad, team) = two(178);
    let mut scripted = ScriptedPeer::after_rosters(&good, &bad, team).await;
    scripted.send(&Message::Offer(Offer::default())).await;
    scripted.good.synced().await;
    let document = Some(DocumentId([9; 32]));
    let rejection = Rejection { code: RejectCode::DocPoisoned, reason: "x".repeat(9_000), document };
    scripted.send(&Message::Error(rejection)).await;
    scripted.send(&Message::Bye).await;
    let seen = scripted.good.seen.clone();
    assert_eq!(scripted.good.end().await, SessionEnd::ClosedByPeer);
    assert_eq!(seen.borrow().problem, None);
}

#[tokio::test]
async fn a_body_is_requested_once_although_a_turn_comes_again() {
    let (good, bad, team) = two(180);
    bad.facts("api", "theirs", 2);
    bad.flush(team).await;
    let row = bad.engine.with_reader(|r| r.documents(&team, Some(&scope("api")))).unwrap().remove(0);
    let mut scripted = ScriptedPeer::after_rosters(&good, &bad, team).await;
    let turn = |turn, message: Vec<u8>| {
        let messages = vec![message.into()];
        let (month, part) = (row.month, row.part);
        Message::Doc(DocumentMessage { scope: scope("api"), month, part, exchange: 0, turn, messages })
    };
    let (mut fork, first) = bad.context.documents.begin(row.id, good.device(), None, true).await.unwrap();
    let mut last = first.unwrap();
    scripted.send(&turn(TurnKind::First, last.clone())).await;
    while let Message::Doc(answer) =
        scripted.receive(|message| matches!(message, Message::Doc(_) | Message::Want(_))).await
    {
        for message in answer.messages {
            if let Some(reply) = fork.message(message.into()).await.unwrap().reply {
                last = reply;
                scripted.send(&turn(TurnKind::Next, last.clone())).await;
            }
        }
    }
    // The same turn again, in which nothing is new.
    for _ in 0..3 {
        scripted.send(&turn(TurnKind::Next, last.clone())).await;
    }
    scripted.send(&Message::Bye).await;
    assert_eq!(count(&rest(&mut scripted).await, "WANT"), 0);
}

/// A file of `maker` that is not encrypted: the roster's scope with `roster` events, and `api` with `api`.
fn file(maker: &Node, team: EventId, roster: &[SignedEvent], api: &[SignedEvent]) -> Vec<u8> {
    let head = |scope: Scope, events: &[SignedEvent]| SectionHead {
        scope,
        events: events.len() as u64,
        ends: vec![],
        digest: SetDigest::default(),
    };
    let roster_scope = maker.roster(team)[0].header.scope.clone();
    let plan = BundlePlan {
        team,
        created: 1,
        seed: [7; 32],
        recipients: None,
        manifest: BundleManifest::default(),
        heads: vec![head(roster_scope, roster), head(scope("api"), api)],
    };
    let mut writer = BundleWriter::new(Vec::new(), &maker.key, plan).unwrap();
    for (section, events) in [(0, roster), (1, api)] {
        for event in events {
            writer.push(section, event.clone()).unwrap();
        }
    }
    writer.finish().unwrap().1
}

#[tokio::test]
async fn the_roster_of_a_file_has_a_limit() {
    let node = Node::new(182);
    let team = node.create_team(&["api"]);
    let event = node.roster(team).remove(0);
    let with = |count: usize| {
        let bytes = file(&node, team, &vec![event.clone(); count], &[]);
        transfer::roster_in(bytes.as_slice(), &node.key)
    };
    assert_eq!(with(3).unwrap().events.len(), 3);
    assert_eq!(with(MAX_ROSTER_EVENTS + 1).unwrap_err().code, ErrorCode::TooLarge);
}

#[tokio::test]
async fn of_many_forged_events_in_a_file_the_first_are_named_and_the_others_counted() {
    let (good, bad, team) = two(184);
    bad.facts("api", "theirs", 31);
    let mut events = bad.engine.with_reader(|r| r.events_after(&team, &scope("api"), &[], None, 100)).unwrap().events;
    for event in events.iter_mut().skip(1) {
        event.signature[3] ^= 1;
    }
    let done = transfer::import(&good.engine, file(&bad, team, &[], &events).as_slice()).unwrap();
    assert_eq!((done.stored, done.problems.len()), (1, 21), "{:?}", done.problems);
    assert_eq!(done.problems[20], "10 more events of the file are invalid");
}

#[tokio::test]
async fn a_peer_for_whom_too_much_is_unsent_is_disconnected() {
    let (good, bad, team) = two_with(186, SessionLimits { unsent: 16 * 1024, ..SessionLimits::default() });
    let mut scripted = ScriptedPeer::through(64, &good, &bad, team).exchange_rosters(team).await;
    // Each of them is answered with a short message.
    let month = ergo::domain::replica::Month(202_611);
    let turn = |exchange| {
        let messages = vec![vec![1_u8].into()];
        let turn = TurnKind::First;
        Message::Doc(DocumentMessage { scope: scope("web"), month, part: 0, exchange, turn, messages })
    };
    let send = async {
        for exchange in 0..2_000 {
            let bytes = frame::encode(&turn(exchange * 2)).unwrap();
            if tokio::io::AsyncWriteExt::write_all(&mut scripted.stream, &bytes).await.is_err() {
                return;
            }
        }
    };
    // The session stops reading when it ends.
    let _sent = timeout(Duration::from_secs(30), send).await;
    let end = scripted.good.end().await;
    assert!(matches!(&end, SessionEnd::Interrupted(why) if why.contains("too slowly")), "{end:?}");
}
