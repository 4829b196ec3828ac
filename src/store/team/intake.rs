//! Imports events of a team in one transaction: verifies them, accepts and projects or quarantines them, and stores
//! their document.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use rusqlite::Connection;

use super::{
    Team,
    accepted_branches::BranchCache,
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
        DeviceId, EventId, EventKind, Header, Hlc, Roster, Scope, SignedEvent,
        clock::AHEAD,
        guard_report::PairCheck,
        replica::Chain,
        roster::{Refusal, is_roster_scope},
        verified::Verified,
    },
    store::{
        Result, Store, commit,
        log::{self, AppendOutcome, EventOrigin},
        open,
        project::Projector,
        rebuild,
    },
};

impl Store {
    /// Imports events of a team from elsewhere, with the document that contained them, in one transaction.
    ///
    /// Roster events go first, and the new roster is applied to all stored events. Events that the team does not accept
    /// go into quarantine and have no effect. Importing the same again changes nothing.
    ///
    /// # Errors
    /// A malformed or forged event refuses the whole import, because the peer that sent it is at fault.
    pub fn import_synced(&mut self, import: &SyncImport) -> Result<SyncImported> {
        let (me, rosters) = (self.device(), self.reader.rosters.clone());
        let tx = commit::begin(&mut self.reader)?;
        let team = Team::find(&tx, import.team)?;
        let roster = rosters.get(&tx, &team)?;
        let mut intake = Intake::new(&tx, &*self.check, team, roster, me, import.from, import.now)?;
        if import.document.is_some() {
            // The stored document lists all of these events, so they would not be sent again: keep all that are
            // refused.
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

/// Decides whether a team accepts an event now.
///
/// An event whose clock is far ahead waits until then, except events of the roster: the roster must depend on the set
/// of its events alone, and it already decides about the other events.
pub(super) fn decide(
    db: &Connection,
    team: &Team,
    roster: &Roster,
    branches: &mut BranchCache,
    id: &EventId,
    header: &Header,
    now: u64,
) -> Result<std::result::Result<(), Refusal>> {
    if let Err(refusal) = roster.admits(id, header) {
        return Ok(Err(refusal));
    }
    if header.scope == *roster.scope() {
        return Ok(Ok(()));
    }
    if header.clock.wall > now.saturating_add(AHEAD) {
        return Ok(Err(Refusal::Clock));
    }
    if !roster.accepted().contains(id) {
        let (scope, chain) = (&header.scope, chain_of(header));
        let admission = roster.admission(scope, &chain);
        if let Some(refusal) = admission.refusal
            && let Some(shared) = super::bound(db, &team.id, scope)?
            && apply_roster::has_sibling(db, team, shared, id, header)?
            && branches.get(scope, chain, &admission).exclude(db, header.seq, id)?
        {
            return Ok(Err(refusal));
        }
    }
    Ok(Ok(()))
}

/// An import of events within the caller's transaction.
pub(super) struct Intake<'a> {
    db: &'a Connection,
    check: &'a dyn PairCheck,
    team: Team,
    me: DeviceId,
    from: Option<DeviceId>,
    now: u64,
    roster: Arc<Roster>,
    /// Of the chains as `roster` accepts them.
    branches: BranchCache,
    bound: BTreeMap<Scope, BoundTeamScope>,
    projector: Projector<'a>,
    ledger: ChainLedger,
    /// Chains that got longer and of which the team accepts only a part.
    cut: BTreeSet<(i64, Chain)>,
    clock: Hlc,
    withdrawn: Vec<WithdrawnEvent>,
    done: SyncImported,
    redacts: bool,
    quarantines: bool,
    /// Events were moved to another scope of this device, so the projections must be rebuilt.
    moves: bool,
    /// The number of further events that fit into the quarantine; `None` until it is read.
    room: Option<usize>,
}

impl<'a> Intake<'a> {
    pub(super) fn new(
        db: &'a Connection,
        check: &'a dyn PairCheck,
        team: Team,
        roster: Arc<Roster>,
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
            roster,
            branches: BranchCache::default(),
            bound: BTreeMap::new(),
            projector: Projector::new(db, check)?,
            ledger: ChainLedger::default(),
            cut: BTreeSet::new(),
            clock: commit::load_clock(db)?,
            withdrawn: Vec::new(),
            done: SyncImported::default(),
            redacts: false,
            quarantines: false,
            moves: false,
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

    /// Takes roster events, which must come first, and the events in quarantine whose date has come.
    pub(super) fn begin(&mut self, roster: &[Verified<'_>]) -> Result<()> {
        self.take_roster(roster)?;
        if self.team.left_at.is_none() {
            self.readmit_due()?;
        }
        Ok(())
    }

    /// Takes the events of the other scopes.
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

    /// Takes roster events, and applies the new roster to all stored events.
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
        self.compute_roster(all)?;
        for event in new {
            let (from, now) = (self.from, self.now);
            self.take_one(event, from, now)?;
        }
        self.reconcile()
    }

    /// Computes the roster of these events and of the roster events in quarantine.
    fn compute_roster(&mut self, mut all: Vec<SignedEvent>) -> Result<()> {
        all.extend(quarantine::in_scope(self.db, &self.team, self.roster.scope())?);
        if let Some(roster) = Roster::of(self.team.id, &all) {
            self.done.roster_changed |= roster != *self.roster;
            self.roster = Arc::new(roster);
            self.branches = BranchCache::default();
        }
        Ok(())
    }

    /// Applies the roster to all stored events: binds scopes, withdraws events and readmits others.
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
        self.moves |= scopes::bind_all(self.db, &self.team, &self.roster, &self.me)? > 0;
        self.read_bound()?;
        self.done.forks.extend(self.ledger.save(self.db)?);
        self.withdrawn.extend(apply_roster::reconcile(self.db, &self.team, &self.roster, &self.me)?);
        self.readmit()
    }

    /// Takes the events in quarantine whose date has come. The whole roster is applied again, since releases up to 0.2 also
    /// quarantined roster events for their date.
    fn readmit_due(&mut self) -> Result<()> {
        if !quarantine::is_due(self.db, &self.team, self.now)? {
            return Ok(());
        }
        self.compute_roster(self.team.roster_events(self.db)?)?;
        self.reconcile()
    }

    fn readmit(&mut self) -> Result<()> {
        for id in apply_roster::readmitted(self.db, &self.team, &self.roster, self.now)? {
            let Some(row) = quarantine::load(self.db, &id)?.filter(|row| row.event.id == id) else { continue };
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

    /// Stores one event in the log or the quarantine, unless it is known.
    fn take_one(&mut self, event: Verified<'_>, from: Option<DeviceId>, received_at: u64) -> Result<()> {
        if self.is_known(event)? {
            self.done.known += 1;
            return Ok(());
        }
        match decide(self.db, &self.team, &self.roster, &mut self.branches, &event.id, &event.header, self.now)? {
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

    /// Returns whether an event is known, and stores its body if that is new.
    fn is_known(&mut self, event: Verified<'_>) -> Result<bool> {
        let mut read = self.db.prepare_cached("SELECT body IS NOT NULL FROM events WHERE id = ?1")?;
        let mut rows = read.query([event.id.0])?;
        if let Some(row) = rows.next()? {
            if row.get::<_, bool>(0)? || event.body.is_none() {
                return Ok(true);
            }
            drop(rows);
            drop(read);
            // The body arrived after its header. If a redaction names the event, the projector deletes the body again.
            let scope = self.bound.get(&event.header.scope).map(|bound| bound.scope);
            if let Some(scope) = scope
                && let AppendOutcome::Filled(n) = self.projector.append(event, scope, EventOrigin::default())?
                && log::has_body(self.db, n)?
            {
                self.done.stored.push(event.id);
            }
            return Ok(true);
        }
        let Some(held) = quarantine::held(self.db, &event.id)? else { return Ok(false) };
        if let (false, Some(body)) = (held.has_body, &event.body) {
            quarantine::fill(self.db, &event.id, body)?;
            self.quarantines = true;
        }
        if !held.discarded {
            self.done.waiting.push((event.id, held.refusal));
        }
        Ok(true)
    }

    /// Appends an event that the team accepts, and returns whether it is new in the log.
    fn append(&mut self, event: Verified<'_>, from: Option<DeviceId>, received_at: u64) -> Result<bool> {
        let Some(bound) = self.bound.get(&event.header.scope) else { return Ok(false) };
        let (shared, scope) = (bound.n, bound.scope);
        let team = event.header.team.map(|_| self.team.n);
        let origin = EventOrigin { received_at, from, team, shared: Some(shared) };
        let AppendOutcome::New(_) = self.projector.append(event, scope, origin)? else { return Ok(false) };
        self.ledger.add(self.db, shared, &event)?;
        let chain = chain_of(&event.header);
        if !bound.is_roster && self.roster.admission(&bound.name, &chain).refusal.is_some() {
            self.cut.insert((shared, chain));
        }
        // A roster event may have any date; a date far ahead must not advance the clock.
        if event.header.clock.wall <= self.now.saturating_add(AHEAD) {
            self.clock = self.clock.merge(event.header.clock);
        }
        self.redacts |= event.header.kind == EventKind::Redact;
        Ok(true)
    }

    /// Withdraws events on the wrong branch of a fork in chains that are cut off: such an event was accepted if it
    /// arrived first.
    fn withdraw_forked(&mut self) -> Result<()> {
        for (shared, chain) in std::mem::take(&mut self.cut) {
            for fork in ledger::forks_of(self.db, shared, &chain)? {
                let admission = self.roster.admission(&fork.scope, &chain);
                let Some(refusal) = admission.refusal.filter(|_| chain.author != self.me) else { continue };
                let branches = self.branches.get(&fork.scope, chain, &admission);
                for id in fork.events.iter().filter(|id| !self.roster.accepted().contains(id)) {
                    if branches.exclude(self.db, fork.seq, id)? {
                        self.withdrawn.extend(apply_roster::load_withdrawn(self.db, id, refusal)?);
                    }
                }
            }
        }
        Ok(())
    }

    /// Updates the projections, withdraws events, and returns the result.
    pub(super) fn finish(mut self) -> Result<SyncImported> {
        self.done.forks.extend(self.ledger.save(self.db)?);
        self.withdraw_forked()?;
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
        if self.moves {
            rebuild::rebuild(self.db, self.check, &mut ())?;
        }
        commit::save_clock(self.db, self.clock)?;
        if self.done.redacted {
            open::set(self.db, "scrub", 1)?;
        }
        Ok(self.done)
    }
}
