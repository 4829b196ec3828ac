//! The event stream (`GET /events`, server-sent events): what changed, so that a view can follow.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::{CardId, ClaimId, OpId, Scope};

/// Something that happened in the daemon. Sent as the JSON `data` of a server-sent event named `change`; the first event
/// after connecting is `hello`, and `lagged` says that some were missed and everything should be read again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Change {
    /// `hello`, `change` or `lagged`.
    pub event: String,
    /// Grows by one with each.
    pub seq: u64,
    /// Where.
    pub scope: Option<Scope>,
    /// What was done: `remember`, `supersede`, `retract`, `resolve`, `refused`, `undo`, …
    pub act: String,
    /// The act's id.
    pub op_id: Option<OpId>,
    /// Who.
    pub who: String,
    /// Through which agent.
    pub agent: Option<String>,
    /// Claims whose state changed.
    pub claims: Vec<ClaimId>,
    /// Cards that were opened or changed.
    pub cards: Vec<CardId>,
    /// One sentence for people.
    pub summary: String,
}
