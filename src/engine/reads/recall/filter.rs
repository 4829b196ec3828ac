//! The second stage: a language model selects among the results. A model at an address answers with numbers; with a
//! local model, the likelihood of the question given each claim is measured. All texts come from the store.

use std::time::Instant;

use super::{FoundClaim, RecallFindings};
use crate::{
    domain::{Status, numeric::logistic},
    engine::{
        Engine,
        llm_choice::{self, Fallback},
    },
    infer::{Call, Endpoint, EndpointError, InferError, ModelRole, Prompt},
    recall::{
        answer_model, filter, numbers,
        query_likelihood::{self, LikelihoodPrompt},
    },
};

/// The probability from which a claim weighed by the local model counts as an answer; its odds were fitted for this
/// value.
const KNOWN_FROM: f64 = 0.5;

/// Has a language model select, and returns the method: `filter`, or the reason why the results stay as they are.
pub(super) fn choose(engine: &Engine, question: &str, findings: &mut RecallFindings) -> &'static str {
    let shown = findings.found.len().min(filter::MAX_SHOWN);
    if shown == 0 {
        // There is nothing to select from, with any model.
        return "filter";
    }
    let chosen = match &engine.config.endpoint {
        Some(endpoint) => select_remotely(engine, endpoint, question, findings, shown),
        None => reorder_locally(engine, question, findings),
    };
    match chosen {
        Ok(()) => "filter",
        Err(Fallback(method, why)) => {
            findings.notes.push(format!("The language model did not filter these results: {why}."));
            method
        }
    }
}

/// Keeps the claims that the model at an address selects, in its order.
fn select_remotely(
    engine: &Engine,
    endpoint: &Endpoint,
    question: &str,
    findings: &mut RecallFindings,
    shown: usize,
) -> Result<(), Fallback> {
    let statements = findings.found.iter().map(|found| found.row.statement.as_str());
    let prompt = Prompt::few_shot(filter::SYSTEM, filter::EXAMPLES, filter::ask(question, statements));
    let chosen = llm_choice::read(&ask(engine, endpoint, &prompt)?, shown)?;
    let mut all: Vec<Option<FoundClaim>> = std::mem::take(&mut findings.found).into_iter().map(Some).collect();
    findings.found = chosen.iter().filter_map(|place| all.get_mut(*place)?.take()).collect();
    for found in &mut findings.found {
        // The model declares that the claim answers, whatever its words. How often this is right was not measured, so
        // the probability is only raised to the threshold.
        found.answers = true;
        found.probability = found.probability.max(answer_model::built_in().by_meaning.known_from);
    }
    Ok(())
}

/// The local model's assessment of the best claims.
#[derive(Clone, Debug, PartialEq)]
pub struct Weighing {
    /// The claims' scores in the first stage, in its order.
    pub scores: Vec<f64>,
    /// How likely each claim makes the question: the mean log-probability of a token.
    pub likelihoods: Vec<f64>,
    /// The same without any claim.
    pub nothing: f64,
    /// The margin of the first claim above the floor.
    pub above: f64,
}

/// Asks the local model about the best claims; `None` if the first one is not in doubt.
pub(super) fn weighing(
    engine: &Engine,
    question: &str,
    findings: &RecallFindings,
) -> Result<Option<Weighing>, Fallback> {
    if engine.models.info().role(ModelRole::Llm).is_none() {
        return Err(InferError::NoModel { role: ModelRole::Llm }.into());
    }
    let Some(first) = findings.found.first() else { return Ok(None) };
    // Claims that are no longer in force always come after those that are.
    let active = |found: &FoundClaim| found.row.status == Status::Active;
    let alike = findings.found.iter().take_while(|found| active(found) == active(first));
    let mut scores: Vec<f64> = alike.map(|found| found.score.total).collect();
    let expectation = query_likelihood::built_in();
    scores.truncate(expectation.weights.candidates_to_weigh(&scores));
    if scores.is_empty() {
        return Ok(None);
    }
    let expected = QuestionLikelihood {
        engine,
        words: &expectation.prompt,
        question,
        until: Instant::now() + engine.config.filter_timeout,
    };
    let nothing = expected.after(&expectation.prompt.nothing)?;
    let nearest = findings.found.iter().take(scores.len());
    let likelihoods = nearest.map(|found| expected.after(&found.row.statement)).collect::<Result<_, _>>()?;
    Ok(Some(Weighing { scores, likelihoods, nothing, above: first.above }))
}

/// Reorders the best claims by how likely they make the question for the local model, and by their scores. All claims
/// stay.
fn reorder_locally(engine: &Engine, question: &str, findings: &mut RecallFindings) -> Result<(), Fallback> {
    let Some(weighing) = weighing(engine, question, findings)? else { return Ok(()) };
    let Weighing { scores, likelihoods, nothing, above } = weighing;
    let expectation = query_likelihood::built_in();
    let order = expectation.weights.order(&scores, &likelihoods);
    let best = order.first().and_then(|(place, _)| likelihoods.get(*place)).copied().unwrap_or(nothing);
    let odds = expectation.known.log_odds(above, best - nothing);
    let mut weighed: Vec<Option<FoundClaim>> = findings.found.drain(..scores.len()).map(Some).collect();
    let ordered = order.iter().filter_map(|(place, _)| weighed.get_mut(*place)?.take());
    findings.found.splice(..0, ordered);
    for (place, found) in findings.found.iter_mut().enumerate() {
        let probability = logistic(odds);
        found.probability = if place == 0 { probability } else { found.probability.min(probability) };
        found.answers = found.probability >= KNOWN_FROM;
    }
    Ok(())
}

/// Measures how likely a note makes a question for the local model.
struct QuestionLikelihood<'a> {
    engine: &'a Engine,
    words: &'a LikelihoodPrompt,
    question: &'a str,
    until: Instant,
}

impl QuestionLikelihood<'_> {
    /// Returns the mean log-probability of the question's tokens after a note.
    fn after(&self, note: &str) -> Result<f64, Fallback> {
        let prompt = Prompt::few_shot(&self.words.system, self.words.examples(), self.words.about(note));
        let call = Call::interactive(self.until.saturating_duration_since(Instant::now()));
        let tokens = self.engine.models.likelihood(&prompt, &LikelihoodPrompt::asked(self.question), call)?;
        query_likelihood::mean(&tokens)
            .ok_or_else(|| llm_choice::unread("it answered with something other than probabilities"))
    }
}

/// Asks the model at an address, and records the contact.
fn ask(engine: &Engine, endpoint: &Endpoint, prompt: &Prompt) -> Result<String, EndpointError> {
    let answer = endpoint.complete(prompt, numbers::tokens(filter::MAX_CHOSEN), engine.config.filter_timeout);
    engine.note_contact(endpoint);
    answer
}
