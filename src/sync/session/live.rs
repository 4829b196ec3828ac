//! The loop of a session: what each message, and each wish of this device, sets in motion.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};

use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep_until, timeout},
};

use super::{
    Command, Context, Ended, News, Phase, Place, Side, Stop, View,
    exchange::Exchange,
    greet, offer,
    plain::{Owed, Stash},
    wire::{Wire, WireError},
};
use crate::{
    domain::{
        DeviceId, EventId, Scope,
        replica::{ChainEnd, DocumentId, SetDigest},
        roster::{Role, Roster},
    },
    sync::{
        frame::{Code, Hello, Message, Nudge, Offer},
        lean,
    },
};

/// The state of a session.
pub(super) struct Session<'a> {
    pub(super) context: &'a Context,
    pub(super) wire: Wire,
    pub(super) team: EventId,
    pub(super) peer: DeviceId,
    pub(super) side: Side,
    /// The peer understands [`Message::Lean`].
    pub(super) lean: bool,
    pub(super) roster: Option<Arc<Roster>>,
    /// The roster events that the peer has.
    pub(super) their_roster: Vec<ChainEnd>,
    /// What this side offers, as it last looked.
    pub(super) mine: Offer,
    /// What the peer offered last, and said of documents since.
    pub(super) theirs: Offer,
    /// What the peer was told of what it brought and that waits here ([`Offer::waiting`]).
    told: Option<u64>,
    /// The peer has offered: until then nothing is known of what it has.
    offered: bool,
    /// Documents that wait for their exchange.
    pub(super) queue: VecDeque<Place>,
    pub(super) exchanges: HashMap<DocumentId, Exchange>,
    /// The next exchange that this side begins: even for the dialler, odd for the other.
    pub(super) next_exchange: u64,
    /// Documents that the two cannot merge in this session: their events go plain.
    pub(super) paused: HashSet<DocumentId>,
    /// Documents that were stored by another way while their exchange was under way, in its last try.
    pub(super) stale: HashSet<DocumentId>,
    /// What a reader's document held when its changes were left aside.
    pub(super) left_aside: HashMap<DocumentId, SetDigest>,
    /// Bodies that came ahead of their events.
    pub(super) stash: Stash,
    /// What the peer asked for and waits for.
    pub(super) owed: VecDeque<Owed>,
    /// Scopes of which this side asked for plain events.
    pub(super) wanted: HashSet<Scope>,
    /// Events whose bodies were asked for outside of exchanges.
    pub(super) asked: HashSet<EventId>,
    /// Something was stored since the two last compared.
    pub(super) changed: bool,
    /// The round that a person asked for: over once the peer says itself that it has the same.
    round: Option<u64>,
    /// Something reached a disk since the peer last said what it has.
    pub(super) ask_again: bool,
    heard: Instant,
    progress: Instant,
    pub(super) view: watch::Sender<View>,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        context: &'a Context,
        wire: Wire,
        team: EventId,
        peer: DeviceId,
        side: Side,
        hello: Hello,
        view: watch::Sender<View>,
    ) -> Self {
        let now = (context.engine.config().clock)();
        view.send_modify(|view| view.skew = hello.clock.cast_signed().wrapping_sub(now.cast_signed()));
        Self {
            context,
            wire,
            team,
            peer,
            side,
            lean: hello.features.iter().any(|word| word == lean::FEATURE),
            roster: None,
            their_roster: hello.roster,
            mine: Offer::default(),
            theirs: Offer::default(),
            told: None,
            offered: false,
            queue: VecDeque::new(),
            exchanges: HashMap::new(),
            next_exchange: u64::from(side == Side::Acceptor),
            paused: HashSet::new(),
            stale: HashSet::new(),
            left_aside: HashMap::new(),
            stash: Stash::default(),
            owed: VecDeque::new(),
            wanted: HashSet::new(),
            asked: HashSet::new(),
            changed: true,
            round: None,
            ask_again: false,
            heard: Instant::now(),
            progress: Instant::now(),
            view,
        }
    }

    /// Exchanges rosters, judges membership by what came, and offers.
    pub(super) async fn agree(&mut self) -> Result<(), Stop> {
        let within = self.context.limits.handshake;
        timeout(within, self.rosters()).await.unwrap_or_else(|_| Err(greet::slow(within)))?;
        self.pause_where_due().await?;
        self.view.send_modify(|view| view.phase = Phase::Syncing);
        self.offer(false).await
    }

    async fn rosters(&mut self) -> Result<(), Stop> {
        self.send_roster().await?;
        loop {
            match self.wire.next().await? {
                Message::Roster(events) => {
                    let last = events.last;
                    self.take_roster(events).await?;
                    if last {
                        return self.check_members().await;
                    }
                }
                Message::Error(refused) => return Err(Stop::Refused(refused)),
                Message::Bye => return Err(Stop::PeerBye),
                Message::Unknown(_) => {}
                _ => return Err(Stop::refuse(Code::Version, "ROSTER comes before anything else")),
            }
        }
    }

    /// Both sides must be members by the roster as it now is.
    pub(super) async fn check_members(&mut self) -> Result<(), Stop> {
        let (team, peer) = (self.team, self.peer);
        let (me, roster) =
            self.context.engine(move |engine| Ok((engine.device(), engine.sync_read(|r| r.roster(&team))?))).await?;
        let roster = roster.ok_or_else(|| Stop::Here("the team's roster is gone".to_owned()))?;
        if !roster.is_member(&me) {
            return Err(Stop::refuse(Code::NotPaired, "this device does not belong to the team any more"));
        }
        if !roster.is_member(&peer) {
            return Err(Stop::refuse(Code::NotPaired, "your device does not belong to the team any more"));
        }
        self.roster = Some(Arc::new(roster));
        Ok(())
    }

    /// Serves the peer and this device until one of them ends it.
    pub(super) async fn live(&mut self, mut commands: mpsc::UnboundedReceiver<Command>) -> Stop {
        loop {
            if let Err(stop) = self.step(&mut commands).await {
                return stop;
            }
        }
    }

    async fn step(&mut self, commands: &mut mpsc::UnboundedReceiver<Command>) -> Result<(), Stop> {
        self.send_owed().await?;
        self.begin_queued().await?;
        self.settle().await?;
        let deadline = self.deadline();
        let more = !self.owed.is_empty();
        let drained = self.wire.drained();
        tokio::select! {
            biased;
            message = self.wire.next() => {
                self.heard = Instant::now();
                self.message(message?).await
            }
            command = commands.recv() => self.command(command.unwrap_or(Command::Stop)).await,
            () = drained, if more => Ok(()),
            () = sleep_until(deadline.unwrap_or(self.heard)), if deadline.is_some() => {
                let why = if self.progress + self.context.limits.progress <= Instant::now() {
                    self.context.limits.progress
                } else {
                    self.context.limits.idle
                };
                Err(Stop::Wire(WireError::Slow(why)))
            }
        }
    }

    /// Whether the peer owes an answer.
    fn waits(&self) -> bool {
        !self.exchanges.is_empty() || !self.wanted.is_empty()
    }

    /// When patience ends; `None` while nothing is owed: a silent peer is then as it should be.
    fn deadline(&self) -> Option<Instant> {
        let limits = self.context.limits;
        self.waits().then(|| (self.heard + limits.idle).min(self.progress + limits.progress))
    }

    /// Something reached the disk.
    pub(super) fn progressed(&mut self) {
        self.progress = Instant::now();
    }

    /// Both sides begin to owe each other answers now.
    pub(super) fn begins_to_wait(&mut self) {
        if !self.waits() {
            self.heard = Instant::now();
            self.progress = self.heard;
        }
    }

    async fn message(&mut self, message: Message) -> Result<(), Stop> {
        match message {
            Message::Hello(_) => Err(Stop::refuse(Code::Version, "HELLO comes once")),
            Message::Roster(events) => {
                let last = events.last;
                self.take_roster(events).await?;
                if last {
                    self.check_members().await?;
                    self.offer(true).await?;
                }
                Ok(())
            }
            Message::Offer(offer) => self.take_offer(offer).await,
            Message::Doc(message) => self.take_doc(message, Vec::new()).await,
            Message::Lean(message) => self.take_lean(message).await,
            Message::Following(following) => self.take_following(following).await,
            Message::Want(want) => self.give_bodies(want),
            Message::Bodies(bodies) => self.take_bodies(bodies).await,
            Message::WantSince(want) => self.give_since(want),
            Message::Events(events) => self.take_events(events).await,
            Message::Durable(durable) => {
                offer::note(&mut self.theirs, &durable.scope, durable.document);
                self.ask_again = true;
                self.compare();
                Ok(())
            }
            Message::Nudge(nudge) => self.take_nudge(nudge).await,
            Message::Error(refused) => match refused.document {
                Some(document) => self.refused_document(document, refused),
                None => Err(Stop::Refused(refused)),
            },
            Message::Bye => Err(Stop::PeerBye),
            Message::Unknown(kind) => {
                tracing::debug!(kind, "a message of a newer version was passed over");
                Ok(())
            }
        }
    }

    async fn command(&mut self, command: Command) -> Result<(), Stop> {
        match command {
            Command::Push(documents) => self.push(documents).await,
            Command::Compare => {
                self.look().await?;
                self.nudge()
            }
            Command::Round(number) => {
                self.round = Some(number);
                // Unlike a hash, an offer is always answered.
                self.offer(true).await
            }
            Command::Offer => self.offer(false).await,
            Command::Roster => {
                self.check_members().await?;
                self.send_roster().await?;
                self.offer(true).await
            }
            Command::Stop => Err(Stop::Bye),
            Command::Refuse(refused) => {
                // Whoever leaves, or is put out, is told so by the roster itself: by whom, when and why.
                if refused.code == Code::NotPaired {
                    self.send_roster().await?;
                }
                Err(Stop::Refuse(refused))
            }
        }
    }

    /// Reads anew what this side offers.
    pub(super) async fn look(&mut self) -> Result<(), Stop> {
        let Some(roster) = self.roster.clone() else { return Ok(()) };
        let peer = self.peer;
        let looked = self.context.engine(move |engine| engine.sync_read(|r| offer::of_peer(r, &roster, &peer)));
        self.mine = looked.await?;
        self.compare();
        Ok(())
    }

    /// Offers; with `reply` the peer is asked for its own offer.
    async fn offer(&mut self, reply: bool) -> Result<(), Stop> {
        self.look().await?;
        self.say_offer(reply)
    }

    fn say_offer(&mut self, reply: bool) -> Result<(), Stop> {
        self.told = self.mine.waiting;
        Ok(self.wire.send(&Message::Offer(Offer { reply, ..self.mine.clone() }))?)
    }

    async fn take_offer(&mut self, offer: Offer) -> Result<(), Stop> {
        let (reply, not_taken) = (offer.reply, offer.waiting.unwrap_or_default());
        self.view.send_if_modified(|view| std::mem::replace(&mut view.not_taken, not_taken) != not_taken);
        self.theirs = offer;
        self.offered = true;
        if reply {
            self.offer(false).await?;
        } else {
            self.look().await?;
        }
        let over = self.round.filter(|_| self.view.borrow().equal);
        if let Some(number) = over {
            self.round = None;
            self.view.send_modify(|view| view.round = number);
        }
        // One side begins, so that the two do not begin the same.
        if self.side == Side::Dialler {
            for place in offer::differing(&self.mine, &self.theirs) {
                self.enqueue(place);
            }
        }
        self.want_paused()?;
        self.want_missing_bodies().await
    }

    fn nudge(&mut self) -> Result<(), Stop> {
        if self.told != self.mine.waiting {
            // Both may hold the same and yet not be in step: what waits here is not let in.
            self.say_offer(false)?;
        }
        let state = offer::state(&self.mine, &self.theirs);
        Ok(self.wire.send(&Message::Nudge(Nudge { state }))?)
    }

    async fn take_nudge(&mut self, nudge: Nudge) -> Result<(), Stop> {
        self.look().await?;
        if nudge.state == offer::state(&self.mine, &self.theirs) {
            if offer::differing(&self.mine, &self.theirs).is_empty() {
                return Ok(());
            }
            // Equal, and what was known of the peer is old.
            self.theirs.scopes.clone_from(&self.mine.scopes);
            self.compare();
            return Ok(());
        }
        if self.waits() || !self.queue.is_empty() { Ok(()) } else { self.offer(true).await }
    }

    /// Once nothing is under way any more, and something was: the two compare.
    async fn settle(&mut self) -> Result<(), Stop> {
        if !self.offered || self.waits() || !self.queue.is_empty() {
            return Ok(());
        }
        if self.changed {
            self.changed = false;
            self.look().await?;
            self.nudge()?;
        }
        if self.round.is_some() && std::mem::take(&mut self.ask_again) {
            self.offer(true).await?;
        }
        self.view.send_if_modified(|view| {
            let was = view.phase;
            view.phase = Phase::Live;
            was != Phase::Live
        });
        Ok(())
    }

    /// Says how the two stand.
    fn compare(&mut self) {
        if !self.offered {
            return;
        }
        let equal = offer::differing(&self.mine, &self.theirs).is_empty();
        let (we_lack, they_lack) = if equal { (0, 0) } else { offer::lacking(&self.mine, &self.theirs) };
        let now = (self.context.engine.config().clock)();
        self.view.send_if_modified(|view| {
            let before = (view.equal, view.we_lack, view.they_lack);
            (view.equal, view.we_lack, view.they_lack) = (equal, we_lack, they_lack);
            if equal {
                view.last_sync = Some(now);
            }
            before != (equal, we_lack, they_lack)
        });
    }

    /// Whether both may read a scope, and this device has it.
    pub(super) fn shares(&self, scope: &Scope) -> bool {
        self.mine.scopes.iter().any(|offer| offer.scope == *scope)
    }

    /// Whether the peer may only read: then nothing of what it sends, but the roster, changes this device.
    pub(super) fn peer_only_reads(&self) -> bool {
        self.roster.as_ref().and_then(|roster| roster.role(&self.peer)).is_none_or(|role| role == Role::Reader)
    }

    /// Says what went wrong without ending the session.
    pub(super) fn trouble(&self, words: impl Into<String>) {
        let words = words.into();
        tracing::warn!(peer = %self.peer.short(), "{words}");
        self.view.send_modify(|view| view.trouble = Some(words));
    }

    /// Tells the other sessions.
    pub(super) fn tell(&self, roster: bool, undocumented: bool) {
        self.report(News { team: self.team, from: self.peer, roster, undocumented, bodies: false });
    }

    /// Tells the other sessions that bodies came.
    pub(super) fn tell_of_bodies(&self) {
        self.report(News { team: self.team, from: self.peer, roster: false, undocumented: false, bodies: true });
    }

    fn report(&self, news: News) {
        // The service has ended: nobody is left to be told.
        drop(self.context.news.send(news));
    }

    /// Says goodbye, if there is anyone to hear it.
    pub(super) async fn end(self, stop: Stop) -> Ended {
        let Self { wire, exchanges, .. } = self;
        // The forks go with their exchanges: nothing of them was stored.
        drop(exchanges);
        match (&stop, stop.last_words()) {
            (Stop::Bye, _) => drop(wire.send(&Message::Bye)),
            (_, Some(refused)) => drop(wire.send(&Message::Error(refused))),
            _ => {}
        }
        match stop {
            Stop::Wire(WireError::Cut(_)) => wire.cut(),
            _ => wire.finish().await,
        }
        stop.into_ended()
    }
}
