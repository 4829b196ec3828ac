//! The messages of a sync session, and the names of the protocols. Every struct is a CBOR map with numbered fields: a field is only
//! ever added, with a default, so that each minor version reads every other.

use std::{fmt, str::FromStr};

use minicbor::{Decode, Decoder, Encode, Encoder, bytes::ByteVec, decode, encode};

use super::lean::few;
pub use super::lean::{Following, LeanDoc};
use crate::domain::{
    EventId, Scope, SignedEvent,
    event::{EventError, SealedBody},
    replica::{ChainEnd, DocumentId, Month, SetDigest},
};

/// The protocol of sync sessions. A change that older programs cannot read gets a new number.
pub const ALPN_SYNC: &[u8] = b"ergo/sync/1";

/// The protocol of pairing, the only one that is open to strangers, and only while an invite is live.
pub const ALPN_PAIR: &[u8] = b"ergo/pair/1";

/// The minor version of `ergo/sync/1` that this program speaks: raised with every addition.
pub const MINOR: u32 = 1;

/// One message of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Who speaks, and which roster they know. First, from both sides.
    Hello(Hello),
    /// Roster events that the other lacks. Second, from both sides, and whenever the roster changes.
    Roster(Events),
    /// What of the team the sender has. Third, from both sides, and where a [`Nudge`] shows a difference.
    Offer(Offer),
    /// A turn of the reconciliation of one document.
    Doc(DocMessage),
    /// Asks for the bodies of events.
    Want(Want),
    /// The answer to [`Message::Want`], or bodies sent ahead of a document's turn.
    Bodies(Bodies),
    /// Asks for plain events beyond a vector: for repair.
    WantSince(WantSince),
    /// The answer to [`Message::WantSince`], in pages.
    Events(Events),
    /// A document's events are on the sender's disk.
    Durable(Durable),
    /// What the sender has changed, or a minute has passed.
    Nudge(Nudge),
    /// The sender ends the session, or refuses a document, and says why.
    Error(Refused),
    /// The sender ends the session in order.
    Bye,
    /// [`Message::Doc`] for whoever understands [`super::lean::FEATURE`].
    Lean(LeanDoc),
    /// Bodies of what a [`Message::Lean`] brought, unasked.
    Following(Following),
    /// A type that this version does not know; it is passed over.
    Unknown(u8),
}

/// The greeting.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct Hello {
    /// [`MINOR`] of the sender.
    #[n(0)]
    pub minor: u32,
    /// What the sender can do beyond the minor version; unknown words are passed over.
    #[n(1)]
    #[cbor(default)]
    pub features: Vec<String>,
    /// Versions of the event format that the sender understands. It carries others all the same.
    #[n(2)]
    #[cbor(default)]
    pub versions: Vec<u8>,
    /// The team; sessions are of one team.
    #[n(3)]
    pub team: Option<EventId>,
    /// Random, new with each start of the sender: of two sessions with one peer, that with an earlier start is dead.
    #[n(4)]
    #[cbor(default)]
    pub instance: u64,
    /// The roster events that the sender has.
    #[n(5)]
    #[cbor(default)]
    pub roster: Vec<ChainEnd>,
    /// The sender's wall clock, in milliseconds since the Unix epoch.
    #[n(6)]
    #[cbor(default)]
    pub clock: u64,
}

/// Plain signed events.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct Events {
    /// The events, in the order of their chains.
    #[n(0)]
    #[cbor(default)]
    pub events: Vec<WireEvent>,
    /// No further page follows.
    #[n(1)]
    #[cbor(default)]
    pub last: bool,
    /// Of which scope; absent for the roster.
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
    /// The signature.
    #[cbor(n(1), with = "minicbor::bytes")]
    pub signature: [u8; 64],
    /// Salt and body; absent once redacted.
    #[n(2)]
    pub body: Option<Body>,
}

/// A salted body.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Body {
    /// The salt.
    #[cbor(n(0), with = "minicbor::bytes")]
    pub salt: [u8; 16],
    /// The body as CBOR.
    #[cbor(n(1), with = "minicbor::bytes")]
    pub bytes: Vec<u8>,
}

/// What the sender has of the scopes that both sides may read.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct Offer {
    /// By scope, under the team's names.
    #[n(0)]
    #[cbor(default)]
    pub scopes: Vec<ScopeOffer>,
    /// The other is asked for its own.
    #[n(1)]
    #[cbor(default)]
    pub reply: bool,
    /// How many events that the other brought wait in quarantine here; absent for none.
    #[n(2)]
    pub waiting: Option<u64>,
}

/// One scope of an [`Offer`].
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct ScopeOffer {
    /// The scope.
    #[n(0)]
    pub scope: Scope,
    /// Whose events, up to where: what “3 claims behind” is counted from.
    #[n(1)]
    #[cbor(default)]
    pub chains: Vec<ChainEnd>,
    /// Its documents.
    #[n(2)]
    #[cbor(default)]
    pub documents: Vec<DocOffer>,
}

/// One document of a [`ScopeOffer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct DocOffer {
    /// The month of its events.
    #[n(0)]
    pub month: Month,
    /// Which of the month's documents, from 0.
    #[n(1)]
    pub part: u32,
    /// How many events it holds.
    #[n(2)]
    pub events: u64,
    /// A hash of its heads: where it is equal, the documents are.
    #[cbor(n(3), with = "minicbor::bytes")]
    pub heads: [u8; 32],
    /// A hash of the set of its events: where it is equal, nothing is missing on either side.
    #[n(4)]
    pub digest: SetDigest,
}

/// A turn in the reconciliation of one document, which is one exchange. Each side says what it has to say whenever it has heard the
/// other, until both have told each other equal heads.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct DocMessage {
    /// The document's scope.
    #[n(0)]
    pub scope: Scope,
    /// Its month.
    #[n(1)]
    pub month: Month,
    /// Its part.
    #[n(2)]
    pub part: u32,
    /// Which exchange: chosen by the side that begins it, even by the dialler, odd by the other, counting up.
    #[n(3)]
    pub exchange: u64,
    /// What this is.
    #[n(4)]
    pub turn: Turn,
    /// What the sender's document says; two at once where the sender had not spoken yet.
    #[cbor(n(5), default, decode_with = "few")]
    pub messages: Vec<ByteVec>,
}

/// Where in its exchange a [`DocMessage`] stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Turn {
    /// The exchange begins.
    #[n(0)]
    First,
    /// It goes on.
    #[n(1)]
    Next,
    /// The sender gave it up, for now and through no fault of the other.
    #[n(2)]
    Dropped,
}

/// A request for bodies of events.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct Want {
    /// Their scope.
    #[n(0)]
    pub scope: Scope,
    /// The events; 1,000 at most.
    #[n(1)]
    #[cbor(default)]
    pub events: Vec<EventId>,
}

/// Bodies of events.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct Bodies {
    /// Their scope.
    #[n(1)]
    pub scope: Scope,
    /// The bodies; one that the sender has not, or that was redacted there, is absent.
    #[n(0)]
    #[cbor(default)]
    pub bodies: Vec<(EventId, Option<Body>)>,
}

/// A request for plain events.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct WantSince {
    /// Of this scope.
    #[n(0)]
    pub scope: Scope,
    /// Beyond these ends; chains that are not named are wanted whole.
    #[n(1)]
    #[cbor(default)]
    pub chains: Vec<ChainEnd>,
}

/// A document is on disk, with everything in it.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct Durable {
    /// The document's scope.
    #[n(0)]
    pub scope: Scope,
    /// The document, as it now is.
    #[n(1)]
    pub document: DocOffer,
}

/// A hash over everything that the sender would offer this peer.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct Nudge {
    /// The hash; equal hashes mean equal sets of events.
    #[cbor(n(0), with = "minicbor::bytes")]
    pub state: [u8; 32],
}

/// Why a session ends, or a document is refused.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct Refused {
    /// The stable code.
    #[n(0)]
    pub code: Code,
    /// In words, for a person.
    #[n(1)]
    #[cbor(default)]
    pub words: String,
    /// The document, where only it is refused and the session goes on.
    #[n(2)]
    pub document: Option<DocumentId>,
}

/// What a refusal is about. The words are part of the protocol and never change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// The device is on no roster, or not any more.
    NotPaired,
    /// The session is of another team.
    TeamMismatch,
    /// The refusing side's roster is behind: sync again once it has met another member.
    RosterStale,
    /// A limit was exceeded.
    TooBig,
    /// An event is forged, malformed or not the sender's to give.
    BadEvent,
    /// A document cannot be merged: it is made anew from its events.
    DocPoisoned,
    /// Too many sessions; later.
    Busy,
    /// Too much of what the refused side brought is not let in: a person has to look at it first.
    Paused,
    /// The refusing side cannot write to its disk now: it is full, or read-only.
    CannotStore,
    /// The message is not understood.
    Version,
    /// A code of a newer version.
    Other(String),
}

impl Code {
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

    /// The word on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Other(word) => word,
            known => Self::ALL.iter().find(|(code, _)| code == known).map_or("", |(_, word)| word),
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Code {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.iter().find(|(_, word)| *word == text);
        Ok(known.map_or_else(|| Self::Other(text.to_owned()), |(code, _)| code.clone()))
    }
}

impl<C> Encode<C> for Code {
    fn encode<W: encode::Write>(&self, e: &mut Encoder<W>, _: &mut C) -> Result<(), encode::Error<W::Error>> {
        e.str(self.as_str())?.ok()
    }
}

impl<'b, C> Decode<'b, C> for Code {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, decode::Error> {
        match d.str()?.parse() {
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
            body: event.body.as_ref().map(Body::from),
        }
    }
}

impl WireEvent {
    /// The event, its form checked, its signature not yet: see [`SignedEvent::from_parts`].
    ///
    /// # Errors
    /// Where it is malformed or too large.
    pub fn into_event(self) -> Result<SignedEvent, EventError> {
        SignedEvent::from_parts(self.header, self.signature, self.body.map(SealedBody::from))
    }
}

impl From<&SealedBody> for Body {
    fn from(body: &SealedBody) -> Self {
        Self { salt: body.salt, bytes: body.bytes.clone() }
    }
}

impl From<Body> for SealedBody {
    fn from(body: Body) -> Self {
        Self { salt: body.salt, bytes: body.bytes }
    }
}
