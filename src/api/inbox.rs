//! The inbox: everything that needs attention, in groups.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{
    claims::{ClaimView, EventView},
    conflicts::CardSummary,
    sync::{PendingJoin, QuarantinedView},
};
use crate::domain::{EventId, OpId, Scope, guard_report::Stage};

/// `GET /inbox`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
pub struct InboxQuery {
    /// The organisation; without it, all scopes. Join requests belong to no scope, and are always listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub org_id: Option<String>,
    /// The project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The maximum number of each group, up to 200; default 50. Every group says how many there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// This group alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<InboxKind>,
    /// Go on after this place of that group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// The answer to `GET /inbox`. Groups with nothing in them are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Inbox {
    /// The groups, what is most urgent first.
    pub groups: Vec<InboxGroup>,
    /// How many items need attention, all groups of this answer together.
    pub total: usize,
    /// How many pairs of claims wait for a verdict, besides the groups: `GET /doubts` lists them.
    #[serde(default)]
    pub doubts: usize,
    /// How many claims enough projects agree on to make them claims of their organisation, besides the groups: `GET /promotions` lists them.
    #[serde(default)]
    pub promotions: usize,
}

/// Things of one sort that need attention.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct InboxGroup {
    /// Of what sort.
    pub group: InboxKind,
    /// How many there are.
    pub total: usize,
    /// There may be more than `total`: beyond some thousands they are no longer counted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// The newest of them.
    pub items: Vec<InboxItem>,
    /// Where the rest of the group begins; absent if this is all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Why something needs attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InboxKind {
    /// A device waits to be let into a team.
    Joining,
    /// The guard refused a write.
    Refused,
    /// Two active claims contradict each other.
    Contradiction,
    /// A claim was replaced twice by writers who had not seen each other.
    Contested,
    /// An agent may only propose, and did.
    Proposed,
    /// An audit, a scan of notes or a model found a contradiction among what is active.
    Found,
    /// A write waits for its writer's verdicts on claims that it may contradict.
    Held,
    /// The story of a scope leaves open what holds.
    Story,
    /// An agent did what it might have proposed: let stand what the guard was against, or retracted a person's claim.
    ByAgents,
    /// A premise of a claim changed.
    NeedsReview,
    /// The guard let a write pass with a warning.
    Warned,
    /// An event came from a peer and was not let in.
    Quarantined,
}

impl InboxKind {
    /// The heading under which its things are listed.
    pub fn title(self) -> &'static str {
        match self {
            Self::Joining => "Join requests",
            Self::Refused => "Refused writes",
            Self::Contradiction => "Contradictions found by rules",
            Self::Contested => "Changed concurrently",
            Self::Proposed => "Proposed by agents",
            Self::Found => "Contradictions found later",
            Self::Held => "Waiting for a verdict",
            Self::Story => "Open questions",
            Self::ByAgents => "Decided by agents",
            Self::NeedsReview => "Need review",
            Self::Warned => "Stored with a warning",
            Self::Quarantined => "Quarantined events",
        }
    }
}

/// One item that needs attention.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "item", rename_all = "snake_case")]
pub enum InboxItem {
    /// A conflict card.
    Card(Box<CardSummary>),
    /// A claim whose premises changed.
    Review(Box<ReviewItem>),
    /// Something that was done.
    Notice(Box<NoticeItem>),
    /// An event that was not accepted.
    Quarantined(Box<QuarantinedView>),
    /// A device at the door.
    Joining(Box<PendingJoin>),
}

/// A claim whose premises changed; `POST /reviewed` says that it still holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReviewItem {
    /// The claim.
    pub claim: ClaimView,
    /// The changes of its premises.
    pub causes: Vec<EventView>,
}

/// Something that was done, and that a person should have a look at; `POST /reviewed` on the claim says that somebody did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NoticeItem {
    /// The notice.
    pub id: EventId,
    /// What was done.
    pub what: NoticeKind,
    /// What disagrees, in one sentence.
    #[serde(default)]
    pub sentence: String,
    /// The claim that it is about.
    pub claim: ClaimView,
    /// The claims that it may not fit with, or that it was stored against.
    pub against: Vec<ClaimView>,
    /// The stage of the guard that spoke.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<Stage>,
    /// The rule that fired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// How strongly they contradict, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
    /// The id of the change that left it. The rows of one import begin with the same twelve digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op_id: Option<OpId>,
    /// When, in milliseconds since the Unix epoch.
    pub at: u64,
    /// Who.
    pub who: String,
    /// Through which agent.
    pub agent: Option<String>,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoticeKind {
    /// A claim was stored with a warning.
    Warned,
    /// An agent let a claim stand beside what it contradicts.
    Forced,
    /// An agent said of claims that they do not contradict each other, and let them stand.
    Dismissed,
    /// An agent retracted a person's claim.
    Retracted,
}

impl InboxItem {
    /// Where it belongs; `None` for what belongs to a team.
    pub fn scope(&self) -> Option<&Scope> {
        match self {
            Self::Card(card) => Some(&card.scope),
            Self::Review(item) => Some(&item.claim.scope),
            Self::Notice(item) => Some(&item.claim.scope),
            Self::Quarantined(_) | Self::Joining(_) => None,
        }
    }
}
