//! The candidates with which the guard compares a new claim.
//!
//! Found by the words they share with it, from postings kept per scope. The rarest words are followed first, and no more
//! than a fixed number of postings is read, so that the cost does not grow with the scope. A word that the limit cuts
//! short is followed from its newest claims.
//!
//! Ranked by inverse document frequency: Spärck Jones, "A statistical interpretation of term specificity and its
//! application in retrieval", 1972.

use std::collections::{HashMap, HashSet};

use rusqlite::{OptionalExtension, params};

use super::claims::bare_claims_at_places;
use crate::store::{
    CandidateQuery, ClaimRow, Reader, Result, log,
    project::{pair_term, subject_term},
};

/// The most postings that one look-up reads.
const BUDGET: usize = 2_000;

/// The most postings of one word.
const PER_TERM: usize = 1_000;

/// How much a shared subject counts beside a shared word of the same rarity: norms compare only within a subject.
const SUBJECT_WEIGHT: f64 = 3.0;

/// How much a shared subject and attribute count: whatever norms contradict each other by their structure share them.
const PAIR_WEIGHT: f64 = 6.0;

/// A word of the new claim, as the index has it.
struct Term {
    n: i64,
    df: usize,
    weight: f64,
}

impl Reader {
    /// Active guarded claims of the scope that a new claim should be compared with, the likeliest first. Their relations
    /// (premises, dependents, acts, what they replaced) are left empty, since most of these claims turn out not to matter.
    pub fn candidates(&self, query: &CandidateQuery) -> Result<Vec<ClaimRow>> {
        self.snapshot(|reader| {
            let Some(scope) = log::known_scope(&reader.db, &query.scope)? else { return Ok(Vec::new()) };
            let mut terms = reader.terms_of(scope, query)?;
            terms.sort_by_key(|term| term.df);
            let mut excluded = HashSet::new();
            for id in &query.exclude {
                excluded.extend(log::number_of(&reader.db, id)?);
            }
            let mut scores: HashMap<i64, f64> = HashMap::new();
            let mut budget = BUDGET;
            let mut read =
                reader.db.prepare_cached("SELECT claim FROM postings WHERE term = ?1 ORDER BY claim DESC LIMIT ?2")?;
            let mut cut_short: Vec<(&Term, HashSet<i64>)> = Vec::new();
            for term in &terms {
                let limit = budget.min(PER_TERM);
                let claims = read.query_map(params![term.n, limit], |row| row.get(0))?;
                let claims = claims.collect::<rusqlite::Result<Vec<i64>>>()?;
                for claim in &claims {
                    *scores.entry(*claim).or_default() += term.weight;
                }
                budget -= claims.len();
                if term.df > limit {
                    cut_short.push((term, claims.into_iter().collect()));
                }
            }
            let mut ranked: Vec<(i64, f64)> =
                scores.into_iter().filter(|(claim, _)| !excluded.contains(claim)).collect();
            // The best so far are asked for the words whose postings were not all read.
            rank(&mut ranked, query.limit.saturating_mul(8));
            let mut has = reader.db.prepare_cached("SELECT 1 FROM postings WHERE term = ?1 AND claim = ?2")?;
            for (term, read_before) in cut_short {
                for (claim, score) in &mut ranked {
                    if !read_before.contains(claim) && has.exists(params![term.n, *claim])? {
                        *score += term.weight;
                    }
                }
            }
            rank(&mut ranked, query.limit);
            bare_claims_at_places(&reader.db, ranked.into_iter().map(|(claim, _)| claim))
        })
    }

    fn terms_of(&self, scope: i64, query: &CandidateQuery) -> Result<Vec<Term>> {
        let mut read = self.db.prepare_cached("SELECT n, df FROM terms WHERE scope = ?1 AND term = ?2")?;
        let mut found = Vec::new();
        let mut claims = self.db.prepare_cached(
            "SELECT coalesce(sum(claims), 0) FROM lanes WHERE scope = ?1 AND status = 0 AND kind <> 0",
        )?;
        let claims: usize = claims.query_row([scope], |row| row.get(0))?;
        let subjects = query.terms.subjects.iter().map(|subject| (subject_term(subject), SUBJECT_WEIGHT));
        let pairs = query.terms.pairs.iter().map(|key| (pair_term(key), PAIR_WEIGHT));
        let words = query.terms.terms.iter().map(|term| (term.clone(), 1.0));
        for (term, weight) in pairs.chain(subjects).chain(words) {
            let known: Option<(i64, usize)> =
                read.query_row(params![scope, term], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            if let Some((n, df)) = known {
                let rarity = (1.0 + claims as f64 / df.max(1) as f64).ln();
                found.push(Term { n, df, weight: weight * rarity });
            }
        }
        Ok(found)
    }
}

/// The best first; among equals the newest.
fn rank(scored: &mut Vec<(i64, f64)>, limit: usize) {
    scored.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    scored.truncate(limit);
}
