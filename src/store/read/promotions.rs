//! Reads promotions: which claims of projects a claim of the organisation's level was made from or found in.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, params};
use serde::Deserialize;

use crate::{
    domain::{ClaimId, ClaimKind, EventKind, Qualifiers, Scope},
    store::{
        PromotedFrom, Reader, Result, levels,
        log::{self, EdgeRole, LoadedEvent, id_at},
        project::{content_hash, kind_code},
    },
};

/// The data of a promotion besides its targets.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PromotionData {
    /// The number of projects with these claims on the device that wrote the promotion.
    projects: usize,
    /// The weight of each target after the first.
    weights: Vec<f64>,
}

/// A recorded promotion: a claim of the organisation's level and the claims that it was made from.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedPromotion {
    /// The claim of the organisation's level, of any status.
    pub claim: ClaimId,
    /// The claims of projects, each with its weight. This device may not have them.
    pub of: Vec<(ClaimId, f64)>,
    /// The number of projects with these claims on the device that wrote the promotion.
    pub projects: usize,
}

fn promotes(event: &LoadedEvent, claim: &ClaimId) -> bool {
    event.effective && event.kind == EventKind::Promote && event.header.targets.first() == Some(claim)
}

fn data_of(db: &Connection, event: i64) -> Result<PromotionData> {
    let data = log::body(db, event)?.and_then(|body| body.data).unwrap_or_default();
    Ok(serde_json::from_str(&data).unwrap_or_default())
}

impl Reader {
    /// Returns the claims of projects that a claim was made from or found in. Projects that this device does not know
    /// are counted as the writer of the promotion did.
    pub fn promoted_from(&self, claim: &ClaimId) -> Result<PromotedFrom> {
        self.snapshot(|reader| {
            let db = &reader.db;
            let mut found = PromotedFrom::default();
            let Some(event) = log::load_id(db, claim)? else { return Ok(found) };
            let mut scope_of = db.prepare_cached("SELECT scope FROM claims WHERE id = ?1")?;
            let mut projects: BTreeSet<i64> = BTreeSet::new();
            for event in log::pointing_at(db, claim, EdgeRole::Target, event.scope)? {
                if !promotes(&event, claim) {
                    continue;
                }
                found.promotions += 1;
                for id in event.header.targets.iter().skip(1) {
                    if found.claims.insert(*id) {
                        projects.extend(scope_of.query_row([id.0], |row| row.get::<_, i64>(0)).optional()?);
                    }
                }
                found.projects = found.projects.max(data_of(db, event.n)?.projects);
            }
            found.projects = found.projects.max(projects.len());
            Ok(found)
        })
    }

    /// Returns the promotions of an organisation that were not undone, in the order of arrival.
    pub fn recorded_promotions(&self, org: &str) -> Result<Vec<RecordedPromotion>> {
        self.snapshot(|reader| {
            let db = &reader.db;
            let mut read = db.prepare_cached(log::select_loaded!(
                "scopes s JOIN events e ON e.scope = s.n AND e.kind = 'promote' AND e.effective = 1
                 WHERE s.org = ?1 AND s.project = '*' ORDER BY e.n"
            ))?;
            let events = read.query_map([org], LoadedEvent::read)?.collect::<rusqlite::Result<Vec<_>>>()?;
            let mut found = Vec::with_capacity(events.len());
            for event in events {
                let Some((claim, sources)) = event.header.targets.split_first() else { continue };
                let PromotionData { projects, weights } = data_of(db, event.n)?;
                let even = 1.0 / sources.len().max(1) as f64;
                let weight = |at: usize| {
                    weights.get(at).copied().filter(|weight| weight.is_finite() && *weight > 0.0).unwrap_or(even)
                };
                let of = sources.iter().enumerate().map(|(at, id)| (*id, weight(at))).collect();
                found.push(RecordedPromotion { claim: *claim, of, projects });
            }
            Ok(found)
        })
    }

    /// Returns the claims of the organisation's level, of any status, that a project's claim was promoted to.
    pub fn promoted_to(&self, claim: &ClaimId) -> Result<Vec<ClaimId>> {
        self.snapshot(|reader| {
            let db = &reader.db;
            let Some(event) = log::load_id(db, claim)? else { return Ok(Vec::new()) };
            let Some(level) = levels::above(db, event.scope)? else { return Ok(Vec::new()) };
            let events = log::pointing_at(db, claim, EdgeRole::Target, level)?;
            let made =
                events.iter().filter_map(|event| event.header.targets.first().filter(|first| promotes(event, first)));
            Ok(made.copied().filter(|made| made != claim).collect())
        })
    }

    /// Returns the oldest active claim with this content (see [`content_hash`]) of each project of the organisation, in
    /// the order of project names.
    pub fn same_in_projects(
        &self,
        scope: &Scope,
        kind: ClaimKind,
        statement: &str,
        qualifiers: &Qualifiers,
    ) -> Result<Vec<ClaimId>> {
        self.snapshot(|reader| {
            let db = &reader.db;
            let mut read =
                db.prepare_cached("SELECT n FROM scopes WHERE org = ?1 AND project <> '*' ORDER BY project")?;
            let projects =
                read.query_map([&scope.org_id], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
            let mut read = db.prepare_cached(
                "SELECT id FROM claims WHERE content = ?1 AND kind = ?2 ORDER BY wall, tick, id LIMIT 1",
            )?;
            let mut found = Vec::new();
            for project in projects {
                let content = content_hash(project, kind, statement, qualifiers);
                found.extend(read.query_row(params![content, kind_code(kind)], |row| id_at(row, 0)).optional()?);
            }
            Ok(found)
        })
    }
}
