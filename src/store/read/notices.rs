//! Notices: what was done, and a person should have a look at.

use std::collections::HashSet;

use rusqlite::{Connection, params};

use super::claims::claim;
use crate::{
    domain::{ClaimId, EventId, Scope, derive::NOTICE_LIST},
    store::{
        NoticeRow, Reader, Result,
        log::{self, Role},
    },
};

/// The most notices that are looked at: those that come after are counted no more.
const MOST: usize = 10_000;

/// The notices of a scope, or of a claim, that nobody has seen and that are still true, newest first; only warnings, or all but those,
/// where `warned` says so.
fn open(db: &Connection, scope: Option<i64>, claim: Option<&ClaimId>, warned: Option<bool>) -> Result<Vec<i64>> {
    let mut read = db.prepare_cached(
        "SELECT e.n FROM edges x JOIN events e ON e.n = x.src AND e.effective = 1
         JOIN edges t ON t.src = e.n AND t.role = 0 AND t.ord = 0
         JOIN claims c ON c.id = t.dst AND c.status = CASE e.kind WHEN 'local.retracted' THEN 2 ELSE 0 END
         WHERE x.dst = ?1 AND x.role = ?2 AND (?3 IS NULL OR e.scope = ?3) AND (?4 IS NULL OR t.dst = ?4)
           AND (?6 IS NULL OR (e.kind = 'local.warned') = ?6)
           AND NOT EXISTS (
               SELECT 1 FROM edges s JOIN events seen ON seen.n = s.src AND seen.kind = 'local.seen' AND seen.effective = 1
               WHERE s.dst = e.id AND s.role = 0)
         ORDER BY x.src DESC LIMIT ?5",
    )?;
    let claim = claim.map(|claim| claim.0);
    let rows =
        read.query_map(params![NOTICE_LIST.0, Role::List as i64, scope, claim, MOST, warned], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The claims, by their places, that were stored with a warning, seen or not.
pub(super) fn warned(db: &Connection) -> Result<HashSet<i64>> {
    let mut read = db.prepare_cached(
        "SELECT c.n FROM edges x JOIN events e ON e.n = x.src AND e.effective = 1 AND e.kind = 'local.warned'
         JOIN edges t ON t.src = e.n AND t.role = 0 AND t.ord = 0
         JOIN claims c ON c.id = t.dst
         WHERE x.dst = ?1 AND x.role = ?2 ORDER BY x.src DESC LIMIT ?3",
    )?;
    let rows = read.query_map(params![NOTICE_LIST.0, Role::List as i64, MOST], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The claims, by their places, that stand on an open card.
pub(super) fn disputed(db: &Connection) -> Result<HashSet<i64>> {
    let mut read = db.prepare_cached(
        "SELECT DISTINCT c.n FROM cards k JOIN card_members m ON m.card = k.n JOIN claims c ON c.id = m.member
         WHERE k.open = 1 LIMIT ?1",
    )?;
    let rows = read.query_map([MOST], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

impl Reader {
    /// The notices that nobody has seen and that are still true, newest first: at most `limit` of them, and how many there are. Only those
    /// of the guard's warnings, or all others.
    pub fn notices(&self, scope: Option<&Scope>, warned: bool, limit: usize) -> Result<(Vec<NoticeRow>, usize)> {
        self.snapshot(|reader| {
            let scope = match scope {
                Some(scope) => match log::known_scope(&reader.db, scope)? {
                    Some(scope) => Some(scope),
                    None => return Ok((Vec::new(), 0)),
                },
                None => None,
            };
            let places = open(&reader.db, scope, None, Some(warned))?;
            let mut rows = Vec::new();
            for n in places.iter().take(limit) {
                rows.extend(reader.notice(*n)?);
            }
            Ok((rows, places.len()))
        })
    }

    /// The notices about a claim that nobody has seen.
    pub fn notices_of(&self, claim: &ClaimId) -> Result<Vec<EventId>> {
        self.snapshot(|reader| {
            let places = open(&reader.db, None, Some(claim), None)?;
            places.into_iter().map(|n| Ok(log::load(&reader.db, n)?.id)).collect()
        })
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
