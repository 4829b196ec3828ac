//! The roster: who belongs to a team, and what the team shares. It is a pure function of the set of roster events.
//!
//! A team's id is that of its `roster.create` event. Its roster events have a scope of their own, `@team/…`, and name each
//! other by `prev` and `seen`. What an event may do is decided by what its author had seen, never by a clock.

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

/// The maximum length of the name of a team, a person or a device, in bytes.
pub const MAX_NAME: usize = 100;

/// The maximum number of devices that a team has at the same time.
pub const MAX_DEVICES: usize = 64;

/// The state of a team, computed from its roster events.
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
    /// Every device that an admin ever admitted, whether the admission counts or not. Their roster events are kept, so that all
    /// devices compute the roster from the same events, whatever the order in which they arrived.
    ever_named: BTreeSet<DeviceId>,
}

/// A device that belongs, or belonged, to a team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The device.
    pub device: DeviceId,
    /// Its owner.
    pub person: String,
    /// Its name, for example `ada-laptop`.
    pub name: String,
    /// What it may do, or could do last.
    pub grant: Grant,
    /// Whether it still belongs to the team.
    pub state: MemberState,
    /// How it left or was revoked, if it did not stay.
    pub out: Option<Departure>,
    /// The device that first admitted it; for the founder, the founder itself.
    pub added_by: DeviceId,
    /// When it was first admitted, by the event clock.
    pub since: Hlc,
    /// When it was last admitted: later than `since` if it had left or was revoked in between.
    pub again: Hlc,
}

/// How a device left a team or was revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The device that revoked it, or the device itself if it left.
    pub by: DeviceId,
    /// The event's clock.
    pub at: Hlc,
    /// The event, which may contain a reason.
    pub event: EventId,
}

/// Whether a device belongs to a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberState {
    /// It belongs to the team.
    Active,
    /// It left.
    Left,
    /// An admin revoked it.
    Revoked,
}

impl MemberState {
    /// Returns the word used in JSON and on screen.
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
    /// The URL of the project's git remote, or its common directory, from the first adoption that names one.
    pub identity: Option<String>,
}

/// Two admins who revoked each other without having seen the other's act. Both are removed, and a person should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dispute {
    /// The device with the smaller id.
    pub one: DeviceId,
    /// The other device.
    pub other: DeviceId,
}

impl Roster {
    /// Returns the team's id: that of its `roster.create` event.
    pub fn team(&self) -> EventId {
        self.team
    }

    /// Returns the team's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the scope of the roster events.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Returns every device that ever belonged to the team, by id.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    /// Returns a device that belongs or belonged to the team.
    pub fn member(&self, device: &DeviceId) -> Option<&Member> {
        self.members.get(device)
    }

    /// Returns whether a person means this team: by its name, or by its id or a prefix of it.
    pub fn is_named(&self, text: &str) -> bool {
        self.name == text || self.team.has_prefix(text)
    }

    /// Returns the devices that a person may mean: by name, in upper or lower case, or by id or a prefix of it. If the
    /// text fits devices that belong to the team, those that left or were revoked are not meant.
    pub fn devices_named(&self, text: &str) -> Vec<&Member> {
        let fits = |member: &&Member| member.name.eq_ignore_ascii_case(text) || member.device.has_prefix(text);
        let mut found: Vec<&Member> = self.members.values().filter(fits).collect();
        if found.iter().any(|member| member.state == MemberState::Active) {
            found.retain(|member| member.state == MemberState::Active);
        }
        found
    }

    /// Returns this name if no other active device of the team has it, or else the name with the first free number from 2.
    pub fn free_name(&self, device: &DeviceId, name: String) -> String {
        let taken = |name: &str| {
            self.members.values().any(|other| {
                other.device != *device && other.state == MemberState::Active && other.name.eq_ignore_ascii_case(name)
            })
        };
        // Leaves room for a number of at most MAX_DEVICES.
        let stem = name.get(..name.floor_char_boundary(MAX_NAME - "-64".len())).unwrap_or(&name);
        let numbered = (2..).map(|number| format!("{stem}-{number}"));
        std::iter::once(name.clone()).chain(numbered).find(|name| !taken(name)).unwrap_or(name)
    }

    /// Returns the number of devices that belong to the team now.
    pub fn size(&self) -> usize {
        self.members.values().filter(|member| member.state == MemberState::Active).count()
    }

    /// Returns the role of a device; `None` if it does not belong to the team now.
    pub fn role(&self, device: &DeviceId) -> Option<Role> {
        self.active(device).map(|member| member.grant.role)
    }

    /// Returns whether a device belongs to the team now.
    pub fn is_member(&self, device: &DeviceId) -> bool {
        self.active(device).is_some()
    }

    /// Returns whether a device may receive the events of a scope. Every member may read the roster; its grant decides about other scopes.
    pub fn may_read(&self, device: &DeviceId, scope: &Scope) -> bool {
        self.active(device)
            .is_some_and(|member| *scope == self.scope || self.shares(scope) && member.grant.scopes.contains(scope))
    }

    /// Returns whether the other devices accept what a device now writes into a scope.
    pub fn may_write(&self, device: &DeviceId, scope: &Scope) -> bool {
        self.may_read(device, scope) && *scope != self.scope && self.role(device) >= Some(Role::Writer)
    }

    /// Returns the scopes that the team shares, by name, without that of the roster.
    pub fn scopes(&self) -> impl Iterator<Item = &TeamScope> {
        self.scopes.values()
    }

    /// Returns whether the team shares a scope of this name.
    pub fn shares(&self, scope: &Scope) -> bool {
        self.scopes.contains_key(scope)
    }

    /// Returns the adopted chains, which were written before the team, each with the last event that an adoption names.
    pub fn adopted(&self) -> impl Iterator<Item = (&Scope, ChainHead)> {
        self.adopted.iter().filter_map(|((scope, author, epoch), heads)| {
            heads.last().map(|(seq, id)| (scope, ChainHead { author: *author, epoch: *epoch, seq: *seq, id: *id }))
        })
    }

    /// Returns the events that an admin accepted although they would be refused.
    pub fn accepted(&self) -> &BTreeSet<EventId> {
        &self.accepted
    }

    /// Returns the roster events that no other one has seen. The next roster event names them in `seen`.
    pub fn heads(&self) -> &[EventId] {
        &self.heads
    }

    /// Returns the admins who revoked each other.
    pub fn disputes(&self) -> &[Dispute] {
        &self.disputes
    }

    fn active(&self, device: &DeviceId) -> Option<&Member> {
        self.members.get(device).filter(|member| member.state == MemberState::Active)
    }
}

/// Returns whether a scope is that of a roster, by its name.
pub fn is_roster_scope(scope: &Scope) -> bool {
    scope.org_id == ORG
}
