//! Whether a claim answers a question, as a probability: a logistic regression over figures that recall has anyway.
//!
//! Fitted on questions in other words than their answers, with unanswerable ones that share words with the scope (`ergo-bench recall --fit-known`). What the
//! figures are worth is measured in docs/recall.md.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::{expect::Provenance, rank::Score};

/// The most that a lead over the next best counts.
const MOST_LEAD: f64 = 0.3;

/// The lead that is supposed where none is to count.
const USUAL_LEAD: f64 = 0.1;

/// `assets/recall/known.toml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Model {
    /// For questions that have a vector.
    pub by_meaning: Weights,
    /// For questions that are asked by words alone.
    pub by_words: Weights,
    /// Where the weights come from.
    pub provenance: Provenance,
}

/// A logistic regression, and what follows from its probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Weights {
    /// The log-odds of nothing.
    pub intercept: f64,
    /// From this probability on a claim answers.
    pub known_from: f64,
    /// Below this probability nothing of the scope has to do with the question.
    pub nothing_below: f64,
    /// What each figure counts.
    pub figures: Figures,
}

/// What is known of a claim beside a question; and what each of these counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Figures {
    /// The cosine between the question and the statement, less what the scope's unrelated claims raise it by.
    pub cosine: f64,
    /// The same of statement and reason together.
    pub with_reason: f64,
    /// The share of the question, weighed by how much each word tells, that the claim speaks of.
    pub cover: f64,
    /// The share of the question whose words no claim of the scope has, nor any that stands for them.
    pub unknown: f64,
    /// The share of the question that is names which the claim lacks.
    pub names: f64,
    /// How far its score stands above that of the next best.
    pub lead: f64,
    /// How high it stands in the lists that were fused: 1 at the top of each.
    pub fused: f64,
    /// The mean cosine of the nearest claims after the best, less what the scope's unrelated claims raise it by: what is near whatever is asked.
    pub crowd: f64,
}

/// What speaks for a claim's being an answer.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// How well it matches.
    pub score: &'a Score,
    /// The cosine between its vector and the question's; `None` where it has none.
    pub cosine: Option<f32>,
    /// The same of statement and reason together.
    pub with_reason: Option<f32>,
    /// The share of the question, 0 to 1, whose words the scope does not know.
    pub unknown: f64,
    /// How far its score stands above that of the next best, 0 where it is not the best; `None` where that is not to count.
    pub lead: Option<f64>,
    /// How high it stands in the lists that were fused, 0 to 1.
    pub fused: f64,
    /// The mean cosine of the nearest claims after the best.
    pub crowd: f64,
    /// By how much the scope's own unrelated claims raise a cosine; 0 where nothing was learned of them.
    pub raise: f64,
}

/// The cosine that is supposed where a claim has no vector yet: that of a claim about something near.
const UNKNOWN_COSINE: f64 = 0.2;

impl Figures {
    /// The figures of a claim.
    pub fn of(evidence: &Evidence<'_>) -> Self {
        let &Evidence { score, cosine, with_reason, unknown, lead, fused, crowd, raise } = evidence;
        let cosine = cosine.map_or(UNKNOWN_COSINE, f64::from);
        Self {
            cosine: cosine - raise,
            with_reason: with_reason.map_or(cosine, f64::from) - raise,
            cover: score.cover,
            unknown,
            names: score.names_lacked,
            lead: lead.unwrap_or(USUAL_LEAD).clamp(0.0, MOST_LEAD),
            fused,
            crowd: crowd - raise,
        }
    }

    /// All of them, in the order of their names.
    pub fn array(&self) -> [f64; 8] {
        let &Self { cosine, with_reason, cover, unknown, names, lead, fused, crowd } = self;
        [cosine, with_reason, cover, unknown, names, lead, fused, crowd]
    }

    /// The inverse of [`Figures::array`].
    pub fn from_array([cosine, with_reason, cover, unknown, names, lead, fused, crowd]: [f64; 8]) -> Self {
        Self { cosine, with_reason, cover, unknown, names, lead, fused, crowd }
    }
}

impl Weights {
    /// The probability that a claim with these figures answers.
    pub fn probability(&self, figures: &Figures) -> f64 {
        let sum: f64 = self.figures.array().iter().zip(figures.array()).map(|(weight, figure)| weight * figure).sum();
        logistic(self.intercept + sum)
    }
}

impl Model {
    /// The weights for questions with a vector, or for those without.
    pub fn weights(&self, by_meaning: bool) -> &Weights {
        if by_meaning { &self.by_meaning } else { &self.by_words }
    }
}

/// The probability of these log-odds.
pub fn logistic(odds: f64) -> f64 {
    1.0 / (1.0 + (-odds).exp())
}

static BUILT_IN: LazyLock<Model> =
    LazyLock::new(|| toml::from_str(include_str!("../../assets/recall/known.toml")).unwrap_or_default());

/// The one that is built in.
pub fn built_in() -> &'static Model {
    &BUILT_IN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_whole() {
        let read: Model = toml::from_str(include_str!("../../assets/recall/known.toml")).unwrap();
        assert_eq!(&read, built_in());
        for weights in [read.by_meaning, read.by_words] {
            assert!(0.0 < weights.nothing_below && weights.nothing_below < weights.known_from, "{weights:?}");
            assert!(weights.known_from < 1.0 && weights.figures.cover > 0.0 && weights.figures.unknown < 0.0);
        }
        assert!(!read.provenance.command.is_empty() && !read.provenance.questions.is_empty());
    }

    fn probability(score: &Score, cosine: f32, unknown: f64, raise: f64) -> f64 {
        let (cosine, with_reason) = (Some(cosine), Some(cosine));
        let evidence =
            Evidence { score, cosine, with_reason, unknown, lead: None, fused: 0.5, crowd: 0.2 + raise, raise };
        built_in().by_meaning.probability(&Figures::of(&evidence))
    }

    #[test]
    fn nearness_speaks_for_a_claim_and_unknown_words_and_names_against_it() {
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
    fn the_array_holds_every_figure_once() {
        let figures = Figures::from_array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        assert_eq!(figures.array().map(|figure| figure as u8), [1, 2, 3, 4, 5, 6, 7, 8]);
        let names = serde_json::to_value(figures).unwrap();
        assert_eq!(names.as_object().unwrap().len(), figures.array().len());
    }
}
