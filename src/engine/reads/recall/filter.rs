//! The second stage: a language model chooses among what was found. It points at numbers; the texts are the store's.

use std::{sync::PoisonError, time::Duration};

use super::Findings;
use crate::{
    engine::Engine,
    infer::{Call, Endpoint, EndpointError, InferError, Prompt, Role, Speaker, Turn},
    recall::filter,
};

/// How long an answer waits for the language model, loading included.
const PATIENCE: Duration = Duration::from_mins(1);

/// Why nothing was chosen, as `method` says it, and in words.
struct Fallback(&'static str, String);

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

/// Leaves those claims that the model points at, in its order, and says by what method: `filter`, or why everything stayed as it was.
pub(super) fn choose(engine: &Engine, question: &str, findings: &mut Findings) -> &'static str {
    let shown = findings.found.len().min(filter::MAX_SHOWN);
    if shown == 0 {
        // Nothing to choose among: whoever was to choose would say so.
        return "filter";
    }
    match point(engine, question, findings, shown) {
        Ok(chosen) => {
            keep(findings, &chosen);
            "filter"
        }
        Err(Fallback(method, why)) => {
            findings.notes.push(format!("Not chosen by the language model: {why}."));
            method
        }
    }
}

/// The places of the claims that the model points at.
fn point(engine: &Engine, question: &str, findings: &Findings, shown: usize) -> Result<Vec<usize>, Fallback> {
    let prompt = prompt(question, findings.found.iter().map(|found| found.row.statement.as_str()));
    let answer = match &engine.config.endpoint {
        Some(endpoint) => ask(engine, endpoint, &prompt)?,
        None if engine.models.info().role(Role::Llm).is_none() => {
            return Err(InferError::NoModel { role: Role::Llm }.into());
        }
        None => {
            engine.models.generate(&prompt, &filter::grammar(shown), filter::MAX_TOKENS, Call::foreground(PATIENCE))?
        }
    };
    let unread = || Fallback(PARSE_ERROR, "it answered with something other than numbers of what it was shown".into());
    filter::read(&answer, shown).ok_or_else(unread)
}

fn prompt<'a>(question: &str, statements: impl Iterator<Item = &'a str>) -> Prompt {
    let turn = |speaker, text: &str| Turn { speaker, text: text.to_owned() };
    let examples = filter::EXAMPLES
        .iter()
        .flat_map(|(asked, answer)| [turn(Speaker::User, asked), turn(Speaker::Assistant, answer)]);
    Prompt {
        prefix: std::iter::once(turn(Speaker::System, filter::SYSTEM)).chain(examples).collect(),
        text: filter::ask(question, statements),
    }
}

/// Asks the model behind an address. That it was contacted is on the record.
fn ask(engine: &Engine, endpoint: &Endpoint, prompt: &Prompt) -> Result<String, EndpointError> {
    let answer = endpoint.complete(prompt, filter::MAX_TOKENS, PATIENCE);
    let now = (engine.config.clock)();
    let mut writer = engine.writer.lock().unwrap_or_else(PoisonError::into_inner);
    if let Err(error) = writer.note_contact(endpoint.address(), "language model", now) {
        tracing::warn!(%error, "an address that was contacted could not be written down");
    }
    answer
}

/// Leaves the claims at these places, in this order.
fn keep(findings: &mut Findings, chosen: &[usize]) {
    let mut all: Vec<Option<_>> = std::mem::take(&mut findings.found).into_iter().map(Some).collect();
    findings.found = chosen.iter().filter_map(|place| all.get_mut(*place)?.take()).collect();
    for found in &mut findings.found {
        // The model says that it answers, whatever its words.
        found.answers = true;
    }
}
