//! What the conductor keeps of each peer.

use std::{net::SocketAddr, time::Duration};

use iroh::endpoint::{Connection, WeakConnectionHandle};
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};

use super::{
    schedule,
    status::{PeerStatus, Trouble},
};
use crate::{
    domain::{DeviceId, EventId},
    store::PeerRow,
    sync::{
        endpoint,
        session::{Command, Side, View},
    },
};

/// Addresses that are remembered of a peer; the oldest go first.
const ADDRESSES: usize = 8;

/// A peer in one team.
pub(super) type Key = (EventId, DeviceId);

/// A live session, as the conductor holds it.
pub(super) struct Live {
    /// Tells it from others with the same peer.
    pub(super) id: u64,
    pub(super) side: Side,
    /// Of the peer.
    pub(super) instance: u64,
    pub(super) commands: mpsc::UnboundedSender<Command>,
    pub(super) view: watch::Receiver<View>,
    /// Weak: the session's task holds the connection.
    pub(super) connection: WeakConnectionHandle,
    /// When the two compare again.
    pub(super) compare: Instant,
    /// When it began.
    pub(super) since: Instant,
    /// Whether the other end is still there is not known: it has until then to be heard from beyond so many bytes.
    pub(super) doubt: Option<(Instant, u64)>,
}

/// Another member of a team.
pub(super) struct Peer {
    pub(super) addresses: Vec<SocketAddr>,
    pub(super) live: Option<Live>,
    pub(super) dialling: bool,
    pub(super) failures: u32,
    /// When it is called; `None` where there is no reason to.
    pub(super) due: Option<Instant>,
    pub(super) last_seen: Option<u64>,
    pub(super) last_sync: Option<u64>,
    pub(super) lacks: (u64, u64),
    pub(super) trouble: Option<Trouble>,
    /// How it was reached last.
    pub(super) via: Option<endpoint::Path>,
    /// Events that sessions which are over stored here.
    pub(super) received: u64,
    /// The last round that a person asked for, and the last that ended without a session.
    pub(super) rounds: (u64, u64),
}

impl Peer {
    /// A peer as it was remembered, to be called soon.
    pub(super) fn new(me: DeviceId, device: DeviceId, row: Option<PeerRow>) -> Self {
        let row = row.as_ref();
        let addresses = row.map(|row| row.addresses.iter().filter_map(|address| address.parse().ok()).collect());
        let trouble = row.and_then(|row| row.last_error.clone());
        Self {
            addresses: addresses.unwrap_or_default(),
            live: None,
            dialling: false,
            failures: 0,
            due: Some(Instant::now() + schedule::courtesy(me, device)),
            last_seen: row.and_then(|row| row.last_seen),
            last_sync: row.and_then(|row| row.last_sync),
            lacks: row.map_or((0, 0), |row| (row.behind, row.ahead)),
            trouble: trouble.map(|words| Trouble { words, advice: None, quiet: true }),
            via: None,
            received: 0,
            rounds: (0, 0),
        }
    }

    /// A person wants to know how it stands: it is asked, or called.
    pub(super) fn begin_round(&mut self, number: u64) {
        self.rounds.0 = number;
        if self.live.is_some() {
            self.send(Command::Round(number));
        } else {
            self.hurry(Duration::ZERO);
        }
    }

    /// It was not reached, or the session came to an end: that is what came of the round.
    pub(super) fn end_round(&mut self) {
        self.rounds.1 = self.rounds.0;
    }

    /// What it said no to, or was told no: worth another try once something changed here.
    pub(super) fn is_refused(&self) -> bool {
        self.live.is_none() && self.trouble.as_ref().is_some_and(|trouble| !trouble.quiet)
    }

    /// It is wanted at once, or as soon as courtesy allows.
    pub(super) fn hurry(&mut self, wait: Duration) {
        self.failures = 0;
        if self.live.is_none() {
            let soon = Instant::now() + wait;
            self.due = Some(self.due.map_or(soon, |due| due.min(soon)));
        }
    }

    /// A call or a session failed.
    pub(super) fn fail(&mut self, trouble: Trouble, chance: f64) {
        self.end_round();
        self.failures = self.failures.saturating_add(1);
        self.due = Some(Instant::now() + schedule::backoff(self.failures, chance));
        self.trouble = Some(trouble);
    }

    /// Remembers addresses, the latest first.
    pub(super) fn learn(&mut self, addresses: impl IntoIterator<Item = SocketAddr>) -> bool {
        let before = self.addresses.clone();
        for address in addresses {
            self.addresses.retain(|known| *known != address);
            self.addresses.insert(0, address);
        }
        self.addresses.truncate(ADDRESSES);
        before != self.addresses
    }

    pub(super) fn send(&self, command: Command) {
        if let Some(live) = &self.live {
            // Its task is ending: it will say so.
            drop(live.commands.send(command));
        }
    }

    pub(super) fn connection(&self) -> Option<Connection> {
        self.live.as_ref().and_then(|live| live.connection.upgrade())
    }

    /// The other end may be gone: it is asked for a sign of life, once.
    pub(super) fn doubt(&mut self) {
        let Some(connection) = self.connection() else { return };
        self.send(Command::Compare);
        if let Some(live) = &mut self.live {
            let heard = endpoint::traffic(&connection).received;
            live.doubt.get_or_insert((Instant::now() + schedule::ANSWER, heard));
        }
    }

    /// Gives up a session whose other end was asked and has not been heard from in time.
    pub(super) fn end_doubt(&mut self, now: Instant) {
        let Some(connection) = self.connection() else { return };
        let Some(live) = &mut self.live else { return };
        if let Some((_, heard)) = live.doubt.take_if(|(at, _)| *at <= now)
            && endpoint::traffic(&connection).received == heard
        {
            endpoint::give_up(&connection);
        }
    }

    pub(super) fn status(&self, (team, device): Key) -> PeerStatus {
        let view = self.live.as_ref().map(|live| live.view.borrow().clone());
        let connection = self.connection();
        let route = connection.as_ref().and_then(endpoint::route);
        let traffic = connection.as_ref().map(endpoint::traffic).unwrap_or_default();
        let (we_lack, they_lack) = view.as_ref().map_or(self.lacks, |view| (view.we_lack, view.they_lack));
        let minor = view.as_ref().and_then(|view| view.trouble.clone());
        let minor = minor.map(|words| Trouble { words, advice: None, quiet: false });
        PeerStatus {
            team,
            device,
            session: view.as_ref().map(|view| view.phase),
            route,
            traffic,
            addresses: self.addresses.clone(),
            last_seen: self.last_seen,
            last_sync: view.as_ref().and_then(|view| view.last_sync).max(self.last_sync),
            we_lack,
            they_lack,
            equal: view.as_ref().is_some_and(|view| view.equal),
            received: self.received + view.as_ref().map_or(0, |view| view.received),
            round: view.as_ref().map_or(0, |view| view.round).max(self.rounds.1),
            skew: view.as_ref().map(|view| view.skew),
            quarantined: view.as_ref().map_or(0, |view| view.quarantined),
            not_taken: view.as_ref().map_or(0, |view| view.not_taken),
            trouble: minor.or_else(|| self.trouble.clone().filter(|_| self.live.is_none())),
        }
    }

    /// What is remembered of it.
    pub(super) fn row(&self, key: Key) -> PeerRow {
        let status = self.status(key);
        PeerRow {
            device: status.device,
            team: status.team,
            name: None,
            addresses: status.addresses.iter().map(ToString::to_string).collect(),
            last_seen: status.last_seen,
            last_sync: status.last_sync,
            last_error: status.trouble.map(|trouble| trouble.words),
            behind: status.we_lack,
            ahead: status.they_lack,
            digests_equal: status.equal,
            via: self.via.map(|path| path.as_str().to_owned()),
        }
    }
}
