//! What goes plain, beside the documents: the roster, bodies, and events for repair.

use std::collections::{HashMap, HashSet};

use super::{
    Stop,
    exchange::TOO_MANY_BODIES,
    following,
    live::Session,
    step::{self, Step},
};
use crate::{
    domain::{EventId, Scope, SignedEvent, event::SealedBody, replica::ChainEnd},
    engine::Engine,
    store::{SyncCursor, SyncImport, SyncImported},
    sync::frame::{self, Bodies, Body, Code, Events, Message, Want, WantSince, WireEvent},
};

/// Events in a page.
const PAGE: usize = 1_000;

/// Events whose bodies are asked for, or given, at once.
pub(super) const BODIES: usize = 1_000;

/// Bytes of bodies in a frame; a single body is at most 32 KiB.
pub(super) const FRAME_BYTES: usize = 4 * 1024 * 1024;

/// Bytes of bodies kept that came ahead of their events.
const STASH_BYTES: usize = 8 * 1024 * 1024;

/// Bodies that came ahead of their events, as many as there is room for.
#[derive(Default)]
pub(super) struct Stash {
    bodies: HashMap<EventId, Body>,
    bytes: usize,
}

impl Stash {
    fn put(&mut self, id: EventId, body: Body) {
        let size = size(&body);
        if self.bytes + size <= STASH_BYTES && self.bodies.insert(id, body).is_none() {
            self.bytes += size;
        }
    }

    pub(super) fn take(&mut self, id: &EventId) -> Option<Body> {
        let body = self.bodies.remove(id)?;
        self.bytes = self.bytes.saturating_sub(size(&body));
        Some(body)
    }
}

/// What a body takes in memory, about, in bytes.
pub(super) fn size(body: &Body) -> usize {
    body.bytes.len() + 64
}

/// Requests that one peer may have open.
const MAX_REQUESTS: usize = 256;

/// What the peer asked for and has not been sent yet. It waits here while much waits to be sent already, so that a peer that
/// asks and does not read costs no memory.
pub(super) enum Owed {
    /// Bodies.
    Bodies(Want),
    /// Plain events, as far as they were sent.
    Since(Pages),
    /// Bodies of a turn that was sent.
    Following(following::Rest),
}

/// Plain events of a scope beyond a vector.
pub(super) struct Pages {
    scope: Scope,
    known: Vec<ChainEnd>,
    cursor: Option<SyncCursor>,
}

impl Session<'_> {
    /// Sends the roster events that the peer lacks.
    pub(super) async fn send_roster(&mut self) -> Result<(), Stop> {
        let (team, known) = (self.team, self.their_roster.clone());
        let (frames, vector) = self
            .context
            .engine(move |engine| {
                let Some(roster) = engine.sync_read(|r| r.roster(&team))? else { return Ok((Vec::new(), Vec::new())) };
                let (mut frames, mut cursor) = (Vec::new(), None);
                loop {
                    let page =
                        engine.sync_read(|r| r.events_after(&team, roster.scope(), &known, cursor.as_ref(), PAGE))?;
                    let last = page.next.is_none();
                    frames.push(Message::Roster(Events { events: wire(&page.events), last, scope: None }));
                    match page.next {
                        Some(next) => cursor = Some(next),
                        None => break,
                    }
                }
                Ok((frames, engine.sync_read(|r| r.vector(&team, roster.scope()))?))
            })
            .await?;
        if frames.is_empty() {
            return Err(Stop::Here("the team's roster is gone".to_owned()));
        }
        for message in &frames {
            self.wire.send(message)?;
        }
        self.their_roster = vector;
        Ok(())
    }

    /// Stores roster events that the peer sent.
    pub(super) async fn take_roster(&mut self, page: Events) -> Result<(), Stop> {
        if page.events.is_empty() {
            return Ok(());
        }
        let events = read(page.events)?;
        if events.iter().any(|event| event.header.scope.org_id != crate::domain::roster::ORG) {
            return Err(Stop::refuse(Code::BadEvent, "ROSTER holds an event that is not of a roster"));
        }
        let imported = self.import(events).await?;
        if imported.roster_changed || !imported.stored.is_empty() {
            self.changed = true;
            self.tell(true, true);
        }
        Ok(())
    }

    /// Will give the bodies that the peer asked for, of a scope that it may read.
    pub(super) fn give_bodies(&mut self, want: Want) -> Result<(), Stop> {
        if want.events.len() > BODIES {
            return Err(Stop::refuse(
                Code::TooBig,
                format!("WANT names {} events; at most {BODIES}", want.events.len()),
            ));
        }
        if !self.shares(&want.scope) {
            return Err(Stop::refuse(Code::NotPaired, "WANT names a scope that is not granted to your device"));
        }
        self.owe(Owed::Bodies(want))
    }

    fn owe(&mut self, owed: Owed) -> Result<(), Stop> {
        if self.owed.len() >= MAX_REQUESTS {
            return Err(Stop::refuse(Code::TooBig, format!("more than {MAX_REQUESTS} requests at once")));
        }
        self.owed.push_back(owed);
        Ok(())
    }

    /// Bodies of events of a scope, as frames.
    pub(super) async fn bodies(&self, scope: Scope, ids: Vec<EventId>) -> Result<Vec<Vec<u8>>, Stop> {
        let team = self.team;
        let frames = self.context.engine(move |engine| {
            let mut frames = Vec::new();
            let mut rest = bodies_of(engine, team, &scope, ids)?.into_iter().peekable();
            while rest.peek().is_some() {
                let (mut bodies, mut bytes) = (Vec::new(), 0);
                while bytes < FRAME_BYTES
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
        frames.map_err(|error| Stop::Here(error.to_string()))
    }

    /// Keeps bodies for their exchanges; those that came ahead wait in the stash, while there is room.
    pub(super) async fn take_bodies(&mut self, bodies: Bodies) -> Result<(), Stop> {
        let (mut late, mut too_big) = (Vec::new(), None);
        for (id, body) in bodies.bodies {
            let waiting = self.exchanges.values_mut().find(|exchange| exchange.waits_for(&id));
            match (waiting, body) {
                (Some(exchange), body) => {
                    exchange.take_body(id, body);
                    too_big = too_big.or_else(|| exchange.too_big());
                }
                (None, Some(body)) if self.asked.remove(&id) => late.push((id, body)),
                (None, Some(body)) => self.stash.put(id, body),
                (None, None) => {
                    self.asked.remove(&id);
                }
            }
        }
        if let Some(place) = too_big {
            self.refuse_document(place, Code::TooBig, TOO_MANY_BODIES.to_owned())?;
        }
        self.fill(bodies.scope, late).await?;
        self.finish_complete().await
    }

    /// Stores bodies of events that stood here without theirs.
    async fn fill(&mut self, scope: Scope, bodies: Vec<(EventId, Body)>) -> Result<(), Stop> {
        if bodies.is_empty() {
            return Ok(());
        }
        let team = self.team;
        let events = self.context.engine(move |engine| filled(engine, team, &scope, bodies)).await?;
        let imported = self.import(events).await?;
        self.changed = true;
        if !imported.stored.is_empty() {
            self.tell_of_bodies();
        }
        Ok(())
    }

    /// Asks for bodies that this device lacks, though nothing says that they were redacted; each once a session.
    pub(super) async fn want_missing_bodies(&mut self) -> Result<(), Stop> {
        let team = self.team;
        for scope in self.mine.scopes.iter().map(|offer| offer.scope.clone()).collect::<Vec<_>>() {
            let of = scope.clone();
            let missing =
                self.context.engine(move |engine| engine.sync_read(|r| r.missing_bodies(&team, &of, BODIES))).await?;
            let events: Vec<_> = missing.into_iter().filter(|id| self.asked.insert(*id)).collect();
            if !events.is_empty() {
                self.wire.send(&Message::Want(Want { scope, events }))?;
            }
        }
        Ok(())
    }

    /// Will give plain events of a scope that the peer may read.
    pub(super) fn give_since(&mut self, want: WantSince) -> Result<(), Stop> {
        if !self.shares(&want.scope) {
            return Err(Stop::refuse(Code::NotPaired, "WANT_SINCE names a scope that is not granted to your device"));
        }
        self.owe(Owed::Since(Pages { scope: want.scope, known: want.chains, cursor: None }))
    }

    /// Sends of what was asked for as much as there is room for.
    pub(super) async fn send_owed(&mut self) -> Result<(), Stop> {
        while self.wire.waiting() < self.context.limits.queue
            && let Some(owed) = self.owed.pop_front()
        {
            match owed {
                Owed::Bodies(want) => {
                    for frame in self.bodies(want.scope, want.events).await? {
                        self.wire.send_frame(frame)?;
                    }
                }
                Owed::Since(pages) => self.send_page(pages).await?,
                Owed::Following(rest) => self.send_following(rest).await?,
            }
        }
        Ok(())
    }

    async fn send_page(&mut self, mut pages: Pages) -> Result<(), Stop> {
        let team = self.team;
        let sent = self.context.engine(move |engine| {
            let Pages { scope, known, cursor } = &pages;
            let page = engine.sync_read(|r| r.events_after(&team, scope, known, cursor.as_ref(), PAGE))?;
            let last = page.next.is_none();
            pages.cursor = page.next;
            let events = Events { scope: Some(pages.scope.clone()), events: wire(&page.events), last };
            Ok((pages, frame::encode(&Message::Events(events))))
        });
        let (pages, frame) = sent.await?;
        self.wire.send_frame(frame.map_err(|error| Stop::Here(error.to_string()))?)?;
        if pages.cursor.is_some() {
            self.owed.push_front(Owed::Since(pages));
        }
        Ok(())
    }

    /// Asks for the plain events of every scope with a document that the two cannot merge.
    pub(super) fn want_paused(&mut self) -> Result<(), Stop> {
        let differing = super::offer::differing(&self.mine, &self.theirs);
        let scopes: HashSet<Scope> = differing
            .into_iter()
            .filter(|place| self.paused.contains(&place.document(self.team)))
            .map(|place| place.scope)
            .collect();
        for scope in scopes {
            self.want_since(scope)?;
        }
        Ok(())
    }

    /// Asks for what this device lacks of a scope, as plain events.
    pub(super) fn want_since(&mut self, scope: Scope) -> Result<(), Stop> {
        if self.peer_only_reads() || self.wanted.contains(&scope) {
            return Ok(());
        }
        let Some(mine) = self.mine.scopes.iter().find(|offer| offer.scope == scope) else { return Ok(()) };
        let message = Message::WantSince(WantSince { scope: scope.clone(), chains: mine.chains.clone() });
        self.begins_to_wait();
        self.wanted.insert(scope);
        Ok(self.wire.send(&message)?)
    }

    /// Stores plain events that were asked for.
    pub(super) async fn take_events(&mut self, page: Events) -> Result<(), Stop> {
        let Some(scope) = page.scope.filter(|scope| self.wanted.contains(scope)) else {
            return Err(Stop::refuse(Code::Version, "EVENTS were not asked for"));
        };
        let events = read(page.events)?;
        if events.iter().any(|event| event.header.scope != scope) {
            return Err(Stop::refuse(Code::BadEvent, "EVENTS holds an event of another scope"));
        }
        if page.last {
            self.wanted.remove(&scope);
        }
        let imported = self.import(events).await?;
        if !imported.stored.is_empty() || !imported.quarantined.is_empty() {
            self.changed = true;
            self.tell(false, true);
        }
        Ok(())
    }

    /// Stores plain events in one transaction. One that is forged refuses the peer.
    async fn import(&mut self, events: Vec<SignedEvent>) -> Result<SyncImported, Stop> {
        let now = (self.context.engine.config().clock)();
        let import = SyncImport { team: self.team, from: Some(self.peer), events, document: None, peer: None, now };
        let imported = self.context.engine(move |engine| Ok(store(engine, import))).await??;
        self.counted(&imported).await?;
        Ok(imported)
    }

    /// Takes what an import did into the view. Ends the session where the peer has now brought too much that is not let in.
    pub(super) async fn counted(&mut self, imported: &SyncImported) -> Result<(), Stop> {
        self.progressed();
        self.ask_again = true;
        let (stored, quarantined) = (imported.stored.len() as u64, imported.quarantined.len() as u64);
        self.view.send_modify(|view| {
            view.received += stored;
            view.quarantined += quarantined;
        });
        if imported.quarantined.is_empty() { Ok(()) } else { self.pause_where_due().await }
    }

    /// Hears a peer no more of which too much waits in quarantine, until a person has looked at it.
    pub(super) async fn pause_where_due(&self) -> Result<(), Stop> {
        let (team, peer) = (self.team, self.peer);
        let waiting = self.context.engine(move |engine| engine.sync_read(|r| r.quarantined_by(&team)));
        let waiting = waiting.await?.get(&Some(peer)).copied().unwrap_or_default();
        if waiting < self.context.limits.quarantined {
            return Ok(());
        }
        let words = format!(
            "{waiting} events that your device brought are not let in here, the most that are kept: a person has to look at them"
        );
        Err(Stop::refuse(Code::Paused, words))
    }
}

/// The bodies of events of a scope, each once and in this order: whatever was asked for is answered, so that nobody waits.
pub(super) fn bodies_of(
    engine: &Engine,
    team: EventId,
    scope: &Scope,
    ids: Vec<EventId>,
) -> Result<Vec<(EventId, Option<Body>)>, crate::api::ApiError> {
    let found = engine.sync_read(|r| r.bodies(&team, scope, &ids))?;
    let mut found: HashMap<EventId, Option<Body>> =
        found.into_iter().map(|(id, body)| (id, body.map(|SealedBody { salt, bytes }| Body { salt, bytes }))).collect();
    Ok(ids.into_iter().map(|id| (id, found.remove(&id).flatten())).collect())
}

/// Stores what came, all of it or nothing. The store verifies each event; where it refuses, this says whether one was forged.
pub(super) fn store(engine: &Engine, import: SyncImport) -> Result<SyncImported, Stop> {
    let events = import.events.clone();
    step::at(Step::Store);
    let stored = engine.import_synced(import);
    step::at(Step::Stored);
    stored.map_err(|error| match events.iter().find_map(|event| event.verify().err()) {
        Some(forged) => Stop::refuse(Code::BadEvent, forged.to_string()),
        None => error.into(),
    })
}

/// The events that these are the bodies of, as they are stored here, completed.
fn filled(
    engine: &Engine,
    team: EventId,
    scope: &Scope,
    bodies: Vec<(EventId, Body)>,
) -> Result<Vec<SignedEvent>, crate::api::ApiError> {
    let ids: Vec<EventId> = bodies.iter().map(|(id, _)| *id).collect();
    let mut bodies: HashMap<EventId, Body> = bodies.into_iter().collect();
    let stored = engine.sync_read(|r| r.events_named(&team, scope, &ids))?;
    Ok(stored
        .into_iter()
        .filter_map(|event| {
            let body = bodies.remove(&event.id)?.into();
            Some(SignedEvent { body: Some(body), ..event })
        })
        .collect())
}

fn wire(events: &[SignedEvent]) -> Vec<WireEvent> {
    events.iter().map(WireEvent::from).collect()
}

fn read(events: Vec<WireEvent>) -> Result<Vec<SignedEvent>, Stop> {
    events
        .into_iter()
        .map(|event| event.into_event().map_err(|error| Stop::refuse(Code::BadEvent, error.to_string())))
        .collect()
}
