//! Reads the tables as a [`Projection`], to compare it with the one computed from the log.

use std::collections::BTreeSet;

use super::{
    Reader, Result,
    log::{self, id_at},
    project::{kind_of, premises_of, status_of},
};
use crate::domain::{
    CardId, EventId, Flags,
    derive::{CardFacts, CardKind, ClaimFacts, Projection},
};

impl Reader {
    /// Returns the projections of the whole store as plain values.
    pub fn projection(&self) -> Result<Projection> {
        let mut all = Projection::default();
        let ids = |sql: &str, n: i64| -> Result<Vec<EventId>> {
            let mut read = self.db.prepare_cached(sql)?;
            Ok(read.query_map([n], |row| id_at(row, 0))?.collect::<rusqlite::Result<_>>()?)
        };
        all.undone = ids("SELECT id FROM events WHERE effective = ?1", 0)?.into_iter().collect();
        all.redacted = ids("SELECT id FROM events WHERE (body IS NULL) = ?1", 1)?.into_iter().collect();
        let mut read = self.db.prepare_cached(
            "SELECT n, id, scope, kind, status, contested, needs_review, excepted, undone, redacted FROM claims",
        )?;
        let mut rows = read.query([])?;
        while let Some(row) = rows.next()? {
            let (n, id, scope): (i64, EventId, i64) = (row.get(0)?, id_at(row, 1)?, row.get(2)?);
            let live = "SELECT e.id FROM live_acts a JOIN events e ON e.n = a.act WHERE a.claim = ?1
                        ORDER BY e.wall, e.tick, e.id";
            let successors = "SELECT successor FROM live_acts WHERE claim = ?1 AND successor IS NOT NULL";
            let facts = ClaimFacts {
                scope: log::scope_by_number(&self.db, scope)?,
                kind: kind_of(row.get(3)?)?,
                status: status_of(row.get(4)?),
                flags: Flags {
                    contested: row.get(5)?,
                    needs_review: row.get(6)?,
                    excepted: row.get(7)?,
                    expired: false,
                    undone: row.get(8)?,
                    redacted: row.get(9)?,
                },
                live: ids(live, n)?,
                replaced_by: ids(successors, n)?.into_iter().collect(),
                premises: premises_of(&self.db, &id, scope)?.into_iter().collect(),
                dependents: ids(
                    "SELECT c.id FROM dependencies r JOIN claims c ON c.n = r.claim WHERE r.premise = ?1",
                    n,
                )?
                .into_iter()
                .collect(),
                causes: ids("SELECT cause FROM causes WHERE claim = ?1", n)?.into_iter().collect(),
            };
            all.claims.insert(id, facts);
        }
        let mut read = self.db.prepare_cached(
            "SELECT k.n, k.id, k.kind, k.scope, k.open, k.moot, s.id, k.snoozed FROM cards k
             LEFT JOIN events s ON s.n = k.settled WHERE k.applies = 1 AND k.kind <> ?1",
        )?;
        // Cards of stories are written by a background pass and do not follow directly from the events.
        let mut rows = read.query([CardKind::Story as i64])?;
        while let Some(row) = rows.next()? {
            let kind: i64 = row.get(2)?;
            let members = ids("SELECT member FROM card_members WHERE card = ?1", row.get(0)?)?;
            let facts = CardFacts {
                kind: CardKind::ALL.into_iter().find(|known| *known as i64 == kind).unwrap_or(CardKind::Found),
                scope: log::scope_by_number(&self.db, row.get(3)?)?,
                open: row.get(4)?,
                moot: row.get(5)?,
                members: members.into_iter().collect::<BTreeSet<_>>(),
                settled: log::optional_id_at(row, 6)?,
                snoozed_until: row.get::<_, Option<i64>>(7)?.map(i64::unsigned_abs),
            };
            all.cards.insert(CardId(row.get(1)?), facts);
        }
        Ok(all)
    }
}
