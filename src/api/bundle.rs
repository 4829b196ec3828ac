//! Bundles: team memory as files, for laptops that share no network.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::CardSummary;
use crate::domain::{DeviceId, EventId, Scope};

/// The response header with the summary of a bundle, as ASCII JSON.
pub const SUMMARY_HEADER: &str = "x-ergo-summary";

/// How much of an earlier bundle or receipt `since_file` may hold, in bytes.
pub const MAX_SINCE_FILE: usize = 96 * 1024;

/// Hexadecimal digits in one piece of `since_file`.
pub const SINCE_FILE_PIECE: usize = 8 * 1024;

/// `POST /sync/export`. Returns with the bundle itself, and with an [`ExportOutcome`] in the header `x-ergo-summary`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExportRequest {
    /// The team, by id, prefix or name; only needed if this device is in several teams.
    #[serde(alias = "team", skip_serializing_if = "Option::is_none")]
    pub in_team: Option<String>,
    /// `all` (default), a date (`2026-11-01`, UTC), or a device of the team by name or id: the events that it is not known to have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// The beginning of an earlier bundle or receipt, in hexadecimal pieces: the events that its creator did not have then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub since_file: Vec<String>,
    /// The scopes, as `org/project`; all that are shared if none is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// The devices that it is for, by name or id; the whole team if none is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<String>,
    /// Do not encrypt it: whoever has the file can read it.
    pub open: bool,
    /// Export only the roster: a grant for a device that was admitted.
    pub roster_only: bool,
    /// Hold no events: confirm the arrival of the bundle with this id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt_for: Option<String>,
}

/// A device of a team.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeviceName {
    /// Its id.
    pub device: DeviceId,
    /// Its name in the team; empty if it has none there.
    pub name: String,
}

/// What a bundle holds of one scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExportedScope {
    /// Its name in the team.
    pub scope: Scope,
    /// How many events.
    pub events: u64,
}

/// What was exported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExportOutcome {
    /// The bundle's id.
    pub bundle: String,
    /// The team.
    pub team: EventId,
    /// Its name.
    pub team_name: String,
    /// Whom it is encrypted for; absent if it is not encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed_to: Option<Vec<DeviceName>>,
    /// The events that it contains according to `since`, in words.
    pub since: String,
    /// Events of the roster.
    pub roster_events: u64,
    /// The scopes, with what it holds of each.
    pub scopes: Vec<ExportedScope>,
    /// Shared scopes that are not in it, since nobody whom it is for may read them.
    pub left_out: Vec<Scope>,
    /// The file's bytes.
    pub bytes: u64,
}

/// The query of `POST /sync/import`, whose body is the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
pub struct ImportQuery {
    /// Dry run: report what the import would do and change nothing.
    pub dry_run: bool,
}

/// The result for one scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportedScope {
    /// Its name in the team.
    pub scope: Scope,
    /// How many events of it the bundle should hold.
    pub expected: u64,
    /// How many could be read.
    pub arrived: u64,
    /// How many were new here.
    pub stored: u64,
    /// Whether this device now has exactly the events that the sender had when the bundle was created.
    pub in_step: bool,
    /// Events that this device has and the sender did not have.
    pub maker_lacks: u64,
}

/// An event that the team does not accept, and that is now in quarantine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RefusedEvent {
    /// The event.
    pub id: EventId,
    /// Where, by the team's name.
    pub scope: Scope,
    /// Its author, by the event's own claim.
    pub who: String,
    /// The device that signed it.
    pub author: DeviceName,
    /// Why, as a stable word.
    pub refusal: String,
    /// Why, in words.
    pub why: String,
}

/// The result of an import, including everything that was left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ImportOutcome {
    /// Nothing was done: this is what would be.
    pub dry_run: bool,
    /// The bundle's id.
    pub bundle: String,
    /// The team.
    pub team: EventId,
    /// Its name.
    pub team_name: String,
    /// The device that made it.
    pub from: DeviceName,
    /// Whether the sender belongs to the team: `active`, `left`, `revoked` or `unknown`. Each event is judged by its
    /// own author, not by the sender.
    pub from_state: String,
    /// When it was made, by its maker's clock, in milliseconds since the Unix epoch.
    pub created: u64,
    /// It holds no events of scopes: a receipt or a grant.
    pub receipt: bool,
    /// The file was complete and unchanged, and its signature verifies.
    pub whole: bool,
    /// What of it could not be used, and why.
    pub problems: Vec<String>,
    /// Scopes in it that are encrypted for others.
    pub closed_scopes: u64,
    /// Events that are new here.
    pub stored: u64,
    /// Events that were here already.
    pub known: u64,
    /// Events that were quarantined, the first twenty.
    pub quarantined: Vec<RefusedEvent>,
    /// How many there are in all.
    pub quarantined_total: u64,
    /// Events that left quarantine because the roster changed.
    pub readmitted: u64,
    /// Devices of which this one had no event before.
    pub new_authors: Vec<DeviceName>,
    /// Claims that are new or changed.
    pub claims: u64,
    /// Open cards that it raised or changed.
    pub cards: Vec<CardSummary>,
    /// The scopes.
    pub scopes: Vec<ImportedScope>,
    /// The number of forked chains: a store was copied, or a key stolen.
    pub forks: u64,
}
