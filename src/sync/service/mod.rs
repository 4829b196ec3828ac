//! The sync service: keeps the teams of this device in sync. The daemon owns it. It listens only if there is a peer or
//! an open pairing window.
//!
//! One task, the [`scheduler`], decides which peers are dialled, which sessions are kept and what each is told.
//! Sessions and dials are tasks of their own that report to it. Another task adds the events of this device to the
//! documents, and another stores the state of the peers.

mod binding;
mod decisions;
mod document_store;
mod peers;
mod publish;
mod scheduler;
mod sessions;
mod state_writer;
mod status;
mod tasks;

use std::{
    fmt,
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use ed25519_dalek::SigningKey;
use futures_util::future::BoxFuture;
use iroh::{EndpointAddr, endpoint::Connection};
use tokio::sync::{Notify, futures::Notified, mpsc, oneshot, watch};

use self::scheduler::{Scheduler, SchedulerEvent};
pub use self::{
    document_store::EngineDocumentStore,
    status::{NetworkStatus, PeerProblem, PeerStatus},
};
use super::{
    endpoint::{NetworkMode, PairingPermit, TransportError},
    session::{SessionLimits, SyncContext},
    worker::{self, Documents},
};
use crate::{
    domain::{DeviceId, EventId},
    engine::Engine,
};

/// The settings with which the service starts.
#[derive(Clone)]
pub struct ServiceSettings {
    /// The networks to sync on; if `None`, the local networks once there is a peer.
    pub mode: Option<NetworkMode>,
    /// The URL of the relay with [`NetworkMode::Internet`]; if `None`, n0's relays.
    pub relay: Option<String>,
    /// The UDP port; if `None`, a port derived from the device's key.
    pub port: Option<u16>,
    /// Whether to use only the loopback interface: for tests and for the demonstration.
    pub loopback: bool,
    pub key: SigningKey,
    /// The folder of the lease file, which prevents two processes on this machine from syncing with the same key.
    pub leases: Option<PathBuf>,
    /// The limits of the worker for documents.
    pub worker: worker::WorkerOptions,
    /// The limits of sessions.
    pub limits: SessionLimits,
}

impl ServiceSettings {
    /// Returns the default settings for a device.
    pub fn new(key: SigningKey) -> Self {
        Self {
            mode: None,
            relay: None,
            port: None,
            loopback: false,
            key,
            leases: None,
            worker: worker::WorkerOptions::standard(),
            limits: SessionLimits::default(),
        }
    }
}

impl fmt::Debug for ServiceSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The key must not be logged.
        f.debug_struct("ServiceSettings").field("mode", &self.mode).field("relay", &self.relay).finish_non_exhaustive()
    }
}

/// Receives the events of the service. Called on a runtime thread, so it must not block.
pub trait ServiceObserver: Send + Sync + 'static {
    /// Handles a peer that connected, disconnected, or has a new state.
    fn peer(&self, team: EventId, device: DeviceId);
    /// Handles a change of a team's roster.
    fn roster(&self, team: EventId);
}

impl ServiceObserver for () {
    fn peer(&self, _: EventId, _: DeviceId) {}
    fn roster(&self, _: EventId) {}
}

/// Serves connections of devices that want to join a team.
pub trait PairHandler: Send + Sync + 'static {
    /// Serves a connection for `ergo/pair/1`. The connection ends with the future.
    fn accept(&self, connection: Connection) -> BoxFuture<'static, ()>;
}

/// The sync service. Cheap to clone; it runs until [`Service::stop`].
#[derive(Clone)]
pub struct Service(Arc<ServiceShared>);

pub(super) struct ServiceShared {
    /// The value of [`Service::status`]; written by the scheduler alone.
    status: watch::Sender<NetworkStatus>,
    events: mpsc::UnboundedSender<SchedulerEvent>,
    dirty: Arc<Notify>,
    /// Notified after each attempt to add events to documents.
    flushed: Arc<Notify>,
    handler: Mutex<Option<Arc<dyn PairHandler>>>,
    pairing_windows: AtomicUsize,
}

impl ServiceShared {
    fn handler(&self) -> Option<Arc<dyn PairHandler>> {
        self.handler.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Devices outside the team may pair while this exists.
pub struct PairingWindow {
    shared: Arc<ServiceShared>,
    permit: Option<PairingPermit>,
}

impl Drop for PairingWindow {
    fn drop(&mut self) {
        drop(self.permit.take());
        self.shared.pairing_windows.fetch_sub(1, Ordering::Relaxed);
        // If the service has ended, there is nothing to close.
        drop(self.shared.events.send(SchedulerEvent::Refresh(None)));
    }
}

impl Service {
    /// Starts the service on the current runtime. Network problems appear in [`Service::status`].
    pub fn start(settings: ServiceSettings, engine: Arc<Engine>, observer: Arc<dyn ServiceObserver>) -> Self {
        let (events, received) = mpsc::unbounded_channel();
        let (peer_events, session_events) = mpsc::unbounded_channel();
        let documents = Arc::new(EngineDocumentStore::new(Arc::clone(&engine)));
        let context = SyncContext {
            documents: Documents::new(settings.worker.clone(), documents),
            engine,
            instance: tasks::random(),
            limits: settings.limits,
            peer_events,
        };
        let shared = Arc::new(ServiceShared {
            status: watch::Sender::new(NetworkStatus::default()),
            events,
            dirty: Arc::new(Notify::new()),
            flushed: Arc::new(Notify::new()),
            handler: Mutex::default(),
            pairing_windows: AtomicUsize::new(0),
        });
        tokio::spawn(tasks::forward_events(session_events, shared.events.clone()));
        tokio::spawn(Scheduler::new(settings, context, Arc::clone(&shared), observer).run(received));
        let service = Self(shared);
        service.send_event(SchedulerEvent::Refresh(None));
        service
    }

    /// Records that this device wrote an event. Cheap.
    pub fn changed(&self) {
        self.0.dirty.notify_one();
    }

    /// Returns a future that is ready once events of this device were added to documents, or could not be. Attempts
    /// count from this call on, even if the future is polled later.
    pub fn flushed(&self) -> Notified<'_> {
        self.0.flushed.notified()
    }

    /// Applies a change of the teams or rosters: starts or stops listening, dials new members, and ends the sessions
    /// with former members. Returns when that is done.
    pub async fn refresh(&self) {
        self.ask(|done| SchedulerEvent::Refresh(Some(done))).await;
    }

    /// Sets the networks to sync on; `None` for the default.
    pub async fn set_mode(&self, mode: Option<NetworkMode>) {
        self.ask(|done| SchedulerEvent::SetMode(mode, done)).await;
    }

    /// Dials every peer that is not connected, or only the named one, and compares with those that are connected.
    /// Returns the number of this round, which is over for each peer whose [`PeerStatus::round`] is at least that
    /// number.
    pub async fn sync_now(&self, only: Option<DeviceId>) -> u64 {
        let (send, receive) = oneshot::channel();
        self.send_event(SchedulerEvent::SyncNow(only, send));
        receive.await.unwrap_or_default()
    }

    /// Adds an address of a peer that a person entered.
    pub async fn add_address(&self, device: DeviceId, address: SocketAddr) {
        self.ask(|done| SchedulerEvent::AddAddress(device, address, done)).await;
    }

    /// Returns the current state of the network, without I/O.
    pub fn status(&self) -> NetworkStatus {
        self.0.status.borrow().clone()
    }

    /// Returns a receiver of the network's state that sees each change.
    pub fn watch(&self) -> watch::Receiver<NetworkStatus> {
        self.0.status.subscribe()
    }

    /// Returns the addresses of this device, for a ticket. Hold a [`PairingWindow`] while the addresses are in use, or
    /// nothing may listen there.
    ///
    /// # Errors
    /// If the mode is off, or the port cannot be bound.
    pub async fn address(&self) -> Result<EndpointAddr, TransportError> {
        self.transport().await.map(|transport| transport.address())
    }

    /// Lets devices outside the team pair with `handler` while the window exists. Only the latest handler is used.
    ///
    /// # Errors
    /// As [`Service::address`].
    pub async fn open_pairing_window(&self, handler: Arc<dyn PairHandler>) -> Result<PairingWindow, TransportError> {
        *self.0.handler.lock().unwrap_or_else(PoisonError::into_inner) = Some(handler);
        // From here on the endpoint listens, even without a peer.
        let mut window = self.pairing_window();
        window.permit = Some(self.transport().await?.open_pairing());
        Ok(window)
    }

    /// Dials a device that invited this one. Hold the window as long as the connection.
    ///
    /// # Errors
    /// If the mode is off, or the device does not answer or rejects the connection.
    pub async fn dial_pair(&self, inviter: EndpointAddr) -> Result<(Connection, PairingWindow), TransportError> {
        let window = self.pairing_window();
        let connection = self.transport().await?.call_to_pair(inviter).await?;
        Ok((connection, window))
    }

    /// Ends all sessions in order and stops the service.
    pub async fn stop(&self) {
        self.ask(SchedulerEvent::Stop).await;
    }

    fn pairing_window(&self) -> PairingWindow {
        self.0.pairing_windows.fetch_add(1, Ordering::Relaxed);
        PairingWindow { shared: Arc::clone(&self.0), permit: None }
    }

    async fn transport(&self) -> Result<Arc<super::endpoint::Transport>, TransportError> {
        let (send, receive) = oneshot::channel();
        self.send_event(SchedulerEvent::Transport(send));
        receive.await.unwrap_or_else(|_| Err(TransportError::Bind("sync has ended".to_owned())))
    }

    fn send_event(&self, event: SchedulerEvent) {
        // A closed channel means that the service has ended.
        drop(self.0.events.send(event));
    }

    async fn ask(&self, event: impl FnOnce(oneshot::Sender<()>) -> SchedulerEvent) {
        let (done, wait) = oneshot::channel();
        self.send_event(event(done));
        drop(wait.await);
    }
}
