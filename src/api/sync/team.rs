//! Acts on a team: to create, change and leave it, and to decide about quarantined events.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::super::request;
use crate::domain::{DeviceId, EventId, OpId, Scope, roster::Refusal};

pub use crate::domain::roster::Role;

request! {
    /// `POST /sync/create`.
    #[derive(Default)]
    pub struct CreateTeamRequest {
        /// Who acts. The organisation, project and identity are those of the current project, if it is among `scopes`.
        caller(who),
        /// The team's name; required.
        pub name: String,
        /// How the others will see this device [default: the machine's name].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub device_name: Option<String>,
        /// Scopes of this machine that the team shares from now on, with their history.
        #[serde(default)]
        pub scopes: Vec<Scope>,
    }
}

/// A team, as answered by the requests that create or join it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TeamView {
    /// The team's id: that of the event that created it.
    pub id: EventId,
    /// Its name.
    pub name: String,
    /// What this device may do in it.
    pub role: Role,
    /// The scopes that this device may read, each with its name on this device.
    pub scopes: Vec<BoundScope>,
    /// The number of devices in the team, including this one.
    pub members: usize,
    /// What happened, in sentences for people.
    pub summary: String,
}

/// A scope of a team, and its name on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BoundScope {
    /// The team's name for it.
    pub scope: Scope,
    /// The name on this device; often the same.
    pub local: Scope,
}

/// The result of an act on a team.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TeamDone {
    /// The id of the change.
    pub op_id: OpId,
    /// The team.
    pub team: EventId,
    /// What happened, in sentences for people.
    pub summary: String,
    /// Warnings, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

request! {
    /// `POST /sync/rename`: renames a device or the team.
    #[derive(Default)]
    pub struct RenameRequest {
        /// Who acts.
        caller(who),
        /// The team, by id, prefix or name; only needed if this device is in several teams.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub in_team: Option<String>,
        /// The device, by name, id or prefix; the team itself if omitted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub device: Option<String>,
        /// The new name; required.
        pub name: String,
    }
}

request! {
    /// `POST /sync/grant`: sets the role and scopes of a device.
    #[derive(Default)]
    pub struct GrantRequest {
        /// Who acts.
        caller(who),
        /// The team, by id, prefix or name; only needed if this device is in several teams.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub in_team: Option<String>,
        /// The device, by name, id or prefix; required.
        pub device: String,
        /// Its new role; unchanged if omitted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub role: Option<Role>,
        /// The scopes, by the team's names: empty for all; unchanged if omitted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub scopes: Option<Vec<Scope>>,
    }
}

request! {
    /// `POST /sync/revoke`: revokes a device. What it has written so far stays; later events are quarantined, whatever their date.
    #[derive(Default)]
    pub struct RevokeRequest {
        /// Who acts.
        caller(who),
        /// The team, by id, prefix or name; only needed if this device is in several teams.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub in_team: Option<String>,
        /// The device, by name, id or prefix; required.
        pub device: String,
        /// Why; required.
        pub reason: String,
    }
}

request! {
    /// `POST /sync/leave`: this device leaves the team. It keeps what it has and no longer shares it.
    #[derive(Default)]
    pub struct LeaveRequest {
        /// Who acts.
        caller(who),
        /// The team, by id, prefix or name; only needed if this device is in several teams.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub in_team: Option<String>,
    }
}

request! {
    /// `POST /sync/adopt`: shares a scope with its history, including what was written before it belonged to the team.
    pub struct AdoptRequest {
        /// Who acts. The organisation, project and identity are those of the current project, if it is `scope`.
        caller(who),
        /// The team, by id, prefix or name; only needed if this device is in several teams.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub in_team: Option<String>,
        /// The scope, by its name on this device; required. A scope that the team does not have yet is added to it (admins only).
        pub scope: Scope,
    }
}

request! {
    /// `POST /sync/bind`: sets the name of a team's scope on this device.
    pub struct BindRequest {
        /// Who acts.
        caller(who),
        /// The team, by id, prefix or name; only needed if this device is in several teams.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub in_team: Option<String>,
        /// The team's name of the scope; required.
        pub scope: Scope,
        /// The name on this device; required.
        pub local: Scope,
    }
}

/// `GET /sync/quarantined`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct QuarantinedQuery {
    /// The team, by id, prefix or name; all if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_team: Option<String>,
    /// Also those that were discarded.
    pub discarded: bool,
    /// The maximum number of events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// A received event that the team does not accept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QuarantinedView {
    /// The event.
    pub id: EventId,
    /// The team.
    pub team: EventId,
    /// The team's name of the scope.
    pub scope: Scope,
    /// Its author, as the event states.
    pub who: String,
    /// The device that signed it.
    pub author: DeviceId,
    /// That device's name, if the team knows one.
    pub author_name: Option<String>,
    /// The peer from which it was received; absent if it was imported from a file.
    pub from: Option<DeviceId>,
    /// That peer's name.
    pub from_name: Option<String>,
    /// The kind of event: `assert`, `supersede`, …
    pub kind: String,
    /// Its statement or reason, if it has one.
    pub text: Option<String>,
    /// When it was written, as the event states, in milliseconds since the Unix epoch.
    pub at: u64,
    /// When it was received, in milliseconds since the Unix epoch.
    pub received_at: u64,
    /// Why it is in quarantine: `not_a_member`, `no_grant`, `reader`, `after_cut`, `not_adopted`, `wrong_team`, `clock`.
    pub refusal: String,
    /// The same as a sentence.
    pub why: String,
    /// Whether it was discarded on this device.
    pub discarded: bool,
}

impl QuarantinedView {
    /// Returns a verb in the past tense for its kind.
    pub fn verb(&self) -> &'static str {
        crate::api::event_verb(&self.kind)
    }

    /// Returns whether it is accepted when its date comes, and not before.
    pub fn waits_for_date(&self) -> bool {
        self.refusal == Refusal::Clock.as_str()
    }
}

/// The answer to `GET /sync/quarantined`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QuarantinedList {
    /// The events, the last received first.
    pub items: Vec<QuarantinedView>,
    /// The number of all such events.
    pub total: usize,
}

request! {
    /// `POST /sync/quarantined/accept` (for the whole team, admins only) and `/discard` (on this device only).
    #[derive(Default)]
    pub struct QuarantineRequest {
        /// Who acts.
        caller(who),
        /// The team, by id, prefix or name; only needed if this device is in several teams.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub in_team: Option<String>,
        /// The events, by id or prefix; at least one, unless `author` or `all` is given.
        #[serde(default)]
        pub events: Vec<String>,
        /// Instead of `events`, for `/discard`: all events of this device, given by name or id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub author: Option<String>,
        /// Instead of `events`, for `/discard`: all events of the team.
        #[serde(default)]
        pub all: bool,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub reason: Option<String>,
    }
}
