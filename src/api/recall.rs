//! Recall: searches for claims that answer a question.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ClaimView;
use crate::domain::{ClaimKind, EventId};

/// The maximum number of claims in one answer.
pub const MAX_RECALL: usize = 50;

/// The maximum length of a question, in bytes.
pub const MAX_QUERY: usize = 1000;

/// `POST /recall`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RecallRequest {
    /// The organisation.
    pub org_id: String,
    /// The project.
    pub project: String,
    /// The question, in words.
    pub query: String,
    /// The maximum number of claims, up to 50; default 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Only claims of these kinds; all if it is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<ClaimKind>,
    /// Also return superseded and retracted claims, after the active ones.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub include_history: bool,
    /// Let the language model filter the results; takes seconds. It cannot add text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub filter: bool,
    /// Return the state at this time, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<u64>,
}

/// The answer to `recall`: stored claims, word for word, the best first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RecallAnswer {
    /// How the claims were found: `decompose_N` for N sub-queries, `decompose_N_v` if the vocabulary added words to them. If `filter` was
    /// requested: `filter`, or why it failed: `fallback_no_endpoint`, `fallback_unreachable`, `fallback_parse_error`, `fallback_error`.
    pub method: String,
    /// Whether vectors were used; if not, `notes` says why not.
    pub by_meaning: bool,
    /// Whether the question is answered.
    pub verdict: RecallVerdict,
    /// The probability, 0 to 1, that the best claim answers the question; 0 if no claim was found.
    pub probability: f32,
    /// The claims, active ones first.
    pub hits: Vec<RecallHit>,
    /// Passages of ingested files, best first. They are not claims: the guard does not compare them, and `why` does not use them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<Reference>,
    /// Problems and other notes on the answer, in sentences.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// Whether a question is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecallVerdict {
    /// A claim answers it.
    Known,
    /// No claim answers it, but an ingested file does.
    Reference,
    /// Uncertain: these are the nearest claims.
    Nearest,
    /// Nothing answers it.
    #[default]
    Nothing,
}

impl RecallVerdict {
    /// Returns the word used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Known => "known",
            Self::Reference => "reference",
            Self::Nearest => "nearest",
            Self::Nothing => "nothing",
        }
    }
}

/// A passage of an ingested file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Reference {
    /// The event that ingested it.
    pub id: EventId,
    /// The file.
    pub path: String,
    /// Its first line, from 1.
    pub first: usize,
    /// Its last line.
    pub last: usize,
    /// Its text, word for word.
    pub text: String,
    /// The person who shared it with the team. Absent if it stays on this device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_by: Option<String>,
    /// Its score; comparable among the references of one answer.
    pub score: f32,
    /// The cosine similarity to the question, -1 to 1. Absent without a vector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cosine: Option<f32>,
}

/// A claim that was found, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RecallHit {
    /// The claim.
    pub claim: ClaimView,
    /// Its score; comparable within one answer.
    pub score: f32,
    /// The cosine similarity to the question, -1 to 1. Absent without a vector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cosine: Option<f32>,
    /// The words of the question that the claim contains or matches by a synonym, as they are in the question.
    pub words: Vec<String>,
    /// The verdict if only this claim had been found: `known`, `nearest` or `nothing`. Absent if recall did not find it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<RecallVerdict>,
}
