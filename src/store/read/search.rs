//! Full-text search with a bounded cost: all matches of rare words are ranked, those of common words only together with
//! other words, and of too many matches only the newest.
//!
//! Matches are ranked by BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009),
//! as FTS5 computes it; the statement has the largest weight.

use std::collections::HashSet;

use rusqlite::{Connection, Row, params};

use super::{claims::claims_by_number, pages};
use crate::store::{
    ClaimFilter, ClaimRow, Page, Reader, Result, StoreError, log,
    project::{scope_word, stemmed},
};

/// The most matches that one search ranks.
const MAX_MATCHES: usize = 1_000;

/// The most words of a query that are used; the rarest of them select the matches.
const MAX_WORDS: usize = 24;

/// The shortest last word, in characters, that also matches as a prefix, so that a search works while it is typed.
const MIN_PREFIX: usize = 3;

/// The matches of a word that are read to estimate how common it is.
const FREQUENCY_SAMPLE: usize = 256;

/// The most matches that the words of one query may have together. To rank by BM25, FTS5 counts the matches of every
/// word, so the commonest words beyond this limit are left out: they hardly affect the ranking.
const MAX_COUNTED_MATCHES: usize = 50_000;

/// The most matches of common words that are read to find [`MAX_MATCHES`] that pass a filter: 30 ms if none does.
const MAX_SCANNED_MATCHES: usize = 50_000;

/// The number of the rarest words that are combined in pairs if all words are common.
const MAX_PAIRED_WORDS: usize = 3;

/// The most further words that affect the rank of matches: FTS5 looks up each of them in each match.
const MAX_RANKING_WORDS: usize = 3;

/// A word as an FTS5 query, and the number of claims with it, which is an estimate for a common word.
struct Word {
    query: String,
    df: usize,
}

/// An FTS5 query and how its matches are ranked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Plan {
    query: String,
    /// The query may have many matches, so that only the newest are ranked.
    newest: bool,
    /// Whether matches are ordered by BM25; otherwise newest first.
    ranked: bool,
}

/// A match with its rank as FTS5 defines it: smaller is better.
struct Match {
    n: i64,
    rank: f64,
}

impl Reader {
    /// Searches statement, reason and source, and returns the best match first (BM25). Ranks at most 1,000 matches that
    /// pass the filter, the newest ones of common words; `at_least` is set if there may be more. Without words, returns
    /// what `filter.source` selects.
    pub fn search(
        &self,
        filter: &ClaimFilter,
        words: &str,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<ClaimRow>> {
        let after = cursor.map(parse_cursor).transpose()?;
        self.snapshot(|reader| {
            let (mut found, at_least) = reader.matches(filter, words)?;
            found.sort_unstable_by(by_rank);
            let total = found.len();
            if let Some(after) = after {
                // Each write changes the ranks of all claims, so the previous page ends at the present rank of its last
                // claim.
                let end = match found.iter().position(|hit| hit.n == after.n) {
                    Some(at) => at + 1,
                    None => found.partition_point(|hit| by_rank(hit, &after).is_le()),
                };
                found.drain(..end);
            }
            let more = found.len() > limit;
            found.truncate(limit);
            Ok(Page {
                next: found.last().filter(|_| more).map(|hit| format!("{:x}.{:x}", hit.rank.to_bits(), hit.n)),
                total,
                at_least,
                items: claims_by_number(&reader.db, found.iter().map(|hit| hit.n))?,
            })
        })
    }

    /// Returns the ranked matches in no order, and whether there may be more.
    fn matches(&self, filter: &ClaimFilter, words: &str) -> Result<(Vec<Match>, bool)> {
        let db = &self.db;
        let Some(log::WantedScope(scope)) = log::wanted_scope(db, filter.scope.as_ref())? else {
            return Ok((Vec::new(), false));
        };
        // If most claims are of the scope, filtering afterwards is cheaper than matching the word of the scope.
        let all = pages::total(db, &ClaimFilter::default())?;
        let here = pages::total(db, &ClaimFilter { scope: filter.scope.clone(), ..ClaimFilter::default() })?;
        let scope = scope.filter(|_| here < all / 2);
        let newest: i64 = db.query_row("SELECT coalesce(max(n), 0) FROM claims", [], |row| row.get(0))?;
        let source = filter.source.as_deref().and_then(source_phrase);
        let mut known = Vec::new();
        for query in tokens(words) {
            let df = frequency(db, &fts_query(Some(&query), source.as_deref(), scope.as_slice()), newest)?;
            if df > 0 {
                known.push(Word { query, df });
            }
        }
        known.sort_by_key(|word| word.df);
        let filter = MatchFilter::of(db, filter)?;
        let mut plans = plans(&known, if scope.is_some() { here } else { all });
        if words.is_empty() && source.is_some() {
            plans.push(Plan { query: String::new(), newest: true, ranked: false });
        }
        let mut at_least = false;
        for plan in plans {
            let query = fts_query(
                Some(plan.query.as_str()).filter(|query| !query.is_empty()),
                source.as_deref(),
                scope.as_slice(),
            );
            let (from, cut) = if plan.newest { nth_newest(db, &query, &filter)? } else { (0, false) };
            at_least |= cut;
            let mut read = db.prepare_cached(if plan.ranked {
                "SELECT t.rowid, c.lane, c.wall, bm25(texts, 10.0, 4.0, 2.0, 0.0)
                 FROM texts t JOIN claims c ON c.n = t.rowid WHERE texts MATCH ?1 AND t.rowid >= ?2"
            } else {
                "SELECT t.rowid, c.lane, c.wall, 0.0
                 FROM texts t JOIN claims c ON c.n = t.rowid WHERE texts MATCH ?1 AND t.rowid >= ?2"
            })?;
            let mut found = Vec::new();
            let mut rows = read.query(params![query, from])?;
            while let Some(row) = rows.next()? {
                if let Some(n) = filter.take(row)? {
                    found.push(Match { n, rank: row.get(3)? });
                }
            }
            if !found.is_empty() {
                return Ok((found, at_least));
            }
        }
        Ok((Vec::new(), at_least))
    }
}

/// The filter of a search, applied to the matches of its words.
struct MatchFilter {
    lanes: HashSet<i64>,
    selection: pages::ClaimSelection,
    /// The first and last wall time that pass.
    time_span: (i64, i64),
}

impl MatchFilter {
    fn of(db: &Connection, filter: &ClaimFilter) -> Result<Self> {
        let (lanes, selection) = (pages::selected_lanes(db, filter)?, pages::ClaimSelection::of(db, filter)?);
        Ok(Self { lanes, selection, time_span: pages::time_span(filter) })
    }

    /// Returns the row number of a claim if it passes. The row begins with row number, lane and wall time.
    fn take(&self, row: &Row<'_>) -> rusqlite::Result<Option<i64>> {
        let (n, lane, wall): (i64, Option<i64>, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (first, last) = self.time_span;
        let fits = lane.is_some_and(|lane| self.lanes.contains(&lane)) && (first..=last).contains(&wall);
        Ok(Some(n).filter(|n| fits && self.selection.takes(*n)))
    }
}

/// Returns the row numbers of the claims with the words or the source that a filter excludes. Not limited, because
/// an excluded claim must not be listed.
pub(super) fn excluded_claims(db: &Connection, filter: &ClaimFilter) -> Result<HashSet<i64>> {
    let words = tokens(filter.without.as_deref().unwrap_or_default()).join(" OR ");
    let words = Some(words).filter(|words| !words.is_empty()).map(|words| fts_query(Some(&words), None, &[]));
    let source = filter.not_source.as_deref().and_then(source_phrase).map(|source| fts_query(None, Some(&source), &[]));
    let mut found = HashSet::new();
    for query in words.into_iter().chain(source) {
        let mut read = db.prepare_cached("SELECT rowid FROM texts WHERE texts MATCH ?1")?;
        for n in read.query_map(params![query], |row| row.get(0))? {
            found.insert(n?);
        }
    }
    Ok(found)
}

/// Returns the queries to try in turn until one has matches, given the words that occur, the rarest first, and the
/// number of claims.
fn plans(words: &[Word], claims: usize) -> Vec<Plan> {
    let Some(first) = words.first() else { return Vec::new() };
    let mut counted = 0;
    let useful = words.iter().take_while(|word| {
        counted += word.df;
        // A word that every fourth claim has is no better a rank than recency.
        counted <= MAX_COUNTED_MATCHES && (word.df <= FREQUENCY_SAMPLE || word.df <= claims / 4)
    });
    let words = &words[..useful.count().max(1)];
    let mut budget = MAX_MATCHES;
    let rare = words.iter().take_while(|word| {
        let fits = word.df <= budget;
        budget = budget.saturating_sub(word.df);
        fits
    });
    let rare = rare.count();
    if rare > 0 {
        let (rare, common) = words.split_at(rare);
        let estimated = rare.iter().any(|word| word.df >= FREQUENCY_SAMPLE);
        let rare = joined(rare, " OR ");
        let mut query = format!("({rare})");
        for word in common.iter().take(MAX_RANKING_WORDS) {
            // The common word affects the rank of matches of a rare word, and adds no matches.
            query = format!("{query} OR (({rare}) AND {})", word.query);
        }
        return vec![Plan { query, newest: estimated, ranked: true }];
    }
    let alone = Plan { query: first.query.clone(), newest: true, ranked: first.df <= MAX_COUNTED_MATCHES };
    if words.len() == 1 {
        return vec![alone];
    }
    // Only common words: match claims with two of the rarest. Claims with all of them rank highest.
    let paired = &words[..words.len().min(MAX_PAIRED_WORDS)];
    let mut query = String::new();
    for (at, word) in paired.iter().enumerate().take(paired.len() - 1) {
        let others = joined(&paired[at + 1..], " OR ");
        let or = if query.is_empty() { "" } else { " OR " };
        query = format!("{query}{or}({} AND ({others}))", word.query);
    }
    if words.len() > paired.len() {
        let all = &words[..words.len().min(MAX_PAIRED_WORDS + MAX_RANKING_WORDS)];
        query = format!("{query} OR ({})", joined(all, " AND "));
    }
    vec![Plan { query, newest: true, ranked: true }, alone]
}

fn joined(words: &[Word], with: &str) -> String {
    words.iter().map(|word| word.query.as_str()).collect::<Vec<_>>().join(with)
}

/// Returns the words of a text as FTS5 queries; the last one also matches as a prefix if nothing follows it.
fn tokens(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut words: Vec<String> = words.map(str::to_lowercase).collect();
    words.dedup();
    let last = if text.ends_with(char::is_alphanumeric) { words.pop() } else { None };
    words.truncate(MAX_WORDS);
    let mut queries: Vec<String> = Vec::new();
    let exact = |word: &str| format!("\"{}\"", stemmed(word));
    let typed = last.map(|word| {
        if word.chars().count() >= MIN_PREFIX { format!("({} OR \"{word}\"*)", exact(&word)) } else { exact(&word) }
    });
    for query in words.iter().map(|word| exact(word)).chain(typed) {
        if !queries.contains(&query) {
            queries.push(query);
        }
    }
    queries
}

/// Combines a query over statement, reason and source, a query over the source alone, and scopes.
pub(super) fn fts_query(query: Option<&str>, source: Option<&str>, scopes: &[i64]) -> String {
    let query = query.map(|query| format!("{{statement reason source}} : ({query})"));
    let source = source.map(|source| format!("source : {source}"));
    let scope = match scopes {
        [] => None,
        [scope] => Some(format!("place : {}", scope_word(*scope))),
        several => {
            let places: Vec<String> = several.iter().copied().map(scope_word).collect();
            Some(format!("place : ({})", places.join(" OR ")))
        }
    };
    [query, source, scope].into_iter().flatten().collect::<Vec<_>>().join(" AND ")
}

/// Returns the words of a source as an FTS5 phrase whose last word is a prefix; `None` if there are no words.
fn source_phrase(text: &str) -> Option<String> {
    let words = stemmed(text);
    (!words.is_empty()).then(|| format!("\"{words}\" *"))
}

/// Counts the claims that match. Many matches are estimated from the density of the newest.
fn frequency(db: &Connection, query: &str, newest: i64) -> Result<usize> {
    let mut read = db.prepare_cached(
        "SELECT count(*), min(rowid) FROM (SELECT rowid FROM texts WHERE texts MATCH ?1 ORDER BY rowid DESC LIMIT ?2)",
    )?;
    let (count, oldest): (usize, Option<i64>) =
        read.query_row(params![query, FREQUENCY_SAMPLE], |row| Ok((row.get(0)?, row.get(1)?)))?;
    match oldest {
        Some(oldest) if count == FREQUENCY_SAMPLE => {
            let share = count as f64 / (newest - oldest + 1).max(1) as f64;
            Ok(((share * newest as f64) as usize).max(count))
        }
        _ => Ok(count),
    }
}

/// Returns the row number from which [`MAX_MATCHES`] matches of a query pass a filter, or 0 if fewer pass; and whether
/// there may be more. Reads the newest [`MAX_SCANNED_MATCHES`] matches.
fn nth_newest(db: &Connection, query: &str, filter: &MatchFilter) -> Result<(i64, bool)> {
    // The text index returns rows in this order, so that nothing is sorted and the rest is not read.
    let mut read = db.prepare_cached(
        "SELECT t.rowid, c.lane, c.wall FROM texts t CROSS JOIN claims c ON c.n = t.rowid
         WHERE texts MATCH ?1 ORDER BY t.rowid DESC LIMIT ?2",
    )?;
    let (mut from, mut fit, mut scanned) = (0, 0, 0);
    let mut rows = read.query(params![query, MAX_SCANNED_MATCHES])?;
    while let Some(row) = rows.next()? {
        scanned += 1;
        let Some(n) = filter.take(row)? else { continue };
        if fit == MAX_MATCHES {
            return Ok((from, true));
        }
        (from, fit) = (n, fit + 1);
    }
    Ok(if scanned == MAX_SCANNED_MATCHES { (from, true) } else { (0, false) })
}

/// Compares by rank, then by age with the newest first.
fn by_rank(a: &Match, b: &Match) -> std::cmp::Ordering {
    a.rank.total_cmp(&b.rank).then(b.n.cmp(&a.n))
}

fn parse_cursor(cursor: &str) -> Result<Match> {
    cursor
        .split_once('.')
        .and_then(|(rank, n)| {
            let rank = f64::from_bits(u64::from_str_radix(rank, 16).ok()?);
            Some(Match { n: i64::from_str_radix(n, 16).ok()?, rank })
        })
        .ok_or_else(|| StoreError::BadCursor(cursor.chars().take(80).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(dfs: &[(&str, usize)]) -> Vec<Word> {
        dfs.iter().map(|(query, df)| Word { query: (*query).into(), df: *df }).collect()
    }

    #[test]
    fn punctuation_and_operators_are_words_or_nothing() {
        assert_eq!(tokens("Why \"NOT* green-CI? "), ["\"whi\"", "\"not\"", "\"green\"", "\"ci\""]);
        assert_eq!(tokens("deplo"), ["(\"deplo\" OR \"deplo\"*)"]);
        assert!(tokens("?!").is_empty());
    }

    #[test]
    fn a_source_is_a_phrase_in_its_own_column() {
        assert_eq!(source_phrase("docs/adr/0004").as_deref(), Some("\"doc adr 0004\" *"));
        assert_eq!(source_phrase("/"), None);
        assert_eq!(fts_query(Some("x"), Some("y"), &[]), "{statement reason source} : (x) AND source : y");
        assert_eq!(fts_query(None, Some("y"), &[7]), "source : y AND place : scope7");
        assert_eq!(fts_query(None, Some("y"), &[7, 9]), "source : y AND place : (scope7 OR scope9)");
    }

    fn queries(dfs: &[(&str, usize)]) -> Vec<(String, bool, bool)> {
        plans(&words(dfs), 100_000).into_iter().map(|plan| (plan.query, plan.newest, plan.ranked)).collect()
    }

    #[test]
    fn rare_words_lead_and_common_ones_follow() {
        assert_eq!(queries(&[("a", 3), ("b", 40)]), [("(a OR b)".into(), false, true)]);
        assert_eq!(queries(&[("a", 3), ("z", 1001)]), [("(a) OR ((a) AND z)".into(), false, true)]);
        assert_eq!(queries(&[]), []);
    }

    #[test]
    fn common_words_are_tried_in_pairs_before_the_rarest_alone() {
        let alone = ("x".to_owned(), true, true);
        assert_eq!(queries(&[("x", 1001)]), std::slice::from_ref(&alone));
        assert_eq!(queries(&[("x", 1001), ("y", 1001)]), [("(x AND (y))".into(), true, true), alone.clone()]);
        let four = "(x AND (y OR z)) OR (y AND (z)) OR (x AND y AND z AND u)";
        let words = [("x", 1001), ("y", 1002), ("z", 1003), ("u", 1004)];
        assert_eq!(queries(&words), [(four.into(), true, true), alone]);
    }

    #[test]
    fn the_commonest_words_take_no_part_beside_others() {
        assert_eq!(queries(&[("a", 3), ("the", 90_000)]), [("(a)".into(), false, true)]);
        assert_eq!(queries(&[("the", 90_000)]), [("the".into(), true, false)], "alone, the newest come first");
        assert_eq!(queries(&[("a", 3), ("it", 26_000)]), [("(a)".into(), false, true)]);
        let many = [("a", 3), ("v", 1001), ("w", 1001), ("x", 1001), ("y", 1001)];
        assert_eq!(queries(&many)[0].0, "(a) OR ((a) AND v) OR ((a) AND w) OR ((a) AND x)");
    }
}
