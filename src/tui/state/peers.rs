//! The Peers screen: teams, their devices, and who waits for admission.

use super::Focus;
use crate::{
    api::{PeerView, PendingJoin, SyncStatus, TeamStatus},
    domain::{DeviceId, EventId},
};

/// One row.
#[derive(Clone, Copy, Debug)]
pub enum PeerEntry<'a> {
    /// Someone who waits for admission.
    Pending(&'a PendingJoin),
    /// A team; its devices follow.
    Team(&'a TeamStatus),
    /// A device of a team.
    Peer(&'a PeerView),
}

/// What a row is, whatever stands above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerEntryId {
    /// Someone who waits.
    Pending(String),
    /// A team.
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

/// A team that is being joined: the other side is to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joining {
    /// What the join is called here.
    pub id: String,
    /// When the daemon is asked again, in milliseconds since the Unix epoch.
    pub again_at: u64,
}

/// The Peers screen.
#[derive(Clone, Debug, Default)]
pub struct PeersState {
    /// The daemon's last answer; `None` before the first one.
    pub status: Option<SyncStatus>,
    /// Who waits for admission.
    pub pending: Vec<PendingJoin>,
    /// The part that has the focus.
    pub focus: Focus,
    /// Lines by which the detail is scrolled.
    pub scroll: usize,
    /// A team that is being joined.
    pub joining: Option<Joining>,
    /// Why it could not be read.
    pub error: Option<String>,
    row: usize,
    at: Option<PeerEntryId>,
}

impl PeersState {
    /// The rows: who waits first, then each team with its devices.
    pub fn entries(&self) -> Vec<PeerEntry<'_>> {
        let teams = self.status.iter().flat_map(|status| &status.teams);
        let of_team = |team| std::iter::once(PeerEntry::Team(team)).chain(team.peers.iter().map(PeerEntry::Peer));
        self.pending.iter().map(PeerEntry::Pending).chain(teams.flat_map(of_team)).collect()
    }

    /// The row under the cursor.
    pub fn row(&self) -> usize {
        self.row
    }

    /// What is under the cursor.
    pub fn current(&self) -> Option<PeerEntry<'_>> {
        self.entries().get(self.row).copied()
    }

    /// Who waits, if that is under the cursor.
    pub fn waiting(&self) -> Option<&PendingJoin> {
        match self.current() {
            Some(PeerEntry::Pending(join)) => Some(join),
            _ => None,
        }
    }

    /// Puts the cursor on a row, or on the last.
    pub fn place(&mut self, row: usize) {
        let entries = self.entries();
        let row = row.min(entries.len().saturating_sub(1));
        let at = entries.get(row).map(PeerEntry::id);
        if at != self.at {
            self.scroll = 0;
        }
        (self.row, self.at) = (row, at);
    }

    /// Takes what the daemon says. The cursor stays on what it stood on, wherever that is now.
    pub fn accept(&mut self, status: SyncStatus, pending: Vec<PendingJoin>) {
        self.status = Some(status);
        self.pending = pending;
        self.error = None;
        let found = self.at.as_ref().and_then(|at| self.entries().iter().position(|entry| entry.id() == *at));
        self.place(found.unwrap_or(self.row));
    }

    /// How many things here wait for a person: who asks to join, events that were not accepted, and what is not as it should be.
    pub fn attention(&self) -> usize {
        let teams = self.status.iter().flat_map(|status| &status.teams);
        let waiting = teams.map(|team| team.quarantined + team.problems.len());
        self.pending.len() + waiting.sum::<usize>()
    }
}
