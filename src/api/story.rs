//! The story of a scope: its claims in the order in which they were written, and what would confuse a newcomer.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{ClaimView, JudgeView, request};
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
    /// Claims in force that were written in working sessions, minutes apart by one writer: those of one session are not compared.
    #[serde(default)]
    pub in_sessions: usize,
    /// How many sessions these are.
    #[serde(default)]
    pub sessions: usize,
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
    /// Whether a language model asks, and not the rules: on this device only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_model: bool,
    /// The card that asks about it; none if it was answered, or the background pass has not opened it yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<CardId>,
}

request! {
    /// `POST /story/read`: has a language model read the next part of a whole story. The next request goes on from there.
    #[derive(Default)]
    pub struct ReadStoryRequest {
        /// Whose claims: the scope.
        caller,
        /// Only estimate what it would take.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub dry_run: bool,
    }
}

/// The answer to `POST /story/read`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StoryProgress {
    /// The models that can be asked, in the order in which they are.
    pub judges: Vec<JudgeView>,
    /// Claims that were read by this request.
    pub read: usize,
    /// Cards that were opened.
    pub cards: usize,
    /// Answers that were dropped: invalid, or about something that is settled.
    pub dropped: usize,
    /// Claims that are left to read; 0 without a model.
    pub left: usize,
    /// About how many tokens the models read and write for these.
    pub tokens: usize,
    /// About how long that takes, in seconds.
    pub seconds: u64,
}
