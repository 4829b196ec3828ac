//! Removes the effects of events that leave the log from the projections. If few events leave, SQLite scans the tables
//! that refer to them and have no index; if many do, the caller creates indexes for that
//! ([`crate::store::team::with_reference_indexes`]). The rest of the cost grows with these events, not with the file.

use std::collections::BTreeSet;

use rusqlite::params;

use super::{Projector, cards, claims, contests, review};
use crate::{
    domain::{
        CardId, ClaimId,
        derive::{self, CardKind},
    },
    store::{
        Result, levels,
        log::{self, LoadedEvent},
    },
};

/// The cards that the events of a list opened or settled: one scan for the whole list, or a search by index.
const CARDS_BY: &str = "SELECT id FROM cards
     WHERE author IN (SELECT value FROM json_each(?1)) OR settled IN (SELECT value FROM json_each(?1))";

/// Events that are leaving the log.
pub(in crate::store) struct LeavingEvents(Vec<LoadedEvent>);

impl Projector<'_> {
    /// Removes events from the projections, and marks as dirty what they had a part in. Then the caller must delete
    /// them from the log and call [`Projector::after_removal`].
    pub(in crate::store) fn withdraw_events(
        &mut self,
        numbers: impl IntoIterator<Item = i64>,
    ) -> Result<LeavingEvents> {
        let leaving: Vec<LoadedEvent> = numbers.into_iter().map(|n| log::load(self.db, n)).collect::<Result<_>>()?;
        // Mark for all events first, because what one of them did may be found through another.
        for event in &leaving {
            self.mark_dirty(event)?;
            self.mark_card(event)?;
            for waiting in levels::pointing_at(self.db, &event.id, event.scope)? {
                self.mark_dirty(&waiting)?;
            }
            if event.header.creates_claim() {
                self.mark_neighbours(event)?;
            }
        }
        self.mark_cards_by(&leaving)?;
        for event in &leaving {
            self.drop_acts(event)?;
            if derive::is_notice(&event.kind) {
                self.drop_notice(event)?;
            }
            self.drop_answer(event)?;
            if derive::is_chunk(&event.kind) {
                self.forget_chunk(event.n)?;
            }
            if event.header.creates_claim() {
                self.drop_claim(event)?;
            }
        }
        self.forget_dirty(&leaving);
        Ok(LeavingEvents(leaving))
    }

    /// Decides again about the events that the deleted events undid. [`Projector::finish`] does the rest.
    pub(in crate::store) fn after_removal(&mut self, LeavingEvents(events): &LeavingEvents) -> Result<()> {
        for event in events.iter().filter(|event| derive::is_undo(&event.kind)) {
            self.decide_targets(event)?;
        }
        self.forget_dirty(events);
        Ok(())
    }

    /// Marks as dirty the claims and cards that are related to a leaving claim.
    fn mark_neighbours(&mut self, claim: &LoadedEvent) -> Result<()> {
        let mut origins = BTreeSet::new();
        self.origins_of(claim.n, &mut origins)?;
        origins.remove(&contests::ContestOrigin::Claim(claim.n));
        self.dirty.origins.extend(origins);
        self.drop_contest(&claim.id)?;
        for other in self.carded_opponents(&claim.id)? {
            self.write_contradiction(claim.id, other, false)?;
        }
        let mut read = self
            .db
            .prepare_cached("SELECT k.id FROM card_members m JOIN cards k ON k.n = m.card WHERE m.member = ?1")?;
        for card in read.query_map([claim.id.0], |row| Ok(CardId(row.get(0)?)))? {
            let card = card?;
            self.dirty.rows.extend(cards::member_claims(self.db, &card)?);
            // Without the claim a circle of replacements, whose source is its card, no longer exists.
            self.db
                .prepare_cached("DELETE FROM card_sources WHERE card = ?1 AND src = ?1 AND kind = ?2")?
                .execute(params![card.0, CardKind::Contested as i64])?;
            self.dirty.cards.insert(card);
        }
        let mut read = self.db.prepare_cached("SELECT claim FROM live_acts WHERE successor = ?1")?;
        for replaced in read.query_map([claim.id.0], |row| row.get::<_, i64>(0))? {
            self.dirty.state_changed.insert(replaced?);
        }
        self.dirty.review.extend(review::dependents(self.db, &claim.id, claim.scope)?);
        Ok(())
    }

    /// Deletes the contest whose origin is a claim.
    fn drop_contest(&mut self, origin: &ClaimId) -> Result<()> {
        let kind = CardKind::Contested as i64;
        let mut read = self.db.prepare_cached("SELECT card FROM card_sources WHERE src = ?1 AND kind = ?2")?;
        let cards = read.query_map(params![origin.0, kind], |row| Ok(CardId(row.get(0)?)))?;
        for card in cards.collect::<rusqlite::Result<Vec<_>>>()? {
            self.dirty.rows.extend(cards::member_claims(self.db, &card)?);
            self.dirty.cards.insert(card);
        }
        self.db
            .prepare_cached("DELETE FROM card_sources WHERE src = ?1 AND kind = ?2")?
            .execute(params![origin.0, kind])?;
        Ok(())
    }

    /// Marks as dirty the cards that one of the events opened or settled.
    fn mark_cards_by(&mut self, leaving: &[LoadedEvent]) -> Result<()> {
        let numbers: Vec<i64> = leaving.iter().map(|event| event.n).collect();
        let mut read = self.db.prepare_cached(CARDS_BY)?;
        for card in read.query_map([serde_json::json!(numbers).to_string()], |row| Ok(CardId(row.get(0)?)))? {
            self.dirty.cards.insert(card?);
        }
        Ok(())
    }

    /// Deletes an event from the live acts of claims.
    fn drop_acts(&mut self, event: &LoadedEvent) -> Result<()> {
        for claim in self.claims_among(&event.header.targets, event.scope)? {
            let mut read = self.db.prepare_cached("SELECT successor FROM live_acts WHERE claim = ?1 AND act = ?2")?;
            let successors = read.query_map([claim, event.n], |row| log::optional_id_at(row, 0))?;
            let successors = successors.collect::<rusqlite::Result<Vec<_>>>()?;
            if successors.is_empty() {
                continue;
            }
            self.db.prepare_cached("DELETE FROM live_acts WHERE claim = ?1 AND act = ?2")?.execute([claim, event.n])?;
            self.db
                .prepare_cached(
                    "UPDATE claims SET forked = undone + (SELECT count(*) FROM live_acts WHERE claim = ?1) >= 2 WHERE n = ?1",
                )?
                .execute([claim])?;
            self.dirty.states.insert(claim);
            self.dirty.state_changed.insert(claim);
            for successor in successors.into_iter().flatten() {
                self.dirty.touched.extend(claims::in_scope(self.db, &successor, event.scope)?);
            }
        }
        Ok(())
    }

    /// Deletes a leaving claim from all tables.
    fn drop_claim(&mut self, claim: &LoadedEvent) -> Result<()> {
        if let Some(body) = log::body(self.db, claim.n)? {
            self.unindex(claim.n, &body)?;
        }
        self.write_dependencies(claim.n, &BTreeSet::new())?;
        self.drop_from_story(claim.n)?;
        for sql in [
            "DELETE FROM dependencies WHERE premise = ?1",
            "UPDATE lanes SET claims = claims - 1 WHERE n = (SELECT lane FROM claims WHERE n = ?1)",
            "DELETE FROM live_acts WHERE claim = ?1",
            "DELETE FROM causes WHERE claim = ?1",
            "DELETE FROM claims WHERE n = ?1",
        ] {
            self.db.prepare_cached(sql)?.execute([claim.n])?;
        }
        Ok(())
    }

    /// Removes leaving events from the dirty lists.
    fn forget_dirty(&mut self, leaving: &[LoadedEvent]) {
        let gone: BTreeSet<i64> = leaving.iter().map(|event| event.n).collect();
        let dirty = &mut self.dirty;
        for list in [
            &mut dirty.states,
            &mut dirty.state_changed,
            &mut dirty.status_changed,
            &mut dirty.texts,
            &mut dirty.review,
            &mut dirty.settled,
            &mut dirty.excepted,
            &mut dirty.notices,
            &mut dirty.chunks,
            &mut dirty.rows,
            &mut dirty.touched,
        ] {
            for n in &gone {
                list.remove(n);
            }
        }
        dirty.origins.retain(|origin| !matches!(origin, contests::ContestOrigin::Claim(n) if gone.contains(n)));
    }
}

/// Deletes outdated cards whose events are no longer in the log.
pub(in crate::store) fn forget_cards(db: &rusqlite::Connection) -> Result<()> {
    let mut read = db.prepare_cached(
        "SELECT k.n FROM cards k WHERE k.applies = 0 AND (
            NOT EXISTS (SELECT 1 FROM events WHERE n = k.author) OR EXISTS (
                SELECT 1 FROM card_members m
                WHERE m.card = k.n AND NOT EXISTS (SELECT 1 FROM events WHERE id = m.member)))",
    )?;
    for card in read.query_map([], |row| row.get::<_, i64>(0))?.collect::<rusqlite::Result<Vec<_>>>()? {
        db.prepare_cached("DELETE FROM card_members WHERE card = ?1")?.execute([card])?;
        db.prepare_cached("DELETE FROM cards WHERE n = ?1")?.execute([card])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::CARDS_BY;
    use crate::store::{open, team};

    #[test]
    fn while_many_events_leave_their_cards_are_found_by_index() {
        let db = open::temporary().unwrap();
        let plan = || {
            let mut read = db.prepare(&format!("EXPLAIN QUERY PLAN {CARDS_BY}")).unwrap();
            let steps = read.query_map(["[]"], |row| row.get::<_, String>(3)).unwrap();
            steps.collect::<rusqlite::Result<Vec<_>>>().unwrap().join("\n")
        };
        assert!(plan().contains("SCAN cards"), "{}", plan());
        let found = team::with_reference_indexes(&db, 1000, &team::REFERENCES_TO_EVENTS, || Ok(plan())).unwrap();
        assert!(!found.contains("SCAN cards"), "{found}");
        assert!(found.contains("leaving_authors") && found.contains("leaving_settled"), "{found}");
    }
}
