//! The `--since` of an export: the events that it leaves out because the other side has them.

use std::collections::BTreeMap;

use ed25519_dalek::SigningKey;
use jiff::{civil::Date, tz::TimeZone};

use super::{bundle_error, member};
use crate::{
    api::{ApiError, ExportRequest, MAX_SINCE_FILE},
    domain::{DeviceId, EventId, Roster, Scope, SignedEvent, replica::ChainEnd},
    engine::SyncReader,
    sync::bundle::{BundleId, BundleItem, BundleReader},
};

/// The events that an export leaves out.
pub(super) enum ExportSince {
    /// Nothing.
    All,
    /// Events dated before this time, in milliseconds since the Unix epoch. The roster is exported in full.
    Time(u64),
    /// Events that a device is known to have.
    Peer(EventId, DeviceId),
    /// Events that the maker of a file had when it was made.
    File(BTreeMap<Scope, Vec<ChainEnd>>),
}

/// A parsed `--since`, with its description and the bundle that it refers to.
pub(super) struct ParsedSince {
    pub(super) since: ExportSince,
    pub(super) description: String,
    pub(super) previous: Option<BundleId>,
}

impl ParsedSince {
    fn new(since: ExportSince, description: impl Into<String>) -> Self {
        Self { since, description: description.into(), previous: None }
    }

    /// Parses the request; `now` is the wall clock, in milliseconds since the Unix epoch.
    pub(super) fn of(request: &ExportRequest, roster: &Roster, key: &SigningKey, now: u64) -> Result<Self, ApiError> {
        if !request.since_file.is_empty() {
            return Self::file(&request.since_file, roster, key);
        }
        let Some(text) = request.since.as_deref().map(str::trim) else { return Ok(Self::new(ExportSince::All, "all")) };
        if text == "all" {
            return Ok(Self::new(ExportSince::All, "all"));
        }
        if let Ok(date) = text.parse::<Date>() {
            let begin = date.to_zoned(TimeZone::UTC).map_err(|error| ApiError::field("since", error.to_string()))?;
            let wall = u64::try_from(begin.timestamp().as_millisecond()).unwrap_or_default();
            if wall > now {
                let message = format!("the date {date} is in the future, so the file would contain no events");
                let hint =
                    "`--since` exports what was written on that date (UTC) or later; check this machine's clock, too";
                return Err(ApiError::field("since", message).hint(hint));
            }
            return Ok(Self::new(ExportSince::Time(wall), format!("{date}")));
        }
        let peer = member(roster, "since", text).map_err(|error| {
            let hint = "`--since` takes `all`, a date like 2026-11-01, a device of the team, or the file of a bundle or receipt";
            let hint = error.hint.as_deref().map_or_else(|| hint.to_owned(), |more| format!("{hint}; {more}"));
            error.hint(hint)
        })?;
        Ok(Self::new(ExportSince::Peer(roster.team(), peer.device), format!("what {} has", peer.name)))
    }

    fn file(pieces: &[String], roster: &Roster, key: &SigningKey) -> Result<Self, ApiError> {
        let wrong = |why: &str| ApiError::field("since_file", format!("the file of `--since` {why}"));
        let bytes = hex::decode(pieces.concat()).map_err(|_| wrong("must be sent in hexadecimal"))?;
        if bytes.len() > MAX_SINCE_FILE {
            return Err(wrong("is too long: send only the beginning of the file"));
        }
        let mut bundle = BundleReader::new(bytes.as_slice(), key)
            .map_err(|error| ApiError { field: Some("since".to_owned()), ..bundle_error(error) })?;
        if bundle.header().team != roster.team() {
            return Err(wrong("is of another team"));
        }
        let (from, id, sections) = (bundle.header().from, bundle.id(), bundle.header().sections as usize);
        let mut ends = BTreeMap::new();
        let mut heads = 0;
        for item in bundle.by_ref() {
            match item {
                BundleItem::Head(_, head) => {
                    heads += 1;
                    ends.insert(head.scope, head.ends);
                }
                BundleItem::Manifest(_) => {}
                // The heads come before the events, which do not matter here.
                BundleItem::Events(..) => break,
            }
        }
        if heads + (bundle.report().sealed_sections as usize) < sections {
            return Err(wrong("does not say in its first part which events its creator had")
                .hint("name the device instead: `--since NAME` uses the events that this device knows it has"));
        }
        let name = roster.member(&from).map_or_else(|| from.short(), |member| member.name.clone());
        let words = format!("what {name} had when it made {}", id.short());
        Ok(Self { previous: Some(id), ..Self::new(ExportSince::File(ends), words) })
    }
}

impl ExportSince {
    /// Returns how far the other side is known to have a scope.
    pub(super) fn ends(&self, reader: &SyncReader<'_>, scope: &Scope) -> Result<Vec<ChainEnd>, ApiError> {
        Ok(match self {
            Self::All | Self::Time(_) => Vec::new(),
            Self::Peer(team, peer) => reader.peer_progress(team, peer, scope)?.unwrap_or_default(),
            Self::File(ends) => ends.get(scope).cloned().unwrap_or_default(),
        })
    }

    /// Whether to export an event.
    pub(super) fn takes(&self, event: &SignedEvent) -> bool {
        match self {
            Self::Time(wall) => event.header.clock.wall >= *wall,
            _ => true,
        }
    }
}
