//! Recomputes cards from their events and claims.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, params};

use super::{Projector, claim_index, claims, contests::SuccessionLine, pairs, story_marks};
use crate::{
    domain::{
        CardId, ClaimId, EventId, Hlc, Qualifiers, Status,
        derive::{self, CardKind, all_settled, local},
        event::EventKind,
    },
    store::{
        Result, levels,
        log::{self, EdgeRole, LoadedEvent, id_at},
    },
};

/// A card as it is derived from the log.
struct Card {
    kind: CardKind,
    scope: i64,
    open: bool,
    moot: bool,
    members: Vec<EventId>,
    new_claim: Option<EventId>,
    content: Option<[u8; 32]>,
    clock: Hlc,
    author: i64,
    settled: Option<i64>,
    snoozed: Option<i64>,
    story: Option<(i64, i64)>,
}

/// A claim on a card.
struct Member {
    n: i64,
    id: ClaimId,
    clock: Hlc,
    active: bool,
    scope: i64,
    /// The claim is of the scope of the card, and not of the organisation's level.
    own: bool,
}

/// Returns the cards that an event creates or refers to.
pub(super) fn cards_of_event(db: &Connection, n: i64) -> Result<Vec<CardId>> {
    let mut read = db.prepare_cached("SELECT dst FROM edges WHERE src = ?1 AND role = ?2")?;
    let rows = read.query_map([n, EdgeRole::Card as i64], |row| Ok(CardId(row.get(0)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns whether a card follows from the events without the story, so that no story card asks about its claims, too.
fn covers_stories(db: &Connection, card: &CardId) -> Result<bool> {
    let mut read =
        db.prepare_cached("SELECT EXISTS (SELECT 1 FROM card_sources WHERE card = ?1 AND kind IN (?2, ?3))")?;
    let kinds = [CardKind::Contradiction as i64, CardKind::Contested as i64];
    Ok(read.query_row(params![card.0, kinds[0], kinds[1]], |row| row.get(0))?)
}

/// Returns the members of a card as they are stored.
fn members_of(db: &Connection, card: &CardId) -> Result<BTreeSet<EventId>> {
    let mut read =
        db.prepare_cached("SELECT m.member FROM cards k JOIN card_members m ON m.card = k.n WHERE k.id = ?1")?;
    let rows = read.query_map([card.0], |row| id_at(row, 0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the row numbers of the claims on a card.
pub(super) fn member_claims(db: &Connection, card: &CardId) -> Result<Vec<i64>> {
    let mut read = db.prepare_cached(
        "SELECT c.n FROM cards k JOIN card_members m ON m.card = k.n JOIN claims c ON c.id = m.member
         WHERE k.id = ?1",
    )?;
    let rows = read.query_map([card.0], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the effective events that create or refer to a card, the earliest first.
pub(in crate::store) fn events_of_card(db: &Connection, card: &CardId) -> Result<Vec<LoadedEvent>> {
    let mut read = db.prepare_cached(log::select_loaded!(
        "edges x JOIN events e ON e.n = x.src WHERE x.dst = ?1 AND x.role = 3 AND e.effective = 1"
    ))?;
    let mut events = read.query_map([card.0], LoadedEvent::read)?.collect::<rusqlite::Result<Vec<_>>>()?;
    events.sort_by_key(|event| (event.header.clock, event.id));
    Ok(events)
}

impl Projector<'_> {
    /// Recomputes the cards that may have changed, including those of claims whose status changed.
    pub(super) fn update_cards(&mut self) -> Result<()> {
        let mut claims: BTreeSet<i64> = self.dirty.status_changed.clone();
        claims.extend(&self.dirty.texts);
        claims.extend(&self.dirty.settled);
        let mut read = self.db.prepare_cached(
            "SELECT k.id FROM claims c JOIN card_members m ON m.member = c.id JOIN cards k ON k.n = m.card
             WHERE c.n = ?1",
        )?;
        for n in claims {
            for card in read.query_map([n], |row| Ok(CardId(row.get(0)?)))? {
                self.dirty.cards.insert(card?);
            }
        }
        drop(read);
        let changed = std::mem::take(&mut self.dirty.cards);
        // Those that may cover story cards come first.
        let mut others = BTreeSet::new();
        for id in &changed {
            if covers_stories(self.db, id)? {
                self.update_card(*id)?;
            } else {
                others.insert(*id);
            }
        }
        others.extend(self.story_cards_beside(&changed)?);
        for id in others {
            self.update_card(id)?;
        }
        Ok(())
    }

    /// Returns the story cards that have a claim in common with one of these cards of another kind.
    fn story_cards_beside(&self, cards: &BTreeSet<CardId>) -> Result<BTreeSet<CardId>> {
        let mut read = self.db.prepare_cached(
            "SELECT story.id FROM cards k JOIN card_members mine ON mine.card = k.n
             JOIN card_members theirs ON theirs.member = mine.member
             JOIN cards story ON story.n = theirs.card AND story.kind = ?2
             WHERE k.id = ?1 AND k.kind <> ?2",
        )?;
        let mut found = BTreeSet::new();
        for card in cards {
            for story in read.query_map(params![card.0, CardKind::Story as i64], |row| Ok(CardId(row.get(0)?)))? {
                found.insert(story?);
            }
        }
        Ok(found)
    }

    fn update_card(&mut self, id: CardId) -> Result<()> {
        let card = self.derive_card(id)?;
        let mut read = self.db.prepare_cached("SELECT n FROM cards WHERE id = ?1")?;
        let known: Option<i64> = read.query_row([id.0], |row| row.get(0)).optional()?;
        drop(read);
        let rev = self.next_rev();
        let Some(card) = card else {
            if let Some(n) = known {
                // A client may still show the card, so it stays as moot.
                self.db
                    .prepare_cached(
                        "UPDATE cards SET open = 0, moot = 1, applies = 0, settled = NULL, content = NULL, rev = ?2 WHERE n = ?1",
                    )?
                    .execute([n, rev])?;
                self.changes.cards.push(id);
            }
            return Ok(());
        };
        let n: i64 = self
            .db
            .prepare_cached(
                "INSERT INTO cards (id, scope, kind, open, moot, new_claim, wall, tick, author, settled, snoozed, applies, rev,
                    content, confusion, rule)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 1, ?12, ?13, ?14, ?15)
                 ON CONFLICT (id) DO UPDATE SET scope = ?2, kind = ?3, open = ?4, moot = ?5, new_claim = ?6, wall = ?7,
                    tick = ?8, author = ?9, settled = ?10, snoozed = ?11, applies = 1, rev = ?12,
                    content = ?13, confusion = ?14, rule = ?15
                 RETURNING n",
            )?
            .query_row(
                params![
                    id.0,
                    card.scope,
                    card.kind as i64,
                    card.open,
                    card.moot,
                    card.new_claim.map(|id| id.0),
                    log::wall(card.clock.wall),
                    card.clock.count,
                    card.author,
                    card.settled,
                    card.snoozed,
                    rev,
                    card.content,
                    card.story.map(|(confusion, _)| confusion),
                    card.story.map(|(_, rule)| rule),
                ],
                |row| row.get(0),
            )?;
        self.db.prepare_cached("DELETE FROM card_members WHERE card = ?1")?.execute([n])?;
        for (ord, member) in card.members.iter().enumerate() {
            self.db
                .prepare_cached("INSERT INTO card_members (card, ord, member) VALUES (?1, ?2, ?3)")?
                .execute(params![n, ord, member.0])?;
        }
        if card.kind == CardKind::Contested {
            self.dirty.rows.extend(member_claims(self.db, &id)?);
        }
        self.changes.cards.push(id);
        self.changes.opened.extend((known.is_none() && card.open).then_some(id));
        Ok(())
    }

    fn derive_card(&self, id: CardId) -> Result<Option<Card>> {
        let events = events_of_card(self.db, &id)?;
        if let Some(card) = self.derive_refused(&events)? {
            return Ok(Some(card));
        }
        match self.derive_proposed(&events)? {
            Some(card) => Ok(Some(card)),
            None => self.derive_opposed(id, &events),
        }
    }

    /// Derives the card of an agent's proposal.
    fn derive_proposed(&self, events: &[LoadedEvent]) -> Result<Option<Card>> {
        let proposes = |event: &&LoadedEvent| derive::is_local_kind(&event.kind, local::PROPOSED);
        let Some(proposal) = events.iter().find(proposes) else { return Ok(None) };
        let members = self.members(&proposal.header.targets, proposal.scope)?;
        if members.is_empty() {
            return Ok(None);
        }
        let active = members.iter().any(|member| member.active);
        let settled = last_settling(events, proposal.scope);
        let open = settled.is_none() && active;
        Ok(Some(Card {
            kind: CardKind::Proposed,
            scope: proposal.scope,
            open,
            moot: !active,
            members: members.iter().map(|member| member.id).collect(),
            new_claim: None,
            content: None,
            clock: proposal.header.clock,
            author: proposal.n,
            settled: settled.filter(|_| !open).map(|event| event.n),
            snoozed: self.snoozed(events, proposal.scope)?,
            story: None,
        }))
    }

    /// Derives the card of a refused or held new claim.
    fn derive_refused(&self, events: &[LoadedEvent]) -> Result<Option<Card>> {
        let refusals: Vec<&LoadedEvent> = events.iter().filter(|event| derive::is_unstored(&event.kind)).collect();
        let Some(first) = refusals.first() else { return Ok(None) };
        let new_claim = derive::group_of(first.id, &first.header);
        let Some(anchor) = log::load_id(self.db, &new_claim)? else { return Ok(None) };
        if !derive::is_unstored(&anchor.kind) || !anchor.header.seen.is_empty() {
            return Ok(None);
        }
        let refusals = refusals.into_iter().filter(|event| event.scope == anchor.scope);
        let mut members = vec![new_claim];
        let mut first = None;
        let mut active = 0;
        for refusal in refusals {
            first.get_or_insert(refusal);
            for member in self.members(&refusal.header.targets, anchor.scope)? {
                if !members.contains(&member.id) {
                    active += usize::from(member.active);
                    members.push(member.id);
                }
            }
        }
        let Some(first) = first else { return Ok(None) };
        let settled = last_settling(events, anchor.scope);
        let held = derive::is_local_kind(&anchor.kind, local::HELD);
        Ok(Some(Card {
            kind: if held { CardKind::Held } else { CardKind::Refused },
            scope: anchor.scope,
            open: settled.is_none(),
            moot: active == 0,
            members,
            new_claim: Some(new_claim),
            content: if held { None } else { self.content_of(&anchor)? },
            clock: first.header.clock,
            author: first.n,
            settled: settled.map(|event| event.n),
            snoozed: self.snoozed(events, anchor.scope)?,
            story: None,
        }))
    }

    /// Returns the hash of a refused new claim's statement, by which a retry finds the card.
    fn content_of(&self, new_claim: &LoadedEvent) -> Result<Option<[u8; 32]>> {
        let statement = log::body(self.db, new_claim.n)?.and_then(|body| body.statement);
        let kind = new_claim.header.claim_kind.unwrap_or_default();
        Ok(statement.map(|text| claim_index::content_hash(new_claim.scope, kind, &text, &Qualifiers::default())))
    }

    /// Derives a card of stored claims: one with a source, one that was found or asked about, or one that only its settlement names.
    fn derive_opposed(&self, id: CardId, events: &[LoadedEvent]) -> Result<Option<Card>> {
        let mut kinds = BTreeSet::new();
        let mut open = false;
        let mut ids = self.dirty.members.get(&id).cloned().unwrap_or_default();
        let mut found = None;
        let (mut marked, mut story) = story_marks::mark_of_card(self.db, id)?.unzip();
        let mut read = self.db.prepare_cached("SELECT kind, open FROM card_sources WHERE card = ?1")?;
        for row in read.query_map([id.0], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, bool>(1)?)))? {
            let (kind, holds) = row?;
            kinds.extend(CardKind::ALL.into_iter().find(|known| *known as i64 == kind));
            open |= holds;
        }
        if !kinds.is_empty() && ids.is_empty() {
            ids = members_of(self.db, &id)?;
        }
        for event in events {
            let asked = story_marks::asked(self.db, event)?;
            let is_found = derive::is_local_kind(&event.kind, local::FOUND) || asked.is_some();
            let is_resolve = matches!(event.kind, EventKind::Resolve(_));
            if !is_found && (!is_resolve || self.settles_a_new_claim(event)?) {
                continue;
            }
            // Claims of two projects can be on one card if their contradiction was found.
            let members = if is_found {
                self.members_anywhere(&event.header.targets)?
            } else {
                self.members(&event.header.targets, event.scope)?
            };
            let answered = story_marks::answered(self.db, id, event)?;
            // A project's events do not concern claims of the organisation's level alone.
            if members.len() < if answered.is_some() { 1 } else { 2 } || !members.iter().any(|member| member.own) {
                continue;
            }
            if answered.is_some() {
                kinds.insert(CardKind::Story);
                story = story.or(answered);
            } else if is_found {
                kinds.insert(if asked.is_some() { CardKind::Story } else { CardKind::Found });
                if asked.is_some() {
                    story = story.or(asked);
                    marked.get_or_insert_with(|| event.header.targets.clone());
                }
                open |= self.is_found_open(&members, events, event.scope)?;
                found.get_or_insert(event);
            } else {
                kinds.insert(if self.opposed(&members)? { CardKind::Contradiction } else { CardKind::Found });
            }
            ids.extend(members.iter().map(|member| member.id));
        }
        let Some(kind) = kinds.last().copied() else { return Ok(None) };
        let Some(scope) = found.map_or_else(|| self.scope_of(&ids), |event| Ok(Some(event.scope)))? else {
            return Ok(None);
        };
        let ids_in_order: Vec<ClaimId> = ids.iter().copied().collect();
        let mut members = match found {
            Some(_) => self.members_anywhere(&ids_in_order)?,
            None => self.members(&ids_in_order, scope)?,
        };
        members.sort_by_key(|member| std::cmp::Reverse((member.clock, member.id)));
        if let Some(order) = &marked {
            members.sort_by_key(|member| std::cmp::Reverse(order.iter().position(|id| *id == member.id)));
        }
        let Some(newest) = members.first() else { return Ok(None) };
        let mut settled = last_settling(events, scope).map(|event| (event.header.clock, event.id, event.n));
        // A card of several projects is settled by an event of any of them.
        let level = levels::above(self.db, scope)?;
        let others = members.iter().map(|member| member.scope).filter(|other| found.is_some() && Some(*other) != level);
        let scopes = others.chain([scope]).collect();
        for resolve in self.resolves_of(&ids, &scopes)? {
            settled = settled.max(Some((resolve.header.clock, resolve.id, resolve.n)));
        }
        let active = members.iter().filter(|member| member.active).count();
        if kind == CardKind::Story {
            open = open && settled.is_none() && !self.is_covered_elsewhere(&members, scope)?;
        }
        Ok(Some(Card {
            kind,
            scope,
            open,
            moot: !open && active < 2,
            story: story.filter(|_| kind == CardKind::Story),
            new_claim: None,
            content: None,
            clock: found.map_or(newest.clock, |event| event.header.clock),
            author: found.map_or(newest.n, |event| event.n),
            settled: settled.filter(|_| !open).map(|(_, _, n)| n),
            snoozed: self.snoozed(events, scope)?,
            members: members.iter().map(|member| member.id).collect(),
        }))
    }

    /// Returns the scope of a card: that of its claims, or the project if some are of the organisation's level.
    fn scope_of(&self, members: &BTreeSet<ClaimId>) -> Result<Option<i64>> {
        let mut read = self.db.prepare_cached("SELECT scope FROM claims WHERE id = ?1")?;
        let mut organisation = None;
        for member in members {
            let Some(scope) = read.query_row([member.0], |row| row.get(0)).optional()? else { continue };
            if levels::below(self.db, scope)?.is_empty() {
                return Ok(Some(scope));
            }
            organisation = organisation.or(Some(scope));
        }
        Ok(organisation)
    }

    /// Returns whether a `resolve` names the claim that its act stored from a refused write: then the card of that write shows the resolution.
    fn settles_a_new_claim(&self, resolve: &LoadedEvent) -> Result<bool> {
        let stored = |event: &LoadedEvent| {
            event.header.successor.filter(|_| event.effective && derive::is_local_kind(&event.kind, local::SETTLED))
        };
        Ok(self.events_of_act(resolve)?.iter().filter_map(stored).any(|claim| resolve.header.targets.contains(&claim)))
    }

    fn is_found_open(&self, members: &[Member], events: &[LoadedEvent], scope: i64) -> Result<bool> {
        let active: Vec<ClaimId> = members.iter().filter(|member| member.active).map(|member| member.id).collect();
        Ok(!all_settled(&active, &SuccessionLine { db: self.db, scope })? && last_settling(events, scope).is_none())
    }

    /// Returns whether the claims of a story card are settled pair by pair, or are on a card that follows from the events
    /// without the story. An expired claim, which is alone on its card, is not: another card does not ask whether it
    /// still holds.
    fn is_covered_elsewhere(&self, members: &[Member], scope: i64) -> Result<bool> {
        let active: Vec<ClaimId> = members.iter().filter(|member| member.active).map(|member| member.id).collect();
        if active.len() > 1 && all_settled(&active, &SuccessionLine { db: self.db, scope })? {
            return Ok(true);
        }
        let [first, _, ..] = members else { return Ok(false) };
        let mut with_first = self
            .db
            .prepare_cached("SELECT k.id FROM card_members m JOIN cards k ON k.n = m.card WHERE m.member = ?1")?;
        for card in with_first.query_map([first.id.0], |row| Ok(CardId(row.get(0)?)))? {
            let card = card?;
            if covers_stories(self.db, &card)? {
                let on_card = members_of(self.db, &card)?;
                if members.iter().all(|member| on_card.contains(&member.id)) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn opposed(&self, members: &[Member]) -> Result<bool> {
        let held = members.iter().map(|member| pairs::stored_norms(self.db, member.n)).collect::<Result<Vec<_>>>()?;
        Ok(held.iter().enumerate().any(|(i, ours)| {
            let opposes =
                |theirs: &pairs::StoredNorms| self.check.contradiction(ours.compared(), theirs.compared()).is_some();
            held[i + 1..].iter().any(opposes)
        }))
    }

    /// Returns those of `ids` that are claims of any scope, each once, in the given order.
    fn members_anywhere(&self, ids: &[EventId]) -> Result<Vec<Member>> {
        let mut read = self.db.prepare_cached("SELECT scope FROM claims WHERE id = ?1")?;
        let mut found: Vec<Member> = Vec::new();
        for id in ids {
            if let Some(scope) = read.query_row([id.0], |row| row.get(0)).optional()?
                && !found.iter().any(|member| member.id == *id)
            {
                found.extend(self.members(&[*id], scope)?);
            }
        }
        Ok(found)
    }

    /// Returns those of `ids` that are claims of this scope or its organisation's level, each once, in the given order.
    fn members(&self, ids: &[EventId], scope: i64) -> Result<Vec<Member>> {
        let mut read = self.db.prepare_cached(
            "SELECT n, id, wall, tick, status, scope FROM claims WHERE id = ?1 AND scope IN (?2, ?3)",
        )?;
        let level = levels::above(self.db, scope)?.unwrap_or(scope);
        let mut found: Vec<Member> = Vec::new();
        for id in ids {
            if found.iter().any(|member| member.id == *id) {
                continue;
            }
            let member = read.query_row(params![id.0, scope, level], |row| {
                Ok(Member {
                    scope: row.get(5)?,
                    own: row.get::<_, i64>(5)? == scope,
                    n: row.get(0)?,
                    id: id_at(row, 1)?,
                    clock: Hlc { wall: row.get::<_, i64>(2)?.unsigned_abs(), count: row.get(3)? },
                    active: claims::status_of(row.get(4)?) == Status::Active,
                })
            });
            found.extend(member.optional()?);
        }
        Ok(found)
    }

    fn snoozed(&self, events: &[LoadedEvent], scope: i64) -> Result<Option<i64>> {
        let snoozes = |event: &&LoadedEvent| event.scope == scope && derive::is_local_kind(&event.kind, local::SNOOZE);
        let Some(last) = events.iter().rev().find(snoozes) else { return Ok(None) };
        let note = derive::local_note(log::body(self.db, last.n)?.as_ref());
        Ok(note.until.map(log::wall))
    }
}

/// Returns the latest local event of a scope that settles the card.
fn last_settling(events: &[LoadedEvent], scope: i64) -> Option<&LoadedEvent> {
    events.iter().rev().find(|event| {
        event.scope == scope
            && (derive::is_local_kind(&event.kind, local::SETTLED)
                || derive::is_local_kind(&event.kind, local::DISCARD))
    })
}
