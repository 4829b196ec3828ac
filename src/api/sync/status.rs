//! How the teams of this device are kept in step, said in words and in numbers.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::team::{BoundScope, Role};
use crate::domain::{DeviceId, EventId, Scope};

/// How far ergo reaches over the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SyncMode {
    /// Nothing is sent, nothing listens.
    #[default]
    Off,
    /// The local network alone: no relay, no port mapping, no DNS.
    Lan,
    /// Relays and address lookup besides.
    Internet,
}

impl SyncMode {
    /// The word in settings and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Lan => "lan",
            Self::Internet => "internet",
        }
    }

    /// What it means, in one sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Off => "off: nothing is sent, and nothing listens",
            Self::Lan => "LAN only: nothing leaves this network",
            Self::Internet => {
                "internet: peers may be reached through a relay, which sees who speaks with whom, but nothing else"
            }
        }
    }
}

/// `POST /sync/mode`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ModeRequest {
    /// The mode; required.
    pub mode: SyncMode,
}

/// `GET /sync/status`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct SyncStatus {
    /// How far it reaches: what is so, not what was asked for. `off` until there is a team.
    pub mode: SyncMode,
    /// The same as a sentence.
    pub says: String,
    /// This device.
    pub device: Option<DeviceId>,
    /// The addresses at which it can be reached.
    pub addresses: Vec<String>,
    /// What is not as it should be, each with what to do.
    pub problems: Vec<String>,
    /// The teams, by name.
    pub teams: Vec<TeamStatus>,
    /// How many wait to be let in: see `GET /sync/pending`.
    pub pending: usize,
}

/// A team, as this device sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TeamStatus {
    /// The team.
    pub id: EventId,
    /// Its name.
    pub name: String,
    /// What this device may do in it; none where it left or was put out.
    pub role: Option<Role>,
    /// Its scopes that this device may read.
    pub scopes: Vec<ScopeStatus>,
    /// The other devices; those that left or were put out at the end.
    pub peers: Vec<PeerView>,
    /// Events that came and were not let in, and that nobody settled yet.
    pub quarantined: usize,
    /// Open conflict cards in its scopes.
    pub open_cards: usize,
    /// Whether every peer that is connected has what this device has, and nothing is quarantined on this side; false where
    /// none is connected.
    pub in_sync: bool,
}

/// A scope of a team.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScopeStatus {
    /// Its two names.
    #[serde(flatten)]
    pub bound: BoundScope,
    /// Events of it here.
    pub events: usize,
    /// What tells two sets of events apart: equal only where the sets are.
    pub digest: String,
    /// Events of it that were not let in.
    pub quarantined: usize,
    /// Open conflict cards.
    pub open_cards: usize,
}

/// How a peer is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PeerPath {
    /// On the local network.
    Lan,
    /// Straight, through the internet.
    Direct,
    /// Through a relay.
    Relay,
}

/// Whether a device is in the team.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PeerState {
    /// It is.
    Active,
    /// It left.
    Left,
    /// It was put out.
    Revoked,
}

/// A device of a team.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PeerView {
    /// The device.
    pub device: DeviceId,
    /// The team.
    pub team: EventId,
    /// Its name in the team.
    pub name: String,
    /// Whose it is.
    pub person: String,
    /// Whether it is this device.
    pub you: bool,
    /// Whether it is in the team.
    pub state: PeerState,
    /// What it may do.
    pub role: Role,
    /// The team's scopes that it may read; none for all.
    pub scopes: Option<Vec<Scope>>,
    /// Whether it is connected now.
    pub connected: bool,
    /// By which path.
    pub path: Option<PeerPath>,
    /// There and back, in milliseconds.
    pub latency_ms: Option<f64>,
    /// Bytes that this connection has sent, by the packets that carried them; 0 where there is none.
    #[serde(default)]
    pub sent_bytes: u64,
    /// Bytes that it has received.
    #[serde(default)]
    pub received_bytes: u64,
    /// Where it was reached last.
    pub addresses: Vec<String>,
    /// When it was last heard of, in milliseconds since the Unix epoch.
    pub last_seen: Option<u64>,
    /// When both sides last had the same, in milliseconds since the Unix epoch.
    pub last_sync: Option<u64>,
    /// Events that it has and this device lacks.
    pub we_lack: u64,
    /// Events that this device has and it lacks.
    pub they_lack: u64,
    /// Whether both have the same events, of the scopes that both may read. Only said of what was compared since the last change.
    pub digests_equal: bool,
    /// What went wrong last, in words.
    pub last_error: Option<String>,
    /// What to do about it.
    pub advice: Option<String>,
}

/// The answer to `GET /sync/peers`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Peers {
    /// Every device of every team of this device, this one first in each.
    pub items: Vec<PeerView>,
}

/// `POST /sync/address`: where a device can be reached, for networks on which it is not found by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct AddressRequest {
    /// The device, by name, id or prefix; required.
    pub device: String,
    /// Its IP address and port; required.
    pub address: String,
}
