//! Imports a bundle into the store.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
};

use super::{bundle_error, device_name, no_longer_in, peer_progress};
use crate::{
    api::{ApiError, CardStatus, ErrorCode, ImportOutcome, ImportedScope, RefusedEvent},
    domain::{CardId, ClaimId, DeviceId, EventId, Roster, Scope, SignedEvent, roster::Refusal},
    engine::Engine,
    store::{SyncImport, SyncImported},
    sync::bundle::{BundleError, BundleHeader, BundleItem, BundleReader, BundleReport, MAX_CHUNK_EVENTS, SectionHead},
};

/// The most events of one transaction.
const MAX_TRANSACTION_EVENTS: usize = 5_000;

/// The most refused events, forged events and cards that are listed.
const MAX_LISTED: usize = 20;

/// Imports a bundle by the rules of the team: the roster first, then scope by scope, at most 5,000 events a
/// transaction.
///
/// # Errors
/// If the file is not a bundle, is not sealed to this device, or is of a team that it does not belong to.
/// Damage within the file is no error: the outcome names it, and the rest is imported.
pub fn import(engine: &Engine, input: impl Read) -> Result<ImportOutcome, ApiError> {
    let mut bundle = BundleReader::new(input, &engine.config().device).map_err(|error| match error {
        // A file of another team is encrypted for others in any case.
        BundleError::NotARecipient { team, .. } => {
            ImportJob::new(engine, team).err().unwrap_or_else(|| bundle_error(error))
        }
        error => bundle_error(error),
    })?;
    let header = bundle.header().clone();
    let mut job = ImportJob::new(engine, header.team)?;
    let taken = job.take(&mut bundle);
    let id = bundle.id().to_string();
    taken.map_err(|error| job.interrupted(error))?;
    job.outcome(&header, id, bundle.report())
}

struct ImportJob<'a> {
    engine: &'a Engine,
    team: EventId,
    /// Whether the bundle confirms the arrival of another.
    receipt: bool,
    heads: BTreeMap<u32, SectionHead>,
    /// The section that is being read, and its events that are not stored yet.
    section: u32,
    waiting: Vec<SignedEvent>,
    arrived: BTreeMap<u32, u64>,
    stored: BTreeMap<u32, u64>,
    known: u64,
    /// The devices that had events in the store before the import.
    before: BTreeSet<DeviceId>,
    authors: BTreeSet<DeviceId>,
    quarantined: Vec<(SignedEvent, Refusal)>,
    withdrawn: BTreeMap<EventId, Refusal>,
    quarantined_total: u64,
    readmitted: u64,
    claims: BTreeSet<ClaimId>,
    cards: BTreeSet<CardId>,
    forks: u64,
    /// The forged events, at most twenty, and the number of the others.
    problems: Vec<String>,
    more_problems: u64,
}

impl<'a> ImportJob<'a> {
    fn new(engine: &'a Engine, team: EventId) -> Result<Self, ApiError> {
        let before = engine.sync_read(|reader| {
            let Some(found) = reader.teams()?.into_iter().find(|row| row.id == team) else { return Ok(None) };
            let mut authors = BTreeSet::new();
            for row in reader.team_scopes(&team)? {
                authors.extend(reader.vector(&team, &row.scope)?.iter().map(|end| end.chain.author));
            }
            let left = if found.left_at.is_some() { reader.roster(&team)? } else { None };
            Ok(Some((left, authors)))
        })?;
        let Some((left, before)) = before else {
            let message = format!("this device does not belong to the team of the bundle ({})", team.short());
            return Err(ApiError::new(ErrorCode::BadRequest, message).hint(
                "if the file is a grant for this device, run `ergo sync join FILE`; otherwise ask an admin to \
                    admit this device first",
            ));
        };
        if let Some(left) = left {
            return Err(no_longer_in(left.name()));
        }
        Ok(Self {
            engine,
            team,
            receipt: false,
            heads: BTreeMap::new(),
            section: 0,
            waiting: Vec::new(),
            arrived: BTreeMap::new(),
            stored: BTreeMap::new(),
            known: 0,
            before,
            authors: BTreeSet::new(),
            quarantined: Vec::new(),
            withdrawn: BTreeMap::new(),
            quarantined_total: 0,
            readmitted: 0,
            claims: BTreeSet::new(),
            cards: BTreeSet::new(),
            forks: 0,
            problems: Vec::new(),
            more_problems: 0,
        })
    }

    fn take<R: Read>(&mut self, bundle: &mut BundleReader<R>) -> Result<(), ApiError> {
        for item in bundle {
            match item {
                BundleItem::Manifest(manifest) => self.receipt = manifest.answers.is_some(),
                BundleItem::Head(section, head) => drop(self.heads.insert(section, head)),
                BundleItem::Events(section, events) => {
                    if section != self.section || self.waiting.len() + MAX_CHUNK_EVENTS > MAX_TRANSACTION_EVENTS {
                        self.store()?;
                    }
                    self.section = section;
                    *self.arrived.entry(section).or_default() += events.len() as u64;
                    self.waiting.extend(events);
                }
            }
        }
        self.store()
    }

    /// Stores the waiting events in one transaction.
    fn store(&mut self) -> Result<(), ApiError> {
        let events = std::mem::take(&mut self.waiting);
        let mut import = self.as_import(events);
        if import.events.is_empty() {
            return Ok(());
        }
        let done = match self.engine.import_synced(&import) {
            Ok(done) => done,
            Err(error) => {
                // A forged event rejects the whole transaction: store the other events, and name the forged ones.
                let (count, problems, more) = (import.events.len(), &mut self.problems, &mut self.more_problems);
                import.events.retain(|event| {
                    let forged = event.verify().err();
                    match &forged {
                        Some(error) if problems.len() < MAX_LISTED => problems.push(error.to_string()),
                        Some(_) => *more += 1,
                        None => {}
                    }
                    forged.is_none()
                });
                if import.events.len() == count {
                    return Err(error);
                }
                self.engine.import_synced(&import)?
            }
        };
        self.count(done, &import.events);
        Ok(())
    }

    fn as_import(&self, events: Vec<SignedEvent>) -> SyncImport {
        let now = (self.engine.config().clock)();
        SyncImport { team: self.team, from: None, events, document: None, peer: None, now }
    }

    fn count(&mut self, done: SyncImported, events: &[SignedEvent]) {
        let by_id: BTreeMap<EventId, &SignedEvent> = events.iter().map(|event| (event.id, event)).collect();
        *self.stored.entry(self.section).or_default() += done.stored.len() as u64;
        self.withdrawn.extend(done.withdrawn);
        // Those that the new roster of this import withdrew are counted already.
        let waiting: Vec<_> = done.waiting.iter().filter(|(id, _)| !self.withdrawn.contains_key(id)).collect();
        self.known += done.known.saturating_sub(done.waiting.len()) as u64;
        self.authors.extend(done.stored.iter().filter_map(|id| by_id.get(id)).map(|event| event.header.author));
        self.quarantined_total += (done.quarantined.len() + waiting.len()) as u64;
        let refused = done.quarantined.iter().chain(waiting);
        let named = refused.filter_map(|(id, why)| Some(((*by_id.get(id)?).clone(), *why)));
        self.quarantined.extend(named.take(MAX_LISTED.saturating_sub(self.quarantined.len())));
        self.readmitted += done.readmitted.len() as u64;
        self.claims.extend(done.claims);
        self.cards.extend(done.cards);
        self.forks += done.forks.len() as u64;
    }

    /// Adds a hint to an error that earlier batches stay stored.
    fn interrupted(&self, error: ApiError) -> ApiError {
        let stored: u64 = self.stored.values().sum();
        let hint = format!(
            "{stored} events were imported before the error; run the same import again: nothing is imported twice"
        );
        let hint = error.hint.as_deref().map_or_else(|| hint.clone(), |more| format!("{more}; {hint}"));
        error.hint(hint)
    }

    fn outcome(
        mut self,
        header: &BundleHeader,
        bundle: String,
        report: BundleReport,
    ) -> Result<ImportOutcome, ApiError> {
        let (engine, team) = (self.engine, self.team);
        let roster = engine.sync_read(|reader| reader.roster(&team))?;
        let member = roster.as_ref().and_then(|roster| roster.member(&header.from));
        let is_member = roster.as_ref().is_some_and(|roster| roster.is_member(&header.from));
        if report.complete && is_member {
            let heads: Vec<SectionHead> = self.heads.values().cloned().collect();
            peer_progress::record_progress(engine, team, header.from, &heads, header.created)?;
        }
        let damages = report.damages.iter().map(ToString::to_string);
        let mut problems: Vec<String> = damages.chain(std::mem::take(&mut self.problems)).collect();
        if report.more_damages > 0 {
            problems.push(format!("{} more parts of the file could not be used", report.more_damages));
        }
        if self.more_problems > 0 {
            problems.push(format!("{} more events of the file are invalid", self.more_problems));
        }
        let scopes = self.scopes(header.from)?;
        let cards = self.open_cards()?;
        Ok(ImportOutcome {
            dry_run: false,
            bundle,
            team,
            team_name: roster.as_ref().map(|roster| roster.name().to_owned()).unwrap_or_default(),
            from: device_name(roster.as_ref(), header.from),
            from_state: member.map_or("unknown", |member| member.state.as_str()).to_owned(),
            created: header.created,
            receipt: self.receipt,
            whole: report.complete,
            problems,
            closed_scopes: report.sealed_sections,
            stored: self.stored.values().sum(),
            known: self.known,
            quarantined: self.refused(roster.as_ref())?,
            quarantined_total: self.quarantined_total + self.withdrawn.len() as u64,
            readmitted: self.readmitted,
            new_authors: self
                .authors
                .difference(&self.before)
                .map(|device| device_name(roster.as_ref(), *device))
                .collect(),
            claims: self.claims.len() as u64,
            cards,
            scopes,
            forks: self.forks,
        })
    }

    /// Returns the state of each scope, compared with that of the device `from`; a file of this device's own compares
    /// nothing.
    fn scopes(&self, from: DeviceId) -> Result<Vec<ImportedScope>, ApiError> {
        let (team, own) = (self.team, from == self.engine.device());
        self.engine.sync_read(|reader| {
            let mut scopes = Vec::new();
            for (section, head) in self.heads.iter().filter(|(section, _)| **section > 0) {
                let (_, digest) = reader.set(&team, &head.scope)?;
                let of = |counts: &BTreeMap<u32, u64>| counts.get(section).copied().unwrap_or_default();
                scopes.push(ImportedScope {
                    scope: head.scope.clone(),
                    expected: head.events,
                    arrived: of(&self.arrived),
                    stored: of(&self.stored),
                    in_step: !own && digest == head.digest,
                    maker_lacks: if own {
                        0
                    } else {
                        peer_progress::count_missing(&reader.vector(&team, &head.scope)?, &head.ends)
                    },
                });
            }
            Ok(scopes)
        })
    }

    fn open_cards(&self) -> Result<Vec<crate::api::CardSummary>, ApiError> {
        let mut open = Vec::new();
        for id in &self.cards {
            match self.engine.card(&id.to_hex()) {
                Ok(card) if card.summary.status == CardStatus::Open => open.push(card.summary),
                Ok(_) => {}
                // The card was opened and resolved within this import.
                Err(error) if error.code == ErrorCode::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(open)
    }

    /// Returns the events that went into quarantine or stay there, with the names of their authors.
    fn refused(&self, roster: Option<&Roster>) -> Result<Vec<RefusedEvent>, ApiError> {
        let named = |scope: &Scope, event: &SignedEvent, refusal: Refusal| RefusedEvent {
            id: event.id,
            scope: scope.clone(),
            who: event.header.who.clone(),
            author: device_name(roster, event.header.author),
            refusal: refusal.as_str().to_owned(),
            why: refusal.to_string(),
        };
        let mut refused: Vec<_> =
            self.quarantined.iter().map(|(event, why)| named(&event.header.scope, event, *why)).collect();
        if refused.len() < MAX_LISTED && !self.withdrawn.is_empty() {
            let team = self.team;
            let rows =
                self.engine.sync_read(|reader| reader.quarantined(&team, self.withdrawn.len().max(MAX_LISTED), 0))?;
            let gone = rows.iter().filter(|row| self.withdrawn.contains_key(&row.event.id));
            let room = MAX_LISTED - refused.len();
            refused.extend(gone.take(room).map(|row| named(&row.event.header.scope, &row.event, row.refusal)));
        }
        Ok(refused)
    }
}
