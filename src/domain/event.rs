//! Events: the signed, immutable records of acts.
//!
//! A [`Header`] is encoded as deterministic CBOR (definite lengths, integer keys in ascending order, shortest integers);
//! its bytes are kept verbatim and hashed to the event's id. The header contains only a salted hash of the [`Body`], so
//! that the body can be redacted while the header stays verifiable.

use std::{fmt, str::FromStr};

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use minicbor::{Decode, Decoder, Encode, Encoder, decode, encode};

use super::{
    claim::{ClaimKind, Qualifiers},
    clock::Hlc,
    id::{DeviceId, EventId, OpId},
    judgement::PairVerdict,
    norm::Norm,
    roster::{RosterAct, RosterChange},
    scope::Scope,
};

/// The version of the event format that this program writes.
pub const VERSION: u8 = 1;

/// The maximum size of an event in bytes: header, signature, salt and body together.
pub const MAX_EVENT: usize = 32 * 1024;

/// How a card was settled. It is part of the event's kind, so that a redaction of the reason does not remove it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResolveAct {
    /// One side, or a merged text, replaced the other.
    Supersede,
    /// A side was withdrawn, because it was wrong from the start.
    Retract,
    /// A side was limited in scope or time, so that both hold.
    Narrow,
    /// All sides stay active although they contradict each other. The first target is the exception, the others are its rule.
    Exception,
    /// The sides do not contradict each other; the pair never blocks a write again.
    Dismiss,
    /// Not an act on a card: a claim that needed review still holds.
    Reviewed,
}

impl ResolveAct {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Supersede, "supersede"),
        (Self::Retract, "retract"),
        (Self::Narrow, "narrow"),
        (Self::Exception, "exception"),
        (Self::Dismiss, "dismiss"),
        (Self::Reviewed, "reviewed"),
    ];

    /// Returns the word used in the event's kind and on screen.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(act, _)| *act == self).map_or("", |(_, word)| word)
    }
}

/// The kind of an event. Kinds that this version does not know are kept unchanged.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventKind {
    /// A new guarded claim; the event's id is the claim's id.
    Assert,
    /// `targets` are replaced by `successor`, or, if that is absent, by the claim in the body, whose id is the event's id.
    Supersede,
    /// `targets` are withdrawn from the active claims.
    Retract,
    /// `targets` become active again; cancels the acts named in `seen`.
    Reinstate,
    /// A fact is set under its key. It replaces the current facts of the key, which are named in `targets`.
    FactSet,
    /// A card whose members are `targets` is settled.
    Resolve(ResolveAct),
    /// A verdict on how the first of `targets` relates to the second, or how a claim that is not stored relates to the only target.
    Judgement(PairVerdict),
    /// The first of `targets` depends on the others.
    Depend,
    /// The claims in `targets` were seen again in the files from which they were read.
    Observe,
    /// The first of `targets`, a claim of the organisation's level, was made from the others, claims of its projects, or seen again in them.
    Promote,
    /// Cancels the effect of the events in `targets`; can itself be undone.
    Undo,
    /// Drops the bodies of `targets` everywhere; cannot be undone.
    Redact,
    /// Changes who belongs to a team and what it shares; cannot be undone or redacted.
    Roster(RosterAct),
    /// A chunk of an ingested file that syncs; otherwise as [`super::derive::local::CHUNK`].
    Chunk,
    /// The shared chunks in `targets` are no longer in their file.
    ChunkGone,
    /// A kind of the local log, which never syncs: `refused`, `found`, `settled`, `snooze`, `discard`, `undo`, …
    Local(String),
    /// Any other kind: kept, and shown as “changed”.
    Unknown(String),
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Assert => f.write_str("assert"),
            Self::Supersede => f.write_str("supersede"),
            Self::Retract => f.write_str("retract"),
            Self::Reinstate => f.write_str("reinstate"),
            Self::FactSet => f.write_str("fact_set"),
            Self::Resolve(act) => write!(f, "resolve.{}", act.as_str()),
            Self::Judgement(verdict) => write!(f, "judgement.{verdict}"),
            Self::Depend => f.write_str("depend"),
            Self::Observe => f.write_str("observe"),
            Self::Promote => f.write_str("promote"),
            Self::Undo => f.write_str("undo"),
            Self::Redact => f.write_str("redact"),
            Self::Roster(act) => write!(f, "roster.{}", act.as_str()),
            Self::Chunk => f.write_str("chunk"),
            Self::ChunkGone => f.write_str("chunk_gone"),
            Self::Local(kind) => write!(f, "local.{kind}"),
            Self::Unknown(kind) => f.write_str(kind),
        }
    }
}

impl FromStr for EventKind {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "assert" => Self::Assert,
            "supersede" => Self::Supersede,
            "retract" => Self::Retract,
            "reinstate" => Self::Reinstate,
            "fact_set" => Self::FactSet,
            "depend" => Self::Depend,
            "observe" => Self::Observe,
            "promote" => Self::Promote,
            "undo" => Self::Undo,
            "redact" => Self::Redact,
            "chunk" => Self::Chunk,
            "chunk_gone" => Self::ChunkGone,
            _ => {
                if let Some(kind) = text.strip_prefix("local.") {
                    Self::Local(kind.to_owned())
                } else if let Some((act, _)) = text
                    .strip_prefix("resolve.")
                    .and_then(|word| ResolveAct::ALL.iter().find(|(_, known)| *known == word))
                {
                    Self::Resolve(*act)
                } else if let Some(verdict) = text.strip_prefix("judgement.").and_then(|word| word.parse().ok()) {
                    Self::Judgement(verdict)
                } else if let Some(act) = text.strip_prefix("roster.").and_then(RosterAct::named) {
                    Self::Roster(act)
                } else {
                    Self::Unknown(text.to_owned())
                }
            }
        })
    }
}

impl<C> Encode<C> for EventKind {
    fn encode<W: encode::Write>(&self, e: &mut Encoder<W>, _: &mut C) -> Result<(), encode::Error<W::Error>> {
        e.str(&self.to_string())?.ok()
    }
}

impl<'b, C> Decode<'b, C> for EventKind {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, decode::Error> {
        match d.str()?.parse() {
            Ok(kind) => Ok(kind),
            Err(never) => match never {},
        }
    }
}

/// The signed part of an event.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Header {
    /// The version of the event format: [`VERSION`].
    #[n(0)]
    pub version: u8,
    /// The team; absent until the scope is shared.
    #[n(1)]
    pub team: Option<EventId>,
    /// The scope.
    #[n(2)]
    pub scope: Scope,
    /// The device that wrote and signed it.
    #[n(3)]
    pub author: DeviceId,
    /// A random number, new for each installation or restored copy of a store.
    #[n(4)]
    pub epoch: u64,
    /// The position in the chain of (author, epoch, team, scope, log), from 0 without gaps.
    #[n(5)]
    pub seq: u64,
    /// The previous event in that chain.
    #[n(6)]
    pub prev: Option<EventId>,
    /// The time, by the author's hybrid logical clock.
    #[n(7)]
    pub clock: Hlc,
    /// What the event does.
    #[n(8)]
    pub kind: EventKind,
    /// The id of the act to which the event belongs.
    #[n(9)]
    pub op: OpId,
    /// The events on which it acts. In `depend` and `resolve.exception`, the first depends on, or is the exception to, the others.
    #[n(10)]
    pub targets: Vec<EventId>,
    /// The existing claim that replaces `targets` (`supersede` without a claim in the body).
    #[n(11)]
    pub successor: Option<EventId>,
    /// What the writer had seen: acts on `targets`, heads; of a `retract`, the acts that put its target in place of others.
    #[n(12)]
    pub seen: Vec<EventId>,
    /// The kind of the claim in the body, if there is one.
    #[n(13)]
    pub claim_kind: Option<ClaimKind>,
    /// The [`key_hash`] of a fact; the readable key is in the body.
    #[n(14)]
    pub key_hash: Option<EventId>,
    /// The person who acted.
    #[n(15)]
    pub who: String,
    /// The agent through which they acted, if any.
    #[n(16)]
    pub agent: Option<String>,
    /// The [`body_hash`] of salt and body.
    #[n(17)]
    pub body_hash: EventId,
}

/// The redactable part of an event. Which fields are set depends on the kind.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct Body {
    /// The claim's statement, as it was written.
    #[n(0)]
    pub statement: Option<String>,
    /// The reason.
    #[n(1)]
    pub reason: Option<String>,
    /// The source: a file and line, a document, an address.
    #[n(2)]
    pub source: Option<String>,
    /// The norms that the normaliser read in the statement.
    #[n(3)]
    pub norms: Option<Vec<Norm>>,
    /// The normaliser's name and version.
    #[n(4)]
    pub normaliser: Option<String>,
    /// The readable key of a fact.
    #[n(5)]
    pub key: Option<String>,
    /// The conditions under which it holds, as its writer gave them.
    #[n(6)]
    pub qualifiers: Option<Qualifiers>,
    /// Data as JSON: of a local event a verdict, the end of a snooze, …; of a claim that was accepted, its writer.
    #[n(7)]
    pub data: Option<String>,
    /// The change that a `roster.*` event makes.
    #[n(8)]
    pub roster: Option<RosterChange>,
    /// The claim or refused write whose reason is also the reason of this event, which then contains none.
    #[n(9)]
    pub reason_of: Option<EventId>,
}

/// An event: its header, its signature, and its body unless that was redacted.
#[derive(Clone, Debug, PartialEq)]
pub struct SignedEvent {
    /// `blake3("ergo/event/1" ‖ header_bytes)`.
    pub id: EventId,
    /// The header, decoded.
    pub header: Header,
    /// The bytes of the header that were signed.
    pub header_bytes: Vec<u8>,
    /// The ed25519 signature of `"ergo/event-sig/1" ‖ id`.
    pub signature: [u8; 64],
    /// Salt and encoded body; `None` once redacted.
    pub body: Option<SealedBody>,
}

/// An encoded body, and the salt of its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedBody {
    /// 16 random bytes, without which a short body could be guessed from its hash.
    pub salt: [u8; 16],
    /// The [`Body`] as CBOR.
    pub bytes: Vec<u8>,
}

/// Why an event is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// The bytes cannot be decoded as an event.
    #[error("the event cannot be decoded: {0}")]
    Malformed(String),
    /// The bytes can be decoded, but are not in canonical form.
    #[error("the event's header is not in canonical form")]
    NotCanonical,
    /// The event was not signed by its author, or was changed afterwards.
    #[error("the signature of event {short} does not verify", short = .0.short())]
    BadSignature(EventId),
    /// The body does not match the hash in the header.
    #[error("the body of event {short} does not match its header", short = .0.short())]
    BadBody(EventId),
    /// The event is larger than [`MAX_EVENT`].
    #[error("the event has {0} bytes; at most {MAX_EVENT} are allowed")]
    TooLarge(usize),
}

/// Computes the hash of a body that its header contains: `blake3("ergo/body/1" ‖ salt ‖ bytes)`.
pub fn body_hash(body: &SealedBody) -> EventId {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"ergo/body/1");
    hasher.update(&body.salt);
    hasher.update(&body.bytes);
    EventId(*hasher.finalize().as_bytes())
}

/// Computes the hash of a fact's key that its header contains: `blake3("ergo/fact-key/1" ‖ key)`.
pub fn key_hash(key: &str) -> EventId {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"ergo/fact-key/1");
    hasher.update(key.as_bytes());
    EventId(*hasher.finalize().as_bytes())
}

fn signed_message(id: EventId) -> Vec<u8> {
    let mut message = b"ergo/event-sig/1".to_vec();
    message.extend_from_slice(&id.0);
    message
}

impl Body {
    /// Encodes the body as CBOR and adds the salt of its hash.
    pub fn seal(&self, salt: [u8; 16]) -> SealedBody {
        // Encoding into a vector cannot fail.
        SealedBody { salt, bytes: minicbor::to_vec(self).unwrap_or_default() }
    }
}

impl SealedBody {
    /// Decodes the body.
    pub fn open(&self) -> Result<Body, EventError> {
        minicbor::decode(&self.bytes).map_err(|error| EventError::Malformed(error.to_string()))
    }
}

impl SignedEvent {
    /// Signs a header, after setting its `body_hash`.
    pub fn sign(mut header: Header, body: SealedBody, key: &SigningKey) -> Result<Self, EventError> {
        header.body_hash = body_hash(&body);
        let header_bytes = minicbor::to_vec(&header).unwrap_or_default();
        let id = EventId::of_header(&header_bytes);
        let signature = key.sign(&signed_message(id)).to_bytes();
        let event = Self { id, header, header_bytes, signature, body: Some(body) };
        match event.size() {
            size if size > MAX_EVENT => Err(EventError::TooLarge(size)),
            _ => Ok(event),
        }
    }

    /// Decodes a stored or received event and checks its form, but not its signature: see [`SignedEvent::verify`].
    ///
    /// A header of version 1 must be canonical. Of a header of a newer version, the known fields are read.
    pub fn from_parts(
        header_bytes: Vec<u8>,
        signature: [u8; 64],
        body: Option<SealedBody>,
    ) -> Result<Self, EventError> {
        let header: Header =
            minicbor::decode(&header_bytes).map_err(|error| EventError::Malformed(error.to_string()))?;
        if header.version == VERSION && minicbor::to_vec(&header).unwrap_or_default() != header_bytes {
            return Err(EventError::NotCanonical);
        }
        let event = Self { id: EventId::of_header(&header_bytes), header, header_bytes, signature, body };
        match event.size() {
            size if size > MAX_EVENT => Err(EventError::TooLarge(size)),
            _ => Ok(event),
        }
    }

    /// Checks the signature against the author, and the body, if present, against the header.
    pub fn verify(&self) -> Result<(), EventError> {
        let key = VerifyingKey::from_bytes(&self.header.author.0).map_err(|_| EventError::BadSignature(self.id))?;
        key.verify_strict(&signed_message(self.id), &Signature::from_bytes(&self.signature))
            .map_err(|_| EventError::BadSignature(self.id))?;
        match &self.body {
            Some(body) if body_hash(body) != self.header.body_hash => Err(EventError::BadBody(self.id)),
            _ => Ok(()),
        }
    }

    /// Returns the size of header, signature, salt and body together, in bytes.
    pub fn size(&self) -> usize {
        self.header_bytes.len() + 64 + self.body.as_ref().map_or(0, |body| 16 + body.bytes.len())
    }
}

impl Header {
    /// Returns whether an event with this header creates a claim that this version understands. The claim's id is that
    /// of the event.
    pub fn creates_claim(&self) -> bool {
        self.version == VERSION && self.kind.creates_claim(self.successor.is_some())
    }
}

impl EventKind {
    /// Returns whether an event of this kind creates a claim. `has_successor`: it names an existing claim that replaces
    /// its targets.
    pub fn creates_claim(&self, has_successor: bool) -> bool {
        matches!(self, Self::Assert | Self::FactSet) || *self == Self::Supersede && !has_successor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(reason: &str) -> SignedEvent {
        let key = SigningKey::from_bytes(&[7; 32]);
        let header = Header {
            version: VERSION,
            team: None,
            scope: Scope { org_id: "acme".into(), project: "api".into() },
            author: DeviceId(key.verifying_key().to_bytes()),
            epoch: 3,
            seq: 0,
            prev: None,
            clock: Hlc { wall: 1, count: 0 },
            kind: EventKind::Retract,
            op: OpId([1; 16]),
            targets: vec![EventId([2; 32])],
            successor: None,
            seen: vec![],
            claim_kind: None,
            key_hash: None,
            who: "ada".into(),
            agent: None,
            body_hash: EventId([0; 32]),
        };
        let body = Body { reason: Some(reason.into()), ..Body::default() }.seal([9; 16]);
        SignedEvent::sign(header, body, &key).unwrap()
    }

    #[test]
    fn an_event_survives_its_bytes_and_verifies() {
        let event = event("typo");
        let again = SignedEvent::from_parts(event.header_bytes.clone(), event.signature, event.body.clone()).unwrap();
        assert_eq!(again, event);
        again.verify().unwrap();
        assert_eq!(again.body.unwrap().open().unwrap().reason.as_deref(), Some("typo"));
    }

    #[test]
    fn any_change_is_noticed() {
        let good = event("typo");
        let mut forged = good.clone();
        forged.signature[0] ^= 1;
        assert_eq!(forged.verify(), Err(EventError::BadSignature(good.id)));
        let mut swapped = good.clone();
        swapped.body.as_mut().unwrap().bytes.push(0);
        assert_eq!(swapped.verify(), Err(EventError::BadBody(good.id)));
        let mut redacted = good.clone();
        redacted.body = None;
        redacted.verify().unwrap();
        let mut long = good.header_bytes.clone();
        long.push(0);
        assert!(SignedEvent::from_parts(long, good.signature, None).is_err_and(|e| e == EventError::NotCanonical));
    }

    #[test]
    fn an_oversized_event_is_refused() {
        let key = SigningKey::from_bytes(&[7; 32]);
        let body = Body { statement: Some("x".repeat(MAX_EVENT)), ..Body::default() }.seal([0; 16]);
        let result = SignedEvent::sign(event("x").header, body, &key);
        assert!(matches!(result, Err(EventError::TooLarge(_))));
    }

    #[test]
    fn kinds_round_trip_and_unknown_ones_are_kept() {
        let kinds =
            "assert fact_set judgement.same judgement.future resolve.dismiss local.refused roster.add resolve.future";
        for text in kinds.split(' ') {
            let kind: EventKind = text.parse().unwrap();
            assert_eq!(kind.to_string(), text);
        }
        assert_eq!("roster.add".parse(), Ok(EventKind::Roster(RosterAct::Add)));
        assert_eq!("roster.future".parse(), Ok(EventKind::Unknown("roster.future".into())));
    }
}
