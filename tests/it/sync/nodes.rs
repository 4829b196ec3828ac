//! A device of a team under test: an engine on its own file, the worker, and what sessions need.

use std::sync::{
    Arc,
    atomic::{AtomicI64, AtomicUsize, Ordering},
};

use ed25519_dalek::SigningKey;
use ergo::{
    api::{Caller, RememberRequest, WriteOutcome},
    domain::{
        Body, ClaimKind, DeviceId, EventId, EventKind, OpId, Scope, SignedEvent,
        replica::{DocumentId, SetDigest},
        roster::{Grant, Granted, Role, RosterChange},
    },
    engine::{Engine, EngineConfig},
    store::{Act, DocumentChunk, EventDraft, RosterDraft},
    sync::{
        frame, index,
        session::{
            self, PeerEvent, SessionCommand, SessionEnd, SessionLimits, SessionPhase, SessionSide, SessionView,
            SyncContext,
        },
        worker::{DocumentStore, Documents, WorkerOptions},
    },
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, duplex},
    sync::{mpsc, watch},
};

use crate::support::PROGRAM;
pub(crate) use crate::support::TEST_TIMEOUT;

/// Whether a reason says something, without the names of messages.
pub fn is_plain(reason: &str) -> bool {
    let names: Vec<&str> = (1..=14).map(ergo::sync::frame::name).collect();
    !reason.is_empty() && !reason.split(' ').any(|word| names.contains(&word))
}

pub fn scope(project: &str) -> Scope {
    Scope { org_id: "acme".into(), project: project.into() }
}

pub fn worker() -> WorkerOptions {
    WorkerOptions { program: PROGRAM.into(), ..WorkerOptions::standard() }
}

struct NodeDocuments(Arc<Engine>);

/// The documents of a store, one of which cannot be read.
struct WithoutOne(Arc<Engine>, DocumentId);

impl DocumentStore for WithoutOne {
    fn chunks(&self, document: DocumentId) -> Result<Vec<Vec<u8>>, String> {
        if document == self.1 {
            return Err("the disk is unreadable here".to_owned());
        }
        NodeDocuments(Arc::clone(&self.0)).chunks(document)
    }
}

impl DocumentStore for NodeDocuments {
    fn chunks(&self, document: DocumentId) -> Result<Vec<Vec<u8>>, String> {
        let chunks = self.0.with_reader(|r| r.document_chunks(&document)).map_err(|error| error.to_string())?;
        let bytes = |chunk| match chunk {
            DocumentChunk::Append(bytes) | DocumentChunk::Snapshot(bytes) => bytes,
        };
        Ok(chunks.into_iter().map(bytes).collect())
    }
}

/// A device with a store, which is deleted with this value.
pub struct Node {
    dir: TempDir,
    pub key: SigningKey,
    pub engine: Arc<Engine>,
    pub context: SyncContext,
    pub peer_events: mpsc::UnboundedReceiver<PeerEvent>,
    ops: AtomicUsize,
}

impl Node {
    pub fn new(n: u8) -> Self {
        Self::with(n, SessionLimits::default())
    }

    pub fn with(n: u8, limits: SessionLimits) -> Self {
        Self::made(n, limits, None)
    }

    /// A device whose clock is wrong by this many milliseconds; it can be corrected.
    pub fn with_clock(n: u8, away: &Arc<AtomicI64>) -> Self {
        Self::made(n, SessionLimits::default(), Some(Arc::clone(away)))
    }

    fn made(n: u8, limits: SessionLimits, away: Option<Arc<AtomicI64>>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let key = SigningKey::from_bytes(&[n; 32]);
        let mut config = EngineConfig { durable: false, ..EngineConfig::new(dir.path().join("ergo.db"), key.clone()) };
        if let Some(away) = away {
            let right = Arc::clone(&config.clock);
            config.clock = Arc::new(move || right().saturating_add_signed(away.load(Ordering::Relaxed)));
        }
        let engine = Arc::new(Engine::open(config).unwrap());
        let (send, peer_events) = mpsc::unbounded_channel();
        let documents = Documents::new(worker(), Arc::new(NodeDocuments(Arc::clone(&engine))));
        let context =
            SyncContext { engine: Arc::clone(&engine), documents, instance: u64::from(n), limits, peer_events: send };
        Self { dir, key, engine, context, peer_events, ops: AtomicUsize::new(0) }
    }

    pub fn device(&self) -> DeviceId {
        self.engine.device()
    }

    /// With a worker that has nothing in memory, as after a restart.
    pub fn restarted(mut self) -> Self {
        self.context.documents = Documents::new(worker(), Arc::new(NodeDocuments(Arc::clone(&self.engine))));
        self
    }

    /// With a worker that cannot read this document.
    pub fn without(mut self, document: DocumentId) -> Self {
        self.context.documents = Documents::new(worker(), Arc::new(WithoutOne(Arc::clone(&self.engine), document)));
        self
    }

    /// Another worker on the same store, with nothing loaded.
    pub fn beside(&self) -> SyncContext {
        let documents = Documents::new(worker(), Arc::new(NodeDocuments(Arc::clone(&self.engine))));
        SyncContext { documents, ..self.context.clone() }
    }

    pub fn change(&self, team: Option<EventId>, change: RosterChange) -> EventId {
        let mut op = [0; 16];
        op[0] = u8::try_from(self.ops.fetch_add(1, Ordering::Relaxed)).unwrap();
        op[1..9].copy_from_slice(&self.device().0[..8]);
        let now = self.engine.now();
        let draft = RosterDraft { team, change, who: "ada".into(), agent: None, reason: None, op: OpId(op), now };
        self.engine.with_store(|store| store.commit_roster(draft)).unwrap().0
    }

    /// Makes a team that shares these projects.
    pub fn create_team(&self, projects: &[&str]) -> EventId {
        let name = format!("device-{}", self.device().short());
        let change = RosterChange::Create { name: "acme".into(), person: "ada".into(), device_name: name };
        let team = self.change(None, change);
        for project in projects {
            let heads = self.engine.with_reader(|r| r.heads_of(&scope(project))).unwrap();
            self.change(Some(team), RosterChange::Adopt { scope: scope(project), identity: None, heads });
        }
        team
    }

    /// Admits another device, and gives it the roster.
    pub fn admit(&self, team: EventId, other: &Self, role: Role, projects: Option<&[&str]>) {
        let scopes = projects.map_or(Granted::All, |all| Granted::Only(all.iter().map(|p| scope(p)).collect()));
        let device = other.device();
        let name = format!("device-{}", device.short());
        let grant = Grant { role, scopes };
        self.change(Some(team), RosterChange::Add { device, person: "bob".into(), name, grant });
        let (events, now) = (self.roster(team), other.engine.now());
        other.engine.with_store(|store| store.join_team(team, &events, Some(self.device()), now)).unwrap();
    }

    pub fn roster(&self, team: EventId) -> Vec<SignedEvent> {
        let read = self.engine.with_reader(|r| {
            let roster = r.roster(&team)?.unwrap();
            r.events_after(&team, roster.scope(), &[], None, 10_000)
        });
        read.unwrap().events
    }

    /// Writes a fact; answers with its id.
    pub fn fact(&self, project: &str, key: &str, statement: &str) -> EventId {
        self.claim(project, |request| {
            request.kind = Some(ergo::domain::ClaimKind::Fact);
            request.key = Some(key.to_owned());
            // The same statement twice would be one claim.
            request.statement = format!("{key}: {statement}");
        })
    }

    pub fn claim(&self, project: &str, fill: impl FnOnce(&mut RememberRequest)) -> EventId {
        let caller = Caller { org_id: "acme".into(), project: project.into(), who: "ada".into(), ..Caller::default() };
        let mut request = RememberRequest { caller, ..RememberRequest::default() };
        fill(&mut request);
        match self.engine.remember(request).unwrap() {
            WriteOutcome::Stored(stored) => stored.claim_id,
            other => panic!("{other:?}"),
        }
    }

    pub fn facts(&self, project: &str, name: &str, count: usize) {
        for n in 0..count {
            self.fact(project, &format!("{name}-{n}"), &format!("{name} {n} is what it is"));
        }
    }

    /// Writes `facts` facts in each of `acts` acts past the guard, `apart` milliseconds after each other.
    pub fn many(&self, acts: u64, facts: usize, apart: u64) {
        let start = self.engine.now();
        for n in 0..acts {
            let fact = |m: usize| {
                let (key, statement) = (format!("host{n}-{m}"), format!("host{n}-{m} is up."));
                let body = Body { key: Some(key), statement: Some(statement), ..Body::default() };
                EventDraft { claim_kind: Some(ClaimKind::Fact), body, ..EventDraft::new(EventKind::FactSet, []) }
            };
            let mut op = [0xaa; 16];
            op[0] = u8::try_from(n).unwrap();
            let act = Act {
                scope: scope("api"),
                identity: None,
                who: "bob".into(),
                agent: None,
                op: OpId(op),
                now: start + n * apart,
                drafts: (0..facts).map(fact).collect(),
            };
            self.engine.with_store(|store| store.commit(act)).unwrap();
        }
    }

    pub fn set(&self, team: EventId, project: &str) -> (usize, SetDigest) {
        self.engine.with_reader(|r| r.set(&team, &scope(project))).unwrap()
    }

    pub async fn flush(&self, team: EventId) {
        index::flush(&self.context, team).await.unwrap();
    }

    /// Whether any file of the store contains a text, documents included.
    pub fn holds(&self, text: &str) -> bool {
        std::fs::read_dir(self.dir.path()).unwrap().any(|entry| {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap_or_default();
            bytes.windows(text.len()).any(|window| window == text.as_bytes())
        })
    }

    /// Asserts that the store is sound.
    pub fn assert_sound(&self) {
        let problems = self.engine.with_store(|store| store.check()).unwrap().problems;
        assert_eq!(problems, Vec::<String>::new());
    }

    /// Greets and runs one side of a session.
    pub fn session(&self, side: SessionSide, peer: &Self, team: EventId, stream: DuplexStream) -> Running {
        session(&self.context, side, peer.device(), team, stream)
    }
}

/// Greets a peer and runs one side of a session with it.
pub fn session(
    context: &SyncContext,
    side: SessionSide,
    peer: DeviceId,
    team: EventId,
    stream: DuplexStream,
) -> Running {
    let (commands, heard) = mpsc::unbounded_channel();
    let (view, seen) = watch::channel(SessionView::default());
    let context = context.clone();
    let team = (side == SessionSide::Dialler).then_some(team);
    let ended = tokio::spawn(async move {
        let (reader, writer) = tokio::io::split(stream);
        match session::handshake(&context, side, peer, team, reader, writer).await {
            Ok(established) => session::run(&context, established, heard, view).await,
            Err(ended) => ended,
        }
    });
    Running { commands, seen, ended }
}

/// One side of a running session.
pub struct Running {
    pub commands: mpsc::UnboundedSender<SessionCommand>,
    pub seen: watch::Receiver<SessionView>,
    pub ended: tokio::task::JoinHandle<SessionEnd>,
}

impl Running {
    /// Waits until the view satisfies `so`.
    pub async fn until(&mut self, so: impl FnMut(&SessionView) -> bool) -> SessionView {
        match tokio::time::timeout(TEST_TIMEOUT, self.seen.wait_for(so)).await {
            Ok(Ok(view)) => return view.clone(),
            Ok(Err(_)) => panic!("the session is over"),
            Err(_) => {}
        }
        panic!("it did not come to that: {:?}", self.seen.borrow());
    }

    pub async fn synced(&mut self) -> SessionView {
        self.until(|view| view.phase == SessionPhase::Live && view.in_sync).await
    }

    pub async fn end(self) -> SessionEnd {
        tokio::time::timeout(TEST_TIMEOUT, self.ended).await.expect("the session goes on").unwrap()
    }
}

/// A session between two devices that are let in: `a` dials.
pub fn connect(a: &Node, b: &Node, team: EventId) -> (Running, Running) {
    let (one, other) = duplex(64 * 1024);
    (a.session(SessionSide::Dialler, b, team, one), b.session(SessionSide::Acceptor, a, team, other))
}

/// Lets two devices sync until both report that they have the same events.
pub async fn meet(a: &Node, b: &Node, team: EventId) -> (SessionView, SessionView) {
    a.flush(team).await;
    b.flush(team).await;
    let (mut x, mut y) = connect(a, b, team);
    let views = (x.synced().await, y.synced().await);
    x.commands.send(SessionCommand::Stop).unwrap();
    assert_eq!((x.end().await, y.end().await), (SessionEnd::Closed, SessionEnd::ClosedByPeer));
    views
}

/// A connection that is cut after this many frames, in both directions together. Returns whether it was cut.
pub fn connect_cut(a: &Node, b: &Node, team: EventId, frames: usize) -> (Running, Running, Arc<AtomicUsize>) {
    let (one, other, passed) = pipe(frames);
    (a.session(SessionSide::Dialler, b, team, one), b.session(SessionSide::Acceptor, a, team, other), passed)
}

/// The two ends of a stream that is cut after this many frames, and the count of those that passed.
pub fn pipe(frames: usize) -> (DuplexStream, DuplexStream, Arc<AtomicUsize>) {
    let ((one, left), (right, other)) = (duplex(64 * 1024), duplex(64 * 1024));
    let passed = Arc::new(AtomicUsize::new(0));
    let ((from_a, to_a), (from_b, to_b)) = (tokio::io::split(left), tokio::io::split(right));
    let (over, _) = tokio::sync::broadcast::channel::<()>(1);
    for (from, to) in [(from_a, to_b), (from_b, to_a)] {
        let (passed, over, mut cut) = (Arc::clone(&passed), over.clone(), over.subscribe());
        tokio::spawn(async move {
            tokio::select! {
                () = relay(from, to, &passed, frames) => drop(over.send(())),
                _ = cut.recv() => {}
            }
        });
    }
    (one, other, passed)
}

async fn relay(mut from: ReadHalf<DuplexStream>, mut to: WriteHalf<DuplexStream>, passed: &AtomicUsize, frames: usize) {
    loop {
        let mut head = [0; frame::LENGTH];
        if from.read_exact(&mut head).await.is_err() || passed.fetch_add(1, Ordering::SeqCst) >= frames {
            return;
        }
        let mut body = vec![0; frame::length(head).unwrap()];
        if from.read_exact(&mut body).await.is_err() {
            return;
        }
        if to.write_all(&[&head[..], &body].concat()).await.is_err() {
            return;
        }
    }
}
