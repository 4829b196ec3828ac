//! The second stage with a local language model: ranks candidates by the likelihood of the question given each of them.
//!
//! See Ponte and Croft, "A language modeling approach to information retrieval", 1998, and Sachan et al., "Improving passage retrieval with
//! zero-shot question generation", 2022. The model generates nothing, so only stored text can be returned. It reads each candidate separately,
//! so neither their order nor the text of another one can influence a score.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::numbers::MAX_CHARS;
use crate::domain::{asset::expect_valid, text::cut_line};

/// The prompt and weights in `assets/recall/query_likelihood.toml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QueryLikelihood {
    /// The prompt.
    pub prompt: LikelihoodPrompt,
    /// The weights of the likelihoods.
    pub weights: LikelihoodWeights,
    /// The odds that the best candidate answers.
    pub known: AnswerOdds,
    /// How the weights were made.
    pub provenance: FitProvenance,
}

/// The prompt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LikelihoodPrompt {
    /// The system prompt. It is the same for every question, so that it is evaluated once.
    pub system: String,
    /// The text around a note, with the placeholder `{note}`.
    pub note: String,
    /// An empty note; the likelihood of the question after it is the reference.
    pub nothing: String,
    /// The examples.
    #[serde(rename = "example")]
    pub examples: Vec<Example>,
}

/// A note with a question that it answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Example {
    /// The note.
    pub note: String,
    /// The question.
    pub question: String,
}

/// The weight of the likelihoods, and the limits of the candidates for which they are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LikelihoodWeights {
    /// The weight of the mean log-probability of the question's tokens, relative to a score of the first stage.
    pub likelihood: f64,
    /// The maximum by which a candidate's score may be below the best one.
    pub near: f64,
    /// The maximum number of candidates.
    pub most: usize,
    /// The lead of the best candidate over the next one from which no likelihoods are computed.
    pub ahead: f64,
}

/// A logistic regression: the log-odds that the best candidate answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AnswerOdds {
    /// The intercept.
    pub intercept: f64,
    /// The weight of the margin above the floor.
    pub above: f64,
    /// The weight of the gain: the mean log-probability of the question after the note, minus that after the empty note.
    pub gain: f64,
}

/// How the weights were made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FitProvenance {
    /// The command that fitted them.
    pub command: String,
    /// The day of the fit.
    pub date: String,
    /// The questions on which they were fitted.
    pub questions: String,
}

static BUILT_IN: LazyLock<QueryLikelihood> = LazyLock::new(|| {
    expect_valid(
        "recall/query_likelihood.toml",
        toml::from_str(include_str!("../../assets/recall/query_likelihood.toml")),
    )
});

/// Returns the built-in prompt and weights.
pub fn built_in() -> &'static QueryLikelihood {
    &BUILT_IN
}

impl LikelihoodPrompt {
    /// Returns the text around a note, on one line, so that a note cannot imitate several.
    pub fn about(&self, note: &str) -> String {
        self.note.replace("{note}", &cut_line(note, MAX_CHARS))
    }

    /// Returns the question, on one line.
    pub fn asked(question: &str) -> String {
        cut_line(question, MAX_CHARS)
    }

    /// Returns the examples, each a note with its question.
    pub fn examples(&self) -> impl Iterator<Item = (String, &str)> {
        self.examples.iter().map(|example| (self.about(&example.note), example.question.as_str()))
    }
}

impl LikelihoodWeights {
    /// Returns the number of candidates to weigh, given their scores, the best first; 0 if the best one leads by enough.
    pub fn candidates_to_weigh(&self, scores: &[f64]) -> usize {
        let Some(best) = scores.first() else { return 0 };
        if scores.get(1).is_some_and(|next| best - next >= self.ahead) {
            return 0;
        }
        scores.iter().take(self.most).take_while(|score| best - **score <= self.near).count()
    }

    /// Returns the indexes of the weighed candidates, the best first, each with its combined score.
    pub fn order(&self, scores: &[f64], likelihoods: &[f64]) -> Vec<(usize, f64)> {
        let weigh = |(score, likelihood): (&f64, &f64)| self.likelihood.mul_add(*likelihood, *score);
        let mut order: Vec<(usize, f64)> = scores.iter().zip(likelihoods).map(weigh).enumerate().collect();
        // The sort is stable: equal candidates keep the order of the first stage.
        order.sort_by(|a, b| b.1.total_cmp(&a.1));
        order
    }
}

impl AnswerOdds {
    /// Returns the log-odds that the best candidate answers, given its margin `above` the floor and its `gain`.
    pub fn log_odds(&self, above: f64, gain: f64) -> f64 {
        self.above.mul_add(above, self.gain.mul_add(gain, self.intercept))
    }
}

/// Returns the mean log-probability of a text's tokens; `None` if there are none or it is not finite.
pub fn mean(tokens: &[f32]) -> Option<f64> {
    let mean = tokens.iter().map(|token| f64::from(*token)).sum::<f64>() / tokens.len() as f64;
    mean.is_finite().then_some(mean)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_built_in_file_is_valid() {
        let read: QueryLikelihood = toml::from_str(include_str!("../../assets/recall/query_likelihood.toml")).unwrap();
        assert_eq!(&read, built_in());
        assert_eq!(read.prompt.note.matches("{note}").count(), 1);
        assert!(!read.prompt.system.is_empty() && !read.prompt.nothing.is_empty() && !read.prompt.examples.is_empty());
        assert!(read.weights.likelihood > 0.0 && read.weights.most > 1 && read.weights.near <= read.weights.ahead);
        assert!(read.known.gain > 0.0 && !read.provenance.command.is_empty());
    }

    #[test]
    fn only_candidates_near_the_best_are_weighed() {
        let weights = LikelihoodWeights { likelihood: 1.0, near: 0.2, most: 3, ahead: 0.3 };
        assert_eq!(weights.candidates_to_weigh(&[]), 0);
        assert_eq!(weights.candidates_to_weigh(&[0.9]), 1, "whether it answers is still a question");
        assert_eq!(weights.candidates_to_weigh(&[0.9, 0.5]), 0);
        assert_eq!(weights.candidates_to_weigh(&[0.9, 0.65]), 1);
        assert_eq!(weights.candidates_to_weigh(&[0.9, 0.8, 0.75, 0.74, 0.73]), 3);
    }

    #[test]
    fn candidates_are_ordered_by_likelihood_and_equals_keep_their_order() {
        let weights = LikelihoodWeights { likelihood: 0.5, ..LikelihoodWeights::default() };
        let places = |likelihoods: &[f64]| {
            weights.order(&[0.5, 0.4, 0.4], likelihoods).into_iter().map(|(at, _)| at).collect::<Vec<_>>()
        };
        assert_eq!(places(&[-3.0, -2.0, -3.0]), [1, 0, 2]);
        assert_eq!(places(&[-3.0, -3.0, -3.0]), [0, 1, 2]);
    }

    #[test]
    fn a_mean_is_finite_or_none() {
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
            prop_assert!(built_in().weights.candidates_to_weigh(&scores) <= scores.len());
            prop_assert_eq!(built_in().prompt.about(&note).lines().count(), 1);
        }
    }
}
