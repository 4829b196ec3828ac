//! Computes the roster from a set of roster events.
//!
//! There are three steps, each of which depends on the set alone:
//!
//! 1. An event is *valid* if the roster of its causal past, which its author had seen, allowed the author to do it.
//! 2. A valid event *counts* if its author was admitted by an event that counts, unless the author was revoked by somebody
//!    who had not seen it. Revoking and leaving always count: two admins who revoke each other without having seen the
//!    other's act are both removed.
//! 3. Of the events that count for a device, the ones that no other of them has seen decide; among several, the latest by
//!    clock and id.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{
    ChainCut, Departure, Dispute, Grant, Granted, Member, MemberState, Role, Roster, RosterChange, TeamScope,
    causal_order::in_causal_order, is_roster_scope,
};
use crate::domain::{
    Header, Scope, SignedEvent,
    clock::Hlc,
    event::{EventKind, VERSION},
    id::{DeviceId, EventId},
};

impl Roster {
    /// Computes the roster of `team` from a set of verified events, given in any order, with or without repeats. Events of
    /// other scopes are ignored. Returns `None` if the event that founds the team is not among them.
    pub fn of<'a>(team: EventId, events: impl IntoIterator<Item = &'a SignedEvent>) -> Option<Self> {
        Graph::of(team, events)?.roster()
    }
}

/// A set of events as a bit set of their indexes in [`Graph::nodes`].
#[derive(Clone, PartialEq)]
struct NodeSet(Vec<u64>);

impl NodeSet {
    fn new(len: usize) -> Self {
        Self(vec![0; len.div_ceil(64)])
    }

    fn add(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    fn add_all(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine |= theirs;
        }
    }

    fn has(&self, at: usize) -> bool {
        self.0[at / 64] & 1 << (at % 64) != 0
    }
}

/// An event whose causal past is complete.
struct Node {
    id: EventId,
    author: DeviceId,
    clock: Hlc,
    change: Option<RosterChange>,
    /// Its causal past: all events that its author had seen, directly or indirectly.
    past: NodeSet,
    /// Whether its author was allowed to do it.
    valid: bool,
    /// Whether its author was an admin according to its past.
    by_admin: bool,
}

/// The roster events of a team in causal order.
struct Graph {
    team: EventId,
    scope: Scope,
    nodes: Vec<Node>,
    /// The index of each event in `nodes`.
    indexes: HashMap<EventId, usize>,
    /// The indexes of the valid changes that concern a device.
    about: BTreeMap<DeviceId, Vec<usize>>,
    /// The indexes of the valid events that admit a device.
    admissions: Vec<usize>,
    heads: Vec<EventId>,
}

impl Graph {
    fn of<'a>(team: EventId, events: impl IntoIterator<Item = &'a SignedEvent>) -> Option<Self> {
        let mut all: BTreeMap<EventId, &SignedEvent> = BTreeMap::new();
        for event in events {
            // A copy with a body is preferred to one without.
            let slot = all.entry(event.id).or_insert(event);
            if slot.body.is_none() {
                *slot = event;
            }
        }
        let scope = all.get(&team).filter(|first| founds(&first.header))?.header.scope.clone();
        all.retain(|id, event| {
            *id == team || event.header.team == Some(team) && event.header.scope == scope && !founds(&event.header)
        });
        let order = in_causal_order(&all);
        let mut graph = Self {
            team,
            scope,
            nodes: Vec::with_capacity(order.len()),
            indexes: order.iter().enumerate().map(|(at, id)| (*id, at)).collect(),
            about: BTreeMap::new(),
            admissions: Vec::new(),
            heads: Vec::new(),
        };
        let mut seen: BTreeSet<EventId> = BTreeSet::new();
        for id in &order {
            let event = all.get(id)?;
            seen.extend(event.header.prev.iter().chain(&event.header.seen));
            graph.push(event, order.len());
        }
        graph.heads = order.into_iter().filter(|id| !seen.contains(id)).collect();
        graph.heads.sort_unstable();
        Some(graph)
    }

    fn push(&mut self, event: &SignedEvent, len: usize) {
        let header = &event.header;
        let mut past = NodeSet::new(len);
        for id in header.prev.iter().chain(&header.seen) {
            if let Some(at) = self.indexes.get(id) {
                past.add(*at);
                past.add_all(&self.nodes[*at].past);
            }
        }
        let change = change_of(event);
        let standing = self.standing(&header.author, &past, &self.counting_admissions(&past));
        let by_admin = standing.as_ref().is_some_and(|standing| standing.role() == Some(Role::Admin));
        let valid = change.as_ref().is_some_and(|change| match change {
            RosterChange::Create { .. } => event.id == self.team,
            RosterChange::Leave { .. } => standing.as_ref().is_some_and(Standing::is_active),
            RosterChange::Rename { device: Some(device), .. } if *device == header.author => {
                standing.as_ref().is_some_and(Standing::is_active)
            }
            RosterChange::Adopt { scope, heads, .. } => {
                by_admin
                    || standing.as_ref().is_some_and(|standing| standing.writes(scope))
                        && heads.iter().all(|head| head.author == header.author)
            }
            _ => by_admin,
        });
        let at = self.nodes.len();
        if let (true, Some(device)) = (valid, change.as_ref().and_then(|change| device_of(change, header.author))) {
            self.about.entry(device).or_default().push(at);
        }
        if valid && matches!(change, Some(RosterChange::Create { .. } | RosterChange::Add { .. })) {
            self.admissions.push(at);
        }
        let (id, author, clock) = (event.id, header.author, header.clock);
        self.nodes.push(Node { id, author, clock, change, past, valid, by_admin });
    }

    fn about(&self, device: &DeviceId) -> impl DoubleEndedIterator<Item = (usize, &Node)> {
        self.about.get(device).into_iter().flatten().map(|at| (*at, &self.nodes[*at]))
    }

    /// Returns the valid events within `set` by which a device was revoked or left.
    fn departures<'a>(&'a self, device: &DeviceId, set: &'a NodeSet) -> impl Iterator<Item = (usize, &'a Node)> {
        self.about(device).filter(|(at, node)| set.has(*at) && node.departs())
    }

    /// Returns whether a departure still holds within `set`, because nobody entitled to it has admitted the device
    /// again. A revocation is cancelled only by an admission that had seen it. A leave is also cancelled by one that it
    /// had not seen: a device that leaves while unconnected asks to join again before others know of its leave.
    ///
    /// A device that was revoked by an event that it had not seen is not entitled to it, even if it was admitted again since. Otherwise
    /// the readmissions of two devices could depend on each other.
    fn holds(&self, device: &DeviceId, at: usize, set: &NodeSet) -> bool {
        let departure = &self.nodes[at];
        let left = matches!(departure.change, Some(RosterChange::Leave { .. }));
        let readmitted = self.about(device).any(|(add, node)| {
            set.has(add)
                && matches!(node.change, Some(RosterChange::Add { .. }))
                && (node.past.has(at) || left && !departure.past.has(add))
                && self
                    .departures(&node.author, set)
                    .all(|(gone, departure)| node.past.has(gone) || departure.past.has(add))
        });
        !readmitted
    }

    /// Returns the admissions that count within `set`. Each depends on earlier ones only, so one pass in order is enough.
    fn counting_admissions(&self, set: &NodeSet) -> BTreeSet<usize> {
        let mut counting = BTreeSet::new();
        for at in self.admissions.iter().copied().filter(|at| set.has(*at)) {
            if self.counts(at, set, &counting) {
                counting.insert(at);
            }
        }
        counting
    }

    /// Returns whether a valid event counts within `set`, given the earlier `admissions` that count.
    ///
    /// Its author must have seen one of these admissions admit it. Otherwise a revoked device could act through another one
    /// that it admitted in the meantime.
    fn counts(&self, at: usize, set: &NodeSet, admissions: &BTreeSet<usize>) -> bool {
        let node = &self.nodes[at];
        let founds = matches!(node.change, Some(RosterChange::Create { .. }));
        let was_admitted =
            || founds || self.about(&node.author).any(|(add, _)| node.past.has(add) && admissions.contains(&add));
        node.valid
            && (node.departs()
                || was_admitted()
                    && self
                        .departures(&node.author, set)
                        .all(|(gone, departure)| departure.past.has(at) || !self.holds(&node.author, gone, set)))
    }

    /// Computes the standing of a device within `set`, given the `admissions` that count; `None` if it was never in the team.
    fn standing(&self, device: &DeviceId, set: &NodeSet, admissions: &BTreeSet<usize>) -> Option<Standing> {
        let mut granting: Vec<usize> = Vec::new();
        let mut naming: Vec<usize> = Vec::new();
        let mut added: Option<usize> = None;
        let mut again = Hlc::default();
        for (at, node) in self.about(device) {
            if !set.has(at) || !self.counts(at, set, admissions) {
                continue;
            }
            match &node.change {
                Some(RosterChange::Create { .. } | RosterChange::Add { .. }) => {
                    added = added.or(Some(at));
                    again = again.max(node.clock);
                    granting.push(at);
                    naming.push(at);
                }
                Some(RosterChange::Grant { .. }) => granting.push(at),
                Some(RosterChange::Rename { .. }) => naming.push(at),
                _ => {}
            }
        }
        let added = added?;
        let mut person = String::new();
        let mut name = String::new();
        let mut grant = Grant { role: Role::Admin, scopes: Granted::All };
        if let Some(RosterChange::Add { grant: given, .. } | RosterChange::Grant { grant: given, .. }) =
            self.latest(&granting).and_then(|at| self.nodes[at].change.as_ref())
        {
            grant.clone_from(given);
        }
        // An admin may read all scopes of the team.
        if grant.role == Role::Admin {
            grant.scopes = Granted::All;
        }
        match self.latest(&naming).and_then(|at| self.nodes[at].change.as_ref()) {
            Some(RosterChange::Create { device_name, .. }) => name.clone_from(device_name),
            Some(RosterChange::Add { name: given, .. } | RosterChange::Rename { name: given, .. }) => {
                name.clone_from(given);
            }
            _ => {}
        }
        naming.retain(|at| !matches!(self.nodes[*at].change, Some(RosterChange::Rename { .. })));
        if let Some(RosterChange::Create { person: given, .. } | RosterChange::Add { person: given, .. }) =
            self.latest(&naming).and_then(|at| self.nodes[at].change.as_ref())
        {
            person.clone_from(given);
        }
        let gone: Vec<&Node> =
            self.departures(device, set).filter(|(at, _)| self.holds(device, *at, set)).map(|(_, node)| node).collect();
        let revoked = gone.iter().any(|node| matches!(node.change, Some(RosterChange::Revoke { .. })));
        let state = match (gone.is_empty(), revoked) {
            (true, _) => MemberState::Active,
            (false, true) => MemberState::Revoked,
            (false, false) => MemberState::Left,
        };
        // If the device was revoked, the first revocation is its departure, even if it also left.
        let decides = |node: &&&Node| !revoked || matches!(node.change, Some(RosterChange::Revoke { .. }));
        let first = gone.iter().filter(decides).min_by_key(|node| (node.clock, node.id));
        let out = first.map(|node| Departure { by: node.author, at: node.clock, event: node.id });
        Some(Standing { added, again, person, name, grant, state, out })
    }

    /// Returns the one of several events that decides: the latest by clock and id among those that no other of them has seen.
    fn latest(&self, events: &[usize]) -> Option<usize> {
        events
            .iter()
            .filter(|at| !events.iter().any(|other| self.nodes[*other].past.has(**at)))
            .max_by_key(|at| (self.nodes[**at].clock, self.nodes[**at].id))
            .copied()
    }

    fn roster(self) -> Option<Roster> {
        let mut set = NodeSet::new(self.nodes.len());
        for at in 0..self.nodes.len() {
            set.add(at);
        }
        let admissions = self.counting_admissions(&set);
        let counted: Vec<usize> = (0..self.nodes.len()).filter(|at| self.counts(*at, &set, &admissions)).collect();
        let mut roster = Roster {
            team: self.team,
            name: self.team_name(&counted)?,
            scope: self.scope.clone(),
            members: BTreeMap::new(),
            scopes: BTreeMap::new(),
            adopted: BTreeMap::new(),
            cuts: BTreeMap::new(),
            accepted: BTreeSet::new(),
            heads: self.heads.clone(),
            disputes: self.disputes(&set),
            ever_named: self.admissions.iter().filter_map(|at| self.nodes[*at].device()).collect(),
        };
        for device in self.about.keys() {
            if let Some(standing) = self.standing(device, &set, &admissions) {
                let first = &self.nodes[standing.added];
                let Standing { again, person, name, grant, state, out, .. } = standing;
                let (added_by, since) = (first.author, first.clock);
                let device = *device;
                let member = Member { device, person, name, grant, state, out, added_by, since, again };
                roster.members.insert(device, member);
            }
        }
        let mut adoptions: Vec<&Node> = Vec::new();
        for at in counted {
            let node = &self.nodes[at];
            let Some(change) = &node.change else { continue };
            match change {
                RosterChange::Adopt { .. } => adoptions.push(node),
                RosterChange::Accept { events } => roster.accepted.extend(events),
                // What a device wrote before it was revoked stays, even if it was admitted again with a lesser grant.
                RosterChange::Revoke { device, cuts } | RosterChange::Grant { device, cuts, .. } => {
                    roster.cut(*device, cuts);
                }
                RosterChange::Leave { cuts } => self.cut_leaver(&mut roster, at, cuts),
                _ => {}
            }
        }
        adoptions.sort_by_key(|node| (node.clock, node.id));
        roster.adopt(&adoptions);
        Some(roster)
    }

    /// Applies the cuts of a leave. The device names them itself, so they count only where it could write, and not if it
    /// was revoked at the same time. Otherwise it could leave to have refused events accepted.
    fn cut_leaver(&self, roster: &mut Roster, at: usize, cuts: &[ChainCut]) {
        let leave = &self.nodes[at];
        let revoked_unseen = self.about(&leave.author).any(|(other, node)| {
            matches!(node.change, Some(RosterChange::Revoke { .. })) && !node.past.has(at) && !leave.past.has(other)
        });
        if revoked_unseen {
            return;
        }
        let before = self.standing(&leave.author, &leave.past, &self.counting_admissions(&leave.past));
        // If an event that reduced its grant does not count, the cuts of that event do not either.
        let now = roster.members.get(&leave.author).map(|member| &member.grant);
        let grants: Vec<&Grant> = before.iter().map(|standing| &standing.grant).chain(now).collect();
        let own: Vec<ChainCut> =
            cuts.iter().filter(|cut| grants.iter().any(|grant| grant.writes(&cut.scope))).cloned().collect();
        roster.cut(leave.author, &own);
    }

    fn team_name(&self, counted: &[usize]) -> Option<String> {
        let names: Vec<usize> = counted
            .iter()
            .copied()
            .filter(|at| {
                matches!(
                    self.nodes[*at].change,
                    Some(RosterChange::Create { .. } | RosterChange::Rename { device: None, .. })
                )
            })
            .collect();
        match self.nodes[self.latest(&names)?].change.as_ref()? {
            RosterChange::Create { name, .. } | RosterChange::Rename { name, .. } => Some(name.clone()),
            _ => None,
        }
    }

    fn disputes(&self, set: &NodeSet) -> Vec<Dispute> {
        let mut found = BTreeSet::new();
        for (device, events) in &self.about {
            for at in events {
                let node = &self.nodes[*at];
                if !matches!(node.change, Some(RosterChange::Revoke { .. })) || !self.holds(device, *at, set) {
                    continue;
                }
                let back = self.departures(&node.author, set).any(|(other, revoke)| {
                    matches!(revoke.change, Some(RosterChange::Revoke { .. }))
                        && revoke.author == *device
                        && node.author != *device
                        && !node.past.has(other)
                        && !revoke.past.has(*at)
                        && self.holds(&node.author, other, set)
                });
                if back {
                    found.insert(Dispute { one: node.author.min(*device), other: node.author.max(*device) });
                }
            }
        }
        found.into_iter().collect()
    }
}

impl Roster {
    fn cut(&mut self, device: DeviceId, cuts: &[ChainCut]) {
        for cut in cuts {
            self.cuts.entry((cut.scope.clone(), device, cut.epoch)).or_default().insert((cut.seq, cut.id));
        }
    }

    /// Applies adoptions, given the earliest first. Only an admin's adoption adds a scope to the team.
    fn adopt(&mut self, adoptions: &[&Node]) {
        for node in adoptions {
            let Some(RosterChange::Adopt { scope, identity, .. }) = &node.change else { continue };
            if node.by_admin {
                let known = self
                    .scopes
                    .entry(scope.clone())
                    .or_insert_with(|| TeamScope { scope: scope.clone(), identity: None });
                known.identity = known.identity.take().or_else(|| identity.clone());
            }
        }
        for node in adoptions {
            let Some(RosterChange::Adopt { scope, heads, .. }) = &node.change else { continue };
            if self.scopes.contains_key(scope) {
                for head in heads {
                    let chain = (scope.clone(), head.author, head.epoch);
                    self.adopted.entry(chain).or_default().insert((head.seq, head.id));
                }
            }
        }
    }
}

impl Node {
    /// Returns the device that the change concerns.
    fn device(&self) -> Option<DeviceId> {
        self.change.as_ref().and_then(|change| device_of(change, self.author))
    }

    fn departs(&self) -> bool {
        self.valid && matches!(self.change, Some(RosterChange::Revoke { .. } | RosterChange::Leave { .. }))
    }
}

/// The standing of a device in the team, according to a set of events.
struct Standing {
    /// The index of the event that first admitted it.
    added: usize,
    again: Hlc,
    person: String,
    name: String,
    grant: Grant,
    state: MemberState,
    out: Option<Departure>,
}

impl Standing {
    fn is_active(&self) -> bool {
        self.state == MemberState::Active
    }

    fn role(&self) -> Option<Role> {
        self.is_active().then_some(self.grant.role)
    }

    fn writes(&self, scope: &Scope) -> bool {
        self.is_active() && self.grant.writes(scope)
    }
}

/// Returns whether a header is that of an event that founds a team.
fn founds(header: &Header) -> bool {
    header.kind == EventKind::Roster(super::RosterAct::Create)
        && header.team.is_none()
        && header.prev.is_none()
        && header.seen.is_empty()
        && is_roster_scope(&header.scope)
}

/// Returns the roster change in an event; `None` if this version cannot decode it, or if it does not match the header.
fn change_of(event: &SignedEvent) -> Option<RosterChange> {
    let EventKind::Roster(act) = event.header.kind else { return None };
    if event.header.version != VERSION {
        return None;
    }
    let change = event.body.as_ref()?.open().ok()?.roster?;
    (change.act() == act && change.is_well_formed()).then_some(change)
}

/// Returns the device that a change concerns.
fn device_of(change: &RosterChange, author: DeviceId) -> Option<DeviceId> {
    match change {
        RosterChange::Create { .. } | RosterChange::Leave { .. } => Some(author),
        RosterChange::Add { device, .. } | RosterChange::Grant { device, .. } | RosterChange::Revoke { device, .. } => {
            Some(*device)
        }
        RosterChange::Rename { device, .. } => *device,
        RosterChange::Adopt { .. } | RosterChange::Accept { .. } => None,
    }
}
