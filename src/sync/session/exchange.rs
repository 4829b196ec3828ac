//! The exchange of one document with the peer: turns on a fork in the worker, then the bodies, then one transaction.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{DocumentKey, StopReason, events, message_loop::SyncSession, offer};
use crate::{
    domain::{
        EventId, Scope, SignedEvent,
        event::{SealedBody, body_hash},
        replica::{ChainEnd, DocumentId},
    },
    engine::Engine,
    store::{PeerDocumentState, SyncImport, SyncImported},
    sync::{
        document::DocumentEntry,
        frame::{DocumentMessage, DocumentOffer, Durable, Message, RejectCode, Rejection, TurnKind, Want, WireBody},
        index,
        worker::{self, DocumentError},
    },
};

/// The most new events of one exchange: the hard limit of a document.
const MAX_NEW_EVENTS: usize = crate::sync::document::HARD_ENTRIES;

/// The most bytes of bodies of one exchange, which stay in memory until all of it is stored. Beyond this, the events
/// are sent page by page instead.
const MAX_BODY_BYTES: usize = 128 * 1024 * 1024;

/// The reason of the rejection if an exchange exceeds [`MAX_BODY_BYTES`].
pub(super) const TOO_MANY_BODIES: &str =
    "the event bodies exceed the limit of one exchange and are sent as events instead";

/// An open exchange of one document.
pub(super) struct OpenExchange {
    number: u64,
    key: DocumentKey,
    mine: bool,
    /// Whether a turn of the peer has arrived.
    answered: bool,
    fork: worker::DocumentSession,
    /// Entries that are new to this document.
    new: Vec<DocumentEntry>,
    /// New events whose bodies were requested or follow.
    waiting: HashSet<EventId>,
    /// The events whose bodies follow without a request, in order; `None` if the entry is not new.
    following: VecDeque<Option<EventId>>,
    bodies: HashMap<EventId, WireBody>,
    body_bytes: usize,
    converged: bool,
    /// Whether to repeat the exchange, because the document changed here in the meantime.
    repeat_after: bool,
}

impl OpenExchange {
    pub(super) fn is(&self, number: u64) -> bool {
        self.number == number
    }

    pub(super) fn is_mine(&self) -> bool {
        self.mine
    }

    /// Whether a turn of the peer has arrived.
    pub(super) fn is_answered(&self) -> bool {
        self.answered
    }

    /// Marks the exchange to be repeated once it is over.
    pub(super) fn repeat(&mut self) {
        self.repeat_after = true;
    }

    /// Adds the next bodies that follow. Returns `false` if there are more than were announced.
    pub(super) fn add_following(&mut self, bodies: Vec<Option<WireBody>>) -> bool {
        bodies.into_iter().all(|body| {
            let next = self.following.pop_front();
            if let Some(Some(id)) = next {
                self.add_body(id, body);
            }
            next.is_some()
        })
    }

    pub(super) fn waits_for(&self, id: &EventId) -> bool {
        self.waiting.contains(id)
    }

    /// Adds a body; `None` if the peer has none.
    pub(super) fn add_body(&mut self, id: EventId, body: Option<WireBody>) {
        self.waiting.remove(&id);
        if let Some(body) = body {
            self.body_bytes += events::size(&body);
            self.bodies.insert(id, body);
        }
    }

    /// Returns the document if its bodies exceed what one transaction may hold.
    pub(super) fn too_big(&self) -> Option<DocumentKey> {
        (self.body_bytes > MAX_BODY_BYTES).then(|| self.key.clone())
    }
}

impl SyncSession<'_> {
    pub(super) fn open(&mut self, exchange: OpenExchange) {
        self.start_waiting();
        self.exchanges.insert(exchange.key.document_id(self.team), exchange);
    }

    pub(super) async fn begin(
        &mut self,
        key: DocumentKey,
        number: u64,
        mine: bool,
    ) -> Result<Option<(OpenExchange, Option<Vec<u8>>)>, StopReason> {
        let (document, peer) = (key.document_id(self.team), self.peer);
        let state = self.context.engine(move |engine| engine.sync_read(|r| r.peer_document(&peer, &document))).await?;
        match self.context.documents.begin(document, peer, state.map(|state| state.state), mine).await {
            Ok((fork, first)) => {
                let exchange = OpenExchange {
                    number,
                    key,
                    mine,
                    answered: false,
                    fork,
                    new: Vec::new(),
                    waiting: HashSet::new(),
                    following: VecDeque::new(),
                    bodies: HashMap::new(),
                    body_bytes: 0,
                    converged: false,
                    repeat_after: false,
                };
                Ok(Some((exchange, first)))
            }
            Err(error) => {
                self.failed(key, number, error).await?;
                Ok(None)
            }
        }
    }

    /// Sends a turn in the full encoding.
    pub(super) fn send_full_turn(
        &self,
        key: &DocumentKey,
        exchange: u64,
        turn: TurnKind,
        messages: Vec<Vec<u8>>,
    ) -> Result<(), StopReason> {
        let DocumentKey { scope, month, part } = key.clone();
        let messages = messages.into_iter().map(Into::into).collect();
        Ok(self.stream.send(&Message::Doc(DocumentMessage { scope, month, part, exchange, turn, messages }))?)
    }

    /// Handles a turn of the peer. `follow` names the entries whose bodies follow the turn.
    pub(super) async fn receive_turn(
        &mut self,
        message: DocumentMessage,
        follow: Vec<EventId>,
    ) -> Result<(), StopReason> {
        let DocumentMessage { scope, month, part, exchange: number, turn, messages } = message;
        let key = DocumentKey { scope, month, part };
        let document = key.document_id(self.team);
        if turn == TurnKind::Aborted {
            self.forget_following(document, Some(number));
            let given_up = self.exchanges.get(&document).is_some_and(|open| open.number == number);
            if given_up
                && let Some(open) = self.exchanges.remove(&document)
                && open.repeat_after
            {
                self.enqueue(key);
            }
            return Ok(());
        }
        if turn == TurnKind::First && !self.accept_exchange(&key, number)? {
            return Ok(());
        }
        let mut exchange = match self.exchanges.remove(&document) {
            Some(open) if open.number == number => open,
            // The turn belongs to an exchange that is over on this side.
            Some(other) => {
                self.exchanges.insert(document, other);
                return Ok(());
            }
            None if turn == TurnKind::First => match self.begin(key.clone(), number, false).await? {
                Some((begun, _)) => begun,
                None => return Ok(()),
            },
            None => return Ok(()),
        };
        exchange.answered = true;
        let (mut replies, before) = (Vec::new(), exchange.new.len());
        for message in messages {
            match exchange.fork.message(message.into()).await {
                Ok(step) => {
                    exchange.new.extend(step.new);
                    exchange.converged |= step.converged;
                    replies.extend(step.reply);
                }
                Err(error) => return self.failed(key, number, error).await,
            }
        }
        if exchange.new.len() > MAX_NEW_EVENTS {
            let reason = format!("a document with more than {MAX_NEW_EVENTS} new events");
            return self.failed(key, number, DocumentError::TooLarge { why: reason }).await;
        }
        if !follow.is_empty() {
            let new: HashSet<EventId> = exchange.new.iter().skip(before).map(|entry| entry.id).collect();
            exchange.following.extend(follow.into_iter().map(|id| new.contains(&id).then_some(id)));
        }
        if !replies.is_empty() {
            self.send_turn(&key, number, TurnKind::Next, replies).await?;
        }
        if exchange.converged {
            self.request_bodies(&mut exchange).await?;
        }
        self.open(exchange);
        self.finish_complete().await
    }

    /// Requests the bodies of new events that this device does not have yet.
    async fn request_bodies(&mut self, exchange: &mut OpenExchange) -> Result<(), StopReason> {
        let mut seen = HashSet::new();
        exchange.new.retain(|entry| seen.insert(entry.id));
        let ids: Vec<EventId> = exchange.new.iter().map(|entry| entry.id).collect();
        let (known, ids) = self.context.engine(move |engine| Ok((engine.sync_read(|r| r.known(&ids))?, ids))).await?;
        for id in &known {
            // Another peer brought the event first, so this body is not needed any more.
            self.early_bodies.take(id);
        }
        let (mut wanted, followed) = (Vec::new(), exchange.following.iter().flatten().copied().collect::<HashSet<_>>());
        let here =
            |id: &EventId| known.contains(id) || exchange.bodies.contains_key(id) || exchange.waiting.contains(id);
        let missing: Vec<EventId> = ids.into_iter().filter(|id| !here(id)).collect();
        for id in missing {
            if followed.contains(&id) {
                exchange.waiting.insert(id);
                continue;
            }
            match self.early_bodies.take(&id) {
                Some(body) => exchange.add_body(id, Some(body)),
                None => wanted.push(id),
            }
        }
        for page in wanted.chunks(events::BODY_PAGE_SIZE) {
            self.stream.send(&Message::Want(Want { scope: exchange.key.scope.clone(), events: page.to_vec() }))?;
        }
        exchange.waiting.extend(wanted);
        Ok(())
    }

    /// Stores every exchange that has all its bodies.
    pub(super) async fn finish_complete(&mut self) -> Result<(), StopReason> {
        loop {
            let complete = |(_, open): &(&DocumentId, &OpenExchange)| open.converged && open.waiting.is_empty();
            let Some(document) = self.exchanges.iter().find(complete).map(|(id, _)| *id) else { return Ok(()) };
            if let Some(exchange) = self.exchanges.remove(&document) {
                self.finish(document, exchange).await?;
            }
        }
    }

    /// Stores events, document and peer state in one transaction, then notifies the peer.
    async fn finish(&mut self, document: DocumentId, exchange: OpenExchange) -> Result<(), StopReason> {
        let OpenExchange { number, key, fork, new, bodies, repeat_after, .. } = exchange;
        if !new.is_empty() && self.peer_only_reads() {
            // The fork is dropped, since a reader's document is not merged. It may still hold events that nobody else
            // has, from a device that was lost, or written before the peer became a reader. So its events are checked
            // one by one.
            let digest = self.theirs_of(&key).map_or_else(Default::default, |offered| offered.digest);
            if repeat_after {
                self.enqueue(key.clone());
            }
            return match self.asked_reader.insert(document, digest) {
                Some(asked) if asked == digest => Ok(()),
                _ => self.request_events(key.scope),
            };
        }
        let staged = match fork.end().await {
            Ok(staged) => staged,
            Err(error) => return self.failed(key, number, error).await,
        };
        let events = match complete(new, bodies) {
            Ok(events) => events,
            Err(reason) => return self.refuse_document(key, RejectCode::BadEvent, reason),
        };
        let changes = !events.is_empty() || staged.chunk.is_some();
        let peer = staged.peer_state.clone().map(|state| PeerDocumentState { peer: self.peer, document, state });
        let (team, from, now) = (self.team, self.peer, (self.context.engine.config().clock)());
        // An empty document gets no row. Otherwise any member could make this device store any number of them.
        let document_update = (changes || staged.summary.entries > 0).then(|| index::update(team, &key, &staged, []));
        let import = SyncImport { team, from: Some(from), events, document: document_update, peer, now };
        let scope = key.scope.clone();
        let stored = self.context.engine(move |engine| Ok(stored(engine, import, document, &scope))).await?;
        let (imported, row, chains) = match stored {
            Ok(stored) => stored,
            Err(StopReason::Reject(refused)) if refused.code != RejectCode::CannotStore => {
                return self.refuse_document(key, refused.code, refused.reason);
            }
            Err(StopReason::Stale(why)) => {
                drop(staged);
                return self.stale(key, number, why).await;
            }
            Err(other) => return Err(other),
        };
        staged.commit().await;
        self.stale.remove(&document);
        self.record_import(&imported).await?;
        if let Some(document) = row {
            // After an exchange both documents are the same.
            offer::set_document_offer(&mut self.theirs, &key.scope, document);
            offer::set_document_offer(&mut self.mine, &key.scope, document);
            offer::set_chains(&mut self.mine, &key.scope, chains);
            self.stream.send(&Message::Durable(Durable { scope: key.scope.clone(), document }))?;
        }
        if changes && !self.exchanges.is_empty() {
            // The shown progress changes while other exchanges are open. The whole offer is read again after them.
            self.compare();
        }
        if changes {
            self.changed = true;
            self.publish(imported.roster_changed, false);
        }
        if repeat_after {
            self.enqueue(key);
        }
        Ok(())
    }

    pub(super) fn theirs_of(&self, key: &DocumentKey) -> Option<&DocumentOffer> {
        offer::document_offer(&self.theirs, key)
    }

    /// Pushes new events of this device. The bodies are sent first, so that one turn is enough.
    pub(super) async fn push(&mut self, documents: Vec<(DocumentKey, Vec<EventId>)>) -> Result<(), StopReason> {
        for (key, events) in documents {
            if !self.shares(&key.scope) {
                // The scope may have been granted since the offer was read.
                self.refresh_offer().await?;
            }
            if !self.shares(&key.scope) || self.paused.contains(&key.document_id(self.team)) {
                continue;
            }
            if (1..=index::FLUSH_BATCH_SIZE).contains(&events.len()) {
                for frame in self.bodies(key.scope.clone(), events).await? {
                    self.stream.send_frame(frame)?;
                }
            }
            self.changed = true;
            self.enqueue(key);
        }
        Ok(())
    }

    /// Handles a staged document that is based on a state other than the stored one. The first time, the worker loads
    /// the document again and the exchange is repeated; the second time, the document is rebuilt.
    async fn stale(&mut self, key: DocumentKey, number: u64, why: String) -> Result<(), StopReason> {
        let document = key.document_id(self.team);
        let first = self.stale.insert(document);
        let error = if first { DocumentError::Interrupted } else { DocumentError::Corrupt { document, why } };
        self.failed(key, number, error).await
    }

    /// Handles an exchange that the worker ended.
    async fn failed(&mut self, key: DocumentKey, number: u64, error: DocumentError) -> Result<(), StopReason> {
        self.forget_following(key.document_id(self.team), Some(number));
        match error {
            DocumentError::Interrupted => {
                self.send_full_turn(&key, number, TurnKind::Aborted, Vec::new())?;
                self.enqueue(key);
                Ok(())
            }
            DocumentError::Unavailable { .. } => {
                self.problem(error.to_string(), true);
                self.send_full_turn(&key, number, TurnKind::Aborted, Vec::new())
            }
            DocumentError::Corrupt { .. } => {
                self.problem(format!("rebuilding a document of {}: {error}", key.scope), true);
                self.send_full_turn(&key, number, TurnKind::Aborted, Vec::new())?;
                index::rebuild(self.context, self.team, &key).await.map_err(StopReason::Local)?;
                self.enqueue(key);
                Ok(())
            }
            DocumentError::Violation(_) | DocumentError::Poisoned { .. } | DocumentError::TooLarge { .. } => {
                self.refuse_document(key, RejectCode::DocPoisoned, error.to_string())
            }
        }
    }

    /// Rejects a document of this peer for the rest of the session and requests its events instead; the session
    /// continues.
    pub(super) fn refuse_document(
        &mut self,
        key: DocumentKey,
        code: RejectCode,
        reason: String,
    ) -> Result<(), StopReason> {
        let document = key.document_id(self.team);
        self.problem(format!("{} of {}: {reason}", key.scope, key.month), false);
        self.stream.send(&Message::Error(Rejection { code, reason, document: Some(document) }))?;
        self.paused.insert(document);
        self.exchanges.remove(&document);
        self.forget_following(document, None);
        self.request_events(key.scope)
    }

    /// Handles a document that the peer rejected. A document that neither side has and that no exchange is about is
    /// ignored. Otherwise a peer could make this device remember any number of them.
    pub(super) fn refused_document(&mut self, document: DocumentId, refused: Rejection) -> Result<(), StopReason> {
        let known = self.exchanges.contains_key(&document)
            || [&self.mine, &self.theirs].into_iter().any(|of| offer::has_document(of, self.team, document));
        if !known {
            tracing::debug!("ignored the rejection of an unknown document");
            return Ok(());
        }
        self.paused.insert(document);
        self.forget_following(document, None);
        let open = self.exchanges.remove(&document).map(|open| open.key.scope);
        self.problem(format!("the peer rejected a document ({}): {}", refused.code, refused.reason), false);
        match open {
            Some(scope) if refused.code == RejectCode::DocPoisoned => self.request_events(scope),
            _ => Ok(()),
        }
    }
}

/// Joins events and bodies. A body whose hash differs from the one in the header is treated as forged.
fn complete(new: Vec<DocumentEntry>, mut bodies: HashMap<EventId, WireBody>) -> Result<Vec<SignedEvent>, String> {
    new.into_iter()
        .map(|entry| {
            let body = bodies.remove(&entry.id).map(SealedBody::from);
            let event =
                SignedEvent::from_parts(entry.header, entry.signature, None).map_err(|error| error.to_string())?;
            if body.as_ref().is_some_and(|body| body_hash(body) != event.header.body_hash) {
                return Err(format!("the body of event {} does not match its header", event.id.short()));
            }
            Ok(SignedEvent { body, ..event })
        })
        .collect()
}

/// Stores an exchange. Returns the stored document, and how far the chains of its scope now reach.
fn stored(
    engine: &Engine,
    import: SyncImport,
    document: DocumentId,
    scope: &Scope,
) -> Result<(SyncImported, Option<DocumentOffer>, Vec<ChainEnd>), StopReason> {
    let team = import.team;
    let imported = events::store(engine, &import)?;
    let (row, chains) = engine.sync_read(|r| Ok((r.document(&document)?, r.vector(&team, scope)?)))?;
    Ok((imported, row.and_then(|row| offer::stored_document(&row)), chains))
}
