//! The reconciliation of one document: turns on a fork in the worker, then the bodies, then one transaction.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{
    Place, Side, Stop,
    live::Session,
    plain::{self, Owed},
};
use crate::{
    domain::{
        EventId, SignedEvent,
        event::{SealedBody, body_hash},
        replica::DocumentId,
    },
    engine::Engine,
    store::{PeerDocument, SyncImport, SyncImported},
    sync::{
        document::Entry,
        frame::{Body, Code, DocMessage, DocOffer, Durable, Message, Refused, Turn, Want},
        index,
        worker::{self, DocumentError},
    },
};

/// Exchanges that a peer may have open at once, beside those that this side began.
const MAX_OPEN: usize = 32;

/// Events that one exchange may bring: the hard limit of a document.
const MAX_NEW: usize = crate::sync::document::HARD_ENTRIES;

/// Bytes of bodies that one exchange may bring: they are in memory until all of it is stored. More comes plain, page by page.
const MAX_BODIES: usize = 128 * 1024 * 1024;

/// What is said where an exchange would bring more than that.
pub(super) const TOO_MANY_BODIES: &str = "more bodies than one exchange may hold: they come plain";

/// One document under reconciliation.
pub(super) struct Exchange {
    number: u64,
    place: Place,
    /// This side began it.
    mine: bool,
    fork: worker::Session,
    /// What came that this document did not have.
    new: Vec<Entry>,
    /// Of these the bodies are on their way.
    waiting: HashSet<EventId>,
    /// Bodies that the peer sends unasked, in this order; `None` where the entry is not new.
    follows: VecDeque<Option<EventId>>,
    bodies: HashMap<EventId, Body>,
    body_bytes: usize,
    converged: bool,
    /// The document changed here meanwhile: once more, afterwards.
    again: bool,
}

impl Exchange {
    /// Whether it has this number.
    pub(super) fn is(&self, number: u64) -> bool {
        self.number == number
    }

    /// Takes the next bodies that the peer sends unasked; `false` where there are more than it announced.
    pub(super) fn take_following(&mut self, bodies: Vec<Option<Body>>) -> bool {
        bodies.into_iter().all(|body| {
            let next = self.follows.pop_front();
            if let Some(Some(id)) = next {
                self.take_body(id, body);
            }
            next.is_some()
        })
    }

    /// Whether it waits for this body.
    pub(super) fn waits_for(&self, id: &EventId) -> bool {
        self.waiting.contains(id)
    }

    /// Takes a body, or the word that there is none.
    pub(super) fn take_body(&mut self, id: EventId, body: Option<Body>) {
        self.waiting.remove(&id);
        if let Some(body) = body {
            self.body_bytes += plain::size(&body);
            self.bodies.insert(id, body);
        }
    }

    /// The document, where more came with it than one transaction may hold.
    pub(super) fn too_big(&self) -> Option<Place> {
        (self.body_bytes > MAX_BODIES).then(|| self.place.clone())
    }
}

impl Session<'_> {
    /// Puts a document in line for its exchange.
    pub(super) fn enqueue(&mut self, place: Place) {
        let document = place.document(self.team);
        if self.paused.contains(&document) || !self.shares(&place.scope) || self.queue.contains(&place) {
            return;
        }
        match self.exchanges.get_mut(&document) {
            Some(open) => open.again = true,
            None => self.queue.push_back(place),
        }
    }

    /// Begins what is in line, as far as there is room.
    pub(super) async fn begin_queued(&mut self) -> Result<(), Stop> {
        while self.exchanges.len() < self.context.limits.exchanges
            && let Some(place) = self.queue.pop_front()
        {
            let number = self.next_exchange;
            self.next_exchange += 2;
            if let Some((exchange, first)) = self.begin(place.clone(), number, true).await? {
                self.speak(&place, number, Turn::First, first.into_iter().collect()).await?;
                self.open(exchange);
            }
        }
        Ok(())
    }

    fn open(&mut self, exchange: Exchange) {
        self.begins_to_wait();
        self.exchanges.insert(exchange.place.document(self.team), exchange);
    }

    async fn begin(
        &mut self,
        place: Place,
        number: u64,
        mine: bool,
    ) -> Result<Option<(Exchange, Option<Vec<u8>>)>, Stop> {
        let (document, peer) = (place.document(self.team), self.peer);
        let state = self.context.engine(move |engine| engine.sync_read(|r| r.peer_document(&peer, &document))).await?;
        match self.context.documents.begin(document, state.map(|state| state.state), mine).await {
            Ok((fork, first)) => {
                let exchange = Exchange {
                    number,
                    place,
                    mine,
                    fork,
                    new: Vec::new(),
                    waiting: HashSet::new(),
                    follows: VecDeque::new(),
                    bodies: HashMap::new(),
                    body_bytes: 0,
                    converged: false,
                    again: false,
                };
                Ok(Some((exchange, first)))
            }
            Err(error) => {
                self.failed(place, number, error).await?;
                Ok(None)
            }
        }
    }

    /// Says a turn as it is.
    pub(super) fn say_at(&self, place: &Place, exchange: u64, turn: Turn, messages: Vec<Vec<u8>>) -> Result<(), Stop> {
        let Place { scope, month, part } = place.clone();
        let messages = messages.into_iter().map(Into::into).collect();
        Ok(self.wire.send(&Message::Doc(DocMessage { scope, month, part, exchange, turn, messages }))?)
    }

    /// A turn of the peer, and the entries whose bodies follow it.
    pub(super) async fn take_doc(&mut self, message: DocMessage, follow: Vec<EventId>) -> Result<(), Stop> {
        let DocMessage { scope, month, part, exchange: number, turn, messages } = message;
        let place = Place { scope, month, part };
        let document = place.document(self.team);
        if turn == Turn::Dropped {
            self.forget_following(&place, Some(number));
            let given_up = self.exchanges.get(&document).is_some_and(|open| open.number == number);
            if given_up
                && let Some(open) = self.exchanges.remove(&document)
                && open.again
            {
                self.enqueue(place);
            }
            return Ok(());
        }
        if turn == Turn::First && !self.admit(&place, number)? {
            return Ok(());
        }
        let mut exchange = match self.exchanges.remove(&document) {
            Some(open) if open.number == number => open,
            // Of an exchange that is over on this side: it said all that it had to.
            Some(other) => {
                self.exchanges.insert(document, other);
                return Ok(());
            }
            None if turn == Turn::First => match self.begin(place.clone(), number, false).await? {
                Some((begun, _)) => begun,
                None => return Ok(()),
            },
            None => return Ok(()),
        };
        let (mut replies, before) = (Vec::new(), exchange.new.len());
        for message in messages {
            match exchange.fork.message(message.into()).await {
                Ok(step) => {
                    exchange.new.extend(step.new);
                    exchange.converged |= step.converged;
                    replies.extend(step.reply);
                }
                Err(error) => return self.failed(place, number, error).await,
            }
        }
        if exchange.new.len() > MAX_NEW {
            let words = format!("a document with more than {MAX_NEW} new events");
            return self.failed(place, number, DocumentError::TooLarge { why: words }).await;
        }
        if !follow.is_empty() {
            let new: HashSet<EventId> = exchange.new.iter().skip(before).map(|entry| entry.id).collect();
            exchange.follows.extend(follow.into_iter().map(|id| new.contains(&id).then_some(id)));
        }
        if !replies.is_empty() {
            self.speak(&place, number, Turn::Next, replies).await?;
        }
        if exchange.converged {
            self.want_bodies(&mut exchange).await?;
        }
        self.open(exchange);
        self.finish_complete().await
    }

    /// Whether an exchange that the peer begins is taken up.
    fn admit(&mut self, place: &Place, number: u64) -> Result<bool, Stop> {
        let document = place.document(self.team);
        if !self.shares(&place.scope) {
            let words = format!("{} is not shared with your device", place.scope);
            self.wire.send(&Message::Error(Refused { code: Code::RosterStale, words, document: Some(document) }))?;
            return Ok(false);
        }
        if self.paused.contains(&document) || self.exchanges.len() >= MAX_OPEN + self.context.limits.exchanges {
            self.say_at(place, number, Turn::Dropped, Vec::new())?;
            return Ok(false);
        }
        // Both began at the same time: the dialler's goes on.
        let mut again = false;
        if let Some(open) = self.exchanges.get(&document) {
            if open.mine && self.side == Side::Dialler {
                return Ok(false);
            }
            again = open.again || open.mine;
        }
        if let Some(open) = self.exchanges.remove(&document)
            && again
        {
            drop(open);
            // What this side wanted to say goes with the peer's exchange, as it starts from the document as it is now.
            self.queue.retain(|queued| queued != place);
        }
        Ok(true)
    }

    /// Asks for the bodies of what came, except for events that are here already.
    async fn want_bodies(&mut self, exchange: &mut Exchange) -> Result<(), Stop> {
        let mut seen = HashSet::new();
        exchange.new.retain(|entry| seen.insert(entry.id));
        let ids: Vec<EventId> = exchange.new.iter().map(|entry| entry.id).collect();
        let (known, ids) = self.context.engine(move |engine| Ok((engine.sync_read(|r| r.known(&ids))?, ids))).await?;
        let (mut wanted, followed) = (Vec::new(), exchange.follows.iter().flatten().copied().collect::<HashSet<_>>());
        let here = |id: &EventId| known.contains(id) || exchange.bodies.contains_key(id);
        let missing: Vec<EventId> = ids.into_iter().filter(|id| !here(id)).collect();
        for id in missing {
            if followed.contains(&id) {
                exchange.waiting.insert(id);
                continue;
            }
            match self.stash.take(&id) {
                Some(body) => drop(exchange.bodies.insert(id, body)),
                None => wanted.push(id),
            }
        }
        for page in wanted.chunks(plain::BODIES) {
            self.wire.send(&Message::Want(Want { scope: exchange.place.scope.clone(), events: page.to_vec() }))?;
        }
        exchange.waiting.extend(wanted);
        Ok(())
    }

    /// Stores what has all that it waited for.
    pub(super) async fn finish_complete(&mut self) -> Result<(), Stop> {
        loop {
            let complete = |(_, open): &(&DocumentId, &Exchange)| open.converged && open.waiting.is_empty();
            let Some(document) = self.exchanges.iter().find(complete).map(|(id, _)| *id) else { return Ok(()) };
            if let Some(exchange) = self.exchanges.remove(&document) {
                self.finish(document, exchange).await?;
            }
        }
    }

    /// One transaction: events, document, and what the peer is known to have. Then the peer is told.
    async fn finish(&mut self, document: DocumentId, exchange: Exchange) -> Result<(), Stop> {
        let Exchange { number, place, fork, new, bodies, again, .. } = exchange;
        if !new.is_empty() && self.peer_only_reads() {
            // The fork is dropped: a reader changes nothing here.
            let offered = self.theirs.scopes.iter().find(|offer| offer.scope == place.scope);
            let offered =
                offered.and_then(|o| o.documents.iter().find(|d| (d.month, d.part) == (place.month, place.part)));
            if let Some(offered) = offered {
                self.left_aside.insert(document, offered.digest);
            }
            return Ok(());
        }
        let staged = match fork.end().await {
            Ok(staged) => staged,
            Err(error) => return self.failed(place, number, error).await,
        };
        let events = match complete(new, bodies) {
            Ok(events) => events,
            Err(words) => return self.refuse_document(place, Code::BadEvent, words),
        };
        let changes = !events.is_empty() || staged.chunk.is_some();
        let digest = self.theirs_of(&place).map_or_else(Default::default, |offered| offered.digest);
        let peer = staged.peer_state.clone().map(|state| PeerDocument { peer: self.peer, document, state, digest });
        let (team, from, now) = (self.team, self.peer, (self.context.engine.config().clock)());
        let update = index::update(team, &place, &staged, []);
        let import = SyncImport { team, from: Some(from), events, document: Some(update), peer, now };
        let stored = self.context.engine(move |engine| Ok(stored(engine, import, document))).await?;
        let (imported, row) = match stored {
            Ok(stored) => stored,
            Err(Stop::Refuse(refused)) if refused.code != Code::CannotStore => {
                return self.refuse_document(place, refused.code, refused.words);
            }
            Err(Stop::Stale(why)) => {
                drop(staged);
                return self.stale(place, number, why).await;
            }
            Err(other) => return Err(other),
        };
        staged.commit().await;
        self.stale.remove(&document);
        self.counted(&imported).await?;
        if let Some(document) = row {
            // After an exchange both documents are the same.
            super::offer::note(&mut self.theirs, &place.scope, document);
            super::offer::note(&mut self.mine, &place.scope, document);
            self.wire.send(&Message::Durable(Durable { scope: place.scope.clone(), document }))?;
        }
        if changes && !self.exchanges.is_empty() {
            // More is under way: how far it has come is shown.
            self.look().await?;
        }
        if changes {
            self.changed = true;
            self.tell(imported.roster_changed, false);
        }
        if again {
            self.enqueue(place);
        }
        Ok(())
    }

    fn theirs_of(&self, place: &Place) -> Option<&DocOffer> {
        let offer = self.theirs.scopes.iter().find(|offer| offer.scope == place.scope)?;
        offer.documents.iter().find(|document| (document.month, document.part) == (place.month, place.part))
    }

    /// Pushes this device's new events: the bodies ahead, so that one turn is enough.
    pub(super) async fn push(&mut self, documents: Vec<(Place, Vec<EventId>)>) -> Result<(), Stop> {
        for (place, events) in documents {
            if !self.shares(&place.scope) {
                // It may be granted since this side last looked.
                self.look().await?;
            }
            if !self.shares(&place.scope) || self.paused.contains(&place.document(self.team)) {
                continue;
            }
            if (1..=index::BATCH).contains(&events.len()) {
                for frame in self.bodies(place.scope.clone(), events).await? {
                    self.wire.send_frame(frame)?;
                }
            }
            self.changed = true;
            self.enqueue(place);
        }
        Ok(())
    }

    /// A document is not what this side took it for. The worker reads it anew, and the two begin again; what does not agree with itself
    /// even then is made anew.
    async fn stale(&mut self, place: Place, number: u64, why: String) -> Result<(), Stop> {
        let document = place.document(self.team);
        let first = self.stale.insert(document);
        let error = if first { DocumentError::Interrupted } else { DocumentError::Broken { document, why } };
        self.failed(place, number, error).await
    }

    /// The worker, or its rules, put an end to an exchange.
    async fn failed(&mut self, place: Place, number: u64, error: DocumentError) -> Result<(), Stop> {
        self.forget_following(&place, Some(number));
        match error {
            DocumentError::Interrupted => {
                self.say_at(&place, number, Turn::Dropped, Vec::new())?;
                self.enqueue(place);
                Ok(())
            }
            DocumentError::Unavailable { .. } => {
                self.trouble(error.to_string());
                self.say_at(&place, number, Turn::Dropped, Vec::new())
            }
            DocumentError::Broken { .. } => {
                self.trouble(format!("a document of {} is made anew: {error}", place.scope));
                self.say_at(&place, number, Turn::Dropped, Vec::new())?;
                index::rebuild(self.context, self.team, &place).await.map_err(Stop::Here)?;
                self.enqueue(place);
                Ok(())
            }
            DocumentError::Violation(_) | DocumentError::Poisoned { .. } | DocumentError::TooLarge { .. } => {
                self.refuse_document(place, Code::DocPoisoned, error.to_string())
            }
        }
    }

    /// Refuses a document of this peer for this session, and asks for its events instead; the session goes on.
    pub(super) fn refuse_document(&mut self, place: Place, code: Code, words: String) -> Result<(), Stop> {
        let document = place.document(self.team);
        self.trouble(format!("{} of {}: {words}", place.scope, place.month));
        self.wire.send(&Message::Error(Refused { code, words, document: Some(document) }))?;
        self.paused.insert(document);
        self.exchanges.remove(&document);
        self.want_since(place.scope)
    }

    /// The peer refuses a document.
    pub(super) fn refused_document(&mut self, document: DocumentId, refused: Refused) -> Result<(), Stop> {
        self.paused.insert(document);
        let team = self.team;
        self.owed.retain(|owed| !matches!(owed, Owed::Following(rest) if rest.place.document(team) == document));
        let open = self.exchanges.remove(&document).map(|open| open.place.scope);
        self.trouble(format!("the peer refuses a document ({}): {}", refused.code, refused.words));
        match open {
            Some(scope) if refused.code == Code::DocPoisoned => self.want_since(scope),
            _ => Ok(()),
        }
    }
}

/// The events with their bodies. A body that is not the one that its header names is as good as forged.
fn complete(new: Vec<Entry>, mut bodies: HashMap<EventId, Body>) -> Result<Vec<SignedEvent>, String> {
    new.into_iter()
        .map(|entry| {
            let body = bodies.remove(&entry.id).map(SealedBody::from);
            let event =
                SignedEvent::from_parts(entry.header, entry.signature, None).map_err(|error| error.to_string())?;
            if body.as_ref().is_some_and(|body| body_hash(body) != event.header.body_hash) {
                return Err(format!("the body of event {} is not its own", event.id.short()));
            }
            Ok(SignedEvent { body, ..event })
        })
        .collect()
}

fn stored(engine: &Engine, import: SyncImport, document: DocumentId) -> Result<(SyncImported, Option<DocOffer>), Stop> {
    let imported = plain::store(engine, import)?;
    let row = engine.sync_read(|r| r.document(&document))?;
    Ok((imported, row.and_then(|row| index::offered(&row))))
}
