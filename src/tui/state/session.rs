//! What this session did and can take back: acts, and undos of acts.

use super::{State, inbox::ItemId};
use crate::{
    api::ClaimView,
    domain::{OpId, Scope, drift},
};

/// An act of this session, or an undo of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionAct {
    /// Its key.
    pub op: OpId,
    /// Where it was done.
    pub scope: Scope,
    /// What it did, in a sentence.
    pub summary: String,
    /// The things of the Inbox that it was about.
    pub about: Vec<ItemId>,
    /// How many things it settled.
    pub settled: usize,
}

impl State {
    /// Notes an act that undo can take back; what was undone before cannot be redone from here on.
    pub fn did(&mut self, act: SessionAct) {
        self.done.push(act);
        self.undone.clear();
    }

    /// The claims in hand: one, or the sides of a card, the new one first.
    fn claims_in_hand(&self) -> Vec<&ClaimView> {
        if let Some(claim) = self.claim_in_hand() {
            return vec![claim];
        }
        let sides = self.card_in_hand().map(|card| card.a().into_iter().chain(card.b()).map(|side| &side.claim));
        sides.into_iter().flatten().collect()
    }

    /// What the claim in hand, or each side of the card in hand, says.
    pub fn text_in_hand(&self) -> Option<String> {
        let texts: Vec<&str> = self.claims_in_hand().into_iter().map(|claim| claim.statement.as_str()).collect();
        Some(texts.join("\n")).filter(|text| !text.trim().is_empty())
    }

    /// The file and line that the claim in hand comes from, or the first side of the card in hand that names one: only of the project
    /// where the app was opened, since elsewhere the files are not those.
    pub fn source_in_hand(&self) -> Option<(String, Option<usize>)> {
        let mut here = self.claims_in_hand().into_iter().filter(|claim| claim.scope == self.home.0);
        let named = here.find_map(|claim| drift::named(claim.source.as_deref()?));
        named.map(|(path, line)| (path.to_owned(), line))
    }

    /// Whether what happens in this scope is on the screen.
    pub fn shows(&self, scope: &Scope) -> bool {
        self.scope.as_ref().is_none_or(|shown| shown == scope)
    }

    /// “ in acme/api” where all scopes are shown, so that what is said of an act says where; else nothing.
    pub fn place_of(&self, scope: &Scope) -> String {
        if self.scope.as_ref() == Some(scope) { String::new() } else { format!(" in {scope}") }
    }
}
