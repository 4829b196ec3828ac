//! Exports a bundle from the store.

use std::{
    collections::BTreeSet,
    io::{self, Write},
};

use super::{
    DeviceName, active, bundle_error, device_name, member, no_longer_in,
    since::{ExportSince, ParsedSince},
    team,
};
use crate::{
    api::{ApiError, ExportOutcome, ExportRequest, ExportedScope},
    domain::{DeviceId, EventId, Roster, Scope, SignedEvent, roster::MemberState},
    engine::{Engine, SyncReader},
    store::TeamScopeRow,
    sync::bundle::{BundleId, BundleManifest, BundlePlan, BundleWriter, Recipient, SectionHead},
};

/// The number of events that are read at a time.
const EVENT_PAGE_SIZE: usize = 1_000;

/// Writes the events of a team as a bundle: one state of the store, sealed to those who may read it.
///
/// # Errors
/// If the request names something unknown, nobody may read a requested scope, or the file cannot be written.
pub fn export(engine: &Engine, request: &ExportRequest, out: impl Write) -> Result<ExportOutcome, ApiError> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed)
        .map_err(|error| ApiError::internal(format!("cannot get random bytes from the operating system: {error}")))?;
    let config = engine.config();
    let job = ExportJob { request, key: &config.device, now: (config.clock)(), seed };
    engine.sync_read(|reader| Ok(job.write(reader, out)))?
}

struct ExportJob<'a> {
    request: &'a ExportRequest,
    key: &'a ed25519_dalek::SigningKey,
    now: u64,
    seed: [u8; 32],
}

/// The recipients of a bundle, and the scopes in it.
struct Audience {
    /// The recipients; `None` if the bundle is not sealed.
    devices: Option<Vec<DeviceId>>,
    scopes: Vec<TeamScopeRow>,
    left_out: Vec<Scope>,
}

impl ExportJob<'_> {
    fn write(&self, reader: &SyncReader<'_>, out: impl Write) -> Result<ExportOutcome, ApiError> {
        let (team, roster) = team(reader, self.request.in_team.as_deref())?;
        if team.left_at.is_some() {
            return Err(no_longer_in(roster.name()));
        }
        let parsed = ParsedSince::of(self.request, &roster, self.key, self.now)?;
        let answers = self.request.receipt_for.as_deref().map(bundle_id).transpose()?;
        let audience = self.audience(&roster, reader.team_scopes(&team.id)?)?;
        let mut heads = vec![self.head(reader, &parsed.since, team.id, roster.scope())?];
        for row in &audience.scopes {
            heads.push(self.head(reader, &parsed.since, team.id, &row.scope)?);
        }
        let me = DeviceId(self.key.verifying_key().to_bytes());
        let plan = BundlePlan {
            team: team.id,
            created: self.now,
            seed: self.seed,
            recipients: audience.devices.as_ref().map(|devices| recipients(&roster, devices, &audience.scopes, me)),
            manifest: BundleManifest {
                team_name: roster.name().to_owned(),
                from_name: device_name(Some(&roster), me).name,
                since: parsed.description.clone(),
                previous: parsed.previous,
                answers,
            },
            heads: heads.clone(),
        };
        let mut bundle = BundleWriter::new(CountingWriter(out, 0), self.key, plan).map_err(bundle_error)?;
        for (section, head) in (0..).zip(&heads) {
            if head.events > 0 {
                for_each_event(reader, &parsed.since, team.id, &head.scope, |event| {
                    bundle.push(section, event).map_err(bundle_error)
                })?;
            }
        }
        let (id, out) = bundle.finish().map_err(bundle_error)?;
        let counts = audience.scopes.iter().zip(heads.iter().skip(1));
        Ok(ExportOutcome {
            bundle: id.to_string(),
            team: team.id,
            team_name: roster.name().to_owned(),
            sealed_to: audience.devices.map(|devices| names(&roster, &devices)),
            since: parsed.description,
            roster_events: heads.first().map_or(0, |head| head.events),
            scopes: counts.map(|(row, head)| ExportedScope { scope: row.scope.clone(), events: head.events }).collect(),
            left_out: audience.left_out,
            bytes: out.1,
        })
    }

    /// Returns the recipients, and the scopes that they may read.
    fn audience(&self, roster: &Roster, rows: Vec<TeamScopeRow>) -> Result<Audience, ApiError> {
        let me = DeviceId(self.key.verifying_key().to_bytes());
        let named = self.request.to.iter().map(|name| {
            let found = member(roster, "to", name)?;
            match found.state {
                MemberState::Active => Ok(found.device),
                state => {
                    let message = format!("{} no longer belongs to the team ({})", found.name, state.as_str());
                    Err(ApiError::field("to", message).hint("only active members of the team can read a bundle"))
                }
            }
        });
        let named: BTreeSet<DeviceId> = named.collect::<Result<_, _>>()?;
        let mut others = named.clone();
        if named.is_empty() {
            others.extend(active(roster).map(|member| member.device));
        }
        others.remove(&me);
        let mut scopes = Vec::new();
        let mut left_out = Vec::new();
        for row in self.chosen(rows)? {
            let reads = |device: &DeviceId| roster.may_read(device, &row.scope);
            let readable = match (self.request.open, others.is_empty()) {
                // Without encryption, every named device must be allowed to read everything.
                (true, _) => named.iter().all(reads),
                (false, true) => true,
                (false, false) => others.iter().any(reads),
            };
            if readable {
                scopes.push(row);
            } else if self.request.scopes.is_empty() {
                left_out.push(row.scope);
            } else {
                let message = format!("no recipient of the bundle may read {}", row.scope);
                return Err(ApiError::field("scopes", message).hint("an admin grants a scope with `ergo sync grant`"));
            }
        }
        // The maker can always open its bundle, to inspect it and to prove later what it held.
        let devices = (!self.request.open).then(|| others.into_iter().chain([me]).collect());
        Ok(Audience { devices, scopes, left_out })
    }

    /// Returns the requested scopes, by the team's name or the local one.
    fn chosen(&self, rows: Vec<TeamScopeRow>) -> Result<Vec<TeamScopeRow>, ApiError> {
        let mut rows: Vec<_> = rows.into_iter().filter(|row| !row.is_roster).collect();
        if self.request.roster_only {
            return Ok(Vec::new());
        }
        for name in &self.request.scopes {
            if !rows.iter().any(|row| is_named(row, name)) {
                let known: Vec<_> = rows.iter().map(|row| row.scope.to_string()).collect();
                let hint = if known.is_empty() {
                    "the team shares no scope that this device can read; `ergo sync adopt` shares one".to_owned()
                } else {
                    format!("it shares: {}", known.join(", "))
                };
                return Err(ApiError::field("scopes", format!("the team does not share “{name}”")).hint(hint));
            }
        }
        rows.retain(|row| self.request.scopes.is_empty() || self.request.scopes.iter().any(|name| is_named(row, name)));
        Ok(rows)
    }

    fn head(
        &self,
        reader: &SyncReader<'_>,
        since: &ExportSince,
        team: EventId,
        scope: &Scope,
    ) -> Result<SectionHead, ApiError> {
        let mut events = 0;
        if self.request.receipt_for.is_none() {
            for_each_event(reader, since, team, scope, |_| {
                events += 1;
                Ok(())
            })?;
        }
        let (_, digest) = reader.set(&team, scope)?;
        Ok(SectionHead { scope: scope.clone(), events, ends: reader.vector(&team, scope)?, digest })
    }
}

fn is_named(row: &TeamScopeRow, name: &str) -> bool {
    row.scope.to_string() == name || row.local.to_string() == name
}

/// Calls `give` with every exported event of a scope, chain by chain.
fn for_each_event(
    reader: &SyncReader<'_>,
    since: &ExportSince,
    team: EventId,
    scope: &Scope,
    mut give: impl FnMut(SignedEvent) -> Result<(), ApiError>,
) -> Result<(), ApiError> {
    let ends = since.ends(reader, scope)?;
    let roster = crate::domain::roster::is_roster_scope(scope);
    let mut cursor = None;
    loop {
        let page = reader.events_after(&team, scope, &ends, cursor.as_ref(), EVENT_PAGE_SIZE)?;
        for event in page.events {
            if roster || since.takes(&event) {
                give(event)?;
            }
        }
        cursor = page.next;
        if cursor.is_none() {
            return Ok(());
        }
    }
}

/// Returns each device with the sections that its grant covers; the maker has all.
fn recipients(roster: &Roster, devices: &[DeviceId], scopes: &[TeamScopeRow], me: DeviceId) -> Vec<Recipient> {
    let sections = |device: &DeviceId| {
        let readable = |(_, row): &(u32, &TeamScopeRow)| *device == me || roster.may_read(device, &row.scope);
        (1..).zip(scopes).filter(readable).map(|(section, _)| section).collect()
    };
    devices.iter().map(|device| Recipient { device: *device, sections: sections(device) }).collect()
}

fn names(roster: &Roster, devices: &[DeviceId]) -> Vec<DeviceName> {
    devices.iter().map(|device| device_name(Some(roster), *device)).collect()
}

fn bundle_id(text: &str) -> Result<BundleId, ApiError> {
    text.parse::<EventId>().map(|id| BundleId(id.0)).map_err(|error| ApiError::field("receipt_for", error.to_string()))
}

/// Counts the bytes that are written.
struct CountingWriter<W>(W, u64);

impl<W: Write> Write for CountingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.0.write(bytes)?;
        self.1 += length as u64;
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
