//! A session: two members of a team exchange the events that each may read over one stream of bytes, and after that
//! every change.

mod bulk;
mod end;
mod events;
mod exchange;
mod exchange_queue;
mod handshake;
mod message_loop;
mod offer;
mod roster_exchange;
mod session_view;
mod step;
mod stream;

use std::{sync::Arc, time::Duration};

use tokio::sync::{mpsc, watch};

pub use end::SessionEnd;
use end::StopReason;
pub(in crate::sync) use end::rejection_after_leaving;
pub use handshake::{EstablishedSession, handshake};
pub use offer::DocumentKey;

use super::worker::Documents;
use crate::{
    api::ApiError,
    domain::{DeviceId, EventId},
    engine::Engine,
    store::MOST_QUARANTINED,
    sync::frame::Rejection,
};

/// The limits of sync sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// The timeout of the handshake, and of the exchange of rosters.
    pub handshake: Duration,
    /// The timeout of an answer, and of the rest of a frame.
    pub idle: Duration,
    /// The time after which a session that stores nothing is ended.
    pub progress: Duration,
    /// The documents that are exchanged at once. Each costs the worker a copy.
    pub exchanges: usize,
    /// The bytes of unsent frames above which no more responses are read from the store.
    pub queue: usize,
    /// The most bytes of unsent frames, above which the session is ended. Turns and pushed bodies do not wait for the
    /// queue: at most about 100 MB, if all exchanges are of large documents.
    pub unsent: usize,
    /// The most events of a peer in quarantine before the peer is rejected.
    pub quarantined: usize,
    /// The most sessions at once, with all peers together.
    pub sessions: usize,
    /// The most peers to sync with. If there are more peers than sessions, they take turns.
    pub peers: usize,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            idle: Duration::from_mins(1),
            progress: Duration::from_mins(10),
            exchanges: 4,
            queue: 4 * 1024 * 1024,
            unsent: 256 * 1024 * 1024,
            quarantined: MOST_QUARANTINED,
            sessions: 16,
            peers: 64,
        }
    }
}

/// The resources that all sessions of this device share.
#[derive(Clone)]
pub struct SyncContext {
    /// The engine, which owns the store.
    pub engine: Arc<Engine>,
    /// The worker that merges documents.
    pub documents: Documents,
    /// A random number, new with each start of the service.
    pub instance: u64,
    /// The limits of each session.
    pub limits: SessionLimits,
    /// Receives the changes that sessions make in the store.
    pub peer_events: mpsc::UnboundedSender<PeerEvent>,
}

impl SyncContext {
    /// Runs work on the engine, on a thread that may block.
    pub(in crate::sync) async fn engine<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Engine) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let engine = Arc::clone(&self.engine);
        match tokio::task::spawn_blocking(move || work(&engine)).await {
            Ok(result) => result,
            Err(error) => {
                tracing::error!(%error, "the store failed during a session");
                Err(ApiError::internal("the store failed during a sync session"))
            }
        }
    }
}

/// A change that a session made to this device's store, for the other sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerEvent {
    pub team: EventId,
    /// The peer that sent the change.
    pub from: DeviceId,
    /// Whether the roster changed.
    pub roster: bool,
    /// Whether events arrived that are in no document yet.
    pub undocumented: bool,
    /// Whether bodies arrived of events that were stored here without them.
    pub bodies: bool,
}

/// The side of the connection that this device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionSide {
    /// This device dialled.
    Dialler,
    /// This device accepted the connection.
    Acceptor,
}

/// A command to a session.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionCommand {
    /// Sends new events of this device in these documents at once.
    Push(Vec<(DocumentKey, Vec<EventId>)>),
    /// Compares with the peer: something else changed, or a minute has passed.
    Compare,
    /// Compares with the peer because a person asked for it, and reports the end in [`SessionView::round`].
    Round(u64),
    /// Sends an offer, so that the peer requests bodies that arrived here and that it may lack.
    Offer,
    /// Sends the roster, which changed here.
    Roster,
    /// Ends the session in order.
    Stop,
    /// Ends the session with this rejection.
    Reject(Rejection),
}

/// The phase of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SessionPhase {
    /// The rosters are being exchanged.
    #[default]
    Greeting,
    /// Events are being exchanged.
    Syncing,
    /// All requests were answered; changes are sent as they come.
    Live,
}

/// The state that a session reports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionView {
    pub phase: SessionPhase,
    /// Events that the peer has and this device lacks.
    pub missing_here: u64,
    /// Events that this device has and the peer lacks.
    pub missing_at_peer: u64,
    /// Whether both have the same events of all that both may read.
    pub in_sync: bool,
    /// The time at which both last had the same events, in milliseconds since the Unix epoch.
    pub last_sync: Option<u64>,
    /// Events that this session stored here.
    pub received: u64,
    /// Events of the peer that went into quarantine here.
    pub quarantined: u64,
    /// Events of this device in the peer's quarantine, as it last reported.
    pub not_accepted: u64,
    /// How far the peer's clock is ahead of this device's, in milliseconds.
    pub clock_skew_ms: i64,
    /// The last [`SessionCommand::Round`] that is over: the two have compared and are in sync.
    pub round: u64,
    /// The last problem that did not end the session; `None` again once the two are in sync.
    pub problem: Option<SessionProblem>,
}

/// A problem that did not end the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionProblem {
    pub message: String,
    /// Whether the problem passes by itself, because the exchange is repeated.
    pub transient: bool,
}

/// Runs an established session until it ends.
pub async fn run(
    context: &SyncContext,
    established: EstablishedSession,
    commands: mpsc::UnboundedReceiver<SessionCommand>,
    view: watch::Sender<SessionView>,
) -> SessionEnd {
    let EstablishedSession { stream, team, peer, side, hello } = established;
    let mut session = message_loop::SyncSession::new(context, stream, team, peer, side, hello, view);
    let stop = match session.exchange_rosters().await {
        Ok(()) => session.run(commands).await,
        Err(stop) => stop,
    };
    session.end(stop).await
}
