//! The input of the store: acts, which consist of event drafts.

use crate::domain::{Body, CardId, ClaimId, ClaimKind, EventId, EventKind, OpId, Scope};

/// A reference in a draft: to a stored event, or to the event of an earlier draft of the same act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ref {
    /// A stored event or claim.
    Id(EventId),
    /// The event of the earlier draft with this index, counted from 0.
    Draft(usize),
}

impl From<EventId> for Ref {
    fn from(id: EventId) -> Self {
        Self::Id(id)
    }
}

/// An event before it is signed and appended. Its kind decides the log: [`EventKind::Local`] goes to the local log.
///
/// A fact's `key_hash` is taken from `body.key`. The guard's report of a `local.refused` draft (`body.data`) is stored as an
/// event of its own (`local.evidence`), so that it can be redacted without losing the new claim.
#[derive(Clone, Debug, PartialEq)]
pub struct EventDraft {
    pub kind: EventKind,
    pub targets: Vec<Ref>,
    /// The existing claim that replaces the targets; on `local.settled` the claim that a new claim became.
    pub successor: Option<Ref>,
    /// The acts and heads on the targets that the writer had seen. On a further `local.refused` of a new claim that has
    /// a card: the new claim's id, and nothing else.
    pub seen: Vec<EventId>,
    /// The kind of the claim in the body, if there is one.
    pub claim_kind: Option<ClaimKind>,
    pub body: Body,
    /// The claim or refused write whose reason is also the reason of the event, which then contains none.
    pub reason_of: Option<Ref>,
}

impl EventDraft {
    /// Creates a draft whose other fields are empty.
    pub fn new(kind: EventKind, targets: impl IntoIterator<Item = Ref>) -> Self {
        Self {
            kind,
            targets: targets.into_iter().collect(),
            successor: None,
            seen: Vec::new(),
            claim_kind: None,
            body: Body::default(),
            reason_of: None,
        }
    }

    /// Returns whether the event creates a claim.
    pub fn creates_claim(&self) -> bool {
        self.kind.creates_claim(self.successor.is_some())
    }
}

/// One act of a caller: either all of its events are stored or none.
#[derive(Clone, Debug, PartialEq)]
pub struct Act {
    /// The scope as the caller named it; [`super::Reader::scope_for`] says when `identity` selects another one.
    pub scope: Scope,
    /// The remote URL or git common directory of the project, if known.
    pub identity: Option<String>,
    pub who: String,
    /// The agent through which the person acts.
    pub agent: Option<String>,
    /// The idempotency key. An act that is already stored is answered, not repeated.
    pub op: OpId,
    /// The wall clock, in milliseconds since the Unix epoch.
    pub now: u64,
    /// In order; at least one.
    pub drafts: Vec<EventDraft>,
}

/// The result of an act.
#[derive(Clone, Debug, PartialEq)]
pub struct Committed {
    pub op: OpId,
    /// The scope that was written to: the caller's, unless the identity is bound to another.
    pub scope: Scope,
    /// The events in the order of the drafts, then those that the store added.
    pub events: Vec<EventId>,
    /// The claims that the act created, in the order of the drafts.
    pub created: Vec<ClaimId>,
    /// Claims whose state changed, including new ones. Empty if `replayed`.
    pub claims: Vec<ClaimId>,
    /// Active claims that need review since this act. Empty if `replayed`.
    pub needs_review: Vec<ClaimId>,
    /// Cards that were opened or changed. Empty if `replayed`.
    pub cards: Vec<CardId>,
    /// Those of `cards` that were opened.
    pub opened: Vec<CardId>,
    /// The act was already stored, so nothing was written now.
    pub replayed: bool,
}
