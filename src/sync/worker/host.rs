//! The worker's side: holds documents and sessions in memory only.

use std::{
    collections::HashMap,
    io,
    time::{Duration, Instant},
};

use minicbor::bytes::ByteVec;
use rustix::process::Resource;

use super::wire::{
    MAX_FRAME, NextState, VERSION, WorkerCommand, WorkerHello, WorkerReply, WorkerRequest, WorkerResponse,
};
use crate::{
    domain::{DeviceId, replica::DocumentId},
    sync::document::{
        DocumentExchange, DocumentSummary, DocumentWriteError, IndexDocument, NextDocument, UnreadableDocument,
    },
    worker::{frame, host},
};

/// The most sessions at one time: 4 for each of 16 peers. A peer without a session may always begin one.
const MAX_SESSIONS: usize = 64;

/// Serves the daemon over standard input and output until the daemon closes them.
///
/// # Errors
/// If the daemon has another version or sends an invalid frame.
pub fn serve() -> io::Result<()> {
    let mut output = host::enter()?;
    let requests = host::listen::<WorkerRequest>(MAX_FRAME, Some)?;
    let Some(WorkerRequest { id, command: WorkerCommand::Hello(hello), .. }) = requests.recv().ok() else {
        return Err(host::not_started_by_daemon());
    };
    frame::write(&mut output, MAX_FRAME, &WorkerResponse { id, reply: WorkerReply::Ready(VERSION) })?;
    if hello.version != VERSION {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the daemon has another version"));
    }
    host::set_limit(Resource::As, hello.memory);
    let mut processor = CpuBudget { seconds: hello.seconds, used: Duration::ZERO };
    let mut host = DocumentHost::new(&hello);
    for ask in requests {
        let begin = processor.begin();
        let id = ask.id;
        let reply = host.answer(ask);
        processor.used += begin.elapsed();
        frame::write(&mut output, MAX_FRAME, &WorkerResponse { id, reply })?;
    }
    Ok(())
}

/// The limit of processor time for each call. The system counts the time since the process started, so the limit is
/// raised before every call.
struct CpuBudget {
    seconds: u64,
    /// Wall-clock time of all calls: an upper bound of the processor time that they used.
    used: Duration,
}

impl CpuBudget {
    fn begin(&self) -> Instant {
        host::set_soft_limit(Resource::Cpu, self.used.as_secs() + 1 + self.seconds);
        Instant::now()
    }
}

/// A document in memory.
struct LoadedDocument {
    document: IndexDocument,
    /// The value of the use counter at the last access. The document with the lowest value is evicted first.
    used: u64,
}

/// An exchange with a peer.
struct PeerSession {
    peer: DeviceId,
    document: DocumentId,
    exchange: DocumentExchange,
}

/// The documents and sessions that this process holds.
pub(super) struct DocumentHost {
    capacity: usize,
    /// The memory that sessions may take together, in bytes: half of the limit of the process.
    session_memory: usize,
    documents: HashMap<DocumentId, LoadedDocument>,
    staged: HashMap<DocumentId, IndexDocument>,
    sessions: HashMap<u64, PeerSession>,
    uses: u64,
}

impl DocumentHost {
    pub(super) fn new(hello: &WorkerHello) -> Self {
        let capacity = usize::try_from(hello.idle_documents).unwrap_or(usize::MAX);
        let session_memory = usize::try_from(hello.memory / 2).unwrap_or(usize::MAX);
        let (documents, staged, sessions) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { capacity, session_memory, documents, staged, sessions, uses: 0 }
    }

    pub(super) fn answer(&mut self, ask: WorkerRequest) -> WorkerReply {
        for session in ask.abandoned {
            self.sessions.remove(&session);
        }
        for document in ask.discarded {
            self.discard_staged(document);
        }
        match ask.command {
            WorkerCommand::Load { document, chunks } => self.load(document, chunks),
            WorkerCommand::Begin { document, state, initiates, peer } => {
                self.begin(document, peer, state.as_deref().map(Vec::as_slice), initiates)
            }
            WorkerCommand::Receive { session, bytes } => self.receive(session, &bytes),
            WorkerCommand::End(session) => self.end(session),
            WorkerCommand::Append { document, entries } => match self.document(document) {
                Some(held) => {
                    let (before, next) = (held.summary(), held.with_entries(&entries));
                    self.stage_written(document, Some(before), next)
                }
                None => WorkerReply::NotLoaded,
            },
            WorkerCommand::Rebuild { document, entries } => {
                self.stage_written(document, None, IndexDocument::rebuild(entries))
            }
            WorkerCommand::Compact(document) => match self.document(document) {
                Some(held) => {
                    let (before, next) = (held.summary(), held.compacted());
                    self.stage(document, Some(before), next, None)
                }
                None => WorkerReply::NotLoaded,
            },
            WorkerCommand::Summarize(document) => {
                self.document(document).map_or(WorkerReply::NotLoaded, |held| WorkerReply::Summary(held.summary()))
            }
            WorkerCommand::Commit(document) => {
                if let Some(next) = self.staged.remove(&document) {
                    self.keep_loaded(document, next);
                }
                WorkerReply::Done
            }
            WorkerCommand::Hello(_) => WorkerReply::Refused("HELLO comes once".to_owned()),
        }
    }

    fn document(&mut self, id: DocumentId) -> Option<&IndexDocument> {
        self.uses += 1;
        let held = self.documents.get_mut(&id)?;
        held.used = self.uses;
        Some(&held.document)
    }

    /// Keeps a document in memory, and evicts the least recently used ones beyond the capacity.
    fn keep_loaded(&mut self, id: DocumentId, document: IndexDocument) {
        self.uses += 1;
        self.documents.insert(id, LoadedDocument { document, used: self.uses });
        let weight = |held: &LoadedDocument| held.document.estimated_bytes();
        while self.documents.values().map(weight).sum::<usize>() > self.capacity && self.documents.len() > 1 {
            let oldest = self.documents.iter().min_by_key(|(_, held)| held.used).map(|(id, _)| *id);
            oldest.map(|id| self.documents.remove(&id));
        }
    }

    fn load(&mut self, id: DocumentId, chunks: Vec<ByteVec>) -> WorkerReply {
        if self.document(id).is_some() {
            return WorkerReply::Done;
        }
        let chunks: Vec<Vec<u8>> = chunks.into_iter().map(Into::into).collect();
        match IndexDocument::load(&chunks) {
            Ok(document) => {
                self.keep_loaded(id, document);
                WorkerReply::Done
            }
            Err(UnreadableDocument(why)) => WorkerReply::Unreadable(why),
        }
    }

    fn begin(&mut self, id: DocumentId, peer: DeviceId, state: Option<&[u8]>, initiates: bool) -> WorkerReply {
        let Some(bytes) = self.document(id).map(IndexDocument::estimated_bytes) else { return WorkerReply::NotLoaded };
        if self.sessions.values().any(|open| open.peer == peer)
            && (self.sessions.len() >= MAX_SESSIONS || self.session_bytes() + bytes > self.session_memory)
        {
            return busy();
        }
        let Some(document) = self.document(id) else { return WorkerReply::NotLoaded };
        let (exchange, first) = document.begin_exchange(state, initiates);
        self.uses += 1;
        let session = self.uses;
        self.sessions.insert(session, PeerSession { peer, document: id, exchange });
        WorkerReply::Begun { session, first: first.map(ByteVec::from) }
    }

    /// Estimates the memory of all sessions, in bytes.
    fn session_bytes(&self) -> usize {
        self.sessions.values().map(|open| open.exchange.estimated_bytes()).sum()
    }

    fn receive(&mut self, session: u64, bytes: &[u8]) -> WorkerReply {
        let Some(open) = self.sessions.get_mut(&session) else { return unknown_session() };
        let peer = open.peer;
        match open.exchange.receive(bytes) {
            Err(violation) => {
                self.sessions.remove(&session);
                WorkerReply::Violation(violation.into())
            }
            // One session has limits of its own, so each peer can finish at least that one.
            Ok(_)
                if self.sessions.values().filter(|open| open.peer == peer).count() > 1
                    && self.session_bytes() > self.session_memory =>
            {
                self.sessions.remove(&session);
                busy()
            }
            Ok(step) => WorkerReply::Step(step),
        }
    }

    fn end(&mut self, session: u64) -> WorkerReply {
        let Some(open) = self.sessions.remove(&session) else { return unknown_session() };
        let id = open.document;
        let Some(document) = self.document(id) else {
            self.sessions.insert(session, open);
            return WorkerReply::NotLoaded;
        };
        let before = document.summary();
        match open.exchange.finish(document) {
            Ok((next, state)) => self.stage(id, Some(before), next, Some(state)),
            Err(violation) => WorkerReply::Violation(violation.into()),
        }
    }

    fn stage_written(
        &mut self,
        id: DocumentId,
        before: Option<DocumentSummary>,
        next: Result<NextDocument, DocumentWriteError>,
    ) -> WorkerReply {
        match next {
            Ok(next) => self.stage(id, before, next, None),
            Err(error @ DocumentWriteError::Full(_)) => WorkerReply::Full(error.to_string()),
            Err(error) => WorkerReply::Refused(error.to_string()),
        }
    }

    fn stage(
        &mut self,
        id: DocumentId,
        before: Option<DocumentSummary>,
        next: NextDocument,
        state: Option<Vec<u8>>,
    ) -> WorkerReply {
        let NextDocument { document, chunk, new } = next;
        let summary = document.summary();
        self.staged.insert(id, document);
        WorkerReply::Staged(NextState { chunk, summary, new, state: state.map(ByteVec::from), before })
    }

    /// Discards the staged state of a document. It is unknown whether it was stored, so the document is dropped as
    /// well, and loaded again when it is needed.
    fn discard_staged(&mut self, id: DocumentId) {
        if self.staged.remove(&id).is_some() {
            self.documents.remove(&id);
        }
    }
}

fn busy() -> WorkerReply {
    WorkerReply::Busy("the worker has no capacity for more exchanges with this peer".to_owned())
}

fn unknown_session() -> WorkerReply {
    WorkerReply::Refused("the session has ended".to_owned())
}
