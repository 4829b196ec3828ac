//! Who belongs to a team, and what it shares: a pure function of the set of its roster events.
//!
//! A team's id is that of its `roster.create` event. Its roster events stand in a scope of their own, `@team/…`, and name
//! each other by `prev` and `seen`: what an event may do is decided by what its author had seen, never by a clock.

mod admission;
mod causal_order;
mod change;
mod fold;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

pub use admission::{Admission, Refusal};
pub use change::{ChainCut, ChainHead, Grant, Granted, Role, RosterAct, RosterChange};

use super::{
    clock::Hlc,
    id::{DeviceId, EventId},
    scope::Scope,
};

/// The organisation of the scopes that hold rosters. Names that begin with `@` are reserved.
pub const ORG: &str = "@team";

/// The longest name of a team, a person or a device, in bytes.
pub const MAX_NAME: usize = 100;

/// The most devices that a team has at once.
pub const MAX_DEVICES: usize = 64;

/// The state of a team as its roster events make it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roster {
    team: EventId,
    name: String,
    scope: Scope,
    members: BTreeMap<DeviceId, Member>,
    scopes: BTreeMap<Scope, TeamScope>,
    adopted: BTreeMap<(Scope, DeviceId, u64), BTreeSet<(u64, EventId)>>,
    cuts: BTreeMap<(Scope, DeviceId, u64), BTreeSet<(u64, EventId)>>,
    accepted: BTreeSet<EventId>,
    heads: Vec<EventId>,
    disputes: Vec<Dispute>,
    /// Every device that an admin let in, whether that counts or not. Their roster events are kept, so that all devices
    /// compute the roster from the same events, whichever came first.
    ever_named: BTreeSet<DeviceId>,
}

/// A device of a team, past ones included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The device.
    pub device: DeviceId,
    /// Whose it is.
    pub person: String,
    /// What it is called: `ada-laptop`.
    pub name: String,
    /// What it may do, or could at last.
    pub grant: Grant,
    /// Whether it still belongs to the team.
    pub state: MemberState,
    /// How it came out of the team, where it did.
    pub out: Option<Departure>,
    /// The device that let it in; its own for the founder.
    pub added_by: DeviceId,
    /// When it was first admitted, by the event clock.
    pub since: Hlc,
    /// When it was last admitted: later than `since` if it had left or was revoked in between.
    pub again: Hlc,
}

/// How a device came out of a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The device that took it out; its own where it left.
    pub by: DeviceId,
    /// When, by the event clock.
    pub at: Hlc,
    /// The event that did so, which may give a reason.
    pub event: EventId,
}

/// Whether a device belongs to a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberState {
    /// It does.
    Active,
    /// It left.
    Left,
    /// An admin took it out.
    Revoked,
}

impl MemberState {
    /// The word used on the wire and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Left => "left",
            Self::Revoked => "revoked",
        }
    }
}

/// A scope that a team shares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamScope {
    /// Its name in the team.
    pub scope: Scope,
    /// The remote URL or common directory of the project, as the first who adopted it knew it.
    pub identity: Option<String>,
}

/// Two admins who took each other out, neither having seen the other's act: both hold, and a person should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dispute {
    /// The device with the smaller id.
    pub one: DeviceId,
    /// The other.
    pub other: DeviceId,
}

impl Roster {
    /// The team's id: that of its `roster.create` event.
    pub fn team(&self) -> EventId {
        self.team
    }

    /// The team's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The scope of the roster events.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Every device that ever belonged to the team, by id.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    /// One of them.
    pub fn member(&self, device: &DeviceId) -> Option<&Member> {
        self.members.get(device)
    }

    /// This name for a device, with the first number from 2 that makes it one which no other device of the team has now.
    pub fn free_name(&self, device: &DeviceId, name: String) -> String {
        let taken = |name: &str| {
            self.members.values().any(|other| {
                other.device != *device && other.state == MemberState::Active && other.name.eq_ignore_ascii_case(name)
            })
        };
        // Room for a number of at most MAX_DEVICES.
        let stem = name.get(..name.floor_char_boundary(MAX_NAME - "-64".len())).unwrap_or(&name);
        let numbered = (2..).map(|number| format!("{stem}-{number}"));
        std::iter::once(name.clone()).chain(numbered).find(|name| !taken(name)).unwrap_or(name)
    }

    /// How many devices belong to the team now.
    pub fn size(&self) -> usize {
        self.members.values().filter(|member| member.state == MemberState::Active).count()
    }

    /// What a device may do; `None` where it does not belong to the team now.
    pub fn role(&self, device: &DeviceId) -> Option<Role> {
        self.active(device).map(|member| member.grant.role)
    }

    /// Whether a device belongs to the team now.
    pub fn is_member(&self, device: &DeviceId) -> bool {
        self.active(device).is_some()
    }

    /// Whether a device is to be given the events of a scope: any member the roster, else by its grant.
    pub fn may_read(&self, device: &DeviceId, scope: &Scope) -> bool {
        self.active(device)
            .is_some_and(|member| *scope == self.scope || self.shares(scope) && member.grant.scopes.contains(scope))
    }

    /// Whether what a device writes into a scope now is taken by the others.
    pub fn may_write(&self, device: &DeviceId, scope: &Scope) -> bool {
        self.may_read(device, scope) && *scope != self.scope && self.role(device) >= Some(Role::Writer)
    }

    /// The scopes that the team shares, by name; the roster's own is not among them.
    pub fn scopes(&self) -> impl Iterator<Item = &TeamScope> {
        self.scopes.values()
    }

    /// Whether the team shares a scope of this name.
    pub fn shares(&self, scope: &Scope) -> bool {
        self.scopes.contains_key(scope)
    }

    /// The chains from before the team that it took in, each with the furthest event that somebody named.
    pub fn adopted(&self) -> impl Iterator<Item = (&Scope, ChainHead)> {
        self.adopted.iter().filter_map(|((scope, author, epoch), heads)| {
            heads.last().map(|(seq, id)| (scope, ChainHead { author: *author, epoch: *epoch, seq: *seq, id: *id }))
        })
    }

    /// Events that an admin accepted although they would be refused.
    pub fn accepted(&self) -> &BTreeSet<EventId> {
        &self.accepted
    }

    /// The roster events that no other one has seen: what the next one names as seen.
    pub fn heads(&self) -> &[EventId] {
        &self.heads
    }

    /// Admins who took each other out.
    pub fn disputes(&self) -> &[Dispute] {
        &self.disputes
    }

    fn active(&self, device: &DeviceId) -> Option<&Member> {
        self.members.get(device).filter(|member| member.state == MemberState::Active)
    }
}

/// Whether a scope holds a roster, by its name.
pub fn is_roster_scope(scope: &Scope) -> bool {
    scope.org_id == ORG
}
