//! What a language model answered, read strictly: anything that is not one norm of the grammar is no answer.

use serde::{Deserialize, Deserializer};

use crate::{domain::norm::Modality, guard::lexicon::lexicon};

/// The longest answer that is read, in bytes.
const MAX_ANSWER: usize = 1024;

/// The longest text in an answer, in characters; the grammar allows 48.
const MAX_TEXT: usize = 64;

/// What a language model made of a statement. Its words are not trusted: only those that stand in the statement count.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// The stance.
    pub modality: Modality,
    /// What the statement is about; `None` where it rules nothing.
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

/// The key must be there; its value may be `null`.
fn nullable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Option::deserialize(deserializer)
}

/// Why an answer is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// Chatter, a refusal, an answer that was cut off, or keys and words that no norm has.
    #[error("the language model did not answer with a norm")]
    NoNorm,
    /// Longer than any norm.
    #[error("the language model's answer is longer than any norm")]
    TooLong,
}

impl Reading {
    /// Reads an answer.
    ///
    /// # Errors
    /// [`Unread`] for anything but one norm.
    pub fn parse(answer: &str) -> Result<Self, Unread> {
        if answer.len() > MAX_ANSWER {
            return Err(Unread::TooLong);
        }
        let reading: Self = serde_json::from_str(answer).map_err(|_| Unread::NoNorm)?;
        let texts = [&reading.subject, &reading.object, &reading.value, &reading.env, &reading.team];
        for text in texts.into_iter().flatten() {
            if text.chars().count() > MAX_TEXT {
                return Err(Unread::TooLong);
            }
            if text.trim().is_empty() || text.chars().any(char::is_control) {
                return Err(Unread::NoNorm);
            }
        }
        if reading.object.as_deref().is_some_and(|state| !lexicon().is_state(state)) {
            return Err(Unread::NoNorm);
        }
        Ok(reading)
    }
}
