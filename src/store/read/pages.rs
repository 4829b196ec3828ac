//! Pages of claims by keyset, with totals that are kept and not counted.
//!
//! Claims that are alike in all that a list filters by share a *lane*. A filter picks lanes; its total is the sum of
//! their counts, and a page is merged from the newest rows of each.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, params};

use super::{ListPosition, claims::claims_at_places, notices, search};
use crate::store::{
    ClaimFilter, ClaimRow, GuardOutcome, Page, Reader, Result, levels, log,
    project::{kind_of, status_code},
};

/// Up to this many lanes, a page is merged from the head of each.
const MERGED_LANES: usize = 64;

/// What finding the head of a lane costs, in rows that are read in order instead.
const SEEK: usize = 8;

/// Whether a page is merged from the heads of its lanes, each of so many claims; else rows are read in order, of which `all` are in the store,
/// until enough of them are of these lanes. Of a store of a thousand scopes, many lanes may hold a tiny share.
fn merges(lanes: &[Lane], limit: usize, all: usize) -> bool {
    let heads: usize = lanes.iter().map(|lane| SEEK + lane.claims.min(limit)).sum();
    let picked: usize = lanes.iter().map(|lane| lane.claims).sum();
    // How many rows hold `limit` of those that are picked, if these are spread evenly.
    let in_order = limit.saturating_mul(all) / picked.max(1);
    heads < in_order.min(all)
}

/// A lane that a filter picks.
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
        Ok((Lane { n: row.get(0)?, claims: row.get(1)? }, kind_of(row.get(2)?)))
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

/// How many claims a filter fits.
pub(in crate::store) fn total(db: &Connection, filter: &ClaimFilter) -> Result<usize> {
    Ok(lanes(db, filter)?.iter().map(|lane| lane.claims).sum())
}

/// How many claims of these lanes lie in the span of a filter.
fn counted(db: &Connection, filter: &ClaimFilter, lanes: &[Lane]) -> Result<usize> {
    if filter.since.is_none() && filter.until.is_none() {
        return Ok(lanes.iter().map(|lane| lane.claims).sum());
    }
    let (from, to) = span(filter);
    let mut read = db.prepare_cached("SELECT count(*) FROM claims WHERE lane = ?1 AND wall BETWEEN ?2 AND ?3")?;
    let mut total = 0;
    for lane in lanes {
        total += read.query_row(params![lane.n, from, to], |row| row.get::<_, usize>(0))?;
    }
    Ok(total)
}

/// The first and the last wall time of a filter.
pub(super) fn span(filter: &ClaimFilter) -> (i64, i64) {
    (filter.since.map_or(i64::MIN, log::wall), filter.until.map_or(i64::MAX, log::wall))
}

/// The places after `after` and not before `from`, newest first, without those to be left out.
fn places(
    db: &Connection,
    lanes: &[Lane],
    (after, from): (ListPosition, i64),
    without: &HashSet<i64>,
    limit: usize,
) -> Result<Vec<ListPosition>> {
    let read = |row: &rusqlite::Row<'_>| Ok(ListPosition { wall: row.get(0)?, tick: row.get(1)?, n: row.get(2)? });
    let mut found: Vec<ListPosition> = Vec::new();
    let all = || total(db, &ClaimFilter::default());
    if lanes.len() <= MERGED_LANES || merges(lanes, limit, all()?) {
        let mut heads = db.prepare_cached(
            "SELECT wall, tick, n FROM claims WHERE lane = ?1 AND (wall, tick, n) < (?2, ?3, ?4) AND wall >= ?5
             ORDER BY wall DESC, tick DESC, n DESC",
        )?;
        for lane in lanes {
            let rows = heads.query_map(params![lane.n, after.wall, after.tick, after.n, from], read)?;
            let rows = rows.filter(|place| place.as_ref().map_or(true, |place| !without.contains(&place.n)));
            for place in rows.take(limit) {
                found.push(place?);
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
        let place = read(row)?;
        if row.get::<_, Option<i64>>(3)?.is_some_and(|lane| wanted.contains(&lane)) && !without.contains(&place.n) {
            found.push(place);
        }
    }
    Ok(found)
}

/// From so many claims on, going through the table once costs less than looking up each of them.
const MANY: usize = 20_000;

/// The places among `claims` that a filter fits, newest first.
fn chosen(db: &Connection, lanes: &[Lane], filter: &ClaimFilter, claims: &HashSet<i64>) -> Result<Vec<ListPosition>> {
    type Row = (ListPosition, Option<i64>);
    let wanted: HashSet<i64> = lanes.iter().map(|lane| lane.n).collect();
    let (from, to) = span(filter);
    let read = |row: &rusqlite::Row<'_>| -> rusqlite::Result<Row> {
        Ok((ListPosition { wall: row.get(0)?, tick: row.get(1)?, n: row.get(2)? }, row.get(3)?))
    };
    let mut found = Vec::new();
    let mut take = |(place, lane): Row| {
        if lane.is_some_and(|lane| wanted.contains(&lane)) {
            found.push(place);
        }
    };
    if claims.len() > MANY {
        // Without the index by time, from which each row would have to be looked up.
        let mut all = db.prepare_cached("SELECT wall, tick, n, lane FROM claims WHERE +wall BETWEEN ?1 AND ?2")?;
        for row in all.query_map(params![from, to], read)? {
            let row = row?;
            if claims.contains(&row.0.n) {
                take(row);
            }
        }
    } else {
        // In the order of the table, of which more is on disk than is held in memory.
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

/// Which claims a filter picks one by one, beside its lanes.
pub(super) struct PickedClaims {
    /// Only these; `None` for all.
    only: Option<HashSet<i64>>,
    /// None of these.
    without: HashSet<i64>,
}

impl PickedClaims {
    /// By the guard's outcome, by the words that must not occur, and by what a project narrowed.
    pub(super) fn of(db: &Connection, filter: &ClaimFilter) -> Result<Self> {
        let mut without = search::excluded_claims(db, filter)?;
        if let Some(project) = &filter.not_narrowed_in
            && let Some(project) = log::known_scope(db, project)?
        {
            without.extend(levels::narrowed_in(db, project)?);
        }
        let only = match filter.verdict {
            None => None,
            Some(GuardOutcome::Disputed) => Some(notices::disputed(db)?),
            Some(GuardOutcome::Warned) => Some(notices::warned(db)?),
            Some(GuardOutcome::Clean) => {
                without.extend(notices::disputed(db)?);
                without.extend(notices::warned(db)?);
                None
            }
        };
        Ok(Self { only, without })
    }

    pub(super) fn takes(&self, n: i64) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(&n)) && !self.without.contains(&n)
    }
}

/// The places of the newest claims that a filter's lanes hold, at most `limit`.
pub(super) fn newest(db: &Connection, filter: &ClaimFilter, limit: usize) -> Result<Vec<i64>> {
    let found = places(db, &lanes(db, filter)?, (ListPosition::START, i64::MIN), &HashSet::new(), limit)?;
    Ok(found.into_iter().map(|place| place.n).collect())
}

impl Reader {
    /// A page of claims, newest first by event clock. What `filter.source` asks for is not looked at: see [`Reader::search`].
    pub fn claims(&self, filter: &ClaimFilter, limit: usize, cursor: Option<&str>) -> Result<Page<ClaimRow>> {
        let (from, to) = span(filter);
        let after = ListPosition::parse(cursor)?.min(ListPosition { wall: to, ..ListPosition::START });
        let most = limit.saturating_add(1);
        self.snapshot(|reader| {
            let lanes = lanes(&reader.db, filter)?;
            let PickedClaims { only, without } = PickedClaims::of(&reader.db, filter)?;
            let (mut found, total) = if let Some(only) = only {
                let only = only.difference(&without).copied().collect();
                let all = chosen(&reader.db, &lanes, filter, &only)?;
                let total = all.len();
                (all.into_iter().filter(|place| *place < after).take(most).collect(), total)
            } else {
                let others = chosen(&reader.db, &lanes, filter, &without)?.len();
                let found = places(&reader.db, &lanes, (after, from), &without, most)?;
                (found, counted(&reader.db, filter, &lanes)?.saturating_sub(others))
            };
            let more = found.len() > limit;
            found.truncate(limit);
            Ok(Page {
                next: found.last().filter(|_| more).map(|place| place.cursor()),
                total,
                at_least: false,
                items: claims_at_places(&reader.db, found.iter().map(|place| place.n))?,
            })
        })
    }
}

/// The lanes that a filter picks.
pub(super) fn picked(db: &Connection, filter: &ClaimFilter) -> Result<HashSet<i64>> {
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
        // One retracted claim in each of 200 scopes, among a million: in order, every fourth claim would be read.
        assert!(merges(&lanes(200, 1), 50, 1_000_000));
        // All claims of a thousand scopes: the newest fifty are the first fifty rows.
        assert!(!merges(&lanes(1_000, 1_000), 50, 1_000_000));
        // Half of all claims.
        assert!(!merges(&lanes(500, 1_000), 50, 1_000_000));
        // A small store is read whole before many heads are looked for.
        assert!(!merges(&lanes(100, 1), 50, 300));
    }
}
