//! Norms: the parsed form of statements, by which claims are compared independently of their wording.

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

use super::guard_report::Confidence;

/// The modality of a norm.
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
    /// Forbidden, or stated not to be so.
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
    /// No subject, because it is a question or a hypothetical. It cannot be compared.
    #[n(2)]
    Missing,
}

/// Where a norm holds; an unset field means everywhere.
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

/// A bound of a number: both ends inclusive, in the unit of [`Limit::unit`]. It is compared as a range, never as a value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encode, Decode, utoipa::ToSchema)]
#[serde(default)]
#[cbor(map)]
pub struct Limit {
    /// The minimum, as a decimal number.
    #[n(0)]
    pub min: Option<String>,
    /// The maximum, as a decimal number.
    #[n(1)]
    pub max: Option<String>,
    /// The base unit after normalisation: `s`, `byte`, `char`, …; empty for a bare number.
    #[n(2)]
    pub unit: String,
}

/// A modality of one subject. A statement may contain several norms ("never X, only Y").
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encode, Decode, utoipa::ToSchema)]
#[serde(default)]
#[cbor(map)]
pub struct Norm {
    /// The modality.
    #[n(0)]
    pub modality: Modality,
    /// The canonical entity or action, lower case, singular, stemmed: `deploy`, `postgres`.
    #[n(1)]
    pub subject: String,
    /// Whether the subject is definite, vague or missing.
    #[n(2)]
    pub subject_kind: SubjectKind,
    /// The property of the subject (Postgres *port*, Postgres *version*). Only values of the same property are compared.
    #[n(3)]
    pub attribute: Option<String>,
    /// The canonical state verb of the lexicon (`used`, `enabled`, `removed`, …).
    #[n(4)]
    pub object: Option<String>,
    /// The atomic value, normalised, of at most two tokens: a colour, a port, a version, a number with its unit.
    #[n(5)]
    pub value: Option<String>,
    /// A bound, if the statement says “at most” or “at least”.
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
    /// The words of the statement from which subject (first), modality, value and limit were read. They are shown as evidence.
    #[n(10)]
    pub words: Vec<String>,
    /// The confidence in the norm if it is not certain, because a language model read it differently from the rules, or only
    /// the model read it. Contradictions with such norms alone never refuse a write.
    #[n(11)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
}

impl Norm {
    /// Returns the value or the bound in the words of the statement (“at most 8 hours”, not “28800 s”), or in its normalised form if the
    /// norm does not contain these words. `None` if it has neither.
    pub fn written_value(&self) -> Option<String> {
        // The first words are the subject's. The value's words are last, or followed by the cue of a bound.
        let own = self.words.get(usize::from(!self.subject.is_empty())..).unwrap_or_default();
        let Some(Limit { min, max, unit }) = &self.limit else {
            let value = self.value.as_ref()?;
            return Some(own.last().unwrap_or(value).clone());
        };
        let written = own.split_last().and_then(|(_cue, before)| before.last());
        let amount =
            |number: &String| written.map_or_else(|| format!("{number} {unit}").trim().to_owned(), String::clone);
        Some(match (min, max) {
            (Some(min), None) => format!("at least {}", amount(min)),
            (None, Some(max)) => format!("at most {}", amount(max)),
            // A range has no cue: its words are last.
            (Some(min), Some(max)) => {
                own.last().cloned().unwrap_or_else(|| format!("{min} to {max} {unit}").trim().to_owned())
            }
            (None, None) => return None,
        })
    }
}

/// The index terms of a claim, by which the store finds the guard's nearby claims without a scan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexTerms {
    /// The canonical subjects of the norms. A claim that shares one is nearby. Sorted, without repeats.
    pub subjects: Vec<String>,
    /// Keys made of a subject and its attribute. Two claims that contradict each other share at least one. Sorted, without repeats.
    pub pairs: Vec<String>,
    /// The content terms of the statement: lower-case stems, and `#name` of each set of exclusive alternatives of which the
    /// statement names a member. Nearby claims are ranked by the number of (rare) terms that they share. Sorted, without repeats.
    pub terms: Vec<String>,
    /// Pairs of these terms that are near each other in the text, each pair in alphabetical order. If all words are common,
    /// phrases still find the few claims that share many of them. Sorted, without repeats.
    pub phrases: Vec<String>,
}

impl IndexTerms {
    /// Returns whether the index finds one claim by a term that it shares with the other one.
    pub fn overlaps(&self, other: &Self) -> bool {
        let shared = |ours: &[String], theirs: &[String]| ours.iter().any(|one| theirs.binary_search(one).is_ok());
        shared(&self.subjects, &other.subjects)
            || shared(&self.terms, &other.terms)
            || shared(&self.phrases, &other.phrases)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_without_its_words_is_shown_as_it_is_compared() {
        let norm = Norm { subject: "session".into(), words: vec!["session".into()], ..Norm::default() };
        assert_eq!(norm.written_value(), None);
        let valued = Norm { value: Some("28800 s".into()), ..norm.clone() };
        assert_eq!(valued.written_value().as_deref(), Some("28800 s"));
        let limit = Some(Limit { max: Some("3".into()), ..Limit::default() });
        assert_eq!(Norm { limit, ..norm.clone() }.written_value().as_deref(), Some("at most 3"));
        let limit = Some(Limit { min: Some("5".into()), max: Some("10".into()), unit: "s".into() });
        assert_eq!(Norm { limit: limit.clone(), ..norm.clone() }.written_value().as_deref(), Some("5 to 10 s"));
        let words = vec!["session".into(), "5–10 seconds".into()];
        assert_eq!(Norm { limit, words, ..norm }.written_value().as_deref(), Some("5–10 seconds"));
    }
}
