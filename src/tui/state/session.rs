//! What this session did and can take back: acts, and undos of acts.

use super::{State, inbox::ItemId};
use crate::domain::{OpId, Scope};

/// An act of this session, or an undo of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionAct {
    /// Its key.
    pub op: OpId,
    /// Where it was done.
    pub scope: Scope,
    /// What it did, in a sentence.
    pub summary: String,
    /// The thing of the Inbox that it was about.
    pub about: Option<ItemId>,
    /// How many things it settled.
    pub settled: usize,
}

impl State {
    /// Notes an act that undo can take back; what was undone before cannot be redone from here on.
    pub fn did(&mut self, act: SessionAct) {
        self.done.push(act);
        self.undone.clear();
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
