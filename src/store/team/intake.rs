//! Imports events of a team: verifies, admits or quarantines and projects them, and stores their document, in one transaction.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;

use super::{
    Team,
    apply_roster::{self, WithdrawnEvent},
    documents, ledger,
    ledger::{ChainLedger, chain_of},
    quarantine,
    scopes::{self, BoundTeamScope},
    signatures,
    sync_rows::{SyncImport, SyncImported},
};
use crate::{
    domain::{
        DeviceId, EventKind, Hlc, Roster, Scope, SignedEvent,
        clock::AHEAD,
        guard_report::PairCheck,
        replica::Chain,
        roster::{Refusal, is_roster_scope},
        verified::Verified,
    },
    store::{
        Result, Store, commit,
        log::{AppendOutcome, EventOrigin},
        open,
        project::Projector,
    },
};

impl Store {
    /// Imports events of a team from elsewhere, with the document that they came in, in one transaction.
    ///
    /// Roster events go first, and the new roster is applied to everything that is here. Events that the team does not accept go
    /// into quarantine and have no effect. Importing the same again changes nothing.
    ///
    /// # Errors
    /// A malformed or forged event refuses the whole import: the peer that sent it is at fault.
    pub fn import_synced(&mut self, import: SyncImport) -> Result<SyncImported> {
        let me = self.device();
        let tx = commit::begin(&mut self.reader)?;
        let team = Team::find(&tx, import.team)?;
        let mut intake = Intake::new(&tx, &*self.check, team, me, import.from, import.now)?;
        if import.document.is_some() {
            // The document lists all of them and is stored, so none of them is sent again.
            intake.room = Some(usize::MAX);
        }
        let (roster, others): (Vec<_>, Vec<_>) =
            import.events.iter().partition(|event| is_roster_scope(&event.header.scope));
        intake.begin(&signatures::all(&roster)?)?;
        signatures::each(&others, |batch| intake.take(batch))?;
        let done = intake.finish()?;
        if let Some(update) = &import.document {
            documents::write(&tx, &team, update)?;
        }
        if let Some(peer) = &import.peer {
            documents::write_peer(&tx, peer)?;
        }
        tx.commit()?;
        self.scrub();
        Ok(done)
    }
}

/// Whether a team accepts an event now.
///
/// An event dated far ahead waits for its date, except those of the roster: the roster must depend on the set of its events
/// alone, and what it says already counts for the other events here.
pub(super) fn decide(
    db: &Connection,
    team: &Team,
    roster: &Roster,
    event: &SignedEvent,
    now: u64,
) -> Result<std::result::Result<(), Refusal>> {
    if let Err(refusal) = roster.admits(&event.id, &event.header) {
        return Ok(Err(refusal));
    }
    if event.header.scope == *roster.scope() {
        return Ok(Ok(()));
    }
    if event.header.clock.wall > now.saturating_add(AHEAD) {
        return Ok(Err(Refusal::Clock));
    }
    if !roster.accepted().contains(&event.id) {
        let admission = roster.admission(&event.header.scope, &chain_of(event));
        if let Some(refusal) = admission.refusal
            && let Some(shared) = super::bound(db, &team.id, &event.header.scope)?
            && apply_roster::has_sibling(db, team, shared, event)?
            && apply_roster::is_beside(db, &admission, event.header.seq, &event.id)?
        {
            return Ok(Err(refusal));
        }
    }
    Ok(Ok(()))
}

/// An intake of events within the caller's transaction.
pub(super) struct Intake<'a> {
    db: &'a Connection,
    check: &'a dyn PairCheck,
    team: Team,
    me: DeviceId,
    from: Option<DeviceId>,
    now: u64,
    roster: Roster,
    bound: BTreeMap<Scope, BoundTeamScope>,
    projector: Projector<'a>,
    ledger: ChainLedger,
    /// Chains of which the team accepts only a part, and that got longer.
    cut: BTreeSet<(i64, Chain)>,
    clock: Hlc,
    withdrawn: Vec<WithdrawnEvent>,
    done: SyncImported,
    redacts: bool,
    quarantines: bool,
    /// How many more events fit into the quarantine; `None` until it was read.
    room: Option<usize>,
}

impl<'a> Intake<'a> {
    pub(super) fn new(
        db: &'a Connection,
        check: &'a dyn PairCheck,
        team: Team,
        me: DeviceId,
        from: Option<DeviceId>,
        now: u64,
    ) -> Result<Self> {
        let mut intake = Self {
            db,
            check,
            team,
            me,
            from,
            now,
            roster: team.roster(db)?,
            bound: BTreeMap::new(),
            projector: Projector::new(db, check)?,
            ledger: ChainLedger::default(),
            cut: BTreeSet::new(),
            clock: commit::load_clock(db)?,
            withdrawn: Vec::new(),
            done: SyncImported::default(),
            redacts: false,
            quarantines: false,
            room: None,
        };
        intake.read_bound()?;
        Ok(intake)
    }

    fn read_bound(&mut self) -> Result<()> {
        let bound = scopes::of_team(self.db, self.team.n)?;
        self.bound = bound.into_iter().map(|bound| (bound.name.clone(), bound)).collect();
        Ok(())
    }

    /// Takes the roster's events, which come first, and the events in quarantine whose date has come.
    pub(super) fn begin(&mut self, roster: &[Verified<'_>]) -> Result<()> {
        self.take_roster(roster)?;
        if self.team.left_at.is_none() {
            self.look_at_clocks()?;
        }
        Ok(())
    }

    /// Takes events of other scopes than the roster's.
    pub(super) fn take(&mut self, events: &[Verified<'_>]) -> Result<()> {
        if self.team.left_at.is_some() {
            self.done.quarantined.extend(events.iter().map(|event| (event.id, Refusal::NotAMember)));
            return Ok(());
        }
        for event in events {
            let (from, now) = (self.from, self.now);
            self.take_one(*event, from, now)?;
        }
        Ok(())
    }

    /// Takes roster events, and applies the new roster to everything that is here.
    pub(super) fn take_roster(&mut self, events: &[Verified<'_>]) -> Result<()> {
        let mut all = self.team.roster_events(self.db)?;
        let known: BTreeSet<_> = all.iter().map(|event| event.id).collect();
        // A roster event without its body is useless: the peer sends it again.
        let new: Vec<Verified<'_>> =
            events.iter().copied().filter(|event| !known.contains(&event.id) && event.body.is_some()).collect();
        self.done.known += events.len() - new.len();
        if new.is_empty() {
            return Ok(());
        }
        all.extend(new.iter().map(|event| event.event().clone()));
        self.fold(all)?;
        for event in new {
            let (from, now) = (self.from, self.now);
            self.take_one(event, from, now)?;
        }
        self.reconcile()
    }

    /// Computes the roster of these events and of the roster events in quarantine.
    fn fold(&mut self, mut all: Vec<SignedEvent>) -> Result<()> {
        let waiting = quarantine::all(self.db, &self.team)?;
        all.extend(waiting.into_iter().map(|row| row.event).filter(|event| event.header.scope == *self.roster.scope()));
        if let Some(roster) = Roster::of(self.team.id, &all) {
            self.done.roster_changed |= roster != self.roster;
            self.roster = roster;
        }
        Ok(())
    }

    /// Applies the roster to everything that is here: binds scopes, withdraws events and readmits others.
    pub(super) fn reconcile(&mut self) -> Result<()> {
        if !self.roster.is_member(&self.me) {
            self.ledger.save(self.db)?;
            apply_roster::leave(self.db, &self.team, self.now)?;
            self.team.left_at = Some(self.now);
            return self.read_bound();
        }
        scopes::name_devices(self.db, &self.roster)?;
        self.db.prepare_cached("UPDATE teams SET left_at = NULL WHERE n = ?1")?.execute([self.team.n])?;
        self.team.left_at = None;
        scopes::bind_all(self.db, &self.team, &self.roster, &self.me)?;
        self.read_bound()?;
        self.done.forks.extend(self.ledger.save(self.db)?);
        self.withdrawn.extend(apply_roster::reconcile(self.db, &self.team, &self.roster, &self.me)?);
        self.readmit()
    }

    /// Takes the events in quarantine whose date has come. The whole roster is applied again, since releases up to 0.2 also
    /// quarantined roster events for their date.
    fn look_at_clocks(&mut self) -> Result<()> {
        if !quarantine::is_due(self.db, &self.team, self.now)? {
            return Ok(());
        }
        self.fold(self.team.roster_events(self.db)?)?;
        self.reconcile()
    }

    fn readmit(&mut self) -> Result<()> {
        for row in apply_roster::readmitted(self.db, &self.team, &self.roster, self.now)? {
            if !self.bound.contains_key(&row.event.header.scope) {
                continue;
            }
            // It was verified when it was quarantined, but the file may have changed: `ergo doctor` names such an event.
            let Ok(event) = row.event.verified() else { continue };
            quarantine::remove(self.db, &event.id)?;
            if self.append(event, row.from, row.received_at)? {
                self.db
                    .prepare_cached(
                        "UPDATE events SET documented = EXISTS (SELECT 1 FROM document_entries WHERE event = ?1)
                         WHERE id = ?1",
                    )?
                    .execute([row.event.id.0])?;
                self.done.readmitted.push(row.event.id);
            }
        }
        Ok(())
    }

    /// Takes one event.
    fn take_one(&mut self, event: Verified<'_>, from: Option<DeviceId>, received_at: u64) -> Result<()> {
        if self.is_known(event)? {
            self.done.known += 1;
            return Ok(());
        }
        match decide(self.db, &self.team, &self.roster, &event, self.now)? {
            // This device may not read its scope: the event is reported and not kept.
            Ok(()) if !self.bound.contains_key(&event.header.scope) => {
                self.done.quarantined.push((event.id, Refusal::NoGrant));
            }
            Ok(()) => {
                if self.append(event, from, received_at)? {
                    self.done.stored.push(event.id);
                }
            }
            Err(refusal) => {
                let room = match self.room {
                    Some(room) => room,
                    None => quarantine::room(self.db, &self.team, from)?,
                };
                self.room = Some(room.saturating_sub(1));
                if room > 0 {
                    quarantine::put(self.db, &self.team, &event, refusal, from, received_at)?;
                    self.quarantines = true;
                }
                self.done.quarantined.push((event.id, refusal));
            }
        }
        Ok(())
    }

    /// Whether there is nothing new about an event.
    fn is_known(&mut self, event: Verified<'_>) -> Result<bool> {
        let mut read = self.db.prepare_cached("SELECT body IS NOT NULL FROM events WHERE id = ?1")?;
        let mut rows = read.query([event.id.0])?;
        if let Some(row) = rows.next()? {
            if row.get::<_, bool>(0)? || event.body.is_none() {
                return Ok(true);
            }
            drop(rows);
            drop(read);
            // Its body came late; if a redaction names the event, the body is dropped again.
            let scope = self.bound.get(&event.header.scope).map(|bound| bound.scope);
            if let Some(scope) = scope
                && let AppendOutcome::Filled(_) = self.projector.append(event, scope, EventOrigin::default())?
            {
                self.done.stored.push(event.id);
                return Ok(true);
            }
            return Ok(true);
        }
        match quarantine::has(self.db, &event.id)? {
            Some(has_body) => {
                if let (false, Some(body)) = (has_body, &event.body) {
                    quarantine::fill(self.db, &event.id, body)?;
                    self.quarantines = true;
                }
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Appends an event that the team takes. Answers whether it is new in the log.
    fn append(&mut self, event: Verified<'_>, from: Option<DeviceId>, received_at: u64) -> Result<bool> {
        let Some(bound) = self.bound.get(&event.header.scope) else { return Ok(false) };
        let (shared, scope) = (bound.n, bound.scope);
        let team = event.header.team.map(|_| self.team.n);
        let origin = EventOrigin { received_at, from, team, shared: Some(shared) };
        let AppendOutcome::New(_) = self.projector.append(event, scope, origin)? else { return Ok(false) };
        self.ledger.add(self.db, shared, &event)?;
        let chain = chain_of(&event);
        if !bound.is_roster && self.roster.admission(&bound.name, &chain).refusal.is_some() {
            self.cut.insert((shared, chain));
        }
        // A roster event may be dated at any time: a date that nobody believes does not move the clock.
        if event.header.clock.wall <= self.now.saturating_add(AHEAD) {
            self.clock = self.clock.merge(event.header.clock);
        }
        self.redacts |= event.header.kind == EventKind::Redact;
        Ok(true)
    }

    /// Withdraws the wrong side of forks below a cut: if it arrived first, it was accepted.
    fn look_at_forks(&mut self) -> Result<()> {
        for (shared, chain) in std::mem::take(&mut self.cut) {
            for fork in ledger::forks_of(self.db, shared, &chain)? {
                let admission = self.roster.admission(&fork.scope, &chain);
                let Some(refusal) = admission.refusal.filter(|_| chain.author != self.me) else { continue };
                for id in fork.events.iter().filter(|id| !self.roster.accepted().contains(id)) {
                    if apply_roster::is_beside(self.db, &admission, fork.seq, id)? {
                        self.withdrawn.extend(apply_roster::leaving(self.db, id, refusal)?);
                    }
                }
            }
        }
        Ok(())
    }

    /// Brings everything else up to date.
    pub(super) fn finish(mut self) -> Result<SyncImported> {
        self.done.forks.extend(self.ledger.save(self.db)?);
        self.look_at_forks()?;
        let changes = self.projector.finish()?;
        self.done.claims = changes.claims;
        self.done.cards = changes.cards;
        self.done.redacted = changes.redacted;
        if !self.withdrawn.is_empty() {
            let changes = apply_roster::withdraw(self.db, self.check, &self.team, &self.withdrawn)?;
            self.done.claims.extend(changes.claims);
            self.done.cards.extend(changes.cards);
            self.done.redacted |= changes.redacted;
            self.done.withdrawn = self.withdrawn.iter().map(|left| (left.event.id, left.refusal)).collect();
            self.quarantines = true;
        }
        if self.redacts || self.quarantines {
            self.done.redacted |= quarantine::redact(self.db, &self.team)?;
        }
        commit::save_clock(self.db, self.clock)?;
        if self.done.redacted {
            open::set(self.db, "scrub", 1)?;
        }
        Ok(self.done)
    }
}
