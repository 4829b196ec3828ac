//! Lets a language model choose among texts: by their numbers, or by its odds for each. It never writes any text.

use std::time::Instant;

use super::Engine;
use crate::{
    domain::text::cut_line,
    infer::{Call, EndpointError, InferError, Prompt},
    recall::numbers,
};

/// Why nothing was chosen: the value of `method` in the answer, and a sentence.
pub(super) struct Fallback(pub(super) &'static str, pub(super) String);

const PARSE_ERROR: &str = "fallback_parse_error";
const UNREACHABLE: &str = "fallback_unreachable";
const ERROR: &str = "fallback_error";

impl From<InferError> for Fallback {
    fn from(error: InferError) -> Self {
        let method = match error {
            InferError::NoModel { .. } => "fallback_no_endpoint",
            InferError::Refused(_) => ERROR,
            InferError::Timeout { .. }
            | InferError::Busy { .. }
            | InferError::Crashed { .. }
            | InferError::BadModel { .. }
            | InferError::OutOfMemory { .. } => UNREACHABLE,
        };
        Self(method, error.to_string())
    }
}

impl From<EndpointError> for Fallback {
    fn from(error: EndpointError) -> Self {
        let method = match error {
            EndpointError::Unreachable(_) => UNREACHABLE,
            EndpointError::Refused(_) | EndpointError::PromptRefused(_) => ERROR,
            EndpointError::Unreadable(_) => PARSE_ERROR,
        };
        Self(method, error.to_string())
    }
}

/// Returns the local model's log-odds of “Yes” over “No” for each text. Each text is asked about alone, so that neither
/// the order nor another text can influence the answer. All questions share the deadline of `call`.
pub(super) fn odds(
    engine: &Engine,
    system: &str,
    examples: &[(&str, &str)],
    texts: &[&str],
    call: Call,
) -> Result<Vec<f32>, Fallback> {
    let until = Instant::now() + call.deadline;
    let answers = ["Yes", "No"].map(str::to_owned);
    let ask = |text: &&str| {
        let prompt = Prompt::few_shot(system, examples.iter().copied(), cut_line(text, numbers::MAX_CHARS));
        let call = Call { deadline: until.saturating_duration_since(Instant::now()), ..call };
        match engine.models.answers(&prompt, &answers, call)?[..] {
            [yes, no] if (yes - no).is_finite() => Ok(yes - no),
            _ => Err(unread("it answered with something other than probabilities")),
        }
    };
    texts.iter().map(ask).collect()
}

/// Parses an answer into the positions of the chosen texts.
pub(super) fn read(answer: &str, shown: usize) -> Result<Vec<usize>, Fallback> {
    let unread = || unread("it answered with something other than the numbers of the listed claims");
    numbers::read(answer, shown).ok_or_else(unread)
}

/// Returns the fallback for an answer that cannot be parsed.
pub(super) fn unread(why: &str) -> Fallback {
    Fallback(PARSE_ERROR, why.to_owned())
}
