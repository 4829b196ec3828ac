//! The story of a scope: its claims in the order in which they were written, and what would confuse a newcomer.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::ClaimView;
use crate::domain::{CardId, ClaimId, Confusion};

/// `GET /story`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StoryQuery {
    /// The organisation.
    pub org_id: String,
    /// The project.
    pub project: String,
    /// Only claims about this subject, and the marks that involve one of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Only claims since this time, in milliseconds since the Unix epoch, and marks that name one of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
}

/// The story of a scope.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Story {
    /// Its claims, oldest first, superseded and retracted ones among them.
    pub claims: Vec<ClaimView>,
    /// Marks: places in the story that a person should settle, in order.
    pub marks: Vec<StoryMark>,
    /// Claims that were read.
    pub read: usize,
    /// Whether older claims were left out, because the scope has more than are read.
    pub cut: bool,
    /// Claims that changed and that the background pass has yet to read; the marks may be incomplete.
    #[serde(default)]
    pub waiting: usize,
}

/// A place in the story where it is unclear which claim holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StoryMark {
    /// Why.
    pub confusion: Confusion,
    /// A question that can be answered with yes or no without reading the claims.
    pub question: String,
    /// The claims concerned, in order.
    pub claims: Vec<ClaimId>,
    /// The card that asks about it; none if it was answered, or the background pass has not opened it yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<CardId>,
}
