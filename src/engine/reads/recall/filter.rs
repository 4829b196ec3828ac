//! The second stage: the language model chooses among what was found. It points at numbers; the texts are the store's.

use std::time::Duration;

use super::Findings;
use crate::{
    engine::Engine,
    infer::{Call, InferError, Prompt, Role, Speaker, Turn},
    recall::filter,
};

/// How long an answer waits for the language model, loading included.
const PATIENCE: Duration = Duration::from_secs(30);

/// Leaves those claims that the model points at, in its order, and says by what method: `filter`, or why everything stayed as it was.
pub(super) fn choose(engine: &Engine, question: &str, findings: &mut Findings) -> &'static str {
    let shown = findings.found.len().min(filter::MAX_SHOWN);
    let (method, why) = match point(engine, question, findings, shown) {
        Ok(answer) => match filter::read(&answer, shown) {
            Some(chosen) => {
                keep(findings, &chosen);
                return "filter";
            }
            None => ("fallback_parse_error", "it answered with something other than numbers".to_owned()),
        },
        Err(error @ InferError::NoModel { .. }) => ("fallback_no_endpoint", error.to_string()),
        Err(error @ InferError::Refused(_)) => ("fallback_error", error.to_string()),
        Err(error) => ("fallback_unreachable", error.to_string()),
    };
    findings.notes.push(format!("Not chosen by the language model: {why}."));
    method
}

fn point(engine: &Engine, question: &str, findings: &Findings, shown: usize) -> Result<String, InferError> {
    if engine.models.info().role(Role::Llm).is_none() {
        return Err(InferError::NoModel { role: Role::Llm });
    }
    if shown == 0 {
        return Ok("[]".to_owned());
    }
    let turn = |speaker, text: &str| Turn { speaker, text: text.to_owned() };
    let examples = filter::EXAMPLES
        .iter()
        .flat_map(|(asked, answer)| [turn(Speaker::User, asked), turn(Speaker::Assistant, answer)]);
    let prompt = Prompt {
        prefix: std::iter::once(turn(Speaker::System, filter::SYSTEM)).chain(examples).collect(),
        text: filter::ask(question, findings.found.iter().map(|found| found.row.statement.as_str())),
    };
    engine.models.generate(&prompt, &filter::grammar(shown), filter::MAX_TOKENS, Call::foreground(PATIENCE))
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
