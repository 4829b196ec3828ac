//! Fits the weights of a local language model's likelihoods in the second stage of recall, and measures them on other
//! questions.

use std::fmt::Write as _;

use crate::logistic::{self, FitExample};
use ergo::{
    engine::Weighing,
    recall::query_likelihood::{AnswerOdds, FitProvenance, LikelihoodWeights, QueryLikelihood},
};

/// The weights of a likelihood that are tried: so many steps of [`WEIGHT_STEP`] from 0.
const WEIGHT_STEPS: u8 = 20;
const WEIGHT_STEP: f64 = 0.05;

/// The factors of a sum of weights that are tried when sums are turned into probabilities.
const SHARPNESS: [f64; 5] = [2.0, 4.0, 8.0, 16.0, 32.0];

/// The penalty of large weights.
const RIDGE: f64 = 1e-3;

/// The share of right answers whose verdict may be other than `known`.
const MAX_WITHHELD: f64 = 0.05;

/// The distance of the threshold from the lowest odds that must pass, so that rounding does not exclude them.
const ROUNDING_MARGIN: f64 = 1e-3;

/// A question with its candidates and the language model's likelihoods.
#[derive(Clone, Debug)]
pub(super) struct WeighedQuestion {
    /// Whether a memory answers the question.
    pub(super) answerable: bool,
    /// Whether each candidate answers it, in the order of the first stage.
    pub(super) right: Vec<bool>,
    /// The likelihoods; `None` if the first stage was sure of its first candidate.
    pub(super) weighing: Option<Weighing>,
    /// Whether the verdict of the first stage is `known`.
    pub(super) known: bool,
}

/// What the second stage gains.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Gain {
    /// The share of the answerable questions whose first claim answers after the first stage.
    pub(super) before: f64,
    /// The same after the second stage.
    pub(super) after: f64,
    /// The share of the unanswerable questions whose verdict is not `known`.
    pub(super) abstains: f64,
    /// The share of the answerable questions whose verdict is not `known`.
    pub(super) wrongly: f64,
    /// The share of the questions whose first claim answers that get another verdict than `known`.
    pub(super) withheld: f64,
}

/// Fits the weights to questions; everything else is taken from `start`.
pub(super) fn fit(cases: &[WeighedQuestion], start: &QueryLikelihood) -> (LikelihoodWeights, AnswerOdds) {
    let tried = (0..=WEIGHT_STEPS).flat_map(|step| SHARPNESS.map(|sharp| (f64::from(step) * WEIGHT_STEP, sharp)));
    let fits = tried.map(|(likelihood, sharp)| {
        let weights = LikelihoodWeights { likelihood, ..start.weights };
        (likelihood, cases.iter().filter_map(|case| case.log_probability(&weights, sharp)).sum::<f64>())
    });
    // If no question distinguishes the weights, the weight stays.
    let is_possible = cases.iter().any(|case| case.log_probability(&start.weights, 1.0).is_some_and(|log| log < 0.0));
    let best = fits.filter(|_| is_possible).max_by(|a, b| a.1.total_cmp(&b.1));
    let weights = LikelihoodWeights {
        likelihood: best.map_or(start.weights.likelihood, |(likelihood, _)| likelihood),
        ..start.weights
    };
    let examples: Vec<FitExample> = cases.iter().filter_map(|case| case.example(&weights)).collect();
    let known = match logistic::fit(&examples, RIDGE)[..] {
        [intercept, above, gain] => AnswerOdds { intercept, above, gain },
        _ => start.known,
    };
    (weights, AnswerOdds { intercept: known.intercept - threshold(cases, &weights, &known), ..known })
}

/// Returns the highest log-odds below which at most [`MAX_WITHHELD`] of the right answers lie.
fn threshold(cases: &[WeighedQuestion], weights: &LikelihoodWeights, known: &AnswerOdds) -> f64 {
    let right: Vec<&WeighedQuestion> = cases.iter().filter(|case| case.is_right(weights)).collect();
    let mut odds: Vec<f64> = right.iter().filter_map(|case| case.odds(weights, known)).collect();
    odds.sort_by(f64::total_cmp);
    let may = (right.len() as f64 * MAX_WITHHELD) as usize;
    odds.get(may).or(odds.last()).map_or(0.0, |odds| odds - ROUNDING_MARGIN)
}

/// Measures the weights on questions.
pub(super) fn measure(cases: &[WeighedQuestion], weights: &LikelihoodWeights, known: &AnswerOdds) -> Gain {
    let share = |of: &dyn Fn(&&WeighedQuestion) -> bool, among: &dyn Fn(&&WeighedQuestion) -> bool| {
        let among: Vec<&WeighedQuestion> = cases.iter().filter(among).collect();
        among.iter().filter(|case| of(case)).count() as f64 / among.len().max(1) as f64
    };
    let unknown = |case: &&WeighedQuestion| case.odds(weights, known).map_or(!case.known, |odds| odds < 0.0);
    Gain {
        before: share(&|case| case.right.first() == Some(&true), &|case| case.answerable),
        after: share(&|case| case.is_right(weights), &|case| case.answerable),
        abstains: share(&unknown, &|case| !case.answerable),
        wrongly: share(&unknown, &|case| case.answerable),
        withheld: share(&unknown, &|case| case.is_right(weights)),
    }
}

/// Returns the weights fitted on all questions in the format of their file. A comment says what they gain on all
/// questions, and on each half if they are fitted on the other half.
pub(super) fn fit_file(
    cases: &[WeighedQuestion],
    start: &QueryLikelihood,
    provenance: FitProvenance,
) -> Result<String, toml::ser::Error> {
    let (weights, known) = fit(cases, start);
    let half = |odd: usize| -> Vec<WeighedQuestion> { cases.iter().skip(odd).step_by(2).cloned().collect() };
    let (even, odd) = (half(0), half(1));
    let mut text = String::from("#                     R@1 before  after  abstains  wrongly  withheld\n");
    let mut line = |name: &str, Gain { before, after, abstains, wrongly, withheld }: Gain| {
        // Writing into a string cannot fail.
        let _ =
            writeln!(text, "# {name:<20} {before:>9.3} {after:>6.3} {abstains:>9.2} {wrongly:>8.2} {withheld:>9.2}");
    };
    line("all, fitted on all", measure(cases, &weights, &known));
    for (name, fitted_on, asked) in [("even, fitted on odd", &odd, &even), ("odd, fitted on even", &even, &odd)] {
        let (weights, known) = fit(fitted_on, start);
        line(name, measure(asked, &weights, &known));
    }
    let round = |number: f64| (number * 1e4).round() / 1e4;
    let known = AnswerOdds { intercept: round(known.intercept), above: round(known.above), gain: round(known.gain) };
    text.push_str(&toml::to_string(&QueryLikelihood { prompt: start.prompt.clone(), weights, known, provenance })?);
    Ok(text)
}

impl WeighedQuestion {
    /// Returns the place of the best candidate.
    fn best_place(&self, weights: &LikelihoodWeights) -> usize {
        let order = self.weighing.as_ref().map(|weighing| weights.order(&weighing.scores, &weighing.likelihoods));
        order.and_then(|order| order.first().map(|(place, _)| *place)).unwrap_or(0)
    }

    /// Returns the log-probability that a right candidate comes first; `None` if none is right, or without likelihoods.
    fn log_probability(&self, weights: &LikelihoodWeights, sharp: f64) -> Option<f64> {
        let weighing = self.weighing.as_ref()?;
        let order = weights.order(&weighing.scores, &weighing.likelihoods);
        let most = order.first()?.1;
        let (mut all, mut right) = (0.0, 0.0);
        for (place, weight) in order {
            let share = (sharp * (weight - most)).exp();
            all += share;
            right += if self.right.get(place) == Some(&true) { share } else { 0.0 };
        }
        (right > 0.0).then(|| (right / all).ln())
    }

    /// Returns whether the best candidate answers the question.
    fn is_right(&self, weights: &LikelihoodWeights) -> bool {
        self.right.get(self.best_place(weights)) == Some(&true)
    }

    /// Returns the features of [`AnswerOdds`]: the weighing's `above`, and how much the best candidate raises the
    /// log-likelihood of the question.
    fn gain(&self, weights: &LikelihoodWeights) -> Option<(f64, f64)> {
        let weighing = self.weighing.as_ref()?;
        let best = weighing.likelihoods.get(self.best_place(weights)).copied().unwrap_or(weighing.nothing);
        Some((weighing.above, best - weighing.nothing))
    }

    fn odds(&self, weights: &LikelihoodWeights, known: &AnswerOdds) -> Option<f64> {
        self.gain(weights).map(|(above, gain)| known.log_odds(above, gain))
    }

    fn example(&self, weights: &LikelihoodWeights) -> Option<FitExample> {
        let (above, gain) = self.gain(weights)?;
        Some(FitExample { features: vec![above as f32, gain as f32], yes: self.is_right(weights), weight: 1.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Questions of which the second of two candidates is right and likelier; every fourth question has no right one.
    fn cases() -> Vec<WeighedQuestion> {
        let case = |n: usize| {
            let answerable = !n.is_multiple_of(4);
            let likelihood = -4.0 + (n % 7) as f64 * 0.01;
            let likelihoods = vec![likelihood, if answerable { likelihood + 1.5 } else { likelihood - 0.1 }];
            let weighing = Weighing { scores: vec![0.5, 0.4], likelihoods, nothing: -4.0, above: 0.1 };
            WeighedQuestion { answerable, right: vec![false, answerable], weighing: Some(weighing), known: true }
        };
        (0..40).map(case).collect()
    }

    #[test]
    fn what_the_model_reads_is_fitted_and_written_as_a_file() {
        let start = ergo::recall::query_likelihood::built_in();
        let (weights, known) = fit(&cases(), start);
        let gain = measure(&cases(), &weights, &known);
        assert!(weights.likelihood > 0.0 && known.gain > 0.0, "{weights:?} {known:?}");
        assert_eq!((gain.before, gain.after, gain.abstains), (0.0, 1.0, 1.0));
        assert!(gain.withheld <= MAX_WITHHELD && gain.wrongly <= MAX_WITHHELD, "{gain:?}");
        let text = fit_file(&cases(), start, FitProvenance::default()).unwrap();
        let read: QueryLikelihood = toml::from_str(&text).unwrap();
        assert_eq!((read.prompt, read.weights), (start.prompt.clone(), weights));
    }

    #[test]
    fn what_was_not_doubted_stays_as_the_first_stage_has_it() {
        let sure = |known| WeighedQuestion { answerable: true, right: vec![true], weighing: None, known };
        let start = ergo::recall::query_likelihood::built_in();
        let gain = measure(&[sure(true), sure(false)], &start.weights, &start.known);
        assert_eq!((gain.before, gain.after, gain.wrongly), (1.0, 1.0, 0.5));
    }
}
