//! The published status of the scheduler, and the limits that it has reached.

use std::time::Duration;

use tokio::time::Instant;

use super::{
    decisions::{self, Capacity},
    peers::PeerKey,
    scheduler::Scheduler,
    status::NetworkStatus,
};
use crate::sync::{
    endpoint::{NetworkMode, Transport},
    session::SessionCommand,
};

impl Scheduler {
    /// Publishes the current status.
    pub(super) fn publish_status(&self) {
        let mut peers: Vec<_> = self.peers.iter().map(|(key, peer)| peer.status(*key)).collect();
        peers.sort_unstable_by_key(|peer| (peer.team, peer.device));
        let transport = self.transport.as_deref();
        let status = NetworkStatus {
            mode: transport.map_or(NetworkMode::Off, Transport::mode),
            addresses: transport.map(Transport::addresses).unwrap_or_default(),
            problems: self.problems(),
            peers,
        };
        self.shared.status.send_if_modified(|current| {
            let changed = *current != status;
            *current = status;
            changed
        });
    }

    fn problems(&self) -> Vec<String> {
        if let Some(damage) = self.context.engine.damage() {
            let message = &damage.message;
            return vec![format!(
                "sync rests until the daemon is restarted, because {message}; `ergo doctor` says what helps"
            )];
        }
        let known = self.problem.iter().chain(&self.flush_problem).chain(&self.storage_problem);
        known.cloned().chain(self.limit_messages()).collect()
    }

    /// Returns a message for each limit that was reached, with what to do.
    fn limit_messages(&self) -> impl Iterator<Item = String> {
        let limits = self.context.limits;
        let excess = (!self.excess_members.is_empty()).then(|| {
            format!(
                "the teams of this device have {} devices more than the limit of {} peers: `ergo sync peers` lists them; revoke \
                 those that are no longer used",
                self.excess_members.len(),
                limits.peers
            )
        });
        let live = self.peers.values().filter(|peer| peer.live.is_some()).count();
        let at_capacity = (self.at_capacity && live >= limits.sessions).then(|| {
            format!("{live} peers are connected, which is the limit; the others take turns, and no action is needed")
        });
        excess.into_iter().chain(at_capacity)
    }

    /// Returns whether another session may be opened. Ends a session that is in sync if that makes room.
    pub(super) fn make_room(&mut self) -> bool {
        let now = Instant::now();
        let live: Vec<(PeerKey, Duration, bool)> = self
            .peers
            .iter()
            .filter_map(|(key, peer)| {
                let live = peer.live.as_ref().filter(|live| !live.stopping)?;
                Some((*key, now.duration_since(live.since), live.view.borrow().in_sync))
            })
            .collect();
        let dialling = self.peers.values().filter(|peer| peer.dialling).count();
        let ages: Vec<_> = live.iter().map(|(_, age, in_sync)| (*age, *in_sync)).collect();
        let capacity = decisions::capacity(&ages, self.context.limits.sessions.saturating_sub(dialling));
        self.at_capacity = capacity != Capacity::Free;
        match capacity {
            Capacity::Free => true,
            Capacity::Full => false,
            Capacity::Replace(at) => {
                if let Some(peer) = live.get(at).and_then(|(key, ..)| self.peers.get_mut(key)) {
                    peer.send(SessionCommand::Stop);
                    peer.live.iter_mut().for_each(|live| live.stopping = true);
                }
                true
            }
        }
    }
}
