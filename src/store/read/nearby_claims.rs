//! Finds the nearby claims with which the guard compares a new claim.
//!
//! Claims that share words and phrases with the new claim are found in index lists of each scope. The rarest words are
//! read first, and the number of entries that are read is limited, so that the cost does not grow with the scope. A
//! list that the limit cuts short is read from its newest claims. Phrases find claims that share only common words: few
//! claims have two of these side by side, however large the scope is.
//!
//! Claims are ranked by inverse document frequency: Spärck Jones, "A statistical interpretation of term specificity and
//! its application in retrieval", 1972.

use std::{cmp::Reverse, collections::HashMap};

use rusqlite::{CachedStatement, Connection, OptionalExtension, params};

use super::claims::bare_claims_by_number;
use crate::store::{
    ClaimRow, NearbyQuery, Reader, Result, log,
    project::{fact_term, pair_term, phrase_key, subject_term},
};

/// The most word entries that one look-up reads; and the most phrase entries beyond [`SAMPLED_ENTRIES_PER_PHRASE`].
const MAX_ENTRIES: usize = 2_000;

/// The most entries that are read of one word.
const MAX_ENTRIES_PER_WORD: usize = 1_000;

/// The entries that are read of every phrase, to estimate how rare it is.
const SAMPLED_ENTRIES_PER_PHRASE: usize = 64;

/// The weight of a shared subject relative to a shared word of the same rarity: only norms with the same subject are
/// compared.
pub const SUBJECT_WEIGHT: f64 = 3.0;

/// The weight of a shared subject and attribute: all norms whose structures contradict each other share them.
pub const PAIR_WEIGHT: f64 = 6.0;

/// The number of claims that are ranked by all of their words, for each requested claim.
const RERANKED_PER_RESULT: usize = 2;

/// The most entries that are cached for further look-ups: 8 MB.
const MAX_CACHED_ENTRIES: usize = 1_000_000;

/// The two kinds of lists in the index.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum ListKind {
    Words,
    Phrases,
}

impl ListKind {
    /// Prepares the query for the entries before a row number, newest first.
    fn before(self, db: &Connection) -> Result<CachedStatement<'_>> {
        Ok(db.prepare_cached(match self {
            Self::Words => "SELECT claim FROM postings WHERE term = ?1 AND claim < ?2 ORDER BY claim DESC LIMIT ?3",
            Self::Phrases => "SELECT claim FROM phrases WHERE phrase = ?1 AND claim < ?2 ORDER BY claim DESC LIMIT ?3",
        })?)
    }

    /// Prepares the query for whether a list contains a claim.
    fn has(self, db: &Connection) -> Result<CachedStatement<'_>> {
        Ok(db.prepare_cached(match self {
            Self::Words => "SELECT 1 FROM postings WHERE term = ?1 AND claim = ?2",
            Self::Phrases => "SELECT 1 FROM phrases WHERE phrase = ?1 AND claim = ?2",
        })?)
    }
}

/// The claims that contain a word or phrase of the new claim, as far as they were read.
struct List {
    kind: ListKind,
    key: i64,
    /// The number of claims in the list; an estimate for a phrase that was not read to the end.
    df: usize,
    weight: f64,
    /// Row numbers, newest first.
    claims: Vec<i64>,
    complete: bool,
}

impl List {
    fn new(kind: ListKind, key: i64) -> Self {
        Self { kind, key, df: 0, weight: 1.0, claims: Vec::new(), complete: false }
    }

    /// Returns the oldest entry that was read.
    fn end(&self) -> i64 {
        self.claims.last().copied().unwrap_or(i64::MAX)
    }

    /// Reads up to `limit` further entries, and returns how many there were.
    fn read(&mut self, db: &Connection, lists: &mut NearbyLists, limit: usize) -> Result<usize> {
        let known = self.claims.len();
        let list = lists.read(db, (self.kind, self.key), known + limit)?;
        self.claims.extend(list.claims.iter().skip(known).take(limit));
        let read = self.claims.len() - known;
        self.complete = read < limit;
        Ok(read)
    }

    /// Returns the weight of a claim in the list, given the number of claims.
    fn weight(&self, claims: usize) -> f64 {
        self.weight * (1.0 + claims as f64 / self.df.max(1) as f64).ln()
    }
}

/// Caches index lists for many successive look-ups: similar claims share most of their words, so each look-up would
/// read the long lists again. Does not see what is written in the meantime.
#[derive(Default)]
pub struct NearbyLists {
    lists: HashMap<(ListKind, i64), CachedList>,
    /// The number of entries in all lists.
    entries: usize,
}

/// The newest entries of a list.
#[derive(Default)]
struct CachedList {
    /// Row numbers, newest first.
    claims: Vec<i64>,
    complete: bool,
}

impl NearbyLists {
    /// Returns a list with at least its newest `count` entries, or all if it has fewer.
    fn read(&mut self, db: &Connection, key: (ListKind, i64), count: usize) -> Result<&CachedList> {
        let list = self.lists.entry(key).or_default();
        let missing = count.saturating_sub(list.claims.len());
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

impl CachedList {
    /// Returns whether the list contains a claim; `None` if the claim is older than all entries that were read.
    fn has(&self, claim: i64) -> Option<bool> {
        let reaches = self.complete || self.claims.last().is_some_and(|end| *end <= claim);
        reaches.then(|| self.claims.binary_search_by(|other| claim.cmp(other)).is_ok())
    }
}

impl Reader {
    /// Returns the active guarded claims, or facts, of the scopes that a new claim should be compared with, the
    /// likeliest first. Rarity and limits apply to all scopes together. The relations of the claims (premises, acts,
    /// what they replaced) are left empty, since most of these claims turn out not to matter.
    pub fn nearby_claims(&self, query: &NearbyQuery) -> Result<Vec<ClaimRow>> {
        self.snapshot(|reader| bare_claims_by_number(&reader.db, reader.nearby_places(query)?))
    }

    /// Returns the claims with these row numbers, in the form of [`Reader::nearby_claims`].
    pub fn bare_claims(&self, numbers: &[i64]) -> Result<Vec<ClaimRow>> {
        self.snapshot(|reader| bare_claims_by_number(&reader.db, numbers.iter().copied()))
    }

    /// Returns the row numbers of [`Reader::nearby_claims`].
    pub fn nearby_places(&self, query: &NearbyQuery) -> Result<Vec<i64>> {
        self.nearby_places_by(&mut NearbyLists::default(), query)
    }

    /// Returns [`Reader::nearby_places`], with lists that are cached for the next look-up.
    pub fn nearby_places_by(&self, cache: &mut NearbyLists, query: &NearbyQuery) -> Result<Vec<i64>> {
        if cache.entries > MAX_CACHED_ENTRIES {
            *cache = NearbyLists::default();
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
            let mut lists = words(db, cache, &scopes, query)?;
            if !query.facts {
                lists.extend(phrases(db, cache, &scopes, query, claims)?);
            }
            let mut ranked = scores(&lists, claims);
            for id in &query.exclude {
                let number = log::row_number(db, id)?;
                ranked.retain(|(claim, _)| Some(*claim) != number);
            }
            // Check the best claims so far against the lists that were not read to the end.
            rank(&mut ranked, query.limit.saturating_mul(RERANKED_PER_RESULT));
            for list in lists.iter().filter(|list| !list.complete) {
                let (weight, mut ask) = (list.weight(claims), list.kind.has(db)?);
                let read = cache.lists.get(&(list.kind, list.key));
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

/// Returns the claims of the lists, each once, with the sum of the weights of its lists.
fn scores(lists: &[List], claims: usize) -> Vec<(i64, f64)> {
    let mut scores: Vec<(i64, f64)> = Vec::with_capacity(lists.iter().map(|list| list.claims.len()).sum());
    for list in lists {
        let weight = list.weight(claims);
        scores.extend(list.claims.iter().map(|claim| (*claim, weight)));
    }
    // A stable sort is fast on sorted lists, and keeps the order of the sum.
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

/// Reads the lists of the new claim's words, the rarest first.
fn words(db: &Connection, cache: &mut NearbyLists, scopes: &[i64], query: &NearbyQuery) -> Result<Vec<List>> {
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
        lists.extend(known.into_iter().map(|(key, _)| List { df, weight, ..List::new(ListKind::Words, key) }));
    }
    lists.sort_by_key(|list| list.df);
    let mut budget = MAX_ENTRIES;
    for list in &mut lists {
        budget -= list.read(db, cache, budget.min(MAX_ENTRIES_PER_WORD))?;
    }
    Ok(lists)
}

/// Reads the lists of the new claim's phrases: first a sample of each, then more of the rarest.
fn phrases(
    db: &Connection,
    cache: &mut NearbyLists,
    scopes: &[i64],
    query: &NearbyQuery,
    claims: usize,
) -> Result<Vec<List>> {
    let newest: i64 = db.query_row("SELECT coalesce(max(n), 0) FROM claims", [], |row| row.get(0))?;
    let mut lists = Vec::new();
    let keys = query.terms.phrases.iter().flat_map(|phrase| scopes.iter().map(move |scope| phrase_key(*scope, phrase)));
    for key in keys {
        let mut list = List::new(ListKind::Phrases, key);
        list.df = list.read(db, cache, SAMPLED_ENTRIES_PER_PHRASE)?;
        if !list.complete {
            // Assumes that the list is as dense before the oldest entry that was read as after it.
            let share = list.df as f64 / (newest - list.end() + 1).max(1) as f64;
            list.df = ((share * newest as f64) as usize).clamp(list.df, claims.max(list.df));
        }
        lists.push(list);
    }
    lists.sort_by_key(|list| list.df);
    let mut budget = MAX_ENTRIES;
    for list in lists.iter_mut().filter(|list| !list.complete) {
        // Part of a long list helps little to rank its claims.
        if list.df > budget {
            break;
        }
        budget -= list.read(db, cache, budget)?;
    }
    Ok(lists)
}

/// Sorts by score, then by age with the newest first, and keeps the first `limit`.
fn rank(scored: &mut Vec<(i64, f64)>, limit: usize) {
    let order = |a: &(i64, f64), b: &(i64, f64)| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0));
    if limit < scored.len() {
        // Typically, thousands are found and a few dozen kept.
        scored.select_nth_unstable_by(limit, order);
        scored.truncate(limit);
    }
    scored.sort_unstable_by(order);
}
