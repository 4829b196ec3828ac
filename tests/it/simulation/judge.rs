//! The checks at the end of a simulation.

use std::collections::{BTreeMap, BTreeSet};

use ergo::domain::{DeviceId, EventId, Roster, Scope};

use super::{
    peer::Peer,
    world::{Accepted, World},
};

impl World {
    /// The devices that make up the team: each knows itself in it, and those that it knows there know it.
    fn circle(&self) -> Vec<usize> {
        let rosters: Vec<_> = self.peers.iter().map(|peer| peer.roster(self.team)).collect();
        let knows = |one: usize, other: usize| {
            rosters[one].as_ref().is_some_and(|roster| roster.is_member(&self.peers[other].device()))
        };
        let all = 0..self.peers.len();
        let circle = |one: usize| all.clone().filter(|other| knows(one, *other)).collect::<Vec<_>>();
        let sound = |members: &Vec<usize>| members.iter().all(|one| members.iter().all(|other| knows(*one, *other)));
        all.clone().filter(|one| knows(*one, *one)).map(circle).find(sound).unwrap_or_default()
    }

    pub(super) fn judge(&mut self, before: &[Accepted]) {
        for peer in &self.peers {
            let report = peer.read(ergo::store::Reader::check);
            assert_eq!(report.problems, Vec::<String>::new(), "store of {}", peer.name());
        }
        let circle = self.circle();
        let Some(first) = circle.first() else { return };
        self.tally.agreed += circle.len() as u64;
        let roster = self.peers[*first].roster(self.team).unwrap();
        for one in &circle {
            assert_eq!(self.peers[*one].roster(self.team).as_ref(), Some(&roster), "{}", self.peers[*one].name());
        }
        // An event that no remaining device had is not expected: its author has gone back to an old copy since.
        let mut had = Accepted::new();
        for (scope, events) in circle.iter().flat_map(|one| &before[*one]) {
            had.entry(scope.clone()).or_default().extend(events);
        }
        for (scope, events) in &had {
            let readers: Vec<&Peer> = circle
                .iter()
                .map(|one| &self.peers[*one])
                .filter(|peer| roster.may_read(&peer.device(), scope))
                .collect();
            let Some(reader) = readers.first() else { continue };
            for peer in &readers {
                assert_eq!(peer.set(self.team, scope), reader.set(self.team, scope), "{scope} at {}", peer.name());
            }
            self.assert_nothing_lost(&roster, scope, events, reader);
        }
        self.assert_same_meaning(&circle, &roster);
    }

    /// Asserts that every event that a remaining device had, of authors who were never restricted, is on all devices.
    fn assert_nothing_lost(&self, roster: &Roster, scope: &Scope, events: &BTreeMap<EventId, DeviceId>, reader: &Peer) {
        let free: BTreeSet<DeviceId> = self
            .peers
            .iter()
            .filter(|peer| !peer.demoted && roster.is_member(&peer.device()))
            .map(Peer::device)
            .collect();
        let there: BTreeSet<EventId> = reader.everything(self.team, scope).iter().map(|event| event.id).collect();
        let lost: Vec<_> = events
            .iter()
            .filter(|(id, author)| free.contains(author) && !there.contains(id))
            .map(|(id, _)| id)
            .collect();
        assert!(lost.is_empty(), "lost in {scope}: {lost:?}");
    }

    /// Statuses, flags, cards and their ids are the same at all who read the same and wrote nothing that the team does not take.
    fn assert_same_meaning(&mut self, circle: &[usize], roster: &Roster) {
        let mut by_scopes: BTreeMap<Vec<Scope>, usize> = BTreeMap::new();
        for one in circle.iter().filter(|one| !self.peers[**one].demoted) {
            let peer = &self.peers[*one];
            let scopes: Vec<Scope> = roster
                .scopes()
                .map(|row| row.scope.clone())
                .filter(|scope| roster.may_read(&peer.device(), scope))
                .collect();
            let projection = peer.projection();
            self.tally.cards += projection.cards.len() as u64;
            // Their words are gone wherever the act counts.
            for id in self.redactions.iter().filter(|id| projection.claims.get(id).is_some_and(|c| c.flags.redacted)) {
                let body = peer.read(|reader| Ok(reader.event(id)?.and_then(|event| event.body)));
                assert_eq!(body, None, "{id} at {}", peer.name());
            }
            match by_scopes.get(&scopes) {
                Some(other) => assert_eq!(projection, self.peers[*other].projection(), "{}", peer.name()),
                None => drop(by_scopes.insert(scopes, *one)),
            }
        }
    }
}
