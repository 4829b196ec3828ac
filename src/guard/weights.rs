//! The judge's weights and thresholds: `assets/judge.toml`, built in, with where they come from.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::{Deserialize, Serialize};

use super::features::{Figures, NAMES};

/// The judge, as the file has it: two logistic regressions over the figures of a pair, one where a cross-encoder was heard and one where
/// none was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Weights {
    /// From which score a pair blocks and warns.
    pub thresholds: Thresholds,
    /// Which pairs are worth a cross-encoder.
    pub gate: Gate,
    /// What a language model's word counts.
    pub deep: Deep,
    /// Where the weights come from.
    pub provenance: Provenance,
    /// The weight of each figure, by its name, and of `intercept`, where a cross-encoder was heard.
    pub weights: BTreeMap<String, f32>,
    /// The regression and its thresholds where none was heard.
    pub rules: Rules,
}

/// The judge where no cross-encoder was heard: from what the rules find alone, so that every machine gets the same probability.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// Blocks.
    pub block: f32,
    /// Warns.
    pub warn: f32,
    /// The weight of each figure, by its name, and of `intercept`.
    pub weights: BTreeMap<String, f32>,
}

impl Default for Rules {
    fn default() -> Self {
        Self { block: 1.1, warn: 1.1, weights: BTreeMap::new() }
    }
}

/// From which probability of a contradiction a pair blocks and warns where a cross-encoder was heard.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Thresholds {
    /// Blocks, where only inference speaks against it.
    pub block: f32,
    /// Warns, where only inference does.
    pub warn: f32,
    /// Blocks, where the rules name the words that are opposed: a person can check them, so less is needed. Below it warns.
    pub named: f32,
}

impl Default for Thresholds {
    fn default() -> Self {
        // Nothing is that sure: without weights, inference decides nothing.
        Self { block: 1.1, warn: 1.1, named: 0.0 }
    }
}

/// What the deep stage's language model counts beside the judge: another logistic regression, over two log-odds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Deep {
    /// The least score of the judge from which a language model is asked.
    pub gate: f32,
    /// The most pairs of one write that it is asked about.
    pub most: usize,
    /// The log-odds where both others are 0.
    pub intercept: f32,
    /// What one unit of the judge's log-odds counts.
    pub judge: f32,
    /// What one unit of the language model's log-odds counts.
    pub model: f32,
    /// From which score a pair blocks, or opens a card after the write.
    pub block: f32,
    /// From which score it warns, where it is asked before the write.
    pub warn: f32,
}

impl Default for Deep {
    fn default() -> Self {
        Self { gate: 1.1, most: 2, intercept: 0.0, judge: 1.0, model: 0.0, block: 1.1, warn: 1.1 }
    }
}

/// Which pairs are worth a cross-encoder: those that share a subject, enough words or enough meaning.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gate {
    /// The least cosine that lets a pair through by itself.
    pub cosine: f32,
    /// The least share of common words that lets a pair through by itself.
    pub overlap: f32,
    /// The most pairs of one write.
    pub most: usize,
}

impl Default for Gate {
    fn default() -> Self {
        Self { cosine: 0.45, overlap: 0.2, most: 4 }
    }
}

/// Where the weights come from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Provenance {
    /// The command that made the file.
    pub command: String,
    /// The day.
    pub date: String,
    /// SHA-256 of the cross-encoder that was heard.
    pub nli: String,
    /// SHA-256 of the embedder.
    pub embedder: String,
    /// The labelled pairs: file names and counts.
    pub pairs: String,
    /// The replayed sentences: file names, counts and how many of 1,000 are refused wrongly.
    pub replay: String,
}

static WEIGHTS: LazyLock<Weights> =
    LazyLock::new(|| toml::from_str(include_str!("../../assets/judge.toml")).unwrap_or_default());

/// The weights that are built in.
pub fn built_in() -> &'static Weights {
    &WEIGHTS
}

/// The log-odds that some weights give to some figures.
fn log_odds(weights: &BTreeMap<String, f32>, figures: &Figures) -> f32 {
    let of = |name: &str| weights.get(name).copied().unwrap_or(0.0);
    of("intercept") + NAMES.iter().zip(figures).map(|(name, figure)| of(name) * figure).sum::<f32>()
}

/// A probability from its log-odds.
fn probability(log_odds: f32) -> f32 {
    1.0 / (1.0 + (-log_odds).exp())
}

impl Rules {
    /// The log-odds of a contradiction.
    pub fn log_odds(&self, figures: &Figures) -> f32 {
        log_odds(&self.weights, figures)
    }

    /// The probability of a contradiction.
    pub(crate) fn score(&self, figures: &Figures) -> f32 {
        if self.weights.is_empty() { 0.0 } else { probability(self.log_odds(figures)) }
    }
}

impl Weights {
    /// The log-odds of a contradiction, where a cross-encoder was heard.
    pub fn log_odds(&self, figures: &Figures) -> f32 {
        log_odds(&self.weights, figures)
    }

    /// The probability of a contradiction, with a language model's word.
    pub(crate) fn deep_score(&self, log_odds: f32, said: f32) -> f32 {
        probability(self.deep.intercept + self.deep.judge * log_odds + self.deep.model * said)
    }

    /// The probability of a contradiction, where a cross-encoder was heard.
    pub(crate) fn score(&self, figures: &Figures) -> f32 {
        probability(self.log_odds(figures))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_whole() {
        let read: Weights = toml::from_str(include_str!("../../assets/judge.toml")).unwrap();
        assert_eq!(&read, built_in());
        for name in read.weights.keys().chain(read.rules.weights.keys()) {
            assert!(name == "intercept" || NAMES.contains(&name.as_str()), "{name} is no figure");
        }
        assert!(read.thresholds.warn <= read.thresholds.block && read.rules.warn <= read.rules.block);
        assert!((1..=8).contains(&read.gate.most));
    }

    #[test]
    fn a_score_is_a_probability() {
        let weights = Weights {
            weights: [("margin".to_owned(), 4.0), ("intercept".to_owned(), -1.0)].into(),
            ..Weights::default()
        };
        let mut figures = [0.0; NAMES.len()];
        assert!(weights.score(&figures) < 0.5);
        figures[NAMES.iter().position(|name| *name == "margin").unwrap()] = 1.0;
        assert!(weights.score(&figures) > 0.9);
    }
}
