//! Derives conflict cards from events.

use serde::{Deserialize, Serialize};

use super::local;
use crate::domain::{
    confusion::{Confusion, StoryRule},
    event::{Body, EventKind, Header},
    id::{CardId, EventId, OpId},
};

/// The origin of a card. If several apply to the same members, the last one in this order counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CardKind {
    /// The guard refused a write; the card keeps the new claim, on this device only.
    Refused,
    /// An audit or a model found it among active claims; on this device only.
    Found,
    /// Two active claims contradict each other by the norms in their events; the same card on every device.
    Contradiction,
    /// A claim was replaced, or a fact was set, more than once by writers who had not seen each other's act; or none of the claims
    /// is active, because they replaced each other, or because one took the place of another and was retracted by a writer who
    /// had not seen that.
    Contested,
    /// An agent proposed to retract a person's claim, which only a person may do: `retract` accepts the proposal, `dismiss`
    /// keeps the claim. On this device only.
    Proposed,
    /// A write waits for its writer's verdicts on claims that it may contradict; on this device only.
    Held,
    /// The story of the scope leaves open which claim holds: a reversal, an ambiguity or a stale claim. If rules found it, it
    /// is the same card on every device; if a language model proposes it, it is on this device only.
    Story,
}

impl CardKind {
    /// Every kind, in the order of precedence, the lowest first.
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
    /// The person.
    pub who: String,
    /// The agent through which they acted.
    pub agent: Option<String>,
    /// The event's clock.
    pub clock: crate::domain::Hlc,
    /// The reason, unless redacted.
    pub reason: Option<String>,
    /// The id of the act; undo it to open the card again.
    pub op: OpId,
}

/// The part of an event's JSON body that concerns a card.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LocalNote {
    /// The card, if it does not follow from the targets.
    pub card: Option<String>,
    /// How it was settled.
    pub act: Option<String>,
    /// The active claims that were kept instead of a refused write.
    pub kept: Vec<EventId>,
    /// The end of a snooze, in milliseconds since the Unix epoch.
    pub until: Option<u64>,
    /// The claim of the organisation's level that the first target of a narrowing replaces in this project.
    pub narrows: Option<EventId>,
    /// The confusion of a story card that is answered, or that a language model proposes.
    pub confusion: Option<Confusion>,
    /// The rule that found the place, for a story card that is answered or that a language model proposes.
    pub rule: Option<StoryRule>,
}

/// Reads the note in an event's body; empty if there is none or it was redacted.
pub fn local_note(body: Option<&Body>) -> LocalNote {
    body.and_then(|body| body.data.as_deref()).and_then(|data| serde_json::from_str(data).ok()).unwrap_or_default()
}

/// Returns the id of the new claim to which a `local.refused` or `local.held` event belongs: that of its first refusal, which later ones
/// name in `seen`.
pub fn group_of(id: EventId, header: &Header) -> EventId {
    header.seen.first().copied().unwrap_or(id)
}

/// Returns the id of the card that an event creates or refers to, if any.
///
/// The id of a refused write's card is derived from the new claim alone, so that a retry which contradicts further claims
/// gets no second card; that of a proposal from the proposal, because a claim may be proposed for retraction again later;
/// that of a story card from its confusion and its members; that of any other card from its members.
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
            // A redacted question has no card.
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
