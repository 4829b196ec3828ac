//! The daemon's side of documents: the store holds their bytes, and a worker process reads and merges them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use minicbor::bytes::ByteVec;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use super::{
    error::DocumentError,
    link::{DocumentWorkerInfo, WorkerFailure, WorkerLink, WorkerOptions},
    wire::{NextState, WorkerCommand, WorkerReply},
};
use crate::{
    domain::{DeviceId, EventId, replica::DocumentId},
    sync::document::{ChunkUpdate, DocumentEntry, DocumentSummary, ExchangeStep},
};

/// Provides the stored bytes of documents.
pub trait DocumentStore: Send + Sync {
    /// Returns the stored chunks of a document ([`StagedDocument::chunk`]), oldest first; none if the document does not
    /// exist yet. May block.
    ///
    /// # Errors
    /// The reason, if the store cannot be read now.
    fn chunks(&self, document: DocumentId) -> Result<Vec<Vec<u8>>, String>;
}

/// The documents of a store, edited through the worker. Cheap to clone. Needs a tokio runtime.
#[derive(Clone)]
pub struct Documents {
    link: Arc<WorkerLink>,
    store: Arc<dyn DocumentStore>,
    /// Serialises the changes of each document. A change holds the lock until it is committed or dropped.
    changing: Arc<Mutex<HashMap<DocumentId, Arc<AsyncMutex<()>>>>>,
}

impl std::fmt::Debug for Documents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Documents").field("worker", &self.info()).finish_non_exhaustive()
    }
}

impl Documents {
    /// Creates the documents of `store`. The worker is started by the first call.
    pub fn new(options: WorkerOptions, store: Arc<dyn DocumentStore>) -> Self {
        Self::with_link(WorkerLink::new(options), store)
    }

    pub(super) fn with_link(link: Arc<WorkerLink>, store: Arc<dyn DocumentStore>) -> Self {
        Self { link, store, changing: Arc::default() }
    }

    /// Returns the state of the worker process.
    pub fn info(&self) -> DocumentWorkerInfo {
        self.link.info()
    }

    /// Begins an exchange of a document with `peer`, on a fork. `state` is the peer state that the last
    /// exchange returned ([`StagedDocument::peer_state`]). The side that `initiates` gets the first message,
    /// which it must send; the other side waits for it.
    ///
    /// # Errors
    /// Any but [`DocumentError::Violation`] and [`DocumentError::Poisoned`].
    pub async fn begin(
        &self,
        document: DocumentId,
        peer: DeviceId,
        state: Option<Vec<u8>>,
        initiates: bool,
    ) -> Result<(DocumentSession, Option<Vec<u8>>), DocumentError> {
        let state = state.map(ByteVec::from);
        let command = || WorkerCommand::Begin { document, state: state.clone(), initiates, peer };
        match self.ask(document, None, command).await? {
            (WorkerReply::Begun { session, first }, worker) => {
                let session = DocumentSession { documents: self.clone(), document, worker, number: session };
                Ok((session, first.map(Into::into)))
            }
            (reply, _) => Err(unexpected(reply)),
        }
    }

    /// Stages a document with these events added; events that it already holds are skipped.
    ///
    /// # Errors
    /// [`DocumentError::TooLarge`] if it would hold too many events, and those of [`Documents::begin`].
    pub async fn append(
        &self,
        document: DocumentId,
        entries: Vec<DocumentEntry>,
    ) -> Result<StagedDocument, DocumentError> {
        self.change(document, move || WorkerCommand::Append { document, entries: entries.clone() }).await
    }

    /// Stages a document of exactly these events, which replaces the stored one. The bytes are the same on every
    /// machine. Peer states of earlier exchanges ([`StagedDocument::peer_state`]) do not apply to it.
    ///
    /// # Errors
    /// As [`Documents::append`].
    pub async fn rebuild(
        &self,
        document: DocumentId,
        entries: Vec<DocumentEntry>,
    ) -> Result<StagedDocument, DocumentError> {
        self.change(document, move || WorkerCommand::Rebuild { document, entries: entries.clone() }).await
    }

    /// Stages the same document as one chunk.
    ///
    /// # Errors
    /// As [`Documents::begin`].
    pub async fn compact(&self, document: DocumentId) -> Result<StagedDocument, DocumentError> {
        self.change(document, move || WorkerCommand::Compact(document)).await
    }

    /// Returns the size and heads of a document.
    ///
    /// # Errors
    /// As [`Documents::begin`].
    pub async fn summary(&self, document: DocumentId) -> Result<DocumentSummary, DocumentError> {
        match self.ask(document, None, || WorkerCommand::Summarize(document)).await? {
            (WorkerReply::Summary(summary), _) => Ok(summary),
            (reply, _) => Err(unexpected(reply)),
        }
    }

    async fn change(
        &self,
        document: DocumentId,
        command: impl Fn() -> WorkerCommand + Send + Sync + 'static,
    ) -> Result<StagedDocument, DocumentError> {
        let documents = self.clone();
        // Runs to completion even if the caller is cancelled: the result is then dropped, which discards the staged
        // state.
        let changed = tokio::spawn(async move {
            let guard = documents.lock_document(document).await;
            let (reply, worker) = documents.ask(document, Some(&guard), command).await?;
            documents.staged(document, guard, reply, worker)
        });
        changed.await.unwrap_or_else(|gone| Err(DocumentError::Unavailable { why: gone.to_string() }))
    }

    fn staged(
        &self,
        document: DocumentId,
        guard: OwnedMutexGuard<()>,
        reply: WorkerReply,
        worker: u64,
    ) -> Result<StagedDocument, DocumentError> {
        let WorkerReply::Staged(NextState { chunk, summary, new, state, before }) = reply else {
            return Err(unexpected(reply));
        };
        let peer_state = state.map(Into::into);
        let pending = Some(PendingCommit { link: Arc::clone(&self.link), document, worker, _guard: guard });
        Ok(StagedDocument { chunk, summary, before, new, peer_state, pending })
    }

    /// Waits for other changes of a document to end, and locks it.
    async fn lock_document(&self, document: DocumentId) -> OwnedMutexGuard<()> {
        let mutex = {
            let mut changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
            changing.retain(|_, mutex| Arc::strong_count(mutex) > 1);
            Arc::clone(changing.entry(document).or_default())
        };
        mutex.lock_owned().await
    }

    /// Sends a command about a document, and loads the document first if the worker does not hold it. A caller that
    /// changes the document passes its `guard`; any other waits for such a caller before the document is loaded.
    async fn ask(
        &self,
        document: DocumentId,
        guard: Option<&OwnedMutexGuard<()>>,
        command: impl Fn() -> WorkerCommand + Send + Sync,
    ) -> Result<(WorkerReply, u64), DocumentError> {
        let broken = |why| DocumentError::Corrupt { document, why };
        let (reply, worker) = self.ask_with_retry(&command).await.map_err(|failure| own_data_error(failure, broken))?;
        if reply != WorkerReply::NotLoaded {
            return Ok((reply, worker));
        }
        let _waited = if guard.is_none() { Some(self.lock_document(document).await) } else { None };
        self.load(document).await?;
        let (reply, worker) = self.ask_with_retry(&command).await.map_err(|failure| own_data_error(failure, broken))?;
        if reply == WorkerReply::NotLoaded {
            return Err(DocumentError::Unavailable { why: "the worker cannot hold one more document".to_owned() });
        }
        Ok((reply, worker))
    }

    /// Sends a command, once more if the worker exits. The command carries only this device's own bytes, so a single
    /// exit may be accidental.
    async fn ask_with_retry(
        &self,
        command: impl Fn() -> WorkerCommand + Send + Sync,
    ) -> Result<(WorkerReply, u64), WorkerFailure> {
        match self.link.ask(command(), None).await {
            Err(WorkerFailure::Died(_)) => self.link.ask(command(), None).await,
            answered => answered,
        }
    }

    async fn load(&self, document: DocumentId) -> Result<(), DocumentError> {
        let store = Arc::clone(&self.store);
        let chunks = tokio::task::spawn_blocking(move || store.chunks(document)).await;
        let unavailable = |why| DocumentError::Unavailable { why };
        let chunks = chunks.map_err(|gone| unavailable(gone.to_string()))?.map_err(unavailable)?;
        let chunks: Vec<ByteVec> = chunks.into_iter().map(ByteVec::from).collect();
        let broken = |why| DocumentError::Corrupt { document, why };
        let command = || WorkerCommand::Load { document, chunks: chunks.clone() };
        match self.ask_with_retry(command).await.map_err(|failure| own_data_error(failure, broken))?.0 {
            WorkerReply::Done => Ok(()),
            WorkerReply::Unreadable(why) => Err(broken(why)),
            reply => Err(unexpected(reply)),
        }
    }
}

/// Converts the failure of a call that carried this device's own bytes.
fn own_data_error(failure: WorkerFailure, died: impl FnOnce(String) -> DocumentError) -> DocumentError {
    match failure {
        WorkerFailure::Died(why) => died(format!("the worker process {why}")),
        WorkerFailure::Replaced => DocumentError::Interrupted,
        WorkerFailure::Unavailable(why) => DocumentError::Unavailable { why },
        WorkerFailure::TooLarge(why) => DocumentError::TooLarge { why },
    }
}

/// Converts the failure of a call that carried a peer's bytes.
fn peer_data_error(failure: WorkerFailure) -> DocumentError {
    match failure {
        WorkerFailure::Died(why) => DocumentError::Poisoned { why: format!("it {why}") },
        other => own_data_error(other, |why| DocumentError::Poisoned { why }),
    }
}

/// Converts a reply that is a refusal, or does not fit the command.
fn unexpected(reply: WorkerReply) -> DocumentError {
    match reply {
        WorkerReply::Violation(broken) => DocumentError::Violation(broken.into()),
        WorkerReply::Full(why) => DocumentError::TooLarge { why },
        WorkerReply::Busy(why) | WorkerReply::Refused(why) => DocumentError::Unavailable { why },
        _ => DocumentError::Unavailable { why: "the worker's reply does not fit the command".to_owned() },
    }
}

/// One exchange with a peer. Dropping it leaves the document unchanged.
#[derive(Debug)]
pub struct DocumentSession {
    documents: Documents,
    document: DocumentId,
    worker: u64,
    number: u64,
}

impl DocumentSession {
    pub fn document(&self) -> DocumentId {
        self.document
    }

    /// Applies a message of the peer. After an error the session is over.
    ///
    /// # Errors
    /// [`DocumentError::Violation`] and [`DocumentError::Poisoned`] if the peer is at fault,
    /// [`DocumentError::Interrupted`] if neither side is.
    pub async fn message(&mut self, bytes: Vec<u8>) -> Result<ExchangeStep, DocumentError> {
        let command = WorkerCommand::Receive { session: self.number, bytes: bytes.into() };
        match self.documents.link.ask(command, Some(self.worker)).await.map_err(peer_data_error)? {
            (WorkerReply::Step(step), _) => Ok(step),
            (reply, _) => Err(unexpected(reply)),
        }
    }

    /// Ends the exchange after an [`ExchangeStep`] that converged, and stages the merged document.
    ///
    /// # Errors
    /// As [`DocumentSession::message`].
    pub async fn end(self) -> Result<StagedDocument, DocumentError> {
        // Runs to completion even if the caller is cancelled.
        let ended = tokio::spawn(async move {
            let documents = &self.documents;
            let guard = documents.lock_document(self.document).await;
            let mut reply = WorkerReply::NotLoaded;
            for loads in 0..2 {
                let command = WorkerCommand::End(self.number);
                reply = documents.link.ask(command, Some(self.worker)).await.map_err(peer_data_error)?.0;
                if reply != WorkerReply::NotLoaded || loads > 0 {
                    break;
                }
                documents.load(self.document).await?;
            }
            documents.staged(self.document, guard, reply, self.worker)
        });
        ended.await.unwrap_or_else(|gone| Err(DocumentError::Unavailable { why: gone.to_string() }))
    }
}

impl Drop for DocumentSession {
    fn drop(&mut self) {
        self.documents.link.abandon_session(self.worker, self.number);
    }
}

/// The next state of a document, not yet committed: store it, then call [`StagedDocument::commit`]. Other changes of
/// this document wait until then. Dropping it discards the state, and the worker loads the document again.
#[derive(Debug)]
pub struct StagedDocument {
    /// What to store; `None` if nothing changed.
    pub chunk: Option<ChunkUpdate>,
    /// The document after the change.
    pub summary: DocumentSummary,
    /// The document that the change is based on. The store rejects the change if it holds another one. `None` if any
    /// document may be replaced.
    pub before: Option<DocumentSummary>,
    /// The events that are new in it.
    pub new: Vec<EventId>,
    /// The peer state to keep for the next exchange. `None` unless the change comes from an exchange.
    pub peer_state: Option<Vec<u8>>,
    pending: Option<PendingCommit>,
}

struct PendingCommit {
    link: Arc<WorkerLink>,
    document: DocumentId,
    worker: u64,
    _guard: OwnedMutexGuard<()>,
}

impl std::fmt::Debug for PendingCommit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pending").field("document", &self.document).finish_non_exhaustive()
    }
}

impl StagedDocument {
    /// Tells the worker that the state was stored. If the worker has exited in the meantime, the next one loads what
    /// was stored.
    pub async fn commit(mut self) {
        if let Some(pending) = self.pending.take() {
            let committed = tokio::spawn(async move {
                let command = WorkerCommand::Commit(pending.document);
                drop(pending.link.ask(command, Some(pending.worker)).await);
            });
            drop(committed.await);
        }
    }
}

impl Drop for StagedDocument {
    fn drop(&mut self) {
        if let Some(pending) = self.pending.take() {
            pending.link.discard_staged(pending.worker, pending.document);
        }
    }
}
