//! Export of bundles from a store, and their import.
//!
//! An import is idempotent and does not depend on order, so an interrupted one is repeated.
//!
//! Architecture Invariant: events from a file pass the same admission, in the same transaction, as events from a peer.
//! So a bundle can only carry events, never bypass the roster.

mod dry_run;
mod export;
mod import;
mod peer_progress;
mod since;

use std::io::{self, Read};

use ed25519_dalek::SigningKey;

pub use dry_run::{delete_left_copy, dry_run};
pub use export::export;
pub use import::import;

use super::{
    bundle::{BundleError, BundleItem, BundleReader},
    pairing::MAX_ROSTER_EVENTS,
};
use crate::{
    api::{ApiError, DeviceName, ErrorCode},
    domain::{
        DeviceId, EventId, Roster, SignedEvent,
        roster::{Member, MemberState},
        text::escape,
    },
    engine::SyncReader,
    store::TeamRow,
};

/// The roster in a file. It is not trusted yet.
#[derive(Clone, Debug, PartialEq)]
pub struct RosterFile {
    pub team: EventId,
    /// The device that made the file.
    pub from: DeviceId,
    /// The roster's events with a valid signature.
    pub events: Vec<SignedEvent>,
}

/// The most bytes of a roster in a file: a hundred times a large one.
const MAX_ROSTER_BYTES: usize = 32 * 1024 * 1024;

/// Reads the roster from a bundle that is sealed to the device with this key, such as a grant for a device that is not
/// in the team yet.
///
/// # Errors
/// If the file is not a bundle, not sealed to this device, or has too large a roster.
pub fn roster_in(input: impl Read, key: &SigningKey) -> Result<RosterFile, ApiError> {
    let mut bundle = BundleReader::new(input, key).map_err(|error| match error {
        BundleError::NotARecipient { device, .. } => {
            let message = format!("the file is encrypted for another device, not for this device ({})", device.short());
            ApiError::new(ErrorCode::BadRequest, message).hint(
                "`ergo sync request` here makes a request file; an admin makes the grant from it with `ergo sync approve`",
            )
        }
        error => bundle_error(error),
    })?;
    let (team, from) = (bundle.header().team, bundle.header().from);
    let (mut events, mut count, mut bytes) = (Vec::new(), 0, 0);
    for item in bundle.by_ref() {
        if let BundleItem::Events(0, roster) = item {
            // Forged and repeated events count, too: checking them takes time.
            count += roster.len();
            bytes += roster.iter().map(SignedEvent::size).sum::<usize>();
            if count > MAX_ROSTER_EVENTS || bytes > MAX_ROSTER_BYTES {
                let message = format!("the roster in the file is too large: it has {count} events of {bytes} bytes");
                return Err(ApiError::new(ErrorCode::TooLarge, message).hint(format!(
                    "at most {MAX_ROSTER_EVENTS} events of {MAX_ROSTER_BYTES} bytes are accepted: ask an admin of the \
                        team for a new grant"
                )));
            }
            events.extend(roster.into_iter().filter(|event| event.verify().is_ok()));
        }
    }
    Ok(RosterFile { team, from, events })
}

/// Converts the error of a file into an API error.
fn bundle_error(error: BundleError) -> ApiError {
    match error {
        BundleError::Io(error) => io_error(&error),
        error => ApiError::new(ErrorCode::BadRequest, error.to_string()),
    }
}

fn io_error(error: &io::Error) -> ApiError {
    ApiError::new(ErrorCode::Unavailable, format!("the file cannot be read or written: {error}"))
        .hint("free disk space or repair the disk, then repeat the command: nothing is lost or done twice")
}

/// Finds the team by name, id or prefix; if none is named, the only one. Returns its roster too.
fn team(reader: &SyncReader<'_>, named: Option<&str>) -> Result<(TeamRow, Roster), ApiError> {
    let mut teams = reader.teams_with_rosters()?;
    if let Some(named) = named {
        teams.retain(|(_, roster)| roster.is_named(named));
    } else if teams.iter().any(|(team, _)| team.left_at.is_none()) {
        teams.retain(|(team, _)| team.left_at.is_none());
    } else if let Some((_, last)) = teams.iter().max_by_key(|(team, _)| team.left_at) {
        return Err(no_longer_in(last.name()));
    }
    match (teams.len(), named) {
        (1, _) => teams.pop().ok_or_else(|| ApiError::internal("the team no longer exists on this device")),
        (0, None) => Err(ApiError::not_found("this device is in no team")
            .hint("`ergo sync create` creates one, `ergo sync join` joins one")),
        (0, Some(named)) => Err(ApiError::field("in_team", format!("this device is in no team “{named}”"))
            .hint("`ergo sync status` lists its teams")),
        _ => {
            let label = |(team, roster): &(TeamRow, Roster)| format!("{} {}", team.id.short(), escape(roster.name()));
            Err(ApiError::several_teams("in_team", teams.iter().map(label).collect()))
        }
    }
}

/// Returns the error about a team that this device has left or from which it was revoked.
fn no_longer_in(team: &str) -> ApiError {
    let message = format!("this device no longer belongs to the team “{team}”, and exchanges no files with it");
    ApiError::new(ErrorCode::BadRequest, message).hint(
        "what it has stays here, and `ergo export jsonl` writes a project to a file of your own; to exchange again, ask an \
            admin of the team for a new invitation",
    )
}

/// Finds a device of a team by [`Roster::devices_named`].
fn member<'a>(roster: &'a Roster, field: &str, named: &str) -> Result<&'a Member, ApiError> {
    match roster.devices_named(named).as_slice() {
        [member] => Ok(member),
        [] => {
            let names: Vec<_> = active(roster).map(|member| member.name.as_str()).collect();
            Err(ApiError::field(field, format!("there is no device “{named}” in the team"))
                .hint(format!("its devices are: {}", names.join(", "))))
        }
        several => {
            let ids: Vec<_> = several.iter().map(|member| member.device.short()).collect();
            Err(ApiError::field(field, format!("several devices are called “{named}”"))
                .hint(format!("name one by its id: {}", ids.join(", "))))
        }
    }
}

fn active(roster: &Roster) -> impl Iterator<Item = &Member> {
    roster.members().filter(|member| member.state == MemberState::Active)
}

/// Returns a device with its name; the name is empty if the team does not know it.
fn device_name(roster: Option<&Roster>, device: DeviceId) -> DeviceName {
    let name = roster.and_then(|roster| roster.member(&device)).map(|member| member.name.clone());
    DeviceName { device, name: name.unwrap_or_default() }
}
