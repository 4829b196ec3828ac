//! The second stage: a language model chooses among what was found. It points at numbers; the texts are the store's.

use std::{sync::PoisonError, time::Duration};

use super::Findings;
use crate::{
    engine::{
        Engine,
        pointing::{self, Fallback},
    },
    infer::{Call, Endpoint, EndpointError, Prompt},
    recall::{filter, numbers},
};

/// How long an answer waits for the language model, loading included.
const PATIENCE: Duration = Duration::from_mins(1);

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
    let statements = findings.found.iter().map(|found| found.row.statement.as_str());
    let prompt = pointing::prompt(filter::SYSTEM, &filter::EXAMPLES, filter::ask(question, statements));
    match &engine.config.endpoint {
        Some(endpoint) => pointing::read(&ask(engine, endpoint, &prompt)?, shown),
        None => pointing::local(engine, &prompt, shown, filter::MAX_CHOSEN, Call::foreground(PATIENCE)),
    }
}

/// Asks the model behind an address. That it was contacted is on the record.
fn ask(engine: &Engine, endpoint: &Endpoint, prompt: &Prompt) -> Result<String, EndpointError> {
    let answer = endpoint.complete(prompt, numbers::tokens(filter::MAX_CHOSEN), PATIENCE);
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
