//! The messages of `ergo/pair/1`: a length in four bytes, big endian, then CBOR. They share neither frames nor the form
//! of events with [`crate::sync::frame`], and stay as they are, so that all versions can pair.
//!
//! Architecture Invariant: limits are small until the joiner has proved possession of the ticket, and a
//! declared length allocates nothing.

use std::time::Duration;

use minicbor::{Decode, Encode};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::{PairError, PairRefusal};
use crate::domain::{
    EventId, Scope, SignedEvent,
    event::{EventError, SealedBody},
};

/// The most bytes of a message without roster events.
pub(super) const MAX_MESSAGE: usize = 16 * 1024;

/// The most bytes of a message with roster events; an event has at most 32 KiB.
pub(super) const MAX_ROSTER_MESSAGE: usize = 1024 * 1024;

/// The bytes of roster events after which another message begins.
pub(super) const PAGE_BYTES: usize = 256 * 1024;

/// The most roster events that are accepted from a device or file before this device is in the team. A team has at most 64 peers.
pub const MAX_ROSTER_EVENTS: usize = 10_000;

/// A message of the pairing protocol.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(super) enum PairMessage {
    #[n(0)]
    Hello(#[n(0)] PairHello),
    #[n(1)]
    Welcome(#[n(0)] Welcome),
    #[n(2)]
    Ready,
    #[n(3)]
    Roster(#[n(0)] RosterPage),
    #[n(4)]
    Done,
    #[n(5)]
    Refused(#[n(0)] String),
}

/// The joiner's first message.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub(super) struct PairHello {
    /// The id of the invitation, by [`super::proof::SecretHash::invite_id`].
    #[cbor(n(0), with = "minicbor::bytes")]
    pub(super) invite: [u8; 8],
    #[cbor(n(1), with = "minicbor::bytes")]
    pub(super) proof: [u8; 32],
    /// The person that the device belongs to.
    #[n(2)]
    pub(super) person: String,
    #[n(3)]
    pub(super) name: String,
}

/// The inviter's description of the team, sent after the joiner's proof was verified.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct Welcome {
    /// The inviter's proof that it made the invitation.
    #[cbor(n(0), with = "minicbor::bytes")]
    pub(super) proof: [u8; 32],
    #[n(1)]
    pub team: EventId,
    #[n(2)]
    pub team_name: String,
    /// The inviting person.
    #[n(3)]
    pub person: String,
    /// The name of the inviting device.
    #[n(4)]
    pub name: String,
    /// The role that is offered: `reader`, `writer` or `admin`.
    #[n(5)]
    pub role: String,
    /// The scopes that are granted; empty for all.
    #[n(6)]
    pub scopes: Vec<Scope>,
    /// The time in which a person must confirm, in seconds.
    #[n(7)]
    pub confirm_timeout: u64,
}

/// A page of roster events.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub(super) struct RosterPage {
    #[n(0)]
    pub(super) events: Vec<PairWireEvent>,
    #[n(1)]
    pub(super) last: bool,
}

/// A signed event.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub(super) struct PairWireEvent {
    /// The header as it was signed.
    #[cbor(n(0), with = "minicbor::bytes")]
    header: Vec<u8>,
    #[cbor(n(1), with = "minicbor::bytes")]
    signature: [u8; 64],
    #[cbor(n(2), with = "minicbor::bytes")]
    salt: Option<[u8; 16]>,
    /// Absent if the event was redacted.
    #[cbor(n(3), with = "minicbor::bytes")]
    body: Option<Vec<u8>>,
}

impl From<&SignedEvent> for PairWireEvent {
    fn from(event: &SignedEvent) -> Self {
        let (salt, body) = event.body.clone().map(|body| (body.salt, body.bytes)).unzip();
        Self { header: event.header_bytes.clone(), signature: event.signature, salt, body }
    }
}

impl PairWireEvent {
    /// Returns the event after checking its form, not its signature.
    pub(super) fn into_event(self) -> Result<SignedEvent, EventError> {
        let body = self.salt.zip(self.body).map(|(salt, bytes)| SealedBody { salt, bytes });
        SignedEvent::from_parts(self.header, self.signature, body)
    }
}

pub(super) async fn send(stream: &mut (impl AsyncWrite + Unpin), message: &PairMessage) -> Result<(), PairError> {
    let body = minicbor::to_vec(message).unwrap_or_default();
    let mut bytes = (body.len() as u32).to_be_bytes().to_vec();
    bytes.extend_from_slice(&body);
    let write = async {
        stream.write_all(&bytes).await?;
        stream.flush().await
    };
    match tokio::time::timeout(super::STEP_TIMEOUT, write).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(PairError::ConnectionLost(error.to_string())),
        Err(_) => Err(timed_out(super::STEP_TIMEOUT)),
    }
}

/// Receives the next message, of at most `limit` bytes. A refusal is returned as an error.
pub(super) async fn receive(
    stream: &mut (impl AsyncRead + Unpin),
    limit: usize,
    confirm_timeout: Duration,
) -> Result<PairMessage, PairError> {
    let read = async {
        let mut length = [0; 4];
        stream.read_exact(&mut length).await?;
        let length = u32::from_be_bytes(length) as usize;
        if length > limit {
            return Ok(Err(PairError::Protocol(format!("a message of {length} bytes; at most {limit} are allowed"))));
        }
        let mut body = Vec::new();
        (&mut *stream).take(length as u64).read_to_end(&mut body).await?;
        if body.len() < length {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Ok(minicbor::decode(&body).map_err(|error| PairError::Protocol(error.to_string())))
    };
    match tokio::time::timeout(confirm_timeout, read).await {
        Ok(Ok(Ok(PairMessage::Refused(word)))) => {
            Err(PairError::Refused(PairRefusal::of(&word).unwrap_or(PairRefusal::Failed)))
        }
        Ok(Ok(message)) => message,
        Ok(Err(error)) => Err(lost(&error)),
        Err(_) => Err(timed_out(confirm_timeout)),
    }
}

fn lost(error: &std::io::Error) -> PairError {
    PairError::ConnectionLost(match error.kind() {
        std::io::ErrorKind::UnexpectedEof => "the other side went away".to_owned(),
        _ => error.to_string(),
    })
}

fn timed_out(confirm_timeout: Duration) -> PairError {
    PairError::ConnectionLost(format!("the other side sent nothing for {} s", confirm_timeout.as_secs()))
}

/// Returns the error for an unexpected message.
pub(super) fn unexpected_message(message: &PairMessage) -> PairError {
    let what = match message {
        PairMessage::Hello(_) => "introduced itself",
        PairMessage::Welcome(_) => "answered an introduction",
        PairMessage::Ready => "confirmed the words",
        PairMessage::Roster(_) => "sent the team's roster",
        PairMessage::Done => "said that it is done",
        PairMessage::Refused(_) => "refused",
    };
    PairError::Protocol(format!("it {what} at the wrong moment"))
}
