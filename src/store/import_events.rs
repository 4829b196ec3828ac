//! Imports events that belong to no team, for tests and measurements: the product receives events only for a team
//! ([`Store::import_synced`]).

use super::{
    Result, Store, commit,
    log::{self, AppendOutcome, EventOrigin},
    open,
    project::{Changes, Projector},
};
use crate::domain::{CardId, ClaimId, SignedEvent, derive, roster::is_roster_scope};

/// The result of [`Store::import`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// The number of events that were new in this store.
    pub stored: usize,
    /// The number of events that the store already had.
    pub known: usize,
    /// The number of events of the local log, which is not shared, and of teams, which [`Store::import_synced`]
    /// imports.
    pub ignored: usize,
    /// Claims whose state changed.
    pub claims: Vec<ClaimId>,
    /// Cards that were opened or changed.
    pub cards: Vec<CardId>,
}

impl Store {
    /// Verifies and stores events of the shared log from elsewhere that belong to no team, in any order: either all of
    /// them, or none. `now` is the wall clock, in milliseconds since the Unix epoch.
    pub fn import(&mut self, events: &[SignedEvent], now: u64) -> Result<Imported> {
        self.write_import(events, false, now)
    }

    /// Imports events like [`Store::import`], but also those of the local log: restores a store from its own events.
    pub fn restore(&mut self, events: &[SignedEvent], now: u64) -> Result<Imported> {
        self.write_import(events, true, now)
    }

    fn write_import(&mut self, events: &[SignedEvent], with_local: bool, now: u64) -> Result<Imported> {
        let tx = commit::begin(&mut self.reader)?;
        let mut clock = commit::load_clock(&tx)?;
        let mut imported = Imported::default();
        let mut projector = Projector::new(&tx, &*self.check)?;
        for event in events {
            // Events of a team are imported by `import_synced`, which knows the roster.
            let teams = event.header.team.is_some() || is_roster_scope(&event.header.scope);
            if teams || derive::is_local(&event.header) && !with_local {
                imported.ignored += 1;
                continue;
            }
            let event = event.verified()?;
            let scope = log::scope_number(&tx, &event.header.scope)?;
            match projector.append(event, scope, EventOrigin { received_at: now, ..EventOrigin::default() })? {
                AppendOutcome::New(_) => imported.stored += 1,
                AppendOutcome::Filled(_) | AppendOutcome::Known => imported.known += 1,
            }
            clock = clock.merge(event.header.clock);
        }
        let Changes { claims, cards, redacted, .. } = projector.finish()?;
        commit::save_clock(&tx, clock)?;
        if redacted {
            open::set(&tx, "scrub", 1)?;
        }
        tx.commit()?;
        self.scrub();
        Ok(Imported { claims, cards, ..imported })
    }
}
