//! Documents through a worker in this process that can be made to crash or hang.

use std::{
    collections::HashMap,
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use super::{
    host::DocumentHost,
    link::WorkerLink,
    wire::{VERSION, WorkerCommand, WorkerReply, WorkerRequest, WorkerResponse},
    *,
};
use crate::{
    domain::{DeviceId, replica::DocumentId},
    sync::{
        document::{ChunkUpdate, DocumentEntry, tests::entries},
        preflight::ViolationCode,
    },
    worker::process::{EventSink, LaunchWorker, WorkerEvent, WorkerHandle},
};

const ONE: DocumentId = DocumentId([1; 32]);
const TWO: DocumentId = DocumentId([2; 32]);
const PEER: DeviceId = DeviceId([7; 32]);

/// Messages on which the fake worker dies, or never answers.
const DEADLY: &[u8] = b"die";
const ENDLESS: &[u8] = b"hang";

struct FakeLaunch(Arc<AtomicU64>);

struct FakeWorker {
    host: Option<DocumentHost>,
    sink: EventSink<WorkerResponse>,
}

impl LaunchWorker<WorkerRequest, WorkerResponse> for FakeLaunch {
    fn launch(&self, sink: EventSink<WorkerResponse>) -> io::Result<Box<dyn WorkerHandle<WorkerRequest>>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(Box::new(FakeWorker { host: None, sink }))
    }
}

impl WorkerHandle<WorkerRequest> for FakeWorker {
    fn send(&mut self, ask: WorkerRequest) -> io::Result<()> {
        let id = ask.id;
        match &ask.command {
            WorkerCommand::Hello(hello) => {
                self.host = Some(DocumentHost::new(hello));
                (self.sink)(WorkerEvent::Answer(WorkerResponse { id, reply: WorkerReply::Ready(VERSION) }));
            }
            WorkerCommand::Receive { bytes, .. } if ***bytes == *DEADLY => {
                (self.sink)(WorkerEvent::Exited("was killed".to_owned()));
            }
            WorkerCommand::Load { chunks, .. } if chunks.first().is_some_and(|chunk| ***chunk == *DEADLY) => {
                (self.sink)(WorkerEvent::Exited("was killed".to_owned()));
            }
            WorkerCommand::Receive { bytes, .. } if ***bytes == *ENDLESS => {}
            _ => {
                let reply = self.host.as_mut().unwrap().answer(ask);
                (self.sink)(WorkerEvent::Answer(WorkerResponse { id, reply }));
            }
        }
        Ok(())
    }

    fn pid(&self) -> u32 {
        7
    }

    fn ended(&mut self) -> Option<String> {
        None
    }
}

/// The stored chunks of documents.
#[derive(Default)]
struct Store(Mutex<HashMap<DocumentId, Vec<Vec<u8>>>>);

impl DocumentStore for Store {
    fn chunks(&self, document: DocumentId) -> Result<Vec<Vec<u8>>, String> {
        Ok(self.0.lock().unwrap().get(&document).cloned().unwrap_or_default())
    }
}

struct Side {
    documents: Documents,
    store: Arc<Store>,
    starts: Arc<AtomicU64>,
}

impl Side {
    fn new() -> Self {
        Self::with_room(u64::MAX)
    }

    fn with_room(idle_documents: u64) -> Self {
        Self::with(WorkerOptions { idle_documents, ..WorkerOptions::standard() })
    }

    fn with(options: WorkerOptions) -> Self {
        let (store, starts) = (Arc::new(Store::default()), Arc::default());
        let link = WorkerLink::with_launcher(Arc::new(FakeLaunch(Arc::clone(&starts))), options);
        Self { documents: Documents::with_link(link, Arc::clone(&store) as Arc<dyn DocumentStore>), store, starts }
    }

    async fn take(&self, document: DocumentId, staged: StagedDocument) {
        self.keep(document, &staged);
        staged.commit().await;
    }

    /// Stores without telling the worker.
    fn keep(&self, document: DocumentId, staged: &StagedDocument) {
        let mut store = self.store.0.lock().unwrap();
        match staged.chunk.clone() {
            Some(ChunkUpdate::Append(bytes)) => store.entry(document).or_default().push(bytes),
            Some(ChunkUpdate::Snapshot(bytes)) => _ = store.insert(document, vec![bytes]),
            None => {}
        }
    }

    async fn write(&self, document: DocumentId, new: &[DocumentEntry]) {
        let staged = self.documents.append(document, new.to_vec()).await.unwrap();
        self.take(document, staged).await;
    }

    async fn count(&self, document: DocumentId) -> u64 {
        self.documents.summary(document).await.unwrap().entries
    }
}

/// Two sides exchange a document until both agree, and what each would store.
async fn exchange(a: &Side, b: &Side, document: DocumentId) -> (StagedDocument, StagedDocument) {
    let (mut ours, mut message) = a.documents.begin(document, PEER, None, true).await.unwrap();
    let (mut theirs, _) = b.documents.begin(document, PEER, None, false).await.unwrap();
    let mut agreed = [false, false];
    for turn in [1, 0].into_iter().cycle() {
        let Some(bytes) = message.take() else { break };
        let session = if turn == 0 { &mut ours } else { &mut theirs };
        let step = session.message(bytes).await.unwrap();
        (agreed[turn], message) = (step.converged, step.reply);
    }
    assert_eq!(agreed, [true, true]);
    (ours.end().await.unwrap(), theirs.end().await.unwrap())
}

#[tokio::test]
async fn two_sides_exchange_a_document_and_keep_it() {
    let (a, b) = (Side::new(), Side::new());
    a.write(ONE, &entries(1, 0..30)).await;
    b.write(ONE, &entries(2, 0..4)).await;
    let (ours, theirs) = exchange(&a, &b, ONE).await;
    assert_eq!((ours.new.len(), theirs.new.len()), (4, 30));
    assert_eq!(ours.summary.heads, theirs.summary.heads);
    let state = ours.peer_state.clone().unwrap();
    a.take(ONE, ours).await;
    b.take(ONE, theirs).await;
    assert_eq!((a.count(ONE).await, b.count(ONE).await), (34, 34));
    // The second exchange, with the kept peer states, changes nothing and stores nothing.
    let (_again, first) = a.documents.begin(ONE, PEER, Some(state), true).await.unwrap();
    assert!(first.unwrap().len() < 200);
    let (ours, theirs) = exchange(&a, &b, ONE).await;
    assert!(ours.chunk.is_none() && theirs.new.is_empty());
    assert_eq!(a.count(TWO).await, 0);
}

#[tokio::test]
async fn a_change_that_was_not_stored_is_discarded() {
    let side = Side::new();
    side.write(ONE, &entries(1, 0..3)).await;
    drop(side.documents.append(ONE, entries(1, 3..5)).await.unwrap());
    assert_eq!(side.count(ONE).await, 3);
    // The change was stored, but the worker was not notified. The next change must be based on it.
    let staged = side.documents.append(ONE, entries(1, 3..5)).await.unwrap();
    assert_eq!(staged.before.map(|summary| summary.entries), Some(3));
    side.keep(ONE, &staged);
    drop(staged);
    assert_eq!(side.count(ONE).await, 5);
    side.write(ONE, &entries(1, 5..6)).await;
    let fresh = Side {
        documents: Documents::with_link(WorkerLink::new(WorkerOptions::standard()), Arc::clone(&side.store) as _),
        ..side
    };
    let idle_documents = crate::sync::document::IndexDocument::load(&fresh.store.chunks(ONE).unwrap()).unwrap();
    assert_eq!(idle_documents.summary().entries, 6);
}

#[tokio::test]
async fn a_second_change_waits_for_the_first() {
    let side = Side::new();
    let first = side.documents.append(ONE, entries(1, 0..1)).await.unwrap();
    let documents = side.documents.clone();
    let mut second = tokio::spawn(async move { documents.append(ONE, entries(1, 1..2)).await.unwrap() });
    // Readers do not wait, and see the document as it was.
    side.write(TWO, &entries(2, 0..1)).await;
    assert_eq!(side.count(ONE).await, 0);
    assert!(tokio::time::timeout(Duration::from_millis(50), &mut second).await.is_err());
    side.take(ONE, first).await;
    let second = second.await.unwrap();
    assert_eq!(second.summary.entries, 2);
    side.take(ONE, second).await;
    assert_eq!(side.count(ONE).await, 2);
}

#[tokio::test]
async fn evicted_documents_are_loaded_again() {
    let side = Side::with_room(1);
    for (document, device) in [(ONE, 1), (TWO, 2)] {
        side.write(document, &entries(device, 0..5)).await;
    }
    let other = Side::new();
    other.write(ONE, &entries(3, 0..2)).await;
    let (mut theirs, message) = other.documents.begin(ONE, PEER, None, true).await.unwrap();
    let (mut ours, _) = side.documents.begin(ONE, PEER, None, false).await.unwrap();
    // The number of messages depends on what each side guesses about the other, and is sometimes larger by one.
    let mut step = ours.message(message.unwrap()).await.unwrap();
    for _ in 0..9 {
        let Some(reply) = step.reply.take().filter(|_| !step.converged) else { break };
        let Some(answer) = theirs.message(reply).await.unwrap().reply else { break };
        step = ours.message(answer).await.unwrap();
    }
    assert!(step.converged);
    // In the meantime another document evicted it.
    assert_eq!(side.count(TWO).await, 5);
    let staged = ours.end().await.unwrap();
    assert_eq!(staged.summary.entries, 7);
    side.take(ONE, staged).await;
    assert_eq!((side.count(TWO).await, side.count(ONE).await), (5, 7));
}

#[tokio::test]
async fn a_peer_that_breaks_a_rule_is_distinguished_from_the_others() {
    let side = Side::new();
    side.write(ONE, &entries(1, 0..3)).await;
    let (mut bad, _) = side.documents.begin(ONE, PEER, None, false).await.unwrap();
    let (mut good, first) = side.documents.begin(ONE, PEER, None, true).await.unwrap();
    let error = bad.message(b"\x43nonsense".to_vec()).await.unwrap_err();
    assert!(
        matches!(&error, DocumentError::Violation(violation) if violation.code == ViolationCode::Version),
        "{error}"
    );
    assert_eq!(error.code(), "version");
    assert!(matches!(bad.message(vec![0x42]).await, Err(DocumentError::Unavailable { .. })), "its session is over");
    let peer = Side::new();
    let (mut theirs, _) = peer.documents.begin(ONE, PEER, None, false).await.unwrap();
    let reply = theirs.message(first.unwrap()).await.unwrap().reply;
    assert!(good.message(reply.unwrap()).await.is_ok());
    assert_eq!(side.starts.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_dies_or_hangs_costs_one_call() {
    for (message, expected) in [(DEADLY, "was killed"), (ENDLESS, "did not answer")] {
        let side = Side::new();
        side.write(ONE, &entries(1, 0..3)).await;
        side.write(TWO, &entries(1, 0..2)).await;
        let (mut innocent, _) = side.documents.begin(TWO, PEER, None, true).await.unwrap();
        let (mut bad, _) = side.documents.begin(ONE, PEER, None, false).await.unwrap();
        let error = bad.message(message.to_vec()).await.unwrap_err();
        assert!(matches!(&error, DocumentError::Poisoned { why } if why.contains(expected)), "{error}");
        assert_eq!(error.code(), "poisoned");
        assert!(matches!(innocent.message(vec![0x42]).await, Err(DocumentError::Interrupted)));
        assert!(matches!(innocent.end().await, Err(DocumentError::Interrupted)));
        // Everything else continues with the stored state.
        assert_eq!((side.count(ONE).await, side.count(TWO).await), (3, 2));
        side.write(ONE, &entries(1, 3..4)).await;
        assert_eq!(side.starts.load(Ordering::SeqCst), 2);
        assert_eq!(side.documents.info().deaths, 1);
    }
}

#[tokio::test]
async fn stored_bytes_that_cannot_be_read_are_rebuilt() {
    for (bytes, starts) in [(b"nonsense".to_vec(), 1), (DEADLY.to_vec(), 3)] {
        let side = Side::new();
        side.store.0.lock().unwrap().insert(ONE, vec![bytes]);
        let error = side.documents.summary(ONE).await.unwrap_err();
        assert!(matches!(error, DocumentError::Corrupt { document: ONE, .. }), "{error}");
        let staged = side.documents.rebuild(ONE, entries(1, 0..4)).await.unwrap();
        assert!(matches!(staged.chunk, Some(ChunkUpdate::Snapshot(_))));
        side.take(ONE, staged).await;
        assert_eq!(side.count(ONE).await, 4);
        assert_eq!(side.starts.load(Ordering::SeqCst), starts, "once may be chance");
    }
}

#[tokio::test]
async fn cancelled_calls_leave_nothing_behind() {
    let side = Side::new();
    let documents = side.documents.clone();
    let given_up = tokio::spawn(async move {
        drop(documents.begin(ONE, PEER, None, true).await);
        documents.append(ONE, entries(1, 0..1)).await
    });
    tokio::task::yield_now().await;
    given_up.abort();
    drop(given_up.await);
    side.write(ONE, &entries(1, 0..2)).await;
    assert_eq!(side.count(ONE).await, 2);
}

/// Begins exchanges of an empty document with a peer until the worker refuses.
async fn begin_all(side: &Side, peer: DeviceId) -> Vec<DocumentSession> {
    let mut sessions = Vec::new();
    loop {
        match side.documents.begin(ONE, peer, None, false).await {
            Ok((session, _)) => sessions.push(session),
            Err(DocumentError::Unavailable { .. }) => return sessions,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Sends a document of `from` to a session.
async fn send_all(from: &Side, session: &mut DocumentSession) -> Result<(), DocumentError> {
    let (mut theirs, mut message) = from.documents.begin(ONE, PEER, None, true).await?;
    while let Some(bytes) = message.take() {
        let Some(reply) = session.message(bytes).await?.reply else { break };
        message = theirs.message(reply).await?.reply;
    }
    Ok(())
}

#[tokio::test]
async fn a_peer_with_many_exchanges_leaves_one_to_each_other_peer() {
    let device = |n| DeviceId([n; 32]);
    let side = Side::new();
    let greedy = begin_all(&side, device(1)).await;
    assert_eq!(greedy.len(), 64);
    let mut others = Vec::new();
    for n in 2..12 {
        others.push(begin_all(&side, device(n)).await);
        assert_eq!(others.last().map(Vec::len), Some(1), "peer {n}");
    }
    drop(greedy);
    others.push(begin_all(&side, device(1)).await);
    assert_eq!(others.iter().map(Vec::len).sum::<usize>(), 64, "all are free again");
}

#[tokio::test]
async fn the_memory_of_exchanges_is_limited_and_the_last_of_each_peer_is_not() {
    let device = |n| DeviceId([n; 32]);
    // Half of the memory holds two exchanges of an empty document.
    let side = Side::with(WorkerOptions { memory: 400 * 1024, ..WorkerOptions::standard() });
    let mut greedy = begin_all(&side, device(1)).await;
    assert!((2..4).contains(&greedy.len()), "{}", greedy.len());
    let mut honest = begin_all(&side, device(2)).await;
    assert_eq!(honest.len(), 1);
    let peer = Side::new();
    peer.write(ONE, &entries(1, 0..50)).await;
    let refused = send_all(&peer, &mut greedy[0]).await;
    assert!(matches!(refused, Err(DocumentError::Unavailable { .. })), "{refused:?}");
    send_all(&peer, &mut honest[0]).await.unwrap();
    assert_eq!(honest.remove(0).end().await.unwrap().summary.entries, 50);
}

#[tokio::test]
async fn a_message_that_is_too_large_is_an_error() {
    let side = Side::new();
    let (mut session, _) = side.documents.begin(ONE, PEER, None, false).await.unwrap();
    let error = session.message(vec![0; wire::MAX_FRAME]).await.unwrap_err();
    assert!(matches!(error, DocumentError::TooLarge { .. }), "{error}");
    assert_eq!(side.starts.load(Ordering::SeqCst), 1);
}
