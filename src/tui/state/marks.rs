//! The marked items that one act will settle: cards, and claims to review.

use super::{inbox::ItemId, windowed::Windowed};
use crate::{
    api::{CardRef, CardSummary, InboxItem},
    domain::{CardId, ClaimId, Scope},
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimMark {
    /// The row that lists the claim.
    pub row: ItemId,
    pub id: ClaimId,
    /// The scope of the claim.
    pub scope: Scope,
}

/// The marked items, in the order in which they were marked.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    cards: Vec<CardSummary>,
    claims: Vec<ClaimMark>,
    last: Option<ItemId>,
}

impl Marks {
    /// Returns the number of marked items.
    pub fn len(&self) -> usize {
        self.cards.len() + self.claims.len()
    }

    /// Returns whether nothing is marked.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether a card is marked.
    pub fn contains(&self, id: CardId) -> bool {
        self.cards.iter().any(|card| card.id == id)
    }

    /// Returns whether an item is marked.
    pub fn has(&self, item: &InboxItem) -> bool {
        match item {
            InboxItem::Card(card) => self.contains(card.id),
            _ => claim_mark(item).is_some_and(|mark| self.claims.iter().any(|known| known.row == mark.row)),
        }
    }

    /// Marks or unmarks a card.
    pub fn toggle(&mut self, card: &CardSummary) {
        if self.contains(card.id) {
            self.remove(card.id);
        } else {
            self.add(card);
        }
    }

    /// Marks a card.
    pub fn add(&mut self, card: &CardSummary) {
        self.last = Some(ItemId::Card(card.id));
        if !self.contains(card.id) {
            self.cards.push(card.clone());
        }
    }

    /// Marks an item, if an act on several such items exists.
    pub fn add_item(&mut self, item: &InboxItem) {
        if let InboxItem::Card(card) = item {
            return self.add(card);
        }
        let Some(mark) = claim_mark(item) else { return };
        self.last = Some(mark.row.clone());
        if !self.claims.contains(&mark) {
            self.claims.push(mark);
        }
    }

    /// Unmarks a card.
    pub fn remove(&mut self, id: CardId) {
        self.cards.retain(|card| card.id != id);
    }

    /// Unmarks an item.
    pub fn remove_item(&mut self, item: &InboxItem) {
        match item {
            InboxItem::Card(card) => self.remove(card.id),
            _ => self.claims.retain(|mark| Some(&mark.row) != claim_mark(item).map(|mark| mark.row).as_ref()),
        }
    }

    /// Unmarks the claims of these rows.
    pub fn remove_rows(&mut self, rows: &[ItemId]) {
        self.claims.retain(|mark| !rows.contains(&mark.row));
    }

    /// Unmarks everything.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the item that was marked last, at which a range begins.
    pub fn last(&self) -> Option<&ItemId> {
        self.last.as_ref()
    }

    /// Unmarks the cards that are no longer listed, if the whole list is known.
    pub fn keep_listed(&mut self, list: &Windowed<CardSummary>) {
        if list.is_whole() {
            self.cards.retain(|card| list.index_of(card.id).is_some());
        }
    }

    /// Updates the marked cards from the list, since an act is based on the shown revision of each card.
    pub fn refresh(&mut self, list: &Windowed<CardSummary>) {
        for card in &mut self.cards {
            if let Some(fresh) = list.find_row(card.id) {
                *card = fresh.clone();
            }
        }
    }

    /// [`Marks::refresh`] from the items that the Inbox lists. If these are all items (`whole`), the others are
    /// unmarked.
    pub fn refresh_listed<'a>(&mut self, listed: impl Iterator<Item = &'a InboxItem>, whole: bool) {
        let listed: Vec<&InboxItem> = listed.collect();
        let card_of = |id| {
            listed.iter().find_map(|item| match item {
                InboxItem::Card(card) if card.id == id => Some(&**card),
                _ => None,
            })
        };
        for card in &mut self.cards {
            if let Some(fresh) = card_of(card.id) {
                *card = fresh.clone();
            }
        }
        if whole {
            self.cards.retain(|card| card_of(card.id).is_some());
            let rows: Vec<ItemId> = listed.iter().filter_map(|item| claim_mark(item)).map(|mark| mark.row).collect();
            self.claims.retain(|mark| rows.contains(&mark.row));
        }
    }

    /// Returns the marked claims of all scopes.
    pub fn claims(&self) -> impl Iterator<Item = &ClaimMark> {
        self.claims.iter()
    }

    /// Returns the marked cards of a scope.
    pub fn cards_in(&self, scope: &Scope) -> Vec<&CardSummary> {
        self.cards.iter().filter(|card| card.scope == *scope).collect()
    }

    /// Returns the marked claims of a scope, each claim once.
    pub fn claims_in(&self, scope: &Scope) -> Vec<&ClaimMark> {
        let mut out: Vec<&ClaimMark> = Vec::new();
        for mark in self.claims.iter().filter(|mark| mark.scope == *scope) {
            if !out.iter().any(|known| known.id == mark.id) {
                out.push(mark);
            }
        }
        out
    }
}

/// Returns references to cards in their shown revisions, for a request.
pub fn refs<'a>(cards: impl IntoIterator<Item = &'a CardSummary>) -> Vec<CardRef> {
    cards.into_iter().map(|card| CardRef { id: card.id.to_hex(), expect_rev: Some(card.rev) }).collect()
}

/// Returns the mark of an item that is about a claim; `None` for other items.
pub fn claim_mark(item: &InboxItem) -> Option<ClaimMark> {
    let claim = match item {
        InboxItem::Review(item) => &item.claim,
        InboxItem::Notice(item) => &item.claim,
        InboxItem::Card(_) | InboxItem::Quarantined(_) | InboxItem::Joining(_) => return None,
    };
    Some(ClaimMark { row: super::inbox::id_of(item), id: claim.id, scope: claim.scope.clone() })
}
