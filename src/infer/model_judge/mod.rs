//! Judges: language models that read a prompt and answer in text or JSON. The local model, one at an address, or a command.
//!
//! Architecture Invariant: the local model is the only judge that works without a setting. So no text leaves this process without the
//! user's consent.

mod judge_command;

use std::{fmt, sync::Arc};

use serde::de::DeserializeOwned;

pub use judge_command::JudgeCommand;

use super::{Call, Endpoint, EndpointError, InferError, ModelRole, Models, Prompt};
use crate::domain::pair_prompt::{self, PairAnswer, PromptPair};

/// Where a judge is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JudgeKind {
    /// The language model of this machine.
    Local,
    /// A model at an address.
    Endpoint,
    /// A command.
    Command,
}

impl JudgeKind {
    /// Every kind, in the order in which judges are asked.
    pub const ALL: [Self; 3] = [Self::Local, Self::Endpoint, Self::Command];

    /// The bit by which the queue of doubts notes that a judge of this kind gave no verdict.
    pub fn bit(self) -> u32 {
        match self {
            Self::Local => 1,
            Self::Endpoint => 2,
            Self::Command => 4,
        }
    }
}

/// A language model that answers prompts. Calls block: make them outside every lock.
#[derive(Clone)]
pub enum ModelJudge {
    /// The language model of this machine.
    Local(Arc<dyn Models>),
    /// A model at an address.
    Endpoint(Endpoint),
    /// A command that reads a prompt on standard input.
    Command(JudgeCommand),
}

impl fmt::Debug for ModelJudge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ModelJudge").field(&self.name()).finish()
    }
}

/// Why a judge gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JudgeError {
    /// It cannot be asked now; later it may.
    #[error("{0}")]
    Unavailable(String),
    /// It works, and cannot answer this question: the prompt is too long for it.
    #[error("{0}")]
    Refused(String),
    /// It answered, and its answer does not fit the question.
    #[error("{name} gave an unusable answer: {start}")]
    Unusable {
        /// The judge.
        name: String,
        /// The beginning of its answer.
        start: String,
    },
}

impl From<InferError> for JudgeError {
    fn from(error: InferError) -> Self {
        match error {
            InferError::Refused(why) => Self::Refused(why),
            error => Self::Unavailable(error.to_string()),
        }
    }
}

impl From<EndpointError> for JudgeError {
    fn from(error: EndpointError) -> Self {
        match error {
            EndpointError::PromptRefused(why) => Self::Refused(why),
            error => Self::Unavailable(error.to_string()),
        }
    }
}

/// The grammar of the verdict on one pair, for the local model: it is asked about one pair at a time.
const VERDICT: &str = r#"
root ::= "[{\"pair\": 1, \"verdict\": \"" verdict "\", \"because\": \"" [^"\\\x00-\x1f]{0,120} "\"}]"
verdict ::= "contradicts" | "replaces" | "same" | "compatible"
"#;

impl ModelJudge {
    /// Where it is.
    pub fn kind(&self) -> JudgeKind {
        match self {
            Self::Local(_) => JudgeKind::Local,
            Self::Endpoint(_) => JudgeKind::Endpoint,
            Self::Command(_) => JudgeKind::Command,
        }
    }

    /// Its name, as the record of its judgements has it: a model, or a command.
    pub fn name(&self) -> String {
        match self {
            Self::Local(models) => {
                models.info().role(ModelRole::Llm).map_or_else(|| "local model".to_owned(), |role| role.name.clone())
            }
            Self::Endpoint(endpoint) => endpoint.model().to_owned(),
            Self::Command(command) => command.name(),
        }
    }

    /// Stops it: a command that runs is killed, and none is started again.
    pub fn stop(&self) {
        if let Self::Command(command) = self {
            command.stop();
        }
    }

    /// Whether it can be asked now: the local model only if one is chosen.
    pub fn is_there(&self) -> bool {
        match self {
            Self::Local(models) => models.info().role(ModelRole::Llm).is_some(),
            Self::Endpoint(_) | Self::Command(_) => true,
        }
    }

    /// Returns its answer to a prompt. `grammar` is GBNF with the rule `root`: it binds the local model; the others are told in the prompt what to
    /// answer, so read the answer with care.
    ///
    /// # Errors
    /// [`JudgeError::Unavailable`] and [`JudgeError::Refused`].
    pub fn ask(&self, prompt: &Prompt, grammar: &str, max_tokens: usize, call: Call) -> Result<String, JudgeError> {
        Ok(match self {
            Self::Local(models) => models.generate(prompt, grammar, max_tokens, call)?,
            Self::Endpoint(endpoint) => match endpoint.complete(prompt, max_tokens, call.deadline) {
                Err(EndpointError::PromptRefused(why)) if !endpoint.answers(call.deadline) => {
                    return Err(JudgeError::Unavailable(why));
                }
                answer => answer?,
            },
            Self::Command(command) => command.ask(prompt, call.deadline)?,
        })
    }

    /// [`ModelJudge::ask`] for a JSON array; prose around it is ignored.
    ///
    /// # Errors
    /// Those of [`ModelJudge::ask`], and [`JudgeError::Unusable`].
    pub fn ask_array<T: DeserializeOwned>(
        &self,
        prompt: &Prompt,
        grammar: &str,
        max_tokens: usize,
        call: Call,
    ) -> Result<Vec<T>, JudgeError> {
        let answer = self.ask(prompt, grammar, max_tokens, call)?;
        pair_prompt::json_array(&answer).ok_or_else(|| self.unusable(&answer))
    }

    /// Returns what it says of each pair, at most [`pair_prompt::MAX_PROMPT_PAIRS`] of them; `None` for one that it leaves out.
    ///
    /// # Errors
    /// [`JudgeError`].
    pub fn verdicts(&self, pairs: &[PromptPair], call: Call) -> Result<Vec<Option<PairAnswer>>, JudgeError> {
        if let Self::Local(models) = self {
            return pairs.iter().map(|pair| local_verdict(&**models, pair, call)).collect();
        }
        let prompt = Prompt::few_shot::<String, String>(pair_prompt::SYSTEM, [], pair_prompt::message(pairs));
        // No grammar binds the others.
        let answer = self.ask(&prompt, "", pairs.len() * pair_prompt::ANSWER_TOKENS, call)?;
        pair_prompt::read(&answer, pairs.len()).ok_or_else(|| self.unusable(&answer))
    }

    fn unusable(&self, answer: &str) -> JudgeError {
        JudgeError::Unusable { name: self.name(), start: crate::domain::text::cut_line(answer, 80) }
    }
}

/// Returns what the language model of this machine says of one pair. Its answer is bound by a grammar; `None` if it was cut.
fn local_verdict(models: &dyn Models, pair: &PromptPair, call: Call) -> Result<Option<PairAnswer>, JudgeError> {
    let message = pair_prompt::message(std::slice::from_ref(pair));
    let prompt = Prompt::few_shot(pair_prompt::SYSTEM, pair_prompt::examples(), message);
    let answer = models.generate(&prompt, VERDICT, pair_prompt::ANSWER_TOKENS, call)?;
    Ok(pair_prompt::read(&answer, 1).and_then(|mut read| read.pop().flatten()))
}
