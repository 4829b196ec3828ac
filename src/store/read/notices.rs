//! Reads the notices that a person should review.

use std::collections::HashSet;

use rusqlite::{Connection, params};

use super::{ListPosition, claims::claim};
use crate::{
    domain::{ClaimId, EventId, Scope},
    store::{NoticeRow, Page, Reader, Result, log},
};

/// Returns the row numbers of the claims that were stored with a warning, seen or not. Not limited: the filter for
/// clean claims would list those that are missing.
pub(super) fn warned(db: &Connection) -> Result<HashSet<i64>> {
    let mut read =
        db.prepare_cached("SELECT claim FROM notices WHERE warned = 1 AND state > 0 AND claim IS NOT NULL")?;
    let rows = read.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the row numbers of the claims on open cards.
pub(super) fn disputed(db: &Connection) -> Result<HashSet<i64>> {
    let mut read = db.prepare_cached(
        "SELECT DISTINCT c.n FROM cards k JOIN card_members m ON m.card = k.n JOIN claims c ON c.id = m.member
         WHERE k.open = 1",
    )?;
    let rows = read.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

impl Reader {
    /// Returns a page of the notices that nobody has seen and that still apply, newest first: the guard's warnings if
    /// `warned`, else all others.
    pub fn notices(
        &self,
        scope: Option<&Scope>,
        warned: bool,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<NoticeRow>> {
        let after = ListPosition::parse(cursor)?;
        self.snapshot(|reader| {
            let Some(log::WantedScope(scope)) = log::wanted_scope(&reader.db, scope)? else {
                return Ok(Page { items: Vec::new(), total: 0, at_least: false, next: None });
            };
            // Separate conditions with and without a scope, so that an index applies to each.
            let here = if scope.is_some() { "scope = ?2" } else { "?2 IS NULL" };
            let open = format!("FROM notices WHERE state = 2 AND warned = ?1 AND {here}");
            let mut count = reader.db.prepare_cached(&format!("SELECT count(*) {open}"))?;
            let total = count.query_row(params![warned, scope], |row| row.get(0))?;
            let mut read = reader.db.prepare_cached(&format!("SELECT n {open} AND n < ?3 ORDER BY n DESC LIMIT ?4"))?;
            let numbers = read.query_map(params![warned, scope, after.n, limit.saturating_add(1)], |row| row.get(0))?;
            let mut numbers: Vec<i64> = numbers.collect::<rusqlite::Result<_>>()?;
            let more = numbers.len() > limit;
            numbers.truncate(limit);
            let mut items = Vec::new();
            for n in &numbers {
                items.extend(reader.notice(*n)?);
            }
            let next = numbers.last().filter(|_| more).map(|n| ListPosition { wall: 0, tick: 0, n: *n }.cursor());
            Ok(Page { items, total, at_least: false, next })
        })
    }

    /// Returns the notices about a claim that nobody has seen and that still apply, newest first.
    pub fn notices_of(&self, claim: &ClaimId) -> Result<Vec<EventId>> {
        let mut read = self.db.prepare_cached(
            "SELECT e.id FROM claims c JOIN notices x ON x.claim = c.n JOIN events e ON e.n = x.n
             WHERE c.id = ?1 AND x.state = 2 ORDER BY x.n DESC",
        )?;
        let rows = read.query_map([claim.0], |row| log::id_at(row, 0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn notice(&self, n: i64) -> Result<Option<NoticeRow>> {
        let event = self.event_row(log::load(&self.db, n)?)?;
        let mut claims = Vec::new();
        for id in &event.targets {
            claims.extend(claim(&self.db, id)?);
        }
        if claims.is_empty() {
            return Ok(None);
        }
        let about = claims.remove(0);
        Ok(Some(NoticeRow { event, claim: about, against: claims }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_claim_with_a_warning_is_found_however_many_there_are() {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch(
            "CREATE TABLE notices (n INTEGER PRIMARY KEY, warned INTEGER, state INTEGER, claim INTEGER);
             WITH RECURSIVE ns (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM ns WHERE n < 20001)
             INSERT INTO notices SELECT n, 1, 1, n FROM ns",
        )
        .unwrap();
        assert_eq!(warned(&db).unwrap().len(), 20_001);
    }
}
