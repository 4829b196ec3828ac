//! Which claims of an organisation's projects say the same: what may be promoted to the organisation's level.
//!
//! Equal are claims of one kind with the same words and conditions, white space aside. [`of_claim`] and [`groups`] are the only places that decide it:
//! what is found to be equal by meaning is to come in here.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    api::{ApiError, Promotable, Promotions, PromotionsQuery},
    domain::{ClaimId, ClaimKind, Scope, Status},
    engine::{Engine, find, guard_calls, validate, view},
    store::{ClaimRow, Reader},
};

/// The most claims of a project that are read for a list of proposals.
const READ: usize = 5_000;

/// The most proposals of a list.
const LISTED: usize = 100;

/// Claims of different projects that say the same.
#[derive(Clone, Debug)]
pub(super) struct Agreement {
    /// One of each project at least, the oldest first.
    pub(super) claims: Vec<ClaimRow>,
    /// How many projects there are.
    pub(super) projects: usize,
}

/// The claims that say the same as one of a project, if at least `least` projects do and their organisation's level does not yet.
pub(super) fn of_claim(reader: &Reader, claim: &ClaimId, least: usize) -> Result<Option<Agreement>, ApiError> {
    let row = find::row(reader, claim)?;
    if !row.kind.is_guarded() || !row.scope.level().is_project() || row.status != Status::Active {
        return Ok(None);
    }
    let mut claims = Vec::new();
    for id in reader.same_in_projects(&row.scope, row.kind, &row.statement, &row.qualifiers)? {
        claims.push(find::row(reader, &id)?);
    }
    if claims.len() < least || decided(reader, &claims)? {
        return Ok(None);
    }
    Ok(Some(Agreement { projects: claims.len(), claims }))
}

/// Whether the organisation's level says it already, or said it until a person demoted it.
fn decided(reader: &Reader, claims: &[ClaimRow]) -> Result<bool, ApiError> {
    let Some(first) = claims.first() else { return Ok(true) };
    let level = first.scope.organisation();
    if reader.duplicate(&level, first.kind, &first.statement, &first.qualifiers)?.is_some() {
        return Ok(true);
    }
    for claim in claims {
        if !reader.promoted_to(&claim.id)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Engine {
    /// What enough projects of an organisation agree on, and nobody has decided about.
    pub fn promotions(&self, query: &PromotionsQuery) -> Result<Promotions, ApiError> {
        promotions(self, query)
    }
}

/// `GET /promotions`.
fn promotions(engine: &Engine, query: &PromotionsQuery) -> Result<Promotions, ApiError> {
    let scope = validate::named(&query.org_id, crate::domain::scope::ORGANISATION)
        .map_err(|error| ApiError::field(error.field, error.to_string()))?;
    let today = guard_calls::day((engine.config.clock)());
    engine.readers.lend().snapshot(|reader| {
        let mut groups = groups(reader, &scope, engine.config.levels.promote_at)?;
        groups.sort_by(|a, b| b.projects.cmp(&a.projects).then_with(|| a.claims[0].id.cmp(&b.claims[0].id)));
        let items = groups
            .into_iter()
            .take(LISTED)
            .map(|group| Promotable { projects: group.projects, claims: view::claims(group.claims, &today) });
        Ok(Promotions { items: items.collect(), promote_at: engine.config.levels.promote_at })
    })
}

/// Leaves out the claims of a project that its organisation's level says in its place: those that it was seen in, and equal ones.
pub(super) fn once<T>(
    reader: &Reader,
    project: &Scope,
    found: &mut Vec<T>,
    row: impl Fn(&T) -> &ClaimRow,
) -> Result<(), ApiError> {
    let (mut said, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for above in found.iter().map(&row).filter(|row| row.scope != *project && row.status == Status::Active) {
        said.insert(words(above));
        seen.extend(reader.promoted_from(&above.id)?.claims);
    }
    if !said.is_empty() {
        found.retain(|one| {
            let row = row(one);
            row.scope != *project
                || row.status != Status::Active
                || !(seen.contains(&row.id) || said.contains(&words(row)))
        });
    }
    Ok(())
}

/// What makes claims equal.
type Words = (ClaimKind, String, String);

fn words(row: &ClaimRow) -> Words {
    let words: Vec<&str> = row.statement.split_whitespace().collect();
    (row.kind, words.join(" "), serde_json::to_string(&row.qualifiers).unwrap_or_default())
}

/// The groups of equal claims of at least `least` projects below an organisation's level, about which nothing was decided.
fn groups(reader: &Reader, level: &Scope, least: usize) -> Result<Vec<Agreement>, ApiError> {
    let mut equal: BTreeMap<Words, Vec<ClaimRow>> = BTreeMap::new();
    let projects = reader.scopes()?.into_iter().map(|row| row.scope);
    for project in projects.filter(|scope| scope.org_id == level.org_id && scope.level().is_project()) {
        let (rows, _) = reader.newest_active(&project, READ)?;
        let mut own: BTreeMap<Words, ClaimRow> = BTreeMap::new();
        for row in rows.into_iter().filter(|row| row.kind.is_guarded() && !row.statement.is_empty()) {
            own.insert(words(&row), row);
        }
        for (words, row) in own {
            equal.entry(words).or_default().push(row);
        }
    }
    let mut found = Vec::new();
    for mut claims in equal.into_values().filter(|claims| claims.len() >= least) {
        if !decided(reader, &claims)? {
            claims.sort_by_key(|row| (row.clock, row.id));
            found.push(Agreement { projects: claims.len(), claims });
        }
    }
    Ok(found)
}
