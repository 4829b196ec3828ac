//! The deep stage's questions to a language model (`assets/prompts/judge.toml`). The engine asks them.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::domain::{asset::expect_valid, numeric::log_sum_exp, text::sanitize};

/// One question about a pair, with its examples.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeepQuestion {
    /// The system prompt.
    pub system: String,
    /// The question; `{a}` and `{b}` are replaced by the statements.
    ask: String,
    /// The possible answers; the first one means a contradiction.
    pub answers: Vec<String>,
    #[serde(default, rename = "example")]
    examples: Vec<Example>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Example {
    a: String,
    b: String,
    answer: String,
}

#[derive(Deserialize)]
struct File {
    question: Vec<DeepQuestion>,
}

static QUESTIONS: LazyLock<Vec<DeepQuestion>> = LazyLock::new(|| {
    let file: File =
        expect_valid("prompts/judge.toml", toml::from_str(include_str!("../../assets/prompts/judge.toml")));
    file.question
});

/// Returns the built-in questions.
pub fn questions() -> &'static [DeepQuestion] {
    &QUESTIONS
}

/// The maximum length of a statement in a question, in characters: one sentence or two.
const MAX_SHOWN: usize = 600;

impl DeepQuestion {
    /// Returns the question about two statements.
    pub fn about(&self, a: &str, b: &str) -> String {
        let shown = |text: &str| {
            let one_line = sanitize(text).split_whitespace().collect::<Vec<_>>().join(" ");
            one_line.chars().take(MAX_SHOWN).collect::<String>()
        };
        // A `{b}` within a statement is not a placeholder.
        let (a, b) = (shown(a), shown(b));
        self.ask.split("{a}").map(|part| part.replace("{b}", &b)).collect::<Vec<_>>().join(&a)
    }

    /// Returns the examples, each a question with its answer.
    pub fn examples(&self) -> impl Iterator<Item = (String, &str)> {
        self.examples.iter().map(|example| (self.about(&example.a, &example.b), example.answer.as_str()))
    }

    /// Returns the log-odds of a contradiction, given the log-probabilities of the answers.
    pub fn log_odds(&self, answers: &[f32]) -> f32 {
        let Some((contradiction, others)) = answers.split_first() else { return 0.0 };
        let rest = log_sum_exp(others);
        if contradiction.is_nan() || !rest.is_finite() { 0.0 } else { (contradiction - rest).clamp(-20.0, 20.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_questions_are_complete() {
        let questions: File = toml::from_str(include_str!("../../assets/prompts/judge.toml")).unwrap();
        assert_eq!(questions.question.len(), questions_len());
        for question in super::questions() {
            assert!(question.answers.len() >= 2 && question.examples().count() >= 4);
            for (asked, answer) in question.examples() {
                assert!(question.answers.iter().any(|known| known == answer), "{answer}");
                assert!(!asked.contains("{a}") && !asked.contains("{b}"));
            }
        }
    }

    fn questions_len() -> usize {
        super::questions().len()
    }

    #[test]
    fn marks_in_a_statement_stay_as_they_are() {
        let asked = questions()[0].about("x {b} y", "z {a}");
        assert!(asked.contains("A: x {b} y\n") && asked.contains("B: z {a}\n"), "{asked}");
    }

    #[test]
    fn injected_statements_stay_on_their_line_and_the_answers_are_fixed() {
        for question in questions() {
            let plain = question.about("Use tabs.", "Use spaces.");
            for injected in crate::domain::pair_prompt::INJECTED {
                let asked = question.about(injected, "Use spaces.");
                assert_eq!(asked.lines().count(), plain.lines().count(), "{asked}");
                assert!(!asked.contains(['\u{1b}', '\u{202e}']), "{asked}");
                let (before, after) = plain.split_once("Use tabs.").unwrap();
                assert!(asked.starts_with(before) && asked.ends_with(after), "{asked}");
            }
        }
    }

    #[test]
    fn odds_are_those_of_the_first_answer() {
        let question = &questions()[0];
        assert!(question.log_odds(&[-0.1, -3.0]) > 2.0);
        assert!(question.log_odds(&[-3.0, -0.1]) < -2.0);
        assert!(question.log_odds(&[f32::NEG_INFINITY, -0.1]).is_finite());
        assert!(question.log_odds(&[]).abs() < f32::EPSILON);
    }
}
