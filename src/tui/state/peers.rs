//! The Peers screen: teams, their devices, and join requests.

use super::Focus;
use crate::{
    api::{PeerView, PendingJoin, SyncStatus, TeamStatus},
    domain::{DeviceId, EventId},
};

#[derive(Clone, Copy, Debug)]
pub enum PeerEntry<'a> {
    /// A device that waits for admission.
    Pending(&'a PendingJoin),
    /// A team; its devices follow.
    Team(&'a TeamStatus),
    /// A device of a team.
    Peer(&'a PeerView),
}

/// The identity of a row, which stays the same when the rows above it change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerEntryId {
    /// A join request.
    Pending(String),
    Team(EventId),
    /// A device of a team.
    Peer(EventId, DeviceId),
}

impl PeerEntry<'_> {
    fn id(&self) -> PeerEntryId {
        match self {
            Self::Pending(join) => PeerEntryId::Pending(join.id.clone()),
            Self::Team(team) => PeerEntryId::Team(team.id),
            Self::Peer(peer) => PeerEntryId::Peer(peer.team, peer.device),
        }
    }
}

/// This device's own join request, which the other side has not answered yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joining {
    /// The id of the join request on this device.
    pub id: String,
    /// When the daemon is asked for the answer again, in milliseconds since the Unix epoch.
    pub again_at: u64,
    /// The text with the words to compare, until it is shown.
    pub unseen: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub struct PeersState {
    /// The daemon's last answer; `None` before the first one.
    pub status: Option<SyncStatus>,
    /// The devices that wait for admission.
    pub pending: Vec<PendingJoin>,
    /// The pane that has the focus.
    pub focus: Focus,
    /// The first visible line of the detail pane.
    pub scroll: usize,
    /// The team that this device is joining.
    pub joining: Option<Joining>,
    /// The error message, if reading failed.
    pub error: Option<String>,
    row: usize,
    at: Option<PeerEntryId>,
}

impl PeersState {
    /// Returns the rows: first the join requests, then each team with its devices.
    pub fn entries(&self) -> Vec<PeerEntry<'_>> {
        let teams = self.status.iter().flat_map(|status| &status.teams);
        let of_team = |team| std::iter::once(PeerEntry::Team(team)).chain(team.peers.iter().map(PeerEntry::Peer));
        self.pending.iter().map(PeerEntry::Pending).chain(teams.flat_map(of_team)).collect()
    }

    /// Returns the row under the cursor.
    pub fn row(&self) -> usize {
        self.row
    }

    /// Returns the entry under the cursor.
    pub fn current(&self) -> Option<PeerEntry<'_>> {
        self.entries().get(self.row).copied()
    }

    /// Returns the join request under the cursor.
    pub fn waiting(&self) -> Option<&PendingJoin> {
        match self.current() {
            Some(PeerEntry::Pending(join)) => Some(join),
            _ => None,
        }
    }

    /// Puts the cursor on a row, at most the last one.
    pub fn place(&mut self, row: usize) {
        let entries = self.entries();
        let row = row.min(entries.len().saturating_sub(1));
        let at = entries.get(row).map(PeerEntry::id);
        if at != self.at {
            self.scroll = 0;
        }
        (self.row, self.at) = (row, at);
    }

    /// Takes the daemon's answer. The cursor stays on its entry, wherever that is now.
    pub fn accept(&mut self, status: SyncStatus, pending: Vec<PendingJoin>) {
        self.status = Some(status);
        self.pending = pending;
        self.error = None;
        let found = self.at.as_ref().and_then(|at| self.entries().iter().position(|entry| entry.id() == *at));
        self.place(found.unwrap_or(self.row));
    }

    /// Returns the number of things that need attention: join requests, quarantined events, and problems of teams.
    pub fn attention(&self) -> usize {
        let teams = self.status.iter().flat_map(|status| &status.teams);
        let waiting = teams.map(|team| team.quarantined + team.problems.len());
        self.pending.len() + waiting.sum::<usize>()
    }
}
