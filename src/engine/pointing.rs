//! A language model that points: it is shown numbered texts, and answers with numbers.

use super::Engine;
use crate::{
    infer::{Call, EndpointError, InferError, Prompt, Role, Speaker, Turn},
    recall::numbers,
};

/// Why nothing was pointed at: as `method` says it, and in words.
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
            EndpointError::Refused(_) => ERROR,
            EndpointError::Unreadable(_) => PARSE_ERROR,
        };
        Self(method, error.to_string())
    }
}

/// What a model is told, with examples of question and answer, and what it is asked.
pub(super) fn prompt(system: &str, examples: &[(&str, &str)], text: String) -> Prompt {
    let turn = |speaker, text: &str| Turn { speaker, text: text.to_owned() };
    let examples =
        examples.iter().flat_map(|(asked, answer)| [turn(Speaker::User, asked), turn(Speaker::Assistant, answer)]);
    Prompt { prefix: std::iter::once(turn(Speaker::System, system)).chain(examples).collect(), text }
}

/// The places, from 0, of the shown texts that the local model points at, `most` of them at most.
pub(super) fn local(
    engine: &Engine,
    prompt: &Prompt,
    shown: usize,
    most: usize,
    call: Call,
) -> Result<Vec<usize>, Fallback> {
    if engine.models.info().role(Role::Llm).is_none() {
        return Err(InferError::NoModel { role: Role::Llm }.into());
    }
    let answer = engine.models.generate(prompt, &numbers::grammar(shown, most), numbers::tokens(most), call)?;
    read(&answer, shown)
}

/// The places that an answer points at.
pub(super) fn read(answer: &str, shown: usize) -> Result<Vec<usize>, Fallback> {
    let unread = || unread("it answered with something other than numbers of what it was shown");
    numbers::read(answer, shown).ok_or_else(unread)
}

/// An answer that cannot be used, and why.
pub(super) fn unread(why: &str) -> Fallback {
    Fallback(PARSE_ERROR, why.to_owned())
}
