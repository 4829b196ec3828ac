//! Recall: what is known about a question.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ClaimView;
use crate::domain::{ClaimKind, EventId};

/// The most claims that one recall answers with.
pub const MAX_RECALL: usize = 50;

/// `POST /recall`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RecallRequest {
    /// The organisation.
    pub org_id: String,
    /// The project.
    pub project: String,
    /// What is asked, in words.
    pub query: String,
    /// How many claims at most, up to 50; default 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Only claims of these kinds; all if it is empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<ClaimKind>,
    /// Also claims that were superseded or retracted, after those in force.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub include_history: bool,
    /// Let the language model choose among what was found, by numbers alone; takes seconds.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub filter: bool,
    /// The state at this time, in milliseconds since the Unix epoch, by event clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<u64>,
}

/// The answer to `recall`: stored claims, word for word, the best first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RecallAnswer {
    /// How they were found: `decompose_N` for N sub-queries, `decompose_N_v` if the vocabulary added words to them. If the language model was to
    /// choose: `filter`, or why it did not: `fallback_no_endpoint`, `fallback_unreachable`, `fallback_parse_error`, `fallback_error`.
    pub method: String,
    /// Whether vectors took part; if not, `notes` says why.
    pub by_meaning: bool,
    /// Whether something answers the question.
    pub verdict: RecallVerdict,
    /// The probability, 0 to 1, that the best claim answers; 0 if none was found.
    pub probability: f32,
    /// The claims: those in force first.
    pub hits: Vec<RecallHit>,
    /// Pieces of files that were taken in, the best first: nobody's word, never compared with anything, no answer to `why`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<Reference>,
    /// What did not work, or is to be known about the answer; in sentences.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// Whether a question is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecallVerdict {
    /// A claim answers it.
    Known,
    /// No claim does, but a file that was taken in.
    Reference,
    /// Perhaps: these are the nearest claims.
    Nearest,
    /// Nothing has to do with it.
    #[default]
    Nothing,
}

impl RecallVerdict {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Known => "known",
            Self::Reference => "reference",
            Self::Nearest => "nearest",
            Self::Nothing => "nothing",
        }
    }
}

/// A piece of a file that was ingested for reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Reference {
    /// The event that took it in.
    pub id: EventId,
    /// The file.
    pub path: String,
    /// Its first line, from 1.
    pub first: usize,
    /// Its last line.
    pub last: usize,
    /// Its text, word for word.
    pub text: String,
    /// Who shared it with the team. Absent if it stays on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_by: Option<String>,
    /// What it is ranked by; comparable among references of one answer.
    pub score: f32,
    /// How near it is in meaning, -1 to 1. Absent without a vector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cosine: Option<f32>,
}

/// One claim that was recalled, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RecallHit {
    /// The claim.
    pub claim: ClaimView,
    /// What it is ranked by; comparable within one answer.
    pub score: f32,
    /// How near it is in meaning: the cosine between both vectors, -1 to 1. Absent without a vector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cosine: Option<f32>,
    /// The words of the question that it speaks of, as they were asked; those found through other words too.
    pub words: Vec<String>,
}
