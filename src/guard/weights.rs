//! The judge's weights and thresholds, with their provenance: `assets/judge.toml`, built in.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::{Deserialize, Serialize};

use super::features::{FEATURE_NAMES, Features};
use crate::domain::{asset::expect_valid, numeric::logistic_f32};

/// The weights of the judge: two logistic regressions over the features of a pair, one with a cross-encoder's scores and one without.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JudgeWeights {
    /// The scores from which a pair blocks and warns.
    pub thresholds: Thresholds,
    /// The pairs that the cross-encoder compares.
    pub gate: InferenceGate,
    /// The weights of the deep stage.
    pub deep: DeepWeights,
    /// How the weights were made.
    pub provenance: JudgeProvenance,
    /// The weight of each feature by its name, and the `intercept`, with a cross-encoder's scores.
    pub weights: BTreeMap<String, f32>,
    /// The regression and thresholds without a cross-encoder's scores.
    pub rules: RuleWeights,
}

/// The judge without a cross-encoder. It uses the findings of the rules alone, so that every device gets the same probability.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RuleWeights {
    /// The probability from which a pair blocks.
    pub block: f32,
    /// The probability from which it warns.
    pub warn: f32,
    /// The weight of each feature by its name, and the `intercept`.
    pub weights: BTreeMap<String, f32>,
}

impl Default for RuleWeights {
    fn default() -> Self {
        Self { block: 1.1, warn: 1.1, weights: BTreeMap::new() }
    }
}

/// The probabilities of a contradiction from which a pair blocks and warns, with a cross-encoder's scores.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Thresholds {
    /// The probability from which a pair blocks if only inference finds a contradiction.
    pub block: f32,
    /// The probability from which a pair warns if only inference finds one.
    pub warn: f32,
    /// The probability from which a pair blocks if the rules name the opposing words. It is lower, because a person can check them. Below
    /// it, such a pair warns.
    pub named: f32,
}

impl Default for Thresholds {
    fn default() -> Self {
        // No probability reaches these: without weights, inference decides nothing.
        Self { block: 1.1, warn: 1.1, named: 0.0 }
    }
}

/// The weights of the deep stage: a logistic regression over the log-odds of the judge and of the language model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DeepWeights {
    /// The judge's score from which the language model is asked about a pair.
    pub gate: f32,
    /// The maximum number of pairs of one write that it is asked about.
    pub most: usize,
    /// The intercept.
    pub intercept: f32,
    /// The weight of the judge's log-odds.
    pub judge: f32,
    /// The weight of the language model's log-odds.
    pub model: f32,
    /// The score from which a pair blocks, or opens a card after the write.
    pub block: f32,
    /// The score from which it warns, if the model is asked before the write.
    pub warn: f32,
}

impl Default for DeepWeights {
    fn default() -> Self {
        Self { gate: 1.1, most: 2, intercept: 0.0, judge: 1.0, model: 0.0, block: 1.1, warn: 1.1 }
    }
}

/// Selects the pairs that the cross-encoder compares: those with a common subject, enough common words or similar vectors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InferenceGate {
    /// The cosine that suffices alone.
    pub cosine: f32,
    /// The share of common words that suffices alone.
    pub overlap: f32,
    /// The maximum number of pairs of one write.
    pub most: usize,
}

impl Default for InferenceGate {
    fn default() -> Self {
        Self { cosine: 0.45, overlap: 0.2, most: 4 }
    }
}

/// How the weights were made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JudgeProvenance {
    /// The command that fitted them.
    pub command: String,
    /// The day of the fit.
    pub date: String,
    /// The SHA-256 of the cross-encoder.
    pub nli: String,
    /// The SHA-256 of the embedder.
    pub embedder: String,
    /// The labelled pairs: file names and counts.
    pub pairs: String,
    /// The replayed sentences: file names, counts and the wrong refusals per 1,000.
    pub replay: String,
}

static WEIGHTS: LazyLock<JudgeWeights> =
    LazyLock::new(|| expect_valid("judge.toml", toml::from_str(include_str!("../../assets/judge.toml"))));

/// Returns the built-in weights.
pub fn built_in() -> &'static JudgeWeights {
    &WEIGHTS
}

/// Returns the weighted sum of the features with these names, plus the intercept.
pub(super) fn log_odds(weights: &BTreeMap<String, f32>, names: &[&str], features: &[f32]) -> f32 {
    let of = |name: &str| weights.get(name).copied().unwrap_or(0.0);
    of("intercept") + names.iter().zip(features).map(|(name, feature)| of(name) * feature).sum::<f32>()
}

impl RuleWeights {
    /// Returns the log-odds of a contradiction.
    pub fn log_odds(&self, features: &Features) -> f32 {
        log_odds(&self.weights, &FEATURE_NAMES, features)
    }

    /// Returns the probability of a contradiction.
    pub(crate) fn score(&self, features: &Features) -> f32 {
        if self.weights.is_empty() { 0.0 } else { logistic_f32(self.log_odds(features)) }
    }
}

impl JudgeWeights {
    /// Returns the log-odds of a contradiction, with a cross-encoder's scores.
    pub fn log_odds(&self, features: &Features) -> f32 {
        log_odds(&self.weights, &FEATURE_NAMES, features)
    }

    /// Returns the probability of a contradiction, given the log-odds of the judge and of the language model.
    pub(crate) fn deep_score(&self, log_odds: f32, model_log_odds: f32) -> f32 {
        logistic_f32(self.deep.intercept + self.deep.judge * log_odds + self.deep.model * model_log_odds)
    }

    /// Returns the probability of a contradiction, with a cross-encoder's scores.
    pub(crate) fn score(&self, features: &Features) -> f32 {
        logistic_f32(self.log_odds(features))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::features::RULE_FEATURES;

    #[test]
    fn the_built_in_file_is_valid() {
        let read: JudgeWeights = toml::from_str(include_str!("../../assets/judge.toml")).unwrap();
        assert_eq!(&read, built_in());
        for (names, known) in [(read.weights.keys(), &FEATURE_NAMES[..]), (read.rules.weights.keys(), &RULE_FEATURES)] {
            for name in names {
                assert!(name == "intercept" || known.contains(&name.as_str()), "unknown feature {name}");
            }
        }
        assert!(read.thresholds.warn <= read.thresholds.block && read.rules.warn <= read.rules.block);
        assert!((1..=8).contains(&read.gate.most));
    }

    #[test]
    fn a_score_is_a_probability() {
        let weights = JudgeWeights {
            weights: [("margin".to_owned(), 4.0), ("intercept".to_owned(), -1.0)].into(),
            ..JudgeWeights::default()
        };
        let mut features = [0.0; FEATURE_NAMES.len()];
        assert!(weights.score(&features) < 0.5);
        features[FEATURE_NAMES.iter().position(|name| *name == "margin").unwrap()] = 1.0;
        assert!(weights.score(&features) > 0.9);
    }
}
