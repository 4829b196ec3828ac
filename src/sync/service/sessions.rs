//! The scheduler's handling of sessions that begin, change and end.

use std::collections::HashSet;

use iroh::endpoint::Connection;
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};

use super::{
    decisions::{self, KeptSession},
    peers::{PeerKey, SessionHandle},
    scheduler::{COMPARE_DELAY, COMPARE_INTERVAL, Scheduler},
    status::PeerProblem,
    tasks,
};
use crate::{
    domain::{DeviceId, EventId},
    sync::{
        endpoint::{self, NetworkMode, is_local},
        frame::RejectCode,
        session::{EstablishedSession, PeerEvent, SessionCommand, SessionEnd, SessionSide, SessionView},
    },
};

/// The interval at which the state of a peer that stays in sync is stored, in milliseconds.
const SAVE_INTERVAL_MS: u64 = 60_000;

/// The number of failures by which the next dial is delayed after the peer ended the session, or after it made room for
/// another. The peer dials when it is back.
const CLOSED_BACKOFF: u32 = 4;

impl Scheduler {
    pub(super) fn established(&mut self, established: EstablishedSession, connection: Connection) {
        let key = (established.team, established.peer);
        let lan = self.transport.as_ref().is_some_and(|transport| transport.mode() == NetworkMode::Lan);
        let Some(peer) = self.peers.get_mut(&key) else {
            let (code, reason) = if self.excess_members.contains(&key) {
                (RejectCode::Busy, "the peer has reached its limit of peers; it will be retried")
            } else {
                (RejectCode::RosterStale, "this device is not on the peer's copy of the team's roster")
            };
            return refuse(established, connection, code, reason);
        };
        if established.side == SessionSide::Dialler {
            peer.dialling = false;
        }
        // A session that is stopping no longer counts.
        let one_more = peer.live.as_ref().is_none_or(|live| live.stopping);
        if one_more && established.side == SessionSide::Acceptor && !self.make_room() {
            let reason = "the peer has reached its limit of sessions; it will be retried";
            return refuse(established, connection, RejectCode::Busy, reason);
        }
        let Some(peer) = self.peers.get_mut(&key) else { return };
        if let Some(old) = &peer.live {
            let dead = decisions::is_superseded(old.since.elapsed(), old.instance != established.instance());
            if decisions::choose_session(self.me, established.peer, old.side, established.side, dead)
                == KeptSession::Old
            {
                return refuse(established, connection, RejectCode::Busy, "the two devices are already connected");
            }
            peer.send(SessionCommand::Stop);
        }
        self.sessions += 1;
        let id = self.sessions;
        let (commands, received_commands) = mpsc::unbounded_channel();
        let (view, view_changed) = watch::channel(SessionView::default());
        peer.live = Some(SessionHandle {
            id,
            side: established.side,
            instance: established.instance(),
            commands,
            view: view_changed,
            connection: connection.weak_handle(),
            since: Instant::now(),
            stopping: false,
            liveness_check: None,
            compare: Instant::now() + COMPARE_INTERVAL.mul_f64(0.8 + 0.4 * tasks::chance()),
        });
        peer.due = None;
        peer.problem = None;
        peer.last_seen = Some((self.context.engine.config().clock)());
        peer.via = endpoint::route(&connection).map(|route| route.path);
        let reached = endpoint::remote_addresses(&connection).into_iter().filter(|at| !lan || is_local(at.ip()));
        peer.add_addresses(reached);
        if peer.rounds.0 > peer.rounds.1 {
            peer.send(SessionCommand::Round(peer.rounds.0));
        }
        let events = self.shared.events.clone();
        tokio::spawn(tasks::run_session(
            self.context.clone(),
            established,
            connection,
            id,
            received_commands,
            view,
            events,
        ));
        self.save_peer(key);
        self.observer.peer(key.0, key.1);
    }

    pub(super) fn handshake_failed(&mut self, device: DeviceId, team: Option<EventId>, ended: &SessionEnd) {
        // A peer that dialled this device dials again itself.
        let Some(peer) = team.and_then(|team| self.peers.get_mut(&(team, device))) else { return };
        peer.dialling = false;
        if peer.live.is_none() {
            let lost = || SessionEnd::Interrupted("the handshake was cut off".to_owned());
            let problem = PeerProblem::from_session_end(ended).or_else(|| PeerProblem::from_session_end(&lost()));
            if let Some(problem) = problem {
                peer.fail(problem, tasks::chance());
            }
        }
    }

    pub(super) fn view_changed(&mut self, key: PeerKey) {
        let Some(peer) = self.peers.get_mut(&key) else { return };
        let Some(view) = peer.live.as_ref().map(|live| live.view.borrow().clone()) else { return };
        if view.in_sync || view.received > 0 {
            // The connection works, so the next failure counts as the first.
            peer.failures = 0;
        }
        if view.in_sync {
            self.storage_problem = None;
        }
        let caught_up = view.in_sync
            && peer.last_sync.is_none_or(|last| view.last_sync.is_some_and(|now| now > last + SAVE_INTERVAL_MS));
        peer.missing = (view.missing_here, view.missing_at_peer);
        if caught_up {
            peer.last_sync = view.last_sync;
            self.save_peer(key);
        }
        self.observer.peer(key.0, key.1);
    }

    pub(super) async fn ended(&mut self, key: PeerKey, id: u64, ended: SessionEnd) {
        tracing::debug!(peer = %key.1.short(), ?ended, "a session ended");
        let now = (self.context.engine.config().clock)();
        let Some(peer) = self.peers.get_mut(&key) else { return };
        let Some(live) = peer.live.take_if(|live| live.id == id) else { return };
        let view = live.view.borrow().clone();
        peer.last_sync = view.last_sync.max(peer.last_sync);
        peer.last_seen = Some(now);
        peer.missing = (view.missing_here, view.missing_at_peer);
        peer.received += view.received;
        peer.rounds.1 = view.round.max(peer.rounds.1);
        if let SessionEnd::Rejected(RejectCode::CannotStore, message) = &ended {
            self.storage_problem = Some(format!(
                "received events cannot be stored: {message}; free disk space or make the folder writable: sync then continues"
            ));
        }
        match PeerProblem::from_session_end(&ended) {
            Some(problem) => peer.fail(problem, tasks::chance()),
            // The endpoint was closed here. The peer is dialled as soon as it is bound again.
            None if ended == SessionEnd::Closed && !live.stopping => {
                peer.call_soon(decisions::first_call_delay(self.me, key.1));
            }
            // The peer ended the session in order. It dials when it is back, and is dialled occasionally.
            None => peer.due = Some(Instant::now() + decisions::backoff(CLOSED_BACKOFF, tasks::chance())),
        }
        if let SessionEnd::Rejected(code, _) | SessionEnd::RejectedByPeer(code, _) = &ended
            && matches!(code, RejectCode::NotPaired | RejectCode::TeamMismatch)
        {
            // If one of the two left the team, this removes the peer. Its rejection is not stored: it would be shown
            // again if that device came back.
            self.refresh().await;
        }
        self.save_peer(key);
        self.observer.peer(key.0, key.1);
    }

    pub(super) async fn peer_event(&mut self, PeerEvent { team, from, roster, undocumented, bodies }: PeerEvent) {
        self.postpone_compaction();
        self.storage_problem = None;
        if bodies {
            for ((of, device), peer) in &self.peers {
                if *of == team && *device != from {
                    peer.send(SessionCommand::Offer);
                }
            }
            return;
        }
        if undocumented {
            self.shared.dirty.notify_one();
        }
        if roster {
            self.refresh().await;
            for ((of, device), peer) in &self.peers {
                if *of == team && *device != from {
                    peer.send(SessionCommand::Roster);
                }
            }
            self.observer.roster(team);
            return;
        }
        let others =
            self.peers.iter().filter(|((of, device), peer)| *of == team && *device != from && peer.live.is_some());
        if others.count() > 0 {
            let at = Instant::now() + COMPARE_DELAY;
            self.pending_compares.entry(team).or_insert_with(|| (at, HashSet::new())).1.insert(from);
        }
    }
}

/// Rejects a peer before the session begins, and lets it read the reason, which only the peer shows.
fn refuse(established: EstablishedSession, connection: Connection, code: RejectCode, reason: &'static str) {
    tokio::spawn(async move {
        established.refuse(code, reason).await;
        tasks::wait_for_close(&connection).await;
    });
}
