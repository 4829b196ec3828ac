//! The story of a scope: its claims in the order in which they were written, with reversals, ambiguities and stale claims.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{ClaimView, JudgeView, request};
use crate::domain::{CardId, ClaimId, Confusion};

/// `GET /story`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams, ToSchema)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StoryQuery {
    /// The organisation.
    pub org_id: String,
    /// The project.
    pub project: String,
    /// Only claims about this subject, and marks that name one of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Only claims since this time, in milliseconds since the Unix epoch, and marks that name one of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
}

/// The story of a scope.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Story {
    /// Its claims, oldest first, including superseded and retracted ones.
    pub claims: Vec<ClaimView>,
    /// The marks: places in the story that a person should settle, in order.
    pub marks: Vec<StoryMark>,
    /// The number of claims that were read.
    pub read: usize,
    /// Whether older claims were left out, because the scope has too many.
    pub cut: bool,
    /// The number of changed claims that the background pass has not read yet; the marks may be incomplete.
    #[serde(default)]
    pub waiting: usize,
    /// The number of claims in force that were written in working sessions, that is, by one writer minutes apart. Claims of one session
    /// are not compared with each other.
    #[serde(default)]
    pub in_sessions: usize,
    /// The number of these sessions.
    #[serde(default)]
    pub sessions: usize,
}

/// A place in the story where it is unclear which claim holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StoryMark {
    /// Why it is unclear.
    pub confusion: Confusion,
    /// A question that can be answered with yes or no without reading the claims.
    pub question: String,
    /// The claims concerned, in order.
    pub claims: Vec<ClaimId>,
    /// Whether the mark is from a language model, not from the rules; such marks exist on this device only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_model: bool,
    /// The card with the question; absent if it was answered, or if the background pass has not opened it yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<CardId>,
}

request! {
    /// `POST /story/read`: has a language model read the next part of a story. The next request continues from there.
    #[derive(Default)]
    pub struct ReadStoryRequest {
        /// Who asks; its scope is the one whose claims are read.
        caller(scope),
        /// Dry run: only estimate the cost.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub dry_run: bool,
    }
}

/// The answer to `POST /story/read`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StoryProgress {
    /// The available models, in the order in which they are asked.
    pub judges: Vec<JudgeView>,
    /// The number of claims that this request read.
    pub read: usize,
    /// The number of cards that were opened.
    pub cards: usize,
    /// The number of answers that were dropped because they were invalid, or about something that is settled.
    pub dropped: usize,
    /// The number of claims left to read; 0 without a model.
    pub left: usize,
    /// Estimated number of tokens that the models read and write for these.
    pub tokens: usize,
    /// Estimated duration, in seconds.
    pub seconds: u64,
}
