//! Insights and links as the API shows them.

use std::collections::HashMap;

use super::NotesBook;
use crate::{
    api::{
        ApiError, Derivation, InsightView, Insights, InsightsQuery, Lifecycle, MAX_LISTED_INSIGHTS, NoteLink,
        NoteLinks, NoteLinksQuery,
    },
    domain::{ClaimId, EventId, PairVerdict},
    engine::{Engine, reads::limit_of_list, validate},
    notes::{Insight, NotedClaim, rank},
};

/// The default number of listed insights.
const DEFAULT_LIMIT: usize = 50;

pub(super) fn insights(engine: &Engine, query: &InsightsQuery) -> Result<Insights, ApiError> {
    let org = organisation(&query.org_id)?;
    let status = match query.status.as_deref() {
        None => None,
        Some("active") => Some(vec![Lifecycle::Active]),
        Some("decaying") => Some(vec![Lifecycle::Decaying]),
        Some("pruned") => Some(vec![Lifecycle::Pruned]),
        Some("all") => Some(vec![Lifecycle::Active, Lifecycle::Decaying, Lifecycle::Pruned]),
        Some(other) => {
            let other: String = other.chars().take(40).collect();
            return Err(ApiError::field(
                "status",
                format!("unknown `status` “{other}”: expected active, decaying, pruned or all"),
            ));
        }
    };
    let limit = limit_of_list(query.limit, DEFAULT_LIMIT, MAX_LISTED_INSIGHTS)?;
    let shown = status.unwrap_or_else(|| vec![Lifecycle::Active, Lifecycle::Decaying]);
    let book = engine.notes_book(org)?;
    let mut found = book.insights();
    found.retain(|insight| {
        shown.contains(&insight.lifecycle)
            && (!query.principles || insight.principle.is_some())
            && (!query.candidates || book.is_proposed(insight))
            && query
                .project
                .as_ref()
                .is_none_or(|project| insight.projects.iter().any(|scope| scope.project == *project))
    });
    sort(&mut found);
    let total = found.len();
    Ok(Insights { items: found.iter().take(limit).filter_map(|insight| view(&book, insight)).collect(), total })
}

/// Checks the name of an organisation.
pub(super) fn organisation(org: &str) -> Result<&str, ApiError> {
    // The check needs a project, and any name will do.
    validate::named(org, "project")?;
    Ok(org)
}

/// Sorts by rank, highest first, and then by first sighting.
pub(super) fn sort(insights: &mut [Insight]) {
    insights.sort_by(|a, b| b.rank.total_cmp(&a.rank).then(a.first.cmp(&b.first)).then(a.wording.cmp(&b.wording)));
}

pub(super) fn view(book: &NotesBook, insight: &Insight) -> Option<InsightView> {
    let wording = book.claims.get(insight.wording)?;
    let members: Vec<_> = insight
        .members
        .iter()
        .filter_map(|at| book.claims.get(*at))
        .filter(|claim| claim.scope.level().is_project())
        .collect();
    // A claim seen often and recently weighs more. This is multiplied by the weight in its promotion, or, for later
    // claims, by the mean of these.
    let recorded: Vec<Option<f64>> = members.iter().map(|claim| book.promoted_weight(&claim.id)).collect();
    let known: Vec<f64> = recorded.iter().flatten().copied().collect();
    let mean = if known.is_empty() { 1.0 } else { known.iter().sum::<f64>() / known.len() as f64 };
    let weigh = |(claim, recorded): (&&NotedClaim, &Option<f64>)| {
        let seen = claim.sightings as f64 * rank::recency(rank::days(claim.last, book.now), claim.sightings);
        (seen * recorded.unwrap_or(mean)).max(1e-6)
    };
    let weights: Vec<f64> = members.iter().zip(&recorded).map(weigh).collect();
    let all: f64 = weights.iter().sum();
    let derivations = members.iter().zip(&weights).zip(&recorded).map(|((claim, weight), recorded)| Derivation {
        claim: claim.id,
        scope: claim.scope.clone(),
        statement: claim.statement.clone(),
        source: claim.source.clone(),
        weight: weight / all,
        promoted: recorded.is_some(),
    });
    Some(InsightView {
        claim: wording.id,
        statement: wording.statement.clone(),
        kind: wording.kind,
        principle: insight.principle,
        candidate: book.is_proposed(insight),
        derivations: derivations.collect(),
        projects: insight.agreeing,
        sightings: insight.sightings,
        first_seen: insight.first,
        last_seen: insight.last,
        confidence: insight.confidence,
        recency: insight.recency,
        quality: insight.quality,
        rank: insight.rank,
        status: insight.lifecycle,
        contradicted: insight.contradicted,
        category: insight.labels.category,
        domain: insight.labels.domain.to_owned(),
        tags: insight.labels.tags.iter().map(|tag| (*tag).to_owned()).collect(),
    })
}

pub(super) fn links(engine: &Engine, query: &NoteLinksQuery) -> Result<NoteLinks, ApiError> {
    let book = engine.notes_book(organisation(&query.org_id)?)?;
    let statements: HashMap<ClaimId, &str> = book.claims.iter().map(|claim| (claim.id, &*claim.statement)).collect();
    let recorded = book.links.iter().map(|link| (link.from, link.kind, link.to));
    // A judgement refers to words, so it stands for the first claim with these words.
    let mut of_words: HashMap<EventId, ClaimId> = HashMap::new();
    for claim in &book.claims {
        of_words.entry(claim.words).or_insert(claim.id);
    }
    let judged = book
        .judged
        .iter()
        .filter(|judged| judged.verdict == PairVerdict::Compatible)
        .filter_map(|judged| Some((*of_words.get(&judged.new)?, judged.link?, *of_words.get(&judged.existing)?)));
    let mut items = Vec::new();
    for (from, kind, to) in recorded.chain(judged) {
        if let (Some(from_statement), Some(to_statement)) = (statements.get(&from), statements.get(&to)) {
            items.push(NoteLink {
                from,
                from_statement: (*from_statement).to_owned(),
                kind,
                to,
                to_statement: (*to_statement).to_owned(),
            });
        }
    }
    Ok(NoteLinks { items })
}
