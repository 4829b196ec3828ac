//! The probability that a claim answers a question: a logistic regression over features that recall has computed already.
//!
//! Fitted by `ergo-bench recall --fit-known` on questions that share few words with their answers, and on unanswerable ones that share words
//! with the scope. Measurements are in bench/recall-quality.md.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::{
    query_likelihood::FitProvenance,
    rerank::{Score, UNKNOWN_COSINE},
};
use crate::domain::{asset::expect_valid, numeric::logistic};

/// The lead over the next best claim from which a larger one adds nothing.
const MAX_LEAD: f64 = 0.3;

/// The lead that is assumed if leads do not count.
const USUAL_LEAD: f64 = 0.1;

/// The weights in `assets/recall/answer_model.toml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AnswerModel {
    /// For questions with a vector.
    pub by_meaning: AnswerWeights,
    /// For questions without a vector.
    pub by_words: AnswerWeights,
    /// How the weights were made.
    pub provenance: FitProvenance,
}

/// A logistic regression, with thresholds for its probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AnswerWeights {
    /// The intercept.
    pub intercept: f64,
    /// The probability from which a claim answers.
    pub known_from: f64,
    /// The probability below which nothing in the scope is related to the question.
    pub nothing_below: f64,
    /// The weight of each feature.
    pub features: AnswerFeatures,
}

/// The features of a claim for a question, or the weight of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AnswerFeatures {
    /// The cosine of the question and the statement, minus the scope's shift of the floor.
    pub cosine: f64,
    /// The cosine of the question with statement and reason together, minus the scope's shift of the floor.
    pub with_reason: f64,
    /// The share of the question that the claim contains, weighted by inverse document frequency.
    pub cover: f64,
    /// The share of the question whose words, or their synonyms, no claim of the scope contains.
    pub unknown: f64,
    /// The weighted share of the question that consists of names missing in the claim.
    pub names: f64,
    /// Its lead over the next best claim.
    pub lead: f64,
    /// Its rank in the fused lists: 1 at the top of each.
    pub fused: f64,
    /// The mean cosine of the next most similar claims after the best, minus the scope's shift of the floor.
    pub crowd: f64,
}

/// The evidence that a claim answers a question.
#[derive(Clone, Copy, Debug)]
pub struct AnswerEvidence<'a> {
    /// Its score.
    pub score: &'a Score,
    /// The cosine of its vector and the question's; `None` if it has none.
    pub cosine: Option<f32>,
    /// The cosine for statement and reason together.
    pub with_reason: Option<f32>,
    /// The share of the question, 0 to 1, whose words no claim of the scope contains.
    pub unknown: f64,
    /// Its lead over the next best claim, 0 if it is not the best; `None` if leads do not count.
    pub lead: Option<f64>,
    /// Its rank in the fused lists, 0 to 1.
    pub fused: f64,
    /// The mean cosine of the next most similar claims after the best.
    pub crowd: f64,
    /// By how much the scope's unrelated baseline raises the floor; 0 if it was not measured.
    pub raise: f64,
}

impl AnswerFeatures {
    /// Returns the features of a claim.
    pub fn of(evidence: &AnswerEvidence<'_>) -> Self {
        let &AnswerEvidence { score, cosine, with_reason, unknown, lead, fused, crowd, raise } = evidence;
        let cosine = cosine.map_or(UNKNOWN_COSINE, f64::from);
        Self {
            cosine: cosine - raise,
            with_reason: with_reason.map_or(cosine, f64::from) - raise,
            cover: score.cover,
            unknown,
            names: score.names_lacked,
            lead: lead.unwrap_or(USUAL_LEAD).clamp(0.0, MAX_LEAD),
            fused,
            crowd: crowd - raise,
        }
    }

    /// Returns the features in the order of the fields.
    pub fn array(&self) -> [f64; 8] {
        let &Self { cosine, with_reason, cover, unknown, names, lead, fused, crowd } = self;
        [cosine, with_reason, cover, unknown, names, lead, fused, crowd]
    }

    /// Creates features from an array in the order of the fields; the inverse of [`AnswerFeatures::array`].
    pub fn from_array([cosine, with_reason, cover, unknown, names, lead, fused, crowd]: [f64; 8]) -> Self {
        Self { cosine, with_reason, cover, unknown, names, lead, fused, crowd }
    }
}

impl AnswerWeights {
    /// Returns the probability that a claim with these features answers.
    pub fn probability(&self, features: &AnswerFeatures) -> f64 {
        let sum: f64 =
            self.features.array().iter().zip(features.array()).map(|(weight, feature)| weight * feature).sum();
        logistic(self.intercept + sum)
    }
}

impl AnswerModel {
    /// Returns the weights for questions with a vector, or for those without.
    pub fn weights(&self, by_meaning: bool) -> &AnswerWeights {
        if by_meaning { &self.by_meaning } else { &self.by_words }
    }
}

static BUILT_IN: LazyLock<AnswerModel> = LazyLock::new(|| {
    expect_valid("recall/answer_model.toml", toml::from_str(include_str!("../../assets/recall/answer_model.toml")))
});

/// Returns the built-in model.
pub fn built_in() -> &'static AnswerModel {
    &BUILT_IN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_file_is_valid() {
        let read: AnswerModel = toml::from_str(include_str!("../../assets/recall/answer_model.toml")).unwrap();
        assert_eq!(&read, built_in());
        for weights in [read.by_meaning, read.by_words] {
            assert!(0.0 < weights.nothing_below && weights.nothing_below < weights.known_from, "{weights:?}");
            assert!(weights.known_from < 1.0 && weights.features.cover > 0.0 && weights.features.unknown < 0.0);
        }
        assert!(!read.provenance.command.is_empty() && !read.provenance.questions.is_empty());
    }

    fn probability(score: &Score, cosine: f32, unknown: f64, raise: f64) -> f64 {
        let (cosine, with_reason) = (Some(cosine), Some(cosine));
        let evidence =
            AnswerEvidence { score, cosine, with_reason, unknown, lead: None, fused: 0.5, crowd: 0.2 + raise, raise };
        built_in().by_meaning.probability(&AnswerFeatures::of(&evidence))
    }

    #[test]
    fn similarity_raises_the_probability_and_unknown_words_and_names_lower_it() {
        let half = Score { cover: 0.5, ..Score::default() };
        let whole = Score { cover: 1.0, ..Score::default() };
        assert!(probability(&whole, 0.5, 0.0, 0.0) > probability(&half, 0.5, 0.0, 0.0));
        assert!(probability(&half, 0.6, 0.0, 0.0) > probability(&half, 0.3, 0.0, 0.0));
        assert!(probability(&half, 0.5, 0.5, 0.0) < probability(&half, 0.5, 0.0, 0.0));
        let named = Score { names_lacked: 0.5, ..half.clone() };
        assert!(probability(&named, 0.5, 0.0, 0.0) < probability(&half, 0.5, 0.0, 0.0));
        // In a crowded scope the same cosine says less.
        assert!(probability(&half, 0.5, 0.0, 0.15) < probability(&half, 0.5, 0.0, 0.0));
    }

    #[test]
    fn the_array_holds_every_feature_once() {
        let features = AnswerFeatures::from_array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        assert_eq!(features.array().map(|feature| feature as u8), [1, 2, 3, 4, 5, 6, 7, 8]);
        let names = serde_json::to_value(features).unwrap();
        assert_eq!(names.as_object().unwrap().len(), features.array().len());
    }
}
