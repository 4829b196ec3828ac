//! Bundles out of a store and into one.
//!
//! What arrives in a file passes the same admission, in the same transaction, as what arrives from a peer: a bundle only carries. Importing
//! is idempotent and knows no order; cut short anywhere, it is simply done again.

mod export;
mod import;
mod learn;
mod rehearse;
mod since;

use std::io::{self, Read};

use ed25519_dalek::SigningKey;

pub use export::export;
pub use import::import;
pub use rehearse::rehearse;

use super::bundle::{BundleError, BundleReader, Item};
use crate::{
    api::{ApiError, DeviceName, ErrorCode},
    domain::{
        DeviceId, EventId, Roster, SignedEvent, id,
        roster::{Member, MemberState},
    },
    store::{Reader, TeamRow},
};

/// What a file brings of a roster, before anything of it is believed.
#[derive(Clone, Debug, PartialEq)]
pub struct RosterFile {
    /// The team.
    pub team: EventId,
    /// The device that made the file.
    pub from: DeviceId,
    /// The roster's events; their signatures verify.
    pub events: Vec<SignedEvent>,
    /// The file was complete and unchanged, and its signature verifies.
    pub whole: bool,
}

/// Reads the roster out of a bundle that is sealed to the device whose key this is: what a grant brings to a device that does not
/// belong to the team yet.
///
/// # Errors
/// Where the file is no bundle, or not for this device.
pub fn roster_in(input: impl Read, key: &SigningKey) -> Result<RosterFile, ApiError> {
    let mut bundle = BundleReader::new(input, key).map_err(refused)?;
    let (team, from) = (bundle.header().team, bundle.header().from);
    let mut events = Vec::new();
    for item in bundle.by_ref() {
        if let Item::Events(0, roster) = item {
            events.extend(roster.into_iter().filter(|event| event.verify().is_ok()));
        }
    }
    Ok(RosterFile { team, from, events, whole: bundle.ending().whole })
}

/// What is wrong with a file, as an answer.
fn refused(error: BundleError) -> ApiError {
    match error {
        BundleError::Io(error) => broken(&error),
        error => ApiError::new(ErrorCode::BadRequest, error.to_string()),
    }
}

fn broken(error: &io::Error) -> ApiError {
    ApiError::new(ErrorCode::Unavailable, format!("the file cannot be read or written: {error}"))
        .hint("free the disk or mend what is wrong with it, then do the same again: nothing is lost or done twice")
}

/// The team that is meant: by name, id or prefix, or the only one.
fn team(reader: &Reader, named: Option<&str>) -> Result<TeamRow, ApiError> {
    let mut teams = reader.teams()?;
    if let Some(named) = named {
        let named_so =
            |team: &TeamRow| team.name == named || id::is_prefix(named) && team.id.to_hex().starts_with(named);
        teams.retain(named_so);
    } else {
        teams.retain(|team| team.left_at.is_none());
    }
    match (teams.len(), named) {
        (1, _) => teams.pop().ok_or_else(|| ApiError::internal("a team went away")),
        (0, None) => Err(ApiError::not_found("this device belongs to no team")
            .hint("`ergo sync create` makes one, `ergo sync join` joins one")),
        (0, Some(named)) => Err(ApiError::field("team", format!("there is no team “{named}” here"))
            .hint("`ergo sync status` lists the teams of this device")),
        _ => {
            let names: Vec<_> = teams.iter().map(|team| format!("{} ({})", team.name, team.id.short())).collect();
            Err(ApiError::field("team", format!("more than one team is meant: {}", names.join(", ")))
                .hint("name one with `--team`, by its id where the names are the same"))
        }
    }
}

/// The member of a team that is meant: by name, id or prefix.
fn member<'a>(roster: &'a Roster, field: &str, named: &str) -> Result<&'a Member, ApiError> {
    let prefix = named.to_ascii_lowercase();
    let meant = |member: &&Member| {
        member.name.eq_ignore_ascii_case(named) || id::is_prefix(&prefix) && member.device.to_hex().starts_with(&prefix)
    };
    let mut found: Vec<&Member> = roster.members().filter(meant).collect();
    if found.len() > 1 {
        found.retain(|member| member.state == MemberState::Active);
    }
    match found.as_slice() {
        [member] => Ok(member),
        [] => {
            let names: Vec<_> = active(roster).map(|member| member.name.as_str()).collect();
            Err(ApiError::field(field, format!("no device of the team is called “{named}”"))
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

/// A device with its name, where the team knows one.
fn device_name(roster: Option<&Roster>, device: DeviceId) -> DeviceName {
    let name = roster.and_then(|roster| roster.member(&device)).map(|member| member.name.clone());
    DeviceName { device, name: name.unwrap_or_default() }
}
