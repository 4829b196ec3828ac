//! The acts of this session that can be undone, and the undos that can be redone.

use std::collections::VecDeque;

use super::{AppState, inbox::ItemId};
use crate::{
    api::ClaimView,
    domain::{CardId, OpId, Scope, drift},
};

/// The maximum number of own acts whose changes are recognised on the event stream.
const MAX_OWN_OPS: usize = 100;

/// An act of this session, or the undo of an act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionAct {
    /// The `op_id` of the act.
    pub op: OpId,
    pub scope: Scope,
    /// One sentence that says what the act did.
    pub summary: String,
    /// The items of the Inbox on which it acted.
    pub about: Vec<ItemId>,
    /// Whether it, or the act that it undoes, opened these items; otherwise it settled them.
    pub opens: bool,
    /// The number of items of the Inbox that it settled.
    pub settled: usize,
}

/// Pairs this session's acts that got no answer with their changes from the event stream.
#[derive(Clone, Debug, Default)]
pub(super) struct UnansweredActs {
    /// The `op_id` of the act that waits for its answer, if the act can be undone.
    sent: Option<OpId>,
    /// The `op_id`s of acts without an answer, which may or may not have happened.
    lost: Vec<OpId>,
    /// Changes of this session from the event stream, the latest last.
    arrived: VecDeque<SessionAct>,
}

/// The maximum number of changes that are kept in case the answer to their act is lost.
const MAX_ARRIVED: usize = 20;

impl AppState {
    /// Records the `op_id` of an act that is being sent; `None` if the act cannot be undone.
    pub fn act_sent(&mut self, op: Option<OpId>) {
        self.unanswered.lost.retain(|lost| Some(*lost) != op);
        self.unanswered.sent = op;
    }

    /// Records that the act that was sent gets no answer. Returns the act if its change has arrived nevertheless.
    pub fn answer_lost(&mut self) -> Option<SessionAct> {
        let op = self.unanswered.sent.take()?;
        let arrived = self.unanswered.arrived.iter().find(|act| act.op == op).cloned();
        if arrived.is_none() {
            self.unanswered.lost.push(op);
        }
        arrived
    }

    /// Records a change of this session. Returns its act if that act got no answer.
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

    /// Records the `op_id` of an act that was sent, by which its change is recognised on the event stream.
    pub fn record_own_op(&mut self, op: OpId) {
        if self.own_ops.len() == MAX_OWN_OPS {
            self.own_ops.pop_front();
        }
        self.own_ops.push_back(op);
    }

    /// Records an act that can be undone. Earlier undos can no longer be redone.
    pub fn record_act(&mut self, act: SessionAct) {
        // If the answer was lost, the same act may have been sent again.
        self.undo_stack.retain(|known| known.op != act.op);
        self.undo_stack.push(act);
        self.redo_stack.clear();
        self.read_files_last = false;
    }

    /// Removes the act with this `op_id` from the acts that can be undone or redone. Returns it, and whether it was an
    /// undo.
    pub fn take_act(&mut self, op: OpId) -> Option<(SessionAct, bool)> {
        let take = |acts: &mut Vec<SessionAct>| Some(acts.remove(acts.iter().position(|act| act.op == op)?));
        let act = take(&mut self.undo_stack).map(|act| (act, false));
        act.or_else(|| take(&mut self.redo_stack).map(|act| (act, true)))
    }

    /// Returns whether an act of this session opened a card, or undid what opened it.
    pub fn opened(&self, card: CardId) -> bool {
        let mut acts = self.undo_stack.iter().chain(&self.redo_stack);
        acts.any(|act| act.opens && act.about.contains(&ItemId::Card(card)))
    }

    /// Returns the claim under the cursor, or the two shown sides of the card under the cursor, the new one first.
    pub(super) fn selected_claims(&self) -> Vec<&ClaimView> {
        if let Some(claim) = self.selected_claim() {
            return vec![claim];
        }
        let sides = self.selected_card().map(|card| card.a().into_iter().chain(card.b()).map(|side| &side.claim));
        sides.into_iter().flatten().collect()
    }

    /// Returns the statement of the claim under the cursor, or of each shown side of the card under the cursor.
    pub fn selected_text(&self) -> Option<String> {
        let texts: Vec<&str> = self.selected_claims().into_iter().map(|claim| claim.statement.as_str()).collect();
        Some(texts.join("\n")).filter(|text| !text.trim().is_empty())
    }

    /// Returns the file and line from which the claim under the cursor comes, or the first side of the card under the
    /// cursor that names one. Only for claims of the project where the app was opened, since the files of other
    /// projects are not here.
    pub fn selected_source(&self) -> Option<(String, Option<usize>)> {
        let mut here = self.selected_claims().into_iter().filter(|claim| claim.scope == self.home.0);
        let named = here.find_map(|claim| drift::named(claim.source.as_deref()?));
        named.map(|(path, line)| (path.to_owned(), line))
    }

    /// Returns whether the screen shows what happens in a scope.
    pub fn shows(&self, scope: &Scope) -> bool {
        self.scope.as_ref().is_none_or(|shown| shown == scope)
    }

    /// Returns a suffix such as “ in acme/api” for messages about an act in another scope than the shown one; otherwise
    /// an empty string.
    pub fn scope_suffix(&self, scope: &Scope) -> String {
        if self.scope.as_ref() == Some(scope) { String::new() } else { format!(" in {scope}") }
    }
}
