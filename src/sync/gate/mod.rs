//! What a peer may put into a shared document, and what it may not.
//!
//! A document is one map, `e`: the id of an event → its signature and header. All that an honest peer ever does is put new
//! keys into it. Whatever else automerge allows (deleting, overwriting, lists, counters, compressed chunks, whole
//! documents) is refused here *before* it is applied: [`scan`] reads the bytes of a message without automerge, so that
//! nothing can grow, and [`inspect`] the operations of each change.
//!
//! Pure. Signatures are checked where events are imported, which verifies what comes in any other way too.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub(super) mod inspect;
pub(super) mod scan;

use std::fmt;

use crate::domain::EventId;

/// The longest message, in bytes: what a frame between peers holds.
pub const MAX_MESSAGE: usize = 32 * 1024 * 1024;

/// The longest change, in bytes: 256 events of the largest size.
pub const MAX_CHANGE: usize = MAX_ENTRIES_PER_CHANGE * (crate::domain::event::MAX_EVENT + 128);

/// The most entries that one change brings.
pub const MAX_ENTRIES_PER_CHANGE: usize = 256;

/// The most operations that a document has. Peers that have not met fill a document apart, and one that was rebuilt brings its
/// entries once more: hence far above [`super::document::HARD_ENTRIES`]. About 250 MB of memory.
pub const MAX_OPS: u64 = 200_000;

/// The most heads, of a document or of a change's dependencies: writers who have not seen each other.
const MAX_HEADS: u64 = 4096;

/// All messages of one session together, in bytes.
pub const MAX_SESSION: usize = 2 * MAX_MESSAGE;

/// What is wrong with what a peer sent. The words are stable: they are stored and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// Not a message, or cut short, or its checksum is wrong.
    Malformed,
    /// A message of another version than the one that can be inspected.
    Version,
    /// Larger than allowed.
    TooBig,
    /// A compressed chunk or a whole document where single changes are expected.
    Chunk,
    /// A change with more operations than entries that it may bring.
    OpBomb,
    /// A counter that would leave no room for later writes, or does not follow from what the change builds on.
    Counter,
    /// An author, message, time or foreign bytes on a change.
    Metadata,
    /// Something was deleted.
    Delete,
    /// An entry was overwritten.
    Overwrite,
    /// Neither a put nor a delete: a list, a counter, a mark, another map.
    NotAPut,
    /// A key that is no event id, or outside the map of entries.
    ForeignKey,
    /// A value that is no signature and header.
    BadValue,
    /// A value under the id of another event.
    WrongId,
    /// A second value for an entry, whose signature does not verify.
    BadSignature,
    /// Two different changes under one actor and sequence number.
    DuplicateSeq,
    /// Changes that build on some that never came.
    Gaps,
    /// More entries than a document may have.
    Full,
}

impl Code {
    /// The word under which it is stored and sent.
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

    /// The code with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.as_str() == word)
    }

    /// What the peer did, after "the peer …".
    fn told(self) -> &'static str {
        match self {
            Self::Malformed => "sent bytes that are no message",
            Self::Version => "sent a message in a form that cannot be inspected before it is taken",
            Self::TooBig => "sent more than is allowed",
            Self::Chunk => "sent a compressed chunk or a whole document, which could grow without limit",
            Self::OpBomb => "sent a change with more operations than entries",
            Self::Counter => "sent a change whose counter would leave no room for later ones",
            Self::Metadata => "attached data to a change that has no place there",
            Self::Delete => "deleted from the shared index",
            Self::Overwrite => "overwrote an entry of the shared index",
            Self::NotAPut => "sent something other than new entries",
            Self::ForeignKey => "wrote outside the entries of the shared index",
            Self::BadValue => "sent an entry that is no signed event",
            Self::WrongId => "sent an event under the id of another one",
            Self::BadSignature => "sent a second signature for an event, which does not verify",
            Self::DuplicateSeq => "sent two different changes under one number, as a restored or cloned copy does",
            Self::Gaps => "kept back changes that others build on",
            Self::Full => "filled the shared index beyond its limit",
        }
    }

    /// What to do about it.
    fn advice(self) -> &'static str {
        match self {
            Self::Malformed | Self::Version => {
                "update ergo on both machines; if it comes again, the peer's program is not ergo"
            }
            Self::TooBig | Self::Full => "exchange a bundle instead: `ergo sync export` there, `ergo sync import` here",
            Self::DuplicateSeq => {
                "exchange a bundle: `ergo sync export` there, `ergo sync import` here; its index is then rebuilt"
            }
            Self::Gaps => "it is tried again with the next session; a bundle brings the events at once",
            _ => "ask who uses that device; `ergo sync revoke` ends its access, and a bundle brings its honest events",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A peer broke a rule: nothing of its session is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which rule.
    pub code: Code,
    /// The event that it is about, where it is about one.
    pub event: Option<EventId>,
    /// More of it, for a log: sizes, counts, what automerge said. May be empty.
    pub detail: String,
}

impl Violation {
    pub(super) fn new(code: Code, detail: impl Into<String>) -> Self {
        Self { code, event: None, detail: detail.into() }
    }

    pub(super) fn of(code: Code, event: EventId, detail: impl Into<String>) -> Self {
        Self { code, event: Some(event), detail: detail.into() }
    }

    pub(super) fn malformed(detail: impl Into<String>) -> Self {
        Self::new(Code::Malformed, detail)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the peer {}", self.code.told())?;
        if let Some(event) = self.event {
            write!(f, " (event {})", event.short())?;
        }
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        write!(f, ". Nothing of this session was taken; {}", self.code.advice())
    }
}

impl std::error::Error for Violation {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_word_of_its_own_and_says_what_to_do() {
        for (at, code) in Code::ALL.into_iter().enumerate() {
            assert_eq!(Code::from_word(code.as_str()), Some(code));
            assert!(!Code::ALL[..at].iter().any(|other| other.as_str() == code.as_str()), "{code} twice");
            let violation = Violation::of(code, EventId([7; 32]), "3 of 2");
            let said = violation.to_string();
            assert!(said.contains("0707070707") && said.contains("3 of 2") && said.contains("Nothing"), "{said}");
        }
        assert_eq!(Code::from_word("novel"), None);
    }
}
