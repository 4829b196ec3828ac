//! The norm: what the normaliser makes of a statement, so that claims can be compared without their wording.

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

use super::verdict::Confidence;

/// The stance of a norm.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    Encode,
    Decode,
    utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
#[cbor(index_only)]
pub enum Modality {
    /// Required, or simply so: "is", "runs on", "must".
    #[default]
    #[n(0)]
    Must,
    /// Preferred.
    #[n(1)]
    Should,
    /// Allowed.
    #[n(2)]
    May,
    /// Forbidden, or simply not so.
    #[n(3)]
    MustNot,
    /// Discouraged.
    #[n(4)]
    ShouldNot,
    /// Not required.
    #[n(5)]
    MayNot,
}

/// Whether the subject of a statement could be told.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    Encode,
    Decode,
    utoipa::ToSchema,
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cbor(index_only)]
pub enum SubjectKind {
    /// A definite subject.
    #[n(0)]
    Present,
    /// A vague subject, or prose that the rules cannot parse: comparison defers to language inference.
    #[default]
    #[n(1)]
    Fuzzy,
    /// No subject: a question, a hypothetical. Comparable to nothing.
    #[n(2)]
    Missing,
}

/// Where a norm holds: unset means everywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encode, Decode, utoipa::ToSchema)]
#[serde(default)]
#[cbor(map)]
pub struct NormScope {
    /// The environment: `prod`, `staging`, `dev`, …
    #[n(0)]
    pub env: Option<String>,
    /// The team or role.
    #[n(1)]
    pub team: Option<String>,
    /// The tenant.
    #[n(2)]
    pub tenant: Option<String>,
}

/// A bound on a number: both ends inclusive, in the unit of [`Limit::unit`]. Compared as a range, never as a value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encode, Decode, utoipa::ToSchema)]
#[serde(default)]
#[cbor(map)]
pub struct Limit {
    /// The least allowed, as a decimal number.
    #[n(0)]
    pub min: Option<String>,
    /// The most allowed, as a decimal number.
    #[n(1)]
    pub max: Option<String>,
    /// The base unit after normalisation: `s`, `byte`, `char`, …; empty for a bare number.
    #[n(2)]
    pub unit: String,
}

/// One stance about one subject. A statement may hold several ("never X, only Y").
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encode, Decode, utoipa::ToSchema)]
#[serde(default)]
#[cbor(map)]
pub struct Norm {
    /// The stance.
    #[n(0)]
    pub modality: Modality,
    /// The canonical entity or action, lower case, singular, stemmed: `deploy`, `postgres`.
    #[n(1)]
    pub subject: String,
    /// Whether the subject is definite, vague or missing.
    #[n(2)]
    pub subject_kind: SubjectKind,
    /// Which property of the subject is spoken of (Postgres *port*, Postgres *version*): values compare only within one.
    #[n(3)]
    pub attribute: Option<String>,
    /// The canonical state verb: one of the lexicon's (`used`, `enabled`, `removed`, …).
    #[n(4)]
    pub object: Option<String>,
    /// The atomic value, normalised, at most two tokens: a colour, a port, a version, a number with its unit.
    #[n(5)]
    pub value: Option<String>,
    /// A bound, where the statement says at most / at least.
    #[n(6)]
    pub limit: Option<Limit>,
    /// Where it holds.
    #[n(7)]
    pub scope: NormScope,
    /// The first day on which it holds, `YYYY-MM-DD`.
    #[n(8)]
    pub valid_from: Option<String>,
    /// The last day on which it holds, `YYYY-MM-DD`.
    #[n(9)]
    pub valid_until: Option<String>,
    /// The words of the statement that gave subject (first), modality, value and limit: what a verdict shows as its ground.
    #[n(10)]
    pub words: Vec<String>,
    /// How sure the normaliser is, where it is not certain: a language model read something otherwise, or alone. What is found by such a
    /// norm refuses nothing by itself.
    #[n(11)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
}

/// What the store indexes of a claim, so that the guard's candidates come from an index and never from a scan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexTerms {
    /// Canonical subjects of the norms: a claim that shares one is a candidate. Sorted, without repeats.
    pub subjects: Vec<String>,
    /// Keys of which two claims that contradict share one: a subject with its attribute. Sorted, without repeats.
    pub pairs: Vec<String>,
    /// Content terms of the statement: lower-case stems, and `#name` for a set of exclusive alternatives that the
    /// statement names a member of. Candidates are ranked by how many (rare) terms they share. Sorted, without repeats.
    pub terms: Vec<String>,
    /// Two of these terms that stand near each other, in one order whatever the text's. Where every word is common, they
    /// find the few claims that share many. Sorted, without repeats.
    pub phrases: Vec<String>,
}
