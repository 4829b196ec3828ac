//! Conflict cards as they follow from events.

use crate::domain::{EventId, Hlc, OpId};

/// Where a card comes from.
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
    pub clock: Hlc,
    /// Why, unless redacted.
    pub reason: Option<String>,
    /// The act; undo it to open the card again.
    pub op: OpId,
}
