//! Bundles: files of a team's events, for devices without a common network.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::CardSummary;
use crate::domain::{DeviceId, EventId, Scope};

/// The response header with the summary of a bundle, as ASCII JSON.
pub const SUMMARY_HEADER: &str = "x-ergo-summary";

/// The maximum length of `since_file` in bytes, decoded: the beginning of an earlier bundle or receipt.
pub const MAX_SINCE_FILE: usize = 96 * 1024;

/// The number of hexadecimal digits in one piece of `since_file`.
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
    /// The devices that may decrypt it, by name or id; the whole team if none is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<String>,
    /// Do not encrypt it: anybody who has the file can read it.
    pub open: bool,
    /// Export only the roster: a grant for a device that was admitted.
    pub roster_only: bool,
    /// Export no events, but a receipt that confirms the arrival of the bundle with this id.
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

/// The part of a bundle that belongs to one scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExportedScope {
    /// Its name in the team.
    pub scope: Scope,
    /// The number of its events in the bundle.
    pub events: u64,
}

/// The result of an export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExportOutcome {
    /// The bundle's id.
    pub bundle: String,
    /// The team.
    pub team: EventId,
    /// Its name.
    pub team_name: String,
    /// The devices that can decrypt it; absent if it is not encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed_to: Option<Vec<DeviceName>>,
    /// The events that it contains according to `since`, in words.
    pub since: String,
    /// The number of roster events in it.
    pub roster_events: u64,
    /// The scopes in it.
    pub scopes: Vec<ExportedScope>,
    /// Shared scopes that were left out, because none of its recipients may read them.
    pub left_out: Vec<Scope>,
    /// The size of the file in bytes.
    pub bytes: u64,
}

/// The query of `POST /sync/import`, whose body is the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ImportQuery {
    /// Dry run: report what the import would do and change nothing.
    pub dry_run: bool,
}

/// The result for one scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportedScope {
    /// Its name in the team.
    pub scope: Scope,
    /// The number of its events that the bundle should contain.
    pub expected: u64,
    /// The number of events that could be read.
    pub arrived: u64,
    /// The number of events that were new on this device.
    pub stored: u64,
    /// Whether this device now has exactly the events that the sender had when the bundle was created.
    pub in_step: bool,
    /// The number of events that this device has and the sender did not have.
    pub maker_lacks: u64,
}

/// An event that the team does not accept, and that is now in quarantine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RefusedEvent {
    /// The event.
    pub id: EventId,
    /// The scope, by its name in the team.
    pub scope: Scope,
    /// Its author, by the event's own claim.
    pub who: String,
    /// The device that signed it.
    pub author: DeviceName,
    /// The reason, as a stable word.
    pub refusal: String,
    /// The reason, in words.
    pub why: String,
}

/// The result of an import, including everything that was left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ImportOutcome {
    /// Whether this was a dry run: it reports what an import would do.
    pub dry_run: bool,
    /// The bundle's id.
    pub bundle: String,
    /// The team.
    pub team: EventId,
    /// Its name.
    pub team_name: String,
    /// The device that created it.
    pub from: DeviceName,
    /// Whether the sender belongs to the team: `active`, `left`, `revoked` or `unknown`. Each event is judged by its
    /// own author, not by the sender.
    pub from_state: String,
    /// When it was created, by the sender's clock, in milliseconds since the Unix epoch.
    pub created: u64,
    /// Whether it is a receipt, which contains no events but confirms that another bundle arrived.
    pub receipt: bool,
    /// Whether the file is complete and its signature valid.
    pub whole: bool,
    /// The parts that could not be used, and why.
    pub problems: Vec<String>,
    /// The number of scopes in it that are encrypted for other devices.
    pub closed_scopes: u64,
    /// The number of events that were new on this device.
    pub stored: u64,
    /// The number of events that this device already had, without those in quarantine.
    pub known: u64,
    /// Events that are in quarantine, since this import or an earlier one, the first twenty.
    pub quarantined: Vec<RefusedEvent>,
    /// The number of events that are in quarantine, since this import or an earlier one.
    pub quarantined_total: u64,
    /// The number of events that left quarantine because the roster changed.
    pub readmitted: u64,
    /// Devices from which this one had no events before.
    pub new_authors: Vec<DeviceName>,
    /// The number of claims that are new or changed.
    pub claims: u64,
    /// Open cards that are new or changed.
    pub cards: Vec<CardSummary>,
    /// The scopes.
    pub scopes: Vec<ImportedScope>,
    /// The number of forked chains: a store was copied, or a key stolen.
    pub forks: u64,
}

impl ImportOutcome {
    /// Whether the file is complete and contains scopes, and all of them are encrypted for other devices.
    pub fn all_closed(&self) -> bool {
        self.whole && self.closed_scopes > 0 && self.scopes.is_empty()
    }
}
