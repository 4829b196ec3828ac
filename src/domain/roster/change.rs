//! The content of roster events.

use std::{collections::BTreeSet, fmt, str::FromStr};

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

use super::MAX_NAME;
use crate::domain::{
    id::{DeviceId, EventId},
    scope::Scope,
};

/// The kind of a roster event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RosterAct {
    /// Creates the team.
    Create,
    /// Admits a device, or admits it again.
    Add,
    /// Changes what a device may do.
    Grant,
    /// Renames a device or the team.
    Rename,
    /// Revokes a device.
    Revoke,
    /// The author leaves.
    Leave,
    /// Adopts a scope with its history.
    Adopt,
    /// Accepts refused events.
    Accept,
}

impl RosterAct {
    const ALL: [(Self, &'static str); 8] = [
        (Self::Create, "create"),
        (Self::Add, "add"),
        (Self::Grant, "grant"),
        (Self::Rename, "rename"),
        (Self::Revoke, "revoke"),
        (Self::Leave, "leave"),
        (Self::Adopt, "adopt"),
        (Self::Accept, "accept"),
    ];

    /// Returns the word in the event's kind after `roster.`.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(act, _)| *act == self).map_or("", |(_, word)| word)
    }

    /// Returns the act with this word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == word).map(|(act, _)| *act)
    }
}

/// What a device may do in a team.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    Encode,
    Decode,
    utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
#[cbor(index_only)]
pub enum Role {
    /// Reads the scopes that it was granted.
    #[n(0)]
    Reader,
    /// Reads and writes the scopes that it was granted.
    #[default]
    #[n(1)]
    Writer,
    /// Manages the team's members, and reads and writes.
    #[n(2)]
    Admin,
}

impl Role {
    /// Returns the word used in JSON and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Writer => "writer",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Reader, Self::Writer, Self::Admin]
            .into_iter()
            .find(|role| role.as_str() == text)
            .ok_or_else(|| format!("unknown role “{text}”: expected reader, writer or admin"))
    }
}

/// A selection of a team's scopes, by their names in the team.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Granted {
    /// All scopes, including future ones.
    #[n(0)]
    All,
    /// Only these scopes.
    #[n(1)]
    Only(#[n(0)] BTreeSet<Scope>),
}

impl Granted {
    /// Returns whether the selection contains a scope.
    pub fn contains(&self, scope: &Scope) -> bool {
        match self {
            Self::All => true,
            Self::Only(scopes) => scopes.contains(scope),
        }
    }

    /// Returns whether the selection contains everything in `other`.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All, _) => true,
            (Self::Only(_), Self::All) => false,
            (Self::Only(mine), Self::Only(theirs)) => theirs.is_subset(mine),
        }
    }
}

/// The role of a device, and the scopes for which it has it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Grant {
    /// The role.
    #[n(0)]
    pub role: Role,
    /// The scopes.
    #[n(1)]
    pub scopes: Granted,
}

impl Grant {
    /// Returns whether it allows to write into a scope.
    pub fn writes(&self, scope: &Scope) -> bool {
        self.role >= Role::Writer && self.scopes.contains(scope)
    }

    /// Returns whether it allows everything that `other` allows.
    pub fn covers(&self, other: &Self) -> bool {
        self.role >= other.role && self.scopes.covers(&other.scopes)
    }
}

/// The last accepted event of a device's chain. Later events of the chain are refused, whatever their date.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct ChainCut {
    /// The scope of the chain, by its name in the team. Cuts of the roster's scope are not needed: there, the events count that the
    /// author of the cut had seen.
    #[n(0)]
    pub scope: Scope,
    /// The epoch of the chain.
    #[n(1)]
    pub epoch: u64,
    /// The event's sequence number.
    #[n(2)]
    pub seq: u64,
    /// The event.
    #[n(3)]
    pub id: EventId,
}

/// The last event of an adopted chain, which was written before the scope was the team's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(map)]
pub struct ChainHead {
    /// The device that wrote the chain.
    #[n(0)]
    pub author: DeviceId,
    /// Its epoch.
    #[n(1)]
    pub epoch: u64,
    /// The event's sequence number.
    #[n(2)]
    pub seq: u64,
    /// The event.
    #[n(3)]
    pub id: EventId,
}

/// The change that a roster event makes, in its body.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum RosterChange {
    /// Creates the team, with its founder as admin.
    #[n(0)]
    Create {
        /// The team's name.
        #[n(0)]
        name: String,
        /// The founder's person.
        #[n(1)]
        person: String,
        /// The name of the founder's device.
        #[n(2)]
        device_name: String,
    },
    /// Admits a device.
    #[n(1)]
    Add {
        /// The device.
        #[n(0)]
        device: DeviceId,
        /// Its owner.
        #[n(1)]
        person: String,
        /// Its name.
        #[n(2)]
        name: String,
        /// What it may do.
        #[n(3)]
        grant: Grant,
    },
    /// Changes what a device may do.
    #[n(2)]
    Grant {
        /// The device.
        #[n(0)]
        device: DeviceId,
        /// Its new grant.
        #[n(1)]
        grant: Grant,
        /// The ends of what it wrote until now, which stays although the new grant would not allow it.
        #[n(2)]
        cuts: Vec<ChainCut>,
    },
    /// Renames a device or the team.
    #[n(3)]
    Rename {
        /// The device; absent for the team.
        #[n(0)]
        device: Option<DeviceId>,
        /// The new name.
        #[n(1)]
        name: String,
    },
    /// Revokes a device.
    #[n(4)]
    Revoke {
        /// The device.
        #[n(0)]
        device: DeviceId,
        /// The ends of what it wrote until now, which stays.
        #[n(1)]
        cuts: Vec<ChainCut>,
    },
    /// The author leaves.
    #[n(5)]
    Leave {
        /// The ends of what it wrote until now, which stays.
        #[n(0)]
        cuts: Vec<ChainCut>,
    },
    /// Adopts a scope, or more of its history.
    #[n(6)]
    Adopt {
        /// The scope, by its name in the team, which the chains in `heads` have too.
        #[n(0)]
        scope: Scope,
        /// The URL of the project's git remote, or its common directory, if known.
        #[n(1)]
        identity: Option<String>,
        /// The last events of the chains that are adopted.
        #[n(2)]
        heads: Vec<ChainHead>,
    },
    /// Accepts refused events.
    #[n(7)]
    Accept {
        /// The events.
        #[n(0)]
        events: Vec<EventId>,
    },
}

impl RosterChange {
    /// Returns the kind of event to which the change belongs.
    pub fn act(&self) -> RosterAct {
        match self {
            Self::Create { .. } => RosterAct::Create,
            Self::Add { .. } => RosterAct::Add,
            Self::Grant { .. } => RosterAct::Grant,
            Self::Rename { .. } => RosterAct::Rename,
            Self::Revoke { .. } => RosterAct::Revoke,
            Self::Leave { .. } => RosterAct::Leave,
            Self::Adopt { .. } => RosterAct::Adopt,
            Self::Accept { .. } => RosterAct::Accept,
        }
    }

    /// Returns whether its names are neither empty nor too long. Otherwise the event has no effect.
    pub fn is_well_formed(&self) -> bool {
        let named = |name: &String| !name.trim().is_empty() && name.len() <= MAX_NAME;
        match self {
            Self::Create { name, person, device_name } => named(name) && named(person) && named(device_name),
            Self::Add { person, name, .. } => named(person) && named(name),
            Self::Rename { name, .. } => named(name),
            Self::Adopt { scope, .. } => scope.check().is_ok() && !scope.is_reserved(),
            Self::Grant { .. } | Self::Revoke { .. } | Self::Leave { .. } | Self::Accept { .. } => true,
        }
    }
}
