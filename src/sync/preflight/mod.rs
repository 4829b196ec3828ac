//! The preflight check: what a peer may put into a shared document.
//!
//! A document is one map, `e`, from the id of an event to its signature and header. An honest peer only ever puts new
//! keys into it. Everything else that automerge allows (deletes, overwrites, lists, counters, compressed chunks, whole
//! documents) is rejected: [`scan`] reads the bytes of a message, and [`inspect`] the operations of each change. Pure.
//! Signatures are checked at import.
//!
//! Architecture Invariant: a message is checked before automerge reads it, by code that allocates nothing because of
//! what the bytes declare. So hostile bytes cannot make automerge allocate or run without limit.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub(super) mod inspect;
pub(super) mod scan;

use std::fmt;

use crate::domain::EventId;

/// The most bytes of a message: what a frame between peers holds.
pub const MAX_MESSAGE: usize = 32 * 1024 * 1024;

/// The most bytes of a change: 256 events of the largest size.
pub const MAX_CHANGE: usize = MAX_ENTRIES_PER_CHANGE * (crate::domain::event::MAX_EVENT + 128);

/// The most entries that one change adds.
pub const MAX_ENTRIES_PER_CHANGE: usize = 256;

/// The most operations of a document. Peers that have not met fill a document independently, and a rebuilt document
/// adds its entries once more, so this is far above [`super::document::HARD_ENTRIES`]. They take about 250 MB of
/// memory.
pub const MAX_OPS: u64 = 200_000;

/// The most heads of a document, or dependencies of a change. There is one for each concurrent writer.
const MAX_HEADS: u64 = 4096;

/// The most bytes of all messages of a session.
pub const MAX_SESSION: usize = 2 * MAX_MESSAGE;

/// Checks the bytes of a message as an exchange does before automerge reads them, and returns the number of changes.
/// For fuzzing.
///
/// # Errors
/// The rule that the message breaks.
#[cfg(any(test, feature = "testing"))]
pub fn scan_message(bytes: &[u8]) -> Result<usize, Violation> {
    // The columns of every accepted message must be found, too.
    let changes = scan::message(bytes)?.len();
    debug_assert_eq!(scan::columns(bytes).map(|columns| columns.len()), Some(changes));
    Ok(changes)
}

/// A rule that a peer can break. The words are stable, since they are stored and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ViolationCode {
    /// An invalid or truncated message, or a wrong checksum.
    Malformed,
    /// A message of a version that cannot be inspected.
    Version,
    /// A size beyond its limit.
    TooBig,
    /// A compressed chunk or a whole document instead of single changes.
    Chunk,
    /// A change with more operations than entries allowed.
    OpBomb,
    /// An operation counter that leaves no room for later writes, or does not follow from the dependencies.
    Counter,
    /// An author, message, time or other bytes attached to a change.
    Metadata,
    /// A deletion.
    Delete,
    /// An overwritten entry.
    Overwrite,
    /// An operation that is neither a put nor a delete: a list, a counter, a mark, another map.
    NotAPut,
    /// A key that is not an event id, or outside the map of entries.
    ForeignKey,
    /// A value that is not a signature and a header.
    BadValue,
    /// A value under the id of another event.
    WrongId,
    /// A second value for an entry, with an invalid signature.
    BadSignature,
    /// Two different changes with the same actor and sequence number.
    DuplicateSeq,
    /// Changes whose dependencies never arrived.
    Gaps,
    /// More entries than a document may have.
    Full,
}

impl ViolationCode {
    /// Returns the stable code under which it is stored and sent.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Version => "version",
            Self::TooBig => "too_big",
            Self::Chunk => "chunk",
            Self::OpBomb => "op_bomb",
            Self::Counter => "counter",
            Self::Metadata => "metadata",
            Self::Delete => "delete",
            Self::Overwrite => "overwrite",
            Self::NotAPut => "not_a_put",
            Self::ForeignKey => "foreign_key",
            Self::BadValue => "bad_value",
            Self::WrongId => "wrong_id",
            Self::BadSignature => "bad_signature",
            Self::DuplicateSeq => "duplicate_seq",
            Self::Gaps => "gaps",
            Self::Full => "full",
        }
    }

    const ALL: [Self; 17] = [
        Self::Malformed,
        Self::Version,
        Self::TooBig,
        Self::Chunk,
        Self::OpBomb,
        Self::Counter,
        Self::Metadata,
        Self::Delete,
        Self::Overwrite,
        Self::NotAPut,
        Self::ForeignKey,
        Self::BadValue,
        Self::WrongId,
        Self::BadSignature,
        Self::DuplicateSeq,
        Self::Gaps,
        Self::Full,
    ];

    /// Parses a stable code.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.as_str() == word)
    }

    /// Returns what the peer did, as the end of a sentence that begins with "the peer".
    fn description(self) -> &'static str {
        match self {
            Self::Malformed => "sent an invalid message",
            Self::Version => "sent a message in a format that cannot be inspected",
            Self::TooBig => "exceeded a size limit",
            Self::Chunk => "sent a compressed chunk or a whole document, which could grow without limit",
            Self::OpBomb => "sent a change with more operations than entries",
            Self::Counter => "sent a change whose counter would leave no room for later ones",
            Self::Metadata => "attached data to a change, which is not allowed",
            Self::Delete => "deleted from the shared document",
            Self::Overwrite => "overwrote an entry of the shared document",
            Self::NotAPut => "sent something other than new entries",
            Self::ForeignKey => "wrote outside the entries of the shared document",
            Self::BadValue => "sent an entry that is not a signed event",
            Self::WrongId => "sent an event under another event's id",
            Self::BadSignature => "sent an invalid second signature for an event",
            Self::DuplicateSeq => "sent two different changes under one number, as a restored or cloned copy does",
            Self::Gaps => "did not send changes that others depend on",
            Self::Full => "filled the shared document beyond its limit",
        }
    }

    /// Returns what to do about it.
    fn advice(self) -> &'static str {
        match self {
            Self::Malformed | Self::Version => {
                "update ergo on both machines; if it happens again, the peer does not run ergo"
            }
            Self::TooBig | Self::Full => "exchange a bundle instead: `ergo sync export` there, `ergo sync import` here",
            Self::DuplicateSeq => {
                "exchange a bundle: `ergo sync export` there, `ergo sync import` here; its index is then rebuilt"
            }
            Self::Gaps => {
                "the next session tries again; to get the events now, exchange a bundle: `ergo sync export` there, \
                    `ergo sync import` here"
            }
            _ => {
                "ask who uses that device; `ergo sync revoke` ends its access; its valid events can still be imported from a bundle"
            }
        }
    }
}

impl fmt::Display for ViolationCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A peer broke a rule: nothing of its session is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub code: ViolationCode,
    /// The event that it concerns, if any.
    pub event: Option<EventId>,
    /// Details for a log: sizes, counts, automerge's error. May be empty.
    pub detail: String,
}

impl Violation {
    pub(super) fn new(code: ViolationCode, detail: impl Into<String>) -> Self {
        Self { code, event: None, detail: detail.into() }
    }

    pub(super) fn for_event(code: ViolationCode, event: EventId, detail: impl Into<String>) -> Self {
        Self { code, event: Some(event), detail: detail.into() }
    }

    pub(super) fn malformed(detail: impl Into<String>) -> Self {
        Self::new(ViolationCode::Malformed, detail)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the peer {}", self.code.description())?;
        if let Some(event) = self.event {
            write!(f, " (event {})", event.short())?;
        }
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        write!(f, ". Nothing of this session was accepted; {}", self.code.advice())
    }
}

impl std::error::Error for Violation {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_unique_and_gives_advice() {
        for (at, code) in ViolationCode::ALL.into_iter().enumerate() {
            assert_eq!(ViolationCode::parse(code.as_str()), Some(code));
            assert!(!ViolationCode::ALL[..at].iter().any(|other| other.as_str() == code.as_str()), "{code} twice");
            let violation = Violation::for_event(code, EventId([7; 32]), "3 of 2");
            let message = violation.to_string();
            assert!(
                message.contains("0707070707") && message.contains("3 of 2") && message.contains("Nothing"),
                "{message}"
            );
        }
        assert_eq!(ViolationCode::parse("novel"), None);
    }
}
