//! The greeting: who speaks, of which team. The dialler speaks first; a caller learns nothing before it is known.

use std::time::Duration;

use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::timeout,
};

use super::{Context, Ended, Side, Stop, wire::Wire};
use crate::{
    domain::{DeviceId, EventId, event},
    engine::Engine,
    sync::{
        frame::{Code, Hello, MINOR, Message, Refused},
        lean,
    },
};

/// A session whose greeting is over.
pub struct Greeted {
    pub(super) wire: Wire,
    /// The team that it is about.
    pub team: EventId,
    /// The other side.
    pub peer: DeviceId,
    /// Which side this is.
    pub side: Side,
    pub(super) hello: Hello,
}

impl Greeted {
    /// [`Context::instance`] of the other side.
    pub fn instance(&self) -> u64 {
        self.hello.instance
    }

    /// Ends the session before it begins.
    pub async fn refuse(self, code: Code, words: impl Into<String>) {
        let refused = Refused { code, words: words.into(), document: None };
        drop(self.wire.send(&Message::Error(refused)));
        self.wire.finish().await;
    }
}

/// Greets `peer`, whose device id the transport has proven. The dialler names the team; the acceptor takes the caller's, where both
/// belong to it.
///
/// # Errors
/// Where the other side is too slow, of no team of ours, or no member of it.
pub async fn greet<R, W>(
    context: &Context,
    side: Side,
    peer: DeviceId,
    team: Option<EventId>,
    reader: R,
    writer: W,
) -> Result<Greeted, Ended>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let mut wire = Wire::new(reader, writer, context.limits);
    let within = context.limits.handshake;
    let greeted = timeout(within, exchange(context, side, peer, team, &mut wire)).await;
    match greeted.unwrap_or_else(|_| Err(slow(within))) {
        Ok((team, hello)) => Ok(Greeted { wire, team, peer, side, hello }),
        Err(stop) => {
            if let Some(refused) = stop.last_words() {
                drop(wire.send(&Message::Error(refused)));
            }
            wire.finish().await;
            Err(stop.into_ended())
        }
    }
}

pub(super) fn slow(within: Duration) -> Stop {
    Stop::Wire(super::wire::WireError::Slow(within))
}

async fn exchange(
    context: &Context,
    side: Side,
    peer: DeviceId,
    team: Option<EventId>,
    wire: &mut Wire,
) -> Result<(EventId, Hello), Stop> {
    if side == Side::Dialler {
        let team = team.ok_or_else(|| Stop::Here("no team was named".to_owned()))?;
        wire.send(&Message::Hello(hello(context, team).await?))?;
    }
    let theirs = loop {
        match wire.next().await? {
            Message::Hello(hello) => break hello,
            Message::Error(refused) => return Err(Stop::Refused(refused)),
            Message::Bye => return Err(Stop::PeerBye),
            Message::Unknown(_) => {}
            _ => return Err(Stop::refuse(Code::Version, "a session begins with HELLO")),
        }
    };
    let about = theirs.team.ok_or_else(|| Stop::refuse(Code::Version, "HELLO names no team"))?;
    if team.is_some_and(|team| team != about) {
        return Err(Stop::refuse(Code::TeamMismatch, "this session is about another team"));
    }
    let is_member = context.engine(move |engine| member(engine, about, peer)).await?;
    match is_member {
        None => return Err(Stop::refuse(Code::TeamMismatch, "this device does not belong to that team")),
        Some(false) => return Err(Stop::refuse(Code::NotPaired, "your device is not on the roster of that team")),
        Some(true) => {}
    }
    if side == Side::Acceptor {
        wire.send(&Message::Hello(hello(context, about).await?))?;
    }
    Ok((about, theirs))
}

/// Whether `peer` is an active member of a team to which this device belongs; `None` where it does not.
fn member(engine: &Engine, team: EventId, peer: DeviceId) -> Result<Option<bool>, crate::api::ApiError> {
    let me = engine.device();
    let roster = engine.sync_read(|reader| reader.roster(&team))?;
    Ok(roster.filter(|roster| roster.is_member(&me)).map(|roster| roster.is_member(&peer)))
}

async fn hello(context: &Context, team: EventId) -> Result<Hello, Stop> {
    let (roster, clock) = context
        .engine(move |engine| {
            let vector = engine.sync_read(|reader| match reader.roster(&team)? {
                Some(roster) => reader.vector(&team, roster.scope()),
                None => Ok(Vec::new()),
            })?;
            Ok((vector, (engine.config().clock)()))
        })
        .await?;
    Ok(Hello {
        minor: MINOR,
        features: vec![lean::FEATURE.to_owned()],
        versions: vec![event::VERSION],
        team: Some(team),
        instance: context.instance,
        roster,
        clock,
    })
}
