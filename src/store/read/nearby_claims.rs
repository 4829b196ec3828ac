//! The nearby claims with which the guard compares a new claim.
//!
//! Found by the words and phrases that they share with it, from lists kept per scope. The rarest are followed first, and no
//! more than a fixed number of entries is read, so that the cost does not grow with the scope. A list that the limit cuts
//! short is followed from its newest claims. Phrases find what shares nothing but common words: few claims share two of
//! them side by side, however large the scope is.
//!
//! Ranked by inverse document frequency: Spärck Jones, "A statistical interpretation of term specificity and its
//! application in retrieval", 1972.

use std::{cmp::Reverse, collections::HashMap};

use rusqlite::{CachedStatement, Connection, OptionalExtension, params};

use super::claims::bare_claims_at_places;
use crate::store::{
    ClaimRow, NearbyQuery, Reader, Result, log,
    project::{fact_term, pair_term, phrase_key, subject_term},
};

/// The most entries of words that one look-up reads, and as many of phrases beyond their first.
const BUDGET: usize = 2_000;

/// The most entries of one word.
const PER_WORD: usize = 1_000;

/// Entries that are read of every phrase, to see how rare it is.
const PER_PHRASE: usize = 64;

/// How much a shared subject counts beside a shared word of the same rarity: norms compare only within a subject.
const SUBJECT_WEIGHT: f64 = 3.0;

/// How much a shared subject and attribute count: whatever norms contradict each other by their structure share them.
const PAIR_WEIGHT: f64 = 6.0;

/// How many claims are ranked by all of their words, for each that is asked for.
const RECONSIDERED: usize = 2;

/// The most entries that are kept for further look-ups: 8 MB.
const KEPT_ENTRIES: usize = 1_000_000;

/// Which lists of the index are read.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Source {
    Words,
    Phrases,
}

impl Source {
    /// Reads entries before a place, the newest first.
    fn before(self, db: &Connection) -> Result<CachedStatement<'_>> {
        Ok(db.prepare_cached(match self {
            Self::Words => "SELECT claim FROM postings WHERE term = ?1 AND claim < ?2 ORDER BY claim DESC LIMIT ?3",
            Self::Phrases => "SELECT claim FROM phrases WHERE phrase = ?1 AND claim < ?2 ORDER BY claim DESC LIMIT ?3",
        })?)
    }

    /// Asks for one entry.
    fn has(self, db: &Connection) -> Result<CachedStatement<'_>> {
        Ok(db.prepare_cached(match self {
            Self::Words => "SELECT 1 FROM postings WHERE term = ?1 AND claim = ?2",
            Self::Phrases => "SELECT 1 FROM phrases WHERE phrase = ?1 AND claim = ?2",
        })?)
    }
}

/// The claims that have a word or phrase of the new claim, as far as they were read.
struct List {
    source: Source,
    key: i64,
    /// How many claims are in it; of a phrase that was not read to the end, an estimate.
    df: usize,
    weight: f64,
    /// The newest first.
    claims: Vec<i64>,
    complete: bool,
}

impl List {
    fn new(source: Source, key: i64) -> Self {
        Self { source, key, df: 0, weight: 1.0, claims: Vec::new(), complete: false }
    }

    /// The oldest entry that was read.
    fn end(&self) -> i64 {
        self.claims.last().copied().unwrap_or(i64::MAX)
    }

    /// Reads up to `limit` further entries.
    fn read(&mut self, db: &Connection, lists: &mut NearbyLists, limit: usize) -> Result<usize> {
        let known = self.claims.len();
        let list = lists.read(db, (self.source, self.key), known + limit)?;
        self.claims.extend(list.claims.iter().skip(known).take(limit));
        let read = self.claims.len() - known;
        self.complete = read < limit;
        Ok(read)
    }

    /// The weight of a shared word, given the number of claims.
    fn weight(&self, claims: usize) -> f64 {
        self.weight * (1.0 + claims as f64 / self.df.max(1) as f64).ln()
    }
}

/// Lists of the index that were read, for many look-ups one after another: neighbours share most of their words, and the long lists would be read for
/// each of them again. What is written meanwhile is not in it.
#[derive(Default)]
pub struct NearbyLists {
    lists: HashMap<(Source, i64), KeptList>,
    /// The entries of all lists.
    entries: usize,
}

/// The newest entries of a list.
#[derive(Default)]
struct KeptList {
    /// The newest first.
    claims: Vec<i64>,
    complete: bool,
}

impl NearbyLists {
    /// Returns a list with its newest `most` entries at least, or all if it has fewer.
    fn read(&mut self, db: &Connection, key: (Source, i64), most: usize) -> Result<&KeptList> {
        let list = self.lists.entry(key).or_default();
        let missing = most.saturating_sub(list.claims.len());
        if missing > 0 && !list.complete {
            let end = list.claims.last().copied().unwrap_or(i64::MAX);
            let mut read = key.0.before(db)?;
            let rows = read.query_map(params![key.1, end, missing], |row| row.get(0))?;
            let rows = rows.collect::<rusqlite::Result<Vec<i64>>>()?;
            list.complete = rows.len() < missing;
            self.entries += rows.len();
            list.claims.extend(rows);
        }
        Ok(list)
    }
}

impl KeptList {
    /// Returns whether a claim is in the list; `None` if what was read does not go back so far.
    fn has(&self, claim: i64) -> Option<bool> {
        let reaches = self.complete || self.claims.last().is_some_and(|end| *end <= claim);
        reaches.then(|| self.claims.binary_search_by(|other| claim.cmp(other)).is_ok())
    }
}

impl Reader {
    /// Active guarded claims, or facts, of the scopes that a new claim should be compared with, the likeliest first. How rare a word is counts over
    /// all of them, and so do the limits of what is read. Their relations
    /// (premises, acts, what they replaced) are left empty, since most of these claims turn out not to matter.
    pub fn nearby_claims(&self, query: &NearbyQuery) -> Result<Vec<ClaimRow>> {
        self.snapshot(|reader| bare_claims_at_places(&reader.db, reader.nearby_places(query)?))
    }

    /// The claims with these numbers, as [`Reader::nearby_claims`] returns them.
    pub fn bare_claims(&self, places: &[i64]) -> Result<Vec<ClaimRow>> {
        self.snapshot(|reader| bare_claims_at_places(&reader.db, places.iter().copied()))
    }

    /// [`Reader::nearby_claims`], their numbers alone.
    pub fn nearby_places(&self, query: &NearbyQuery) -> Result<Vec<i64>> {
        self.nearby_places_by(&mut NearbyLists::default(), query)
    }

    /// [`Reader::nearby_places`] by lists that are kept for the next look-up.
    pub fn nearby_places_by(&self, kept: &mut NearbyLists, query: &NearbyQuery) -> Result<Vec<i64>> {
        if kept.entries > KEPT_ENTRIES {
            *kept = NearbyLists::default();
        }
        self.snapshot(|reader| {
            let db = &reader.db;
            let scopes = log::known_scopes(db, &query.scopes)?;
            let mut claims = 0;
            for scope in &scopes {
                claims += db
                    .prepare_cached(
                        "SELECT coalesce(sum(claims), 0) FROM lanes WHERE scope = ?1 AND status = 0 AND (kind = 0) = ?2",
                    )?
                    .query_row(params![scope, query.facts], |row| row.get::<_, usize>(0))?;
            }
            if claims == 0 {
                return Ok(Vec::new());
            }
            let mut lists = words(db, kept, &scopes, query)?;
            if !query.facts {
                lists.extend(phrases(db, kept, &scopes, query, claims)?);
            }
            let mut ranked = scores(&lists, claims);
            for id in &query.exclude {
                let number = log::row_number(db, id)?;
                ranked.retain(|(claim, _)| Some(*claim) != number);
            }
            // The best so far are asked for the words and phrases whose lists were not read to the end.
            rank(&mut ranked, query.limit.saturating_mul(RECONSIDERED));
            for list in lists.iter().filter(|list| !list.complete) {
                let (weight, mut ask) = (list.weight(claims), list.source.has(db)?);
                let read = kept.lists.get(&(list.source, list.key));
                for (claim, score) in ranked.iter_mut().filter(|(claim, _)| *claim < list.end()) {
                    let has = match read.and_then(|read| read.has(*claim)) {
                        Some(has) => has,
                        None => ask.exists(params![list.key, *claim])?,
                    };
                    if has {
                        *score += weight;
                    }
                }
            }
            rank(&mut ranked, query.limit);
            Ok(ranked.into_iter().map(|(claim, _)| claim).collect())
        })
    }
}

/// The claims of the lists, each once, with what they share with the new claim.
fn scores(lists: &[List], claims: usize) -> Vec<(i64, f64)> {
    let mut scores: Vec<(i64, f64)> = Vec::with_capacity(lists.iter().map(|list| list.claims.len()).sum());
    for list in lists {
        let weight = list.weight(claims);
        scores.extend(list.claims.iter().map(|claim| (*claim, weight)));
    }
    // A stable sort is quick on lists that are sorted themselves, and sums up in their order.
    scores.sort_by_key(|(claim, _)| Reverse(*claim));
    scores.dedup_by(|later, first| {
        let same = later.0 == first.0;
        if same {
            first.1 += later.1;
        }
        same
    });
    scores
}

/// The lists of the new claim's words, the rarest read first.
fn words(db: &Connection, kept: &mut NearbyLists, scopes: &[i64], query: &NearbyQuery) -> Result<Vec<List>> {
    let mut read = db.prepare_cached("SELECT n, df FROM terms WHERE scope = ?1 AND term = ?2")?;
    let subjects = query.terms.subjects.iter().map(|subject| (subject_term(subject), SUBJECT_WEIGHT));
    let pairs = query.terms.pairs.iter().map(|key| (pair_term(key), PAIR_WEIGHT));
    let terms = query.terms.terms.iter().map(|term| (term.clone(), 1.0));
    let mut lists = Vec::new();
    for (term, weight) in pairs.chain(subjects).chain(terms) {
        let term = if query.facts { fact_term(&term) } else { term };
        let mut known: Vec<(i64, usize)> = Vec::new();
        for scope in scopes {
            known.extend(read.query_row(params![scope, term], |row| Ok((row.get(0)?, row.get(1)?))).optional()?);
        }
        let df = known.iter().map(|(_, df)| df).sum();
        lists.extend(known.into_iter().map(|(key, _)| List { df, weight, ..List::new(Source::Words, key) }));
    }
    lists.sort_by_key(|list| list.df);
    let mut budget = BUDGET;
    for list in &mut lists {
        budget -= list.read(db, kept, budget.min(PER_WORD))?;
    }
    Ok(lists)
}

/// The lists of the new claim's phrases: the first entries of each, then more of the rarest.
fn phrases(
    db: &Connection,
    kept: &mut NearbyLists,
    scopes: &[i64],
    query: &NearbyQuery,
    claims: usize,
) -> Result<Vec<List>> {
    let newest: i64 = db.query_row("SELECT coalesce(max(n), 0) FROM claims", [], |row| row.get(0))?;
    let mut lists = Vec::new();
    let keys = query.terms.phrases.iter().flat_map(|phrase| scopes.iter().map(move |scope| phrase_key(*scope, phrase)));
    for key in keys {
        let mut list = List::new(Source::Phrases, key);
        list.df = list.read(db, kept, PER_PHRASE)?;
        if !list.complete {
            // As dense before the oldest that was read as after it.
            let share = list.df as f64 / (newest - list.end() + 1).max(1) as f64;
            list.df = ((share * newest as f64) as usize).clamp(list.df, claims.max(list.df));
        }
        lists.push(list);
    }
    lists.sort_by_key(|list| list.df);
    let mut budget = BUDGET;
    for list in lists.iter_mut().filter(|list| !list.complete) {
        // A part of a long list helps little to rank the claims in it.
        if list.df > budget {
            break;
        }
        budget -= list.read(db, kept, budget)?;
    }
    Ok(lists)
}

/// The best first; among equals the newest.
fn rank(scored: &mut Vec<(i64, f64)>, limit: usize) {
    let order = |a: &(i64, f64), b: &(i64, f64)| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0));
    if limit < scored.len() {
        // Thousands are found for a few dozen.
        scored.select_nth_unstable_by(limit, order);
        scored.truncate(limit);
    }
    scored.sort_unstable_by(order);
}
