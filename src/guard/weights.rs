//! The judge's weights and thresholds: `assets/judge.toml`, built in, with where they come from.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::{Deserialize, Serialize};

use super::features::{Figures, NAMES};

/// The judge, as the file has it: a logistic regression over the figures of a pair.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Weights {
    /// From which score a pair blocks and warns.
    pub thresholds: Thresholds,
    /// Which pairs are worth a cross-encoder.
    pub gate: Gate,
    /// Where the weights come from.
    pub provenance: Provenance,
    /// The weight of each figure, by its name, and of `intercept`.
    pub weights: BTreeMap<String, f32>,
}

/// From which score a pair blocks and warns. A score is the judge's probability of a contradiction, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Thresholds {
    /// Blocks, where a cross-encoder was heard.
    pub block: f32,
    /// Warns, where a cross-encoder was heard.
    pub warn: f32,
}

impl Default for Thresholds {
    fn default() -> Self {
        // Nothing is that sure: without weights, inference decides nothing.
        Self { block: 1.1, warn: 1.1 }
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

impl Weights {
    /// The log-odds of a contradiction.
    pub fn log_odds(&self, figures: &Figures) -> f32 {
        let of = |name: &str| self.weights.get(name).copied().unwrap_or(0.0);
        of("intercept") + NAMES.iter().zip(figures).map(|(name, figure)| of(name) * figure).sum::<f32>()
    }

    /// The probability of a contradiction.
    pub(crate) fn score(&self, figures: &Figures) -> f32 {
        1.0 / (1.0 + (-self.log_odds(figures)).exp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_whole() {
        let read: Weights = toml::from_str(include_str!("../../assets/judge.toml")).unwrap();
        assert_eq!(&read, built_in());
        for name in read.weights.keys() {
            assert!(name == "intercept" || NAMES.contains(&name.as_str()), "{name} is no figure");
        }
        assert!(read.thresholds.warn <= read.thresholds.block);
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
