//! A session: two members of a team over one stream of bytes, until both have what the other may give, and on from there.
//!
//! ```text
//!  dialler  HELLO ────────▶            ◀──────── HELLO  acceptor        (team, rosters' ends)
//!           ROSTER events ▶            ◀ ROSTER events                  then membership is judged anew
//!           OFFER ────────▶            ◀──────── OFFER                  (chains and documents, by scope)
//!   per document that differs:  DOC ⇄ DOC … until both say the same heads
//!                               WANT ▶ ◀ BODIES, one transaction, DURABLE
//!                               (much at once: LEAN instead of DOC, and FOLLOWING bodies unasked)
//!   and then: pushes (BODIES, DOC …), NUDGE with a hash of all that is offered, OFFER where the hashes differ
//! ```
//!
//! A session knows no socket: it takes anything that reads and writes bytes. Whatever ends it, what reached the disk is whole.

mod exchange;
mod fault;
mod following;
mod greet;
mod live;
mod offer;
mod plain;
mod step;
mod wire;

use std::{sync::Arc, time::Duration};

use tokio::sync::{mpsc, watch};

pub use fault::Ended;
use fault::Stop;
pub use greet::{Greeted, greet};
pub use offer::Place;

use super::worker::Documents;
use crate::{
    api::ApiError,
    domain::{DeviceId, EventId},
    engine::Engine,
    store::MOST_QUARANTINED,
    sync::frame::Refused,
};

/// What a session may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The greeting, and the rosters' exchange, each.
    pub handshake: Duration,
    /// How long an answer, or the rest of a frame, may take.
    pub idle: Duration,
    /// How long a session may be at work without anything reaching the disk.
    pub progress: Duration,
    /// Documents that are reconciled at once; each costs the worker a copy.
    pub exchanges: usize,
    /// Bytes that may wait to be sent before more is read from the store.
    pub queue: usize,
    /// Events that a peer brought and that wait in quarantine, until it is heard no more.
    pub quarantined: usize,
    /// Sessions at once, with all peers together.
    pub sessions: usize,
    /// Peers that are spoken with, in turns where they are more than sessions.
    pub peers: usize,
}

impl Default for Limits {
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

/// What every session of this device works with.
#[derive(Clone)]
pub struct Context {
    /// The owner of the store.
    pub engine: Arc<Engine>,
    /// The worker that merges documents.
    pub documents: Documents,
    /// Random, new with each start of the service.
    pub instance: u64,
    /// What sessions may take.
    pub limits: Limits,
    /// Where a session says that it changed what is stored here.
    pub news: mpsc::UnboundedSender<News>,
}

impl Context {
    /// Works on the engine on a thread that may block.
    pub(in crate::sync) async fn engine<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Engine) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let engine = Arc::clone(&self.engine);
        match tokio::task::spawn_blocking(move || work(&engine)).await {
            Ok(result) => result,
            Err(error) => {
                tracing::error!(%error, "the store failed under a session");
                Err(ApiError::internal("the store failed under a sync session"))
            }
        }
    }
}

/// What a session did to this device's store, for the other sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// The team.
    pub team: EventId,
    /// Who brought it.
    pub from: DeviceId,
    /// The roster is another.
    pub roster: bool,
    /// Events came that stand in no document yet.
    pub undocumented: bool,
    /// Bodies came of events that stood here without.
    pub bodies: bool,
}

/// Which side of the connection this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It called.
    Dialler,
    /// It was called.
    Acceptor,
}

/// What a session is asked to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// These documents have new events of this device, which are not to wait.
    Push(Vec<(Place, Vec<EventId>)>),
    /// Something else changed, or a minute has passed: compare.
    Compare,
    /// A person asks: compare, and say in [`View::round`] that this is done.
    Round(u64),
    /// Bodies came that others may lack: whoever does asks for them once it is offered something.
    Offer,
    /// The roster has changed here.
    Roster,
    /// End in order.
    Stop,
    /// End with this refusal.
    Refuse(Refused),
}

/// How far a session has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Rosters are compared.
    #[default]
    Greeting,
    /// Events are on their way.
    Syncing,
    /// What was asked for has been answered; changes are sent as they come.
    Live,
}

/// What a session knows of its peer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// How far it has come.
    pub phase: Phase,
    /// Events that the peer has and this device lacks.
    pub we_lack: u64,
    /// Events that this device has and the peer lacks.
    pub they_lack: u64,
    /// Both have the same events of all that both may read.
    pub equal: bool,
    /// When that was last so, in milliseconds since the Unix epoch.
    pub last_sync: Option<u64>,
    /// Events that this session stored here.
    pub received: u64,
    /// Events that it brought and that were not let in.
    pub quarantined: u64,
    /// Events that this device brought and that the peer did not let in, as it last said.
    pub not_taken: u64,
    /// How far the peer's clock is ahead of ours, in milliseconds.
    pub skew: i64,
    /// The last [`Command::Round`] that is over: the two compared, and have the same.
    pub round: u64,
    /// The last thing that went wrong without ending the session, in words.
    pub trouble: Option<String>,
}

/// Runs a session that was greeted, until it ends.
pub async fn run(
    context: &Context,
    greeted: Greeted,
    commands: mpsc::UnboundedReceiver<Command>,
    view: watch::Sender<View>,
) -> Ended {
    let Greeted { wire, team, peer, side, hello } = greeted;
    let mut session = live::Session::new(context, wire, team, peer, side, hello, view);
    let stop = match session.agree().await {
        Ok(()) => session.live(commands).await,
        Err(stop) => stop,
    };
    session.end(stop).await
}
