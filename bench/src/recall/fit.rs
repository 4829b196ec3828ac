//! Fits the weights of a local language model's likelihoods in the second stage of recall, and measures them on other
//! questions.

use std::fmt::Write as _;

use crate::logistic::{self, Example};
use ergo::{
    engine::Weighing,
    recall::query_likelihood::{AnswerOdds, FitProvenance, LikelihoodWeights, QueryLikelihood},
};

/// What a likelihood may count: in steps, from nothing.
const STEPS: u8 = 20;
const STEP: f64 = 0.05;

/// How sharply sums of weights are told apart, as a factor of their differences.
const SHARP: [f64; 5] = [2.0, 4.0, 8.0, 16.0, 32.0];

/// The penalty of large weights.
const RIDGE: f64 = 1e-3;

/// The share of right answers that may be called unknown.
const WITHHELD: f64 = 0.05;

/// What stands at the floor stays, however it is rounded.
const ROUNDING: f64 = 1e-3;

/// A question with what the second stage heard about it.
#[derive(Clone, Debug)]
pub(super) struct Case {
    /// Something answers it.
    pub(super) answerable: bool,
    /// Which of the candidates answers, in the order of the first stage.
    pub(super) right: Vec<bool>,
    /// What the model said; `None` where the first one was not doubted.
    pub(super) weighing: Option<Weighing>,
    /// What the first stage says of the first one's being known.
    pub(super) known: bool,
}

/// What the second stage brings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Gain {
    /// The share of the answerable questions whose first claim answers, by the first stage.
    pub(super) before: f64,
    /// The same after the second stage.
    pub(super) after: f64,
    /// The share of the unanswerable questions of which it is said that nothing is known.
    pub(super) abstains: f64,
    /// The share of the answerable ones of which that is said.
    pub(super) wrongly: f64,
    /// The share of those whose first claim answers of which that is said.
    pub(super) withheld: f64,
}

/// Fits weights to cases; what the rest of `start` says stays.
pub(super) fn fit(cases: &[Case], start: &QueryLikelihood) -> (LikelihoodWeights, AnswerOdds) {
    let tried = (0..=STEPS).flat_map(|step| SHARP.map(|sharp| (f64::from(step) * STEP, sharp)));
    let fits = tried.map(|(likelihood, sharp)| {
        let weights = LikelihoodWeights { likelihood, ..start.weights };
        (likelihood, cases.iter().filter_map(|case| case.log_probability(&weights, sharp)).sum::<f64>())
    });
    // That all fit equally, since no case tells, is no reason for another weight.
    let is_possible = cases.iter().any(|case| case.log_probability(&start.weights, 1.0).is_some_and(|log| log < 0.0));
    let best = fits.filter(|_| is_possible).max_by(|a, b| a.1.total_cmp(&b.1));
    let weights = LikelihoodWeights {
        likelihood: best.map_or(start.weights.likelihood, |(likelihood, _)| likelihood),
        ..start.weights
    };
    let examples: Vec<Example> = cases.iter().filter_map(|case| case.example(&weights)).collect();
    let known = match logistic::fit(&examples, RIDGE)[..] {
        [intercept, above, gain] => AnswerOdds { intercept, above, gain },
        _ => start.known,
    };
    (weights, AnswerOdds { intercept: known.intercept - floor(cases, &weights, &known), ..known })
}

/// The log-odds below which no more of the right answers lie than may be withheld.
fn floor(cases: &[Case], weights: &LikelihoodWeights, known: &AnswerOdds) -> f64 {
    let right: Vec<&Case> = cases.iter().filter(|case| case.first(weights)).collect();
    let mut odds: Vec<f64> = right.iter().filter_map(|case| case.odds(weights, known)).collect();
    odds.sort_by(f64::total_cmp);
    let may = (right.len() as f64 * WITHHELD) as usize;
    odds.get(may).or(odds.last()).map_or(0.0, |odds| odds - ROUNDING)
}

/// What weights bring.
pub(super) fn measure(cases: &[Case], weights: &LikelihoodWeights, known: &AnswerOdds) -> Gain {
    let share = |of: &dyn Fn(&&Case) -> bool, among: &dyn Fn(&&Case) -> bool| {
        let among: Vec<&Case> = cases.iter().filter(among).collect();
        among.iter().filter(|case| of(case)).count() as f64 / among.len().max(1) as f64
    };
    let unknown = |case: &&Case| case.odds(weights, known).map_or(!case.known, |odds| odds < 0.0);
    Gain {
        before: share(&|case| case.right.first() == Some(&true), &|case| case.answerable),
        after: share(&|case| case.first(weights), &|case| case.answerable),
        abstains: share(&unknown, &|case| !case.answerable),
        wrongly: share(&unknown, &|case| case.answerable),
        withheld: share(&unknown, &|case| case.first(weights)),
    }
}

/// The weights fitted on all cases, as the file has them, and as a comment what they bring: there, and where each half is fitted on the other.
pub(super) fn fit_file(
    cases: &[Case],
    start: &QueryLikelihood,
    provenance: FitProvenance,
) -> Result<String, toml::ser::Error> {
    let (weights, known) = fit(cases, start);
    let half = |odd: usize| -> Vec<Case> { cases.iter().skip(odd).step_by(2).cloned().collect() };
    let (even, odd) = (half(0), half(1));
    let mut text = String::from("#                     R@1 before  after  abstains  wrongly  withheld\n");
    let mut line = |name: &str, Gain { before, after, abstains, wrongly, withheld }: Gain| {
        // Writing into a text cannot fail.
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

impl Case {
    /// The place of the claim that comes first.
    fn best(&self, weights: &LikelihoodWeights) -> usize {
        let order = self.weighing.as_ref().map(|weighing| weights.order(&weighing.scores, &weighing.likelihoods));
        order.and_then(|order| order.first().map(|(place, _)| *place)).unwrap_or(0)
    }

    /// The log-probability that one of those that answer comes first; `None` where none does, or none was weighed.
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

    /// Whether the claim that comes first answers.
    fn first(&self, weights: &LikelihoodWeights) -> bool {
        self.right.get(self.best(weights)) == Some(&true)
    }

    /// How much likelier than after no note the question is after the claim that comes first.
    fn gain(&self, weights: &LikelihoodWeights) -> Option<(f64, f64)> {
        let weighing = self.weighing.as_ref()?;
        let best = weighing.likelihoods.get(self.best(weights)).copied().unwrap_or(weighing.nothing);
        Some((weighing.above, best - weighing.nothing))
    }

    fn odds(&self, weights: &LikelihoodWeights, known: &AnswerOdds) -> Option<f64> {
        self.gain(weights).map(|(above, gain)| known.log_odds(above, gain))
    }

    fn example(&self, weights: &LikelihoodWeights) -> Option<Example> {
        let (above, gain) = self.gain(weights)?;
        Some(Example { figures: vec![above as f32, gain as f32], yes: self.first(weights), weight: 1.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer is the second of two near candidates, and the model hears it; or nothing answers, and it hears nothing.
    fn cases() -> Vec<Case> {
        let case = |n: usize| {
            let answerable = !n.is_multiple_of(4);
            let heard = -4.0 + (n % 7) as f64 * 0.01;
            let likelihoods = vec![heard, if answerable { heard + 1.5 } else { heard - 0.1 }];
            let weighing = Weighing { scores: vec![0.5, 0.4], likelihoods, nothing: -4.0, above: 0.1 };
            Case { answerable, right: vec![false, answerable], weighing: Some(weighing), known: true }
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
        assert!(gain.withheld <= WITHHELD && gain.wrongly <= WITHHELD, "{gain:?}");
        let text = fit_file(&cases(), start, FitProvenance::default()).unwrap();
        let read: QueryLikelihood = toml::from_str(&text).unwrap();
        assert_eq!((read.prompt, read.weights), (start.prompt.clone(), weights));
    }

    #[test]
    fn what_was_not_doubted_stays_as_the_first_stage_has_it() {
        let sure = |known| Case { answerable: true, right: vec![true], weighing: None, known };
        let start = ergo::recall::query_likelihood::built_in();
        let gain = measure(&[sure(true), sure(false)], &start.weights, &start.known);
        assert_eq!((gain.before, gain.after, gain.wrongly), (1.0, 1.0, 0.5));
    }
}
