//! Where a claim of the organisation's level was seen: the promotions that name claims of its projects.

use std::collections::BTreeSet;

use rusqlite::{OptionalExtension, params};
use serde::Deserialize;

use crate::{
    domain::{ClaimId, ClaimKind, EventKind, Qualifiers, Scope},
    store::{
        PromotedFrom, Reader, Result, levels,
        log::{self, EdgeRole, LoadedEvent, id_at},
        project::{content_hash, kind_code},
    },
};

/// What a promotion says besides its targets.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PromotionData {
    /// How many projects there were on the device that wrote it.
    projects: usize,
}

fn promotes(event: &LoadedEvent, claim: &ClaimId) -> bool {
    event.effective && event.kind == EventKind::Promote && event.header.targets.first() == Some(claim)
}

impl Reader {
    /// The claims of projects that a claim was made of or seen in. Those that this device does not know count as their writer counted them.
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
                let data = log::body(db, event.n)?.and_then(|body| body.data).unwrap_or_default();
                let said: PromotionData = serde_json::from_str(&data).unwrap_or_default();
                found.projects = found.projects.max(said.projects);
            }
            found.projects = found.projects.max(projects.len());
            Ok(found)
        })
    }

    /// The claims of the organisation's level, of any status, that a project's claim was promoted to.
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

    /// The active claims that say exactly this, white space aside, one of each project of the organisation, in the order of the projects.
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
