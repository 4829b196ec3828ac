//! What the daemon and the worker that holds documents say to each other.

use minicbor::{Decode, Encode, bytes::ByteVec};

use crate::domain::{EventId, replica::DocumentId};
use crate::sync::{
    document::{Chunk, Entry, Facts, Step},
    gate::{Code, MAX_MESSAGE, Violation},
};

/// The version of these messages: raised with every change of their form.
pub(super) const VERSION: u32 = 2;

/// The longest message, in bytes: a peer's message with room around it, and far above a stored document.
pub(super) const MAX_FRAME: usize = 3 * MAX_MESSAGE;

/// A message to the worker.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(super) struct Ask {
    /// Counts up; the answer bears the same.
    #[n(0)]
    pub(super) id: u64,
    /// Sessions that ended without being taken.
    #[n(1)]
    pub(super) left: Vec<u64>,
    /// Documents whose next state was not stored.
    #[n(2)]
    pub(super) undone: Vec<DocumentId>,
    #[n(3)]
    pub(super) what: What,
}

/// What the worker is to do.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(super) enum What {
    /// Once, first.
    #[n(0)]
    Hello(#[n(0)] Hello),
    /// Hold this document.
    #[n(1)]
    Load {
        #[n(0)]
        document: DocumentId,
        #[n(1)]
        chunks: Vec<ByteVec>,
    },
    /// Begin a session with a peer's copy of it.
    #[n(2)]
    Begin {
        #[n(0)]
        document: DocumentId,
        #[n(1)]
        state: Option<ByteVec>,
        #[n(2)]
        speaks: bool,
    },
    #[n(3)]
    Receive {
        #[n(0)]
        session: u64,
        #[n(1)]
        bytes: ByteVec,
    },
    #[n(4)]
    End(#[n(0)] u64),
    #[n(5)]
    Append {
        #[n(0)]
        document: DocumentId,
        #[n(1)]
        entries: Vec<Entry>,
    },
    #[n(6)]
    Rebuild {
        #[n(0)]
        document: DocumentId,
        #[n(1)]
        entries: Vec<Entry>,
    },
    #[n(7)]
    Compact(#[n(0)] DocumentId),
    #[n(8)]
    Facts(#[n(0)] DocumentId),
    /// The next state of a document was stored.
    #[n(9)]
    Commit(#[n(0)] DocumentId),
}

/// How the worker is to behave.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct Hello {
    /// [`VERSION`] of the daemon.
    #[n(0)]
    pub(super) version: u32,
    /// The most memory, in bytes of address space.
    #[n(1)]
    pub(super) memory: u64,
    /// How much of it documents may take that nobody works on, in bytes.
    #[n(2)]
    pub(super) loaded: u64,
    /// The most seconds of processor time for one call.
    #[n(3)]
    pub(super) seconds: u64,
}

/// A message from the worker.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(super) struct Answer {
    #[n(0)]
    pub(super) id: u64,
    #[n(1)]
    pub(super) said: Said,
}

/// What the worker answers.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(super) enum Said {
    /// To [`What::Hello`]: the worker's [`VERSION`].
    #[n(0)]
    Ready(#[n(0)] u32),
    /// It does not hold that document (any more): [`What::Load`] it, and ask again.
    #[n(1)]
    Absent,
    #[n(2)]
    Done,
    #[n(3)]
    Begun {
        #[n(0)]
        session: u64,
        #[n(1)]
        first: Option<ByteVec>,
    },
    #[n(4)]
    Step(#[n(0)] Step),
    #[n(5)]
    Staged(#[n(0)] NextState),
    #[n(6)]
    Facts(#[n(0)] Facts),
    /// The peer broke a rule; the session is over.
    #[n(7)]
    Violation(#[n(0)] Broken),
    /// The bytes to load are no document.
    #[n(8)]
    Unreadable(#[n(0)] String),
    /// A document holds no more.
    #[n(9)]
    Full(#[n(0)] String),
    /// There is no room for one more session.
    #[n(11)]
    Busy(#[n(0)] String),
    /// It cannot be done, in words.
    #[n(10)]
    Refused(#[n(0)] String),
}

/// The next state of a document, as the worker keeps it until it is stored.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(super) struct NextState {
    #[n(0)]
    pub(super) chunk: Option<Chunk>,
    #[n(1)]
    pub(super) facts: Facts,
    #[n(2)]
    pub(super) new: Vec<EventId>,
    #[n(3)]
    pub(super) state: Option<ByteVec>,
    /// What the document was; `None` where that does not matter.
    #[n(4)]
    pub(super) before: Option<Facts>,
}

/// A [`Violation`] for the wire.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(super) struct Broken {
    #[n(0)]
    code: String,
    #[n(1)]
    event: Option<EventId>,
    #[n(2)]
    detail: String,
}

impl From<Violation> for Broken {
    fn from(violation: Violation) -> Self {
        let Violation { code, event, detail } = violation;
        Self { code: code.as_str().to_owned(), event, detail }
    }
}

impl From<Broken> for Violation {
    fn from(Broken { code, event, detail }: Broken) -> Self {
        Self { code: Code::from_word(&code).unwrap_or(Code::Malformed), event, detail }
    }
}
