//! A member's device that breaks the rules; the test writes its frames by hand.

use std::time::Duration;

use ergo::{
    domain::{
        EventId, SignedEvent,
        replica::{DocumentId, Month, SetDigest},
        roster::Role,
    },
    sync::{
        frame::{
            self, Bodies, DocumentMessage, DocumentOffer, Durable, EventPage, Message, Nudge, Offer, RejectCode,
            Rejection, SessionHello, TurnKind, Want, WireBody, WireEvent,
        },
        session::{DocumentKey, SessionCommand, SessionEnd, SessionLimits, SessionPhase, SessionSide},
    },
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
    time::timeout,
};

use super::nodes::{Node, Running, TEST_TIMEOUT, is_plain, meet, scope};

/// The other end of a session with `good`, in the name of a device.
pub(super) struct ScriptedPeer {
    pub(super) stream: DuplexStream,
    pub(super) good: Running,
}

impl ScriptedPeer {
    /// Opens the session and sends nothing.
    pub(super) fn new(good: &Node, bad: &Node, team: EventId) -> Self {
        Self::through(1024 * 1024, good, bad, team)
    }

    /// [`ScriptedPeer::new`] through a pipe with a buffer of `capacity` bytes.
    pub(super) fn through(capacity: usize, good: &Node, bad: &Node, team: EventId) -> Self {
        let (one, other) = duplex(capacity);
        Self { stream: one, good: good.session(SessionSide::Acceptor, bad, team, other) }
    }

    /// Opens the session, and exchanges greetings and rosters.
    pub(super) async fn after_rosters(good: &Node, bad: &Node, team: EventId) -> Self {
        Self::new(good, bad, team).exchange_rosters(team).await
    }

    pub(super) async fn exchange_rosters(mut self, team: EventId) -> Self {
        self.send(&hello(team)).await;
        self.send(&Message::Roster(EventPage { events: vec![], last: true, scope: None })).await;
        self.receive(|message| matches!(message, Message::Offer(_))).await;
        self
    }

    pub(super) async fn send(&mut self, message: &Message) {
        self.raw(&frame::encode(message).unwrap()).await;
    }

    pub(super) async fn raw(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    async fn next(&mut self) -> Option<Message> {
        let mut head = [0; frame::LENGTH];
        self.stream.read_exact(&mut head).await.ok()?;
        let mut body = vec![0; frame::length(head).unwrap()];
        self.stream.read_exact(&mut body).await.ok()?;
        Some(frame::decode(&body).unwrap())
    }

    /// Returns the next message that satisfies `wanted`.
    pub(super) async fn receive(&mut self, wanted: impl Fn(&Message) -> bool) -> Message {
        let listen = async {
            loop {
                match self.next().await {
                    Some(message) if wanted(&message) => return message,
                    Some(_) => {}
                    None => panic!("it hung up"),
                }
            }
        };
        timeout(TEST_TIMEOUT, listen).await.expect("it says nothing of the kind")
    }

    pub(super) async fn refusal(&mut self) -> Rejection {
        match self.receive(|message| matches!(message, Message::Error(_))).await {
            Message::Error(refused) => refused,
            _ => unreachable!(),
        }
    }

    /// Asserts that the session is rejected with this code, and that both sides report it.
    pub(super) async fn refused(mut self, code: RejectCode, case: &str) {
        let rejection = self.refusal().await;
        assert_eq!((rejection.code, rejection.document), (code.clone(), None), "{case}");
        assert!(is_plain(&rejection.reason), "{case}: {}", rejection.reason);
        match self.good.end().await {
            SessionEnd::Rejected(shown, _) => assert_eq!(shown, code, "{case}"),
            other => panic!("{case}: {other:?}"),
        }
    }
}

/// The first turn of an exchange.
fn first_turn(project: &str, month: Month, part: u32, exchange: u64, message: Vec<u8>) -> Message {
    let messages = vec![message.into()];
    Message::Doc(DocumentMessage { scope: scope(project), month, part, exchange, turn: TurnKind::First, messages })
}

fn hello(team: EventId) -> Message {
    Message::Hello(SessionHello { team: Some(team), versions: vec![1], ..SessionHello::default() })
}

fn events(events: &[SignedEvent], last: bool) -> EventPage {
    EventPage { events: events.iter().map(WireEvent::from).collect(), last, scope: None }
}

/// A team of two that shares `api`, which is empty, and keeps `web` from the second.
pub(super) fn two(n: u8) -> (Node, Node, EventId) {
    two_with(n, SessionLimits::default())
}

pub(super) fn two_with(n: u8, limits: SessionLimits) -> (Node, Node, EventId) {
    let (good, bad) = (Node::with(n, limits), Node::new(n + 1));
    let team = good.create_team(&["api", "web"]);
    good.admit(team, &bad, Role::Writer, Some(&["api"]));
    (good, bad, team)
}

fn written(node: &Node, team: EventId) -> Vec<SignedEvent> {
    node.engine.with_reader(|r| r.events_after(&team, &scope("api"), &[], None, 100)).unwrap().events
}

#[tokio::test]
async fn what_breaks_a_rule_ends_the_session_and_changes_nothing() {
    let (good, bad, team) = two(50);
    bad.facts("api", "theirs", 3);
    let mut forged = bad.roster(team);
    forged.last_mut().unwrap().signature[3] ^= 1;
    let claims = written(&bad, team);
    assert_eq!(claims.len(), 3);
    let ids: Vec<EventId> = (0..1001_u32).map(|n| EventId(*blake3::hash(&n.to_le_bytes()).as_bytes())).collect();
    let too_many = Want { scope: scope("api"), events: ids };
    let not_granted = Want { scope: scope("web"), events: vec![] };
    let mut asked = events(&claims, true);
    asked.scope = Some(scope("api"));
    let mut nonsense = frame::encode(&Message::Nudge(Nudge { state: [0; 32], clock: None })).unwrap();
    nonsense[6] ^= 0xff;
    let cases: Vec<(&str, Vec<u8>, RejectCode)> = vec![
        ("a forged event", frame::encode(&Message::Roster(events(&forged, true))).unwrap(), RejectCode::BadEvent),
        (
            "a claim among roster events",
            frame::encode(&Message::Roster(events(&claims, true))).unwrap(),
            RejectCode::BadEvent,
        ),
        ("events that nobody asked for", frame::encode(&Message::Events(asked)).unwrap(), RejectCode::Version),
        ("a scope that was not granted", frame::encode(&Message::Want(not_granted)).unwrap(), RejectCode::NotPaired),
        ("too many bodies", frame::encode(&Message::Want(too_many)).unwrap(), RejectCode::TooBig),
        (
            "a month that the calendar lacks",
            frame::encode(&first_turn("api", Month(202_613), 0, 0, vec![1])).unwrap(),
            RejectCode::Version,
        ),
        (
            "a part far beyond the others",
            frame::encode(&first_turn("api", Month(202_611), u32::MAX, 0, vec![1])).unwrap(),
            RejectCode::Version,
        ),
        ("a second greeting", frame::encode(&hello(team)).unwrap(), RejectCode::Version),
        ("an oversized frame", u32::MAX.to_le_bytes().to_vec(), RejectCode::TooBig),
        ("nonsense", nonsense, RejectCode::Version),
    ];
    for (case, bytes, code) in cases {
        let mut scripted = ScriptedPeer::after_rosters(&good, &bad, team).await;
        scripted.raw(&bytes).await;
        scripted.refused(code, case).await;
        assert_eq!(good.set(team, "api").0, 0, "{case}");
    }
    good.assert_sound();
    // It is let in again as soon as it behaves.
    meet(&bad, &good, team).await;
    assert_eq!(good.set(team, "api").0, 3);
}

#[tokio::test]
async fn a_session_begins_with_a_greeting_in_time() {
    let limits = SessionLimits { handshake: Duration::from_millis(300), ..SessionLimits::default() };
    let (good, bad, team) = two_with(52, limits);
    let mut scripted = ScriptedPeer::new(&good, &bad, team);
    scripted.send(&Message::Bye).await;
    assert_eq!(scripted.good.end().await, SessionEnd::ClosedByPeer);
    let mut scripted = ScriptedPeer::new(&good, &bad, team);
    scripted.send(&Message::Nudge(Nudge { state: [0; 32], clock: None })).await;
    scripted.refused(RejectCode::Version, "no greeting").await;
    let silent = ScriptedPeer::new(&good, &bad, team);
    assert!(matches!(silent.good.end().await, SessionEnd::Interrupted(_)), "a caller that says nothing");
    let mut half = ScriptedPeer::new(&good, &bad, team);
    half.send(&hello(team)).await;
    assert!(matches!(half.good.end().await, SessionEnd::Interrupted(_)), "a caller that stops before the roster");
    drop(half.stream);
}

#[tokio::test]
async fn a_report_about_a_document_that_nobody_has_is_ignored() {
    let (good, bad, team) = two(48);
    let mut scripted = ScriptedPeer::after_rosters(&good, &bad, team).await;
    scripted.send(&Message::Offer(Offer::default())).await;
    scripted.good.synced().await;
    let document = DocumentOffer {
        month: Month(209_901),
        part: 7,
        events: 1,
        heads: [7; 32],
        digest: SetDigest::of(&[EventId([7; 32])]),
    };
    for scope in [scope("api"), scope("nowhere")] {
        scripted.send(&Message::Durable(Durable { scope, document })).await;
    }
    scripted.send(&Message::Bye).await;
    let seen = scripted.good.seen.clone();
    assert_eq!(scripted.good.end().await, SessionEnd::ClosedByPeer);
    assert!(seen.borrow().in_sync, "{:?}", seen.borrow());
}

#[tokio::test]
async fn a_newer_minor_version_can_sync() {
    let (good, bad, team) = two(54);
    let mut scripted = ScriptedPeer::new(&good, &bad, team);
    let newer = SessionHello {
        minor: 9,
        features: vec!["telepathy".into()],
        versions: vec![1, 2],
        team: Some(team),
        ..SessionHello::default()
    };
    scripted.send(&Message::Hello(newer)).await;
    scripted.send(&Message::Unknown(99)).await;
    scripted.send(&Message::Roster(EventPage { events: vec![], last: true, scope: None })).await;
    scripted.send(&Message::Unknown(100)).await;
    scripted.send(&Message::Offer(Offer::default())).await;
    scripted.good.until(|view| view.phase == SessionPhase::Live).await;
    scripted.send(&Message::Bye).await;
    assert_eq!(scripted.good.end().await, SessionEnd::ClosedByPeer);
}

#[tokio::test]
async fn an_invalid_document_is_rejected_and_its_events_are_requested() {
    let (good, bad, team) = two(56);
    bad.facts("api", "theirs", 4);
    let claims = written(&bad, team);
    let mut scripted = ScriptedPeer::after_rosters(&good, &bad, team).await;
    let month = Month::of(claims[0].header.clock);
    let poison = DocumentMessage {
        scope: scope("api"),
        month,
        part: 0,
        exchange: 0,
        turn: TurnKind::First,
        messages: vec![b"no message of any document".to_vec().into()],
    };
    scripted.send(&Message::Doc(poison)).await;
    let rejection = scripted.refusal().await;
    assert_eq!(rejection.code, RejectCode::DocPoisoned);
    assert!(rejection.document.is_some(), "the session goes on");
    scripted.receive(|message| matches!(message, Message::WantSince(_))).await;
    let mut page = events(&claims, true);
    page.scope = Some(scope("api"));
    scripted.send(&Message::Events(page)).await;
    let view = scripted.good.until(|view| view.received == 4).await;
    assert!(view.problem.is_some(), "and it is said");
    assert_eq!(good.set(team, "api"), bad.set(team, "api"));
    // The others are unaffected, and so is the next session.
    drop(scripted);
    meet(&bad, &good, team).await;
    good.assert_sound();
}

#[tokio::test]
async fn a_body_that_is_not_the_events_own_is_refused() {
    let (good, bad, team) = two(58);
    bad.facts("api", "theirs", 2);
    bad.flush(team).await;
    let row = bad.engine.with_reader(|r| r.documents(&team, Some(&scope("api")))).unwrap().remove(0);
    let mut scripted = ScriptedPeer::after_rosters(&good, &bad, team).await;
    let (mut fork, first) = bad.context.documents.begin(row.id, good.device(), None, true).await.unwrap();
    let turn = |turn, message: Vec<u8>| {
        Message::Doc(DocumentMessage {
            scope: scope("api"),
            month: row.month,
            part: row.part,
            exchange: 0,
            turn,
            messages: vec![message.into()],
        })
    };
    scripted.send(&turn(TurnKind::First, first.unwrap())).await;
    let refused = loop {
        match scripted.receive(|_| true).await {
            Message::Doc(answer) => {
                for message in answer.messages {
                    if let Some(reply) = fork.message(message.into()).await.unwrap().reply {
                        scripted.send(&turn(TurnKind::Next, reply)).await;
                    }
                }
            }
            Message::Want(want) => {
                let body = || Some(WireBody { salt: [0; 16], bytes: vec![0xa0] });
                let bodies = want.events.into_iter().map(|id| (id, body())).collect();
                scripted.send(&Message::Bodies(Bodies { scope: scope("api"), bodies })).await;
            }
            Message::Error(refused) => break refused,
            _ => {}
        }
    };
    assert_eq!((refused.code, refused.document), (RejectCode::BadEvent, Some(row.id)));
    assert_eq!(good.set(team, "api").0, 0, "nothing of it was stored");
    drop(scripted);
    meet(&bad, &good, team).await;
    assert_eq!(good.set(team, "api").0, 2);
}

#[tokio::test]
async fn an_exchange_of_an_empty_document_stores_none() {
    let (good, bad, team) = two(85);
    let month = Month(202_001);
    let document = DocumentId::of(team, &scope("api"), month, 3);
    let mut scripted = ScriptedPeer::after_rosters(&good, &bad, team).await;
    let (mut fork, first) = bad.context.documents.begin(document, good.device(), None, true).await.unwrap();
    scripted.send(&first_turn("api", month, 3, 0, first.unwrap())).await;
    let mut equal = false;
    while !equal {
        let Message::Doc(answer) = scripted.receive(|message| matches!(message, Message::Doc(_))).await else {
            unreachable!()
        };
        for message in answer.messages {
            let step = fork.message(message.into()).await.unwrap();
            equal |= step.converged;
            if let Some(reply) = step.reply {
                let (scope, turn, messages) = (scope("api"), TurnKind::Next, vec![reply.into()]);
                scripted
                    .send(&Message::Doc(DocumentMessage { scope, month, part: 3, exchange: 0, turn, messages }))
                    .await;
            }
        }
    }
    scripted.send(&Message::Bye).await;
    assert_eq!(scripted.good.end().await, SessionEnd::ClosedByPeer);
    assert_eq!(good.engine.with_reader(|r| r.documents(&team, None)).unwrap(), []);
}

#[tokio::test]
async fn an_exchange_of_the_peer_is_not_replaced_by_a_queued_one_of_the_same_document() {
    let limits = SessionLimits { exchanges: 2, ..SessionLimits::default() };
    let (good, bad) = (Node::with(87, limits), Node::new(88));
    let projects = ["api", "lib", "web"];
    let team = good.create_team(&projects);
    good.admit(team, &bad, Role::Writer, None);
    for project in projects {
        good.fact(project, "mine", "by the called");
        bad.fact(project, "theirs", "by the caller");
    }
    good.flush(team).await;
    bad.flush(team).await;
    let mut scripted = ScriptedPeer::after_rosters(&good, &bad, team).await;
    let document =
        |project: &str| bad.engine.with_reader(|r| r.documents(&team, Some(&scope(project)))).unwrap().remove(0);
    let (api, lib, web) = (document("api"), document("lib"), document("web"));
    // Two exchanges are open, which is the limit: the third document waits in the queue of the called.
    for (project, row, number) in [("api", &api, 0), ("lib", &lib, 2)] {
        let (_, first) = bad.context.documents.begin(row.id, good.device(), None, true).await.unwrap();
        scripted.send(&first_turn(project, row.month, row.part, number, first.unwrap())).await;
        scripted.receive(|message| matches!(message, Message::Doc(_))).await;
    }
    let ids = good.engine.with_reader(|r| r.events_after(&team, &scope("web"), &[], None, 9)).unwrap().events;
    let key = DocumentKey { scope: scope("web"), month: web.month, part: web.part };
    let pushed = vec![(key, ids.into_iter().map(|event| event.id).collect())];
    scripted.good.commands.send(SessionCommand::Push(pushed)).unwrap();
    scripted.receive(|message| matches!(message, Message::Bodies(_))).await;
    // The caller begins the third, and gives up the others: now there is room for the queued one.
    let (mut fork, first) = bad.context.documents.begin(web.id, good.device(), None, true).await.unwrap();
    scripted.send(&first_turn("web", web.month, web.part, 4, first.unwrap())).await;
    for (project, row, exchange) in [("api", &api, 0), ("lib", &lib, 2)] {
        let (scope, month, part, turn, messages) = (scope(project), row.month, row.part, TurnKind::Aborted, vec![]);
        scripted.send(&Message::Doc(DocumentMessage { scope, month, part, exchange, turn, messages })).await;
    }
    let durable = loop {
        match scripted.receive(|_| true).await {
            Message::Doc(answer) if answer.scope == scope("web") => {
                assert_eq!(answer.exchange, 4, "the called side began its own over it");
                for message in answer.messages {
                    if let Some(reply) = fork.message(message.into()).await.unwrap().reply {
                        let (scope, month, part, messages) = (scope("web"), web.month, web.part, vec![reply.into()]);
                        let turn = TurnKind::Next;
                        scripted
                            .send(&Message::Doc(DocumentMessage { scope, month, part, exchange: 4, turn, messages }))
                            .await;
                    }
                }
            }
            Message::Want(want) => {
                let found = bad.engine.with_reader(|r| r.bodies(&team, &want.scope, &want.events)).unwrap();
                let bodies = found.into_iter().map(|(id, body)| (id, body.as_ref().map(WireBody::from))).collect();
                scripted.send(&Message::Bodies(Bodies { scope: want.scope, bodies })).await;
            }
            Message::Durable(durable) => break durable,
            _ => {}
        }
    };
    assert_eq!((durable.scope, good.set(team, "web").0), (scope("web"), 2));
}

#[tokio::test]
async fn a_peer_that_owes_an_answer_is_not_waited_for_for_ever() {
    let limits = SessionLimits { idle: Duration::from_millis(400), ..SessionLimits::default() };
    let (good, bad, team) = two_with(60, limits);
    good.facts("api", "mine", 1);
    good.flush(team).await;
    let row = good.engine.with_reader(|r| r.documents(&team, Some(&scope("api")))).unwrap().remove(0);
    let mut scripted = ScriptedPeer::after_rosters(&good, &bad, team).await;
    let (_fork, first) = bad.context.documents.begin(row.id, good.device(), None, true).await.unwrap();
    let messages = vec![first.unwrap().into()];
    let (month, part) = (row.month, row.part);
    let begun = DocumentMessage { scope: scope("api"), month, part, exchange: 0, turn: TurnKind::First, messages };
    scripted.send(&Message::Doc(begun)).await;
    scripted.receive(|message| matches!(message, Message::Doc(_))).await;
    let ScriptedPeer { stream, good: session } = scripted;
    match session.end().await {
        SessionEnd::Interrupted(reason) => assert!(reason.contains("longer than"), "{reason}"),
        other => panic!("{other:?}"),
    }
    drop(stream);
}

#[tokio::test]
async fn a_command_comes_before_what_the_peer_sends() {
    let (good, bad, team) = two(67);
    let mut scripted = ScriptedPeer::after_rosters(&good, &bad, team).await;
    // Both are ready when the session looks: a message that would end it with a rejection, and the command.
    scripted.send(&hello(team)).await;
    scripted.good.commands.send(SessionCommand::Stop).unwrap();
    assert_eq!(scripted.good.end().await, SessionEnd::Closed);
}

#[tokio::test]
async fn an_older_minor_version_can_sync() {
    let (good, bad, team) = two(62);
    bad.facts("api", "theirs", 3);
    good.facts("api", "mine", 2);
    let mut scripted = ScriptedPeer::new(&good, &bad, team);
    // The first version, saying nothing that may be left out.
    let mut hello = vec![0xa2, 0x00, 0x00, 0x03];
    minicbor::encode(team, &mut hello).unwrap();
    scripted.raw(&frame::frame(1, &hello).unwrap()).await;
    scripted.send(&Message::Roster(EventPage { events: vec![], last: true, scope: None })).await;
    scripted.receive(|message| matches!(message, Message::Offer(_))).await;
    // It knows no documents yet: it offers none, asks for plain events, and sends its own when it is asked.
    let chains = bad.engine.with_reader(|r| r.vector(&team, &scope("api"))).unwrap();
    let offer = frame::ScopeOffer { scope: scope("api"), chains, documents: vec![] };
    scripted.send(&Message::Offer(Offer { scopes: vec![offer], ..Offer::default() })).await;
    let since = frame::WantSince { scope: scope("api"), chains: vec![] };
    scripted.send(&Message::WantSince(since)).await;
    let Message::Events(page) = scripted.receive(|message| matches!(message, Message::Events(_))).await else {
        unreachable!()
    };
    assert_eq!((page.events.len(), page.last), (2, true), "it gets what there is");
    scripted.good.until(|view| view.phase == SessionPhase::Live).await;
    scripted.send(&Message::Bye).await;
    assert_eq!(scripted.good.end().await, SessionEnd::ClosedByPeer);
    good.assert_sound();
}

/// It asks for everything, and reads none of it.
async fn slow_peer(good: &Node, slow: &Node, team: EventId) -> ScriptedPeer {
    good.many(3, 1_000, 0);
    let mut scripted = ScriptedPeer::through(4 * 1024, good, slow, team).exchange_rosters(team).await;
    scripted.send(&Message::WantSince(frame::WantSince { scope: scope("api"), chains: vec![] })).await;
    scripted
}

#[tokio::test]
async fn one_slow_peer_does_not_block_the_others() {
    let (good, slow, team) = two(64);
    let third = Node::new(66);
    good.admit(team, &third, Role::Writer, None);
    let scripted = slow_peer(&good, &slow, team).await;
    meet(&third, &good, team).await;
    assert_eq!(third.set(team, "api"), good.set(team, "api"));
    let id = good.fact("api", "news", "while the slow one sleeps");
    meet(&third, &good, team).await;
    assert!(third.engine.claim(&id.to_hex()).is_ok());
    assert!(!scripted.good.ended.is_finished(), "the others did not wait for its end");
}

#[tokio::test]
async fn a_peer_that_reads_nothing_is_dropped_although_nothing_more_is_sent_to_it() {
    let (good, slow, team) = two_with(68, SessionLimits { idle: Duration::from_secs(2), ..SessionLimits::default() });
    let end = slow_peer(&good, &slow, team).await.good.end().await;
    assert!(matches!(end, SessionEnd::Interrupted(_)), "{end:?}");
}
