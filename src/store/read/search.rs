//! Full-text search with a bounded cost: rare words are followed to the end, common ones only where they stand beside
//! rare ones, and a search for common words alone looks at the newest matches.
//!
//! Ranking: BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009), as FTS5
//! computes it, with the statement weighing most.

use rusqlite::{Connection, params};

use super::{claims::claims_at_places, pages};
use crate::store::{
    ClaimFilter, ClaimRow, Page, Reader, Result, StoreError, log,
    project::{place, stemmed},
};

/// The most matches that one search ranks.
const MAX_MATCHES: usize = 1_000;

/// The most words of a query that are looked at; the rarest of them decide.
const MAX_WORDS: usize = 24;

/// The shortest last word that also finds longer words: what is typed is searched as it is typed.
const MIN_PREFIX: usize = 3;

/// A word as FTS5 is asked for it, and how many claims of the scope have it, up to [`MAX_MATCHES`].
struct Word {
    query: String,
    df: usize,
}

/// A match with its rank: the smaller the better, as FTS5 has it.
struct Match {
    n: i64,
    rank: f64,
}

impl Reader {
    /// Full-text search over statement, reason and source, the best match first (BM25). Looks at no more than the
    /// 1,000 best or newest matches; `total` counts those.
    pub fn search(
        &self,
        filter: &ClaimFilter,
        words: &str,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<ClaimRow>> {
        let after = cursor.map(parse_cursor).transpose()?;
        self.snapshot(|reader| {
            let mut found = reader.matches(filter, words)?;
            found.sort_unstable_by(order);
            let total = found.len();
            if let Some(after) = after {
                found.retain(|hit| order(hit, &after).is_gt());
            }
            let more = found.len() > limit;
            found.truncate(limit);
            Ok(Page {
                next: found.last().filter(|_| more).map(|hit| format!("{:x}.{:x}", hit.rank.to_bits(), hit.n)),
                total,
                items: claims_at_places(&reader.db, found.iter().map(|hit| hit.n))?,
            })
        })
    }

    fn matches(&self, filter: &ClaimFilter, words: &str) -> Result<Vec<Match>> {
        let scope = match &filter.scope {
            Some(scope) => match log::known_scope(&self.db, scope)? {
                Some(scope) => Some(scope),
                None => return Ok(Vec::new()),
            },
            None => None,
        };
        let mut known = Vec::new();
        for query in tokens(words) {
            let df = count(&self.db, &within(&query, scope))?;
            if df > 0 {
                known.push(Word { query, df });
            }
        }
        known.sort_by_key(|word| word.df);
        let Some((query, newest_only)) = plan(&known) else { return Ok(Vec::new()) };
        let query = within(&query, scope);
        let from = if newest_only { nth_newest(&self.db, &query)? } else { 0 };
        let lanes = pages::picked(&self.db, filter)?;
        let mut read = self.db.prepare_cached(
            "SELECT t.rowid, bm25(texts, 10.0, 4.0, 2.0, 0.0), c.lane
             FROM texts t JOIN claims c ON c.n = t.rowid WHERE texts MATCH ?1 AND t.rowid >= ?2",
        )?;
        let mut found = Vec::new();
        let mut rows = read.query(params![query, from])?;
        while let Some(row) = rows.next()? {
            if row.get::<_, Option<i64>>(2)?.is_some_and(|lane| lanes.contains(&lane)) {
                found.push(Match { n: row.get(0)?, rank: row.get(1)? });
            }
        }
        Ok(found)
    }
}

/// What to ask FTS5 for, given the words that occur, the rarest first; and whether only the newest matches are ranked.
fn plan(words: &[Word]) -> Option<(String, bool)> {
    let (first, _) = words.split_first()?;
    let mut budget = MAX_MATCHES;
    let rare = words.iter().take_while(|word| {
        let fits = word.df <= budget;
        budget = budget.saturating_sub(word.df);
        fits
    });
    let rare = rare.count();
    if rare == 0 {
        // Common words only: the newest claims that have all of them, or failing that, the rarest of them.
        let all = joined(words, " AND ");
        return Some((if words.len() > 1 { format!("({all}) OR {}", first.query) } else { all }, true));
    }
    let (rare, common) = words.split_at(rare);
    let rare = joined(rare, " OR ");
    let mut query = format!("({rare})");
    for word in common {
        // Counts where a rare word matches, and finds nothing by itself.
        query = format!("{query} OR (({rare}) AND {})", word.query);
    }
    Some((query, false))
}

fn joined(words: &[Word], with: &str) -> String {
    words.iter().map(|word| word.query.as_str()).collect::<Vec<_>>().join(with)
}

/// The words of a text as FTS5 strings; the last one also as the beginning of a word.
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

/// A query within a scope, over the three texts.
fn within(query: &str, scope: Option<i64>) -> String {
    match scope {
        Some(scope) => format!("{{statement reason source}} : ({query}) AND place : {}", place(scope)),
        None => format!("{{statement reason source}} : ({query})"),
    }
}

/// How many rows match, up to one more than [`MAX_MATCHES`].
fn count(db: &Connection, query: &str) -> Result<usize> {
    let mut read = db.prepare_cached("SELECT count(*) FROM (SELECT 1 FROM texts WHERE texts MATCH ?1 LIMIT ?2)")?;
    Ok(read.query_row(params![query, MAX_MATCHES + 1], |row| row.get(0))?)
}

/// The place from which on a query has [`MAX_MATCHES`] matches; 0 where it has fewer.
fn nth_newest(db: &Connection, query: &str) -> Result<i64> {
    let mut read = db.prepare_cached(
        "SELECT coalesce(min(rowid), 0) FROM
            (SELECT rowid FROM texts WHERE texts MATCH ?1 ORDER BY rowid DESC LIMIT ?2)",
    )?;
    Ok(read.query_row(params![query, MAX_MATCHES], |row| row.get(0))?)
}

/// The best first; among equals the newest.
fn order(a: &Match, b: &Match) -> std::cmp::Ordering {
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
    fn rare_words_lead_and_common_ones_follow() {
        assert_eq!(plan(&words(&[("a", 3), ("b", 40)])), Some(("(a OR b)".into(), false)));
        assert_eq!(plan(&words(&[("a", 3), ("z", 1001)])), Some(("(a) OR ((a) AND z)".into(), false)));
        assert_eq!(plan(&words(&[("y", 1001), ("z", 1001)])), Some(("(y AND z) OR y".into(), true)));
        assert_eq!(plan(&[]), None);
    }
}
