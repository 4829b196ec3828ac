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
#[into_params(parameter_in = Query)]
pub struct InboxQuery {
    /// The organisation; without it, all scopes. Join requests belong to no scope, and are always listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub org_id: Option<String>,
    /// The project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The maximum number of items in each group, up to 200; default 50. `total` of a group counts all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Only this group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<InboxKind>,
    /// `next` of the previous page of that group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// The answer to `GET /inbox`. Groups with nothing in them are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Inbox {
    /// The groups, the most urgent first.
    pub groups: Vec<InboxGroup>,
    /// The number of items in all groups of this answer.
    pub total: usize,
    /// The number of pairs of claims that wait for a verdict. They are in no group: `GET /doubts` lists them.
    #[serde(default)]
    pub doubts: usize,
    /// The number of claims on which enough projects agree to make them claims of their organisation. They are in no group: `GET
    /// /promotions` lists them.
    #[serde(default)]
    pub promotions: usize,
    /// When the next snoozed card is listed again, in milliseconds since the Unix epoch; absent if none is snoozed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returns_at: Option<u64>,
}

/// Items of one kind that need attention.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct InboxGroup {
    /// The kind of the items.
    pub group: InboxKind,
    /// The number of items, listed or not.
    pub total: usize,
    /// Whether there may be more than `total`: beyond some thousands, items are not counted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// The newest items.
    pub items: Vec<InboxItem>,
    /// The cursor of the rest of the group; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl InboxGroup {
    /// Returns the heading of the group. The writes that agents propose are listed among those that were refused.
    pub fn title(&self) -> &'static str {
        let is_proposal = |item: &InboxItem| matches!(item, InboxItem::Card(card) if card.accept.is_some());
        match self.group {
            InboxKind::Refused if self.items.is_empty() || !self.items.iter().any(is_proposal) => self.group.title(),
            InboxKind::Refused if self.items.iter().all(is_proposal) => "Writes proposed by agents",
            InboxKind::Refused => "Refused and proposed writes",
            kind => kind.title(),
        }
    }
}

/// Why an item needs attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InboxKind {
    /// A device waits to be admitted into a team.
    Joining,
    /// The guard refused a write.
    Refused,
    /// Two active claims contradict each other.
    Contradiction,
    /// A claim was replaced twice by writers who had not seen each other.
    Contested,
    /// An agent proposed what it may not do alone.
    Proposed,
    /// An audit, a scan of notes or a model found a contradiction among active claims.
    Found,
    /// A write waits for its writer's verdicts on claims that it may contradict.
    Held,
    /// The story of a scope leaves open which claim holds.
    Story,
    /// An agent decided without a person: it kept claims although the guard found a contradiction, or retracted a person's claim.
    ByAgents,
    /// A premise of a claim changed.
    NeedsReview,
    /// The guard let a write pass with a warning.
    Warned,
    /// An event of a peer was quarantined.
    Quarantined,
}

impl InboxKind {
    /// Returns the heading of the group.
    pub fn title(self) -> &'static str {
        match self {
            Self::Joining => "Join requests",
            Self::Refused => "Refused writes",
            Self::Contradiction => "Contradictions found by rules",
            Self::Contested => "Changed concurrently",
            Self::Proposed => "Proposed by agents",
            Self::Found => "Contradictions found later",
            Self::Held => "Waiting for a verdict",
            Self::Story => "Story questions",
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
    /// A notice of something that was done.
    Notice(Box<NoticeItem>),
    /// An event in quarantine.
    Quarantined(Box<QuarantinedView>),
    /// A join request of a device.
    Joining(Box<PendingJoin>),
}

/// A claim whose premises changed; `POST /reviewed` confirms that it still holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReviewItem {
    /// The claim.
    pub claim: ClaimView,
    /// The changes of its premises.
    pub causes: Vec<EventView>,
}

/// A notice of something that was done and that a person should look at; `POST /reviewed` on the claim records that a person did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NoticeItem {
    /// The id of the notice.
    pub id: EventId,
    /// What was done.
    pub what: NoticeKind,
    /// The contradiction, in one sentence.
    #[serde(default)]
    pub sentence: String,
    /// The claim concerned.
    pub claim: ClaimView,
    /// The claims that it may contradict, or that it was stored against.
    pub against: Vec<ClaimView>,
    /// The stage of the guard that found the contradiction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<Stage>,
    /// The rule that matched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The probability of the contradiction, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
    /// The id of the change that it is about. The ids of one import's changes begin with the same twelve digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op_id: Option<OpId>,
    /// The time, in milliseconds since the Unix epoch.
    pub at: u64,
    /// The person.
    pub who: String,
    /// The agent through which they acted.
    pub agent: Option<String>,
}

/// What a notice reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoticeKind {
    /// A claim was stored with a warning.
    Warned,
    /// An agent stored a claim as an exception although it contradicts another.
    Forced,
    /// An agent dismissed a contradiction, so that both claims stay active.
    Dismissed,
    /// An agent retracted a person's claim.
    Retracted,
}

impl InboxItem {
    /// Returns the scope of the item, or `None` for an item that belongs to a team.
    pub fn scope(&self) -> Option<&Scope> {
        match self {
            Self::Card(card) => Some(&card.scope),
            Self::Review(item) => Some(&item.claim.scope),
            Self::Notice(item) => Some(&item.claim.scope),
            Self::Quarantined(_) | Self::Joining(_) => None,
        }
    }
}
