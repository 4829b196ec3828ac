//! Maintains the rows of claims: flags, lanes with their counts, and revs.

use rusqlite::{OptionalExtension, params};

use super::{Projector, claims};
use crate::{
    domain::{Status, derive::CardKind},
    store::{Result, log::id_at},
};

/// The columns of a claim's row that can change.
#[derive(PartialEq, Eq)]
struct Row {
    contested: bool,
    needs_review: bool,
    redacted: bool,
    lane: Option<i64>,
}

impl Projector<'_> {
    /// Updates the rows of the claims that changed, moves the claims between lanes, and gives them a new rev.
    pub(super) fn update_rows(&mut self) -> Result<()> {
        let all: Vec<i64> = self.dirty.rows.union(&self.dirty.touched).copied().collect();
        for n in all {
            self.update_row(n)?;
        }
        Ok(())
    }

    fn update_row(&mut self, n: i64) -> Result<()> {
        let read = "SELECT c.id, c.scope, c.kind, c.status, c.contested, c.needs_review, c.redacted, c.lane, e.who,
                coalesce(e.agent, ''), e.body IS NULL,
                EXISTS (SELECT 1 FROM causes WHERE claim = c.n),
                EXISTS (SELECT 1 FROM card_sources WHERE src = c.id AND kind = ?2 AND open = 1)
                OR EXISTS (SELECT 1 FROM card_members m JOIN cards k ON k.n = m.card
                    JOIN card_sources s ON s.card = k.id AND s.kind = ?2 AND s.open = 1 WHERE m.member = c.id)
             FROM claims c JOIN events e ON e.n = c.n WHERE c.n = ?1";
        let mut read = self.db.prepare_cached(read)?;
        let found = read
            .query_row(params![n, CardKind::Contested as i64], |row| {
                let status: i64 = row.get(3)?;
                let old =
                    Row { contested: row.get(4)?, needs_review: row.get(5)?, redacted: row.get(6)?, lane: row.get(7)? };
                let active = claims::status_of(status) == Status::Active;
                let new = Row {
                    contested: row.get(12)?,
                    needs_review: active && row.get::<_, bool>(11)?,
                    redacted: row.get(10)?,
                    lane: None,
                };
                let who: (String, String) = (row.get(8)?, row.get(9)?);
                Ok((id_at(row, 0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?, status, who, old, new))
            })
            .optional()?;
        drop(read);
        // The touched event is not a claim.
        let Some((id, scope, kind, status, (who, agent), old, mut new)) = found else { return Ok(()) };
        let lane = params![scope, kind, status, new.needs_review, who, agent];
        new.lane = Some(
            self.db
                .prepare_cached(
                    "INSERT INTO lanes (scope, kind, status, review, who, agent) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                     ON CONFLICT DO UPDATE SET claims = claims RETURNING n",
                )?
                .query_row(lane, |row| row.get(0))?,
        );
        if old.lane != new.lane {
            let mut count = self.db.prepare_cached("UPDATE lanes SET claims = claims + ?2 WHERE n = ?1")?;
            count.execute(params![new.lane, 1])?;
            if let Some(left) = old.lane {
                count.execute([left, -1])?;
            }
        }
        let changed = old != new || self.dirty.state_changed.contains(&n);
        if !changed && !self.dirty.touched.contains(&n) {
            return Ok(());
        }
        let rev = self.next_rev();
        self.db
            .prepare_cached(
                "UPDATE claims SET contested = ?2, needs_review = ?3, redacted = ?4, lane = ?5, rev = ?6 WHERE n = ?1",
            )?
            .execute(params![n, new.contested, new.needs_review, new.redacted, new.lane, rev])?;
        if changed || self.dirty.excepted.contains(&n) {
            self.changes.claims.push(id);
        }
        if new.needs_review && !old.needs_review {
            self.changes.needs_review.push(id);
        }
        Ok(())
    }
}
