//! Parses a language model's answer strictly: anything but one norm of the grammar is an error.

use serde::{Deserialize, Deserializer};

use crate::{domain::norm::Modality, guard::lexicon::lexicon};

/// The maximum length of an answer, in bytes.
const MAX_ANSWER: usize = 1024;

/// The maximum length of a text in an answer, in characters; the grammar allows 48.
const MAX_TEXT: usize = 64;

/// A norm that a language model read. Its words are not trusted: only those of the statement count.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// The stance.
    pub modality: Modality,
    /// The subject of the statement; `None` if it states no rule.
    #[serde(deserialize_with = "nullable")]
    pub subject: Option<String>,
    /// The state verb, one of the lexicon's.
    #[serde(deserialize_with = "nullable")]
    pub object: Option<String>,
    /// The value.
    #[serde(deserialize_with = "nullable")]
    pub value: Option<String>,
    /// The environment.
    #[serde(default)]
    pub env: Option<String>,
    /// The team or role.
    #[serde(default)]
    pub team: Option<String>,
}

/// Requires a key, whose value may be `null`.
fn nullable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Option::deserialize(deserializer)
}

/// The error for an invalid answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadingError {
    /// It is prose, a refusal, a truncated answer, or has unknown keys or values.
    #[error("the language model did not answer with a norm")]
    NotANorm,
    /// It is longer than any norm.
    #[error("the language model's answer is too long to be a norm")]
    TooLong,
}

impl Reading {
    /// Parses an answer, which must be exactly one norm.
    pub fn parse(answer: &str) -> Result<Self, ReadingError> {
        if answer.len() > MAX_ANSWER {
            return Err(ReadingError::TooLong);
        }
        let reading: Self = serde_json::from_str(answer).map_err(|_| ReadingError::NotANorm)?;
        let texts = [&reading.subject, &reading.object, &reading.value, &reading.env, &reading.team];
        for text in texts.into_iter().flatten() {
            if text.chars().count() > MAX_TEXT {
                return Err(ReadingError::TooLong);
            }
            if text.trim().is_empty() || text.chars().any(char::is_control) {
                return Err(ReadingError::NotANorm);
            }
        }
        if reading.object.as_deref().is_some_and(|state| !lexicon().is_state(state)) {
            return Err(ReadingError::NotANorm);
        }
        Ok(reading)
    }
}
