//! Judges: language models that read a prompt and answer in text or JSON. A judge is the local model, a server, or a
//! command.
//!
//! Architecture Invariant: the local model is the only judge that is used without a setting. So no text leaves ergo
//! without the user's consent.

mod judge_command;

use std::{fmt, sync::Arc};

use serde::de::DeserializeOwned;

pub use judge_command::JudgeCommand;

use super::{Call, Endpoint, EndpointError, InferError, ModelRole, Models, Prompt};
use crate::domain::pair_prompt::{self, PairAnswer, PromptPair};

/// The kind of a judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JudgeKind {
    /// The language model of this machine.
    Local,
    /// A language model on a server.
    Endpoint,
    /// A command that reads a prompt on standard input.
    Command,
}

impl JudgeKind {
    /// All kinds, in the order in which judges are asked.
    pub const ALL: [Self; 3] = [Self::Local, Self::Endpoint, Self::Command];

    /// Returns the bit of this kind in the set of judges that gave no verdict on a pair, which the queue of doubts
    /// stores.
    pub fn bit(self) -> u32 {
        match self {
            Self::Local => 1,
            Self::Endpoint => 2,
            Self::Command => 4,
        }
    }
}

/// A language model that answers prompts. Calls block: never make them under a lock.
#[derive(Clone)]
pub enum ModelJudge {
    Local(Arc<dyn Models>),
    Endpoint(Endpoint),
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
    /// The judge cannot be asked now. A later attempt may succeed.
    #[error("{0}")]
    Unavailable(String),
    /// The judge works, but the prompt is too long for it.
    #[error("{0}")]
    Refused(String),
    /// The answer does not fit the question.
    #[error("{name} gave an unusable answer: {start}")]
    Unusable {
        /// The judge's name.
        name: String,
        /// The beginning of the answer.
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

/// The grammar of the local model's verdict. It is asked about one pair at a time.
const VERDICT_GRAMMAR: &str = r#"
root ::= "[{\"pair\": 1, \"verdict\": \"" verdict "\", \"because\": \"" [^"\\\x00-\x1f]{0,120} "\"}]"
verdict ::= "contradicts" | "replaces" | "same" | "compatible"
"#;

impl ModelJudge {
    pub fn kind(&self) -> JudgeKind {
        match self {
            Self::Local(_) => JudgeKind::Local,
            Self::Endpoint(_) => JudgeKind::Endpoint,
            Self::Command(_) => JudgeKind::Command,
        }
    }

    /// Returns the name that its judgements record: the model's name, or the command.
    pub fn name(&self) -> String {
        match self {
            Self::Local(models) => {
                models.info().role(ModelRole::Llm).map_or_else(|| "local model".to_owned(), |role| role.name.clone())
            }
            Self::Endpoint(endpoint) => endpoint.model().to_owned(),
            Self::Command(command) => command.name(),
        }
    }

    /// Kills a command that runs or is started later. Has no effect on other judges.
    pub fn stop(&self) {
        if let Self::Command(command) = self {
            command.stop();
        }
    }

    /// Whether the judge can be asked: false only for the local judge if no language model is chosen.
    pub fn is_there(&self) -> bool {
        match self {
            Self::Local(models) => models.info().role(ModelRole::Llm).is_some(),
            Self::Endpoint(_) | Self::Command(_) => true,
        }
    }

    /// Returns the answer to a prompt. `grammar` is GBNF with the rule `root`. It constrains only the local model; the
    /// others know the expected form only from the prompt, so do not rely on the form of an answer.
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

    /// Like [`ModelJudge::ask`], for an answer that is a JSON array. Text around the array is ignored.
    ///
    /// # Errors
    /// Those of [`ModelJudge::ask`], and [`JudgeError::Unusable`] if there is no such array.
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

    /// Returns the verdict on each pair, of at most [`pair_prompt::MAX_PROMPT_PAIRS`]; `None` for a pair that the
    /// answer leaves out.
    pub fn verdicts(&self, pairs: &[PromptPair], call: Call) -> Result<Vec<Option<PairAnswer>>, JudgeError> {
        if let Self::Local(models) = self {
            return pairs.iter().map(|pair| local_verdict(&**models, pair, call)).collect();
        }
        let prompt = Prompt::few_shot::<String, String>(pair_prompt::SYSTEM, [], pair_prompt::message(pairs));
        // These judges take no grammar.
        let answer = self.ask(&prompt, "", pairs.len() * pair_prompt::ANSWER_TOKENS, call)?;
        pair_prompt::read(&answer, pairs.len()).ok_or_else(|| self.unusable(&answer))
    }

    fn unusable(&self, answer: &str) -> JudgeError {
        JudgeError::Unusable { name: self.name(), start: crate::domain::text::cut_line(answer, 80) }
    }
}

/// Returns the verdict of the language model of this machine on one pair; `None` if the answer was cut off by the limit
/// of tokens.
fn local_verdict(models: &dyn Models, pair: &PromptPair, call: Call) -> Result<Option<PairAnswer>, JudgeError> {
    let message = pair_prompt::message(std::slice::from_ref(pair));
    let prompt = Prompt::few_shot(pair_prompt::SYSTEM, pair_prompt::examples(), message);
    let answer = models.generate(&prompt, VERDICT_GRAMMAR, pair_prompt::ANSWER_TOKENS, call)?;
    Ok(pair_prompt::read(&answer, 1).and_then(|mut read| read.pop().flatten()))
}
