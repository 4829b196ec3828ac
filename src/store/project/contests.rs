//! Contested claims: forks and circles in the line of succession, and fact keys with several heads.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension, params};

use super::{Projector, claims};
use crate::{
    domain::{
        CardId, ClaimId, EventId, Status,
        derive::{
            CardKind, Contest, Lineage, LiveAct, Settlement, circles, contest, contest_of_key, replaced_at_creation,
            settles,
        },
        event::{EventKind, ResolveAct},
    },
    store::{
        Result, StoreError, levels,
        log::{self, EdgeRole, LoadedEvent, id_at},
    },
};

/// Reads from the tables which claims of a scope replaced which, and which pairs are settled.
pub(in crate::store) struct SuccessionLine<'a> {
    pub(in crate::store) db: &'a Connection,
    pub(in crate::store) scope: i64,
}

impl Lineage for SuccessionLine<'_> {
    type Error = StoreError;

    fn successors(&self, claim: &ClaimId) -> Result<Vec<ClaimId>> {
        let mut read = self.db.prepare_cached(
            "SELECT DISTINCT a.successor FROM claims c JOIN live_acts a ON a.claim = c.n
             WHERE c.id = ?1 AND c.scope = ?2 AND a.successor IS NOT NULL",
        )?;
        let rows = read.query_map(params![claim.0, self.scope], |row| id_at(row, 0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn is_active(&self, claim: &ClaimId) -> Result<bool> {
        let mut read = self.db.prepare_cached("SELECT status FROM claims WHERE id = ?1 AND scope = ?2")?;
        let status: Option<i64> = read.query_row(params![claim.0, self.scope], |row| row.get(0)).optional()?;
        Ok(status.is_some_and(|code| claims::status_of(code) == Status::Active))
    }

    fn live_acts(&self, claim: &ClaimId) -> Result<Vec<LiveAct>> {
        match claims::in_scope(self.db, claim, self.scope)? {
            Some(n) => Ok(claims::state(self.db, &log::load(self.db, n)?)?.live),
            None => Ok(Vec::new()),
        }
    }

    fn is_settled(&self, one: &ClaimId, other: &ClaimId) -> Result<bool> {
        // For a project's claim and one of the organisation's level, the project's events decide; for claims of two
        // projects, those of either.
        for scope in levels::of_pair(self.db, one, other)? {
            if settlements_of(self.db, one, scope)?.iter().any(|settlement| settles(settlement, one, other)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns the effective settlements that concern a claim: as a member of the card, or as a claim that the same act
/// stored.
pub(super) fn settlements_of(db: &Connection, claim: &ClaimId, scope: i64) -> Result<Vec<Settlement>> {
    let named = log::select_loaded!(
        "edges x JOIN events e ON e.n = x.src
         WHERE x.dst = ?1 AND x.role = 0 AND e.scope = ?2 AND e.effective = 1
           AND e.kind IN ('resolve.exception', 'resolve.dismiss', 'resolve.narrow')"
    );
    // Uses the index `events_settling`: an act may have stored thousands of claims, and few acts settle anything.
    let beside = log::select_loaded!(
        "events own JOIN events e ON e.op = own.op AND e.author = own.author AND e.scope = own.scope
         WHERE own.id = ?1 AND own.scope = ?2 AND e.effective = 1
           AND e.kind IN ('resolve.exception', 'resolve.dismiss', 'resolve.narrow')"
    );
    let mut events = BTreeMap::new();
    for sql in [named, beside] {
        for event in db.prepare_cached(sql)?.query_map(params![claim.0, scope], LoadedEvent::read)? {
            let event = event?;
            events.insert(event.n, event);
        }
    }
    let mut found = Vec::new();
    for event in events.into_values() {
        let EventKind::Resolve(act) = event.kind else { continue };
        let mut created = Vec::new();
        for n in claims::created_with(db, &event)? {
            created.push(log::load(db, n)?.id);
        }
        found.push(Settlement { event: event.id, act, targets: event.header.targets, created });
    }
    Ok(found)
}

/// The origin of a contest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ContestOrigin {
    /// A claim that was replaced more than once.
    Claim(i64),
    /// A fact's key in a scope.
    Key(i64, EventId),
}

impl Projector<'_> {
    /// Recomputes the contests that include, or included, a claim whose state or settlement changed.
    pub(super) fn update_contests(&mut self) -> Result<()> {
        let mut origins = std::mem::take(&mut self.dirty.origins);
        let seeds: BTreeSet<i64> = self.dirty.state_changed.union(&self.dirty.settled).copied().collect();
        for n in seeds {
            self.origins_of(n, &mut origins)?;
        }
        for origin in origins {
            self.update_contest(origin)?;
        }
        self.update_circles()
    }

    /// Recomputes the circles of replacements that include, or included, a claim whose state or settlement changed.
    fn update_circles(&mut self) -> Result<()> {
        let mut from: BTreeMap<i64, BTreeSet<ClaimId>> = BTreeMap::new();
        let mut gone: BTreeSet<EventId> = BTreeSet::new();
        let seeds: BTreeSet<i64> = self.dirty.state_changed.union(&self.dirty.settled).copied().collect();
        let mut read = self.db.prepare_cached("SELECT id, scope FROM claims WHERE n = ?1")?;
        // The source (`src`) of a circle is the id of its card.
        let mut known = self.db.prepare_cached(
            "SELECT s.src, other.member FROM card_members mine JOIN cards k ON k.n = mine.card
             JOIN card_sources s ON s.card = k.id AND s.kind = ?2 AND s.src = k.id
             JOIN card_members other ON other.card = k.n WHERE mine.member = ?1",
        )?;
        for n in seeds {
            let (id, scope): (ClaimId, i64) = read.query_row([n], |row| Ok((id_at(row, 0)?, row.get(1)?)))?;
            let claims = from.entry(scope).or_default();
            claims.insert(id);
            let kind = CardKind::Contested as i64;
            for row in known.query_map(params![id.0, kind], |row| Ok((id_at(row, 0)?, id_at(row, 1)?)))? {
                let (circle, member) = row?;
                gone.insert(circle);
                claims.insert(member);
            }
        }
        drop((read, known));
        for (scope, claims) in from {
            for circle in circles(claims, &SuccessionLine { db: self.db, scope })? {
                let src = EventId(CardId::of_members(&circle.members).0);
                gone.remove(&src);
                self.write_contest(src, Some(circle))?;
            }
        }
        for src in gone {
            self.write_contest(src, None)?;
        }
        Ok(())
    }

    /// Collects the origins whose contest may include a claim: itself, the claims that it replaced after it was created,
    /// the forked claims that it replaced directly or indirectly, the undone replacements of these and itself, its fact
    /// key.
    pub(super) fn origins_of(&self, n: i64, origins: &mut BTreeSet<ContestOrigin>) -> Result<()> {
        let mut read = self.db.prepare_cached("SELECT id, scope, kind, key_hash FROM claims WHERE n = ?1")?;
        let (id, scope, kind, key): (ClaimId, i64, i64, Option<EventId>) =
            read.query_row([n], |row| Ok((id_at(row, 0)?, row.get(1)?, row.get(2)?, log::optional_id_at(row, 3)?)))?;
        if claims::kind_of(kind)?.is_guarded() {
            origins.insert(ContestOrigin::Claim(n));
        } else {
            origins.extend(key.map(|key| ContestOrigin::Key(scope, key)));
        }
        // The claims in whose place this one came after it was created. Whether a retract leaves nothing in their place
        // depends on this claim alone.
        let mut kept_instead = self.db.prepare_cached(
            "SELECT DISTINCT c.n FROM live_acts a JOIN claims c ON c.n = a.claim JOIN events e ON e.n = a.act
             WHERE a.successor = ?1 AND c.scope = ?2 AND c.kind <> 0 AND e.id <> ?1",
        )?;
        for replaced in kept_instead.query_map(params![id.0, scope], |row| row.get(0))? {
            origins.insert(ContestOrigin::Claim(replaced?));
        }
        // Forks are rare: if the scope has none, no predecessors need to be searched. Forks of facts are common, and
        // are found by their key: a fact may be written thousands of times, and the search would visit all of its
        // versions each time.
        let forked = "SELECT EXISTS (SELECT 1 FROM claims WHERE scope = ?1 AND forked = 1 AND kind <> 0)";
        if !self.db.prepare_cached(forked)?.query_row([scope], |row| row.get::<_, bool>(0))? {
            return Ok(());
        }
        let mut parents = self.db.prepare_cached(
            "SELECT DISTINCT c.n, c.id, c.forked, c.kind FROM live_acts a JOIN claims c ON c.n = a.claim
             WHERE a.successor = ?1 AND c.scope = ?2",
        )?;
        let mut undone = self.db.prepare_cached(
            "SELECT c.n FROM edges x JOIN claims c ON c.n = x.src
             WHERE x.dst = ?1 AND x.role = 0 AND c.scope = ?2 AND c.kind <> 0 AND c.undone = 1 AND c.forked = 1",
        )?;
        let mut visited = BTreeSet::from([id]);
        let mut next = vec![id];
        while let Some(claim) = next.pop() {
            for replacement in undone.query_map(params![claim.0, scope], |row| row.get(0))? {
                origins.insert(ContestOrigin::Claim(replacement?));
            }
            let rows = parents.query_map(params![claim.0, scope], |row| {
                Ok((row.get::<_, i64>(0)?, id_at(row, 1)?, row.get::<_, bool>(2)?, row.get::<_, i64>(3)?))
            })?;
            for row in rows {
                let (parent, id, forked, kind) = row?;
                if visited.insert(id) {
                    next.push(id);
                    if forked && claims::kind_of(kind)?.is_guarded() {
                        origins.insert(ContestOrigin::Claim(parent));
                    }
                }
            }
        }
        Ok(())
    }

    fn update_contest(&mut self, origin: ContestOrigin) -> Result<()> {
        let (src, found) = match origin {
            ContestOrigin::Claim(n) => {
                let claim = log::load(self.db, n)?;
                let state = claims::state(self.db, &claim)?;
                let line = SuccessionLine { db: self.db, scope: claim.scope };
                (claim.id, contest(claim.id, replaced_at_creation(&claim.header), &state, &line)?)
            }
            ContestOrigin::Key(scope, key) => {
                let mut read = self
                    .db
                    .prepare_cached("SELECT id FROM claims WHERE scope = ?1 AND key_hash = ?2 AND status = 0")?;
                let active = read.query_map(params![scope, key.0], |row| id_at(row, 0))?;
                let active = active.collect::<rusqlite::Result<Vec<_>>>()?;
                (scoped_key(scope, key), contest_of_key(active, &SuccessionLine { db: self.db, scope })?)
            }
        };
        self.write_contest(src, found)
    }

    fn write_contest(&mut self, src: EventId, found: Option<Contest>) -> Result<()> {
        let kind = CardKind::Contested as i64;
        let mut read = self.db.prepare_cached("SELECT card, open FROM card_sources WHERE src = ?1 AND kind = ?2")?;
        let old: Option<(CardId, bool)> =
            read.query_row(params![src.0, kind], |row| Ok((CardId(row.get(0)?), row.get(1)?))).optional()?;
        let new = found.as_ref().map(|contest| (CardId::of_members(&contest.members), !contest.settled));
        if old == new {
            return Ok(());
        }
        self.db
            .prepare_cached("DELETE FROM card_sources WHERE src = ?1 AND kind = ?2")?
            .execute(params![src.0, kind])?;
        if let Some((card, _)) = old {
            self.dirty.cards.insert(card);
            self.dirty.rows.extend(super::cards::member_claims(self.db, &card)?);
        }
        if let (Some((card, open)), Some(contest)) = (new, found) {
            self.db
                .prepare_cached("INSERT INTO card_sources (card, kind, src, open) VALUES (?1, ?2, ?3, ?4)")?
                .execute(params![card.0, kind, src.0, open])?;
            self.dirty.cards.insert(card);
            for member in &contest.members {
                self.dirty.rows.extend(log::row_number(self.db, member)?);
            }
            self.dirty.members.entry(card).or_default().extend(contest.members);
        }
        // If the origin is a claim, it gets the flag, too.
        self.dirty.rows.extend(log::row_number(self.db, &src)?);
        Ok(())
    }

    /// Recomputes which claims are exceptions: those that new events name, and the partners of claims whose status
    /// changed.
    pub(super) fn update_exceptions(&mut self) -> Result<()> {
        let mut claims: BTreeSet<i64> = self.dirty.excepted.clone();
        for n in &self.dirty.status_changed {
            let claim = log::load(self.db, *n)?;
            claims.insert(*n);
            for scope in std::iter::once(claim.scope).chain(levels::below(self.db, claim.scope)?) {
                for settlement in settlements_of(self.db, &claim.id, scope)? {
                    if settlement.act == ResolveAct::Exception {
                        claims.extend(self.claims_among(&settlement.targets, scope)?);
                    }
                }
            }
        }
        for n in claims {
            let claim = log::load(self.db, n)?;
            let line = SuccessionLine { db: self.db, scope: claim.scope };
            let mut excepted = false;
            if line.is_active(&claim.id)? {
                for settlement in settlements_of(self.db, &claim.id, claim.scope)? {
                    if settlement.act == ResolveAct::Exception && settlement.targets.contains(&claim.id) {
                        for other in settlement.targets.iter().filter(|other| **other != claim.id) {
                            excepted |= levels::is_in_force(self.db, other, claim.scope)?;
                        }
                    }
                }
            }
            let changed = self
                .db
                .prepare_cached("UPDATE claims SET excepted = ?2 WHERE n = ?1 AND excepted <> ?2")?
                .execute(params![n, excepted])?;
            if changed > 0 {
                self.dirty.rows.insert(n);
                self.dirty.touched.insert(n);
            }
        }
        Ok(())
    }

    /// Returns the effective `resolve` events of these scopes that settle a card with these members; local events that
    /// do are not included.
    pub(super) fn resolves_of(&self, members: &BTreeSet<EventId>, scopes: &BTreeSet<i64>) -> Result<Vec<LoadedEvent>> {
        let Some(first) = members.first() else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for scope in scopes {
            found.extend(log::pointing_at(self.db, first, EdgeRole::Target, *scope)?);
        }
        found.retain(|event| {
            event.effective
                && matches!(event.kind, EventKind::Resolve(act) if act != ResolveAct::Reviewed)
                && members.iter().all(|member| event.header.targets.contains(member))
        });
        Ok(found)
    }
}

/// Returns the origin id of a fact's key: the same key in two scopes is two origins.
fn scoped_key(scope: i64, key: EventId) -> EventId {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&scope.to_le_bytes());
    hasher.update(&key.0);
    EventId(*hasher.finalize().as_bytes())
}
