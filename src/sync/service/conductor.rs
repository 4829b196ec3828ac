//! The one task that decides.

use std::{
    collections::{HashMap, HashSet},
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use iroh::endpoint::Connection;
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::AbortHandle,
    time::{Instant, sleep, sleep_until},
};

use super::{
    Observer, Settings, Shared,
    peers::{Key, Peer},
    schedule,
    status::Trouble,
    tasks::{self, Ear},
};
use crate::{
    domain::{DeviceId, EventId, roster::Roster},
    sync::{
        endpoint::{self, EndpointError, Mode, Options, Transport, is_local},
        frame::{Code, Refused},
        index,
        session::{Command, Context, Ended, Greeted, News, Place},
    },
};

/// How often two who are connected compare, though nothing is known to have changed.
pub(super) const COMPARE: Duration = Duration::from_mins(1);

/// How long what one peer brought waits before the others are asked whether they have it: most have it from where it came.
pub(super) const RELAY: Duration = Duration::from_millis(150);

/// After this long without news, documents are put in order.
const QUIET: Duration = Duration::from_secs(30);

/// How long a peer for which there is no session waits.
const NO_ROOM: Duration = Duration::from_secs(30);

/// An address that is contacted again is noted again after this time.
const NOTE_AGAIN: Duration = Duration::from_hours(1);

/// What the conductor is told.
pub(super) enum Event {
    Refresh(Option<oneshot::Sender<()>>),
    SetMode(Option<Mode>, oneshot::Sender<()>),
    SyncNow(Option<DeviceId>, oneshot::Sender<u64>),
    AddAddress(DeviceId, SocketAddr, oneshot::Sender<()>),
    Transport(oneshot::Sender<Result<Arc<Transport>, EndpointError>>),
    Stop(oneshot::Sender<()>),
    CalledToPair(Connection),
    Found(DeviceId, Vec<SocketAddr>),
    /// This device is reached elsewhere.
    Moved,
    Contacted(String, &'static str),
    Greeted(Greeted, Connection),
    NotGreeted(DeviceId, Option<EventId>, Ended),
    NotReached(EventId, DeviceId, EndpointError),
    Seen(Key),
    Ended(Key, u64, Ended),
    Flushed(EventId, Vec<(Place, Vec<EventId>)>),
    NotFlushed(String),
    News(News),
}

/// Its state.
pub(super) struct Conductor {
    pub(super) settings: Settings,
    pub(super) context: Context,
    pub(super) shared: Arc<Shared>,
    pub(super) observer: Arc<dyn Observer>,
    pub(super) me: DeviceId,
    pub(super) transport: Option<Arc<Transport>>,
    /// Why there is none, though one is wanted.
    pub(super) problem: Option<String>,
    /// Why events wait for their documents.
    pub(super) stuck: Option<String>,
    /// Why what peers send cannot be stored, until something was.
    pub(super) full: Option<String>,
    pub(super) peers: HashMap<Key, Peer>,
    pub(super) teams: watch::Sender<Vec<EventId>>,
    pub(super) flushing: AbortHandle,
    /// How often in a row it could not be listened, and the task that lets it be tried again.
    deaf: u32,
    rebind: Option<AbortHandle>,
    /// When the sessions of a team, but the one that brought something, compare.
    pub(super) relay: HashMap<EventId, (Instant, HashSet<DeviceId>)>,
    pub(super) noted: HashMap<(String, &'static str), Instant>,
    pub(super) sessions: u64,
    /// Rounds that were asked for.
    rounds: u64,
    /// Members that are not spoken with, since there are too many.
    pub(super) left_out: usize,
    /// A peer waits for its turn, since all sessions are taken.
    pub(super) crowded: bool,
    /// When documents are looked over, after something changed and then nothing more.
    tidy: Option<Instant>,
}

impl Conductor {
    pub(super) fn new(settings: Settings, context: Context, shared: Arc<Shared>, observer: Arc<dyn Observer>) -> Self {
        let (teams, known) = watch::channel(Vec::new());
        let dirty = Arc::clone(&shared.dirty);
        // What waits from before the last end.
        dirty.notify_one();
        let flushing = tokio::spawn(tasks::flush(context.clone(), known, dirty, shared.events.clone())).abort_handle();
        Self {
            me: DeviceId(settings.key.verifying_key().to_bytes()),
            settings,
            context,
            shared,
            observer,
            transport: None,
            problem: None,
            stuck: None,
            full: None,
            peers: HashMap::new(),
            teams,
            flushing,
            deaf: 0,
            rebind: None,
            relay: HashMap::new(),
            noted: HashMap::new(),
            sessions: 0,
            rounds: 0,
            left_out: 0,
            crowded: false,
            tidy: Some(Instant::now() + QUIET),
        }
    }

    /// Works until it is told to stop.
    pub(super) async fn run(mut self, mut events: mpsc::UnboundedReceiver<Event>) {
        loop {
            let due = self.due();
            tokio::select! {
                event = events.recv() => match event {
                    None => return self.stop().await,
                    Some(Event::Stop(done)) => {
                        self.stop().await;
                        let _gone = done.send(());
                        return;
                    }
                    Some(event) => self.handle(event).await,
                },
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => self.act(),
            }
            if let Some(transport) = &self.transport {
                transport.seek(self.peers.values().any(|peer| peer.live.is_none()));
            }
            self.show();
        }
    }

    /// When there is something to do though nobody says so; `None` is for ever.
    fn due(&self) -> Option<Instant> {
        let of_peers = self.peers.values().filter_map(|peer| match &peer.live {
            Some(live) => Some(live.doubt.map_or(live.compare, |(at, _)| at.min(live.compare))),
            None => peer.due.filter(|_| !peer.dialling && self.transport.is_some()),
        });
        of_peers.chain(self.relay.values().map(|(at, _)| *at)).chain(self.tidy).min()
    }

    /// Does what is due.
    fn act(&mut self) {
        let now = Instant::now();
        let calls: Vec<Key> = self
            .peers
            .iter()
            .filter(|(_, peer)| peer.live.is_none() && !peer.dialling && peer.due.is_some_and(|due| due <= now))
            .map(|(key, _)| *key)
            .collect();
        for key in calls {
            self.call(key);
        }
        if self.tidy.is_some_and(|at| at <= now) {
            self.tidy = None;
            tokio::spawn(index::tidy(self.context.clone(), self.teams.borrow().clone()));
        }
        for peer in self.peers.values_mut() {
            peer.end_doubt(now);
            if let Some(live) = &mut peer.live
                && live.compare <= now
            {
                live.compare = now + COMPARE.mul_f64(0.8 + 0.4 * tasks::chance());
                peer.send(Command::Compare);
            }
        }
        let due: Vec<EventId> = self.relay.iter().filter(|(_, (at, _))| *at <= now).map(|(team, _)| *team).collect();
        for team in due {
            let Some((_, from)) = self.relay.remove(&team) else { continue };
            for ((of, device), peer) in &self.peers {
                // Two who brought something may lack what the other brought.
                if *of == team && (from.len() > 1 || !from.contains(device)) {
                    peer.send(Command::Compare);
                }
            }
        }
    }

    fn call(&mut self, key: Key) {
        let (Some(transport), Some(peer)) = (self.transport.clone(), self.peers.get_mut(&key)) else { return };
        peer.due = None;
        if peer.addresses.is_empty() && transport.mode() != Mode::Internet {
            // Until it is found.
            peer.trouble.get_or_insert_with(|| Trouble::of_call(&EndpointError::NoAddress));
            return peer.end_round();
        }
        let room = self.make_room();
        let Some(peer) = self.peers.get_mut(&key) else { return };
        if !room {
            peer.due = Some(Instant::now() + NO_ROOM);
            return;
        }
        peer.dialling = true;
        let (team, device) = key;
        let (addresses, events) = (peer.addresses.clone(), self.shared.events.clone());
        tokio::spawn(tasks::dial(self.context.clone(), transport, team, device, addresses, events));
    }

    async fn handle(&mut self, event: Event) {
        match event {
            Event::Refresh(done) => {
                self.refresh().await;
                if let Some(done) = done {
                    // The roster was changed here: those who stay hear of it at once.
                    for peer in self.peers.values_mut() {
                        peer.send(Command::Roster);
                        if peer.is_refused() {
                            peer.hurry(Duration::ZERO);
                        }
                    }
                    let _gone = done.send(());
                }
            }
            Event::SetMode(mode, done) => {
                self.settings.mode = mode;
                self.unbind().await;
                self.refresh().await;
                let _gone = done.send(());
            }
            Event::SyncNow(only, answer) => {
                self.rounds += 1;
                let reachable = self.transport.is_some();
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
            Event::AddAddress(device, address, done) => {
                self.learn(device, vec![address]).await;
                let _gone = done.send(());
            }
            Event::Transport(answer) => {
                self.refresh().await;
                drop(answer.send(self.transport.clone().ok_or_else(|| self.why_none())));
            }
            Event::CalledToPair(connection) => match self.shared.handler() {
                Some(handler) => drop(tokio::spawn(handler.accept(connection))),
                None => connection.close(endpoint::FORBIDDEN.into(), b"not_paired"),
            },
            Event::Found(device, addresses) => {
                let local = addresses.into_iter().filter(|address| is_local(address.ip())).collect();
                self.learn(device, local).await;
            }
            Event::Moved => {
                for peer in self.peers.values_mut() {
                    peer.doubt();
                    peer.hurry(Duration::ZERO);
                }
            }
            Event::Contacted(address, what) => self.note(address, what).await,
            Event::Greeted(greeted, connection) => self.greeted(greeted, connection).await,
            Event::NotGreeted(device, team, ended) => self.not_greeted(device, team, &ended),
            Event::NotReached(team, device, error) => {
                if let Some(peer) = self.peers.get_mut(&(team, device)) {
                    peer.dialling = false;
                    if peer.live.is_none() {
                        peer.fail(Trouble::of_call(&error), tasks::chance());
                        self.observer.peer(team, device);
                    }
                }
            }
            Event::Seen(key) => self.seen(key).await,
            Event::Ended(key, id, ended) => self.ended(key, id, ended).await,
            Event::Flushed(team, documents) => {
                self.stuck = None;
                self.stirred();
                for ((of, _), peer) in &self.peers {
                    if *of == team {
                        peer.send(Command::Push(documents.clone()));
                    }
                }
            }
            Event::NotFlushed(words) => self.stuck = Some(words),
            Event::News(news) => self.news(news).await,
            // Handled by the loop.
            Event::Stop(done) => {
                let _gone = done.send(());
            }
        }
    }

    /// Something changed: documents are put in order once nothing more does.
    pub(super) fn stirred(&mut self) {
        self.tidy = Some(Instant::now() + QUIET);
    }

    /// Reads the teams anew: who is a member, who is not any more, and whether there is anybody to talk to.
    pub(super) async fn refresh(&mut self) {
        let rosters = match self.rosters().await {
            Ok(rosters) => rosters,
            Err(words) => return self.problem = Some(words),
        };
        let teams: Vec<EventId> = rosters.iter().map(Roster::team).collect();
        let members: HashSet<Key> = rosters
            .iter()
            .flat_map(|roster| roster.members().map(move |member| (roster, member.device)))
            .filter(|(roster, device)| *device != self.me && roster.is_member(device))
            .map(|(roster, device)| (roster.team(), device))
            .collect();
        if self.teams.send_if_modified(|known| std::mem::replace(known, teams.clone()) != teams) {
            self.shared.dirty.notify_one();
        }
        // Who is not wanted any more is told before nobody listens.
        let company = !members.is_empty() || self.peers.values().any(|peer| peer.live.is_some());
        self.bind_where_wanted(company).await;
        if let Some(transport) = &self.transport {
            transport.set_members(members.iter().map(|(_, device)| *device));
            transport.discover(true);
        }
        for (key, peer) in &self.peers {
            if !members.contains(key) {
                let words = "your device does not belong to the team any more".to_owned();
                peer.send(Command::Refuse(Refused { code: Code::NotPaired, words, document: None }));
            }
        }
        self.peers.retain(|key, peer| members.contains(key) || peer.live.is_some());
        let mut new: Vec<Key> = members.into_iter().filter(|key| !self.peers.contains_key(key)).collect();
        new.sort_unstable();
        let room = self.context.limits.peers.saturating_sub(self.peers.len());
        self.left_out = new.len().saturating_sub(room);
        new.truncate(room);
        for key in new {
            let (_, device) = key;
            let row = self.context.engine(move |engine| engine.sync_read(|r| r.peer(&device))).await.ok().flatten();
            self.peers.insert(key, Peer::new(self.me, device, row));
        }
    }

    /// The rosters of the teams that this device belongs to.
    async fn rosters(&self) -> Result<Vec<Roster>, String> {
        let me = self.me;
        let read = self.context.engine(move |engine| {
            engine.sync_read(|r| {
                let mut rosters = Vec::new();
                for team in r.teams()? {
                    rosters.extend(r.roster(&team.id)?.filter(|roster| roster.is_member(&me)));
                }
                Ok(rosters)
            })
        });
        read.await.map_err(|error| error.to_string())
    }

    /// Listens where there is company, or a window is open.
    async fn bind_where_wanted(&mut self, company: bool) {
        let mode = self.settings.mode.unwrap_or(Mode::Lan);
        let wanted = mode != Mode::Off && (company || self.shared.windows.load(Ordering::Relaxed) > 0);
        if !wanted {
            self.problem = None;
            return self.unbind().await;
        }
        if self.transport.is_some() {
            return;
        }
        let lease = self.settings.leases.as_ref().map(|folder| folder.join(format!("ergo-{}.lease", self.me.short())));
        let options = Options {
            key: self.settings.key.clone(),
            mode,
            relay: self.settings.relay.clone(),
            port: self.settings.port,
            loopback: self.settings.loopback,
            lease,
        };
        let ear = Ear::new(self.context.clone(), self.shared.events.clone());
        match Transport::bind(options, Arc::new(ear)).await {
            Ok(transport) => {
                self.problem = None;
                self.deaf = 0;
                self.transport = Some(Arc::new(transport));
            }
            Err(error) => {
                let problem = error.to_string();
                if self.problem.as_ref() != Some(&problem) {
                    tracing::warn!(%error, "peers cannot be reached");
                }
                self.problem = Some(problem);
                // What is in the way may go: this device's own last socket, which is still closing, for one.
                self.deaf = self.deaf.saturating_add(1);
                let wait = schedule::backoff(self.deaf, tasks::chance());
                let events = self.shared.events.clone();
                let again = tokio::spawn(async move {
                    sleep(wait).await;
                    drop(events.send(Event::Refresh(None)));
                });
                if let Some(old) = self.rebind.replace(again.abort_handle()) {
                    old.abort();
                }
            }
        }
    }

    async fn unbind(&mut self) {
        let Some(transport) = self.transport.take() else { return };
        for peer in self.peers.values() {
            peer.send(Command::Stop);
        }
        transport.close().await;
        tracing::info!("peers are not listened for any more");
    }

    fn why_none(&self) -> EndpointError {
        let mode_is_off = "sync.mode is off: `ergo sync mode lan` turns it on";
        EndpointError::Bind(self.problem.clone().unwrap_or_else(|| mode_is_off.to_owned()))
    }

    async fn learn(&mut self, device: DeviceId, addresses: Vec<SocketAddr>) {
        let keys: Vec<Key> = self.peers.keys().filter(|(_, of)| *of == device).copied().collect();
        for key in keys {
            let Some(peer) = self.peers.get_mut(&key) else { continue };
            let new = peer.learn(addresses.iter().copied());
            // It is elsewhere than where this device speaks with it.
            let reached =
                peer.connection().map(|connection| endpoint::remote_addresses(&connection)).unwrap_or_default();
            if !addresses.is_empty() && !reached.iter().any(|at| addresses.contains(at)) {
                peer.doubt();
            }
            peer.hurry(schedule::courtesy(self.me, device));
            if new {
                self.remember(key).await;
            }
        }
    }

    /// Writes down what is known of a peer.
    pub(super) async fn remember(&self, key: Key) {
        let Some(row) = self.peers.get(&key).map(|peer| peer.row(key)) else { return };
        let written = self.context.engine(move |engine| engine.sync_write(|store| store.write_peer(&row))).await;
        if let Err(error) = written {
            tracing::warn!(%error, "what is known of a peer could not be written down");
        }
    }

    /// Writes down that an address was contacted.
    async fn note(&mut self, address: String, what: &'static str) {
        let now = Instant::now();
        let key = (address, what);
        if self.noted.get(&key).is_some_and(|last| now.duration_since(*last) < NOTE_AGAIN) {
            return;
        }
        let address = key.0.clone();
        self.noted.insert(key, now);
        let written = self.context.engine(move |engine| {
            let now = (engine.config().clock)();
            engine.sync_write(|store| store.note_contact(&address, what, now))
        });
        if let Err(error) = written.await {
            tracing::warn!(%error, "an address that was contacted could not be written down");
        }
    }

    async fn stop(&mut self) {
        self.flushing.abort();
        self.unbind().await;
        self.show();
    }
}
