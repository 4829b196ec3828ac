//! The handshake, in which both sides greet and agree on a team. The dialler speaks first, and a caller learns nothing
//! before its membership is checked.

use std::time::Duration;

use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::timeout,
};

use super::{SessionEnd, SessionSide, StopReason, SyncContext, stream::FrameStream};
use crate::{
    domain::{DeviceId, EventId, event},
    engine::Engine,
    sync::{
        compact,
        frame::{MINOR, Message, RejectCode, Rejection, SessionHello},
    },
};

/// A session after its handshake.
pub struct EstablishedSession {
    pub(super) stream: FrameStream,
    pub team: EventId,
    /// The other device.
    pub peer: DeviceId,
    pub side: SessionSide,
    pub(super) hello: SessionHello,
}

impl EstablishedSession {
    /// Returns [`SyncContext::instance`] of the other side.
    pub fn instance(&self) -> u64 {
        self.hello.instance
    }

    /// Rejects the peer before the session begins.
    pub async fn refuse(self, code: RejectCode, reason: impl Into<String>) {
        let refused = Rejection { code, reason: reason.into(), document: None };
        drop(self.stream.send(&Message::Error(refused)));
        self.stream.finish().await;
    }
}

/// Performs the handshake with `peer`, whose device id the transport has proven. The dialler names the team. The
/// acceptor accepts the team that the caller names if both belong to it.
///
/// # Errors
/// If the peer is too slow, or one of the two is not a member of the team.
pub async fn handshake<R, W>(
    context: &SyncContext,
    side: SessionSide,
    peer: DeviceId,
    team: Option<EventId>,
    reader: R,
    writer: W,
) -> Result<EstablishedSession, SessionEnd>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let mut stream = FrameStream::new(reader, writer, context.limits);
    let within = context.limits.handshake;
    let established = timeout(within, exchange_hellos(context, side, peer, team, &mut stream)).await;
    match established.unwrap_or_else(|_| Err(slow(within))) {
        Ok((team, hello)) => Ok(EstablishedSession { stream, team, peer, side, hello }),
        Err(stop) => {
            let stop = stop.or_closing_message(&mut stream).await;
            if let Some(refused) = stop.rejection() {
                drop(stream.send(&Message::Error(refused)));
            }
            stream.finish().await;
            Err(stop.into_session_end())
        }
    }
}

pub(super) fn slow(within: Duration) -> StopReason {
    StopReason::Stream(super::stream::StreamError::TimedOut(within))
}

async fn exchange_hellos(
    context: &SyncContext,
    side: SessionSide,
    peer: DeviceId,
    team: Option<EventId>,
    stream: &mut FrameStream,
) -> Result<(EventId, SessionHello), StopReason> {
    if side == SessionSide::Dialler {
        let team = team.ok_or_else(|| StopReason::Local("no team was named".to_owned()))?;
        stream.send(&Message::Hello(hello(context, team).await?))?;
    }
    let theirs = loop {
        match stream.next().await? {
            Message::Hello(hello) => break hello,
            Message::Error(refused) => return Err(StopReason::RejectedByPeer(refused)),
            Message::Bye => return Err(StopReason::PeerBye),
            Message::Unknown(_) => {}
            _ => {
                return Err(StopReason::reject(
                    RejectCode::Version,
                    "the rejected device did not introduce itself first",
                ));
            }
        }
    };
    let about =
        theirs.team.ok_or_else(|| StopReason::reject(RejectCode::Version, "the rejected device named no team"))?;
    if team.is_some_and(|team| team != about) {
        return Err(StopReason::reject(RejectCode::TeamMismatch, "this session is about another team"));
    }
    let is_member = context.engine(move |engine| member(engine, about, peer)).await?;
    match is_member {
        None => {
            let reason = "the rejecting device does not belong to that team";
            return Err(StopReason::reject(RejectCode::TeamMismatch, reason));
        }
        Some(false) => {
            return Err(StopReason::reject(RejectCode::NotPaired, "the rejected device is not a member of that team"));
        }
        Some(true) => {}
    }
    if side == SessionSide::Acceptor {
        stream.send(&Message::Hello(hello(context, about).await?))?;
    }
    Ok((about, theirs))
}

/// Whether `peer` is an active member of a team to which this device belongs; `None` if this device does not.
fn member(engine: &Engine, team: EventId, peer: DeviceId) -> Result<Option<bool>, crate::api::ApiError> {
    let me = engine.device();
    let roster = engine.sync_read(|reader| reader.roster(&team))?;
    Ok(roster.filter(|roster| roster.is_member(&me)).map(|roster| roster.is_member(&peer)))
}

async fn hello(context: &SyncContext, team: EventId) -> Result<SessionHello, StopReason> {
    let (roster, clock) = context
        .engine(move |engine| {
            let vector = engine.sync_read(|reader| match reader.roster(&team)? {
                Some(roster) => reader.vector(&team, roster.scope()),
                None => Ok(Vec::new()),
            })?;
            Ok((vector, (engine.config().clock)()))
        })
        .await?;
    Ok(SessionHello {
        minor: MINOR,
        features: vec![compact::FEATURE.to_owned()],
        versions: vec![event::VERSION],
        team: Some(team),
        instance: context.instance,
        roster,
        clock,
    })
}
