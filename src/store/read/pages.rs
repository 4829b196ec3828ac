//! Pages of claims by keyset pagination, with totals from stored counts.
//!
//! Claims with equal values of everything that a list filters by share a *lane*. A filter selects lanes; its total is
//! the sum of their counts, and a page is merged from the newest rows of each.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, params};

use super::{ListPosition, claims::claims_by_number, notices, search};
use crate::store::{
    ClaimFilter, ClaimRow, GuardOutcome, Page, Reader, Result, levels, log,
    project::{kind_of, status_code},
};

/// Up to this number of lanes, a page is always merged from the newest claims of each lane.
const MERGED_LANES: usize = 64;

/// The cost of finding the newest claim of a lane, in rows that could be read in order instead.
const SEEK_COST: usize = 8;

/// Returns whether to merge a page from the newest claims of its lanes. Otherwise claims are read in order, of which
/// the store has `all`, until enough of them are in these lanes. In a store with a thousand scopes, many lanes may have
/// a tiny share of the claims.
fn should_merge(lanes: &[Lane], limit: usize, all: usize) -> bool {
    let heads: usize = lanes.iter().map(|lane| SEEK_COST + lane.claims.min(limit)).sum();
    let selected: usize = lanes.iter().map(|lane| lane.claims).sum();
    // The number of rows with `limit` claims of the lanes, if these are spread evenly.
    let in_order = limit.saturating_mul(all) / selected.max(1);
    heads < in_order.min(all)
}

/// A lane with the number of its claims.
struct Lane {
    n: i64,
    claims: usize,
}

fn lanes(db: &Connection, filter: &ClaimFilter) -> Result<Vec<Lane>> {
    let Some(log::WantedScope(scope)) = log::wanted_scope(db, filter.scope.as_ref())? else {
        return Ok(Vec::new());
    };
    let mut read = db.prepare_cached(
        "SELECT n, claims, kind FROM lanes
         WHERE (?1 IS NULL OR scope = ?1) AND (?2 IS NULL OR status = ?2) AND (?3 IS NULL OR review = ?3)
           AND (?4 IS NULL OR who = ?4 OR agent = ?4) AND (?5 IS NULL OR (who <> ?5 AND agent <> ?5)) AND claims > 0",
    )?;
    let status = filter.status.map(status_code);
    let rows = read.query_map(params![scope, status, filter.needs_review, filter.who, filter.not_who], |row| {
        Ok((Lane { n: row.get(0)?, claims: row.get(1)? }, kind_of(row.get(2)?)?))
    })?;
    let mut lanes = Vec::new();
    for row in rows {
        let (lane, kind) = row?;
        if filter.kinds.is_empty() || filter.kinds.contains(&kind) {
            lanes.push(lane);
        }
    }
    Ok(lanes)
}

/// Returns the number of claims in the lanes of a filter.
pub(in crate::store) fn total(db: &Connection, filter: &ClaimFilter) -> Result<usize> {
    Ok(lanes(db, filter)?.iter().map(|lane| lane.claims).sum())
}

/// Counts the claims of these lanes in the time span of a filter.
fn count_in_span(db: &Connection, filter: &ClaimFilter, lanes: &[Lane]) -> Result<usize> {
    if filter.since.is_none() && filter.until.is_none() {
        return Ok(lanes.iter().map(|lane| lane.claims).sum());
    }
    let (from, to) = time_span(filter);
    let mut read = db.prepare_cached("SELECT count(*) FROM claims WHERE lane = ?1 AND wall BETWEEN ?2 AND ?3")?;
    let mut total = 0;
    for lane in lanes {
        total += read.query_row(params![lane.n, from, to], |row| row.get::<_, usize>(0))?;
    }
    Ok(total)
}

/// Returns the first and last wall time of a filter.
pub(super) fn time_span(filter: &ClaimFilter) -> (i64, i64) {
    (filter.since.map_or(i64::MIN, log::wall), filter.until.map_or(i64::MAX, log::wall))
}

/// Returns the positions of claims that come after `after` in the list and are not older than `from`, newest first,
/// without those in `without`.
fn positions(
    db: &Connection,
    lanes: &[Lane],
    (after, from): (ListPosition, i64),
    without: &HashSet<i64>,
    limit: usize,
) -> Result<Vec<ListPosition>> {
    let read = |row: &rusqlite::Row<'_>| Ok(ListPosition { wall: row.get(0)?, tick: row.get(1)?, n: row.get(2)? });
    let mut found: Vec<ListPosition> = Vec::new();
    let all = || total(db, &ClaimFilter::default());
    if lanes.len() <= MERGED_LANES || should_merge(lanes, limit, all()?) {
        let mut heads = db.prepare_cached(
            "SELECT wall, tick, n FROM claims WHERE lane = ?1 AND (wall, tick, n) < (?2, ?3, ?4) AND wall >= ?5
             ORDER BY wall DESC, tick DESC, n DESC",
        )?;
        for lane in lanes {
            let rows = heads.query_map(params![lane.n, after.wall, after.tick, after.n, from], read)?;
            let rows =
                rows.filter(|position| position.as_ref().map_or(true, |position| !without.contains(&position.n)));
            for position in rows.take(limit) {
                found.push(position?);
            }
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.truncate(limit);
        return Ok(found);
    }
    let wanted: HashSet<i64> = lanes.iter().map(|lane| lane.n).collect();
    let mut all = db.prepare_cached(
        "SELECT wall, tick, n, lane FROM claims WHERE (wall, tick, n) < (?1, ?2, ?3) AND wall >= ?4
         ORDER BY wall DESC, tick DESC, n DESC",
    )?;
    let mut rows = all.query(params![after.wall, after.tick, after.n, from])?;
    while let (true, Some(row)) = (found.len() < limit, rows.next()?) {
        let position = read(row)?;
        if row.get::<_, Option<i64>>(3)?.is_some_and(|lane| wanted.contains(&lane)) && !without.contains(&position.n) {
            found.push(position);
        }
    }
    Ok(found)
}

/// With more claims than this, one scan of the table costs less than looking up each claim.
const SCAN_THRESHOLD: usize = 20_000;

/// Returns the positions of those `claims` that are in the lanes and the time span of a filter, newest first.
fn positions_of(
    db: &Connection,
    lanes: &[Lane],
    filter: &ClaimFilter,
    claims: &HashSet<i64>,
) -> Result<Vec<ListPosition>> {
    type Row = (ListPosition, Option<i64>);
    let wanted: HashSet<i64> = lanes.iter().map(|lane| lane.n).collect();
    let (from, to) = time_span(filter);
    let read = |row: &rusqlite::Row<'_>| -> rusqlite::Result<Row> {
        Ok((ListPosition { wall: row.get(0)?, tick: row.get(1)?, n: row.get(2)? }, row.get(3)?))
    };
    let mut found = Vec::new();
    let mut take = |(position, lane): Row| {
        if lane.is_some_and(|lane| wanted.contains(&lane)) {
            found.push(position);
        }
    };
    if claims.len() > SCAN_THRESHOLD {
        // The `+` avoids the index by time, with which each row would be looked up separately.
        let mut all = db.prepare_cached("SELECT wall, tick, n, lane FROM claims WHERE +wall BETWEEN ?1 AND ?2")?;
        for row in all.query_map(params![from, to], read)? {
            let row = row?;
            if claims.contains(&row.0.n) {
                take(row);
            }
        }
    } else {
        // In the order of the table, because most of it is on disk and not in the page cache.
        let mut claims: Vec<i64> = claims.iter().copied().collect();
        claims.sort_unstable();
        let mut one =
            db.prepare_cached("SELECT wall, tick, n, lane FROM claims WHERE n = ?1 AND wall BETWEEN ?2 AND ?3")?;
        for n in claims {
            if let Some(row) = one.query_row(params![n, from, to], read).optional()? {
                take(row);
            }
        }
    }
    found.sort_unstable_by(|a, b| b.cmp(a));
    Ok(found)
}

/// The part of a filter that selects single claims and not lanes.
pub(super) struct ClaimSelection {
    /// Only these; `None` for all.
    only: Option<HashSet<i64>>,
    without: HashSet<i64>,
}

impl ClaimSelection {
    /// Selects by the outcome of the guard, by excluded words, by what a project narrowed, and by the last day.
    pub(super) fn of(db: &Connection, filter: &ClaimFilter) -> Result<Self> {
        let mut without = search::excluded_claims(db, filter)?;
        if let Some(project) = &filter.not_narrowed_in
            && let Some(project) = log::known_scope(db, project)?
        {
            without.extend(levels::narrowed_in(db, project)?);
        }
        let mut only = match filter.verdict {
            None => None,
            Some(GuardOutcome::Disputed) => Some(notices::disputed(db)?),
            Some(GuardOutcome::Warned) => Some(notices::warned(db)?),
            Some(GuardOutcome::Clean) => {
                without.extend(notices::disputed(db)?);
                without.extend(notices::warned(db)?);
                None
            }
        };
        if let Some((is_wanted, day)) = &filter.expired {
            let expired = expired(db, day)?;
            if *is_wanted {
                only = Some(match only {
                    Some(only) => only.intersection(&expired).copied().collect(),
                    None => expired,
                });
            } else {
                without.extend(expired);
            }
        }
        Ok(Self { only, without })
    }

    pub(super) fn takes(&self, n: i64) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(&n)) && !self.without.contains(&n)
    }
}

/// Returns the row numbers of the claims whose last day is before `day`.
fn expired(db: &Connection, day: &str) -> Result<HashSet<i64>> {
    let mut read = db.prepare_cached("SELECT n FROM claims WHERE valid_until < ?1")?;
    let rows = read.query_map([day], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the row numbers of the newest claims that a filter selects, at most `limit`, and the number of all.
pub(super) fn newest(db: &Connection, filter: &ClaimFilter, limit: usize) -> Result<(Vec<i64>, usize)> {
    let (found, total) = selected(db, filter, ListPosition::START, limit)?;
    Ok((found.into_iter().map(|position| position.n).collect(), total))
}

/// Returns the positions of the claims that a filter selects and that come after `after`, newest first, at most
/// `limit`; and the number of all that it selects. Ignores `filter.source`.
fn selected(
    db: &Connection,
    filter: &ClaimFilter,
    after: ListPosition,
    limit: usize,
) -> Result<(Vec<ListPosition>, usize)> {
    let (from, to) = time_span(filter);
    let after = after.min(ListPosition { wall: to, ..ListPosition::START });
    let lanes = lanes(db, filter)?;
    let ClaimSelection { only, without } = ClaimSelection::of(db, filter)?;
    if let Some(only) = only {
        let only = only.difference(&without).copied().collect();
        let all = positions_of(db, &lanes, filter, &only)?;
        let total = all.len();
        return Ok((all.into_iter().filter(|position| *position < after).take(limit).collect(), total));
    }
    let others = positions_of(db, &lanes, filter, &without)?.len();
    let found = positions(db, &lanes, (after, from), &without, limit)?;
    Ok((found, count_in_span(db, filter, &lanes)?.saturating_sub(others)))
}

impl Reader {
    /// Returns a page of claims, newest first by event clock. Ignores `filter.source`, which [`Reader::search`]
    /// applies.
    pub fn claims(&self, filter: &ClaimFilter, limit: usize, cursor: Option<&str>) -> Result<Page<ClaimRow>> {
        let after = ListPosition::parse(cursor)?;
        self.snapshot(|reader| {
            let (mut found, total) = selected(&reader.db, filter, after, limit.saturating_add(1))?;
            let more = found.len() > limit;
            found.truncate(limit);
            Ok(Page {
                next: found.last().filter(|_| more).map(|position| position.cursor()),
                total,
                at_least: false,
                items: claims_by_number(&reader.db, found.iter().map(|position| position.n))?,
            })
        })
    }
}

/// Returns the lanes that a filter selects.
pub(super) fn selected_lanes(db: &Connection, filter: &ClaimFilter) -> Result<HashSet<i64>> {
    Ok(lanes(db, filter)?.iter().map(|lane| lane.n).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(count: usize, claims: usize) -> Vec<Lane> {
        (0..count).map(|n| Lane { n: i64::try_from(n).unwrap(), claims }).collect()
    }

    #[test]
    fn a_page_of_few_claims_in_many_scopes_does_not_read_all_claims() {
        // One retracted claim in each of 200 scopes, among a million claims: in order, every fourth claim would be
        // read.
        assert!(should_merge(&lanes(200, 1), 50, 1_000_000));
        // All claims of a thousand scopes: the newest fifty are the first fifty rows.
        assert!(!should_merge(&lanes(1_000, 1_000), 50, 1_000_000));
        // Half of all claims.
        assert!(!should_merge(&lanes(500, 1_000), 50, 1_000_000));
        // Reading a small store whole is cheaper than finding the newest claim of many lanes.
        assert!(!should_merge(&lanes(100, 1), 50, 300));
    }
}
