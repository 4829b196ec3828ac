//! Which claims need review after their premises, direct or indirect, changed; and which claims depend on which.
//!
//! Thousands of claims may depend on one. The cost of a change to one of them depends on the number of its premises,
//! and not on the number of other dependents.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, params};

use super::{Projector, claims};
use crate::{
    domain::{
        ClaimId, EventId, Status,
        derive::{self, Premise, PremisesOf},
    },
    store::{
        Result,
        log::{id_at, optional_id_at},
    },
};

/// Returns the row numbers of the claims that depend on `premise` by an effective `depend`, whatever their status.
pub(in crate::store) fn dependents(db: &Connection, premise: &ClaimId, scope: i64) -> Result<Vec<i64>> {
    let mut read = db.prepare_cached(
        "SELECT DISTINCT c.n FROM edges x
         JOIN events e ON e.n = x.src AND e.kind = 'depend' AND e.effective = 1 AND e.scope = ?2
         JOIN edges first ON first.src = e.n AND first.role = 0 AND first.ord = 0
         JOIN claims c ON c.id = first.dst AND c.scope = ?2
         WHERE x.dst = ?1 AND x.role = 0 AND x.ord > 0 AND first.dst <> ?1",
    )?;
    let rows = read.query_map(params![premise.0, scope], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the premises of a claim with their row numbers, in the order of the `depend` events.
fn premises_at(db: &Connection, claim: &ClaimId, scope: i64) -> Result<Vec<(i64, ClaimId)>> {
    let mut read = db.prepare_cached(
        "SELECT c.n, c.id FROM edges first
         JOIN events e ON e.n = first.src AND e.kind = 'depend' AND e.effective = 1 AND e.scope = ?2
         JOIN edges other ON other.src = e.n AND other.role = 0 AND other.ord > 0
         JOIN claims c ON c.id = other.dst AND c.scope = ?2
         WHERE first.dst = ?1 AND first.role = 0 AND first.ord = 0 AND other.dst <> ?1
         ORDER BY e.wall, e.tick, e.id, other.ord",
    )?;
    let mut known = BTreeSet::new();
    let mut found = Vec::new();
    for premise in read.query_map(params![claim.0, scope], |row| Ok((row.get(0)?, id_at(row, 1)?)))? {
        let premise: (i64, ClaimId) = premise?;
        if known.insert(premise.0) {
            found.push(premise);
        }
    }
    Ok(found)
}

/// Returns the premises of a claim, in the order of the `depend` events.
pub(in crate::store) fn premises(db: &Connection, claim: &ClaimId, scope: i64) -> Result<Vec<ClaimId>> {
    Ok(premises_at(db, claim, scope)?.into_iter().map(|(_, id)| id).collect())
}

/// Returns the stored causes of a claim: why it needs review.
fn causes_of(db: &Connection, claim: i64) -> Result<BTreeSet<EventId>> {
    let mut read = db.prepare_cached("SELECT cause FROM causes WHERE claim = ?1")?;
    let rows = read.query_map([claim], |row| id_at(row, 0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the events that took a claim out of the active set: see [`derive::ClaimState::broken_by`]. Reads the tables,
/// because from the log it would have to read every act on the claim, including each `depend` with the claim as
/// premise.
fn broken_by(db: &Connection, id: ClaimId, n: i64) -> Result<Vec<EventId>> {
    let mut read = db.prepare_cached(
        "SELECT c.status, e.id FROM claims c LEFT JOIN live_acts a ON a.claim = c.n LEFT JOIN events e ON e.n = a.act
         WHERE c.n = ?1",
    )?;
    let mut acts = Vec::new();
    for row in read.query_map([n], |row| Ok((row.get(0)?, optional_id_at(row, 1)?)))? {
        let (status, act) = row?;
        if claims::status_of(status) == Status::Active {
            return Ok(Vec::new());
        }
        acts.push(act.unwrap_or(id));
    }
    Ok(acts)
}

/// Returns the causes that reviewers have acknowledged for a claim.
fn acknowledged(db: &Connection, claim: &ClaimId, scope: i64) -> Result<BTreeSet<EventId>> {
    let mut read = db.prepare_cached(
        "SELECT seen.dst FROM edges x
         JOIN events e ON e.n = x.src AND e.kind = 'resolve.reviewed' AND e.effective = 1 AND e.scope = ?2
         JOIN edges seen ON seen.src = e.n AND seen.role = 2
         WHERE x.dst = ?1 AND x.role = 0",
    )?;
    let rows = read.query_map(params![claim.0, scope], |row| id_at(row, 0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Counts the claims whose stored number of dependents is wrong.
pub(in crate::store) fn wrong_counts(db: &Connection) -> Result<usize> {
    let count =
        "SELECT count(*) FROM claims WHERE dependents <> (SELECT count(*) FROM dependencies WHERE premise = claims.n)";
    Ok(db.query_row(count, [], |row| row.get(0))?)
}

/// A claim in a walk over premises and dependents.
struct ClaimPosition {
    n: i64,
    id: ClaimId,
    scope: i64,
    active: bool,
}

impl ClaimPosition {
    fn read(db: &Connection, n: i64) -> Result<Self> {
        let mut read = db.prepare_cached("SELECT id, scope, status FROM claims WHERE n = ?1")?;
        Ok(read.query_row([n], |row| {
            let active = claims::status_of(row.get(2)?) == Status::Active;
            Ok(Self { n, id: id_at(row, 0)?, scope: row.get(1)?, active })
        })?)
    }
}

/// Reads each premise once, however many claims depend on it.
struct PremiseReader<'a> {
    db: &'a Connection,
    /// The premises of each claim that was loaded.
    premises_of: BTreeMap<ClaimId, PremisesOf>,
    /// The events that took each premise out of the active set.
    broken: BTreeMap<ClaimId, Vec<EventId>>,
    /// The stored causes of each premise.
    known: BTreeMap<ClaimId, BTreeSet<EventId>>,
}

impl PremiseReader<'_> {
    /// Returns the premises of a claim, without the causes that were acknowledged for it.
    fn premises(&mut self, claim: &ClaimPosition) -> Result<PremisesOf> {
        let mut rest = PremisesOf::default();
        for (n, id) in premises_at(self.db, &claim.id, claim.scope)? {
            if !self.broken.contains_key(&id) {
                self.broken.insert(id, broken_by(self.db, id, n)?);
                self.known.insert(id, causes_of(self.db, n)?);
            }
            let broken_by = self.broken.get(&id).cloned().unwrap_or_default();
            rest.premises.push(Premise { id, broken_by });
        }
        Ok(rest)
    }

    /// Returns whether a claim has a cause to pass on: a stored one, or one of its premises.
    fn passes_on(&mut self, claim: &ClaimPosition) -> Result<bool> {
        let rest = self.premises(claim)?;
        let inherits = |premise: &Premise| {
            !premise.broken_by.is_empty() || self.known.get(&premise.id).is_some_and(|causes| !causes.is_empty())
        };
        Ok(rest.premises.iter().any(inherits) || !causes_of(self.db, claim.n)?.is_empty())
    }

    /// Loads what the causes of a claim are computed from.
    fn load(&mut self, claim: &ClaimPosition) -> Result<()> {
        let mut rest = self.premises(claim)?;
        if !rest.premises.is_empty() {
            rest.acknowledged = acknowledged(self.db, &claim.id, claim.scope)?;
        }
        self.premises_of.insert(claim.id, rest);
        Ok(())
    }
}

impl Projector<'_> {
    /// Recomputes the causes of the direct and indirect dependents of claims whose state changed. They are computed
    /// together from scratch: otherwise claims that depend on each other would keep alive a cause that no longer
    /// exists.
    ///
    /// A claim that had no cause, and gets none from the stored causes of its premises, passes none on. It is left out, with its
    /// dependents.
    pub(super) fn update_review(&mut self) -> Result<()> {
        let mut changed = self.dirty.review.clone();
        for n in &self.dirty.state_changed {
            let claim = ClaimPosition::read(self.db, *n)?;
            changed.extend(dependents(self.db, &claim.id, claim.scope)?);
        }
        let mut reader = PremiseReader {
            db: self.db,
            premises_of: BTreeMap::new(),
            broken: BTreeMap::new(),
            known: BTreeMap::new(),
        };
        let mut positions: BTreeMap<ClaimId, ClaimPosition> = BTreeMap::new();
        let mut next = Vec::new();
        for n in changed {
            let claim = ClaimPosition::read(self.db, n)?;
            if reader.passes_on(&claim)? {
                next.push(claim);
            }
        }
        while let Some(claim) = next.pop() {
            if positions.contains_key(&claim.id) {
                continue;
            }
            reader.load(&claim)?;
            for dependent in dependents(self.db, &claim.id, claim.scope)? {
                next.push(ClaimPosition::read(self.db, dependent)?);
            }
            positions.insert(claim.id, claim);
        }
        let PremiseReader { premises_of, mut known, .. } = reader;
        known.retain(|premise, _| !positions.contains_key(premise));
        for (id, causes) in derive::causes(&premises_of, &known) {
            let Some(claim) = positions.get(&id) else { continue };
            if causes_of(self.db, claim.n)? == causes {
                continue;
            }
            self.db.prepare_cached("DELETE FROM causes WHERE claim = ?1")?.execute([claim.n])?;
            for cause in &causes {
                self.db
                    .prepare_cached("INSERT INTO causes (claim, cause) VALUES (?1, ?2)")?
                    .execute(params![claim.n, cause.0])?;
            }
            self.dirty.rows.insert(claim.n);
            self.dirty.touched.insert(claim.n);
        }
        self.update_dependencies()
    }

    /// Updates the stored premises of the claims that are new, changed their status, or got or lost a premise.
    fn update_dependencies(&mut self) -> Result<()> {
        let changed: Vec<i64> = self.dirty.status_changed.union(&self.dirty.review).copied().collect();
        for n in changed {
            let claim = ClaimPosition::read(self.db, n)?;
            let premises = if claim.active { premises_at(self.db, &claim.id, claim.scope)? } else { Vec::new() };
            self.write_dependencies(n, &premises.into_iter().map(|(premise, _)| premise).collect())?;
        }
        Ok(())
    }

    /// Stores the premises of an active claim, and updates the number of dependents of each premise, which changes how
    /// the premises are shown.
    pub(super) fn write_dependencies(&mut self, claim: i64, premises: &BTreeSet<i64>) -> Result<()> {
        let mut read = self.db.prepare_cached("SELECT premise FROM dependencies WHERE claim = ?1")?;
        let old = read.query_map([claim], |row| row.get(0))?.collect::<rusqlite::Result<BTreeSet<i64>>>()?;
        if old == *premises {
            return Ok(());
        }
        let mut add = self.db.prepare_cached(
            "INSERT INTO dependencies (premise, wall, tick, claim) SELECT ?1, wall, tick, n FROM claims WHERE n = ?2",
        )?;
        let mut remove = self.db.prepare_cached(
            "DELETE FROM dependencies WHERE (premise, wall, tick, claim) IN (SELECT ?1, wall, tick, n FROM claims WHERE n = ?2)",
        )?;
        let mut count = self.db.prepare_cached("UPDATE claims SET dependents = dependents + ?2 WHERE n = ?1")?;
        for premise in old.symmetric_difference(premises) {
            let comes = premises.contains(premise);
            let write = if comes { &mut add } else { &mut remove };
            let changed = write.execute([*premise, claim])?;
            let change = i64::try_from(changed).unwrap_or_default();
            count.execute([*premise, if comes { change } else { -change }])?;
            self.dirty.touched.insert(*premise);
        }
        Ok(())
    }
}
