//! The messages between the daemon and the worker of the replication index.

use minicbor::{Decode, Encode, bytes::ByteVec};

use crate::domain::{DeviceId, EventId, replica::DocumentId};
use crate::sync::{
    document::{ChunkUpdate, DocumentEntry, DocumentSummary, ExchangeStep},
    preflight::{MAX_MESSAGE, Violation, ViolationCode},
};

/// The version of these messages. Every change of their form raises it.
pub(super) const VERSION: u32 = 3;

/// The most bytes of a message: several times a peer's message, and far more than a stored document.
pub(super) const MAX_FRAME: usize = 3 * MAX_MESSAGE;

/// A request to the worker.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(super) struct WorkerRequest {
    /// A number that counts up; the response carries the same one.
    #[n(0)]
    pub(super) id: u64,
    /// Sessions that their owner dropped.
    #[n(1)]
    pub(super) abandoned: Vec<u64>,
    /// Documents whose staged state was not stored.
    #[n(2)]
    pub(super) discarded: Vec<DocumentId>,
    #[n(3)]
    pub(super) command: WorkerCommand,
}

/// A command to the worker.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(super) enum WorkerCommand {
    /// The first command, sent once.
    #[n(0)]
    Hello(#[n(0)] WorkerHello),
    /// Loads a document from its stored chunks.
    #[n(1)]
    Load {
        #[n(0)]
        document: DocumentId,
        #[n(1)]
        chunks: Vec<ByteVec>,
    },
    /// Begins an exchange with a peer's copy of a document.
    #[n(2)]
    Begin {
        #[n(0)]
        document: DocumentId,
        #[n(1)]
        state: Option<ByteVec>,
        #[n(2)]
        initiates: bool,
        #[n(3)]
        peer: DeviceId,
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
        entries: Vec<DocumentEntry>,
    },
    #[n(6)]
    Rebuild {
        #[n(0)]
        document: DocumentId,
        #[n(1)]
        entries: Vec<DocumentEntry>,
    },
    #[n(7)]
    Compact(#[n(0)] DocumentId),
    #[n(8)]
    Summarize(#[n(0)] DocumentId),
    /// Replaces a document by its staged state, which was stored.
    #[n(9)]
    Commit(#[n(0)] DocumentId),
}

/// The limits of the worker.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct WorkerHello {
    /// [`VERSION`] of the daemon.
    #[n(0)]
    pub(super) version: u32,
    /// The limit of its address space, in bytes.
    #[n(1)]
    pub(super) memory: u64,
    /// How much memory idle documents may take, in bytes.
    #[n(2)]
    pub(super) idle_documents: u64,
    /// The limit of processor time for one call, in seconds.
    #[n(3)]
    pub(super) seconds: u64,
}

/// A response of the worker.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(super) struct WorkerResponse {
    #[n(0)]
    pub(super) id: u64,
    #[n(1)]
    pub(super) reply: WorkerReply,
}

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(super) enum WorkerReply {
    /// The reply to [`WorkerCommand::Hello`]: the worker's [`VERSION`].
    #[n(0)]
    Ready(#[n(0)] u32),
    /// The document is not loaded, or no longer: [`WorkerCommand::Load`] it and repeat the command.
    #[n(1)]
    NotLoaded,
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
    Step(#[n(0)] ExchangeStep),
    #[n(5)]
    Staged(#[n(0)] NextState),
    #[n(6)]
    Summary(#[n(0)] DocumentSummary),
    /// The peer broke a rule; the session is over.
    #[n(7)]
    Violation(#[n(0)] WireViolation),
    /// The bytes to load are not a document.
    #[n(8)]
    Unreadable(#[n(0)] String),
    /// The document is full.
    #[n(9)]
    Full(#[n(0)] String),
    /// There is no capacity for another session of the peer, or for more of its bytes. The session is over.
    #[n(11)]
    Busy(#[n(0)] String),
    /// The command failed; the text says why.
    #[n(10)]
    Refused(#[n(0)] String),
}

/// The staged state of a document, which the worker keeps until it is stored.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(super) struct NextState {
    #[n(0)]
    pub(super) chunk: Option<ChunkUpdate>,
    #[n(1)]
    pub(super) summary: DocumentSummary,
    #[n(2)]
    pub(super) new: Vec<EventId>,
    #[n(3)]
    pub(super) state: Option<ByteVec>,
    /// The document before the change; `None` if any may be replaced.
    #[n(4)]
    pub(super) before: Option<DocumentSummary>,
}

/// A [`Violation`] as it is sent.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(super) struct WireViolation {
    #[n(0)]
    code: String,
    #[n(1)]
    event: Option<EventId>,
    #[n(2)]
    detail: String,
}

impl From<Violation> for WireViolation {
    fn from(violation: Violation) -> Self {
        let Violation { code, event, detail } = violation;
        Self { code: code.as_str().to_owned(), event, detail }
    }
}

impl From<WireViolation> for Violation {
    fn from(WireViolation { code, event, detail }: WireViolation) -> Self {
        Self { code: ViolationCode::parse(&code).unwrap_or(ViolationCode::Malformed), event, detail }
    }
}
