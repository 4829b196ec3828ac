//! Reads for recall: which claims contain which words, whose vectors are near, and the claims themselves.
//!
//! Each list is limited to the newest claims, so that the cost hardly grows with the scope. FTS5 only reports which
//! claims contain a word, not how well they match: its BM25 counts all claims with each of the words, which are tens of
//! thousands in a large scope. (record 38)

use rusqlite::{Connection, OptionalExtension, params};

use super::{claims::bare_claims_by_number, pages, search::fts_query};
use crate::{
    domain::{ClaimKind, Scope, Status},
    store::{
        ClaimFilter, ClaimRow, KindAndStatus, Reader, Result, RowNumber, VectorModel, WordList, WordLists, WordQuery,
        log,
        project::{kind_of, status_of},
        vectors::{self, vector_index},
    },
};

/// The number of rows of the vector index that are compared exactly for each requested claim.
const OVERSAMPLED: usize = 3;

/// The matches of a common word that are read to find claims of the wanted kinds among them, after the newest ones. Limited,
/// because all of them are read if none is of these kinds.
const MATCHES_FOR_KINDS: usize = 10_000;

/// The rows of each lane that are compared exactly to find the single nearest claim.
const ROWS_FOR_NEAREST: usize = 16;

impl Reader {
    /// Returns, for each query, the claims of these scopes with its words, of any status: the newest ones, at most
    /// [`WordQuery::limit`], followed by those of `kinds`, if any are named, among the next [`MATCHES_FOR_KINDS`]. An
    /// unknown scope has no claims.
    pub fn word_lists(&self, scopes: &[Scope], kinds: &[ClaimKind], queries: &[WordQuery]) -> Result<WordLists> {
        self.snapshot(|reader| {
            let db = &reader.db;
            let mut scope_numbers = log::known_scopes(db, scopes)?;
            if scope_numbers.is_empty() {
                return Ok(WordLists::default());
            }
            let all = pages::total(db, &ClaimFilter::default())?;
            let mut claims = 0;
            for scope in scopes {
                claims += pages::total(db, &ClaimFilter { scope: Some(scope.clone()), ..ClaimFilter::default() })?;
            }
            // If most claims are of the scopes, filtering afterwards is cheaper than matching the words of the scopes.
            if claims >= all / 2 {
                scope_numbers.clear();
            }
            let newest: i64 = db.query_row("SELECT coalesce(max(n), 0) FROM claims", [], |row| row.get(0))?;
            let mut read =
                db.prepare_cached("SELECT rowid FROM texts WHERE texts MATCH ?1 ORDER BY rowid DESC LIMIT ?2")?;
            let mut lists = Vec::with_capacity(queries.len());
            for query in queries {
                let words: Vec<String> = query.stems.iter().filter_map(|stem| quoted(stem)).collect();
                if words.is_empty() {
                    lists.push(WordList::default());
                    continue;
                }
                let matching = fts_query(Some(&words.join(" AND ")), None, &scope_numbers);
                let rows = read.query_map(params![matching, query.limit], |row| row.get(0))?;
                let mut rows = rows.collect::<rusqlite::Result<Vec<i64>>>()?;
                let complete = rows.len() < query.limit;
                let claims = match rows.last() {
                    // Assumes that matches are as dense before the oldest one that was read as after it.
                    Some(oldest) if !complete => {
                        let share = rows.len() as f64 / (newest - oldest + 1).max(1) as f64;
                        ((share * newest as f64) as usize).max(rows.len())
                    }
                    _ => rows.len(),
                };
                if let Some(oldest) = rows.last().copied().filter(|_| !complete && !kinds.is_empty()) {
                    rows.extend(of_kinds(db, kinds, &matching, oldest, query.limit)?);
                }
                lists.push(WordList { spots: rows.into_iter().map(RowNumber).collect(), claims, complete });
            }
            Ok(WordLists { claims, lists })
        })
    }

    /// Returns the active claims of these scopes, including facts, whose vectors are nearest, with their cosines, the
    /// nearest first: `limit` of any kind, followed by as many more as are needed for `limit` claims of `kinds`, if any
    /// are named.
    ///
    /// # Errors
    /// [`crate::store::StoreError::VectorModel`] if another model computed the store's vectors.
    pub fn near(
        &self,
        scopes: &[Scope],
        kinds: &[ClaimKind],
        model: &VectorModel,
        vector: &[f32],
        limit: usize,
    ) -> Result<Vec<(RowNumber, f32)>> {
        self.snapshot(|reader| {
            let (db, stored) = (&reader.db, vectors::model(&reader.db)?);
            let (Some(stored), scope_numbers) = (stored, log::known_scopes(db, scopes)?) else { return Ok(Vec::new()) };
            if scope_numbers.is_empty() {
                return Ok(Vec::new());
            }
            vectors::check_model(&stored, model)?;
            let unit = vectors::unit(&stored, vector)?;
            let code = vectors::encode(&unit);
            let mut ranked = Vec::new();
            for scope in scope_numbers {
                ranked.extend(nearest(db, scope, (&unit, &code), limit.saturating_mul(OVERSAMPLED))?);
            }
            ranked.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
            let further = ranked.split_off(limit.min(ranked.len()));
            if kinds.is_empty() {
                return Ok(ranked);
            }
            let mut read = db.prepare_cached("SELECT kind FROM claims WHERE n = ?1")?;
            let mut is_wanted = |spot: &RowNumber| -> Result<bool> {
                Ok(kinds.contains(&kind_of(read.query_row([spot.0], |row| row.get(0))?)?))
            };
            let mut wanted = 0;
            for (spot, _) in &ranked {
                wanted += usize::from(is_wanted(spot)?);
            }
            for hit in further {
                if wanted < limit && is_wanted(&hit.0)? {
                    ranked.push(hit);
                    wanted += 1;
                }
            }
            Ok(ranked)
        })
    }

    /// Returns the cosine between each of up to `sample` active claims with a vector, spread evenly over the scope, and
    /// the nearest other active claim.
    pub fn nearest_others(&self, scope: &Scope, sample: usize) -> Result<Vec<f32>> {
        self.snapshot(|reader| {
            let db = &reader.db;
            let active = active_in(scope);
            let (Some(model), Some(scope)) = (vectors::model(db)?, log::known_scope(db, scope)?) else {
                return Ok(Vec::new());
            };
            let lanes = pages::selected_lanes(db, &active)?;
            let mut read = db.prepare_cached("SELECT n FROM claims WHERE lane = ?1 AND indexed & 4 = 4")?;
            let mut all: Vec<i64> = Vec::new();
            for lane in lanes {
                for n in read.query_map([lane], |row| row.get(0))? {
                    all.push(n?);
                }
            }
            all.sort_unstable();
            let sample = sample.min(all.len());
            let mut cosines = Vec::with_capacity(sample);
            for n in (0..sample).filter_map(|at| all.get(at * all.len() / sample).copied()) {
                let Some(code) = vectors::stored(db, n)? else { continue };
                let unit = vectors::unit(&model, &vectors::decode(&code))?;
                let near = nearest(db, scope, (&unit, &code), ROWS_FOR_NEAREST)?;
                let others = near.into_iter().filter(|(other, _)| other.0 != n);
                cosines.extend(others.map(|(_, cosine)| cosine).reduce(f32::max));
            }
            Ok(cosines)
        })
    }

    /// Returns the cosine between a vector and that of each claim, of any status; `None` for a claim without a vector.
    ///
    /// # Errors
    /// As for [`Reader::near`].
    pub fn spot_cosines(&self, model: &VectorModel, vector: &[f32], spots: &[RowNumber]) -> Result<Vec<Option<f32>>> {
        self.compared(model, vector, spots, vectors::stored)
    }

    /// Returns the cosine between a vector and that of each claim with its reason; `None` for a claim without such a
    /// vector.
    ///
    /// # Errors
    /// As for [`Reader::near`].
    pub fn reason_cosines(&self, model: &VectorModel, vector: &[f32], spots: &[RowNumber]) -> Result<Vec<Option<f32>>> {
        self.compared(model, vector, spots, vectors::with_reason)
    }

    /// Returns the cosine between a vector and the one that `stored` returns for each claim.
    fn compared(
        &self,
        model: &VectorModel,
        vector: &[f32],
        spots: &[RowNumber],
        stored: fn(&Connection, i64) -> Result<Option<Vec<u8>>>,
    ) -> Result<Vec<Option<f32>>> {
        self.snapshot(|reader| {
            let Some(known) = vectors::model(&reader.db)? else { return Ok(vec![None; spots.len()]) };
            vectors::check_model(&known, model)?;
            let unit = vectors::unit(&known, vector)?;
            let cosine = |code: Vec<u8>| vectors::cosine(&unit, &code);
            spots.iter().map(|spot| Ok(stored(&reader.db, spot.0)?.map(cosine))).collect()
        })
    }

    /// Returns kind and status of each claim; `None` for a claim that is undone or of another scope.
    pub fn standing(&self, scopes: &[Scope], spots: &[RowNumber]) -> Result<Vec<Option<KindAndStatus>>> {
        self.snapshot(|reader| {
            let scope_numbers = log::known_scopes(&reader.db, scopes)?;
            let mut read =
                reader.db.prepare_cached("SELECT scope, kind, status FROM claims WHERE n = ?1 AND undone = 0")?;
            let mut all = Vec::with_capacity(spots.len());
            for spot in spots {
                let found = read.query_row([spot.0], |row| {
                    let standing = KindAndStatus { kind: kind_of(row.get(1)?)?, status: status_of(row.get(2)?) };
                    Ok((row.get::<_, i64>(0)?, standing))
                });
                let found = found.optional()?.filter(|(scope, _)| scope_numbers.contains(scope));
                all.push(found.map(|(_, standing)| standing));
            }
            Ok(all)
        })
    }

    /// Returns the newest active claims of a scope, at most `most`, without their relations; and the number of all
    /// active claims. With a day, without those that have expired on it.
    pub fn newest_active(
        &self,
        scope: &Scope,
        unexpired_on: Option<&str>,
        most: usize,
    ) -> Result<(Vec<ClaimRow>, usize)> {
        self.snapshot(|reader| {
            let expired = unexpired_on.map(|day| (false, day.to_owned()));
            let filter = ClaimFilter { expired, ..active_in(scope) };
            let (numbers, total) = pages::newest(&reader.db, &filter, most)?;
            Ok((bare_claims_by_number(&reader.db, numbers)?, total))
        })
    }

    /// Returns the claims with these row numbers, in that order, without their relations (see
    /// [`Reader::nearby_claims`]).
    pub fn bare_at(&self, spots: &[RowNumber]) -> Result<Vec<ClaimRow>> {
        self.snapshot(|reader| bare_claims_by_number(&reader.db, spots.iter().map(|spot| spot.0)))
    }
}

/// Returns the claims of these kinds among the [`MATCHES_FOR_KINDS`] matches of a query that are older than a claim, the
/// newest first, at most `limit`.
fn of_kinds(db: &Connection, kinds: &[ClaimKind], matching: &str, before: i64, limit: usize) -> Result<Vec<i64>> {
    // The text index returns rows in this order, so that nothing is sorted and the rest is not read.
    let mut read = db.prepare_cached(
        "SELECT t.rowid, c.kind FROM texts t CROSS JOIN claims c ON c.n = t.rowid
         WHERE texts MATCH ?1 AND t.rowid < ?2 ORDER BY t.rowid DESC LIMIT ?3",
    )?;
    let mut found = Vec::new();
    let mut rows = read.query(params![matching, before, MATCHES_FOR_KINDS])?;
    while let Some(row) = rows.next()?.filter(|_| found.len() < limit) {
        if kinds.contains(&kind_of(row.get(1)?)?) {
            found.push(row.get(0)?);
        }
    }
    Ok(found)
}

/// Returns the filter for the active claims of a scope.
fn active_in(scope: &Scope) -> ClaimFilter {
    ClaimFilter { scope: Some(scope.clone()), status: Some(Status::Active), ..ClaimFilter::default() }
}

/// Quotes a stem as an FTS5 string; `None` if it has no letters or digits.
pub(in crate::store) fn quoted(stem: &str) -> Option<String> {
    let stem: String = stem.chars().filter(|c| c.is_alphanumeric()).collect();
    (!stem.is_empty()).then(|| format!("\"{stem}\""))
}

/// Returns the guarded claims and the facts whose signs differ least from those of a vector, at most `rows` of each,
/// with their exact cosines; in no order.
fn nearest(db: &Connection, scope: i64, (unit, code): (&[f32], &[u8]), rows: usize) -> Result<Vec<(RowNumber, f32)>> {
    let mut found = Vec::new();
    for guarded in [true, false] {
        for n in vector_index::nearest(db, vector_index::lane_of(scope, guarded), code, rows)? {
            found.extend(vectors::stored(db, n)?.map(|stored| (RowNumber(n), vectors::cosine(unit, &stored))));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn nothing_of_a_stem_is_an_operator() {
        assert_eq!(quoted("deploy").as_deref(), Some("\"deploy\""));
        assert_eq!(quoted("a\" OR \"b*").as_deref(), Some("\"aORb\""));
        assert_eq!(quoted("\"*\""), None);
    }
}
