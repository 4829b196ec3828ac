//! What runs beside the conductor, and reports to it.

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

use super::conductor::Event;
use crate::{
    domain::{DeviceId, EventId},
    sync::{
        endpoint::{self, EndpointError, Listener, Transport},
        frame::ALPN_PAIR,
        index,
        session::{self, Command, Context, Ended, Greeted, News, Side, View},
    },
};

/// Sessions, greetings included, that one peer may have open.
const PER_PEER: usize = 4;

/// Callers that are greeted at once.
const GREETINGS: usize = 16;

/// Between two rounds of putting events into documents: those of one burst go together.
const GAP: Duration = Duration::from_millis(5);

/// The wait after a round that failed.
const RETRY: Duration = Duration::from_secs(5);

/// How long the end of a connection waits for the peer to have read the last words.
const FAREWELL: Duration = Duration::from_millis(500);

/// Passes the endpoint's news on, and greets callers.
pub(super) struct Ear {
    context: Context,
    events: mpsc::UnboundedSender<Event>,
    greeting: Arc<Semaphore>,
    callers: Arc<Mutex<HashMap<DeviceId, usize>>>,
}

impl Ear {
    pub(super) fn new(context: Context, events: mpsc::UnboundedSender<Event>) -> Self {
        Self { context, events, greeting: Arc::new(Semaphore::new(GREETINGS)), callers: Arc::default() }
    }

    fn tell(&self, event: Event) {
        drop(self.events.send(event));
    }
}

impl Listener for Ear {
    fn called(&self, connection: Connection) {
        if connection.alpn() == ALPN_PAIR {
            return self.tell(Event::CalledToPair(connection));
        }
        let peer = endpoint::device_of(connection.remote_id());
        let Ok(permit) = Arc::clone(&self.greeting).try_acquire_owned() else {
            return connection.close(0_u32.into(), b"busy");
        };
        let Some(place) = Place::take(&self.callers, peer) else {
            return connection.close(0_u32.into(), b"busy");
        };
        let (context, events) = (self.context.clone(), self.events.clone());
        tokio::spawn(async move {
            let opened = timeout(context.limits.handshake, connection.accept_bi()).await;
            let Ok(Ok((writer, reader))) = opened else { return connection.close(0_u32.into(), b"no stream") };
            match session::greet(&context, Side::Acceptor, peer, None, reader, writer).await {
                Ok(greeted) => drop(events.send(Event::Greeted(greeted, connection))),
                Err(ended) => {
                    farewell(&connection).await;
                    drop(events.send(Event::NotGreeted(peer, None, ended)));
                }
            }
            drop((permit, place));
        });
    }

    fn found(&self, device: DeviceId, addresses: Vec<SocketAddr>) {
        self.tell(Event::Found(device, addresses));
    }

    fn moved(&self) {
        self.tell(Event::Moved);
    }

    fn contacted(&self, address: &str, what: &'static str) {
        self.tell(Event::Contacted(address.to_owned(), what));
    }
}

/// A peer's place among those who are being greeted.
struct Place(Arc<Mutex<HashMap<DeviceId, usize>>>, DeviceId);

impl Place {
    fn take(callers: &Arc<Mutex<HashMap<DeviceId, usize>>>, peer: DeviceId) -> Option<Self> {
        let mut counts = callers.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(peer).or_default();
        if *count >= PER_PEER {
            return None;
        }
        *count += 1;
        Some(Self(Arc::clone(callers), peer))
    }
}

impl Drop for Place {
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

/// Calls a peer and greets it.
pub(super) async fn dial(
    context: Context,
    transport: Arc<Transport>,
    team: EventId,
    peer: DeviceId,
    addresses: Vec<SocketAddr>,
    events: mpsc::UnboundedSender<Event>,
) {
    let event = match call(&context, &transport, team, peer, &addresses).await {
        Ok((greeted, connection)) => Event::Greeted(greeted, connection),
        Err(Failed::Call(error)) => Event::NotReached(team, peer, error),
        Err(Failed::Greeting(ended)) => Event::NotGreeted(peer, Some(team), ended),
    };
    drop(events.send(event));
}

enum Failed {
    Call(EndpointError),
    Greeting(Ended),
}

async fn call(
    context: &Context,
    transport: &Transport,
    team: EventId,
    peer: DeviceId,
    addresses: &[SocketAddr],
) -> Result<(Greeted, Connection), Failed> {
    let connection = transport.call(peer, addresses).await.map_err(Failed::Call)?;
    let (writer, reader) = connection.open_bi().await.map_err(|error| Failed::Call(endpoint::closed(&error)))?;
    match session::greet(context, Side::Dialler, peer, Some(team), reader, writer).await {
        Ok(greeted) => Ok((greeted, connection)),
        Err(ended) => {
            // A refusal at the handshake arrives just after it: the connection knows better than the stream why it ended.
            let refused = timeout(FAREWELL, connection.closed()).await.ok().map(|error| endpoint::closed(&error));
            Err(match refused {
                Some(error @ (EndpointError::NotPaired | EndpointError::Protocol(_))) => Failed::Call(error),
                _ => Failed::Greeting(ended),
            })
        }
    }
}

/// Runs a session and reports its end; what it shows is reported as it changes.
pub(super) async fn attend(
    context: Context,
    greeted: Greeted,
    connection: Connection,
    id: u64,
    commands: mpsc::UnboundedReceiver<Command>,
    view: watch::Sender<View>,
    events: mpsc::UnboundedSender<Event>,
) {
    let key = (greeted.team, greeted.peer);
    let mut seen = view.subscribe();
    let session = session::run(&context, greeted, commands, view);
    tokio::pin!(session);
    let ended = loop {
        tokio::select! {
            ended = &mut session => break ended,
            Ok(()) = seen.changed() => drop(events.send(Event::Seen(key))),
        }
    };
    farewell(&connection).await;
    drop(events.send(Event::Ended(key, id, ended)));
}

/// Lets the peer read the last words before the connection goes.
async fn farewell(connection: &Connection) {
    drop(timeout(FAREWELL, connection.closed()).await);
    connection.close(0_u32.into(), b"bye");
}

/// Puts what this device writes into documents, whenever it is told that there is something.
pub(super) async fn flush(
    context: Context,
    teams: watch::Receiver<Vec<EventId>>,
    dirty: Arc<Notify>,
    events: mpsc::UnboundedSender<Event>,
) {
    loop {
        dirty.notified().await;
        let all = teams.borrow().clone();
        for team in all {
            match index::flush(&context, team).await {
                Ok(documents) if documents.is_empty() => {}
                Ok(documents) => drop(events.send(Event::Flushed(team, documents))),
                Err(words) => {
                    tracing::warn!(%words, "events wait for their document");
                    drop(events.send(Event::NotFlushed(words)));
                    dirty.notify_one();
                    sleep(RETRY).await;
                }
            }
        }
        if events.is_closed() {
            return;
        }
        sleep(GAP).await;
    }
}

/// Passes on what sessions say to each other.
pub(super) async fn news(mut told: mpsc::UnboundedReceiver<News>, events: mpsc::UnboundedSender<Event>) {
    while let Some(news) = told.recv().await {
        if events.send(Event::News(news)).is_err() {
            return;
        }
    }
}

/// A random number.
pub(super) fn random() -> u64 {
    let mut bytes = [0; 8];
    // Without randomness nothing else works either; a repeated number only makes a restart harder to see.
    let _unlikely = getrandom::fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// A random number from 0 to 1.
pub(super) fn chance() -> f64 {
    (random() >> 11) as f64 / (1_u64 << 53) as f64
}
