//! Updates the projections for events that are new in the log.
//!
//! Each step reads from the tables what a rule of [`crate::domain::derive`] needs, applies the rule, and records what
//! changed for the steps after it: effect → state of claims → indexes → review → contests and contradictions → cards →
//! rows. Each step recomputes what it touches from the whole log, so that the result does not depend on the order of
//! arrival.

mod card_report;
mod cards;
mod chunks;
mod claim_index;
mod claim_rows;
mod claims;
mod contests;
mod effect;
mod notices;
mod pairs;
mod redact;
mod review;
mod story_marks;
mod withdraw;

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;

use super::{
    Result, levels,
    log::{self, AppendOutcome, EdgeRole, EventOrigin, LoadedEvent},
    open,
};
use crate::domain::{
    CardId, ClaimId, EventId,
    derive::{self, local},
    event::{EventKind, ResolveAct},
    guard_report::PairCheck,
    judgement::judged_pair,
    verified::Verified,
};

pub(in crate::store) use card_report::report_of;
pub(in crate::store) use cards::events_of_card;
pub(in crate::store) use chunks::content_of;
pub(in crate::store) use claim_index::{
    IN_TEXT_INDEX, IN_VECTOR_INDEX, REASON_CHECKED, collapsed, content_hash, fact_term, pair_term, phrase_key,
    scope_word, stemmed, subject_term,
};
pub(in crate::store) use claims::{kind_code, kind_of, status_code, status_of};
pub(in crate::store) use contests::SuccessionLine;
pub(in crate::store) use notices::wrong_notices;
pub(in crate::store) use review::{premises as premises_of, wrong_counts};
pub(in crate::store) use story_marks::{is_mark_shown, mark_members, story_answers, story_word};
pub(in crate::store) use withdraw::forget_cards;

/// What a projector has yet to recompute. Claims, chunks and notices are given by row number.
#[derive(Default)]
struct Dirty {
    /// Claims whose state may have changed.
    states: BTreeSet<i64>,
    /// Claims whose state did change: status, undone flag or live acts.
    state_changed: BTreeSet<i64>,
    /// Claims whose status changed, or that are new.
    status_changed: BTreeSet<i64>,
    /// Claims whose words were added or removed.
    texts: BTreeSet<i64>,
    /// Claims whose premises or acknowledgements changed.
    review: BTreeSet<i64>,
    /// Claims of pairs that may have been settled or reopened.
    settled: BTreeSet<i64>,
    /// Claims that may have become, or ceased to be, exceptions.
    excepted: BTreeSet<i64>,
    /// Contests to recompute, besides those of the claims in `state_changed`.
    origins: BTreeSet<contests::ContestOrigin>,
    /// Cards to recompute.
    cards: BTreeSet<CardId>,
    /// Members of cards whose contest, contradiction or mark was just derived.
    members: BTreeMap<CardId, BTreeSet<ClaimId>>,
    /// Chunks that may have been added or removed.
    chunks: BTreeSet<i64>,
    /// Scopes, categories and rules of story marks to which an answer was added or removed.
    answers: BTreeSet<story_marks::MarkSort>,
    /// Notices that may have been added, removed or seen, or whose claim may have changed.
    notices: BTreeSet<i64>,
    /// Claims whose row must be recomputed.
    rows: BTreeSet<i64>,
    /// Claims of which something outside the row changed, so that they get a new rev.
    touched: BTreeSet<i64>,
}

/// What the projector changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// Claims whose state changed.
    pub claims: Vec<ClaimId>,
    /// Those of `claims` that need review since then.
    pub needs_review: Vec<ClaimId>,
    /// Cards that were opened or changed.
    pub cards: Vec<CardId>,
    /// Those of `cards` that were opened.
    pub opened: Vec<CardId>,
    /// Bytes were redacted that must not stay in the write-ahead log.
    pub redacted: bool,
}

/// Appends events and brings the projections up to date, within the caller's transaction.
pub(super) struct Projector<'a> {
    db: &'a Connection,
    check: &'a dyn PairCheck,
    dirty: Dirty,
    new: Vec<i64>,
    rev: i64,
    changes: Changes,
}

impl<'a> Projector<'a> {
    pub(super) fn new(db: &'a Connection, check: &'a dyn PairCheck) -> Result<Self> {
        let rev = open::setting(db, "rev")?.unwrap_or(0);
        Ok(Self { db, check, dirty: Dirty::default(), new: Vec::new(), rev, changes: Changes::default() })
    }

    /// Appends an event. [`Projector::finish`] updates the projections.
    pub(super) fn append(&mut self, event: Verified<'_>, scope: i64, origin: EventOrigin) -> Result<AppendOutcome> {
        let appended = log::append(self.db, event, scope, origin)?;
        match appended {
            AppendOutcome::New(n) => self.new.push(n),
            AppendOutcome::Filled(n) => self.apply_body(n)?,
            AppendOutcome::Known => {}
        }
        Ok(appended)
    }

    /// Projects an event that is in the log but not in the projections.
    pub(super) fn replay(&mut self, n: i64) {
        self.new.push(n);
    }

    /// Brings the projections up to date and returns what changed.
    pub(super) fn finish(mut self) -> Result<Changes> {
        let new = std::mem::take(&mut self.new);
        // Insert all claims first, because what one event does may reach the claim of another.
        for n in &new {
            let event = log::load(self.db, *n)?;
            if event.header.creates_claim() {
                claims::insert(self.db, &event)?;
                self.dirty.status_changed.insert(*n);
                self.dirty.state_changed.insert(*n);
                self.dirty.texts.insert(*n);
            }
            self.link_card(&event)?;
        }
        for n in new {
            self.apply_event(n)?;
        }
        self.settle_states()?;
        self.update_notices()?;
        self.update_indexes()?;
        self.update_review()?;
        self.update_contests()?;
        self.update_contradictions()?;
        self.update_exceptions()?;
        self.update_story()?;
        self.update_cards()?;
        self.update_chunks()?;
        let texts = std::mem::take(&mut self.dirty.texts);
        self.dirty.rows.extend(texts);
        self.update_rows()?;
        open::set(self.db, "rev", self.rev)?;
        Ok(self.changes)
    }

    fn next_rev(&mut self) -> i64 {
        self.rev += 1;
        self.rev
    }

    /// Applies one new event, and the events that arrived before it and point to it.
    fn apply_event(&mut self, n: i64) -> Result<()> {
        let event = log::load(self.db, n)?;
        self.apply_redactions(&event)?;
        let effective = self.apply_effect(&event)?;
        self.mark_dirty(&LoadedEvent { effective, ..event.clone() })?;
        for waiting in levels::pointing_at(self.db, &event.id, event.scope)? {
            self.mark_dirty(&waiting)?;
        }
        Ok(())
    }

    /// Applies the body of a known event, which arrived later than its header.
    fn apply_body(&mut self, n: i64) -> Result<()> {
        let event = log::load(self.db, n)?;
        self.link_card(&event)?;
        self.apply_redactions(&event)?;
        if event.header.creates_claim() {
            self.dirty.texts.insert(n);
        }
        self.mark_dirty(&event)
    }

    /// Marks as dirty what may have changed because an event is new, or because its effect changed.
    fn mark_dirty(&mut self, event: &LoadedEvent) -> Result<()> {
        if event.header.creates_claim() {
            self.dirty.states.insert(event.n);
        }
        match &event.kind {
            EventKind::Supersede | EventKind::Retract | EventKind::Reinstate | EventKind::FactSet => {
                let targets = self.claims_among(&event.header.targets, event.scope)?;
                self.dirty.states.extend(targets);
                if let Some(successor) = event.header.successor {
                    let successor = self.claims_among(&[successor], event.scope)?;
                    self.dirty.touched.extend(successor);
                }
            }
            EventKind::Resolve(ResolveAct::Reviewed) => {
                let targets = self.claims_among(&event.header.targets, event.scope)?;
                self.dirty.review.extend(targets);
            }
            EventKind::Resolve(_) => {
                let targets = self.claims_among(&event.header.targets, event.scope)?;
                self.dirty.excepted.extend(&targets);
                self.dirty.settled.extend(targets);
                if event.kind == EventKind::Resolve(ResolveAct::Narrow)
                    && let Some(level) = levels::above(self.db, event.scope)?
                {
                    let narrowed = self.claims_among(&event.header.targets, level)?;
                    self.dirty.settled.extend(narrowed);
                }
                self.dirty.settled.extend(claims::created_with(self.db, event)?);
                self.mark_answer(event)?;
                self.mark_card(event)?;
            }
            EventKind::Depend => {
                let claims = self.claims_among(&event.header.targets, event.scope)?;
                self.dirty.touched.extend(&claims);
                // Only the premises of the first target changed, not those of the other targets or of their dependents.
                if let Some(first) = event.header.targets.first() {
                    self.dirty.review.extend(claims::in_scope(self.db, first, event.scope)?);
                }
            }
            EventKind::Promote => {
                let claims = self.claims_among(&event.header.targets, event.scope)?;
                self.dirty.touched.extend(claims);
            }
            EventKind::Judgement(_) => {
                let claims = self.claims_among(&event.header.targets, event.scope)?;
                self.dirty.touched.extend(claims);
            }
            EventKind::Local(kind) => self.mark_local(event, kind)?,
            EventKind::Chunk | EventKind::ChunkGone => self.mark_chunks(event)?,
            EventKind::Assert
            | EventKind::Observe
            | EventKind::Undo
            | EventKind::Redact
            | EventKind::Roster(_)
            | EventKind::Unknown(_) => {}
        }
        Ok(())
    }

    fn mark_local(&mut self, event: &LoadedEvent, kind: &str) -> Result<()> {
        self.mark_notices(event)?;
        match kind {
            local::CHUNK | local::CHUNK_GONE => self.mark_chunks(event)?,
            local::EVIDENCE => {
                if let Some(refusal) = event.header.targets.first()
                    && let Some(refusal) = log::load_id(self.db, refusal)?
                {
                    self.mark_card(&refusal)?;
                }
            }
            local::SETTLED => {
                self.mark_card(event)?;
                // The card of the new claim may now show what the same act resolved, instead of cards of their own.
                for other in self.events_of_act(event)? {
                    if matches!(other.kind, EventKind::Resolve(_)) {
                        self.mark_card(&other)?;
                    }
                }
            }
            _ => self.mark_card(event)?,
        }
        Ok(())
    }

    fn mark_card(&mut self, event: &LoadedEvent) -> Result<()> {
        let cards = cards::cards_of_event(self.db, event.n)?;
        self.dirty.cards.extend(cards);
        Ok(())
    }

    /// Returns the events of the same act by the same device in the same scope.
    fn events_of_act(&self, event: &LoadedEvent) -> Result<Vec<LoadedEvent>> {
        let mut read = self.db.prepare_cached(log::select_loaded!(
            "events e WHERE e.op = ?1 AND e.author = ?2 AND e.scope = ?3 ORDER BY e.n"
        ))?;
        let rows = read
            .query_map(rusqlite::params![event.header.op.0, event.header.author.0, event.scope], LoadedEvent::read)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the row numbers of those ids that are claims of this scope.
    fn claims_among(&self, ids: &[EventId], scope: i64) -> Result<Vec<i64>> {
        let mut found = Vec::new();
        for id in ids {
            found.extend(claims::in_scope(self.db, id, scope)?);
        }
        Ok(found)
    }

    /// Stores an edge to the card that an event creates or refers to, or to the pair that it judges, so that events can
    /// be found by card and pair.
    fn link_card(&self, event: &LoadedEvent) -> Result<()> {
        if matches!(event.kind, EventKind::Judgement(_)) {
            return self.link_pair(event);
        }
        let speaks = matches!(event.kind, EventKind::Resolve(_) | EventKind::Local(_));
        if !speaks {
            return Ok(());
        }
        self.db
            .prepare_cached("DELETE FROM edges WHERE src = ?1 AND role = ?2")?
            .execute([event.n, EdgeRole::Card as i64])?;
        let body = log::body(self.db, event.n)?;
        if let Some(card) = derive::card_of(event.id, &event.header, body.as_ref()) {
            log::add_edge(self.db, event.n, EdgeRole::Card, 0, &EventId(card.0))?;
        }
        Ok(())
    }

    fn link_pair(&self, event: &LoadedEvent) -> Result<()> {
        self.db
            .prepare_cached("DELETE FROM edges WHERE src = ?1 AND role = ?2")?
            .execute([event.n, EdgeRole::Pair as i64])?;
        let body = log::body(self.db, event.n)?;
        if let Some(pair) = judged_pair(&event.header, body.as_ref()) {
            log::add_edge(self.db, event.n, EdgeRole::Pair, 0, &pair)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
