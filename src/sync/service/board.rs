//! What is shown of the conductor's state, and which limits it is at.

use std::time::Duration;

use tokio::time::Instant;

use super::{
    conductor::Conductor,
    peers::Key,
    schedule::{self, Room},
    status::Status,
};
use crate::sync::{
    endpoint::{Mode, Transport},
    session::Command,
};

impl Conductor {
    /// Puts the state on the board.
    pub(super) fn show(&self) {
        let mut peers: Vec<_> = self.peers.iter().map(|(key, peer)| peer.status(*key)).collect();
        peers.sort_unstable_by_key(|peer| (peer.team, peer.device));
        let transport = self.transport.as_deref();
        let status = Status {
            mode: transport.map_or(Mode::Off, Transport::mode),
            addresses: transport.map(Transport::addresses).unwrap_or_default(),
            discovers: transport.is_some_and(Transport::discovers),
            problems: self
                .problem
                .iter()
                .chain(&self.stuck)
                .chain(&self.full)
                .cloned()
                .chain(self.limits_reached())
                .collect(),
            peers,
        };
        self.shared.board.send_if_modified(|board| {
            let changed = *board != status;
            *board = status;
            changed
        });
    }

    /// Which limits are reached, each with what to do.
    fn limits_reached(&self) -> impl Iterator<Item = String> {
        let limits = self.context.limits;
        let out = (self.left_out > 0).then(|| {
            format!(
                "the teams of this device have {} devices more than the {} that it speaks with: `ergo sync peers` lists them; put out \
                 those that are no longer used",
                self.left_out, limits.peers
            )
        });
        let live = self.peers.values().filter(|peer| peer.live.is_some()).count();
        let crowded = (self.crowded && live >= limits.sessions).then(|| {
            format!("{live} peers are connected, the most at once; the others take turns, and nothing has to be done")
        });
        out.into_iter().chain(crowded)
    }

    /// Whether there is room for one more session; one that has nothing to do is ended for it.
    pub(super) fn make_room(&mut self) -> bool {
        let now = Instant::now();
        let live: Vec<(Key, Duration, bool)> = self
            .peers
            .iter()
            .filter_map(|(key, peer)| {
                let live = peer.live.as_ref()?;
                Some((*key, now.duration_since(live.since), live.view.borrow().equal))
            })
            .collect();
        let dialling = self.peers.values().filter(|peer| peer.dialling).count();
        let ages: Vec<_> = live.iter().map(|(_, age, in_step)| (*age, *in_step)).collect();
        let room = schedule::room(&ages, self.context.limits.sessions.saturating_sub(dialling));
        self.crowded = room != Room::Free;
        match room {
            Room::Free => true,
            Room::None => false,
            Room::Instead(at) => {
                if let Some(peer) = live.get(at).and_then(|(key, ..)| self.peers.get(key)) {
                    peer.send(Command::Stop);
                }
                true
            }
        }
    }
}
