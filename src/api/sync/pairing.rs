//! How a device joins a team: by an invitation, or by files if there is no network.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    super::request,
    team::{BoundScope, Role, TeamView},
};
use crate::domain::{DeviceId, EventId, Scope};

/// The default lifetime of an invitation, in seconds.
pub const DEFAULT_INVITE_TTL: u64 = 15 * 60;

/// The longest that an invitation may hold, in seconds: a day.
pub const MAX_INVITE_TTL: u64 = 24 * 60 * 60;

request! {
    /// `POST /sync/invite`.
    #[derive(Default)]
    pub struct InviteRequest {
        /// Who acts.
        caller,
        /// The team, by id, prefix or name; only needed if this device is in several teams.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub in_team: Option<String>,
        /// What the new device may do.
        #[serde(default)]
        pub role: Role,
        /// The team's scopes that it may see; empty for all.
        #[serde(default)]
        pub scopes: Vec<Scope>,
        /// The lifetime of the invitation, in seconds [default: 15 minutes; at most a day].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub ttl_s: Option<u64>,
        /// Admit the first device that has the ticket without asking a person.
        #[serde(default)]
        pub yes: bool,
    }
}

/// An invitation. It admits one device, once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct InviteView {
    /// Its id: 16 hexadecimal digits.
    pub id: String,
    /// The ticket, `ergo1…`, to be given to the other side over a channel that you trust. Shown once, when it is made: only
    /// a hash of its secret is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    /// The team.
    pub team: EventId,
    /// The team's name.
    pub team_name: String,
    /// What the new device may do.
    pub role: Role,
    /// The scopes that it may see; empty for all.
    pub scopes: Vec<Scope>,
    /// When it was made, in milliseconds since the Unix epoch.
    pub created_at: u64,
    /// When it expires, in milliseconds since the Unix epoch.
    pub expires_at: u64,
    /// The device that redeemed it; no other can.
    pub redeemed_by: Option<DeviceId>,
    /// Whether that device was admitted.
    pub done: bool,
    /// The addresses in the ticket.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
}

/// The answer to `GET /sync/invites`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Invites {
    /// Those that still hold, the latest first.
    pub items: Vec<InviteView>,
}

/// A join request: a device that has a valid ticket and waits to be admitted by a person on this device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PendingJoin {
    /// Its id: 16 hexadecimal digits.
    pub id: String,
    /// The invitation.
    pub invite: String,
    /// The team.
    pub team: EventId,
    /// The team's name.
    pub team_name: String,
    /// The device.
    pub device: DeviceId,
    /// What it calls itself.
    pub name: String,
    /// Its owner, by its own claim.
    pub person: String,
    /// What it will be allowed.
    pub role: Role,
    /// The scopes that it will see; empty for all.
    pub scopes: Vec<Scope>,
    /// Six words. The other screen shows the same ones, or this may be a man-in-the-middle attack.
    pub words: Vec<String>,
    /// Until when it waits, in milliseconds since the Unix epoch.
    pub expires_at: u64,
}

/// The answer to `GET /sync/pending`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PendingJoins {
    /// The join requests, oldest first.
    pub items: Vec<PendingJoin>,
}

request! {
    /// `POST /sync/pending/{id}`: admits the device, or denies it.
    #[derive(Default)]
    pub struct AnswerJoinRequest {
        /// Who acts.
        caller,
        /// Whether to admit it.
        #[serde(default)]
        pub accept: bool,
        /// The verification words; required to admit a device, so that they are compared first.
        #[serde(default)]
        pub words: Vec<String>,
    }
}

request! {
    /// `POST /sync/join`: with a ticket, or with a grant file.
    #[derive(Default)]
    pub struct JoinRequest {
        /// Who acts: the person whom the team will see.
        caller,
        /// The ticket, `ergo1…`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub ticket: Option<String>,
        /// Instead of a ticket: the absolute path of a grant file, made by `POST /sync/approve`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub grant: Option<String>,
        /// How the others will see this device [default: the machine's name].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub device_name: Option<String>,
        /// Scopes of the team that get another name here.
        #[serde(default)]
        pub map: Vec<BoundScope>,
        /// Scopes of this device to share with the team immediately, with their history, by their names here.
        #[serde(default)]
        pub bring: Vec<Scope>,
        /// With a grant file: the words that were compared. Without them, the answer only describes the file.
        #[serde(default)]
        pub words: Vec<String>,
    }
}

/// How far a join has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JoinState {
    /// The words are shown on both sides; the other side has not answered yet.
    #[default]
    Waiting,
    /// This device is in the team.
    Joined,
    /// It did not work; `error` says why.
    Failed,
}

/// A join by ticket, as `POST /sync/join` answers once the words are known, and `GET /sync/joins/{id}` after that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JoinView {
    /// Its id: 16 hexadecimal digits.
    pub id: String,
    /// How far it has come.
    pub state: JoinState,
    /// The team's name.
    pub team_name: String,
    /// The device that invited, by the name it gives itself.
    pub inviter: String,
    /// Whose that device says to be.
    pub person: String,
    /// What this device will be allowed.
    pub role: Role,
    /// Six words. The other screen shows the same ones, or this may be a man-in-the-middle attack.
    pub words: Vec<String>,
    /// Until when the other side can answer, in milliseconds since the Unix epoch.
    pub expires_at: u64,
    /// The team, once this device is in it.
    pub team: Option<TeamView>,
    /// Why it did not work.
    pub error: Option<super::super::ApiError>,
}

request! {
    /// `POST /sync/card`: a request file of this device, to join a team that it cannot reach over a network.
    #[derive(Default)]
    pub struct CardRequest {
        /// Who acts: the person whom the team will see.
        caller,
        /// The file to make, as an absolute path; it must not exist.
        #[serde(default)]
        pub out: String,
        /// How the others will see this device [default: the machine's name].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub device_name: Option<String>,
    }
}

request! {
    /// `POST /sync/approve`: admits the device of a request file to the team.
    #[derive(Default)]
    pub struct ApproveRequest {
        /// Who acts.
        caller,
        /// The team, by id, prefix or name; only needed if this device is in several teams.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub in_team: Option<String>,
        /// The request file, as an absolute path.
        #[serde(default)]
        pub card: String,
        /// The grant file to make, as an absolute path; it must not exist. Left out: only tell what the request says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub out: Option<String>,
        /// What the device may do.
        #[serde(default)]
        pub role: Role,
        /// The team's scopes that it may see; empty for all.
        #[serde(default)]
        pub scopes: Vec<Scope>,
        /// The words that were compared; required with `out`.
        #[serde(default)]
        pub words: Vec<String>,
    }
}

/// What a request file or a grant says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DeviceCard {
    /// The file.
    pub path: String,
    /// The device that wants to come in.
    pub device: DeviceId,
    /// What it calls itself.
    pub name: String,
    /// Its owner, by its own claim.
    pub person: String,
    /// Six words of the request file, to be compared over the phone.
    pub words: Vec<String>,
    /// The grant file, if one was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
    /// Six words of that file: the other side compares them before it joins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grant_words: Vec<String>,
    /// The team that it was taken into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team_name: Option<String>,
    /// What happened, for people.
    pub summary: String,
}
