//! Conflict cards as they follow from events.

use serde::Deserialize;

use super::local;
use crate::domain::{
    event::{Body, EventKind, Header},
    id::{CardId, EventId, OpId},
};

/// Where a card comes from. Where several hold for the same members, the last of them counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CardKind {
    /// The guard refused a write; the candidate waits on this machine.
    Refused,
    /// Found by an audit or a model among what is active; on this machine.
    Found,
    /// Two active claims contradict each other by the norms that they carry.
    Contradiction,
    /// A claim was replaced, or a fact set, more than once by writers who had not seen each other.
    Contested,
    /// An agent wants a claim retracted and may only propose it; on this machine.
    Proposed,
}

impl CardKind {
    /// Every kind, in the order of their weight.
    pub const ALL: [Self; 5] = [Self::Refused, Self::Found, Self::Contradiction, Self::Contested, Self::Proposed];
}

/// The act that settled a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettledBy {
    /// The settling event.
    pub event: EventId,
    /// `supersede`, `retract`, `narrow`, `exception`, `dismiss`, `discard`, …
    pub act: String,
    /// Who.
    pub who: String,
    /// Through which agent.
    pub agent: Option<String>,
    /// When, by event clock.
    pub clock: crate::domain::Hlc,
    /// Why, unless redacted.
    pub reason: Option<String>,
    /// The act; undo it to open the card again.
    pub op: OpId,
}

/// What a local event says of a card, in the JSON of its body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LocalNote {
    /// The card, where it does not follow from the targets.
    pub card: Option<String>,
    /// How it was settled.
    pub act: Option<String>,
    /// Until when it is put off, in milliseconds since the Unix epoch.
    pub until: Option<u64>,
}

/// The note in a local event's body; empty where there is none or it was redacted.
pub fn local_note(body: Option<&Body>) -> LocalNote {
    body.and_then(|body| body.data.as_deref()).and_then(|data| serde_json::from_str(data).ok()).unwrap_or_default()
}

/// The candidate to which a `local.refused` event belongs: its first refusal, which later ones name as seen.
pub fn group_of(id: EventId, header: &Header) -> EventId {
    header.seen.first().copied().unwrap_or(id)
}

/// The card that an event makes or speaks of, if any.
///
/// A refused candidate's card is named after the candidate alone, so that a retry which opposes further claims does not
/// make another; a proposal's after the proposal, since a claim may be proposed for retraction again in other times. All
/// other cards are named after their members.
pub fn card_of(id: EventId, header: &Header, body: Option<&Body>) -> Option<CardId> {
    match super::understood(header) {
        EventKind::Resolve(act) if act != crate::domain::ResolveAct::Reviewed && header.targets.len() >= 2 => {
            Some(CardId::of_members(&header.targets))
        }
        EventKind::Local(kind) => match kind.as_str() {
            local::REFUSED => Some(CardId::of_members(&[group_of(id, header)])),
            local::PROPOSED => Some(CardId::of_members(&[id])),
            local::FOUND if header.targets.len() >= 2 => Some(CardId::of_members(&header.targets)),
            local::SETTLED | local::DISCARD | local::SNOOZE => Some(
                local_note(body)
                    .card
                    .and_then(|card| card.parse().ok())
                    .unwrap_or_else(|| CardId::of_members(&header.targets)),
            ),
            _ => None,
        },
        _ => None,
    }
}
