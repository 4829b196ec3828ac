//! The cards that are marked, to be settled by one act.

use super::list::Windowed;
use crate::{
    api::{CardRef, CardSummary, MAX_CARDS},
    domain::{CardId, Scope},
};

/// Marked cards, in the order in which they were marked.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    cards: Vec<CardSummary>,
}

impl Marks {
    /// How many.
    pub fn len(&self) -> usize {
        self.cards.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.cards.is_empty()
    }

    /// Whether this card is.
    pub fn contains(&self, id: CardId) -> bool {
        self.cards.iter().any(|card| card.id == id)
    }

    /// Marks a card, or takes its mark away.
    pub fn toggle(&mut self, card: &CardSummary) {
        if self.contains(card.id) {
            self.remove(card.id);
        } else {
            self.cards.push(card.clone());
        }
    }

    /// Marks a card.
    pub fn add(&mut self, card: &CardSummary) {
        if !self.contains(card.id) {
            self.cards.push(card.clone());
        }
    }

    /// Takes a card's mark away.
    pub fn remove(&mut self, id: CardId) {
        self.cards.retain(|card| card.id != id);
    }

    /// Takes every mark away.
    pub fn clear(&mut self) {
        self.cards.clear();
    }

    /// The card that was marked last: where a range begins.
    pub fn last(&self) -> Option<CardId> {
        self.cards.last().map(|card| card.id)
    }

    /// Takes the marks of cards away that are no longer listed, once all are known.
    pub fn keep_listed(&mut self, list: &Windowed<CardSummary>) {
        if list.is_whole() {
            self.cards.retain(|card| list.index_of(card.id).is_some());
        }
    }

    /// What is shown of a marked card now is what is acted on: its newest `rev` counts.
    pub fn refresh(&mut self, list: &Windowed<CardSummary>) {
        for card in &mut self.cards {
            if let Some(fresh) = list.find_row(card.id) {
                *card = fresh.clone();
            }
        }
    }

    /// The cards as they are acted on.
    pub fn refs(&self) -> Vec<CardRef> {
        self.cards.iter().map(|card| CardRef { id: card.id.to_hex(), expect_rev: Some(card.rev) }).collect()
    }

    /// The one scope of them all, or why they cannot be settled by one act, with keys as for
    /// [`Keymap::say`](crate::tui::action::Keymap::say).
    pub fn scope(&self) -> Result<&Scope, String> {
        let scope = self.cards.first().map(|card| &card.scope).ok_or("no card is marked: {mark} marks one")?;
        if self.cards.iter().any(|card| card.scope != *scope) {
            return Err(
                "the marked cards are of several scopes, and one act settles cards of one: {all_scopes} shows one"
                    .to_owned(),
            );
        }
        if self.len() > MAX_CARDS {
            return Err(format!("{} cards are marked, and one act settles {MAX_CARDS}", self.len()));
        }
        Ok(scope)
    }
}
