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

/// The greatest number of proposals in a list.
const MAX_PROPOSALS: usize = 100;

/// Claims of different projects that say the same.
#[derive(Clone, Debug)]
pub(super) struct Agreement {
    /// At least one claim of each project, oldest first.
    pub(super) claims: Vec<ClaimRow>,
    /// The number of projects.
    pub(super) projects: usize,
}

/// Returns the claims that say the same as one of a project, if at least `least` projects do and the organisation's
/// level has no such claim.
pub(super) fn of_claim(reader: &Reader, claim: &ClaimId, least: usize) -> Result<Option<Agreement>, ApiError> {
    let row = find::row(reader, claim)?;
    if !row.kind.is_guarded() || !row.scope.level().is_project() || row.status != Status::Active {
        return Ok(None);
    }
    let mut claims = Vec::new();
    for id in reader.same_in_projects(&row.scope, row.kind, &row.statement, &row.qualifiers)? {
        claims.push(find::row(reader, &id)?);
    }
    if claims.len() < least || is_decided(reader, &claims)? {
        return Ok(None);
    }
    Ok(Some(Agreement { projects: claims.len(), claims }))
}

/// Whether the organisation's level has such a claim, or had one that a person demoted.
fn is_decided(reader: &Reader, claims: &[ClaimRow]) -> Result<bool, ApiError> {
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
    /// Lists the claims on which enough projects of an organisation agree, and about which nobody has decided.
    pub fn promotions(&self, query: &PromotionsQuery) -> Result<Promotions, ApiError> {
        promotions(self, query)
    }
}

/// `GET /promotions`.
fn promotions(engine: &Engine, query: &PromotionsQuery) -> Result<Promotions, ApiError> {
    let scope = validate::named(&query.org_id, crate::domain::scope::ORGANISATION)?;
    let today = guard_calls::day((engine.config.clock)());
    let groups = groups(&engine.notes_book(&scope.org_id)?);
    let items = groups
        .into_iter()
        .take(MAX_PROPOSALS)
        .map(|group| Promotable { projects: group.projects, claims: view::claims(group.claims, &today) });
    Ok(Promotions { items: items.collect(), promote_at: engine.config.levels.promote_at })
}

/// Returns the claims of projects that say the same as one, in its words or in others: the oldest one of each project.
/// `insights` are those of the book.
pub(super) fn alike(book: &NotesBook, insights: &[Insight], claim: &ClaimId) -> Vec<ClaimRow> {
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

/// Removes the claims of a project that a claim of its organisation's level replaces in a list: its sightings, and
/// claims equal to it.
pub(super) fn drop_covered_by_level<T>(
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

/// The parts of claims that must be equal for the claims to be equal.
type Words = (ClaimKind, String, String);

fn words(row: &ClaimRow) -> Words {
    let words: Vec<&str> = row.statement.split_whitespace().collect();
    (row.kind, words.join(" "), serde_json::to_string(&row.qualifiers).unwrap_or_default())
}

/// Returns the groups of equal claims that enough projects have and about which nobody has decided, most projects
/// first.
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
