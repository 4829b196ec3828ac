//! The language model as a normaliser, as data: what it is asked (`assets/prompts/normalise.toml`), the grammar that holds its answer
//! (`assets/grammars/norm.gbnf`), how that answer is read, and what of it is believed. Who asks it lives elsewhere.

mod reading;
mod reconcile;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use serde::Deserialize;

use super::RULES_VERSION;
use crate::domain::norm::{Norm, SubjectKind};

pub use reading::{Reading, Unread};
pub(in crate::guard) use reconcile::reconcile;

/// The grammar of an answer, in llama.cpp's form; its root is `root`.
pub const GRAMMAR: &str = include_str!("../../../../assets/grammars/norm.gbnf");

const PROMPT: &str = include_str!("../../../../assets/prompts/normalise.toml");

/// The most tokens of an answer: twice what a long one has.
pub const MAX_TOKENS: usize = 120;

/// The longest statement that a language model is asked about, in characters. What is longer is prose, or several rules at once, and a part of
/// it may say the opposite of the whole.
const MAX_ASKED: usize = 600;

/// What a language model is asked about a statement, with examples.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guide {
    /// The instruction.
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

static GUIDE: LazyLock<Guide> = LazyLock::new(|| toml::from_str(PROMPT).unwrap_or_default());

/// Twelve hexadecimal digits of the prompt and the grammar together.
static EDITION: LazyLock<String> = LazyLock::new(|| {
    let mut hasher = blake3::Hasher::new();
    hasher.update(PROMPT.as_bytes()).update(GRAMMAR.as_bytes());
    hasher.finalize().to_hex().chars().take(12).collect()
});

/// The instruction and examples that are built in.
pub fn guide() -> &'static Guide {
    &GUIDE
}

impl Guide {
    /// The examples: a statement, and the right answer.
    pub fn examples(&self) -> impl Iterator<Item = (&str, &str)> {
        self.examples.iter().map(|example| (example.statement.as_str(), example.norm.as_str()))
    }

    /// What is asked about a statement; `None` where it is too long to be asked about.
    pub fn about(&self, statement: &str) -> Option<String> {
        let one_line = statement.split_whitespace().collect::<Vec<_>>().join(" ");
        (!one_line.is_empty() && one_line.chars().count() <= MAX_ASKED).then_some(one_line)
    }
}

/// The name and version of the normaliser that a language model makes together with the rules: another model, prompt or grammar is another one.
/// `sha256` is the model file's, in hexadecimal digits, empty where nobody computed it.
pub fn version(model: &str, sha256: &str) -> String {
    let hash = sha256.get(..8).unwrap_or(sha256);
    format!("{RULES_VERSION}+llm/{}:{model}@{hash}", *EDITION)
}

/// Whether the rules' norms leave a language model something to read: not where they are one certain norm with a subject and what it is set or
/// limited to. An answer takes seconds, and could only cast doubt there.
pub fn is_open(norms: &[Norm]) -> bool {
    let [norm] = norms else { return true };
    norm.subject_kind != SubjectKind::Present
        || norm.confidence.is_some()
        || (norm.value.is_none() && norm.limit.is_none())
}

/// Whether norms of this version were made by the present rules, with a language model or without.
pub fn is_current(version: &str) -> bool {
    version.strip_prefix(RULES_VERSION).is_some_and(|rest| rest.is_empty() || rest.starts_with('+'))
}
