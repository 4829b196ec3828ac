//! The worker's side: documents and sessions in memory, and nothing else.

use std::{
    collections::HashMap,
    io,
    time::{Duration, Instant},
};

use minicbor::bytes::ByteVec;
use rustix::process::Resource;

use super::wire::{Answer, Ask, Hello, MAX_FRAME, NextState, Said, VERSION, What};
use crate::{
    domain::replica::DocumentId,
    sync::document::{Document, Exchange, Facts, Next, Unreadable, WriteError},
    worker::{frame, host},
};

/// The most sessions at one time: four for each of sixteen peers.
const MAX_SESSIONS: usize = 64;

/// Serves the daemon at the other end of standard input and output until it goes away.
///
/// # Errors
/// Where the daemon is of another version or speaks nonsense.
pub fn serve() -> io::Result<()> {
    let mut output = host::begin()?;
    let asks = host::listen::<Ask>(MAX_FRAME, Some)?;
    let Some(Ask { id, what: What::Hello(hello), .. }) = asks.recv().ok() else { return Err(host::not_by_hand()) };
    frame::write(&mut output, MAX_FRAME, &Answer { id, said: Said::Ready(VERSION) })?;
    if hello.version != VERSION {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the daemon is of another version"));
    }
    host::limit(Resource::As, hello.memory);
    let mut processor = Processor { seconds: hello.seconds, used: Duration::ZERO };
    let mut host = Host::new(&hello);
    for ask in asks {
        let begin = processor.begin();
        let id = ask.id;
        let said = host.answer(ask);
        processor.used += begin.elapsed();
        frame::write(&mut output, MAX_FRAME, &Answer { id, said })?;
    }
    Ok(())
}

/// A limit on processor time for every call anew. The system counts from the process's start, so that the limit moves up.
struct Processor {
    seconds: u64,
    /// Time that calls have taken: at least what the processor spent on them.
    used: Duration,
}

impl Processor {
    fn begin(&self) -> Instant {
        host::renew(Resource::Cpu, self.used.as_secs() + 1 + self.seconds);
        Instant::now()
    }
}

/// A document in memory.
struct Held {
    document: Document,
    /// Counts up; the document with the lowest number is forgotten first.
    used: u64,
}

/// What this process holds.
pub(super) struct Host {
    room: usize,
    documents: HashMap<DocumentId, Held>,
    staged: HashMap<DocumentId, Document>,
    sessions: HashMap<u64, (DocumentId, Exchange)>,
    uses: u64,
}

impl Host {
    pub(super) fn new(hello: &Hello) -> Self {
        let room = usize::try_from(hello.loaded).unwrap_or(usize::MAX);
        let (documents, staged, sessions) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { room, documents, staged, sessions, uses: 0 }
    }

    pub(super) fn answer(&mut self, ask: Ask) -> Said {
        for session in ask.left {
            self.sessions.remove(&session);
        }
        for document in ask.undone {
            self.undo(document);
        }
        match ask.what {
            What::Load { document, chunks } => self.load(document, chunks),
            What::Begin { document, state, speaks } => {
                self.begin(document, state.as_deref().map(Vec::as_slice), speaks)
            }
            What::Receive { session, bytes } => self.receive(session, &bytes),
            What::End(session) => self.end(session),
            What::Append { document, entries } => match self.document(document) {
                Some(held) => {
                    let (before, next) = (held.facts(), held.with(&entries));
                    self.stage_written(document, Some(before), next)
                }
                None => Said::Absent,
            },
            What::Rebuild { document, entries } => self.stage_written(document, None, Document::rebuild(entries)),
            What::Compact(document) => match self.document(document) {
                Some(held) => {
                    let (before, next) = (held.facts(), held.compacted());
                    self.stage(document, Some(before), next, None)
                }
                None => Said::Absent,
            },
            What::Facts(document) => self.document(document).map_or(Said::Absent, |held| Said::Facts(held.facts())),
            What::Commit(document) => {
                if let Some(next) = self.staged.remove(&document) {
                    self.hold(document, next);
                }
                Said::Done
            }
            What::Hello(_) => Said::Refused("not now".to_owned()),
        }
    }

    fn document(&mut self, id: DocumentId) -> Option<&Document> {
        self.uses += 1;
        let held = self.documents.get_mut(&id)?;
        held.used = self.uses;
        Some(&held.document)
    }

    /// Keeps a document, and forgets those that were not used for longest.
    fn hold(&mut self, id: DocumentId, document: Document) {
        self.uses += 1;
        self.documents.insert(id, Held { document, used: self.uses });
        let weight = |held: &Held| held.document.weight();
        while self.documents.values().map(weight).sum::<usize>() > self.room && self.documents.len() > 1 {
            let oldest = self.documents.iter().min_by_key(|(_, held)| held.used).map(|(id, _)| *id);
            oldest.map(|id| self.documents.remove(&id));
        }
    }

    fn load(&mut self, id: DocumentId, chunks: Vec<ByteVec>) -> Said {
        if self.document(id).is_some() {
            return Said::Done;
        }
        let chunks: Vec<Vec<u8>> = chunks.into_iter().map(Into::into).collect();
        match Document::load(&chunks) {
            Ok(document) => {
                self.hold(id, document);
                Said::Done
            }
            Err(Unreadable(why)) => Said::Unreadable(why),
        }
    }

    fn begin(&mut self, id: DocumentId, state: Option<&[u8]>, speaks: bool) -> Said {
        if self.sessions.len() >= MAX_SESSIONS {
            return Said::Busy(format!("{MAX_SESSIONS} sessions are under way"));
        }
        let Some(document) = self.document(id) else { return Said::Absent };
        let (exchange, first) = document.meet(state, speaks);
        self.uses += 1;
        let session = self.uses;
        self.sessions.insert(session, (id, exchange));
        Said::Begun { session, first: first.map(ByteVec::from) }
    }

    fn receive(&mut self, session: u64, bytes: &[u8]) -> Said {
        let Some((_, exchange)) = self.sessions.get_mut(&session) else { return unknown() };
        match exchange.receive(bytes) {
            Ok(step) => Said::Step(step),
            Err(violation) => {
                self.sessions.remove(&session);
                Said::Violation(violation.into())
            }
        }
    }

    fn end(&mut self, session: u64) -> Said {
        let Some((id, exchange)) = self.sessions.remove(&session) else { return unknown() };
        let Some(document) = self.document(id) else {
            self.sessions.insert(session, (id, exchange));
            return Said::Absent;
        };
        let before = document.facts();
        match exchange.finish(document) {
            Ok((next, state)) => self.stage(id, Some(before), next, Some(state)),
            Err(violation) => Said::Violation(violation.into()),
        }
    }

    fn stage_written(&mut self, id: DocumentId, before: Option<Facts>, next: Result<Next, WriteError>) -> Said {
        match next {
            Ok(next) => self.stage(id, before, next, None),
            Err(error @ WriteError::Full(_)) => Said::Full(error.to_string()),
            Err(error) => Said::Refused(error.to_string()),
        }
    }

    fn stage(&mut self, id: DocumentId, before: Option<Facts>, next: Next, state: Option<Vec<u8>>) -> Said {
        let Next { document, chunk, new } = next;
        let facts = document.facts();
        self.staged.insert(id, document);
        Said::Staged(NextState { chunk, facts, new, state: state.map(ByteVec::from), before })
    }

    /// Forgets the next state of a document. Whether it was stored, or something else meanwhile, is not known: the document is forgotten
    /// as well, and loaded when it is needed.
    fn undo(&mut self, id: DocumentId) {
        if self.staged.remove(&id).is_some() {
            self.documents.remove(&id);
        }
    }
}

fn unknown() -> Said {
    Said::Refused("that session is over".to_owned())
}
