//! Which claims need review, after their premises or those of their premises changed.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, params};

use super::{Projector, claims};
use crate::{
    domain::{
        ClaimId, EventId,
        derive::{self, Premise, Rest},
    },
    store::{
        Result,
        log::{self, Loaded, id_at},
    },
};

/// The claims that an effective `depend` lets rest on `premise`.
pub(in crate::store) fn dependents(db: &Connection, premise: &ClaimId, scope: i64) -> Result<Vec<ClaimId>> {
    let mut read = db.prepare_cached(
        "SELECT DISTINCT first.dst FROM edges x
         JOIN events e ON e.n = x.src AND e.kind = 'depend' AND e.effective = 1 AND e.scope = ?2
         JOIN edges first ON first.src = e.n AND first.role = 0 AND first.ord = 0
         JOIN claims c ON c.id = first.dst AND c.scope = ?2
         WHERE x.dst = ?1 AND x.role = 0 AND x.ord > 0 AND first.dst <> ?1",
    )?;
    let rows = read.query_map(params![premise.0, scope], |row| id_at(row, 0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The claims that a claim rests on, in the order in which that was said.
pub(in crate::store) fn premises(db: &Connection, claim: &ClaimId, scope: i64) -> Result<Vec<ClaimId>> {
    let mut read = db.prepare_cached(
        "SELECT other.dst FROM edges first
         JOIN events e ON e.n = first.src AND e.kind = 'depend' AND e.effective = 1 AND e.scope = ?2
         JOIN edges other ON other.src = e.n AND other.role = 0 AND other.ord > 0
         JOIN claims c ON c.id = other.dst AND c.scope = ?2
         WHERE first.dst = ?1 AND first.role = 0 AND first.ord = 0 AND other.dst <> ?1
         ORDER BY e.wall, e.tick, e.id, other.ord",
    )?;
    let mut found: Vec<ClaimId> = Vec::new();
    for id in read.query_map(params![claim.0, scope], |row| id_at(row, 0))? {
        let id = id?;
        if !found.contains(&id) {
            found.push(id);
        }
    }
    Ok(found)
}

/// The causes noted for a claim.
pub(in crate::store) fn causes_of(db: &Connection, claim: i64) -> Result<BTreeSet<EventId>> {
    let mut read = db.prepare_cached("SELECT cause FROM causes WHERE claim = ?1")?;
    let rows = read.query_map([claim], |row| id_at(row, 0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The causes that reviewers have acknowledged for a claim.
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

impl Projector<'_> {
    /// Recomputes the causes of what moved, of what rests on it, and so on. All of these are computed together from
    /// nothing, since claims that rest on each other would otherwise hold a cause up that is gone.
    pub(super) fn update_review(&mut self) -> Result<()> {
        let mut places: BTreeMap<ClaimId, Loaded> = BTreeMap::new();
        let mut next: Vec<i64> = self.dirty.moved.iter().chain(&self.dirty.review).copied().collect();
        while let Some(n) = next.pop() {
            let claim = log::load(self.db, n)?;
            if places.contains_key(&claim.id) {
                continue;
            }
            for dependent in dependents(self.db, &claim.id, claim.scope)? {
                next.extend(claims::in_scope(self.db, &dependent, claim.scope)?);
            }
            places.insert(claim.id, claim);
        }
        let mut rests = BTreeMap::new();
        let mut known: BTreeMap<ClaimId, BTreeSet<EventId>> = BTreeMap::new();
        for claim in places.values() {
            let mut rest = Rest { premises: Vec::new(), acknowledged: BTreeSet::new() };
            for id in premises(self.db, &claim.id, claim.scope)? {
                let Some(premise) = log::load_id(self.db, &id)? else { continue };
                if !places.contains_key(&id) {
                    known.insert(id, causes_of(self.db, premise.n)?);
                }
                let broken_by = claims::state(self.db, &premise)?.broken_by(id);
                rest.premises.push(Premise { id, broken_by });
            }
            if !rest.premises.is_empty() {
                rest.acknowledged = acknowledged(self.db, &claim.id, claim.scope)?;
            }
            rests.insert(claim.id, rest);
        }
        for (id, causes) in derive::causes(&rests, &known) {
            let Some(claim) = places.get(&id) else { continue };
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
        // Views of a premise count what rests on it.
        for claim in places.values().filter(|claim| self.dirty.flipped.contains(&claim.n)) {
            for premise in premises(self.db, &claim.id, claim.scope)? {
                let premise = claims::in_scope(self.db, &premise, claim.scope)?;
                self.dirty.touched.extend(premise);
            }
        }
        Ok(())
    }
}
