//! The norm: what the normaliser makes of a statement, so that claims can be compared without their wording.

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

use super::guard_report::Confidence;

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
    /// Required, or stated as a fact: "is", "runs on", "must".
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

/// Whether the subject of the statement is known.
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
    /// No subject: a question or a hypothetical. It cannot be compared.
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
    /// The property of the subject (Postgres *port*, Postgres *version*): values are compared only within one property.
    #[n(3)]
    pub attribute: Option<String>,
    /// The canonical state verb: one of the lexicon's (`used`, `enabled`, `removed`, …).
    #[n(4)]
    pub object: Option<String>,
    /// The atomic value, normalised, at most two tokens: a colour, a port, a version, a number with its unit.
    #[n(5)]
    pub value: Option<String>,
    /// A bound, if the statement has “at most” or “at least”.
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
    /// The words of the statement from which subject (first), modality, value and limit were read; shown as evidence.
    #[n(10)]
    pub words: Vec<String>,
    /// How sure the guard is of the norm, if it is not certain: a language model read it differently from the rules, or
    /// alone. A contradiction with such a norm alone never refuses a write.
    #[n(11)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
}

/// What the store indexes of a claim, so that the guard's nearby claims come from an index and never from a scan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexTerms {
    /// Canonical subjects of the norms: a claim that shares one is a new claim. Sorted, without repeats.
    pub subjects: Vec<String>,
    /// Keys of which two claims that contradict share one: a subject with its attribute. Sorted, without repeats.
    pub pairs: Vec<String>,
    /// Content terms of the statement: lower-case stems, and `#name` for a set of exclusive alternatives that the
    /// statement names a member of. Nearby claims are ranked by how many (rare) terms they share. Sorted, without repeats.
    pub terms: Vec<String>,
    /// Two of these terms that stand near each other, in one order whatever the text's. Where every word is common, they
    /// find the few claims that share many. Sorted, without repeats.
    pub phrases: Vec<String>,
}
