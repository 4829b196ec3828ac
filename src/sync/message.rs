//! The messages of a sync session, and the names of the protocols.
//!
//! Every struct is a CBOR map with numbered fields. Architecture Invariant: a field is only ever added, with a
//! default, so that all minor versions understand each other.

use std::{fmt, str::FromStr};

use minicbor::{Decode, Decoder, Encode, Encoder, bytes::ByteVec, decode, encode};

use super::compact::decode_messages;
pub use super::compact::{CompactDocument, FollowingBodies};
use crate::domain::{
    EventId, Scope, SignedEvent,
    event::{EventError, SealedBody},
    replica::{ChainEnd, DocumentId, Month, SetDigest},
};

/// The protocol of sync sessions. A change that older programs cannot read gets a new number.
pub const ALPN_SYNC: &[u8] = b"ergo/sync/1";

/// The protocol of pairing: the only one open to devices outside the team, and only while an invitation is
/// valid.
pub const ALPN_PAIR: &[u8] = b"ergo/pair/1";

/// The minor version of `ergo/sync/1` that this program speaks; every addition raises it.
pub const MINOR: u32 = 2;

/// A message of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// The first message of both sides.
    Hello(SessionHello),
    /// Roster events that the receiver lacks: the second message of both sides, and again whenever the roster changes.
    Roster(EventPage),
    /// The sender's events of the team by scope: the third message of both sides, and again after a [`Nudge`] with
    /// another hash.
    Offer(Offer),
    /// A turn in the exchange of a document.
    Doc(DocumentMessage),
    /// A request for the bodies of events.
    Want(Want),
    /// The answer to [`Message::Want`], or bodies sent ahead of a turn.
    Bodies(Bodies),
    /// A request for events beyond a vector, to repair a document.
    WantSince(WantSince),
    /// The answer to [`Message::WantSince`], in pages.
    Events(EventPage),
    /// The sender has stored the events of a document.
    Durable(Durable),
    /// The sender's state changed, or a minute has passed.
    Nudge(Nudge),
    /// Announces that the sender ends the session or rejects a document, with the reason.
    Error(Rejection),
    /// Announces that the sender ends the session in order.
    Bye,
    /// [`Message::Doc`] for peers with [`super::compact::FEATURE`].
    Compact(CompactDocument),
    /// Bodies of a [`Message::Compact`], sent without a request.
    FollowingBodies(FollowingBodies),
    /// A message type that this version does not know. It is ignored.
    Unknown(u8),
}

/// The first message of a session.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct SessionHello {
    /// [`MINOR`] of the sender.
    #[n(0)]
    pub minor: u32,
    /// Features of the sender beyond the minor version; unknown ones are ignored.
    #[n(1)]
    #[cbor(default)]
    pub features: Vec<String>,
    /// Versions of the event format that the sender understands. It also passes on events of other versions.
    #[n(2)]
    #[cbor(default)]
    pub versions: Vec<u8>,
    /// The team of the session.
    #[n(3)]
    pub team: Option<EventId>,
    /// A random number, new with each start of the sender. If it changes, an older session with the peer is dead.
    #[n(4)]
    #[cbor(default)]
    pub instance: u64,
    /// How far the sender's copy of the roster reaches.
    #[n(5)]
    #[cbor(default)]
    pub roster: Vec<ChainEnd>,
    /// The sender's wall clock, in milliseconds since the Unix epoch.
    #[n(6)]
    #[cbor(default)]
    pub clock: u64,
}

/// A page of signed events.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct EventPage {
    /// The events of each chain in its order.
    #[n(0)]
    #[cbor(default)]
    pub events: Vec<WireEvent>,
    #[n(1)]
    #[cbor(default)]
    pub last: bool,
    /// Absent for the roster.
    #[n(2)]
    pub scope: Option<Scope>,
}

/// A signed event.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct WireEvent {
    /// The header as it was signed.
    #[cbor(n(0), with = "minicbor::bytes")]
    pub header: Vec<u8>,
    #[cbor(n(1), with = "minicbor::bytes")]
    pub signature: [u8; 64],
    /// Salt and body; absent if the event was redacted.
    #[n(2)]
    pub body: Option<WireBody>,
}

/// The body of an event, with its salt.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct WireBody {
    #[cbor(n(0), with = "minicbor::bytes")]
    pub salt: [u8; 16],
    /// The body as CBOR.
    #[cbor(n(1), with = "minicbor::bytes")]
    pub bytes: Vec<u8>,
}

/// How far the sender has the scopes that both sides may read.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct Offer {
    #[n(0)]
    #[cbor(default)]
    pub scopes: Vec<ScopeOffer>,
    /// Whether the receiver should send its offer, too.
    #[n(1)]
    #[cbor(default)]
    pub reply: bool,
    /// The number of events in quarantine at the sender that the receiver wrote; absent for none.
    #[n(2)]
    pub waiting: Option<u64>,
}

/// One scope of an [`Offer`].
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct ScopeOffer {
    #[n(0)]
    pub scope: Scope,
    /// How far each author's chain reaches; the number of missing events is counted from these.
    #[n(1)]
    #[cbor(default)]
    pub chains: Vec<ChainEnd>,
    #[n(2)]
    #[cbor(default)]
    pub documents: Vec<DocumentOffer>,
}

/// One document of a [`ScopeOffer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct DocumentOffer {
    /// The month of its events.
    #[n(0)]
    pub month: Month,
    /// The number of the document within the month, from 0.
    #[n(1)]
    pub part: u32,
    /// The number of its events.
    #[n(2)]
    pub events: u64,
    /// A hash of its heads: equal hashes mean equal documents.
    #[cbor(n(3), with = "minicbor::bytes")]
    pub heads: [u8; 32],
    /// A hash of the set of its events: equal hashes mean that neither side lacks an event.
    #[n(4)]
    pub digest: SetDigest,
}

/// A turn in the exchange of a document. The sides take turns until both have announced equal heads.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct DocumentMessage {
    #[n(0)]
    pub scope: Scope,
    #[n(1)]
    pub month: Month,
    #[n(2)]
    pub part: u32,
    /// The number of the exchange, chosen by the side that begins it: the dialler counts up even numbers, the acceptor
    /// odd ones.
    #[n(3)]
    pub exchange: u64,
    #[n(4)]
    pub turn: TurnKind,
    /// The sync messages of the sender's document; two if it had not sent any in this exchange.
    #[cbor(n(5), default, decode_with = "decode_messages")]
    pub messages: Vec<ByteVec>,
}

/// The kind of a [`DocumentMessage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum TurnKind {
    /// The exchange begins.
    #[n(0)]
    First,
    /// The exchange continues.
    #[n(1)]
    Next,
    /// The sender ends the exchange for now, through no fault of the receiver.
    #[n(2)]
    Aborted,
}

/// A request for the bodies of events.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct Want {
    #[n(0)]
    pub scope: Scope,
    /// The events; at most 1,000.
    #[n(1)]
    #[cbor(default)]
    pub events: Vec<EventId>,
}

/// Bodies of events.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct Bodies {
    #[n(1)]
    pub scope: Scope,
    /// The bodies by event; `None` if the sender has none, or the body was redacted.
    #[n(0)]
    #[cbor(default)]
    pub bodies: Vec<(EventId, Option<WireBody>)>,
}

/// A request for events.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct WantSince {
    #[n(0)]
    pub scope: Scope,
    /// How far the sender has each chain; chains that are not listed are requested from their start.
    #[n(1)]
    #[cbor(default)]
    pub chains: Vec<ChainEnd>,
}

/// Announces that a document and its events are stored.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct Durable {
    #[n(0)]
    pub scope: Scope,
    /// The document after it was stored.
    #[n(1)]
    pub document: DocumentOffer,
}

/// A hash of everything that the sender would offer to this peer. Also sent about once a minute without a change.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct Nudge {
    /// The hash; equal hashes mean equal sets of events.
    #[cbor(n(0), with = "minicbor::bytes")]
    pub state: [u8; 32],
    /// The sender's wall clock, in milliseconds since the Unix epoch; absent before minor version 2.
    #[n(1)]
    pub clock: Option<u64>,
}

/// Why a session ends, or a document is rejected.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct Rejection {
    #[n(0)]
    pub code: RejectCode,
    /// The reason for people; only the first [`MAX_REASON`] characters of a received one are kept.
    #[cbor(n(1), default, decode_with = "decode_reason")]
    pub reason: String,
    /// Present if only this document is rejected and the session continues.
    #[n(2)]
    pub document: Option<DocumentId>,
}

/// The most characters of a received reason. It is logged, shown and stored.
const MAX_REASON: usize = 500;

fn decode_reason<C>(d: &mut Decoder<'_>, _: &mut C) -> Result<String, decode::Error> {
    Ok(d.str()?.chars().take(MAX_REASON).collect())
}

/// The most characters of the code of a newer version.
const MAX_CODE: usize = 32;

/// The code of a rejection. The words are part of the protocol and never change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RejectCode {
    /// The device is not on the roster, or no longer.
    NotPaired,
    /// The session is of another team.
    TeamMismatch,
    /// The roster of the rejecting side is outdated: sync again after it has met another member.
    RosterStale,
    /// A limit was exceeded.
    TooBig,
    /// An event is forged or malformed, or the sender may not pass it on.
    BadEvent,
    /// A document cannot be merged. Its events are requested instead.
    DocPoisoned,
    /// Too many sessions: try later.
    Busy,
    /// Too many events of the rejected side are in quarantine: a person has to review them first.
    Paused,
    /// The rejecting side cannot write to its disk now: it is full or read-only.
    CannotStore,
    /// The message cannot be decoded, or is out of order.
    Version,
    /// A code of a newer version.
    Other(String),
}

impl RejectCode {
    const ALL: [(Self, &'static str); 10] = [
        (Self::NotPaired, "not_paired"),
        (Self::TeamMismatch, "team_mismatch"),
        (Self::RosterStale, "roster_stale"),
        (Self::TooBig, "too_big"),
        (Self::BadEvent, "bad_event"),
        (Self::DocPoisoned, "doc_poisoned"),
        (Self::Busy, "busy"),
        (Self::Paused, "paused"),
        (Self::CannotStore, "cannot_store"),
        (Self::Version, "version"),
    ];

    /// Returns the name used in the protocol.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Other(word) => word,
            known => Self::ALL.iter().find(|(code, _)| code == known).map_or("", |(_, word)| word),
        }
    }
}

impl fmt::Display for RejectCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for RejectCode {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.iter().find(|(_, word)| *word == text);
        Ok(known.map_or_else(|| Self::Other(text.to_owned()), |(code, _)| code.clone()))
    }
}

impl<C> Encode<C> for RejectCode {
    fn encode<W: encode::Write>(&self, e: &mut Encoder<W>, _: &mut C) -> Result<(), encode::Error<W::Error>> {
        e.str(self.as_str())?.ok()
    }
}

impl<'b, C> Decode<'b, C> for RejectCode {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, decode::Error> {
        let word: String = d.str()?.chars().take(MAX_CODE).collect();
        match word.parse() {
            Ok(code) => Ok(code),
            Err(never) => match never {},
        }
    }
}

impl From<&SignedEvent> for WireEvent {
    fn from(event: &SignedEvent) -> Self {
        Self {
            header: event.header_bytes.clone(),
            signature: event.signature,
            body: event.body.as_ref().map(WireBody::from),
        }
    }
}

impl WireEvent {
    /// Returns the event after checking its form and size, but not its signature: see [`SignedEvent::from_parts`].
    pub fn into_event(self) -> Result<SignedEvent, EventError> {
        SignedEvent::from_parts(self.header, self.signature, self.body.map(SealedBody::from))
    }
}

impl From<&SealedBody> for WireBody {
    fn from(body: &SealedBody) -> Self {
        Self { salt: body.salt, bytes: body.bytes.clone() }
    }
}

impl From<WireBody> for SealedBody {
    fn from(body: WireBody) -> Self {
        Self { salt: body.salt, bytes: body.bytes }
    }
}
