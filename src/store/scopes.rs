//! Scopes, and the project identities that they are bound to.

use rusqlite::{Connection, OptionalExtension, params};

use super::{Reader, Result, ScopeRow, log};
use crate::domain::{Scope, Status};

/// A count of the events of both logs, up to an event. [`Reader::counts_since`] adds later events.
#[derive(Clone, Copy, Debug, Default)]
pub struct EventTally {
    events: usize,
    /// The row number of the last event that was counted.
    last: i64,
    /// The value of [`log::move_count`] when it was counted.
    move_count: i64,
}

/// The number of names `name-2`, `name-3`, … that are tried. If a machine has more clones of one name, they share the
/// last.
const MAX_NAMESAKES: usize = 1000;

/// Returns the scope for an identity: the named one unless it is bound to another identity, else `name-2`, `name-3`, …
pub(super) fn scope_for(db: &Connection, scope: &Scope, identity: Option<&str>) -> Result<Scope> {
    scope.check()?;
    // The organisation's level has no folder, so it is never bound to an identity.
    let identity = identity.filter(|_| scope.level().is_project());
    let Some(identity) = identity else { return Ok(scope.clone()) };
    let mut name = scope.clone();
    let mut read = db.prepare_cached("SELECT identity FROM scopes WHERE org = ?1 AND project = ?2")?;
    for number in 2..=MAX_NAMESAKES {
        let bound: Option<Option<String>> =
            read.query_row([&name.org_id, &name.project], |row| row.get(0)).optional()?;
        match bound.flatten() {
            Some(other) if other != identity => name.project = format!("{}-{number}", scope.project),
            _ => break,
        }
    }
    name.check()?;
    Ok(name)
}

/// Returns [`scope_for`] an identity, and binds the scope to the identity if it was unbound.
pub(super) fn bind(db: &Connection, scope: &Scope, identity: Option<&str>) -> Result<Scope> {
    let scope = scope_for(db, scope, identity)?;
    let identity = identity.filter(|_| scope.level().is_project());
    let n = log::scope_number(db, &scope)?;
    if let Some(identity) = identity {
        db.prepare_cached("UPDATE scopes SET identity = ?2 WHERE n = ?1 AND identity IS NULL")?
            .execute(params![n, identity])?;
    }
    Ok(scope)
}

impl Reader {
    /// Returns the scope that an act in `scope` with this identity goes to: the same, or `name-2`, `name-3`, … if the
    /// name is bound to another identity. Binds nothing: [`super::Store::commit`] does.
    pub fn scope_for(&self, scope: &Scope, identity: Option<&str>) -> Result<Scope> {
        scope_for(&self.db, scope, identity)
    }

    /// Returns all scopes except those of rosters, by name. `now` decides which cards are snoozed.
    pub fn scopes(&self, now: u64) -> Result<Vec<ScopeRow>> {
        let mut read = self.db.prepare_cached(
            "SELECT s.org, s.project, s.identity, s.latest,
                (SELECT coalesce(sum(claims), 0) FROM lanes WHERE scope = s.n AND status = 0),
                (SELECT coalesce(sum(claims), 0) FROM lanes WHERE scope = s.n),
                (SELECT count(*) FROM cards WHERE scope = s.n AND open = 1 AND coalesce(snoozed, 0) <= ?1),
                (SELECT coalesce(sum(claims), 0) FROM lanes WHERE scope = s.n AND status = 0 AND review = 1)
             FROM scopes s WHERE s.org <> '@team' ORDER BY s.org, s.project",
        )?;
        let rows = read.query_map([log::wall(now)], |row| {
            Ok(ScopeRow {
                scope: Scope { org_id: row.get(0)?, project: row.get(1)? },
                identity: row.get(2)?,
                latest: row.get::<_, i64>(3)?.unsigned_abs(),
                active: row.get(4)?,
                total: row.get(5)?,
                open_cards: row.get(6)?,
                needs_review: row.get(7)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the remote URL or git common directory that a scope is bound to.
    pub fn scope_identity(&self, scope: &Scope) -> Result<Option<String>> {
        let mut read = self.db.prepare_cached("SELECT identity FROM scopes WHERE org = ?1 AND project = ?2")?;
        Ok(read.query_row([&scope.org_id, &scope.project], |row| row.get(0)).optional()?.flatten())
    }

    /// Returns counts over the whole store, without rosters. `now` decides which cards are snoozed.
    pub fn counts(&self, now: u64) -> Result<super::StoreCounts> {
        self.counts_since(&mut EventTally::default(), now)
    }

    /// Returns [`Reader::counts`], counting only the events since the tally.
    pub fn counts_since(&self, tally: &mut EventTally, now: u64) -> Result<super::StoreCounts> {
        self.snapshot(|reader| {
            reader.count_events(tally)?;
            reader.counts_with(tally.events, now)
        })
    }

    fn count_events(&self, tally: &mut EventTally) -> Result<()> {
        let move_count = log::move_count(&self.db)?;
        if move_count != tally.move_count {
            *tally = EventTally { move_count, ..EventTally::default() };
        }
        let mut read = self.db.prepare_cached("SELECT count(*), coalesce(max(n), ?1) FROM events WHERE n > ?1")?;
        let (more, last): (usize, i64) = read.query_row([tally.last], |row| Ok((row.get(0)?, row.get(1)?)))?;
        (tally.events, tally.last) = (tally.events + more, last);
        Ok(())
    }

    fn counts_with(&self, events: usize, now: u64) -> Result<super::StoreCounts> {
        let mut read = self.db.prepare_cached(
            "SELECT (SELECT coalesce(sum(events), 0) FROM team_scopes WHERE roster = 1),
                (SELECT coalesce(sum(claims), 0) FROM lanes),
                (SELECT coalesce(sum(claims), 0) FROM lanes WHERE status = 0),
                (SELECT count(*) FROM cards WHERE open = 1 AND coalesce(snoozed, 0) <= ?1),
                (SELECT coalesce(sum(claims), 0) FROM lanes WHERE status = 0 AND review = 1)",
        )?;
        Ok(read.query_row([log::wall(now)], |row| {
            Ok(super::StoreCounts {
                events: events.saturating_sub(row.get(0)?),
                claims: row.get(1)?,
                active: row.get(2)?,
                open_cards: row.get(3)?,
                needs_review: row.get(4)?,
            })
        })?)
    }

    /// Returns the number of claims of a scope with a status.
    pub fn count(&self, scope: &Scope, status: Status) -> Result<usize> {
        let filter =
            super::ClaimFilter { scope: Some(scope.clone()), status: Some(status), ..super::ClaimFilter::default() };
        super::read::pages::total(&self.db, &filter)
    }
}
