//! Projects the cards, of all kinds but stories, and their settlements.

use std::collections::{BTreeMap, BTreeSet};

use super::{CardFacts, EventSet, ProjectedEvent};
use crate::domain::{
    CardId, ClaimId, EventId, EventKind, Header, Hlc, ResolveAct, Scope,
    derive::{CardKind, Contest, card_of, group_of, is_local_kind, is_unstored, local, local_note, pairs},
    guard_report::PairCheck,
};

impl<'a> EventSet<'a> {
    pub(super) fn find_notes(&mut self) {
        for (id, item) in &self.events {
            let EventKind::Local(kind) = &item.kind else { continue };
            if self.undone.contains(id) || ![local::SETTLED, local::DISCARD, local::SNOOZE].contains(&kind.as_str()) {
                continue;
            }
            if let Some(card) = card_of(*id, item.header, item.body.as_ref()) {
                self.notes.entry(card).or_default().push(*id);
            }
            if kind == local::SETTLED
                && let Some(stored) = item.header.successor
            {
                self.stored.insert((item.header.op, item.header.author, stored));
            }
        }
    }

    pub(super) fn cards(
        &self,
        contests: &[(Option<ClaimId>, Scope, Contest)],
        check: &dyn PairCheck,
    ) -> BTreeMap<CardId, CardFacts> {
        let mut cards: BTreeMap<CardId, CardFacts> = BTreeMap::new();
        let mut found: BTreeMap<CardId, ((Hlc, EventId), &Scope)> = BTreeMap::new();
        let mut add = |kind: CardKind, scope: &Scope, members: BTreeSet<EventId>, open: bool, id: CardId| {
            let card = cards.entry(id).or_insert_with(|| CardFacts {
                kind,
                scope: scope.clone(),
                open: false,
                moot: false,
                members: BTreeSet::new(),
                settled: None,
                snoozed_until: None,
            });
            card.kind = card.kind.max(kind);
            card.open |= open;
            card.members.extend(members);
        };
        for [one, other] in self.contradictions(check) {
            let Some(scope) = self.scope_of_pair(&one, &other) else { continue };
            add(CardKind::Contradiction, scope, [one, other].into(), true, CardId::of_members(&[one, other]));
        }
        for (_, scope, contest) in contests {
            let id = CardId::of_members(&contest.members);
            add(CardKind::Contested, scope, contest.members.iter().copied().collect(), !contest.settled, id);
        }
        for (id, item) in self.events.iter().filter(|(id, _)| self.effective(id)) {
            let Some(card) = card_of(*id, item.header, item.body.as_ref()) else { continue };
            let scope = &item.header.scope;
            let members: BTreeSet<ClaimId> = self.members(item.header).into_iter().collect();
            // A project cannot settle a pair of claims that both belong to its organisation's level.
            let several = members.len() >= 2 && members.iter().any(|id| self.events[id].header.scope == *scope);
            match &item.kind {
                EventKind::Local(_) if is_unstored(&item.kind) => {
                    let new_claim = group_of(*id, item.header);
                    if let Some(first) = self.events.get(&new_claim).filter(|first| is_new_claim(first, scope)) {
                        let held = is_local_kind(&first.kind, local::HELD);
                        let kind = if held { CardKind::Held } else { CardKind::Refused };
                        add(kind, scope, members.into_iter().chain([new_claim]).collect(), true, card);
                    }
                }
                EventKind::Local(kind) if kind == local::PROPOSED && !members.is_empty() => {
                    add(CardKind::Proposed, scope, members, true, card);
                }
                EventKind::Local(kind) if kind == local::FOUND => {
                    // A contradiction between two projects has one card, in the scope in which it was found first.
                    let targets = item.header.targets.iter().copied();
                    let members: BTreeSet<ClaimId> = targets.filter(|id| self.states.contains_key(id)).collect();
                    if members.len() < 2 {
                        continue;
                    }
                    let at = (item.header.clock, *id);
                    let first = found.entry(card).or_insert((at, scope));
                    if at < first.0 {
                        *first = (at, scope);
                    }
                    let open = self.is_found_open(card, &members, scope);
                    add(CardKind::Found, scope, members, open, card);
                }
                // Story cards are opened by the background pass and are not part of the projection.
                EventKind::Resolve(_) if local_note(item.body.as_ref()).confusion.is_some() => {}
                EventKind::Resolve(_) if several && !self.settles_a_new_claim(item.header) => {
                    let kind = if self.opposed(&members, check) { CardKind::Contradiction } else { CardKind::Found };
                    add(kind, scope, members, false, card);
                }
                _ => {}
            }
        }
        for (id, card) in &mut cards {
            let found = found.get(id);
            if let Some((_, scope)) = found {
                card.scope = (*scope).clone();
            }
            self.finish(*id, card, found.is_some());
        }
        cards
    }

    /// Returns whether a `resolve` names the claim as which its act stored a refused write. The card of that write shows the
    /// settlement, and no other card is created.
    fn settles_a_new_claim(&self, resolve: &Header) -> bool {
        resolve.targets.iter().any(|claim| self.stored.contains(&(resolve.op, resolve.author, *claim)))
    }

    fn is_found_open(&self, card: CardId, members: &BTreeSet<ClaimId>, scope: &Scope) -> bool {
        let active: Vec<ClaimId> = members.iter().copied().filter(|id| self.active(id)).collect();
        pairs(&active).any(|(one, other)| !self.is_settled(&one, &other))
            && !self.notes(card).any(|(_, item)| item.header.scope == *scope && is_settling(item))
    }

    /// Returns whether any two members cannot both hold.
    fn opposed(&self, members: &BTreeSet<ClaimId>, check: &dyn PairCheck) -> bool {
        let members: Vec<ClaimId> = members.iter().copied().collect();
        pairs(&members).any(|(one, other)| check.contradiction(self.carried(&one), self.carried(&other)).is_some())
    }

    fn notes(&self, card: CardId) -> impl Iterator<Item = (EventId, &ProjectedEvent<'a>)> {
        self.notes.get(&card).into_iter().flatten().map(|id| (*id, &self.events[id]))
    }

    /// Sets the fields of a card that all kinds have: settlement, mootness and snooze.
    fn finish(&self, id: CardId, card: &mut CardFacts, is_found: bool) {
        let notes = || self.notes(id).filter(|(_, item)| item.header.scope == card.scope);
        let key = |(event, item): (EventId, &ProjectedEvent<'_>)| (item.header.clock, event);
        let mut settled = notes().filter(|(_, item)| is_settling(item)).map(key).max();
        let active = card.members.iter().filter(|member| self.active(member)).count();
        if matches!(card.kind, CardKind::Refused | CardKind::Held) {
            card.open &= settled.is_none();
        } else if card.kind == CardKind::Proposed {
            card.open &= settled.is_none() && active > 0;
        } else {
            // An event of any of the projects settles a contradiction between them.
            let own = |id: &&EventId| self.events[*id].header.scope == card.scope;
            let speaks = |scope: &Scope| {
                *scope == card.scope
                    || is_found
                        && !card.scope.takes(scope)
                        && card.members.iter().any(|id| self.events[id].header.scope == *scope)
            };
            let settles = |(event, item): &(EventId, &ProjectedEvent<'_>)| {
                matches!(item.kind, EventKind::Resolve(act) if act != ResolveAct::Reviewed)
                    && speaks(&item.header.scope)
                    && self.effective(event)
                    && card.members.iter().all(|member| item.header.targets.contains(member))
            };
            // A card without a member of its own scope is rare, so a scan of all events is acceptable.
            let resolves = match card.members.iter().find(own) {
                Some(_) => card.members.iter().flat_map(|id| self.events_targeting(id)).filter(settles).map(key).max(),
                None => self.events.iter().map(|(event, item)| (*event, item)).filter(settles).map(key).max(),
            };
            settled = settled.max(resolves);
        }
        let snoozed =
            notes().filter(|(_, item)| is_local_kind(&item.kind, local::SNOOZE)).max_by_key(|note| key(*note));
        card.snoozed_until = snoozed.and_then(|(_, item)| local_note(item.body.as_ref()).until);
        card.moot = match card.kind {
            CardKind::Refused | CardKind::Held | CardKind::Proposed => active == 0,
            _ => !card.open && active < 2,
        };
        card.settled = if card.open { None } else { settled.map(|(_, event)| event) };
    }
}

fn is_new_claim(item: &ProjectedEvent<'_>, scope: &Scope) -> bool {
    is_unstored(&item.kind) && item.header.scope == *scope && item.header.seen.is_empty()
}

fn is_settling(item: &ProjectedEvent<'_>) -> bool {
    is_local_kind(&item.kind, local::SETTLED) || is_local_kind(&item.kind, local::DISCARD)
}
