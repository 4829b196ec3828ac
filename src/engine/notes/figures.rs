//! The statistics of an organisation on one page.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::views;
use crate::{
    api::{ApiError, ContestedSubject, InsightFigures, InsightFiguresQuery, InsightView, Lifecycle},
    domain::{CardId, ClaimId},
    engine::Engine,
    notes::Insight,
    store::ClaimRow,
};

/// The number of rows of each list.
const ROWS_PER_LIST: usize = 10;

pub(super) fn figures(engine: &Engine, query: &InsightFiguresQuery) -> Result<InsightFigures, ApiError> {
    let org = views::organisation(&query.org_id)?;
    let book = engine.notes_book(org)?;
    let mut all = book.insights();
    views::sort(&mut all);
    let rows = |keep: &dyn Fn(&Insight) -> bool| -> Vec<InsightView> {
        all.iter()
            .filter(|insight| keep(insight))
            .take(ROWS_PER_LIST)
            .filter_map(|insight| views::view(&book, insight))
            .collect()
    };
    let mut shared: Vec<&Insight> =
        all.iter().filter(|insight| insight.agreeing > 1 && insight.lifecycle != Lifecycle::Pruned).collect();
    shared.sort_by_key(|insight| std::cmp::Reverse(insight.agreeing));
    let shared = shared.into_iter().take(ROWS_PER_LIST).filter_map(|insight| views::view(&book, insight)).collect();

    let rows_by_id: HashMap<ClaimId, &ClaimRow> = book.rows.iter().map(|row| (row.id, row)).collect();
    // Keyed by the stem of a subject; each with the words that people wrote for it, and its cards.
    let mut subjects: BTreeMap<&str, (BTreeSet<&str>, BTreeSet<CardId>)> = BTreeMap::new();
    for (claim, card) in &book.cards {
        let Some(row) = rows_by_id.get(claim) else { continue };
        if let Some(norm) = row.norms.iter().find(|norm| !norm.subject.trim().is_empty()) {
            let (words, cards) = subjects.entry(norm.subject.trim()).or_default();
            words.extend(norm.words.first().map(|written| written.trim()));
            cards.insert(*card);
        }
    }
    let mut contested: Vec<ContestedSubject> = subjects
        .into_iter()
        .map(|(stem, (words, cards))| ContestedSubject {
            subject: (*words.first().unwrap_or(&stem)).to_owned(),
            cards: cards.len(),
        })
        .collect();
    contested.sort_by_key(|subject| std::cmp::Reverse(subject.cards));
    contested.truncate(ROWS_PER_LIST);
    let of_projects = book.claims.iter().filter(|claim| claim.scope.level().is_project());
    let projects: BTreeSet<&str> = of_projects.map(|claim| &*claim.scope.project).collect();
    Ok(InsightFigures {
        org_id: org.to_owned(),
        projects: projects.len(),
        claims: book.claims.len(),
        insights: all.len(),
        shared,
        contested,
        decayed: rows(&|insight| insight.lifecycle != Lifecycle::Active),
        promoted: rows(&|insight| insight.principle.is_some()),
        candidates: rows(&|insight| book.is_proposed(insight)),
    })
}
