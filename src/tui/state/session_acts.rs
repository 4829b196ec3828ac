//! What this session did and can undo: acts, and undos of acts.

use std::collections::VecDeque;

use super::{AppState, inbox::ItemId};
use crate::{
    api::ClaimView,
    domain::{OpId, Scope, drift},
};

/// The most acts whose changes are awaited on the event stream.
const MAX_OWN: usize = 100;

/// An act of this session, or an undo of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionAct {
    /// Its key.
    pub op: OpId,
    /// Where it was done.
    pub scope: Scope,
    /// What it did, in a sentence.
    pub summary: String,
    /// The items of the Inbox that it was about.
    pub about: Vec<ItemId>,
    /// How many items it settled.
    pub settled: usize,
}

/// Acts of this session whose changes are known and whose answers are not, or the other way round.
#[derive(Clone, Debug, Default)]
pub(super) struct UnansweredActs {
    /// The key of the act that waits for its answer, if undo can undo it.
    sent: Option<OpId>,
    /// Acts without an answer: whether they happened is not known.
    lost: Vec<OpId>,
    /// What came over the event stream, the latest last.
    arrived: VecDeque<SessionAct>,
}

/// The most changes that are kept for answers that are still to come.
const MAX_ARRIVED: usize = 20;

impl AppState {
    /// Takes note of the key of an act that is sent, if undo can undo it.
    pub fn act_sent(&mut self, op: Option<OpId>) {
        self.unanswered.lost.retain(|lost| Some(*lost) != op);
        self.unanswered.sent = op;
    }

    /// The act that was sent has no answer. Returns it if its change has arrived all the same.
    pub fn answer_lost(&mut self) -> Option<SessionAct> {
        let op = self.unanswered.sent.take()?;
        let arrived = self.unanswered.arrived.iter().find(|act| act.op == op).cloned();
        if arrived.is_none() {
            self.unanswered.lost.push(op);
        }
        arrived
    }

    /// A change of this session arrived. Returns its act if that has no answer.
    pub fn change_arrived(&mut self, act: SessionAct) -> Option<SessionAct> {
        let UnansweredActs { lost, arrived, .. } = &mut self.unanswered;
        if let Some(at) = lost.iter().position(|op| *op == act.op) {
            lost.remove(at);
            return Some(act);
        }
        if arrived.len() == MAX_ARRIVED {
            arrived.pop_front();
        }
        arrived.push_back(act);
        None
    }

    /// Keeps the key of an act that was sent, to know its change when it comes back over the event stream.
    pub fn remember_own(&mut self, op: OpId) {
        if self.own.len() == MAX_OWN {
            self.own.pop_front();
        }
        self.own.push_back(op);
    }

    /// Notes an act that undo can undo; what was undone before cannot be redone from here on.
    pub fn did(&mut self, act: SessionAct) {
        // After a lost answer the same act may have been sent again.
        self.done.retain(|known| known.op != act.op);
        self.done.push(act);
        self.undone.clear();
    }

    /// The claims under the cursor: one, or the sides of a card, the new one first.
    fn selected_claims(&self) -> Vec<&ClaimView> {
        if let Some(claim) = self.selected_claim() {
            return vec![claim];
        }
        let sides = self.selected_card().map(|card| card.a().into_iter().chain(card.b()).map(|side| &side.claim));
        sides.into_iter().flatten().collect()
    }

    /// What the claim under the cursor, or each side of the card under the cursor, says.
    pub fn selected_text(&self) -> Option<String> {
        let texts: Vec<&str> = self.selected_claims().into_iter().map(|claim| claim.statement.as_str()).collect();
        Some(texts.join("\n")).filter(|text| !text.trim().is_empty())
    }

    /// The file and line that the claim under the cursor comes from, or the first side of the card under the cursor that names one: only of the project
    /// where the app was opened, since elsewhere the files are not those.
    pub fn selected_source(&self) -> Option<(String, Option<usize>)> {
        let mut here = self.selected_claims().into_iter().filter(|claim| claim.scope == self.home.0);
        let named = here.find_map(|claim| drift::named(claim.source.as_deref()?));
        named.map(|(path, line)| (path.to_owned(), line))
    }

    /// Whether what happens in this scope is on the screen.
    pub fn shows(&self, scope: &Scope) -> bool {
        self.scope.as_ref().is_none_or(|shown| shown == scope)
    }

    /// Returns “ in acme/api” for messages about an act in another scope than the one shown; else nothing.
    pub fn scope_suffix(&self, scope: &Scope) -> String {
        if self.scope.as_ref() == Some(scope) { String::new() } else { format!(" in {scope}") }
    }
}
