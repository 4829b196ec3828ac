//! The process that holds the replication index, with hostile peers, system limits and signals.

use std::{
    collections::HashMap,
    io::Write,
    path::Path,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use ed25519_dalek::SigningKey;
use ergo::{
    domain::{
        Body, DeviceId, EventId, EventKind, Header, Hlc, OpId, Scope, SignedEvent, event::VERSION, replica::DocumentId,
    },
    sync::{
        document::{ChunkUpdate, DocumentEntry},
        worker::{DocumentError, DocumentSession, DocumentStore, Documents, StagedDocument, WorkerOptions},
    },
};
use rustix::process::Signal;

use crate::support::{PROGRAM, eventually, signal, stop, until, until_input_waits};

const ONE: DocumentId = DocumentId([1; 32]);
const TWO: DocumentId = DocumentId([2; 32]);
const PEER: DeviceId = DeviceId([7; 32]);

/// Entries of events of a device.
fn entries(device: u8, seqs: std::ops::Range<u64>) -> Vec<DocumentEntry> {
    let key = SigningKey::from_bytes(&[device; 32]);
    let event = |seq: u64| {
        let header = Header {
            version: VERSION,
            team: Some(EventId([9; 32])),
            scope: Scope { org_id: "acme".into(), project: "api".into() },
            author: DeviceId(key.verifying_key().to_bytes()),
            epoch: 1,
            seq,
            prev: Some(EventId(*blake3::hash(&seq.to_le_bytes()).as_bytes())),
            clock: Hlc { wall: 1_790_000_000_000 + seq, count: 0 },
            kind: EventKind::Assert,
            op: OpId([device; 16]),
            targets: vec![],
            successor: None,
            seen: vec![],
            claim_kind: None,
            key_hash: None,
            who: "ada".into(),
            agent: Some("an agent".into()),
            body_hash: EventId([0; 32]),
        };
        SignedEvent::sign(header, Body::default().seal([device; 16]), &key).unwrap()
    };
    seqs.map(|seq| DocumentEntry::of(&event(seq))).collect()
}

/// The stored chunks of documents.
#[derive(Default)]
struct Store(Mutex<HashMap<DocumentId, Vec<Vec<u8>>>>);

impl DocumentStore for Store {
    fn chunks(&self, document: DocumentId) -> Result<Vec<Vec<u8>>, String> {
        Ok(self.0.lock().unwrap().get(&document).cloned().unwrap_or_default())
    }
}

/// One laptop.
struct Side {
    documents: Documents,
    store: Arc<Store>,
}

impl Side {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(set_up: impl FnOnce(&mut WorkerOptions)) -> Self {
        // Long enough for a busy machine.
        let mut options =
            WorkerOptions { program: PROGRAM.into(), deadline: Duration::from_mins(2), ..WorkerOptions::standard() };
        set_up(&mut options);
        let store = Arc::new(Store::default());
        Self { documents: Documents::new(options, Arc::clone(&store) as Arc<dyn DocumentStore>), store }
    }

    async fn take(&self, document: DocumentId, staged: StagedDocument) {
        {
            let mut store = self.store.0.lock().unwrap();
            match staged.chunk.clone() {
                Some(ChunkUpdate::Append(bytes)) => store.entry(document).or_default().push(bytes),
                Some(ChunkUpdate::Snapshot(bytes)) => _ = store.insert(document, vec![bytes]),
                None => {}
            }
        }
        staged.commit().await;
    }

    async fn write(&self, document: DocumentId, new: Vec<DocumentEntry>) {
        let staged = self.documents.append(document, new).await.unwrap();
        self.take(document, staged).await;
    }

    async fn count(&self, document: DocumentId) -> u64 {
        self.documents.summary(document).await.unwrap().entries
    }

    fn pid(&self) -> u32 {
        self.documents.info().pid.unwrap()
    }
}

/// Passes the messages between two sides until neither has more.
async fn talk(
    ours: &mut DocumentSession,
    theirs: &mut DocumentSession,
    first: Option<Vec<u8>>,
) -> Result<(), DocumentError> {
    let (mut message, mut turn) = (first, 0);
    while let Some(bytes) = message {
        turn += 1;
        let session = if turn % 2 == 1 { &mut *theirs } else { &mut *ours };
        message = session.message(bytes).await?.reply;
    }
    Ok(())
}

/// A whole exchange; how many events came to each.
async fn exchange(a: &Side, b: &Side, document: DocumentId) -> Result<(usize, usize), DocumentError> {
    let (mut ours, first) = a.documents.begin(document, PEER, None, true).await?;
    let (mut theirs, _) = b.documents.begin(document, PEER, None, false).await?;
    talk(&mut ours, &mut theirs, first).await?;
    let (ours, theirs) = (ours.end().await?, theirs.end().await?);
    let came = (ours.new.len(), theirs.new.len());
    a.take(document, ours).await;
    b.take(document, theirs).await;
    Ok(came)
}

/// The bytes that a line of a process's status reports.
fn memory(pid: u32, line: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|found| found.strip_prefix(line)).unwrap();
    line.trim_matches(|c: char| !c.is_ascii_digit()).parse::<u64>().unwrap() * 1024
}

#[tokio::test]
async fn two_processes_exchange_an_index() {
    let (a, b) = (Side::new(), Side::new());
    a.write(ONE, entries(1, 0..1500)).await;
    b.write(ONE, entries(2, 0..3)).await;
    assert_eq!(exchange(&a, &b, ONE).await.unwrap(), (3, 1500));
    assert_eq!((a.count(ONE).await, b.count(ONE).await), (1503, 1503));
    assert_eq!(exchange(&a, &b, ONE).await.unwrap(), (0, 0));
}

#[tokio::test]
async fn a_bomb_is_refused_and_the_worker_lives() {
    let side = Side::new();
    side.write(ONE, entries(1, 0..3)).await;
    let (pid, before) = (side.pid(), memory(side.pid(), "VmHWM:"));
    // A million operations in a few bytes: a change with one run of an action. Only its count is read.
    let columns = [&[1_u8, 0x42, 4][..], &[0xc0, 0x84, 0x3d, 1]].concat();
    let mut body = [&[0_u8, 16][..], &[5; 16], &[1, 3, 0, 0, 0]].concat();
    body.extend(columns);
    let chunk = [&[0x85_u8, 0x6f, 0x4a, 0x83, 0, 0, 0, 0, 1, body.len() as u8][..], &body].concat();
    let bomb = [&[0x42_u8, 0, 0, 0, 1, chunk.len() as u8][..], &chunk].concat();
    let zeros = [&[0x42_u8, 0, 0, 0, 1, 0x0c, 0x85, 0x6f, 0x4a, 0x83, 0, 0, 0, 0, 2, 1, 0, 0][..]].concat();
    for (message, code) in [(bomb, "op_bomb"), (zeros, "chunk"), (vec![0x43; 20], "version"), (vec![7; 9], "malformed")]
    {
        let (mut session, _) = side.documents.begin(ONE, PEER, None, false).await.unwrap();
        let error = session.message(message).await.unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().contains("Nothing of this session was accepted"), "{error}");
    }
    assert_eq!((side.pid(), side.count(ONE).await), (pid, 3));
    assert!(memory(pid, "VmHWM:") < before + 8 * 1024 * 1024);
}

#[tokio::test]
async fn a_worker_that_is_killed_in_the_middle_costs_that_call() {
    let (side, peer) = (Side::new(), Side::new());
    side.write(ONE, entries(1, 0..5)).await;
    peer.write(TWO, entries(2, 0..5)).await;
    let (mut waiting, first) = side.documents.begin(TWO, PEER, None, true).await.unwrap();
    let (mut theirs, _) = peer.documents.begin(TWO, PEER, None, false).await.unwrap();
    let (mut session, _) = side.documents.begin(ONE, PEER, None, false).await.unwrap();
    let pid = side.pid();
    // Stopped, so that it is certainly in the middle.
    stop(pid);
    let call = tokio::spawn(async move { session.message(vec![0x42, 0, 0, 0, 0]).await });
    tokio::task::spawn_blocking(move || until_input_waits(pid)).await.unwrap();
    signal(pid, Signal::KILL);
    let error = call.await.unwrap().unwrap_err();
    assert!(matches!(error, DocumentError::Poisoned { .. }), "{error}");
    // Another session of that worker is over too, with an error that does not blame its peer.
    let reply = theirs.message(first.unwrap()).await.unwrap().reply;
    let error = waiting.message(reply.unwrap()).await.unwrap_err();
    assert!(matches!(error, DocumentError::Interrupted), "{error}");
    assert_eq!(exchange(&side, &peer, TWO).await.unwrap(), (5, 0));
    assert_eq!(side.count(ONE).await, 5);
    assert_ne!(side.pid(), pid);
}

#[tokio::test]
async fn a_worker_that_hangs_is_ended_at_its_deadline() {
    let side = Side::with(|options| options.deadline = Duration::from_secs(3));
    side.write(ONE, entries(1, 0..5)).await;
    let (mut session, _) = side.documents.begin(ONE, PEER, None, false).await.unwrap();
    let pid = side.pid();
    signal(pid, Signal::STOP);
    let error = session.message(vec![0x42, 0, 0, 0, 0]).await.unwrap_err();
    assert!(error.to_string().contains("did not answer for 3 s"), "{error}");
    until("the stopped process is gone", || !Path::new(&format!("/proc/{pid}")).exists());
    assert_eq!(side.count(ONE).await, 5);
}

#[tokio::test]
async fn a_worker_without_memory_costs_that_call() {
    let sender = Side::new();
    sender.write(ONE, entries(1, 0..6000)).await;
    let mapped = memory(sender.pid(), "VmSize:");
    let room = Side::new();
    assert_eq!(room.count(ONE).await, 0);
    let bare = memory(room.pid(), "VmSize:");
    assert!(mapped > bare, "{mapped} {bare}");
    // The program itself and a little more, far less than 6,000 events take.
    let side = Side::with(|options| options.memory = bare + 3 * 1024 * 1024);
    side.write(TWO, entries(2, 0..2)).await;
    let (mut ours, first) = side.documents.begin(ONE, PEER, None, true).await.unwrap();
    let (mut theirs, _) = sender.documents.begin(ONE, PEER, None, false).await.unwrap();
    let error = talk(&mut ours, &mut theirs, first).await.unwrap_err();
    assert!(matches!(&error, DocumentError::Poisoned { why } if why.contains("memory")), "{error}");
    assert_eq!((side.count(TWO).await, side.count(ONE).await), (2, 0));
}

#[tokio::test]
async fn the_worker_ends_with_the_daemon_and_inherits_nothing() {
    // One whose daemon is gone without a word, as after kill -9; and one that is started by hand.
    for input in [&b""[..], b"hello\n and more of it"] {
        let mut command = Command::new(PROGRAM);
        command.args(["worker", "sync"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        drop(child.stdin.take().unwrap().write_all(input));
        until("it ends", || child.try_wait().unwrap().is_some());
    }
    let side = Side::new();
    assert_eq!(side.count(ONE).await, 0);
    let pid = side.pid();
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
    assert!(!String::from_utf8_lossy(&environment).contains("CARGO"), "the environment is ours");
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let targets = descriptors.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
    let foreign: Vec<_> = targets
        .filter(|target| !target.to_string_lossy().starts_with("pipe:") && target != Path::new("/dev/null"))
        .collect();
    assert!(foreign.is_empty(), "it inherited {foreign:?}");
    drop(side);
    until("it is gone", || !Path::new(&format!("/proc/{pid}")).exists());
}

#[tokio::test]
async fn an_idle_worker_ends_and_comes_back() {
    let side = Side::with(|options| options.idle = Duration::from_millis(300));
    side.write(ONE, entries(1, 0..5)).await;
    eventually("it ends", async || side.documents.info().pid.is_none()).await;
    assert_eq!(side.count(ONE).await, 5);
    assert_eq!(side.documents.info().deaths, 0, "it was ended on purpose");
}
