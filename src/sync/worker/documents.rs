//! Documents as the daemon has them: bytes in its store, and a worker that understands them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use minicbor::bytes::ByteVec;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use super::{
    error::DocumentError,
    link::{Link, Options, Silence, WorkerInfo},
    wire::{NextState, Said, What},
};
use crate::{
    domain::{EventId, replica::DocumentId},
    sync::document::{Chunk, Entry, Facts, Step},
};

/// Where the stored bytes of documents are.
pub trait Shelf: Send + Sync {
    /// What was stored of a document ([`Staged::chunk`]), in its order; nothing for one that does not exist yet. May block.
    ///
    /// # Errors
    /// In words, where it cannot be read now.
    fn chunks(&self, document: DocumentId) -> Result<Vec<Vec<u8>>, String>;
}

/// Documents, by way of the worker. Cheap to clone. Needs a tokio runtime.
#[derive(Clone)]
pub struct Documents {
    link: Arc<Link>,
    shelf: Arc<dyn Shelf>,
    /// One change of a document at a time: from working it out until it is stored or dropped.
    changing: Arc<Mutex<HashMap<DocumentId, Arc<AsyncMutex<()>>>>>,
}

impl std::fmt::Debug for Documents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Documents").field("worker", &self.info()).finish_non_exhaustive()
    }
}

impl Documents {
    /// Documents whose bytes are on `shelf`. Nothing is started before the first call.
    pub fn new(options: Options, shelf: Arc<dyn Shelf>) -> Self {
        Self::over(Link::new(options), shelf)
    }

    pub(super) fn over(link: Arc<Link>, shelf: Arc<dyn Shelf>) -> Self {
        Self { link, shelf, changing: Arc::default() }
    }

    /// What is known of the worker.
    pub fn info(&self) -> WorkerInfo {
        self.link.info()
    }

    /// Begins to exchange a document with a peer, on a copy. `state` is what was kept of the last time
    /// ([`Staged::peer_state`]). Whoever `speaks` first gets a message that must be sent; the other side waits for it.
    ///
    /// # Errors
    /// Any but [`DocumentError::Violation`] and [`DocumentError::Poisoned`].
    pub async fn begin(
        &self,
        document: DocumentId,
        state: Option<Vec<u8>>,
        speaks: bool,
    ) -> Result<(Session, Option<Vec<u8>>), DocumentError> {
        let state = state.map(ByteVec::from);
        let what = || What::Begin { document, state: state.clone(), speaks };
        match self.ask(document, None, what).await? {
            (Said::Begun { session, first }, worker) => {
                let session = Session { documents: self.clone(), document, worker, number: session };
                Ok((session, first.map(Into::into)))
            }
            (said, _) => Err(unexpected(said)),
        }
    }

    /// A document with these events; those that it has are left out.
    ///
    /// # Errors
    /// [`DocumentError::TooLarge`] where it would hold too many, and any that [`Documents::begin`] has.
    pub async fn append(&self, document: DocumentId, entries: Vec<Entry>) -> Result<Staged, DocumentError> {
        self.change(document, move || What::Append { document, entries: entries.clone() }).await
    }

    /// A document of exactly these events, whatever is stored of it: the same bytes on every machine. What was kept of peers
    /// ([`Staged::peer_state`]) means nothing to it.
    ///
    /// # Errors
    /// As [`Documents::append`].
    pub async fn rebuild(&self, document: DocumentId, entries: Vec<Entry>) -> Result<Staged, DocumentError> {
        self.change(document, move || What::Rebuild { document, entries: entries.clone() }).await
    }

    /// The same document as one chunk.
    ///
    /// # Errors
    /// As [`Documents::begin`].
    pub async fn compact(&self, document: DocumentId) -> Result<Staged, DocumentError> {
        self.change(document, move || What::Compact(document)).await
    }

    /// What a document is.
    ///
    /// # Errors
    /// As [`Documents::begin`].
    pub async fn facts(&self, document: DocumentId) -> Result<Facts, DocumentError> {
        match self.ask(document, None, || What::Facts(document)).await? {
            (Said::Facts(facts), _) => Ok(facts),
            (said, _) => Err(unexpected(said)),
        }
    }

    async fn change(
        &self,
        document: DocumentId,
        what: impl Fn() -> What + Send + Sync + 'static,
    ) -> Result<Staged, DocumentError> {
        let documents = self.clone();
        // To its end, also where nobody waits any more: what was worked out for nobody is undone by dropping it.
        let changed = tokio::spawn(async move {
            let guard = documents.exclusive(document).await;
            let (said, worker) = documents.ask(document, Some(&guard), what).await?;
            documents.staged(document, guard, said, worker)
        });
        changed.await.unwrap_or_else(|gone| Err(DocumentError::Unavailable { why: gone.to_string() }))
    }

    fn staged(
        &self,
        document: DocumentId,
        guard: OwnedMutexGuard<()>,
        said: Said,
        worker: u64,
    ) -> Result<Staged, DocumentError> {
        let Said::Staged(NextState { chunk, facts, new, state, before }) = said else { return Err(unexpected(said)) };
        let peer_state = state.map(Into::into);
        let pending = Some(Pending { link: Arc::clone(&self.link), document, worker, _guard: guard });
        Ok(Staged { chunk, facts, before, new, peer_state, pending })
    }

    /// Waits until nobody else changes a document.
    async fn exclusive(&self, document: DocumentId) -> OwnedMutexGuard<()> {
        let mutex = {
            let mut changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
            changing.retain(|_, mutex| Arc::strong_count(mutex) > 1);
            Arc::clone(changing.entry(document).or_default())
        };
        mutex.lock_owned().await
    }

    /// Asks something about a document, which is loaded first where the worker does not hold it. `guard` says that this call
    /// changes the document; others wait for whoever does before they load it.
    async fn ask(
        &self,
        document: DocumentId,
        guard: Option<&OwnedMutexGuard<()>>,
        what: impl Fn() -> What + Send + Sync,
    ) -> Result<(Said, u64), DocumentError> {
        let broken = |why| DocumentError::Broken { document, why };
        let (said, worker) = self.ask_again(&what).await.map_err(|silence| of_ours(silence, broken))?;
        if said != Said::Absent {
            return Ok((said, worker));
        }
        let _waited = if guard.is_none() { Some(self.exclusive(document).await) } else { None };
        self.load(document).await?;
        let (said, worker) = self.ask_again(&what).await.map_err(|silence| of_ours(silence, broken))?;
        if said == Said::Absent {
            return Err(DocumentError::Unavailable { why: "there is no room for one more document".to_owned() });
        }
        Ok((said, worker))
    }

    /// Asks once more where the worker ended: what it was asked is of our own making, and its end may have been chance.
    async fn ask_again(&self, what: impl Fn() -> What + Send + Sync) -> Result<(Said, u64), Silence> {
        match self.link.ask(what(), None).await {
            Err(Silence::Died(_)) => self.link.ask(what(), None).await,
            answered => answered,
        }
    }

    async fn load(&self, document: DocumentId) -> Result<(), DocumentError> {
        let shelf = Arc::clone(&self.shelf);
        let chunks = tokio::task::spawn_blocking(move || shelf.chunks(document)).await;
        let unavailable = |why| DocumentError::Unavailable { why };
        let chunks = chunks.map_err(|gone| unavailable(gone.to_string()))?.map_err(unavailable)?;
        let chunks: Vec<ByteVec> = chunks.into_iter().map(ByteVec::from).collect();
        let broken = |why| DocumentError::Broken { document, why };
        let what = || What::Load { document, chunks: chunks.clone() };
        match self.ask_again(what).await.map_err(|silence| of_ours(silence, broken))?.0 {
            Said::Done => Ok(()),
            Said::Unreadable(why) => Err(broken(why)),
            said => Err(unexpected(said)),
        }
    }
}

/// What a call on our own bytes hears of a worker that gave no answer.
fn of_ours(silence: Silence, died: impl FnOnce(String) -> DocumentError) -> DocumentError {
    match silence {
        Silence::Died(why) => died(format!("the process that reads it {why}")),
        Silence::Replaced => DocumentError::Interrupted,
        Silence::Unavailable(why) => DocumentError::Unavailable { why },
        Silence::TooLarge(why) => DocumentError::TooLarge { why },
    }
}

/// The same for a call on a peer's bytes.
fn of_theirs(silence: Silence) -> DocumentError {
    match silence {
        Silence::Died(why) => DocumentError::Poisoned { why: format!("it {why}") },
        other => of_ours(other, |why| DocumentError::Poisoned { why }),
    }
}

/// An answer that is a refusal, or one to another question.
fn unexpected(said: Said) -> DocumentError {
    match said {
        Said::Violation(broken) => DocumentError::Violation(broken.into()),
        Said::Full(why) => DocumentError::TooLarge { why },
        Said::Busy(why) | Said::Refused(why) => DocumentError::Unavailable { why },
        _ => DocumentError::Unavailable { why: "its process gave an answer to another question".to_owned() },
    }
}

/// One exchange with a peer. Dropping it leaves the document as it was.
#[derive(Debug)]
pub struct Session {
    documents: Documents,
    document: DocumentId,
    worker: u64,
    number: u64,
}

impl Session {
    /// The document.
    pub fn document(&self) -> DocumentId {
        self.document
    }

    /// Takes a message from the peer. After an error the session is over.
    ///
    /// # Errors
    /// [`DocumentError::Violation`] and [`DocumentError::Poisoned`] where the peer is at fault, [`DocumentError::Interrupted`]
    /// where nobody here is.
    pub async fn message(&mut self, bytes: Vec<u8>) -> Result<Step, DocumentError> {
        let what = What::Receive { session: self.number, bytes: bytes.into() };
        match self.documents.link.ask(what, Some(self.worker)).await.map_err(of_theirs)? {
            (Said::Step(step), _) => Ok(step),
            (said, _) => Err(unexpected(said)),
        }
    }

    /// Ends the exchange, once a [`Step`] has said that both sides agree: the document's next state.
    ///
    /// # Errors
    /// As [`Session::message`].
    pub async fn end(self) -> Result<Staged, DocumentError> {
        // To its end, also where nobody waits any more.
        let ended = tokio::spawn(async move {
            let documents = &self.documents;
            let guard = documents.exclusive(self.document).await;
            let mut said = Said::Absent;
            for loads in 0..2 {
                let what = What::End(self.number);
                said = documents.link.ask(what, Some(self.worker)).await.map_err(of_theirs)?.0;
                if said != Said::Absent || loads > 0 {
                    break;
                }
                documents.load(self.document).await?;
            }
            documents.staged(self.document, guard, said, self.worker)
        });
        ended.await.unwrap_or_else(|gone| Err(DocumentError::Unavailable { why: gone.to_string() }))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.documents.link.leave(self.worker, self.number);
    }
}

/// The next state of a document, worked out and not yet taken: store it, then [`Staged::commit`]. Dropping it instead leaves
/// the document as it is stored, and has it read anew. Until then other changes of this document wait.
#[derive(Debug)]
pub struct Staged {
    /// What is to be stored; `None` where nothing changed.
    pub chunk: Option<Chunk>,
    /// What the document will be.
    pub facts: Facts,
    /// What the document was where this was worked out: it goes with no other. `None` where it takes the place of any.
    pub before: Option<Facts>,
    /// The events that are new in it.
    pub new: Vec<EventId>,
    /// What is to be kept of the peer; of a session only.
    pub peer_state: Option<Vec<u8>>,
    pending: Option<Pending>,
}

struct Pending {
    link: Arc<Link>,
    document: DocumentId,
    worker: u64,
    _guard: OwnedMutexGuard<()>,
}

impl std::fmt::Debug for Pending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pending").field("document", &self.document).finish_non_exhaustive()
    }
}

impl Staged {
    /// Takes it: what is stored is what the worker holds. A worker that is gone will load what was stored.
    pub async fn commit(mut self) {
        if let Some(pending) = self.pending.take() {
            let committed = tokio::spawn(async move {
                let what = What::Commit(pending.document);
                drop(pending.link.ask(what, Some(pending.worker)).await);
            });
            drop(committed.await);
        }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(pending) = self.pending.take() {
            pending.link.undo(pending.worker, pending.document);
        }
    }
}
