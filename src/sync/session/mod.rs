//! A session: two members of a team exchange over one stream of bytes what each may read, and then every change.
//!
//! ```text
//!  dialler  HELLO ────────▶            ◀──────── HELLO  acceptor        (team, rosters' ends)
//!           ROSTER events ▶            ◀ ROSTER events                  then membership is checked again
//!           OFFER ────────▶            ◀──────── OFFER                  (chains and documents, by scope)
//!   per document that differs:  DOC ⇄ DOC … until both have the same heads
//!                               WANT ▶ ◀ BODIES, one transaction, DURABLE
//!                               (much at once: COMPACT instead of DOC, then FOLLOWING_BODIES)
//!   and then: pushes (BODIES, DOC …), NUDGE with a hash of all that is offered, OFFER if the hashes differ
//! ```
//!
//! A session knows no socket: it takes anything that reads and writes bytes.
//!
//! Architecture Invariant: what a session stores is stored in whole transactions. So it may be cut at any
//! frame, and the next session continues.

mod bulk;
mod end;
mod events;
mod exchange;
mod exchange_queue;
mod handshake;
mod message_loop;
mod offer;
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

/// The limits of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// Timeout of the handshake, and of the exchange of rosters.
    pub handshake: Duration,
    /// Timeout of an answer, and of the rest of a frame.
    pub idle: Duration,
    /// How long a session may work without storing anything.
    pub progress: Duration,
    /// Documents that are exchanged at once; each costs the worker a copy.
    pub exchanges: usize,
    /// Bytes that may wait to be sent before more is read from the store.
    pub queue: usize,
    /// The most events of a peer in quarantine before the peer is rejected.
    pub quarantined: usize,
    /// The most sessions at once, with all peers together.
    pub sessions: usize,
    /// The most peers to sync with; they take turns if there are more than sessions.
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
            quarantined: MOST_QUARANTINED,
            sessions: 16,
            peers: 64,
        }
    }
}

/// What all sessions of this device share.
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
    /// Receives what sessions changed in the store.
    pub peer_events: mpsc::UnboundedSender<PeerEvent>,
}

impl SyncContext {
    /// Runs work of the engine on a thread that may block.
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
    /// The peer that sent it.
    pub from: DeviceId,
    /// The roster changed.
    pub roster: bool,
    /// Events arrived that are in no document yet.
    pub undocumented: bool,
    /// Bodies arrived of events that were here without them.
    pub bodies: bool,
}

/// Which side of the connection this device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionSide {
    /// It dialled.
    Dialler,
    /// It accepted.
    Acceptor,
}

/// A command to a session.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionCommand {
    /// These documents have new events of this device: send them at once.
    Push(Vec<(DocumentKey, Vec<EventId>)>),
    /// Something else changed, or a minute has passed: compare with the peer.
    Compare,
    /// A person asked for a sync: compare, and report the end in [`SessionView::round`].
    Round(u64),
    /// Bodies arrived that the peer may lack: offer, and it requests them.
    Offer,
    /// The roster changed here.
    Roster,
    /// End in order.
    Stop,
    /// End with this rejection.
    Reject(Rejection),
}

/// How far a session has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SessionPhase {
    /// The rosters are exchanged.
    #[default]
    Greeting,
    /// Events are exchanged.
    Syncing,
    /// Everything requested was answered; changes are sent as they come.
    Live,
}

/// The state of a session, as others see it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionView {
    /// How far it has come.
    pub phase: SessionPhase,
    /// Events that the peer has and this device lacks.
    pub missing_here: u64,
    /// Events that this device has and the peer lacks.
    pub missing_at_peer: u64,
    /// Whether both have the same events of all that both may read.
    pub in_sync: bool,
    /// When both last had the same events, in milliseconds since the Unix epoch.
    pub last_sync: Option<u64>,
    /// Events that this session stored here.
    pub received: u64,
    /// Events of the peer that went into quarantine here.
    pub quarantined: u64,
    /// Events of this device in the peer's quarantine, as it last reported.
    pub not_accepted: u64,
    /// How far the peer's clock is ahead of ours, in milliseconds.
    pub clock_skew_ms: i64,
    /// The last [`SessionCommand::Round`] that is over: the two compared, and have the same.
    pub round: u64,
    /// The last problem that did not end the session; `None` again once the two are in sync.
    pub problem: Option<SessionProblem>,
}

/// A problem that did not end the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionProblem {
    pub message: String,
    /// Whether it passes without a person: the exchange is repeated.
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
