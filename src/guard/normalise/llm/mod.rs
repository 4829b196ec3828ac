//! The language model as a normaliser: the prompt (`assets/prompts/normalise.toml`), the grammar of its answer
//! (`assets/grammars/norm.gbnf`), parsing the answer, and merging it with the rules' norms. The engine asks the model.

mod merge;
mod reading;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use serde::Deserialize;

use super::RULES_VERSION;
use crate::domain::{
    asset::expect_valid,
    norm::{Norm, SubjectKind},
};

pub(in crate::guard) use merge::merge_reading;
pub use reading::{Reading, ReadingError};

/// The grammar of an answer, in llama.cpp's form; its root is `root`.
pub const GRAMMAR: &str = include_str!("../../../../assets/grammars/norm.gbnf");

const PROMPT: &str = include_str!("../../../../assets/prompts/normalise.toml");

/// The maximum number of tokens of an answer: twice that of a long one.
pub const MAX_TOKENS: usize = 120;

/// The maximum length of a statement that a language model is asked about, in characters. Longer ones are prose or several
/// rules, of which a part may say the opposite of the whole.
const MAX_ASKED: usize = 600;

/// The prompt for the norm of a statement, with examples.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NormPrompt {
    /// The system prompt.
    pub system: String,
    #[serde(rename = "example")]
    examples: Vec<Example>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Example {
    statement: String,
    norm: String,
}

static NORM_PROMPT: LazyLock<NormPrompt> =
    LazyLock::new(|| expect_valid("prompts/normalise.toml", toml::from_str(PROMPT)));

/// The edition of the built-in prompt and grammar.
static EDITION: LazyLock<String> = LazyLock::new(|| edition(&NORM_PROMPT, GRAMMAR));

/// Returns twelve hexadecimal digits of what determines an answer: the prompt as the model sees it, and the grammar's rules. Comments
/// in the two files do not count, because stored answers are found by the edition: after a change, the model is asked again about
/// each statement. Answers of another edition stay in the store and are not used.
fn edition(prompt: &NormPrompt, grammar: &str) -> String {
    let rules = grammar.lines().filter(|line| !line.starts_with('#'));
    let parts = std::iter::once(prompt.system.as_str())
        .chain(prompt.examples().flat_map(|(statement, norm)| [statement, norm]))
        .chain(rules);
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        // The length is hashed too, so that moving text from one part to the next changes the hash.
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    hasher.finalize().to_hex().chars().take(12).collect()
}

/// Returns the built-in prompt.
pub fn norm_prompt() -> &'static NormPrompt {
    &NORM_PROMPT
}

impl NormPrompt {
    /// Returns the examples, each a statement with its answer.
    pub fn examples(&self) -> impl Iterator<Item = (&str, &str)> {
        self.examples.iter().map(|example| (example.statement.as_str(), example.norm.as_str()))
    }

    /// Returns the question about a statement, or `None` if it is too long or empty.
    pub fn about(&self, statement: &str) -> Option<String> {
        let one_line = statement.split_whitespace().collect::<Vec<_>>().join(" ");
        (!one_line.is_empty() && one_line.chars().count() <= MAX_ASKED).then_some(one_line)
    }
}

/// Returns the name and version of the rules combined with a language model. It changes with the model, the prompt and the grammar.
/// `sha256` is the model file's, in hexadecimal digits; empty if unknown.
pub fn version(model: &str, sha256: &str) -> String {
    let hash = sha256.get(..8).unwrap_or(sha256);
    format!("{RULES_VERSION}+llm/{}:{model}@{hash}", *EDITION)
}

/// Returns whether a language model should be asked about the rules' norms. It should not if they are one certain norm with a subject and a
/// value or limit, because an answer takes seconds and could only make the norm less certain.
pub fn is_open(norms: &[Norm]) -> bool {
    let [norm] = norms else { return true };
    norm.subject_kind != SubjectKind::Present
        || norm.confidence.is_some()
        || (norm.value.is_none() && norm.limit.is_none())
}

/// Returns whether norms of this version were made by the current rules, with or without a language model.
pub fn is_current(version: &str) -> bool {
    version.strip_prefix(RULES_VERSION).is_some_and(|rest| rest.is_empty() || rest.starts_with('+'))
}
