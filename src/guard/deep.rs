//! The deep stage's questions, as data: `assets/prompts/judge.toml`. Who asks them lives elsewhere.

use std::sync::LazyLock;

use serde::Deserialize;

/// One question about a pair, with its examples.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The instruction.
    pub system: String,
    /// What is asked; `{a}` and `{b}` stand for the statements.
    ask: String,
    /// The answers: the first one means a contradiction.
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

#[derive(Default, Deserialize)]
struct File {
    question: Vec<Question>,
}

static QUESTIONS: LazyLock<Vec<Question>> = LazyLock::new(|| {
    toml::from_str::<File>(include_str!("../../assets/prompts/judge.toml")).unwrap_or_default().question
});

/// The questions that are built in.
pub fn questions() -> &'static [Question] {
    &QUESTIONS
}

/// The longest statement that is shown to a language model, in characters: one sentence or two.
const MAX_SHOWN: usize = 600;

impl Question {
    /// The question about two statements.
    pub fn about(&self, a: &str, b: &str) -> String {
        let shown = |text: &str| {
            let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            one_line.chars().take(MAX_SHOWN).collect::<String>()
        };
        // What stands in a statement is never read as a mark of the question.
        let (a, b) = (shown(a), shown(b));
        self.ask.split("{a}").map(|part| part.replace("{b}", &b)).collect::<Vec<_>>().join(&a)
    }

    /// The examples: what is asked, and the right answer.
    pub fn examples(&self) -> impl Iterator<Item = (String, &str)> {
        self.examples.iter().map(|example| (self.about(&example.a, &example.b), example.answer.as_str()))
    }

    /// The log-odds of a contradiction, from the log-probabilities of the answers.
    pub fn log_odds(&self, answers: &[f32]) -> f32 {
        let Some((contradiction, others)) = answers.split_first() else { return 0.0 };
        let high = others.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let rest = high + others.iter().map(|other| (other - high).exp()).sum::<f32>().ln();
        let odds = contradiction - rest;
        if odds.is_nan() { 0.0 } else { odds.clamp(-20.0, 20.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_questions_are_whole() {
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
    fn odds_are_those_of_the_first_answer() {
        let question = &questions()[0];
        assert!(question.log_odds(&[-0.1, -3.0]) > 2.0);
        assert!(question.log_odds(&[-3.0, -0.1]) < -2.0);
        assert!(question.log_odds(&[f32::NEG_INFINITY, -0.1]).is_finite());
        assert!(question.log_odds(&[]).abs() < f32::EPSILON);
    }
}
