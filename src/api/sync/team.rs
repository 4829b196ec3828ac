//! Acts on a team: create, change and leave it, and decide about quarantined events.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::super::request;
use crate::domain::{DeviceId, EventId, OpId, Scope};

pub use crate::domain::roster::Role;

request! {
    /// `POST /sync/create`.
    #[derive(Default)]
    pub struct CreateTeamRequest {
        /// Who acts; organisation and project are not looked at.
        caller,
        /// The team's name; required.
        #[serde(default)]
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
    /// The team: the id of the event that made it.
    pub id: EventId,
    /// Its name.
    pub name: String,
    /// What this device may do in it.
    pub role: Role,
    /// The scopes that this device may read, each with its name here.
    pub scopes: Vec<BoundScope>,
    /// Devices in the team, this one included.
    pub members: usize,
    /// What happened, for people.
    pub summary: String,
}

/// A scope of a team, and its name on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BoundScope {
    /// The team's name for it.
    pub scope: Scope,
    /// The name here; often the same.
    pub local: Scope,
}

/// What a request about a team did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TeamDone {
    /// The id of the change.
    pub op_id: OpId,
    /// The team.
    pub team: EventId,
    /// What happened, for people.
    pub summary: String,
    /// Notes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

request! {
    /// `POST /sync/rename`: a device, or the team.
    #[derive(Default)]
    pub struct RenameRequest {
        /// Who acts.
        caller,
        /// The team, by id, prefix or name; only needed if this device is in several teams.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub in_team: Option<String>,
        /// The device, by name, id or prefix; the team itself if it is left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub device: Option<String>,
        /// The new name; required.
        #[serde(default)]
        pub name: String,
    }
}

request! {
    /// `POST /sync/grant`: what a device may do from now on.
    #[derive(Default)]
    pub struct GrantRequest {
        /// Who acts.
        caller,
        /// The team, by id, prefix or name; only needed if this device is in several teams.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub in_team: Option<String>,
        /// The device, by name, id or prefix; required.
        #[serde(default)]
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
        caller,
        /// The team, by id, prefix or name; only needed if this device is in several teams.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub in_team: Option<String>,
        /// The device, by name, id or prefix; required.
        #[serde(default)]
        pub device: String,
        /// Why; required.
        #[serde(default)]
        pub reason: String,
    }
}

request! {
    /// `POST /sync/leave`: this device leaves the team. It keeps what it has and no longer shares it.
    #[derive(Default)]
    pub struct LeaveRequest {
        /// Who acts.
        caller,
        /// The team, by id, prefix or name; only needed if this device is in several teams.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub in_team: Option<String>,
    }
}

request! {
    /// `POST /sync/adopt`: shares a scope with its history, including what was written before it belonged to the team.
    #[derive(Default)]
    pub struct AdoptRequest {
        /// Who acts.
        caller,
        /// The team, by id, prefix or name; only needed if this device is in several teams.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub in_team: Option<String>,
        /// The scope, by its name here; required. One that the team does not have yet becomes the team's (admins only).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub scope: Option<Scope>,
    }
}

request! {
    /// `POST /sync/bind`: under which name a scope of the team is kept here.
    #[derive(Default)]
    pub struct BindRequest {
        /// Who acts.
        caller,
        /// The team, by id, prefix or name; only needed if this device is in several teams.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub in_team: Option<String>,
        /// The team's name of the scope; required.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub scope: Option<Scope>,
        /// The name here; required.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub local: Option<Scope>,
    }
}

/// `GET /sync/quarantined`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct QuarantinedQuery {
    /// The team, by id, prefix or name; all if it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_team: Option<String>,
    /// Also those that were discarded.
    pub discarded: bool,
    /// The maximum number of events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// An event that came and was not accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QuarantinedView {
    /// The event.
    pub id: EventId,
    /// The team.
    pub team: EventId,
    /// The team's name of the scope.
    pub scope: Scope,
    /// Its author, by the event's own claim.
    pub who: String,
    /// The device that signed it.
    pub author: DeviceId,
    /// That device's name, if the team knows one.
    pub author_name: Option<String>,
    /// The peer that delivered it; none for a file.
    pub from: Option<DeviceId>,
    /// That peer's name.
    pub from_name: Option<String>,
    /// What kind of event it is: `assert`, `supersede`, …
    pub kind: String,
    /// Its statement or reason, if it has one.
    pub text: Option<String>,
    /// When it says that it was written, in milliseconds since the Unix epoch.
    pub at: u64,
    /// When it was received, in milliseconds since the Unix epoch.
    pub received_at: u64,
    /// Why it is in quarantine: `not_a_member`, `no_grant`, `reader`, `after_cut`, `not_adopted`, `wrong_team`, `clock`.
    pub refusal: String,
    /// The same as a sentence.
    pub why: String,
    /// Whether it was discarded here.
    pub discarded: bool,
}

impl QuarantinedView {
    /// Describes what it would do, as a verb in the past.
    pub fn verb(&self) -> &'static str {
        crate::api::event_verb(&self.kind)
    }
}

/// The answer to `GET /sync/quarantined`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QuarantinedList {
    /// The events, the latest to come first.
    pub items: Vec<QuarantinedView>,
    /// How many there are in all.
    pub total: usize,
}

request! {
    /// `POST /sync/quarantined/accept` (for the whole team, admins only) and `/discard` (here only).
    #[derive(Default)]
    pub struct QuarantineRequest {
        /// Who acts.
        caller,
        /// The team, by id, prefix or name; only needed if this device is in several teams.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub in_team: Option<String>,
        /// The events, by id or prefix; at least one, unless `author` or `all` is given.
        #[serde(default)]
        pub events: Vec<String>,
        /// To discard: instead of `events`, all that this device wrote, by its name or id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub author: Option<String>,
        /// To discard: instead of `events`, all of the team.
        #[serde(default)]
        pub all: bool,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub reason: Option<String>,
    }
}
