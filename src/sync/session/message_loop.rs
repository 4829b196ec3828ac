//! The loop of a session: handles the messages of the peer and the commands of this device.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};

use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep_until, timeout},
};

use super::{
    DocumentKey, SessionCommand, SessionEnd, SessionPhase, SessionSide, SessionView, StopReason, SyncContext,
    end::rejection_after_leaving,
    events::{BodyRequest, EarlyBodies, QueuedResponse},
    exchange::OpenExchange,
    exchange_queue::ExchangeQueue,
    handshake, offer,
    stream::{FrameStream, StreamError},
};
use crate::{
    domain::{
        DeviceId, EventId, Scope,
        replica::{ChainEnd, DocumentId, SetDigest},
        roster::{Role, Roster},
    },
    sync::{
        compact,
        frame::{Durable, Message, Nudge, Offer, RejectCode, SessionHello},
    },
};

/// The state of a session.
pub(super) struct SyncSession<'a> {
    pub(super) context: &'a SyncContext,
    pub(super) stream: FrameStream,
    pub(super) team: EventId,
    pub(super) peer: DeviceId,
    pub(super) side: SessionSide,
    /// Whether the peer understands [`Message::Compact`].
    pub(super) compact: bool,
    pub(super) roster: Option<Arc<Roster>>,
    /// How far the peer's copy of the roster reaches.
    pub(super) their_roster: Vec<ChainEnd>,
    /// The offer of this side, as last read from the store.
    pub(super) mine: Offer,
    /// The number of events that this device shares with the peer and that are in no document yet, so that no exchange
    /// has brought them to the peer.
    pub(super) undocumented: u64,
    /// The last offer of the peer, updated by its later reports.
    pub(super) theirs: Offer,
    /// The last [`Offer::waiting`] that was sent to the peer.
    reported_waiting: Option<u64>,
    /// Whether this side owes the peer an offer, and whether that offer asks for the peer's.
    owed_offer: Option<bool>,
    /// Whether the peer has sent an offer. Before that, its events are unknown.
    pub(super) offered: bool,
    /// Documents that wait for their exchange.
    pub(super) queue: ExchangeQueue,
    pub(super) exchanges: HashMap<DocumentId, OpenExchange>,
    /// The number of the next exchange that this side begins: even for the dialler, odd for the acceptor.
    pub(super) next_exchange: u64,
    /// Documents that cannot be merged in this session. Their events are sent instead.
    pub(super) paused: HashSet<DocumentId>,
    /// Documents whose last exchange was based on a state other than the stored one.
    pub(super) stale: HashSet<DocumentId>,
    /// By document of a peer that only reads: the digest that it had when its events were requested instead of a merge.
    pub(super) asked_reader: HashMap<DocumentId, SetDigest>,
    /// Bodies that arrived before their events.
    pub(super) early_bodies: EarlyBodies,
    /// Responses to requests of the peer.
    pub(super) responses: VecDeque<QueuedResponse>,
    /// The scopes of which this side has requested events.
    pub(super) requested_scopes: HashSet<Scope>,
    /// The scopes whose missing bodies are being requested, outside of exchanges.
    pub(super) requested_bodies: HashMap<Scope, BodyRequest>,
    /// Whether to compare once all exchanges are over, because something was stored or the peer's nudge came in the
    /// meantime.
    pub(super) changed: bool,
    /// The round that a person asked for. It is over once the peer itself reports the same events.
    round: Option<u64>,
    /// Whether something was stored, here or at the peer, since the peer's last offer.
    pub(super) offer_again: bool,
    last_received: Instant,
    last_progress: Instant,
    pub(super) view: watch::Sender<SessionView>,
}

impl<'a> SyncSession<'a> {
    pub(super) fn new(
        context: &'a SyncContext,
        stream: FrameStream,
        team: EventId,
        peer: DeviceId,
        side: SessionSide,
        hello: SessionHello,
        view: watch::Sender<SessionView>,
    ) -> Self {
        let session = Self {
            context,
            stream,
            team,
            peer,
            side,
            compact: hello.features.iter().any(|word| word == compact::FEATURE),
            roster: None,
            their_roster: hello.roster,
            mine: Offer::default(),
            undocumented: 0,
            theirs: Offer::default(),
            reported_waiting: None,
            owed_offer: None,
            offered: false,
            queue: ExchangeQueue::default(),
            exchanges: HashMap::new(),
            next_exchange: u64::from(side == SessionSide::Acceptor),
            paused: HashSet::new(),
            stale: HashSet::new(),
            asked_reader: HashMap::new(),
            early_bodies: EarlyBodies::default(),
            responses: VecDeque::new(),
            requested_scopes: HashSet::new(),
            requested_bodies: HashMap::new(),
            changed: true,
            round: None,
            offer_again: false,
            last_received: Instant::now(),
            last_progress: Instant::now(),
            view,
        };
        session.compare_clocks(hello.clock);
        session
    }

    /// Exchanges rosters, checks membership by the result, and sends an offer.
    pub(super) async fn exchange_rosters(&mut self) -> Result<(), StopReason> {
        let within = self.context.limits.handshake;
        timeout(within, self.receive_rosters()).await.unwrap_or_else(|_| Err(handshake::slow(within)))?;
        self.pause_if_over_limit().await?;
        self.view.send_modify(|view| view.phase = SessionPhase::Syncing);
        self.offer(false).await
    }

    async fn receive_rosters(&mut self) -> Result<(), StopReason> {
        self.send_roster().await?;
        loop {
            match self.stream.next().await? {
                Message::Roster(events) => {
                    let last = events.last;
                    self.receive_roster(events).await?;
                    if last {
                        return self.check_members().await;
                    }
                }
                Message::Error(refused) => return Err(StopReason::RejectedByPeer(refused)),
                Message::Bye => return Err(StopReason::PeerBye),
                Message::Unknown(_) => {}
                _ => {
                    return Err(StopReason::reject(
                        RejectCode::Version,
                        "the rejected device sent something else before the team's roster",
                    ));
                }
            }
        }
    }

    /// Checks that both sides are members by the current roster.
    pub(super) async fn check_members(&mut self) -> Result<(), StopReason> {
        let (team, peer) = (self.team, self.peer);
        let (me, roster) =
            self.context.engine(move |engine| Ok((engine.device(), engine.sync_read(|r| r.roster(&team))?))).await?;
        let roster = roster.ok_or_else(|| StopReason::Local("the team's roster is not in the store".to_owned()))?;
        if !roster.is_member(&me) {
            return Err(StopReason::Reject(rejection_after_leaving()));
        }
        if !roster.is_member(&peer) {
            return Err(StopReason::reject(RejectCode::NotPaired, "the rejected device no longer belongs to the team"));
        }
        self.roster = Some(Arc::new(roster));
        Ok(())
    }

    /// Serves the peer and this device until one of them ends the session.
    pub(super) async fn run(&mut self, mut commands: mpsc::UnboundedReceiver<SessionCommand>) -> StopReason {
        loop {
            if let Err(stop) = self.step(&mut commands).await {
                return stop;
            }
        }
    }

    async fn step(&mut self, commands: &mut mpsc::UnboundedReceiver<SessionCommand>) -> Result<(), StopReason> {
        self.send_owed_offer()?;
        self.send_responses().await?;
        self.begin_queued().await?;
        self.settle().await?;
        self.send_owed_offer()?;
        let deadline = self.deadline();
        let more = !self.responses.is_empty() || self.owed_offer.is_some();
        let drained = self.stream.drained();
        tokio::select! {
            biased;
            // Commands come first, so that a peer that sends without a pause cannot keep its session after a rejection.
            command = commands.recv() => self.command(command.unwrap_or(SessionCommand::Stop)).await,
            message = self.stream.next() => {
                self.last_received = Instant::now();
                self.message(message?).await
            }
            () = drained, if more => Ok(()),
            () = sleep_until(deadline.unwrap_or(self.last_received)), if deadline.is_some() => {
                let why = if self.last_progress + self.context.limits.progress <= Instant::now() {
                    self.context.limits.progress
                } else {
                    self.context.limits.idle
                };
                Err(StopReason::Stream(StreamError::TimedOut(why)))
            }
        }
    }

    /// Whether an answer of the peer is pending.
    fn is_waiting(&self) -> bool {
        !self.exchanges.is_empty() || !self.requested_scopes.is_empty()
    }

    /// Returns when the session times out; `None` if no answer is pending, since the peer may then be silent.
    fn deadline(&self) -> Option<Instant> {
        let limits = self.context.limits;
        self.is_waiting().then(|| (self.last_received + limits.idle).min(self.last_progress + limits.progress))
    }

    /// Restarts the timeout of progress, because something was stored.
    pub(super) fn record_progress(&mut self) {
        self.last_progress = Instant::now();
    }

    /// Restarts the timeouts if no answer was pending until now.
    pub(super) fn start_waiting(&mut self) {
        if !self.is_waiting() {
            self.last_received = Instant::now();
            self.last_progress = self.last_received;
        }
    }

    async fn message(&mut self, message: Message) -> Result<(), StopReason> {
        match message {
            Message::Hello(_) => {
                Err(StopReason::reject(RejectCode::Version, "the rejected device introduced itself twice"))
            }
            Message::Roster(events) => {
                let last = events.last;
                self.receive_roster(events).await?;
                if last {
                    self.check_members().await?;
                    self.offer(true).await?;
                }
                Ok(())
            }
            Message::Offer(offer) => self.receive_offer(offer).await,
            Message::Doc(message) => self.receive_turn(message, Vec::new()).await,
            Message::Compact(message) => self.receive_compact(message).await,
            Message::FollowingBodies(following) => self.receive_following(following).await,
            Message::Want(want) => self.queue_bodies(want),
            Message::Bodies(bodies) => self.receive_bodies(bodies).await,
            Message::WantSince(want) => self.queue_events(want),
            Message::Events(events) => self.receive_events(events).await,
            Message::Durable(durable) => {
                self.receive_durable(durable);
                Ok(())
            }
            Message::Nudge(nudge) => self.receive_nudge(nudge).await,
            Message::Error(refused) => match refused.document {
                Some(document) => self.refused_document(document, refused),
                None => Err(StopReason::RejectedByPeer(refused)),
            },
            Message::Bye => Err(StopReason::PeerBye),
            Message::Unknown(kind) => {
                tracing::debug!(kind, "ignored a message of a newer version");
                Ok(())
            }
        }
    }

    async fn command(&mut self, command: SessionCommand) -> Result<(), StopReason> {
        match command {
            SessionCommand::Push(documents) => self.push(documents).await,
            SessionCommand::Compare => {
                self.refresh_offer().await?;
                self.nudge()
            }
            SessionCommand::Round(number) => {
                self.round = Some(number);
                // Unlike a nudge, an offer is always answered.
                self.offer(true).await
            }
            SessionCommand::Offer => self.offer(false).await,
            SessionCommand::Roster => {
                self.check_members().await?;
                self.send_roster().await?;
                self.offer(true).await
            }
            SessionCommand::Stop => Err(StopReason::Bye),
            SessionCommand::Reject(refused) => {
                // The roster tells a device by whom, when and why it was revoked, or that this device has left.
                if matches!(refused.code, RejectCode::NotPaired | RejectCode::TeamMismatch) {
                    self.send_roster().await?;
                }
                Err(StopReason::Reject(refused))
            }
        }
    }

    /// Reads this side's offer from the store.
    pub(super) async fn refresh_offer(&mut self) -> Result<(), StopReason> {
        let Some(roster) = self.roster.clone() else { return Ok(()) };
        let peer = self.peer;
        let looked = self.context.engine(move |engine| engine.sync_read(|r| offer::for_peer(r, &roster, &peer)));
        (self.mine, self.undocumented) = looked.await?;
        self.compare();
        Ok(())
    }

    /// Reads this side's offer, to be sent by [`Self::send_owed_offer`]; with `reply`, it asks for the peer's.
    async fn offer(&mut self, reply: bool) -> Result<(), StopReason> {
        self.refresh_offer().await?;
        self.owed_offer = Some(reply || self.owed_offer == Some(true));
        Ok(())
    }

    /// Sends the offer that this side owes once few bytes are unsent. So a peer that asks again and again and reads
    /// nothing is owed a single one.
    fn send_owed_offer(&mut self) -> Result<(), StopReason> {
        if self.stream.unsent() < self.context.limits.queue
            && let Some(reply) = self.owed_offer.take()
        {
            self.send_offer(reply)?;
        }
        Ok(())
    }

    fn send_offer(&mut self, reply: bool) -> Result<(), StopReason> {
        self.reported_waiting = self.mine.waiting;
        Ok(self.stream.send(&Message::Offer(Offer { reply, ..self.mine.clone() }))?)
    }

    async fn receive_offer(&mut self, offer: Offer) -> Result<(), StopReason> {
        let (reply, not_accepted) = (offer.reply, offer.waiting.unwrap_or_default());
        self.view.send_if_modified(|view| std::mem::replace(&mut view.not_accepted, not_accepted) != not_accepted);
        self.theirs = offer;
        self.offered = true;
        if reply {
            self.offer(false).await?;
        } else {
            self.refresh_offer().await?;
        }
        let over = self.round.filter(|_| self.view.borrow().in_sync);
        if let Some(number) = over {
            self.round = None;
            self.view.send_modify(|view| view.round = number);
        }
        // Only one side begins, so that the two do not begin the same exchange.
        if self.side == SessionSide::Dialler {
            for key in offer::differing(&self.mine, &self.theirs) {
                self.enqueue(key);
            }
        }
        self.request_paused()?;
        self.request_missing_bodies().await
    }

    fn nudge(&mut self) -> Result<(), StopReason> {
        if self.reported_waiting != self.mine.waiting {
            // Both may hold the same events and still not be in sync, because some are in quarantine here.
            self.send_offer(false)?;
        }
        let state = offer::state_hash(&self.mine, &self.theirs);
        let clock = Some((self.context.engine.config().clock)());
        Ok(self.stream.send(&Message::Nudge(Nudge { state, clock }))?)
    }

    async fn receive_nudge(&mut self, nudge: Nudge) -> Result<(), StopReason> {
        if let Some(clock) = nudge.clock {
            self.compare_clocks(clock);
        }
        self.refresh_offer().await?;
        if nudge.state == offer::state_hash(&self.mine, &self.theirs) {
            if offer::differing(&self.mine, &self.theirs).is_empty() {
                return Ok(());
            }
            // The sets are equal, so the last offer of the peer is outdated.
            self.theirs.scopes.clone_from(&self.mine.scopes);
            self.compare();
            return Ok(());
        }
        if self.is_waiting() || !self.queue.is_empty() {
            // The open exchanges may not bring all that the peer has: compare again after them.
            self.changed = true;
            return Ok(());
        }
        self.offer(true).await
    }

    /// Compares with the peer once all exchanges are over and something changed.
    async fn settle(&mut self) -> Result<(), StopReason> {
        if !self.offered || self.is_waiting() || !self.queue.is_empty() {
            return Ok(());
        }
        if self.changed {
            self.changed = false;
            self.refresh_offer().await?;
            self.nudge()?;
        }
        if self.round.is_some() && std::mem::take(&mut self.offer_again) {
            self.offer(true).await?;
        }
        self.view.send_if_modified(|view| {
            let was = view.phase;
            view.phase = SessionPhase::Live;
            was != SessionPhase::Live
        });
        Ok(())
    }

    /// Records that the peer has stored a document. A document that neither side has and that no exchange is about is
    /// ignored. Otherwise a peer could make this device remember any number of them.
    fn receive_durable(&mut self, Durable { scope, document }: Durable) {
        let key = DocumentKey { scope, month: document.month, part: document.part };
        let known = offer::document_offer(&self.mine, &key).is_some()
            || self.theirs_of(&key).is_some()
            || self.exchanges.contains_key(&key.document_id(self.team));
        if !known {
            return tracing::debug!(scope = %key.scope, "ignored a report about an unknown document");
        }
        offer::set_document_offer(&mut self.theirs, &key.scope, document);
        self.offer_again = true;
        self.compare();
    }

    /// Whether both sides may read a scope and this device has it.
    pub(super) fn shares(&self, scope: &Scope) -> bool {
        self.mine.scopes.iter().any(|offer| offer.scope == *scope)
    }

    /// Whether the peer is a reader. A reader's documents are not merged here, and it passes on only events that the
    /// team accepts from their authors.
    pub(super) fn peer_only_reads(&self) -> bool {
        self.roster.as_ref().and_then(|roster| roster.role(&self.peer)).is_none_or(|role| role == Role::Reader)
    }

    /// Sends the reason to the peer, if it still reads, and closes the stream.
    pub(super) async fn end(self, stop: StopReason) -> SessionEnd {
        let Self { mut stream, exchanges, .. } = self;
        // The forks are dropped with their exchanges. Nothing of them was stored.
        drop(exchanges);
        let stop = stop.or_closing_message(&mut stream).await;
        match (&stop, stop.rejection()) {
            (StopReason::Bye, _) => drop(stream.send(&Message::Bye)),
            (_, Some(refused)) => drop(stream.send(&Message::Error(refused))),
            _ => {}
        }
        match stop {
            StopReason::Stream(StreamError::Closed(_)) => stream.abort(),
            _ => stream.finish().await,
        }
        stop.into_session_end()
    }
}
