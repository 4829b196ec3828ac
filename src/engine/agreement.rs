//! Finds claims of an organisation's projects that say the same and can be promoted to the organisation's level.
//!
//! Claims are equal if they have the same words and conditions, or if a judgement says so. [`of_claim`] compares
//! words only: it runs after each write, about which nothing was judged yet.

use std::collections::BTreeSet;

use crate::{
    api::{ApiError, Promotable, Promotions, PromotionsQuery},
    domain::{ClaimId, ClaimKind, Scope, Status},
    engine::{Engine, find, guard_calls, notes::NotesBook, validate, view},
    notes::Insight,
    store::{ClaimRow, Reader},
};

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
    if reader.duplicate(&level, first.kind, &first.statement, &first.qualifiers, None)?.is_some() {
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
    let groups = groups(&engine.notes_book(&scope.org_id)?);
    let items = groups
        .into_iter()
        .take(LISTED)
        .map(|group| Promotable { projects: group.projects, claims: view::claims(group.claims, &today) });
    Ok(Promotions { items: items.collect(), promote_at: engine.config.levels.promote_at })
}

/// The claims of projects that say the same as one, in its words or others: one of each project, the oldest.
pub(super) fn alike(book: &NotesBook, claim: &ClaimId) -> Vec<ClaimRow> {
    let insights = book.insights();
    let insight = insights.iter().find(|insight| {
        insight.members.iter().any(|at| book.claims.get(*at).is_some_and(|member| member.id == *claim))
    });
    insight.map(|insight| one_of_each(book, insight)).unwrap_or_default()
}

fn one_of_each(book: &NotesBook, insight: &Insight) -> Vec<ClaimRow> {
    let mut seen = BTreeSet::new();
    let members = insight.members.iter().filter_map(|at| book.rows.get(*at));
    members.filter(|row| row.scope.level().is_project() && seen.insert(row.scope.clone())).cloned().collect()
}

/// Leaves out the claims of a project that its organisation's level says in its place: those that it was seen in, and equal ones.
pub(super) fn once<T>(
    reader: &Reader,
    project: &Scope,
    found: &mut Vec<T>,
    row: impl Fn(&T) -> &ClaimRow,
) -> Result<(), ApiError> {
    let (mut stated, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for above in found.iter().map(&row).filter(|row| row.scope != *project && row.status == Status::Active) {
        stated.insert(words(above));
        seen.extend(reader.promoted_from(&above.id)?.claims);
    }
    if !stated.is_empty() {
        found.retain(|one| {
            let row = row(one);
            row.scope != *project
                || row.status != Status::Active
                || !(seen.contains(&row.id) || stated.contains(&words(row)))
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

/// The groups of equal claims that enough projects have, and about which nothing was decided: the most projects first.
fn groups(book: &NotesBook) -> Vec<Agreement> {
    let proposed = book.insights().into_iter().filter(|insight| book.is_proposed(insight));
    let mut found: Vec<Agreement> = proposed
        .map(|insight| Agreement { claims: one_of_each(book, &insight), projects: insight.projects.len() })
        .collect();
    found.sort_by(|a, b| {
        let oldest = |group: &Agreement| group.claims.first().map(|row| (row.clock, row.id));
        b.projects.cmp(&a.projects).then_with(|| oldest(a).cmp(&oldest(b)))
    });
    found
}
