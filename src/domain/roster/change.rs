//! What roster events say.

use std::{collections::BTreeSet, fmt, str::FromStr};

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

use super::MAX_NAME;
use crate::domain::{
    id::{DeviceId, EventId},
    scope::Scope,
};

/// What a roster event does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RosterAct {
    /// The team begins.
    Create,
    /// Admits a device, or admits it again.
    Add,
    /// A device may do other things than before.
    Grant,
    /// A device, or the team, gets another name.
    Rename,
    /// Revokes a device.
    Revoke,
    /// The author leaves.
    Leave,
    /// A scope with its history is taken in.
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

    /// The word in the event's kind, after `roster.`.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(act, _)| *act == self).map_or("", |(_, word)| word)
    }

    /// The act of that word.
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
    /// The word used on the wire and on screen.
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

/// Which scopes of a team, by their names there.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Granted {
    /// All of them, those to come included.
    #[n(0)]
    All,
    /// These.
    #[n(1)]
    Only(#[n(0)] BTreeSet<Scope>),
}

impl Granted {
    /// Whether a scope is among them.
    pub fn contains(&self, scope: &Scope) -> bool {
        match self {
            Self::All => true,
            Self::Only(scopes) => scopes.contains(scope),
        }
    }

    /// Whether everything in `other` is among them.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All, _) => true,
            (Self::Only(_), Self::All) => false,
            (Self::Only(mine), Self::Only(theirs)) => theirs.is_subset(mine),
        }
    }
}

/// What a device may do, and where.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Grant {
    /// What.
    #[n(0)]
    pub role: Role,
    /// Where.
    #[n(1)]
    pub scopes: Granted,
}

impl Grant {
    /// Whether it allows all that `other` does.
    pub fn covers(&self, other: &Self) -> bool {
        self.role >= other.role && self.scopes.covers(&other.scopes)
    }
}

/// The last event of a device's chain that counts: what it wrote after it is refused, whatever date it bears.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct ChainCut {
    /// The scope of the chain, by its name in the team. Of the roster counts what the author of the cut had seen.
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

/// The last event of a chain that was written before the team.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(map)]
pub struct ChainHead {
    /// Who wrote the chain.
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

/// The payload of a roster event, in its body.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum RosterChange {
    /// The team begins, with its founder as admin.
    #[n(0)]
    Create {
        /// The team's name.
        #[n(0)]
        name: String,
        /// Whose device the founder's is.
        #[n(1)]
        person: String,
        /// What the device is called.
        #[n(2)]
        device_name: String,
    },
    /// Admits a device.
    #[n(1)]
    Add {
        /// The device.
        #[n(0)]
        device: DeviceId,
        /// Whose it is.
        #[n(1)]
        person: String,
        /// What it is called.
        #[n(2)]
        name: String,
        /// What it may do.
        #[n(3)]
        grant: Grant,
    },
    /// A device may do other things.
    #[n(2)]
    Grant {
        /// The device.
        #[n(0)]
        device: DeviceId,
        /// What it may do from now on.
        #[n(1)]
        grant: Grant,
        /// What it wrote until now, which stays although the new grant would not allow it.
        #[n(2)]
        cuts: Vec<ChainCut>,
    },
    /// A device, or the team where none is named, gets another name.
    #[n(3)]
    Rename {
        /// The device.
        #[n(0)]
        device: Option<DeviceId>,
        /// The name.
        #[n(1)]
        name: String,
    },
    /// Revokes a device.
    #[n(4)]
    Revoke {
        /// The device.
        #[n(0)]
        device: DeviceId,
        /// What it wrote until now, which stays.
        #[n(1)]
        cuts: Vec<ChainCut>,
    },
    /// The author leaves.
    #[n(5)]
    Leave {
        /// What it wrote until now, which stays.
        #[n(0)]
        cuts: Vec<ChainCut>,
    },
    /// A scope, or more of its history, is taken in.
    #[n(6)]
    Adopt {
        /// Its name, here and in the team.
        #[n(0)]
        scope: Scope,
        /// The remote URL or common directory of the project, where it is known.
        #[n(1)]
        identity: Option<String>,
        /// The chains that are taken in, up to these events.
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
    /// The act that it belongs to.
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

    /// Whether the names in it are not empty and not overlong; an event whose names are not has no effect.
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
