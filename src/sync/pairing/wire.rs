//! The messages of `ergo/pair/1`: a length in four bytes, big endian, then CBOR. A stranger may say little: limits are small until it has
//! proved something, and nothing is allocated for what was only announced.

use std::time::Duration;

use minicbor::{Decode, Encode};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::{PairError, Refusal};
use crate::domain::{
    EventId, Scope, SignedEvent,
    event::{EventError, SealedBody},
};

/// The longest message but those with the roster, in bytes.
pub(super) const SMALL: usize = 16 * 1024;

/// The longest message with roster events, in bytes: an event has at most 32 KiB.
pub(super) const LARGE: usize = 1024 * 1024;

/// How many bytes of roster events go into one message before the next is begun.
pub(super) const PAGE: usize = 256 * 1024;

/// The most roster events that are taken: a team has at most 64 peers.
pub(super) const MAX_ROSTER: usize = 10_000;

/// A message.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(super) enum Message {
    #[n(0)]
    Hello(#[n(0)] Hello),
    #[n(1)]
    Welcome(#[n(0)] Welcome),
    #[n(2)]
    Ready,
    #[n(3)]
    Roster(#[n(0)] Page),
    #[n(4)]
    Done,
    #[n(5)]
    Refused(#[n(0)] String),
}

/// The joiner's first word.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub(super) struct Hello {
    /// Which invite: [`super::proof::Kept::name`].
    #[cbor(n(0), with = "minicbor::bytes")]
    pub(super) invite: [u8; 8],
    #[cbor(n(1), with = "minicbor::bytes")]
    pub(super) proof: [u8; 32],
    /// Whose device it is.
    #[n(2)]
    pub(super) person: String,
    /// What it calls itself.
    #[n(3)]
    pub(super) name: String,
}

/// What the inviter tells of the team, once the joiner has proved to have the ticket.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct Welcome {
    /// That it made the invite.
    #[cbor(n(0), with = "minicbor::bytes")]
    pub(super) proof: [u8; 32],
    /// The team.
    #[n(1)]
    pub team: EventId,
    /// The team's name.
    #[n(2)]
    pub team_name: String,
    /// Whose device the inviter is.
    #[n(3)]
    pub person: String,
    /// What it is called.
    #[n(4)]
    pub name: String,
    /// The role that is offered: `reader`, `writer` or `admin`.
    #[n(5)]
    pub role: String,
    /// The scopes that will be seen; empty for all.
    #[n(6)]
    pub scopes: Vec<Scope>,
    /// How long a person has to answer, in seconds.
    #[n(7)]
    pub patience: u64,
}

/// Some of the roster's events.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub(super) struct Page {
    #[n(0)]
    pub(super) events: Vec<WireEvent>,
    #[n(1)]
    pub(super) last: bool,
}

/// A signed event.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub(super) struct WireEvent {
    /// The header as it was signed.
    #[cbor(n(0), with = "minicbor::bytes")]
    header: Vec<u8>,
    #[cbor(n(1), with = "minicbor::bytes")]
    signature: [u8; 64],
    #[cbor(n(2), with = "minicbor::bytes")]
    salt: Option<[u8; 16]>,
    /// Absent once redacted.
    #[cbor(n(3), with = "minicbor::bytes")]
    body: Option<Vec<u8>>,
}

impl From<&SignedEvent> for WireEvent {
    fn from(event: &SignedEvent) -> Self {
        let (salt, body) = event.body.clone().map(|body| (body.salt, body.bytes)).unzip();
        Self { header: event.header_bytes.clone(), signature: event.signature, salt, body }
    }
}

impl WireEvent {
    /// The event, its form checked, its signature not yet.
    pub(super) fn into_event(self) -> Result<SignedEvent, EventError> {
        let body = self.salt.zip(self.body).map(|(salt, bytes)| SealedBody { salt, bytes });
        SignedEvent::from_parts(self.header, self.signature, body)
    }
}

/// Sends a message.
pub(super) async fn send(stream: &mut (impl AsyncWrite + Unpin), message: &Message) -> Result<(), PairError> {
    let body = minicbor::to_vec(message).unwrap_or_default();
    let mut bytes = (body.len() as u32).to_be_bytes().to_vec();
    bytes.extend_from_slice(&body);
    let write = async {
        stream.write_all(&bytes).await?;
        stream.flush().await
    };
    match tokio::time::timeout(super::STEP, write).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(PairError::Lost(error.to_string())),
        Err(_) => Err(silent(super::STEP)),
    }
}

/// Waits for the next message, of at most `limit` bytes. A refusal is an error.
pub(super) async fn receive(
    stream: &mut (impl AsyncRead + Unpin),
    limit: usize,
    patience: Duration,
) -> Result<Message, PairError> {
    let read = async {
        let mut length = [0; 4];
        stream.read_exact(&mut length).await?;
        let length = u32::from_be_bytes(length) as usize;
        if length > limit {
            return Ok(Err(PairError::Garbled(format!(
                "a message of {length} bytes, where at most {limit} are allowed"
            ))));
        }
        let mut body = Vec::new();
        (&mut *stream).take(length as u64).read_to_end(&mut body).await?;
        if body.len() < length {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Ok(minicbor::decode(&body).map_err(|error| PairError::Garbled(error.to_string())))
    };
    match tokio::time::timeout(patience, read).await {
        Ok(Ok(Ok(Message::Refused(word)))) => Err(PairError::Refused(Refusal::of(&word).unwrap_or(Refusal::Failed))),
        Ok(Ok(message)) => message,
        Ok(Err(error)) => Err(lost(&error)),
        Err(_) => Err(silent(patience)),
    }
}

fn lost(error: &std::io::Error) -> PairError {
    PairError::Lost(match error.kind() {
        std::io::ErrorKind::UnexpectedEof => "the other side went away".to_owned(),
        _ => error.to_string(),
    })
}

fn silent(patience: Duration) -> PairError {
    PairError::Lost(format!("the other side said nothing for {} s", patience.as_secs()))
}

/// The error for a message that is not the next one.
pub(super) fn out_of_turn(message: &Message) -> PairError {
    let what = match message {
        Message::Hello(_) => "HELLO",
        Message::Welcome(_) => "WELCOME",
        Message::Ready => "READY",
        Message::Roster(_) => "ROSTER",
        Message::Done => "DONE",
        Message::Refused(_) => "REFUSED",
    };
    PairError::Garbled(format!("{what} out of turn"))
}
