//! The event stream (`GET /events`, server-sent events): reports changes, so that clients can update their views.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{CardAct, EventView};
use crate::domain::{CardId, ClaimId, OpId, Scope};

/// A change in the daemon. Sent as the JSON `data` of a server-sent event named `change`. The first event after
/// connecting is `hello`; after `lagged`, some events were missed and the client must reload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Change {
    /// `hello`, `change` or `lagged`.
    pub event: String,
    /// A sequence number, one more for each event.
    pub seq: u64,
    /// The scope.
    pub scope: Option<Scope>,
    /// The act: `remember`, `supersede`, `retract`, `resolve`, `refused`, `undo`, …
    pub act: String,
    /// The id of the change.
    pub op_id: Option<OpId>,
    /// The person.
    pub who: String,
    /// The agent through which they acted.
    pub agent: Option<String>,
    /// Claims whose state changed.
    pub claims: Vec<ClaimId>,
    /// Cards that were opened or changed by it.
    pub cards: Vec<CardId>,
    /// Those of `cards` that were opened by it.
    pub opened: Vec<CardId>,
    /// The id of the change that it undid, if it is an undo.
    pub undone: Option<OpId>,
    /// A summary in one sentence.
    pub summary: String,
}

impl EventView {
    /// Describes the subject of the act in one line: what became of the claims of the card that it settled, the
    /// statement that it stored, or else the claim or the act that it changed.
    pub fn subject(&self) -> Option<String> {
        if let Some(outcome) = &self.outcome {
            return Some(outcome.clone());
        }
        let text = match self.kind.as_str() {
            // Its targets are the claims that it contradicts.
            "local.refused" | "local.held" => self.statement.as_deref().unwrap_or("(redacted)"),
            _ => self.statement.as_deref().or(self.about.as_deref())?,
        };
        if let Some((act, old)) = self.accept.zip(self.about.as_deref()) {
            return Some(match act {
                CardAct::Exception => format!("“{text}” as an exception to “{old}”"),
                _ => format!("to replace “{old}” with “{text}”"),
            });
        }
        Some(match (self.kind.as_str(), &self.statement) {
            ("supersede", Some(_)) => format!("new: {text}"),
            ("undo" | "local.undo", None) => format!("the change that {text}"),
            ("local.proposed", _) => format!("to retract “{text}”"),
            _ => text.to_owned(),
        })
    }
}

/// Returns a verb in the past tense, of at most 11 characters, for what an event of this kind did. People read it instead of the kind.
pub fn event_verb(kind: &str) -> &'static str {
    match kind {
        "assert" => "stored",
        "supersede" => "superseded",
        "retract" | "resolve.retract" => "retracted",
        "reinstate" => "reinstated",
        "fact_set" => "stored",
        "depend" => "linked",
        "promote" => "promoted",
        "undo" | "local.undo" => "undid",
        "redact" | "local.redact" => "redacted",
        "resolve.supersede" | "local.settled" => "settled",
        "resolve.narrow" => "narrowed",
        "resolve.exception" => "kept both",
        "resolve.dismiss" => "dismissed",
        "resolve.reviewed" | "local.seen" => "reviewed",
        "chunk" | "local.chunk" => "ingested",
        "local.refused" => "was refused",
        "local.held" => "held",
        "local.found" | "local.asked" => "opened card",
        "local.proposed" => "proposed",
        "local.discard" => "discarded",
        "local.snooze" => "snoozed",
        kind if kind.starts_with("judgement.") => "judged",
        kind if kind.starts_with("roster.") => "edited team",
        _ => "changed",
    }
}
