//! Keeps the teams of this device in step: owned by the daemon, at rest where there is nobody to talk to.
//!
//! One task, the [`conductor`], decides who is called, which session goes on and what is told to whom; sessions and calls are tasks of
//! their own that report to it. Another puts what this device writes into the documents.

mod board;
mod conductor;
mod peers;
mod schedule;
mod shelf;
mod status;
mod tasks;
mod visits;

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
use tokio::sync::{Notify, mpsc, oneshot, watch};

use self::conductor::{Conductor, Event};
pub use self::{
    shelf::StoreShelf,
    status::{PeerStatus, Status, Trouble},
};
use super::{
    endpoint::{Door, EndpointError, Mode},
    session::{Context, Limits},
    worker::{self, Documents},
};
use crate::{
    domain::{DeviceId, EventId},
    engine::Engine,
};

/// How the service is started.
#[derive(Clone)]
pub struct Settings {
    /// How far packets may go, where the person said so; else on the local network once there is somebody to talk to.
    pub mode: Option<Mode>,
    /// The relay's address with [`Mode::Internet`]; n0's where absent.
    pub relay: Option<String>,
    /// The UDP port; one that belongs to this device where absent.
    pub port: Option<u16>,
    /// Only this machine: for tests and for the demonstration.
    pub loopback: bool,
    /// The device's key.
    pub key: SigningKey,
    /// The folder of the lease that says which process is this device on this machine.
    pub leases: Option<PathBuf>,
    /// The worker for documents.
    pub worker: worker::Options,
    /// What sessions may take.
    pub limits: Limits,
}

impl Settings {
    /// The usual settings for a device.
    pub fn new(key: SigningKey) -> Self {
        Self {
            mode: None,
            relay: None,
            port: None,
            loopback: false,
            key,
            leases: None,
            worker: worker::Options::usual(),
            limits: Limits::default(),
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never the key.
        f.debug_struct("Settings").field("mode", &self.mode).field("relay", &self.relay).finish_non_exhaustive()
    }
}

/// What the service tells its owner. Called on the runtime's thread: it must not block.
pub trait Observer: Send + Sync + 'static {
    /// A peer came, went, fell behind or caught up.
    fn peer(&self, team: EventId, device: DeviceId);
    /// A team's roster is another.
    fn roster(&self, team: EventId);
}

/// Nobody.
impl Observer for () {
    fn peer(&self, _: EventId, _: DeviceId) {}
    fn roster(&self, _: EventId) {}
}

/// Serves those who call for pairing.
pub trait PairHandler: Send + Sync + 'static {
    /// A stranger, or a member, called for `ergo/pair/1`. The connection ends when the future does.
    fn accept(&self, connection: Connection) -> BoxFuture<'static, ()>;
}

/// The service. Cheap to clone; it ends with [`Service::stop`].
#[derive(Clone)]
pub struct Service(Arc<Shared>);

pub(super) struct Shared {
    /// What [`Service::status`] shows; written by the conductor alone.
    board: watch::Sender<Status>,
    events: mpsc::UnboundedSender<Event>,
    dirty: Arc<Notify>,
    handler: Mutex<Option<Arc<dyn PairHandler>>>,
    windows: AtomicUsize,
}

impl Shared {
    fn handler(&self) -> Option<Arc<dyn PairHandler>> {
        self.handler.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// While it lives, strangers may pair.
pub struct Window {
    shared: Arc<Shared>,
    door: Option<Door>,
}

impl Drop for Window {
    fn drop(&mut self) {
        drop(self.door.take());
        self.shared.windows.fetch_sub(1, Ordering::Relaxed);
        // The service has ended before its last window: nothing to close.
        drop(self.shared.events.send(Event::Refresh(None)));
    }
}

impl Service {
    /// Starts it, on the current runtime. What goes wrong with the network stands in [`Service::status`].
    pub fn start(settings: Settings, engine: Arc<Engine>, observer: Arc<dyn Observer>) -> Self {
        let (events, heard) = mpsc::unbounded_channel();
        let (news, told) = mpsc::unbounded_channel();
        let shelf = Arc::new(shelf::StoreShelf::new(Arc::clone(&engine)));
        let context = Context {
            documents: Documents::new(settings.worker.clone(), shelf),
            engine,
            instance: tasks::random(),
            limits: settings.limits,
            news,
        };
        let shared = Arc::new(Shared {
            board: watch::Sender::new(Status::default()),
            events,
            dirty: Arc::new(Notify::new()),
            handler: Mutex::default(),
            windows: AtomicUsize::new(0),
        });
        tokio::spawn(tasks::news(told, shared.events.clone()));
        tokio::spawn(Conductor::new(settings, context, Arc::clone(&shared), observer).run(heard));
        let service = Self(shared);
        service.tell(Event::Refresh(None));
        service
    }

    /// This device wrote something. Cheap.
    pub fn changed(&self) {
        self.0.dirty.notify_one();
    }

    /// A team was made, joined or left here, or its roster was changed here: listens or ceases to, calls new members, and ends the
    /// sessions of those who are none any more. Returns when that is done.
    pub async fn refresh(&self) {
        self.ask(|done| Event::Refresh(Some(done))).await;
    }

    /// From now on packets go as far as this; `None` for the usual.
    pub async fn set_mode(&self, mode: Option<Mode>) {
        self.ask(|done| Event::SetMode(mode, done)).await;
    }

    /// Calls every peer that is not connected, or the one named, and compares with those that are. Answers the number of this
    /// round: it is over with a peer whose [`PeerStatus::round`] is no less.
    pub async fn sync_now(&self, only: Option<DeviceId>) -> u64 {
        let (send, receive) = oneshot::channel();
        self.tell(Event::SyncNow(only, send));
        receive.await.unwrap_or_default()
    }

    /// A peer may be reached at this address: a person says so.
    pub async fn add_address(&self, device: DeviceId, address: SocketAddr) {
        self.ask(|done| Event::AddAddress(device, address, done)).await;
    }

    /// The network at this moment. No I/O.
    pub fn status(&self) -> Status {
        self.0.board.borrow().clone()
    }

    /// The network as it changes.
    pub fn watch(&self) -> watch::Receiver<Status> {
        self.0.board.subscribe()
    }

    /// Where this device is reached: for a ticket. Keep a [`Window`] while the address matters, or nothing may listen there.
    ///
    /// # Errors
    /// Where the mode is off, or nothing can listen.
    pub async fn address(&self) -> Result<EndpointAddr, EndpointError> {
        self.transport().await.map(|transport| transport.address())
    }

    /// Lets strangers pair with `handler` while the window lives; there is one handler, the latest.
    ///
    /// # Errors
    /// As [`Service::address`].
    pub async fn open_window(&self, handler: Arc<dyn PairHandler>) -> Result<Window, EndpointError> {
        *self.0.handler.lock().unwrap_or_else(PoisonError::into_inner) = Some(handler);
        // From here on something listens, whoever else is there.
        let mut window = self.window();
        window.door = Some(self.transport().await?.open_door());
        Ok(window)
    }

    /// Calls a device that invited this one. Hold the window as long as the connection.
    ///
    /// # Errors
    /// Where the mode is off, or the device does not answer or refuses.
    pub async fn dial_pair(&self, inviter: EndpointAddr) -> Result<(Connection, Window), EndpointError> {
        let window = self.window();
        let connection = self.transport().await?.call_to_pair(inviter).await?;
        Ok((connection, window))
    }

    /// Says goodbye to every peer and ends.
    pub async fn stop(&self) {
        self.ask(Event::Stop).await;
    }

    fn window(&self) -> Window {
        self.0.windows.fetch_add(1, Ordering::Relaxed);
        Window { shared: Arc::clone(&self.0), door: None }
    }

    async fn transport(&self) -> Result<Arc<super::endpoint::Transport>, EndpointError> {
        let (send, receive) = oneshot::channel();
        self.tell(Event::Transport(send));
        receive.await.unwrap_or_else(|_| Err(EndpointError::Bind("sync has ended".to_owned())))
    }

    fn tell(&self, event: Event) {
        // It has ended: there is nothing left to tell.
        drop(self.0.events.send(event));
    }

    async fn ask(&self, event: impl FnOnce(oneshot::Sender<()>) -> Event) {
        let (done, wait) = oneshot::channel();
        self.tell(event(done));
        drop(wait.await);
    }
}
