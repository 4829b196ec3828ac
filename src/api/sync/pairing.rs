//! Pairing: a device joins a team by an invitation, or by files if there is no network.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    super::request,
    team::{BoundScope, Role, TeamView},
};
use crate::domain::{DeviceId, EventId, Scope};

/// The default lifetime of an invitation, in seconds.
pub const DEFAULT_INVITE_TTL: u64 = 15 * 60;

/// The maximum lifetime of an invitation, in seconds: a day.
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
    /// The ticket, `ergo1…`, to be given to the other side over a channel that you trust. Only in the answer that creates
    /// the invitation, because only a hash of its secret is kept.
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
    /// When it was created, in milliseconds since the Unix epoch.
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
    /// The valid invitations, the latest first.
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
    /// The name that it gives itself.
    pub name: String,
    /// Its owner, as it states itself.
    pub person: String,
    /// The role that it will have.
    pub role: Role,
    /// The scopes that it may see; empty for all.
    pub scopes: Vec<Scope>,
    /// Six words. If the other screen shows different ones, this may be a man-in-the-middle attack.
    pub words: Vec<String>,
    /// When the request expires, in milliseconds since the Unix epoch.
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
    /// `POST /sync/join`: joins a team with a ticket or a grant file.
    #[derive(Default)]
    pub struct JoinRequest {
        /// Who acts: the person whom the team will see.
        caller,
        /// The ticket, `ergo1…`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub ticket: Option<String>,
        /// The absolute path of a grant file, created by `POST /sync/approve`, instead of a ticket.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub grant: Option<String>,
        /// How the others will see this device [default: the machine's name]. With a grant file, only the name in the
        /// request file is possible.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub device_name: Option<String>,
        /// Scopes of the team that get another name on this device.
        #[serde(default)]
        pub map: Vec<BoundScope>,
        /// Scopes of this device to share with the team immediately, with their history, by their names on this device.
        #[serde(default)]
        pub bring: Vec<Scope>,
        /// The compared words of a grant file. Without them, the answer only describes the file.
        #[serde(default)]
        pub words: Vec<String>,
    }
}

/// The state of a join.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JoinState {
    /// The words are shown on both sides; the other side has not answered yet.
    #[default]
    Waiting,
    /// This device is in the team.
    Joined,
    /// The join failed; `error` says why.
    Failed,
}

/// A join by ticket: the answer to `POST /sync/join` once the words are known, and to `GET /sync/joins/{id}` after that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JoinView {
    /// Its id: 16 hexadecimal digits.
    pub id: String,
    /// Its state.
    pub state: JoinState,
    /// The team's name.
    pub team_name: String,
    /// The inviting device, by the name that it gives itself.
    pub inviter: String,
    /// The owner of that device, as it states itself.
    pub person: String,
    /// The role that this device will have.
    pub role: Role,
    /// Six words. If the other screen shows different ones, this may be a man-in-the-middle attack.
    pub words: Vec<String>,
    /// The deadline for the other side's answer, in milliseconds since the Unix epoch.
    pub expires_at: u64,
    /// The team, once this device is in it.
    pub team: Option<TeamView>,
    /// Why it failed.
    pub error: Option<super::super::ApiError>,
}

request! {
    /// `POST /sync/card`: creates a request file, with which this device can join a team that it cannot reach over a network.
    #[derive(Default)]
    pub struct CardRequest {
        /// Who acts: the person whom the team will see.
        caller,
        /// The absolute path of the file to create; it must not exist.
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
        caller(who),
        /// The team, by id, prefix or name; only needed if this device is in several teams.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub in_team: Option<String>,
        /// The absolute path of the request file.
        pub card: String,
        /// The absolute path of the grant file to create; it must not exist. If omitted, the answer only describes the request.
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

/// The content of a request file or a grant file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DeviceCard {
    /// The file.
    pub path: String,
    /// The device that wants to join.
    pub device: DeviceId,
    /// The name that it gives itself.
    pub name: String,
    /// Its owner, as it states itself.
    pub person: String,
    /// Six words computed from the request file, to be compared over the phone.
    pub words: Vec<String>,
    /// The grant file, if one was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
    /// Six words computed from the grant file; the other side compares them before it joins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grant_words: Vec<String>,
    /// The team that it was admitted to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team_name: Option<String>,
    /// What happened, in sentences for people.
    pub summary: String,
}
