//! The scheduler: the single task that decides which peers to dial, which sessions to keep, and what to send to each.

use std::{
    collections::{HashMap, HashSet},
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};

use iroh::endpoint::Connection;
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::AbortHandle,
    time::{Instant, sleep_until},
};

use super::{
    ServiceObserver, ServiceSettings, ServiceShared, decisions,
    peers::{Peer, PeerKey},
    state_writer::{self, StateWrite},
    status::PeerProblem,
    tasks,
};
use crate::{
    domain::{DeviceId, EventId, roster::Roster},
    sync::{
        endpoint::{self, NetworkMode, Transport, TransportError, is_local},
        frame::{RejectCode, Rejection},
        index,
        session::{
            DocumentKey, EstablishedSession, PeerEvent, SessionCommand, SessionEnd, SyncContext,
            rejection_after_leaving,
        },
    },
};

/// The interval at which two connected peers compare without a known change.
pub(super) const COMPARE_INTERVAL: Duration = Duration::from_mins(1);

/// The delay after which the other peers are asked to compare when one has brought events. Most of them have those
/// already.
pub(super) const COMPARE_DELAY: Duration = Duration::from_millis(150);

/// The time without a change after which documents are compacted.
const COMPACTION_DELAY: Duration = Duration::from_secs(30);

/// The delay before a peer is dialled again if there is no free session.
const NO_CAPACITY_RETRY: Duration = Duration::from_secs(30);

/// The time after which a contact with the same address is stored again.
const CONTACT_LOG_INTERVAL: Duration = Duration::from_hours(1);

/// An event that the scheduler handles. Events are handled one after the other.
pub(super) enum SchedulerEvent {
    Refresh(Option<oneshot::Sender<()>>),
    SetMode(Option<NetworkMode>, oneshot::Sender<()>),
    SyncNow(Option<DeviceId>, oneshot::Sender<u64>),
    AddAddress(DeviceId, SocketAddr, oneshot::Sender<()>),
    Transport(oneshot::Sender<Result<Arc<Transport>, TransportError>>),
    Stop(oneshot::Sender<()>),
    PairingCall(Connection),
    PeerFound(DeviceId, Vec<SocketAddr>),
    /// The addresses of this device changed.
    AddressesChanged,
    AddressContacted(String, &'static str),
    SessionEstablished(EstablishedSession, Connection),
    HandshakeFailed(DeviceId, Option<EventId>, SessionEnd),
    DialFailed(EventId, DeviceId, TransportError),
    ViewChanged(PeerKey),
    SessionEnded(PeerKey, u64, SessionEnd),
    Flushed(EventId, Vec<(DocumentKey, Vec<EventId>)>),
    FlushFailed(String),
    Peer(PeerEvent),
}

/// The state of the scheduler.
pub(super) struct Scheduler {
    pub(super) settings: ServiceSettings,
    pub(super) context: SyncContext,
    pub(super) shared: Arc<ServiceShared>,
    pub(super) observer: Arc<dyn ServiceObserver>,
    pub(super) me: DeviceId,
    pub(super) transport: Option<Arc<Transport>>,
    /// The reason why the endpoint could not be bound or the rosters could not be read.
    pub(super) problem: Option<String>,
    /// The reason why events could not be added to documents.
    pub(super) flush_problem: Option<String>,
    /// The reason why received events cannot be stored; cleared when an event is stored.
    pub(super) storage_problem: Option<String>,
    pub(super) peers: HashMap<PeerKey, Peer>,
    pub(super) teams: watch::Sender<Vec<EventId>>,
    pub(super) flush_task: AbortHandle,
    /// Where the state of peers and contacts are sent to be stored.
    state_writes: mpsc::UnboundedSender<StateWrite>,
    /// The number of consecutive bind failures, and the task that retries.
    pub(super) bind_failures: u32,
    pub(super) rebind_task: Option<AbortHandle>,
    /// By team: the time of the next comparison with the other peers, and the peers that brought the events.
    pub(super) pending_compares: HashMap<EventId, (Instant, HashSet<DeviceId>)>,
    pub(super) logged_contacts: HashMap<(String, &'static str), Instant>,
    pub(super) sessions: u64,
    /// The number of rounds that people asked for.
    rounds: u64,
    /// Members beyond the limit of peers.
    pub(super) excess_members: HashSet<PeerKey>,
    /// Whether a peer waits because all sessions are in use.
    pub(super) at_capacity: bool,
    /// The time of the next compaction of documents, [`COMPACTION_DELAY`] after the last change.
    compaction_due: Option<Instant>,
    /// The time of the next check for events in quarantine whose date has come.
    quarantine_check: Instant,
}

impl Scheduler {
    pub(super) fn new(
        settings: ServiceSettings,
        context: SyncContext,
        shared: Arc<ServiceShared>,
        observer: Arc<dyn ServiceObserver>,
    ) -> Self {
        let (teams, known) = watch::channel(Vec::new());
        let (dirty, flushed) = (Arc::clone(&shared.dirty), Arc::clone(&shared.flushed));
        // Events may be left from before the service was last stopped.
        dirty.notify_one();
        let flush_task =
            tokio::spawn(tasks::flush(context.clone(), known, (dirty, flushed), shared.events.clone())).abort_handle();
        let (state_writes, received_writes) = mpsc::unbounded_channel();
        tokio::spawn(state_writer::run(context.clone(), received_writes));
        Self {
            me: DeviceId(settings.key.verifying_key().to_bytes()),
            settings,
            context,
            shared,
            observer,
            transport: None,
            problem: None,
            flush_problem: None,
            storage_problem: None,
            peers: HashMap::new(),
            teams,
            flush_task,
            state_writes,
            bind_failures: 0,
            rebind_task: None,
            pending_compares: HashMap::new(),
            logged_contacts: HashMap::new(),
            sessions: 0,
            rounds: 0,
            excess_members: HashSet::new(),
            at_capacity: false,
            compaction_due: Some(Instant::now() + COMPACTION_DELAY),
            quarantine_check: Instant::now() + COMPARE_INTERVAL,
        }
    }

    /// Handles events until it is stopped.
    pub(super) async fn run(mut self, mut events: mpsc::UnboundedReceiver<SchedulerEvent>) {
        loop {
            let due = self.due();
            tokio::select! {
                event = events.recv() => match event {
                    None => return self.stop().await,
                    Some(SchedulerEvent::Stop(done)) => {
                        self.stop().await;
                        let _gone = done.send(());
                        return;
                    }
                    Some(event) => self.handle(event).await,
                },
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => self.run_due(),
            }
            if self.is_resting() && self.transport.is_some() {
                tracing::error!("the store is damaged: sync rests until the daemon is restarted");
                self.unbind().await;
            }
            if let Some(transport) = &self.transport {
                transport.set_seeking(self.peers.values().any(|peer| peer.live.is_none()));
            }
            self.publish_status();
        }
    }

    /// Returns whether sync rests because the store is damaged: each attempt would fail again.
    pub(super) fn is_resting(&self) -> bool {
        self.context.engine.damage().is_some()
    }

    /// Returns the time of the next timer; `None` without a peer, so that an idle daemon sleeps, and while sync rests.
    fn due(&self) -> Option<Instant> {
        if self.is_resting() {
            return None;
        }
        let of_peers = self.peers.values().filter_map(|peer| match &peer.live {
            Some(live) => Some(live.liveness_check.map_or(live.compare, |(at, _)| at.min(live.compare))),
            None => peer.due.filter(|_| !peer.dialling && self.transport.is_some()),
        });
        let others = self.pending_compares.values().map(|(at, _)| *at).chain(self.compaction_due);
        let quarantine_check = (!self.peers.is_empty()).then_some(self.quarantine_check);
        of_peers.chain(others).chain(quarantine_check).min()
    }

    /// Runs the timers that are due.
    fn run_due(&mut self) {
        let now = Instant::now();
        let calls: Vec<PeerKey> = self
            .peers
            .iter()
            .filter(|(_, peer)| peer.live.is_none() && !peer.dialling && peer.due.is_some_and(|due| due <= now))
            .map(|(key, _)| *key)
            .collect();
        for key in calls {
            self.call(key);
        }
        if self.compaction_due.is_some_and(|at| at <= now) {
            self.compaction_due = None;
            tokio::spawn(index::compact_fragmented(self.context.clone(), self.teams.borrow().clone()));
        }
        if self.quarantine_check <= now {
            self.check_quarantine();
        }
        for peer in self.peers.values_mut() {
            peer.check_liveness(now);
            if let Some(live) = &mut peer.live
                && live.compare <= now
            {
                live.compare = now + COMPARE_INTERVAL.mul_f64(0.8 + 0.4 * tasks::chance());
                peer.send(SessionCommand::Compare);
            }
        }
        let due: Vec<EventId> =
            self.pending_compares.iter().filter(|(_, (at, _))| *at <= now).map(|(team, _)| *team).collect();
        for team in due {
            let Some((_, from)) = self.pending_compares.remove(&team) else { continue };
            for ((of, device), peer) in &self.peers {
                // If two peers brought events, each may lack those of the other.
                if *of == team && (from.len() > 1 || !from.contains(device)) {
                    peer.send(SessionCommand::Compare);
                }
            }
        }
    }

    /// Accepts events in quarantine whose date has come, and plans the next check, which is needed although nothing
    /// arrives.
    fn check_quarantine(&mut self) {
        self.quarantine_check = Instant::now() + COMPARE_INTERVAL;
        tokio::spawn(tasks::accept_due(self.context.clone(), self.teams.borrow().clone()));
    }

    fn call(&mut self, key: PeerKey) {
        let (Some(transport), Some(peer)) = (self.transport.clone(), self.peers.get_mut(&key)) else { return };
        peer.due = None;
        if peer.addresses().is_empty() && transport.mode() != NetworkMode::Internet {
            // The peer is dialled once an address is found.
            peer.problem.get_or_insert_with(|| PeerProblem::from_dial_error(&TransportError::NoAddress));
            return peer.end_round();
        }
        let capacity = self.make_room();
        let Some(peer) = self.peers.get_mut(&key) else { return };
        if !capacity {
            peer.due = Some(Instant::now() + NO_CAPACITY_RETRY);
            return;
        }
        peer.dialling = true;
        let (team, device) = key;
        let (addresses, events) = (peer.addresses(), self.shared.events.clone());
        tokio::spawn(tasks::dial(self.context.clone(), transport, team, device, addresses, events));
    }

    async fn handle(&mut self, event: SchedulerEvent) {
        match event {
            SchedulerEvent::Refresh(done) => {
                self.refresh().await;
                if let Some(done) = done {
                    // The roster changed here. Members are notified at once.
                    for peer in self.peers.values_mut() {
                        peer.send(SessionCommand::Roster);
                        if peer.is_refused() {
                            peer.call_soon(Duration::ZERO);
                        }
                    }
                    let _gone = done.send(());
                }
            }
            SchedulerEvent::SetMode(mode, done) => {
                self.settings.mode = mode;
                self.unbind().await;
                self.refresh().await;
                let _gone = done.send(());
            }
            SchedulerEvent::SyncNow(only, answer) => {
                self.rounds += 1;
                self.check_quarantine();
                let reachable = self.transport.is_some() && !self.is_resting();
                for ((_, device), peer) in &mut self.peers {
                    if only.is_none_or(|only| only == *device) {
                        peer.begin_round(self.rounds);
                        if !reachable {
                            peer.end_round();
                        }
                    }
                }
                let _gone = answer.send(self.rounds);
            }
            SchedulerEvent::AddAddress(device, address, done) => {
                self.learn_addresses(device, vec![address], true);
                self.store(StateWrite::Flush(done));
            }
            SchedulerEvent::Transport(answer) => {
                self.refresh().await;
                drop(answer.send(self.transport.clone().ok_or_else(|| self.bind_error())));
            }
            SchedulerEvent::PairingCall(connection) => match self.shared.handler() {
                Some(handler) => drop(tokio::spawn(handler.accept(connection))),
                None => connection.close(endpoint::FORBIDDEN.into(), b"not_paired"),
            },
            SchedulerEvent::PeerFound(device, addresses) => {
                let local = addresses.into_iter().filter(|address| is_local(address.ip())).collect();
                self.learn_addresses(device, local, false);
            }
            SchedulerEvent::AddressesChanged => {
                for peer in self.peers.values_mut() {
                    peer.liveness_check();
                    peer.call_soon(Duration::ZERO);
                }
            }
            SchedulerEvent::AddressContacted(address, what) => self.log_contact(address, what),
            SchedulerEvent::SessionEstablished(established, connection) => {
                self.established(established, connection);
            }
            SchedulerEvent::HandshakeFailed(device, team, ended) => self.handshake_failed(device, team, &ended),
            SchedulerEvent::DialFailed(team, device, error) => {
                if let Some(peer) = self.peers.get_mut(&(team, device)) {
                    peer.dialling = false;
                    if peer.live.is_none() {
                        peer.fail(PeerProblem::from_dial_error(&error), tasks::chance());
                        self.observer.peer(team, device);
                    }
                }
            }
            SchedulerEvent::ViewChanged(key) => self.view_changed(key),
            SchedulerEvent::SessionEnded(key, id, ended) => self.ended(key, id, ended).await,
            SchedulerEvent::Flushed(team, documents) => {
                self.flush_problem = None;
                self.postpone_compaction();
                for ((of, _), peer) in &self.peers {
                    if *of == team {
                        peer.send(SessionCommand::Push(documents.clone()));
                    }
                }
            }
            SchedulerEvent::FlushFailed(message) => self.flush_problem = Some(message),
            SchedulerEvent::Peer(event) => self.peer_event(event).await,
            // The loop handles it.
            SchedulerEvent::Stop(done) => {
                let _gone = done.send(());
            }
        }
    }

    /// Restarts the delay before documents are compacted.
    pub(super) fn postpone_compaction(&mut self) {
        self.compaction_due = Some(Instant::now() + COMPACTION_DELAY);
    }

    /// Reads the rosters again: connects to new members, rejects former ones, and stops listening if no peer is left.
    pub(super) async fn refresh(&mut self) {
        let rosters = match self.rosters().await {
            Ok(rosters) => rosters,
            Err(message) => return self.problem = Some(message),
        };
        let teams: Vec<EventId> = rosters.iter().map(Roster::team).collect();
        let members: HashSet<PeerKey> = rosters
            .iter()
            .flat_map(|roster| roster.members().map(move |member| (roster, member.device)))
            .filter(|(roster, device)| *device != self.me && roster.is_member(device))
            .map(|(roster, device)| (roster.team(), device))
            .collect();
        if self.teams.send_if_modified(|known| std::mem::replace(known, teams.clone()) != teams) {
            self.shared.dirty.notify_one();
        }
        // Former members are notified before the endpoint closes.
        let has_peers = !members.is_empty() || self.peers.values().any(|peer| peer.live.is_some());
        self.bind_if_needed(has_peers).await;
        if let Some(transport) = &self.transport {
            transport.set_members(members.iter().map(|(_, device)| *device));
            transport.discover(!members.is_empty());
        }
        for (key, peer) in &self.peers {
            if !members.contains(key) {
                let reason = "the rejected device no longer belongs to the team".to_owned();
                let revoked = Rejection { code: RejectCode::NotPaired, reason, document: None };
                let rejection = if teams.contains(&key.0) { revoked } else { rejection_after_leaving() };
                peer.send(SessionCommand::Reject(rejection));
            }
        }
        self.peers.retain(|key, peer| members.contains(key) || peer.live.is_some());
        let mut new: Vec<PeerKey> = members.into_iter().filter(|key| !self.peers.contains_key(key)).collect();
        new.sort_unstable();
        let capacity = self.context.limits.peers.saturating_sub(self.peers.len());
        self.excess_members = new.split_off(capacity.min(new.len())).into_iter().collect();
        for key in new {
            let (team, device) = key;
            let read = self.context.engine(move |engine| engine.sync_read(|r| r.peer(&team, &device)));
            self.peers.insert(key, Peer::new(self.me, device, read.await.ok().flatten()));
        }
    }

    /// Returns the rosters of the teams that this device belongs to.
    async fn rosters(&self) -> Result<Vec<Roster>, String> {
        let me = self.me;
        let read = self.context.engine(move |engine| {
            engine.sync_read(|r| {
                let rosters = r.teams_with_rosters()?.into_iter().map(|(_, roster)| roster);
                Ok(rosters.filter(|roster| roster.is_member(&me)).collect())
            })
        });
        read.await.map_err(|error| error.to_string())
    }

    /// Adds addresses of a peer, and dials it soon. Those that a person entered (`given`) are stored. If one side has
    /// rejected the other, the peer is dialled only if an address is new or was entered, because discovery reports the
    /// same addresses again and again.
    fn learn_addresses(&mut self, device: DeviceId, addresses: Vec<SocketAddr>, given: bool) {
        let keys: Vec<PeerKey> = self.peers.keys().filter(|(_, of)| *of == device).copied().collect();
        for key in keys {
            let Some(peer) = self.peers.get_mut(&key) else { continue };
            let known = peer.addresses();
            let unknown = addresses.iter().any(|address| !known.contains(address));
            // If none of these is the address of the connection, the peer may have moved.
            let reached =
                peer.connection().map(|connection| endpoint::remote_addresses(&connection)).unwrap_or_default();
            if !addresses.is_empty() && !reached.iter().any(|at| addresses.contains(at)) {
                peer.liveness_check();
            }
            let wait = decisions::first_call_delay(self.me, device);
            if given {
                peer.call_soon(wait);
                if peer.add_addresses(addresses.iter().copied()) {
                    self.save_peer(key);
                }
            } else {
                peer.add_found(addresses.iter().copied());
                if unknown || !peer.is_refused() {
                    peer.call_after(wait);
                }
            }
        }
    }

    /// Stores the state of a peer, without waiting for it.
    pub(super) fn save_peer(&self, key: PeerKey) {
        if let Some(peer) = self.peers.get(&key) {
            self.store(StateWrite::Peer(Box::new(peer.row(key))));
        }
    }

    /// Stores a contact with an address, without waiting for it.
    fn log_contact(&mut self, address: String, what: &'static str) {
        let now = Instant::now();
        let key = (address, what);
        if self.logged_contacts.get(&key).is_some_and(|last| now.duration_since(*last) < CONTACT_LOG_INTERVAL) {
            return;
        }
        let address = key.0.clone();
        self.logged_contacts.retain(|_, last| now.duration_since(*last) < CONTACT_LOG_INTERVAL);
        self.logged_contacts.insert(key, now);
        self.store(StateWrite::Contact { address, what, at: (self.context.engine.config().clock)() });
    }

    fn store(&self, write: StateWrite) {
        // The writer ends after the scheduler.
        drop(self.state_writes.send(write));
    }

    async fn stop(&mut self) {
        self.flush_task.abort();
        self.unbind().await;
        let (done, stored) = oneshot::channel();
        self.store(StateWrite::Flush(done));
        drop(stored.await);
        self.publish_status();
    }
}
