//! The second stage with a local language model: how much each candidate makes it expect the question.
//!
//! A note answers a question if it is the note from which one would ask just that: the likelihood of the question, given the note, orders the notes. (Ponte
//! and Croft, "A language modeling approach to information retrieval", 1998; with language models as they are now: Sachan et al., "Improving passage
//! retrieval with zero-shot question generation", 2022.) The model writes nothing at all, so that nothing but stored text can come out; and each
//! candidate is read alone, so that their order tells nothing and none can speak for another.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::numbers::MAX_CHARS;
use crate::domain::text::cut_line;

/// `assets/recall/filter.toml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Expectation {
    /// What the model is shown.
    pub prompt: Words,
    /// What its likelihoods count.
    pub weights: Weights,
    /// Whether the best of the candidates answers.
    pub known: Known,
    /// Where the figures come from.
    pub provenance: Provenance,
}

/// What the model is shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Words {
    /// The instruction, the same for every question, so that it is read once.
    pub system: String,
    /// How a note is shown; `{note}` stands for it.
    pub note: String,
    /// The note that says nothing: how likely is the question after it?
    pub nothing: String,
    /// Notes, and what one asks to be told them.
    #[serde(rename = "example")]
    pub examples: Vec<Example>,
}

/// A note, and what one asks to be told it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Example {
    /// The note.
    pub note: String,
    /// The question.
    pub question: String,
}

/// What likelihoods count, and of which candidates they are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Weights {
    /// What the mean log-probability of a question's tokens counts beside a score of the first stage.
    pub likelihood: f64,
    /// How far behind the best of the first stage a candidate may be.
    pub near: f64,
    /// How many candidates are weighed, at most.
    pub most: usize,
    /// A best one that is so far ahead of the next is not doubted.
    pub ahead: f64,
}

/// A logistic regression: the log-odds that the best candidate answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Known {
    /// Of nothing.
    pub intercept: f64,
    /// How far it stood above the floor of the first stage.
    pub above: f64,
    /// How much likelier than after no note the question is: the difference of the mean log-probabilities.
    pub gain: f64,
}

/// Where the figures come from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Provenance {
    /// The command that made them.
    pub command: String,
    /// The day.
    pub date: String,
    /// The questions that they were chosen on.
    pub questions: String,
}

static BUILT_IN: LazyLock<Expectation> =
    LazyLock::new(|| toml::from_str(include_str!("../../assets/recall/filter.toml")).unwrap_or_default());

/// The one that is built in.
pub fn built_in() -> &'static Expectation {
    &BUILT_IN
}

impl Words {
    /// What the model is asked about a note. It is one line, so that it cannot pretend to be more.
    pub fn about(&self, note: &str) -> String {
        self.note.replace("{note}", &cut_line(note, MAX_CHARS))
    }

    /// The question whose likelihood is asked.
    pub fn asked(question: &str) -> String {
        cut_line(question, MAX_CHARS)
    }

    /// The examples: what is asked, and what is said.
    pub fn examples(&self) -> impl Iterator<Item = (String, &str)> {
        self.examples.iter().map(|example| (self.about(&example.note), example.question.as_str()))
    }
}

impl Weights {
    /// How many of the candidates are to be weighed, whose scores come in their order, the best first: none where there is nothing to doubt.
    pub fn doubted(&self, scores: &[f64]) -> usize {
        let Some(best) = scores.first() else { return 0 };
        if scores.get(1).is_some_and(|next| best - next >= self.ahead) {
            return 0;
        }
        scores.iter().take(self.most).take_while(|score| best - **score <= self.near).count()
    }

    /// The places of the candidates that were weighed, the best first, each with what it is ordered by.
    pub fn order(&self, scores: &[f64], likelihoods: &[f64]) -> Vec<(usize, f64)> {
        let weigh = |(score, likelihood): (&f64, &f64)| self.likelihood.mul_add(*likelihood, *score);
        let mut order: Vec<(usize, f64)> = scores.iter().zip(likelihoods).map(weigh).enumerate().collect();
        // Stable: among equals the first stage's order stands.
        order.sort_by(|a, b| b.1.total_cmp(&a.1));
        order
    }
}

impl Known {
    /// The log-odds that the best candidate answers: `above` the floor of the first stage, and `gain` over no note.
    pub fn log_odds(&self, above: f64, gain: f64) -> f64 {
        self.above.mul_add(above, self.gain.mul_add(gain, self.intercept))
    }
}

/// The mean log-probability of a text's tokens; `None` where there is none, or it is no number.
pub fn mean(tokens: &[f32]) -> Option<f64> {
    let mean = tokens.iter().map(|token| f64::from(*token)).sum::<f64>() / tokens.len() as f64;
    mean.is_finite().then_some(mean)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_file_is_whole() {
        let read: Expectation = toml::from_str(include_str!("../../assets/recall/filter.toml")).unwrap();
        assert_eq!(&read, built_in());
        assert_eq!(read.prompt.note.matches("{note}").count(), 1);
        assert!(!read.prompt.system.is_empty() && !read.prompt.nothing.is_empty() && !read.prompt.examples.is_empty());
        assert!(read.weights.likelihood > 0.0 && read.weights.most > 1 && read.weights.near <= read.weights.ahead);
        assert!(read.known.gain > 0.0 && !read.provenance.command.is_empty());
    }

    #[test]
    fn only_what_is_near_the_best_is_doubted() {
        let weights = Weights { likelihood: 1.0, near: 0.2, most: 3, ahead: 0.3 };
        assert_eq!(weights.doubted(&[]), 0);
        assert_eq!(weights.doubted(&[0.9]), 1, "whether it answers is still a question");
        assert_eq!(weights.doubted(&[0.9, 0.5]), 0);
        assert_eq!(weights.doubted(&[0.9, 0.65]), 1);
        assert_eq!(weights.doubted(&[0.9, 0.8, 0.75, 0.74, 0.73]), 3);
    }

    #[test]
    fn what_makes_the_question_likelier_comes_first_and_equals_stay_as_they_were() {
        let weights = Weights { likelihood: 0.5, ..Weights::default() };
        let places = |likelihoods: &[f64]| {
            weights.order(&[0.5, 0.4, 0.4], likelihoods).into_iter().map(|(at, _)| at).collect::<Vec<_>>()
        };
        assert_eq!(places(&[-3.0, -2.0, -3.0]), [1, 0, 2]);
        assert_eq!(places(&[-3.0, -3.0, -3.0]), [0, 1, 2]);
    }

    #[test]
    fn a_mean_is_a_number_or_nothing() {
        assert_eq!(mean(&[-1.0, -3.0]), Some(-2.0));
        assert_eq!((mean(&[]), mean(&[f32::NEG_INFINITY]), mean(&[f32::NAN])), (None, None, None));
    }

    proptest! {
        #[test]
        fn every_candidate_that_was_weighed_stays_and_is_one_line(
            pairs in prop::collection::vec((0.0..1.5_f64, -9.0..0.0_f64), 0..8),
            note in any::<String>(),
        ) {
            let (mut scores, likelihoods): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            scores.sort_by(|a, b| b.total_cmp(a));
            let mut places: Vec<usize> = built_in().weights.order(&scores, &likelihoods).into_iter().map(|(at, _)| at).collect();
            places.sort_unstable();
            prop_assert!(places.into_iter().eq(0..scores.len()));
            prop_assert!(built_in().weights.doubted(&scores) <= scores.len());
            prop_assert_eq!(built_in().prompt.about(&note).lines().count(), 1);
        }
    }
}
