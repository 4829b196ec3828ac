//! The scheduler's state of each peer.

use std::{net::SocketAddr, time::Duration};

use iroh::endpoint::{Connection, WeakConnectionHandle};
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};

use super::{
    decisions,
    status::{PeerProblem, PeerStatus},
};
use crate::{
    domain::{DeviceId, EventId},
    store::PeerRow,
    sync::{
        endpoint,
        session::{SessionCommand, SessionProblem, SessionSide, SessionView},
    },
};

/// The most addresses of a peer of each origin that are kept. The oldest are dropped first.
const MAX_ADDRESSES: usize = 8;

/// A peer within a team.
pub(super) type PeerKey = (EventId, DeviceId);

/// The scheduler's handle to a running session.
pub(super) struct SessionHandle {
    /// Distinguishes the session from others with the same peer.
    pub(super) id: u64,
    pub(super) side: SessionSide,
    /// The peer's [`SyncContext::instance`](crate::sync::session::SyncContext::instance).
    pub(super) instance: u64,
    pub(super) commands: mpsc::UnboundedSender<SessionCommand>,
    pub(super) view: watch::Receiver<SessionView>,
    /// Weak, because the session's task owns the connection.
    pub(super) connection: WeakConnectionHandle,
    /// The time of the next comparison.
    pub(super) compare: Instant,
    pub(super) since: Instant,
    /// Whether the session was told to end, to make room for another.
    pub(super) stopping: bool,
    /// A pending liveness check: its deadline, and the bytes received when it began.
    pub(super) liveness_check: Option<(Instant, u64)>,
}

/// Another member of a team.
pub(super) struct Peer {
    /// Addresses that a person entered or at which the peer was reached. They are stored.
    addresses: Vec<SocketAddr>,
    /// Addresses that were discovered. Anyone on the network can announce them, so they never replace the others.
    found: Vec<SocketAddr>,
    pub(super) live: Option<SessionHandle>,
    pub(super) dialling: bool,
    pub(super) failures: u32,
    /// The time of the next dial; `None` if none is planned.
    pub(super) due: Option<Instant>,
    pub(super) last_seen: Option<u64>,
    pub(super) last_sync: Option<u64>,
    pub(super) missing: (u64, u64),
    pub(super) problem: Option<PeerProblem>,
    /// The kind of path of the last connection.
    pub(super) via: Option<endpoint::PathKind>,
    /// Events that finished sessions have stored here.
    pub(super) received: u64,
    /// The last round that a person asked for, and the last round that ended without a session.
    pub(super) rounds: (u64, u64),
}

impl Peer {
    /// Creates a peer from its stored row; it is dialled soon.
    pub(super) fn new(me: DeviceId, device: DeviceId, row: Option<PeerRow>) -> Self {
        let row = row.as_ref();
        let addresses = row.map(|row| row.addresses.iter().filter_map(|address| address.parse().ok()).collect());
        let problem = row.and_then(|row| row.last_error.clone());
        Self {
            addresses: addresses.unwrap_or_default(),
            found: Vec::new(),
            live: None,
            dialling: false,
            failures: 0,
            due: Some(Instant::now() + decisions::first_call_delay(me, device)),
            last_seen: row.and_then(|row| row.last_seen),
            last_sync: row.and_then(|row| row.last_sync),
            missing: row.map_or((0, 0), |row| (row.behind, row.ahead)),
            problem: problem.map(|message| PeerProblem { message, advice: None, transient: true }),
            via: None,
            received: 0,
            rounds: (0, 0),
        }
    }

    /// Begins a round that a person asked for: compares if the peer is connected, else dials it.
    pub(super) fn begin_round(&mut self, number: u64) {
        self.rounds.0 = number;
        if self.live.is_some() {
            self.send(SessionCommand::Round(number));
        } else {
            self.call_soon(Duration::ZERO);
        }
    }

    /// Ends the round, because the peer was not reached or the session ended.
    pub(super) fn end_round(&mut self) {
        self.rounds.1 = self.rounds.0;
    }

    /// Whether one side rejected the other. Such a peer is dialled again after a local change.
    pub(super) fn is_refused(&self) -> bool {
        self.live.is_none() && self.problem.as_ref().is_some_and(|problem| !problem.transient)
    }

    /// Dials the peer after `wait`, or earlier if that is already planned. The next failure counts as the first.
    pub(super) fn call_soon(&mut self, wait: Duration) {
        self.failures = 0;
        self.call_after(wait);
    }

    /// Dials the peer after `wait`, or earlier if that is already planned.
    pub(super) fn call_after(&mut self, wait: Duration) {
        if self.live.is_none() {
            let soon = Instant::now() + wait;
            self.due = Some(self.due.map_or(soon, |due| due.min(soon)));
        }
    }

    /// Records a failed dial or session, and plans the next dial.
    pub(super) fn fail(&mut self, problem: PeerProblem, chance: f64) {
        self.end_round();
        self.failures = self.failures.saturating_add(1);
        self.due = Some(Instant::now() + decisions::backoff(self.failures, chance));
        self.problem = Some(problem);
    }

    /// Returns the addresses at which to dial the peer.
    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        let found = self.found.iter().filter(|address| !self.addresses.contains(address));
        self.addresses.iter().chain(found).copied().collect()
    }

    /// Adds addresses that a person entered or at which the peer was reached. Returns whether anything changed.
    pub(super) fn add_addresses(&mut self, addresses: impl IntoIterator<Item = SocketAddr>) -> bool {
        add_in_front(&mut self.addresses, addresses)
    }

    /// Adds addresses that were discovered.
    pub(super) fn add_found(&mut self, addresses: impl IntoIterator<Item = SocketAddr>) {
        add_in_front(&mut self.found, addresses);
    }

    pub(super) fn send(&self, command: SessionCommand) {
        if let Some(live) = &self.live {
            // If the session's task is ending, the task itself reports that.
            drop(live.commands.send(command));
        }
    }

    pub(super) fn connection(&self) -> Option<Connection> {
        self.live.as_ref().and_then(|live| live.connection.upgrade())
    }

    /// Asks the peer to compare, and expects a packet before the deadline.
    pub(super) fn liveness_check(&mut self) {
        let Some(connection) = self.connection() else { return };
        self.send(SessionCommand::Compare);
        if let Some(live) = &mut self.live {
            let received = endpoint::traffic(&connection).received;
            live.liveness_check.get_or_insert((Instant::now() + decisions::LIVENESS_TIMEOUT, received));
        }
    }

    /// Closes the connection if the peer has sent nothing since the liveness check began.
    pub(super) fn check_liveness(&mut self, now: Instant) {
        let Some(connection) = self.connection() else { return };
        let Some(live) = &mut self.live else { return };
        if let Some((_, received)) = live.liveness_check.take_if(|(at, _)| *at <= now)
            && endpoint::traffic(&connection).received == received
        {
            endpoint::close_unresponsive(&connection);
        }
    }

    pub(super) fn status(&self, (team, device): PeerKey) -> PeerStatus {
        let view = self.live.as_ref().map(|live| live.view.borrow().clone());
        let connection = self.connection();
        let route = connection.as_ref().and_then(endpoint::route);
        let traffic = connection.as_ref().map(endpoint::traffic).unwrap_or_default();
        let (missing_here, missing_at_peer) =
            view.as_ref().map_or(self.missing, |view| (view.missing_here, view.missing_at_peer));
        let minor = view.as_ref().and_then(|view| view.problem.clone());
        let minor = minor.map(|SessionProblem { message, transient }| PeerProblem { message, advice: None, transient });
        PeerStatus {
            team,
            device,
            session: view.as_ref().map(|view| view.phase),
            route,
            traffic,
            addresses: self.addresses(),
            last_seen: self.last_seen,
            last_sync: view.as_ref().and_then(|view| view.last_sync).max(self.last_sync),
            missing_here,
            missing_at_peer,
            in_sync: view.as_ref().is_some_and(|view| view.in_sync),
            received: self.received + view.as_ref().map_or(0, |view| view.received),
            round: view.as_ref().map_or(0, |view| view.round).max(self.rounds.1),
            clock_skew_ms: view.as_ref().map(|view| view.clock_skew_ms),
            not_accepted: view.as_ref().map_or(0, |view| view.not_accepted),
            problem: minor.or_else(|| self.problem.clone().filter(|_| self.live.is_none())),
        }
    }

    /// Returns the row to store.
    pub(super) fn row(&self, key: PeerKey) -> PeerRow {
        let status = self.status(key);
        PeerRow {
            device: status.device,
            team: status.team,
            name: None,
            addresses: self.addresses.iter().map(ToString::to_string).collect(),
            last_seen: status.last_seen,
            last_sync: status.last_sync,
            last_error: status.problem.map(|problem| problem.message),
            behind: status.missing_here,
            ahead: status.missing_at_peer,
            digests_equal: status.in_sync,
            via: self.via.map(|path| path.as_str().to_owned()),
        }
    }
}

/// Adds addresses in front of the older ones. Returns whether anything changed.
fn add_in_front(to: &mut Vec<SocketAddr>, addresses: impl IntoIterator<Item = SocketAddr>) -> bool {
    let before = to.clone();
    for address in addresses {
        to.retain(|known| *known != address);
        to.insert(0, address);
    }
    to.truncate(MAX_ADDRESSES);
    before != *to
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announced_addresses_neither_replace_nor_outlive_those_that_are_known() {
        let (me, device) = (DeviceId([1; 32]), DeviceId([2; 32]));
        let at = |n: u8| SocketAddr::from(([10, 0, 0, n], 47_120));
        let mut peer = Peer::new(me, device, None);
        assert!(peer.add_addresses([at(1)]));
        peer.failures = 5;
        for n in 2..30 {
            peer.add_found([at(n)]);
            peer.call_after(Duration::ZERO);
        }
        assert_eq!(peer.failures, 5, "an announcement does not end the backoff");
        let dialled = peer.addresses();
        assert_eq!((dialled.len(), dialled[0], dialled[1]), (1 + MAX_ADDRESSES, at(1), at(29)));
        assert_eq!(peer.row((EventId([3; 32]), device)).addresses, [at(1).to_string()]);
        // An address at which the peer was reached is kept, and is dialled once.
        assert!(peer.add_addresses([at(29)]) && !peer.add_addresses([at(29)]));
        assert_eq!(peer.addresses().iter().filter(|address| **address == at(29)).count(), 1);
    }
}
