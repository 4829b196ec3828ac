//! The tasks that run beside the scheduler and report to it.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use iroh::endpoint::Connection;
use tokio::{
    sync::{Notify, Semaphore, mpsc, watch},
    time::{sleep, timeout},
};

use super::scheduler::SchedulerEvent;
use crate::{
    domain::{DeviceId, EventId},
    sync::{
        endpoint::{self, EndpointHandler, Transport, TransportError},
        frame::ALPN_PAIR,
        index::{self, FlushError},
        session::{
            self, EstablishedSession, PeerEvent, SessionCommand, SessionEnd, SessionSide, SessionView, SyncContext,
        },
    },
};

/// The most handshakes at once that one peer may have begun as the caller.
const MAX_HANDSHAKES_PER_PEER: usize = 4;

/// The most callers in a handshake at once, of all peers together.
const MAX_HANDSHAKES: usize = 16;

/// The pause between two flushes, so that events of one burst go into the same change.
const FLUSH_INTERVAL: Duration = Duration::from_millis(5);

/// The delay after a failed flush.
const FLUSH_RETRY: Duration = Duration::from_secs(5);

/// How long the peer may take to read the last frames before the connection is closed.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// Forwards the events of the endpoint to the scheduler, and performs the handshake with callers.
pub(super) struct EventSender {
    context: SyncContext,
    events: mpsc::UnboundedSender<SchedulerEvent>,
    handshake_slots: Arc<Semaphore>,
    handshakes: Arc<Mutex<HashMap<DeviceId, usize>>>,
}

impl EventSender {
    pub(super) fn new(context: SyncContext, events: mpsc::UnboundedSender<SchedulerEvent>) -> Self {
        Self { context, events, handshake_slots: Arc::new(Semaphore::new(MAX_HANDSHAKES)), handshakes: Arc::default() }
    }

    fn send_event(&self, event: SchedulerEvent) {
        drop(self.events.send(event));
    }
}

impl EndpointHandler for EventSender {
    fn on_connection(&self, connection: Connection) {
        if connection.alpn() == ALPN_PAIR {
            return self.send_event(SchedulerEvent::PairingCall(connection));
        }
        let peer = endpoint::device_of(connection.remote_id());
        let Ok(permit) = Arc::clone(&self.handshake_slots).try_acquire_owned() else {
            return connection.close(0_u32.into(), b"busy");
        };
        let Some(slot) = CallerSlot::take(&self.handshakes, peer) else {
            return connection.close(0_u32.into(), b"busy");
        };
        let (context, events) = (self.context.clone(), self.events.clone());
        tokio::spawn(async move {
            let opened = timeout(context.limits.handshake, connection.accept_bi()).await;
            let Ok(Ok((writer, reader))) = opened else {
                return connection.close(0_u32.into(), b"the peer did not open a stream");
            };
            match session::handshake(&context, SessionSide::Acceptor, peer, None, reader, writer).await {
                Ok(established) => drop(events.send(SchedulerEvent::SessionEstablished(established, connection))),
                Err(ended) => {
                    wait_for_close(&connection).await;
                    drop(events.send(SchedulerEvent::HandshakeFailed(peer, None, ended)));
                }
            }
            drop((permit, slot));
        });
    }

    fn on_peer_found(&self, device: DeviceId, addresses: Vec<SocketAddr>) {
        self.send_event(SchedulerEvent::PeerFound(device, addresses));
    }

    fn on_addresses_changed(&self) {
        self.send_event(SchedulerEvent::AddressesChanged);
    }

    fn on_contact(&self, address: &str, what: &'static str) {
        self.send_event(SchedulerEvent::AddressContacted(address.to_owned(), what));
    }
}

/// The slot of a caller in a handshake; dropping it frees the slot.
struct CallerSlot(Arc<Mutex<HashMap<DeviceId, usize>>>, DeviceId);

impl CallerSlot {
    fn take(handshakes: &Arc<Mutex<HashMap<DeviceId, usize>>>, peer: DeviceId) -> Option<Self> {
        let mut counts = handshakes.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(peer).or_default();
        if *count >= MAX_HANDSHAKES_PER_PEER {
            return None;
        }
        *count += 1;
        Some(Self(Arc::clone(handshakes), peer))
    }
}

impl Drop for CallerSlot {
    fn drop(&mut self) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.1);
            }
        }
    }
}

/// The report of a task's end to the scheduler. It is sent when this is dropped, so also if the task panics. Without it
/// the scheduler would take the dial or session for running, and never dial the peer again.
struct EndReport {
    events: mpsc::UnboundedSender<SchedulerEvent>,
    event: Option<SchedulerEvent>,
}

impl EndReport {
    /// Creates a report that sends `failed` unless another event is set.
    fn new(events: mpsc::UnboundedSender<SchedulerEvent>, failed: SchedulerEvent) -> Self {
        Self { events, event: Some(failed) }
    }

    fn send(mut self, event: SchedulerEvent) {
        self.event = Some(event);
    }
}

impl Drop for EndReport {
    fn drop(&mut self) {
        if let Some(event) = self.event.take() {
            drop(self.events.send(event));
        }
    }
}

/// Returns the end of a session or handshake whose task panicked.
fn failed_here() -> SessionEnd {
    SessionEnd::Interrupted("an internal error on this device; see its log".to_owned())
}

/// Dials a peer and performs the handshake.
pub(super) async fn dial(
    context: SyncContext,
    transport: Arc<Transport>,
    team: EventId,
    peer: DeviceId,
    addresses: Vec<SocketAddr>,
    events: mpsc::UnboundedSender<SchedulerEvent>,
) {
    let report = EndReport::new(events, SchedulerEvent::HandshakeFailed(peer, Some(team), failed_here()));
    let event = match call(&context, &transport, team, peer, &addresses).await {
        Ok((established, connection)) => SchedulerEvent::SessionEstablished(established, connection),
        Err(DialError::Call(error)) => SchedulerEvent::DialFailed(team, peer, error),
        Err(DialError::Handshake(ended)) => SchedulerEvent::HandshakeFailed(peer, Some(team), ended),
    };
    report.send(event);
}

enum DialError {
    Call(TransportError),
    Handshake(SessionEnd),
}

async fn call(
    context: &SyncContext,
    transport: &Transport,
    team: EventId,
    peer: DeviceId,
    addresses: &[SocketAddr],
) -> Result<(EstablishedSession, Connection), DialError> {
    let connection = transport.call(peer, addresses).await.map_err(DialError::Call)?;
    let (writer, reader) =
        endpoint::open_stream(&connection, context.limits.handshake).await.map_err(DialError::Call)?;
    match session::handshake(context, SessionSide::Dialler, peer, Some(team), reader, writer).await {
        Ok(established) => Ok((established, connection)),
        Err(ended) => {
            // A rejection by the access policy arrives just after the handshake, so the reason is in the connection
            // rather than in the stream.
            let refused =
                timeout(CLOSE_TIMEOUT, connection.closed()).await.ok().map(|error| endpoint::close_error(&error));
            Err(match refused {
                Some(error @ (TransportError::NotPaired | TransportError::Protocol(_))) => DialError::Call(error),
                _ => DialError::Handshake(ended),
            })
        }
    }
}

/// Runs a session, and reports each change of its view and its end.
pub(super) async fn run_session(
    context: SyncContext,
    established: EstablishedSession,
    connection: Connection,
    id: u64,
    commands: mpsc::UnboundedReceiver<SessionCommand>,
    view: watch::Sender<SessionView>,
    events: mpsc::UnboundedSender<SchedulerEvent>,
) {
    let key = (established.team, established.peer);
    let report = EndReport::new(events.clone(), SchedulerEvent::SessionEnded(key, id, failed_here()));
    let mut view_changed = view.subscribe();
    let session = session::run(&context, established, commands, view);
    tokio::pin!(session);
    let ended = loop {
        tokio::select! {
            ended = &mut session => break ended,
            Ok(()) = view_changed.changed() => drop(events.send(SchedulerEvent::ViewChanged(key))),
        }
    };
    if ended == SessionEnd::ClosedByPeer {
        // The peer waits for nothing more.
        connection.close(0_u32.into(), b"bye");
    } else {
        wait_for_close(&connection).await;
    }
    report.send(SchedulerEvent::SessionEnded(key, id, ended));
}

/// Lets the peer read the last frames before the connection is closed.
pub(super) async fn wait_for_close(connection: &Connection) {
    drop(timeout(CLOSE_TIMEOUT, connection.closed()).await);
    connection.close(0_u32.into(), b"bye");
}

/// Adds new events of this device to documents whenever `dirty` is notified, then notifies `flushed`.
pub(super) async fn flush(
    context: SyncContext,
    teams: watch::Receiver<Vec<EventId>>,
    (dirty, flushed): (Arc<Notify>, Arc<Notify>),
    events: mpsc::UnboundedSender<SchedulerEvent>,
) {
    loop {
        dirty.notified().await;
        let all = teams.borrow().clone();
        let mut problem = None;
        for team in all {
            let documents = match index::flush(&context, team).await {
                Ok(documents) => documents,
                Err(FlushError { documents, message }) => {
                    tracing::warn!(%message, "cannot add events to a document");
                    problem.get_or_insert(message);
                    documents
                }
            };
            if !documents.is_empty() {
                drop(events.send(SchedulerEvent::Flushed(team, documents)));
            }
        }
        flushed.notify_waiters();
        if events.is_closed() {
            return;
        }
        match problem {
            Some(message) => {
                drop(events.send(SchedulerEvent::FlushFailed(message)));
                // A damaged store stays damaged until the daemon is restarted.
                if context.engine.damage().is_none() {
                    dirty.notify_one();
                }
                sleep(FLUSH_RETRY).await;
            }
            None => sleep(FLUSH_INTERVAL).await,
        }
    }
}

/// Accepts the events in quarantine whose date has come.
pub(super) async fn accept_due(context: SyncContext, teams: Vec<EventId>) {
    for team in teams {
        if let Err(error) = context.engine(move |engine| engine.accept_due(team)).await {
            tracing::warn!(%error, "cannot accept the events in quarantine whose date has come");
        }
    }
}

/// Forwards the events of sessions to the scheduler.
pub(super) async fn forward_events(
    mut peer_events: mpsc::UnboundedReceiver<PeerEvent>,
    events: mpsc::UnboundedSender<SchedulerEvent>,
) {
    while let Some(event) = peer_events.recv().await {
        if events.send(SchedulerEvent::Peer(event)).is_err() {
            return;
        }
    }
}

/// Returns a random number.
pub(super) fn random() -> u64 {
    let mut bytes = [0; 8];
    // If this fails, nothing else works either. A repeated number only makes a restart of the peer harder to detect.
    let _unlikely = getrandom::fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// Returns a random number from 0 to 1.
pub(super) fn chance() -> f64 {
    (random() >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_of_a_task_is_reported_once_even_if_it_panics() {
        let key = (EventId([1; 32]), DeviceId([2; 32]));
        for panics in [true, false] {
            let (events, mut received) = mpsc::unbounded_channel();
            let report = EndReport::new(events, SchedulerEvent::SessionEnded(key, 7, failed_here()));
            let task = tokio::spawn(async move {
                assert!(!panics, "the session fails");
                report.send(SchedulerEvent::SessionEnded(key, 7, SessionEnd::Closed));
            });
            assert_eq!(task.await.is_err(), panics);
            let Some(SchedulerEvent::SessionEnded(_, 7, ended)) = received.recv().await else { panic!("no report") };
            assert_eq!(ended == SessionEnd::Closed, !panics, "{ended:?}");
            assert!(received.recv().await.is_none());
        }
    }
}
