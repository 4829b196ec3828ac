//! The input of the store: acts, which consist of event drafts.

use crate::domain::{Body, CardId, ClaimId, ClaimKind, EventId, EventKind, OpId, Scope};

/// What a draft points at: something stored, or what an earlier draft of the same act creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ref {
    /// A stored event or claim.
    Id(EventId),
    /// The event of this earlier draft, counted from 0.
    Draft(usize),
}

impl From<EventId> for Ref {
    fn from(id: EventId) -> Self {
        Self::Id(id)
    }
}

/// An event before it has a place in the log. The kind decides the log: [`EventKind::Local`] goes to the local one.
///
/// A fact's `key_hash` is taken from `body.key`. The guard's report of a `local.refused` draft (`body.data`) is stored as an
/// event of its own (`local.evidence`), so that it can be redacted without losing the new claim.
#[derive(Clone, Debug, PartialEq)]
pub struct EventDraft {
    /// What it does.
    pub kind: EventKind,
    /// On what.
    pub targets: Vec<Ref>,
    /// The existing claim that takes the targets' place; on `local.settled` the claim that a new claim became.
    pub successor: Option<Ref>,
    /// The acts and heads on the targets that the writer had seen. On a further `local.refused` of a new claim that has
    /// a card: the new claim's id, and nothing else.
    pub seen: Vec<EventId>,
    /// The kind of the claim in the body, where there is one.
    pub claim_kind: Option<ClaimKind>,
    /// The redactable part.
    pub body: Body,
}

impl EventDraft {
    /// A draft of `kind` on `targets`; all other fields are empty.
    pub fn new(kind: EventKind, targets: impl IntoIterator<Item = Ref>) -> Self {
        Self {
            kind,
            targets: targets.into_iter().collect(),
            successor: None,
            seen: Vec::new(),
            claim_kind: None,
            body: Body::default(),
        }
    }
}

/// One act of a caller: all of its events are stored, or none.
#[derive(Clone, Debug, PartialEq)]
pub struct Act {
    /// Where, as the caller named it; see [`super::Reader::scope_for`] for what the identity makes of it.
    pub scope: Scope,
    /// The remote URL or common directory of the project, where it is known.
    pub identity: Option<String>,
    /// The person.
    pub who: String,
    /// The agent through which they act.
    pub agent: Option<String>,
    /// The idempotency key. An act that is stored already is answered, not repeated.
    pub op: OpId,
    /// The wall clock, in milliseconds since the Unix epoch.
    pub now: u64,
    /// The events, in order; at least one.
    pub drafts: Vec<EventDraft>,
}

/// What an act did.
#[derive(Clone, Debug, PartialEq)]
pub struct Committed {
    /// The act.
    pub op: OpId,
    /// The scope that was written to: the caller's, unless its identity has another.
    pub scope: Scope,
    /// The events, in the order of the drafts; events that the store added follow.
    pub events: Vec<EventId>,
    /// The claims that the act created, in the order of the drafts.
    pub created: Vec<ClaimId>,
    /// Claims whose state changed, those created included. Empty where `replayed`.
    pub claims: Vec<ClaimId>,
    /// Active claims that need review since this act. Empty where `replayed`.
    pub needs_review: Vec<ClaimId>,
    /// Cards that were opened or changed. Empty where `replayed`.
    pub cards: Vec<CardId>,
    /// The act was stored before; nothing happened now.
    pub replayed: bool,
}

/// What [`super::Store::import`] did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// Events that were new here.
    pub stored: usize,
    /// Events that were here already.
    pub known: usize,
    /// Events of the local log, which does not travel, and of teams, which come by [`super::Store::import_synced`].
    pub ignored: usize,
    /// Claims whose state changed.
    pub claims: Vec<ClaimId>,
    /// Cards that were opened or changed.
    pub cards: Vec<CardId>,
}
