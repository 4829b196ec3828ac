//! In some simulations, devices sync as in reality: over a pipe, by the replication index, each with its own worker.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ergo::{
    domain::EventId,
    sync::{
        index,
        service::EngineDocumentStore,
        session::{SessionCommand, SessionLimits, SessionPhase, SessionSide, SessionView, SyncContext},
        worker::Documents,
    },
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
    runtime::Runtime,
    sync::mpsc,
    time::timeout,
};

use super::peer::Peer;
use crate::{support::eventually, sync::nodes};

/// How long two devices that do not become equal are waited for: some of their events may be in quarantine.
const QUIET: Duration = Duration::from_millis(250);

/// The longest duration of a session.
const LONGEST: Duration = Duration::from_secs(30);

/// The resources of one device's sessions.
struct Station {
    context: SyncContext,
}

impl Station {
    fn new(peer: &Peer) -> Self {
        let (peer_events, _none) = mpsc::unbounded_channel();
        let engine = peer.shared_engine();
        let documents = Documents::new(nodes::worker(), Arc::new(EngineDocumentStore::new(Arc::clone(&engine))));
        let limits = SessionLimits { handshake: LONGEST, ..SessionLimits::default() };
        Self { context: SyncContext { engine, documents, instance: u64::from(peer.number), limits, peer_events } }
    }
}

/// The sessions between the devices of a world.
pub(super) struct Meetings {
    runtime: Runtime,
    stations: Vec<Option<Station>>,
}

impl Meetings {
    pub(super) fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { runtime, stations: Vec::new() }
    }

    fn station(&mut self, peer: &Peer) -> SyncContext {
        let at = usize::from(peer.number);
        if self.stations.len() <= at {
            self.stations.resize_with(at + 1, || None);
        }
        let _inside = self.runtime.enter();
        self.stations[at].get_or_insert_with(|| Station::new(peer)).context.clone()
    }

    /// A device's process ends: nothing holds its store any more.
    pub(super) fn leave(&mut self, peer: &Peer) {
        if let Some(station) = self.stations.get_mut(usize::from(peer.number)) {
            *station = None;
        }
        let what = format!("nothing holds the store of {}", peer.name());
        self.runtime.block_on(eventually(&what, async || !peer.is_shared()));
    }

    /// Runs a session of two devices until neither has more to send, or until this many frames have passed and the
    /// connection is cut.
    pub(super) fn meet(&mut self, a: &Peer, b: &Peer, team: EventId, frames: usize) {
        self.meet_over(a, b, team, || {
            let (one, other, _) = nodes::pipe(frames);
            (one, other)
        });
    }

    /// [`Meetings::meet`] over a connection that is never cut. Answers with the bytes that went through, in both directions together.
    pub(super) fn meet_counted(&mut self, a: &Peer, b: &Peer, team: EventId) -> u64 {
        let passed = Arc::new(AtomicU64::new(0));
        self.meet_over(a, b, team, || counted_pipe(&passed));
        passed.load(Ordering::Relaxed)
    }

    fn meet_over(&mut self, a: &Peer, b: &Peer, team: EventId, pipe: impl FnOnce() -> (DuplexStream, DuplexStream)) {
        let contexts = [self.station(a), self.station(b)];
        let devices = [a.device(), b.device()];
        self.runtime.block_on(async {
            for context in &contexts {
                index::flush(context, team).await.unwrap();
            }
            let (one, other) = pipe();
            let x = nodes::session(&contexts[0], SessionSide::Dialler, devices[1], team, one);
            let y = nodes::session(&contexts[1], SessionSide::Acceptor, devices[0], team, other);
            let mut sides = [x, y];
            drop(timeout(LONGEST, settled(&mut sides)).await);
            for side in &sides {
                drop(side.commands.send(SessionCommand::Stop));
            }
            let [x, y] = sides;
            drop((x.end().await, y.end().await));
            // Events that came without a document are in no document yet.
            for context in &contexts {
                index::flush(context, team).await.unwrap();
            }
        });
    }
}

/// The two ends of a stream that counts its bytes.
fn counted_pipe(passed: &Arc<AtomicU64>) -> (DuplexStream, DuplexStream) {
    let ((one, left), (right, other)) = (duplex(64 * 1024), duplex(64 * 1024));
    let (from_a, to_a) = tokio::io::split(left);
    let (from_b, to_b) = tokio::io::split(right);
    for (mut from, mut to) in [(from_a, to_b), (from_b, to_a)] {
        let passed = Arc::clone(passed);
        tokio::spawn(async move {
            let mut bytes = vec![0; 64 * 1024];
            while let Ok(count @ 1..) = from.read(&mut bytes).await {
                passed.fetch_add(count as u64, Ordering::Relaxed);
                if to.write_all(&bytes[..count]).await.is_err() {
                    return;
                }
            }
            drop(to.shutdown().await);
        });
    }
    (one, other)
}

/// Both have the same; or they have said what there was to say, or one of them has ended it.
async fn settled(sides: &mut [nodes::Running; 2]) {
    let level = |view: &SessionView| view.phase == SessionPhase::Live && view.in_sync;
    loop {
        let [x, y] = sides;
        if x.ended.is_finished() || y.ended.is_finished() || level(&x.seen.borrow()) && level(&y.seen.borrow()) {
            return;
        }
        let live = x.seen.borrow().phase == SessionPhase::Live && y.seen.borrow().phase == SessionPhase::Live;
        let change = async {
            tokio::select! {
                changed = x.seen.changed() => changed.is_ok(),
                changed = y.seen.changed() => changed.is_ok(),
            }
        };
        match timeout(QUIET, change).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(_) if live => return,
            Err(_) => {}
        }
    }
}
