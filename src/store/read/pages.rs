//! Pages of claims by keyset, with totals that are kept and not counted.
//!
//! Claims that are alike in all that a list filters by share a *lane*. A filter picks lanes; its total is the sum of
//! their counts, and a page is merged from the newest rows of each.

use std::collections::HashSet;

use rusqlite::{Connection, params};

use super::{Place, claims::claims_at_places};
use crate::{
    domain::Status,
    store::{
        ClaimFilter, ClaimRow, Page, Reader, Result, log,
        project::{kind_of, status_code},
    },
};

/// Up to this many lanes, a page is merged from the head of each; beyond, rows are read in order and filtered, since
/// many lanes hold a good share of all claims.
const MERGED_LANES: usize = 64;

/// A lane that a filter picks.
struct Lane {
    n: i64,
    claims: usize,
}

fn lanes(db: &Connection, filter: &ClaimFilter) -> Result<Vec<Lane>> {
    let scope = match &filter.scope {
        Some(scope) => match log::known_scope(db, scope)? {
            Some(scope) => Some(scope),
            None => return Ok(Vec::new()),
        },
        None => None,
    };
    let mut read = db.prepare_cached(
        "SELECT n, claims, kind FROM lanes
         WHERE (?1 IS NULL OR scope = ?1) AND (?2 IS NULL OR status = ?2) AND (?3 IS NULL OR review = ?3)
           AND (?4 IS NULL OR who = ?4 OR agent = ?4) AND claims > 0",
    )?;
    let rows = read
        .query_map(params![scope, filter.status.map(status_code), filter.needs_review, filter.who], |row| {
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

/// The places after `after`, newest first.
fn places(db: &Connection, lanes: &[Lane], after: Place, limit: usize) -> Result<Vec<Place>> {
    let read = |row: &rusqlite::Row<'_>| Ok(Place { wall: row.get(0)?, tick: row.get(1)?, n: row.get(2)? });
    let mut found: Vec<Place> = Vec::new();
    if lanes.len() <= MERGED_LANES {
        let mut heads = db.prepare_cached(
            "SELECT wall, tick, n FROM claims WHERE lane = ?1 AND (wall, tick, n) < (?2, ?3, ?4)
             ORDER BY wall DESC, tick DESC, n DESC LIMIT ?5",
        )?;
        for lane in lanes {
            for place in heads.query_map(params![lane.n, after.wall, after.tick, after.n, limit], read)? {
                found.push(place?);
            }
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.truncate(limit);
        return Ok(found);
    }
    let wanted: HashSet<i64> = lanes.iter().map(|lane| lane.n).collect();
    let mut all = db.prepare_cached(
        "SELECT wall, tick, n, lane FROM claims WHERE (wall, tick, n) < (?1, ?2, ?3)
         ORDER BY wall DESC, tick DESC, n DESC",
    )?;
    let mut rows = all.query(params![after.wall, after.tick, after.n])?;
    while let (true, Some(row)) = (found.len() < limit, rows.next()?) {
        if row.get::<_, Option<i64>>(3)?.is_some_and(|lane| wanted.contains(&lane)) {
            found.push(read(row)?);
        }
    }
    Ok(found)
}

impl Reader {
    /// A page of claims, newest first by event clock.
    pub fn claims(&self, filter: &ClaimFilter, limit: usize, cursor: Option<&str>) -> Result<Page<ClaimRow>> {
        let after = Place::parse(cursor)?;
        self.snapshot(|reader| {
            let lanes = lanes(&reader.db, filter)?;
            let mut found = places(&reader.db, &lanes, after, limit.saturating_add(1))?;
            let more = found.len() > limit;
            found.truncate(limit);
            Ok(Page {
                next: found.last().filter(|_| more).map(|place| place.cursor()),
                total: lanes.iter().map(|lane| lane.claims).sum(),
                at_least: false,
                items: claims_at_places(&reader.db, found.iter().map(|place| place.n))?,
            })
        })
    }
}

/// Whether a claim fits a filter.
pub(super) fn fits(filter: &ClaimFilter, row: &ClaimRow) -> bool {
    filter.scope.as_ref().is_none_or(|scope| *scope == row.scope)
        && filter.status.is_none_or(|status: Status| status == row.status)
        && (filter.kinds.is_empty() || filter.kinds.contains(&row.kind))
        && filter.who.as_ref().is_none_or(|who| *who == row.who || row.agent.as_ref() == Some(who))
        && filter.needs_review.is_none_or(|review| review == row.flags.needs_review)
}

/// The lanes that a filter picks.
pub(super) fn picked(db: &Connection, filter: &ClaimFilter) -> Result<HashSet<i64>> {
    Ok(lanes(db, filter)?.iter().map(|lane| lane.n).collect())
}
