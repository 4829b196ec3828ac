//! Notices: what was done, and a person should have a look at.

use std::collections::HashSet;

use rusqlite::{Connection, params};

use super::{Place, claims::claim};
use crate::{
    domain::{ClaimId, EventId, Scope, derive::NOTICE_LIST},
    store::{
        NoticeRow, Page, Reader, Result,
        log::{self, Role},
    },
};

/// The most notices that are counted.
const MOST: usize = 10_000;

/// Which notices are looked at.
#[derive(Clone, Copy, Default)]
struct Which<'a> {
    scope: Option<i64>,
    claim: Option<&'a ClaimId>,
    /// Only warnings, or all but those.
    warned: Option<bool>,
    /// Only those before this place.
    before: Option<i64>,
}

/// The notices that nobody has seen and that are still true, newest first, at most `limit` of them.
fn open(db: &Connection, which: Which<'_>, limit: usize) -> Result<Vec<i64>> {
    let mut read = db.prepare_cached(
        "SELECT e.n FROM edges x JOIN events e ON e.n = x.src AND e.effective = 1
         JOIN edges t ON t.src = e.n AND t.role = 0 AND t.ord = 0
         JOIN claims c ON c.id = t.dst AND c.status = CASE e.kind WHEN 'local.retracted' THEN 2 ELSE 0 END
         WHERE x.dst = ?1 AND x.role = ?2 AND (?3 IS NULL OR e.scope = ?3) AND (?4 IS NULL OR t.dst = ?4)
           AND (?6 IS NULL OR (e.kind = 'local.warned') = ?6) AND (?7 IS NULL OR x.src < ?7)
           AND NOT EXISTS (
               SELECT 1 FROM edges s JOIN events seen ON seen.n = s.src AND seen.kind = 'local.seen' AND seen.effective = 1
               WHERE s.dst = e.id AND s.role = 0)
         ORDER BY x.src DESC LIMIT ?5",
    )?;
    let Which { scope, claim, warned, before } = which;
    let claim = claim.map(|claim| claim.0);
    let rows = read
        .query_map(params![NOTICE_LIST.0, Role::List as i64, scope, claim, limit, warned, before], |row| row.get(0))?;
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
    /// A page of the notices that nobody has seen and that are still true, newest first: only those of the guard's warnings, or all
    /// others.
    pub fn notices(
        &self,
        scope: Option<&Scope>,
        warned: bool,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<NoticeRow>> {
        let after = Place::parse(cursor)?;
        self.snapshot(|reader| {
            let scope = match scope {
                Some(scope) => match log::known_scope(&reader.db, scope)? {
                    Some(scope) => Some(scope),
                    None => return Ok(Page { items: Vec::new(), total: 0, at_least: false, next: None }),
                },
                None => None,
            };
            let which = Which { scope, warned: Some(warned), ..Which::default() };
            let mut places = open(&reader.db, which, MOST + 1)?;
            let counted = places.len();
            if cursor.is_some() {
                places = open(&reader.db, Which { before: Some(after.n), ..which }, limit.saturating_add(1))?;
            }
            let more = places.len() > limit;
            places.truncate(limit);
            let mut items = Vec::new();
            for n in &places {
                items.extend(reader.notice(*n)?);
            }
            let next = places.last().filter(|_| more).map(|n| Place { wall: 0, tick: 0, n: *n }.cursor());
            Ok(Page { items, total: counted.min(MOST), at_least: counted > MOST, next })
        })
    }

    /// The notices about a claim that nobody has seen.
    pub fn notices_of(&self, claim: &ClaimId) -> Result<Vec<EventId>> {
        self.snapshot(|reader| {
            let places = open(&reader.db, Which { claim: Some(claim), ..Which::default() }, MOST)?;
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
