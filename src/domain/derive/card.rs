//! Conflict cards as they follow from events.

use serde::{Deserialize, Serialize};

use super::local;
use crate::domain::{
    confusion::{Confusion, StoryRule},
    event::{Body, EventKind, Header},
    id::{CardId, EventId, OpId},
};

/// Where a card comes from. If several apply to the same members, the last of them counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CardKind {
    /// The guard refused a write; the new claim is kept here, on this device only.
    Refused,
    /// Found by an audit or a model among what is active; on this device only.
    Found,
    /// Two active claims contradict each other, by the norms that they carry: the same card on every device.
    Contradiction,
    /// A claim was replaced, or a fact set, more than once by writers who had not seen each other; or claims replaced each
    /// other, so that none of them is active.
    Contested,
    /// An agent proposed to retract a person's claim, which needs a person: `retract` accepts the proposal, `dismiss` keeps
    /// the claim; on this device only.
    Proposed,
    /// A write waits for its writer's verdicts on claims that it may contradict; on this device only.
    Held,
    /// The story of the scope leaves open what holds: a reversal, an ambiguity or a stale claim. Read from the claims by rules
    /// it is the same card on every device; one that a language model proposes is on this device only.
    Story,
}

impl CardKind {
    /// Every kind, in the order of their weight.
    pub const ALL: [Self; 7] =
        [Self::Refused, Self::Found, Self::Contradiction, Self::Contested, Self::Proposed, Self::Held, Self::Story];
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

/// The part of an event's JSON body that concerns a card.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LocalNote {
    /// The card, where it does not follow from the targets.
    pub card: Option<String>,
    /// How it was settled.
    pub act: Option<String>,
    /// Until when it is put off, in milliseconds since the Unix epoch.
    pub until: Option<u64>,
    /// Of a narrowing: the claim of the organisation's level that the first target stands for in this project.
    pub narrows: Option<EventId>,
    /// Of an answer to a story card, or of one that a language model proposes: its category.
    pub confusion: Option<Confusion>,
    /// Of an answer to a story card, or of one that a language model proposes: the rule that found it.
    pub rule: Option<StoryRule>,
}

/// The note in a local event's body; empty where there is none or it was redacted.
pub fn local_note(body: Option<&Body>) -> LocalNote {
    body.and_then(|body| body.data.as_deref()).and_then(|data| serde_json::from_str(data).ok()).unwrap_or_default()
}

/// The new claim to which a `local.refused` event belongs: its first refusal, which later ones name as seen.
pub fn group_of(id: EventId, header: &Header) -> EventId {
    header.seen.first().copied().unwrap_or(id)
}

/// The card that an event creates or refers to, if any.
///
/// A refused new claim's card is named after the new claim alone, so that a retry which opposes further claims does not
/// make another; a proposal's after the proposal, since a claim may be proposed for retraction again in other times. The
/// card of a story is named after its category and its members; all other cards after their members.
pub fn card_of(id: EventId, header: &Header, body: Option<&Body>) -> Option<CardId> {
    match super::understood(header) {
        EventKind::Resolve(act) if act != crate::domain::ResolveAct::Reviewed => match local_note(body).confusion {
            Some(confusion) => Some(CardId::of_story(confusion, &header.targets)),
            None if header.targets.len() >= 2 => Some(CardId::of_members(&header.targets)),
            None => None,
        },
        EventKind::Local(kind) => match kind.as_str() {
            local::REFUSED | local::HELD => Some(CardId::of_members(&[group_of(id, header)])),
            local::PROPOSED => Some(CardId::of_members(&[id])),
            local::FOUND if header.targets.len() >= 2 => Some(CardId::of_members(&header.targets)),
            // Without its words it asks nothing.
            local::ASKED => local_note(body).confusion.map(|confusion| CardId::of_story(confusion, &header.targets)),
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
