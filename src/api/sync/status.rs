//! The sync state of the teams of this device.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    super::request,
    team::{BoundScope, Role},
};
use crate::domain::{DeviceId, EventId, Scope};

/// The network mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SyncMode {
    /// Nothing is sent, and the device does not listen.
    #[default]
    Off,
    /// The local network only: no relay, no port mapping, no DNS.
    Lan,
    /// Also relays and address lookup.
    Internet,
}

impl SyncMode {
    /// Returns the word used in settings and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Lan => "lan",
            Self::Internet => "internet",
        }
    }

    /// Explains the mode in one sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Off => "Off: nothing is sent or received",
            Self::Lan => "LAN only: nothing leaves this network",
            Self::Internet => {
                "Internet: peers may be reached through a relay, which sees which devices communicate, but not what they say"
            }
        }
    }
}

request! {
    /// `POST /sync/mode`.
    #[derive(Default)]
    pub struct ModeRequest {
        /// Who acts.
        caller,
        /// The mode.
        pub mode: SyncMode,
    }
}

/// `GET /sync/status`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct SyncStatus {
    /// The effective mode, which may differ from the configured one: `off` until there is a team.
    pub mode: SyncMode,
    /// The same as a sentence.
    pub says: String,
    /// This device.
    pub device: Option<DeviceId>,
    /// The addresses at which it can be reached.
    pub addresses: Vec<String>,
    /// Problems, each with advice.
    pub problems: Vec<String>,
    /// The teams, by name.
    pub teams: Vec<TeamStatus>,
    /// The number of devices that wait for admission: see `GET /sync/pending`.
    pub pending: usize,
}

/// A team, as this device sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TeamStatus {
    /// The team.
    pub id: EventId,
    /// Its name.
    pub name: String,
    /// What this device may do in it; absent if it left or was revoked, which [`Self::ended`] describes.
    pub role: Option<Role>,
    /// Its scopes that this device may read.
    pub scopes: Vec<ScopeStatus>,
    /// The other devices; those that left or were revoked at the end.
    pub peers: Vec<PeerView>,
    /// The number of events in quarantine.
    pub quarantined: usize,
    /// The number of open conflict cards in its scopes, without snoozed ones.
    pub open_cards: usize,
    /// The number of forks: places where a device signed two different events because its store was copied or its key stolen.
    #[serde(default)]
    pub forks: usize,
    /// Problems of this team, each with advice.
    #[serde(default)]
    pub problems: Vec<String>,
    /// Local changes that no peer accepts.
    #[serde(default)]
    pub kept: Vec<UnsharedChanges>,
    /// How this device left the team; absent while it is a member.
    #[serde(default)]
    pub ended: Option<TeamEnd>,
    /// Whether every connected peer has the same events as this device, nothing is quarantined on either side, no device has a fork,
    /// and the team accepts what this device writes. False if no peer is connected.
    pub in_sync: bool,
}

impl TeamStatus {
    /// Creates the status of a team of which only id and name are known.
    pub fn new(id: EventId, name: &str) -> Self {
        Self {
            id,
            name: name.to_owned(),
            role: None,
            scopes: Vec::new(),
            peers: Vec::new(),
            quarantined: 0,
            open_cards: 0,
            forks: 0,
            problems: Vec::new(),
            kept: Vec::new(),
            ended: None,
            in_sync: false,
        }
    }
}

impl TeamStatus {
    /// Returns the number of local changes that no peer accepts, without those written before the scope was shared, which
    /// may stay private.
    pub fn untaken(&self) -> usize {
        self.kept.iter().filter(|kept| !kept.before).map(|kept| kept.events).sum()
    }

    /// Returns the number of events of this device in the quarantine of a peer; of several peers, the largest number,
    /// since each may have the same events there.
    pub fn not_taken(&self) -> usize {
        let active = self.peers.iter().filter(|peer| !peer.you && peer.state == PeerState::Active);
        active.map(|peer| peer.not_taken).max().unwrap_or_default()
    }
}

/// Changes by this device in a scope of a team that no other device accepts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnsharedChanges {
    /// The scope's two names.
    #[serde(flatten)]
    pub bound: BoundScope,
    /// The number of changes.
    pub events: usize,
    /// Why they are not accepted: `reader`, `no_grant`, `after_cut`, `not_adopted`.
    pub reason: String,
    /// Whether they were written before this device shared the scope with the team.
    pub before: bool,
    /// The same as sentences, with advice.
    pub says: String,
}

/// How this device left a team or was revoked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TeamEnd {
    /// Whether it left; otherwise it was revoked.
    pub left: bool,
    /// The person and device that revoked it.
    pub by: Option<String>,
    /// When, in milliseconds since the Unix epoch, by the clock of the device that wrote the change.
    pub at: u64,
    /// The stated reason.
    pub reason: Option<String>,
    /// The same as sentences, with advice.
    pub says: String,
}

/// A scope of a team.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScopeStatus {
    /// The scope's two names.
    #[serde(flatten)]
    pub bound: BoundScope,
    /// The number of its events on this device.
    pub events: usize,
    /// A digest of its events: equal on two devices only if they have the same events.
    pub digest: String,
    /// The number of its events in quarantine.
    pub quarantined: usize,
    /// The number of its open conflict cards, without snoozed ones.
    pub open_cards: usize,
}

/// How a peer is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PeerPath {
    /// On the local network.
    Lan,
    /// Directly, through the internet.
    Direct,
    /// Through a relay.
    Relay,
}

/// Whether a device is in the team.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PeerState {
    /// It is a member.
    Active,
    /// It left.
    Left,
    /// It was revoked.
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
    /// Its owner.
    pub person: String,
    /// Whether it is this device.
    pub you: bool,
    /// Whether it is in the team.
    pub state: PeerState,
    /// What it may do.
    pub role: Role,
    /// The team's scopes that it may read; absent for all.
    pub scopes: Option<Vec<Scope>>,
    /// Whether it is connected now.
    pub connected: bool,
    /// How it is reached.
    pub path: Option<PeerPath>,
    /// The round-trip time, in milliseconds.
    pub latency_ms: Option<f64>,
    /// Bytes sent over this connection, including packet overhead; 0 if not connected.
    #[serde(default)]
    pub sent_bytes: u64,
    /// Bytes received over this connection; 0 if not connected.
    #[serde(default)]
    pub received_bytes: u64,
    /// The addresses at which it was last reached.
    pub addresses: Vec<String>,
    /// When this device last heard from it, in milliseconds since the Unix epoch.
    pub last_seen: Option<u64>,
    /// When both devices were last in sync, in milliseconds since the Unix epoch.
    pub last_sync: Option<u64>,
    /// The number of events that it has and this device lacks.
    pub we_lack: u64,
    /// The number of events that this device has and the peer lacks. While the peer is not connected: those that were
    /// stored since both were in sync, which it may have received from others.
    pub they_lack: u64,
    /// Whether both have the same events in the scopes that both may read, as of the last comparison.
    pub digests_equal: bool,
    /// The number of events received from it that are in quarantine on this device.
    #[serde(default)]
    pub quarantined: usize,
    /// The number of events of this device that are in quarantine on the peer; only known while it is connected.
    #[serde(default)]
    pub not_taken: usize,
    /// How far its clock is ahead of this device's, in milliseconds; negative if it is behind. Only known while the
    /// peer is connected.
    #[serde(default)]
    pub clock_ahead_ms: Option<i64>,
    /// The latest error, in words.
    pub last_error: Option<String>,
    /// Advice about the error.
    pub advice: Option<String>,
    /// Whether a person has to act; otherwise it resolves itself, for example when the peer is online again.
    #[serde(default)]
    pub needs_person: bool,
}

impl PeerView {
    /// Returns whether both have the same events and neither rejected events of the other.
    pub fn is_in_sync(&self) -> bool {
        self.digests_equal && self.quarantined == 0 && self.not_taken == 0
    }

    /// Describes how a connected peer is reached: `LAN 1.8 ms`.
    pub fn path_words(&self) -> String {
        let word = match self.path {
            Some(PeerPath::Lan) => "LAN",
            Some(PeerPath::Direct) => "direct",
            Some(PeerPath::Relay) => "relay",
            None => "connected",
        };
        match self.latency_ms {
            Some(ms) if ms < 10.0 => format!("{word} {ms:.1} ms"),
            Some(ms) => format!("{word} {ms:.0} ms"),
            None => word.to_owned(),
        }
    }
}

/// The answer to `GET /sync/peers`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Peers {
    /// All devices of all teams of this device; in each team, this device is first.
    pub items: Vec<PeerView>,
}

/// `POST /sync/now`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SyncNowRequest {
    /// Only this device, by name, id or prefix; all if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// How long to wait for the round to finish, in milliseconds, at most 600,000. If omitted, the answer comes at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

/// The result of a sync round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct SyncRound {
    /// Whether the round has finished; otherwise it continues in the background.
    pub done: bool,
    /// The same in one sentence.
    pub summary: String,
    /// The result for each device.
    pub peers: Vec<RoundPeer>,
    /// The status of the teams after the round.
    pub status: SyncStatus,
}

/// How a round ended with one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoundResult {
    /// In sync.
    InStep,
    /// Connected, but not in sync yet.
    NotYet,
    /// Not reached, or one device rejected the other.
    NotReached,
}

/// The result of a sync round with one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RoundPeer {
    /// How it ended.
    pub result: RoundResult,
    /// The number of events received from it in this round.
    pub received: u64,
    /// The device's current status.
    pub peer: PeerView,
}

/// `POST /sync/address`: sets the address of a device, for networks without automatic discovery.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddressRequest {
    /// The device, by name, id or prefix; required.
    pub device: String,
    /// Its IP address and port; required.
    pub address: String,
}
