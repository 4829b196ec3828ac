//! Messages besides those of documents and rosters: bodies of events, and whole events to repair a document.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{
    StopReason, bulk,
    exchange::TOO_MANY_BODIES,
    message_loop::SyncSession,
    step::{self, SessionStep},
};
use crate::{
    domain::{EventId, Scope, SignedEvent, event::SealedBody, replica::ChainEnd},
    engine::Engine,
    store::{SyncCursor, SyncImport, SyncImported},
    sync::frame::{self, Bodies, EventPage, Message, RejectCode, Want, WantSince, WireBody, WireEvent},
};

/// The most events in a page.
pub(super) const EVENT_PAGE_SIZE: usize = 1_000;

/// The most events whose bodies are requested or sent at once.
pub(super) const BODY_PAGE_SIZE: usize = 1_000;

/// The bytes of bodies after which a frame is sent. A single body has at most 32 KiB.
pub(super) const BODY_FRAME_BYTES: usize = 4 * 1024 * 1024;

/// The most bytes of early bodies that are kept.
const EARLY_BODY_BYTES: usize = 8 * 1024 * 1024;

/// Bodies that arrived before their events. Beyond the limit the oldest are dropped, and requested later if they are
/// needed. Bodies of events that another peer brought first are never needed.
#[derive(Default)]
pub(super) struct EarlyBodies {
    /// Each body with its key in `arrivals`.
    bodies: HashMap<EventId, (u64, WireBody)>,
    arrivals: BTreeMap<u64, EventId>,
    arrived: u64,
    bytes: usize,
}

impl EarlyBodies {
    /// Keeps a body. One that comes again is dropped, since it need not have the same size.
    fn put(&mut self, id: EventId, body: WireBody) {
        let size = size(&body);
        if self.bodies.contains_key(&id) || size > EARLY_BODY_BYTES {
            return;
        }
        while self.bytes + size > EARLY_BODY_BYTES
            && let Some(oldest) = self.arrivals.values().next().copied()
        {
            self.take(&oldest);
        }
        self.arrived += 1;
        self.arrivals.insert(self.arrived, id);
        self.bodies.insert(id, (self.arrived, body));
        self.bytes += size;
    }

    pub(super) fn take(&mut self, id: &EventId) -> Option<WireBody> {
        let (arrival, body) = self.bodies.remove(id)?;
        self.arrivals.remove(&arrival);
        self.bytes = self.bytes.saturating_sub(size(&body));
        Some(body)
    }
}

/// The request for the missing bodies of a scope, page by page, since most of them may be lost on all devices.
#[derive(Default)]
pub(super) struct BodyRequest {
    /// The last event whose body was requested; `None` at the start.
    last: Option<EventId>,
    /// Events of the page whose bodies the peer has not sent yet.
    unanswered: HashSet<EventId>,
}

/// Estimates the memory of a body, in bytes.
pub(super) fn size(body: &WireBody) -> usize {
    body.bytes.len() + 64
}

/// The most requests that a peer may have open.
const MAX_REQUESTS: usize = 256;

/// The most ends of chains in a peer's open requests, at about 100 bytes each. A team of 64 devices with ten epochs
/// each names 640 a scope.
const MAX_REQUESTED_CHAINS: usize = 100_000;

/// A response that waits until few bytes are unsent. A peer that requests much and reads nothing takes only the memory
/// of its requests.
pub(super) enum QueuedResponse {
    /// The bodies of these events.
    Bodies(Want),
    /// Whole events, from a cursor on.
    Events(QueuedEvents),
    /// The bodies that follow a turn.
    FollowingBodies(bulk::QueuedBodies),
}

/// The events of a scope that the peer lacks, and how far they were sent.
pub(super) struct QueuedEvents {
    scope: Scope,
    known: Vec<ChainEnd>,
    cursor: Option<SyncCursor>,
}

impl SyncSession<'_> {
    /// Queues the bodies that the peer requested, if it may read the scope.
    pub(super) fn queue_bodies(&mut self, want: Want) -> Result<(), StopReason> {
        if want.events.len() > BODY_PAGE_SIZE {
            return Err(StopReason::reject(
                RejectCode::TooBig,
                format!("the rejected device requested {} texts at once; at most {BODY_PAGE_SIZE}", want.events.len()),
            ));
        }
        if !self.shares(&want.scope) {
            return Err(StopReason::reject(
                RejectCode::NotPaired,
                "the rejected device requested a scope that is not granted to it",
            ));
        }
        self.queue_response(QueuedResponse::Bodies(want))
    }

    fn queue_response(&mut self, response: QueuedResponse) -> Result<(), StopReason> {
        if self.responses.len() >= MAX_REQUESTS {
            return Err(StopReason::reject(RejectCode::TooBig, format!("more than {MAX_REQUESTS} requests at once")));
        }
        self.responses.push_back(response);
        Ok(())
    }

    /// Returns the bodies of events of a scope as frames.
    pub(super) async fn bodies(&self, scope: Scope, ids: Vec<EventId>) -> Result<Vec<Vec<u8>>, StopReason> {
        let team = self.team;
        let frames = self.context.engine(move |engine| {
            let mut frames = Vec::new();
            let mut rest = bodies_of(engine, team, &scope, ids)?.into_iter().peekable();
            while rest.peek().is_some() {
                let (mut bodies, mut bytes) = (Vec::new(), 0);
                while bytes < BODY_FRAME_BYTES
                    && let Some((id, body)) = rest.next()
                {
                    bytes += body.as_ref().map_or(64, size);
                    bodies.push((id, body));
                }
                frames.push(frame::encode(&Message::Bodies(Bodies { scope: scope.clone(), bodies })));
            }
            Ok(frames)
        });
        let frames: Result<Vec<_>, _> = frames.await?.into_iter().collect();
        frames.map_err(|error| StopReason::Local(error.to_string()))
    }

    /// Hands bodies to the exchanges that wait for them, and keeps those that arrived early.
    pub(super) async fn receive_bodies(&mut self, bodies: Bodies) -> Result<(), StopReason> {
        let (mut late, mut too_big) = (Vec::new(), None);
        let mut request = self.requested_bodies.remove(&bodies.scope);
        let was_open = request.as_ref().is_some_and(|request| !request.unanswered.is_empty());
        for (id, body) in bodies.bodies {
            let requested = request.as_mut().is_some_and(|request| request.unanswered.remove(&id));
            let waiting = self.exchanges.values_mut().find(|exchange| exchange.waits_for(&id));
            match (waiting, body) {
                (Some(exchange), body) => {
                    exchange.add_body(id, body);
                    too_big = too_big.or_else(|| exchange.too_big());
                }
                (None, Some(body)) if requested => late.push((id, body)),
                (None, Some(body)) => self.early_bodies.put(id, body),
                (None, None) => {}
            }
        }
        if let Some(key) = too_big {
            self.refuse_document(key, RejectCode::TooBig, TOO_MANY_BODIES.to_owned())?;
        }
        self.fill(bodies.scope.clone(), late).await?;
        if let Some(request) = request {
            let answered = was_open && request.unanswered.is_empty();
            self.requested_bodies.insert(bodies.scope.clone(), request);
            if answered {
                self.request_bodies_page(bodies.scope).await?;
            }
        }
        self.finish_complete().await
    }

    /// Stores bodies of events that are already in the store.
    async fn fill(&mut self, scope: Scope, bodies: Vec<(EventId, WireBody)>) -> Result<(), StopReason> {
        if bodies.is_empty() {
            return Ok(());
        }
        let team = self.team;
        let events = self.context.engine(move |engine| fill_bodies(engine, team, &scope, bodies)).await?;
        let imported = self.import(events).await?;
        self.changed = true;
        if !imported.stored.is_empty() {
            self.publish_bodies();
        }
        Ok(())
    }

    /// Requests the bodies that this device lacks although they were not redacted: all of them after each offer, since
    /// the peer may have received some in the meantime.
    pub(super) async fn request_missing_bodies(&mut self) -> Result<(), StopReason> {
        for scope in self.mine.scopes.iter().map(|offer| offer.scope.clone()).collect::<Vec<_>>() {
            let request = self.requested_bodies.entry(scope.clone()).or_default();
            request.last = None;
            // If a page is open, its answer continues from the start.
            if request.unanswered.is_empty() {
                self.request_bodies_page(scope).await?;
            }
        }
        Ok(())
    }

    /// Requests the next page of the missing bodies of a scope.
    async fn request_bodies_page(&mut self, scope: Scope) -> Result<(), StopReason> {
        let Some(request) = self.requested_bodies.get_mut(&scope) else { return Ok(()) };
        let (team, of, last) = (self.team, scope.clone(), request.last);
        let missing = self
            .context
            .engine(move |engine| engine.sync_read(|r| r.missing_bodies(&team, &of, last.as_ref(), BODY_PAGE_SIZE)));
        let events = missing.await?;
        request.last = events.last().copied();
        request.unanswered = events.iter().copied().collect();
        if events.is_empty() {
            self.requested_bodies.remove(&scope);
            return Ok(());
        }
        Ok(self.stream.send(&Message::Want(Want { scope, events }))?)
    }

    /// Queues the events that the peer requested, if it may read the scope.
    pub(super) fn queue_events(&mut self, want: WantSince) -> Result<(), StopReason> {
        if !self.shares(&want.scope) {
            return Err(StopReason::reject(
                RejectCode::NotPaired,
                "the rejected device requested a scope that is not granted to it",
            ));
        }
        let open = self.responses.iter().map(|response| match response {
            QueuedResponse::Events(queued) => queued.known.len(),
            _ => 0,
        });
        if open.sum::<usize>() + want.chains.len() > MAX_REQUESTED_CHAINS {
            let reason = format!("the requests name more than {MAX_REQUESTED_CHAINS} chains at once");
            return Err(StopReason::reject(RejectCode::TooBig, reason));
        }
        self.queue_response(QueuedResponse::Events(QueuedEvents {
            scope: want.scope,
            known: want.chains,
            cursor: None,
        }))
    }

    /// Sends queued responses while the queue of outgoing bytes is short.
    pub(super) async fn send_responses(&mut self) -> Result<(), StopReason> {
        while self.stream.unsent() < self.context.limits.queue
            && let Some(response) = self.responses.pop_front()
        {
            match response {
                QueuedResponse::Bodies(want) => {
                    for frame in self.bodies(want.scope, want.events).await? {
                        self.stream.send_frame(frame)?;
                    }
                }
                QueuedResponse::Events(queued) => self.send_page(queued).await?,
                QueuedResponse::FollowingBodies(rest) => self.send_following(rest).await?,
            }
        }
        Ok(())
    }

    async fn send_page(&mut self, mut queued: QueuedEvents) -> Result<(), StopReason> {
        let team = self.team;
        let sent = self.context.engine(move |engine| {
            let QueuedEvents { scope, known, cursor } = &queued;
            let page = engine.sync_read(|r| r.events_after(&team, scope, known, cursor.as_ref(), EVENT_PAGE_SIZE))?;
            let last = page.next.is_none();
            queued.cursor = page.next;
            let events = EventPage { scope: Some(queued.scope.clone()), events: wire_events(&page.events), last };
            Ok((queued, frame::encode(&Message::Events(events))))
        });
        let (queued, frame) = sent.await?;
        self.stream.send_frame(frame.map_err(|error| StopReason::Local(error.to_string()))?)?;
        if queued.cursor.is_some() {
            self.responses.push_front(QueuedResponse::Events(queued));
        }
        Ok(())
    }

    /// Requests the events of each scope with a document that the two cannot merge.
    pub(super) fn request_paused(&mut self) -> Result<(), StopReason> {
        let differing = super::offer::differing(&self.mine, &self.theirs);
        let scopes: HashSet<Scope> = differing
            .into_iter()
            .filter(|key| self.paused.contains(&key.document_id(self.team)))
            .map(|key| key.scope)
            .collect();
        for scope in scopes {
            self.request_events(scope)?;
        }
        Ok(())
    }

    /// Requests the events of a scope that this device lacks.
    pub(super) fn request_events(&mut self, scope: Scope) -> Result<(), StopReason> {
        if self.requested_scopes.contains(&scope) {
            return Ok(());
        }
        let Some(mine) = self.mine.scopes.iter().find(|offer| offer.scope == scope) else { return Ok(()) };
        let message = Message::WantSince(WantSince { scope: scope.clone(), chains: mine.chains.clone() });
        self.start_waiting();
        self.requested_scopes.insert(scope);
        Ok(self.stream.send(&message)?)
    }

    /// Stores events that were requested.
    pub(super) async fn receive_events(&mut self, page: EventPage) -> Result<(), StopReason> {
        let Some(scope) = page.scope.filter(|scope| self.requested_scopes.contains(scope)) else {
            return Err(StopReason::reject(RejectCode::Version, "events were sent that nobody requested"));
        };
        let events = into_events(page.events)?;
        if events.iter().any(|event| event.header.scope != scope) {
            return Err(StopReason::reject(RejectCode::BadEvent, "an event was sent of another scope than requested"));
        }
        if page.last {
            self.requested_scopes.remove(&scope);
        }
        let imported = self.import(events).await?;
        if !imported.stored.is_empty() || !imported.quarantined.is_empty() {
            self.changed = true;
            self.publish(false, true);
        }
        Ok(())
    }

    /// Stores events in one transaction. A forged event rejects the peer.
    pub(super) async fn import(&mut self, events: Vec<SignedEvent>) -> Result<SyncImported, StopReason> {
        let now = (self.context.engine.config().clock)();
        let import = SyncImport { team: self.team, from: Some(self.peer), events, document: None, peer: None, now };
        let imported = self.context.engine(move |engine| Ok(store(engine, &import))).await??;
        self.record_import(&imported).await?;
        Ok(imported)
    }

    /// Counts an import in the view. Ends the session if the peer has now brought too many events that the team does
    /// not accept.
    pub(super) async fn record_import(&mut self, imported: &SyncImported) -> Result<(), StopReason> {
        self.record_progress();
        self.offer_again = true;
        let (stored, quarantined) = (imported.stored.len() as u64, imported.quarantined.len() as u64);
        self.view.send_modify(|view| {
            view.received += stored;
            view.quarantined += quarantined;
        });
        if imported.quarantined.is_empty() { Ok(()) } else { self.pause_if_over_limit().await }
    }

    /// Rejects a peer that has too many events in quarantine, until a person has reviewed them.
    pub(super) async fn pause_if_over_limit(&self) -> Result<(), StopReason> {
        let (team, peer) = (self.team, self.peer);
        let waiting = self.context.engine(move |engine| engine.sync_read(|r| r.quarantined_by(&team)));
        let waiting = waiting.await?.get(&Some(peer)).copied().unwrap_or_default();
        if waiting < self.context.limits.quarantined {
            return Ok(());
        }
        let reason = format!(
            "{waiting} events from your device are in quarantine here, which is the limit: a person has to review them"
        );
        Err(StopReason::reject(RejectCode::Paused, reason))
    }
}

/// Returns the bodies of events of a scope, one entry for each id and in order, so that the peer never waits for a
/// missing one.
pub(super) fn bodies_of(
    engine: &Engine,
    team: EventId,
    scope: &Scope,
    ids: Vec<EventId>,
) -> Result<Vec<(EventId, Option<WireBody>)>, crate::api::ApiError> {
    let found = engine.sync_read(|r| r.bodies(&team, scope, &ids))?;
    let mut found: HashMap<EventId, Option<WireBody>> = found
        .into_iter()
        .map(|(id, body)| (id, body.map(|SealedBody { salt, bytes }| WireBody { salt, bytes })))
        .collect();
    Ok(ids.into_iter().map(|id| (id, found.remove(&id).flatten())).collect())
}

/// Stores an import in whole or not at all. The store verifies each event. If it fails, this finds out whether one was
/// forged.
pub(super) fn store(engine: &Engine, import: &SyncImport) -> Result<SyncImported, StopReason> {
    step::at(SessionStep::Store);
    let stored = engine.import_synced(import);
    step::at(SessionStep::Stored);
    stored.map_err(|error| match import.events.iter().find_map(|event| event.verify().err()) {
        Some(forged) => StopReason::reject(RejectCode::BadEvent, forged.to_string()),
        None => error.into(),
    })
}

/// Returns the stored events that these bodies belong to, with their bodies.
fn fill_bodies(
    engine: &Engine,
    team: EventId,
    scope: &Scope,
    bodies: Vec<(EventId, WireBody)>,
) -> Result<Vec<SignedEvent>, crate::api::ApiError> {
    let ids: Vec<EventId> = bodies.iter().map(|(id, _)| *id).collect();
    let mut bodies: HashMap<EventId, WireBody> = bodies.into_iter().collect();
    let stored = engine.sync_read(|r| r.events_named(&team, scope, &ids))?;
    Ok(stored
        .into_iter()
        .filter_map(|event| {
            let body = bodies.remove(&event.id)?.into();
            Some(SignedEvent { body: Some(body), ..event })
        })
        .collect())
}

pub(super) fn wire_events(events: &[SignedEvent]) -> Vec<WireEvent> {
    events.iter().map(WireEvent::from).collect()
}

pub(super) fn into_events(events: Vec<WireEvent>) -> Result<Vec<SignedEvent>, StopReason> {
    events
        .into_iter()
        .map(|event| event.into_event().map_err(|error| StopReason::reject(RejectCode::BadEvent, error.to_string())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_that_came_early_stay_within_their_limit() {
        let body = |size: usize| WireBody { salt: [0; 16], bytes: vec![0; size] };
        let id = |n: u8| EventId([n; 32]);
        let mut early = EarlyBodies::default();
        early.put(id(1), body(10));
        // Another of the same name takes no more room, however large it is.
        early.put(id(1), body(EARLY_BODY_BYTES / 2));
        assert_eq!((early.bytes, early.bodies.len()), (size(&body(10)), 1));
        early.put(id(2), body(EARLY_BODY_BYTES));
        assert!(early.take(&id(2)).is_none(), "there is no room for it");
        assert_eq!(early.take(&id(1)).map(|body| body.bytes.len()), Some(10));
        assert_eq!((early.bytes, early.arrivals.len()), (0, 0));
    }

    #[test]
    fn the_oldest_early_bodies_make_room_for_new_ones() {
        let mut early = EarlyBodies::default();
        let third = WireBody { salt: [0; 16], bytes: vec![0; EARLY_BODY_BYTES / 3 - 64] };
        for n in 1..=5 {
            early.put(EventId([n; 32]), third.clone());
        }
        let kept: Vec<bool> = (1..=5).map(|n| early.take(&EventId([n; 32])).is_some()).collect();
        assert_eq!(kept, [false, false, true, true, true]);
        assert_eq!((early.bytes, early.arrivals.len()), (0, 0));
    }
}
