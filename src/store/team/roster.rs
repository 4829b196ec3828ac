//! Roster acts of this device, and joining a team.

use rusqlite::{Connection, params};

use super::{
    Team, apply_roster,
    intake::Intake,
    ledger::ChainLedger,
    scopes, signatures,
    sync_rows::{RosterDraft, SyncImported},
};
use crate::{
    domain::{
        Body, DeviceId, EventId, Header, OpId, Roster, Scope, SignedEvent,
        event::{EventKind, VERSION},
        roster::{self, ChainCut, ChainHead, is_roster_scope},
        verified::{OwnEvent, Verified},
    },
    store::{
        Reader, RequestHash, Result, Store, StoreError, commit,
        log::{self, EventOrigin, id_at},
        open::random,
        project::Projector,
        rebuild, requests,
    },
};

impl Store {
    /// Signs and stores a roster event of this device, and applies the new roster to all stored events. Returns the
    /// team's id, which for a `roster.create` is that of the new event.
    ///
    /// The caller must check that the role of this device allows the act; otherwise the event has no effect.
    pub fn commit_roster(&mut self, draft: RosterDraft) -> Result<(EventId, SyncImported)> {
        self.commit_roster_asked(draft, None)
    }

    /// Returns the team of the roster act with this id, if this device has stored one.
    ///
    /// # Errors
    /// [`StoreError::UsedOp`] if the id belongs to an act that is not a roster act.
    pub fn roster_act(&self, op: &OpId) -> Result<Option<EventId>> {
        done_before(&self.reader.db, op, &self.device())
    }

    /// Commits a roster event like [`Store::commit_roster`], with the hash of its request.
    pub fn commit_roster_asked(
        &mut self,
        draft: RosterDraft,
        asked: Option<RequestHash>,
    ) -> Result<(EventId, SyncImported)> {
        let (me, rosters) = (self.device(), self.reader.rosters.clone());
        let tx = commit::begin(&mut self.reader)?;
        if let Some(team) = done_before(&tx, &draft.op, &me)? {
            return Ok((team, SyncImported::default()));
        }
        let founded = match draft.team {
            Some(id) => Some(Team::find(&tx, id)?),
            None => None,
        };
        let event = sign(&tx, &draft, founded.as_ref(), me, self.epoch, &self.key)?;
        let team = match founded {
            Some(team) => team,
            None => found(&tx, event.id, &[event.verified()], draft.now, None)?,
        };
        let roster = rosters.get(&tx, &team)?;
        let mut intake = Intake::new(&tx, &*self.check, team, roster, me, None, draft.now)?;
        if founded.is_some() {
            intake.take_roster(&[event.verified()])?;
        } else {
            intake.reconcile()?;
        }
        let mut done = intake.finish()?;
        done.roster_changed = true;
        commit::save_clock(&tx, commit::load_clock(&tx)?.merge(event.header.clock))?;
        if let Some(asked) = asked {
            requests::store_hash(&tx, &draft.op, asked)?;
        }
        tx.commit()?;
        self.scrub();
        Ok((team.id, done))
    }

    /// Joins a team by its roster, which must name this device as a member. Joining again imports what is new.
    pub fn join_team(
        &mut self,
        team: EventId,
        events: &[SignedEvent],
        from: Option<DeviceId>,
        now: u64,
    ) -> Result<SyncImported> {
        let events = signatures::all(&events.iter().collect::<Vec<_>>())?;
        let me = self.device();
        let roster = Roster::of(team, events.iter().map(|event| event.event())).ok_or(StoreError::NoRoster(team))?;
        if !roster.is_member(&me) {
            return Err(StoreError::NotAMember { device: me, team });
        }
        let rosters = self.reader.rosters.clone();
        let tx = commit::begin(&mut self.reader)?;
        let known = match Team::known(&tx, team)? {
            Some(known) => known,
            None => found(&tx, team, &events, now, from)?,
        };
        let roster = rosters.get(&tx, &known)?;
        let mut intake = Intake::new(&tx, &*self.check, known, roster, me, from, now)?;
        let (roster, others): (Vec<_>, Vec<_>) =
            events.into_iter().partition(|event| is_roster_scope(&event.header.scope));
        intake.begin(&roster)?;
        intake.take(&others)?;
        intake.reconcile()?;
        let mut done = intake.finish()?;
        done.roster_changed = true;
        tx.commit()?;
        self.scrub();
        Ok(done)
    }

    /// Binds a team's scope to another scope of this device, moves the team's events there, and shares those that were
    /// not shared, for example because they were there already.
    pub fn bind_scope(&mut self, team: EventId, name: &Scope, to: &Scope) -> Result<()> {
        let me = self.device();
        let tx = commit::begin(&mut self.reader)?;
        let team = Team::find(&tx, team)?;
        let roster = team.roster(&tx)?;
        if let Some((bound, moved)) = scopes::rebind(&tx, &team, &roster, name, to)? {
            apply_roster::share_all(&tx, &team, &roster, &bound, &me)?;
            if moved > 0 {
                rebuild::rebuild(&tx, &*self.check, &mut ())?;
            }
        }
        tx.commit()?;
        Ok(())
    }
}

/// Inserts a team with the event that founds it.
fn found(db: &Connection, id: EventId, events: &[Verified<'_>], now: u64, from: Option<DeviceId>) -> Result<Team> {
    let first = *events.iter().find(|event| event.id == id).ok_or(StoreError::NoRoster(id))?;
    db.prepare_cached("INSERT INTO teams (id, joined_at) VALUES (?1, ?2)")?.execute(params![id.0, log::wall(now)])?;
    let team = Team { n: db.last_insert_rowid(), id, left_at: None };
    let scope = log::scope_number(db, &first.header.scope)?;
    scopes::insert(db, &team, &first.header.scope, scope, true)?;
    let shared = db.last_insert_rowid();
    let mut projector = Projector::new(db, &NoPairs)?;
    projector.append(first, scope, EventOrigin { received_at: now, from, team: None, shared: Some(shared) })?;
    projector.finish()?;
    let mut ledger = ChainLedger::default();
    ledger.add(db, shared, &first)?;
    ledger.save(db)?;
    Ok(team)
}

/// Finds no contradictions and no terms: roster events contain no norms.
pub(super) struct NoPairs;

impl crate::domain::guard_report::PairCheck for NoPairs {
    fn version(&self) -> u32 {
        0
    }

    fn contradiction(
        &self,
        _: crate::domain::guard_report::ComparedClaim<'_>,
        _: crate::domain::guard_report::ComparedClaim<'_>,
    ) -> Option<crate::domain::guard_report::Evidence> {
        None
    }

    fn index_terms(&self, _: &[crate::domain::Norm], _: &str) -> crate::domain::IndexTerms {
        crate::domain::IndexTerms::default()
    }
}

/// Returns the team of a roster act that this device has already stored.
fn done_before(db: &Connection, op: &OpId, me: &DeviceId) -> Result<Option<EventId>> {
    let mut read = db.prepare_cached(log::select_loaded!("events e WHERE e.op = ?1 AND e.author = ?2 ORDER BY e.n"))?;
    let mut rows = read.query(params![op.0, me.0])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let event = log::LoadedEvent::read(row)?;
    match (&event.header.kind, event.header.team) {
        (EventKind::Roster(_), team) => Ok(Some(team.unwrap_or(event.id))),
        _ => Err(StoreError::UsedOp(*op)),
    }
}

fn sign(
    db: &Connection,
    draft: &RosterDraft,
    team: Option<&Team>,
    me: DeviceId,
    epoch: u64,
    key: &ed25519_dalek::SigningKey,
) -> Result<OwnEvent> {
    let (scope, heads) = match team {
        Some(team) => {
            let roster = team.roster(db)?;
            (roster.scope().clone(), roster.heads().to_vec())
        }
        None => (Scope::new(roster::ORG, hex::encode(random::<8>()?))?, Vec::new()),
    };
    let scope_n = log::scope_number(db, &scope)?;
    let (seq, prev) = log::chain_end(db, &me, epoch, scope_n, false, team.map(|team| team.n))?;
    let header = Header {
        version: VERSION,
        team: team.map(|team| team.id),
        scope,
        author: me,
        epoch,
        seq,
        prev,
        clock: commit::load_clock(db)?.tick(draft.now),
        kind: EventKind::Roster(draft.change.act()),
        op: draft.op,
        targets: Vec::new(),
        successor: None,
        seen: heads.into_iter().filter(|head| Some(*head) != prev).collect(),
        claim_kind: None,
        key_hash: None,
        who: draft.who.clone(),
        agent: draft.agent.clone(),
        body_hash: EventId([0; 32]),
    };
    let body = Body { roster: Some(draft.change.clone()), reason: draft.reason.clone(), ..Body::default() };
    Ok(OwnEvent::sign(header, body.seal(random()?), key)?)
}

impl Reader {
    /// Returns the roster events of a team, in the order of arrival: what a device needs to join it.
    pub fn roster_events(&self, team: &EventId) -> Result<Vec<SignedEvent>> {
        Team::find(&self.db, *team)?.roster_events(&self.db)
    }

    /// Returns the last known events of a device in each scope of a team: the cut of a revocation made now.
    pub fn cuts_of(&self, team: &EventId, device: &DeviceId) -> Result<Vec<ChainCut>> {
        let mut ends = self.db.prepare_cached(
            "SELECT s.org, s.project, c.epoch FROM chains c JOIN team_scopes s ON s.n = c.shared
             JOIN teams t ON t.n = s.team WHERE t.id = ?1 AND c.author = ?2 AND c.adopted = 0 AND s.roster = 0
             ORDER BY s.org, s.project, c.epoch",
        )?;
        let mut last = self.db.prepare_cached(
            "SELECT e.seq, e.id FROM team_scopes s JOIN teams t ON t.n = s.team JOIN events e ON e.shared = s.n
             WHERE t.id = ?1 AND s.org = ?2 AND s.project = ?3 AND e.author = ?4 AND e.epoch = ?5
             ORDER BY e.team DESC, e.seq DESC, e.id LIMIT 1",
        )?;
        let rows = ends.query_map(params![team.0, device.0], |row| {
            Ok((Scope { org_id: row.get(0)?, project: row.get(1)? }, row.get::<_, i64>(2)?))
        })?;
        let mut cuts = Vec::new();
        for row in rows {
            let (scope, epoch) = row?;
            let (seq, id) = last.query_row(params![team.0, scope.org_id, scope.project, device.0, epoch], |row| {
                Ok((row.get::<_, i64>(0)?.cast_unsigned(), id_at(row, 1)?))
            })?;
            cuts.push(ChainCut { scope, epoch: epoch.cast_unsigned(), seq, id });
        }
        cuts.dedup();
        Ok(cuts)
    }

    /// Returns the last events of those chains of a local scope that belong to no team: what an adoption of the scope
    /// names.
    pub fn heads_of(&self, scope: &Scope) -> Result<Vec<ChainHead>> {
        if is_roster_scope(scope) {
            return Ok(Vec::new());
        }
        let Some(n) = log::known_scope(&self.db, scope)? else { return Ok(Vec::new()) };
        let mut read = self.db.prepare_cached(log::select_loaded!(
            "events e WHERE e.scope = ?1 AND e.log = 0 AND e.team IS NULL AND e.shared IS NULL
             ORDER BY e.author, e.epoch, e.seq, e.id"
        ))?;
        let mut heads: Vec<ChainHead> = Vec::new();
        for event in read.query_map([n], log::LoadedEvent::read)? {
            let log::LoadedEvent { id, header, .. } = event?;
            if header.scope != *scope || header.team.is_some() {
                continue;
            }
            let head = ChainHead { author: header.author, epoch: header.epoch, seq: header.seq, id };
            match heads.last_mut() {
                // If a chain forks at its end, only the first event is returned.
                Some(last) if (last.author, last.epoch, last.seq) == (head.author, head.epoch, head.seq) => {}
                Some(last) if (last.author, last.epoch) == (head.author, head.epoch) => *last = head,
                _ => heads.push(head),
            }
        }
        Ok(heads)
    }
}
