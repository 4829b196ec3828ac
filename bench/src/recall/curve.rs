//! Compares thresholds of the probability from which the verdict is `known`.

use serde::Serialize;

use ergo::recall::answer_model;

/// The thresholds to compare with the one in use, in units of [`THRESHOLD_STEP`].
const THRESHOLD_STEPS: std::ops::RangeInclusive<u8> = 3..=17;
const THRESHOLD_STEP: f64 = 0.05;

/// The share of unanswerable questions that must get another verdict than `known`, by which a threshold is chosen on one
/// half of the questions and measured on the other.
const WANTED_ABSTENTION: f64 = 0.8;

/// The best claim found for a question, with its probability.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScoredAnswer {
    /// Whether a memory answers the question.
    pub(super) answerable: bool,
    /// Whether the first claim answers it.
    pub(super) first: bool,
    /// The probability that the first claim answers; `None` if nothing was found.
    pub(super) probability: Option<f32>,
}

/// What would happen with a given threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ThresholdPoint {
    /// The probability from which the verdict is `known`.
    pub from: f64,
    /// The share of the unanswerable questions whose verdict is not `known`.
    pub abstains: f64,
    /// The share of the answerable questions whose verdict is not `known`.
    pub wrongly: f64,
    /// The share of the questions whose first claim answers that get another verdict than `known`.
    pub withheld: f64,
}

impl ThresholdPoint {
    pub(super) fn of(answers: &[ScoredAnswer], from: f64) -> Self {
        let share = |of: &dyn Fn(&ScoredAnswer) -> bool| {
            let all = answers.iter().filter(|answer| of(answer));
            let unknown = all.clone().filter(|answer| is_unknown(answer, from)).count();
            unknown as f64 / all.count().max(1) as f64
        };
        Self {
            from,
            abstains: share(&|answer| !answer.answerable),
            wrongly: share(&|answer| answer.answerable),
            withheld: share(&|answer| answer.first),
        }
    }
}

fn is_unknown(answer: &ScoredAnswer, from: f64) -> bool {
    // Probabilities are rounded in answers: one at the threshold counts as known.
    answer.probability.is_none_or(|probability| f64::from(probability) < from - 1e-6)
}

/// Returns a point for each threshold, ascending.
pub(super) fn curve(answers: &[ScoredAnswer]) -> Vec<ThresholdPoint> {
    let mut from: Vec<f64> = THRESHOLD_STEPS.map(|step| f64::from(step) * THRESHOLD_STEP).collect();
    from.push(answer_model::built_in().by_meaning.known_from);
    from.sort_by(f64::total_cmp);
    from.dedup();
    from.into_iter().map(|from| ThresholdPoint::of(answers, from)).collect()
}

/// Chooses the lowest threshold with [`WANTED_ABSTENTION`] on every second question, and measures it on the others; then
/// the other way round. Returns the mean of both.
pub(super) fn held_out(answers: &[ScoredAnswer]) -> ThresholdPoint {
    let half = |odd: usize| -> Vec<ScoredAnswer> { answers.iter().skip(odd).step_by(2).copied().collect() };
    let (even, odd) = (half(0), half(1));
    let measured = |set_on: &[ScoredAnswer], asked: &[ScoredAnswer]| {
        let fits = |step: &i32| ThresholdPoint::of(set_on, f64::from(*step) / 100.0).abstains >= WANTED_ABSTENTION;
        let from = (0..=100).find(fits).unwrap_or(100);
        ThresholdPoint::of(asked, f64::from(from) / 100.0)
    };
    let (a, b) = (measured(&even, &odd), measured(&odd, &even));
    let mean = |of: fn(&ThresholdPoint) -> f64| f64::midpoint(of(&a), of(&b));
    ThresholdPoint {
        from: mean(|p| p.from),
        abstains: mean(|p| p.abstains),
        wrongly: mean(|p| p.wrongly),
        withheld: mean(|p| p.withheld),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(answerable: bool, probability: f32) -> ScoredAnswer {
        ScoredAnswer { answerable, first: answerable, probability: Some(probability) }
    }

    #[test]
    fn a_higher_threshold_says_more_often_that_nothing_is_known() {
        let all: Vec<ScoredAnswer> =
            (0..20).flat_map(|n| [seen(true, 0.5 + 0.01 * n as f32), seen(false, 0.4 + 0.01 * n as f32)]).collect();
        let curve = curve(&all);
        assert!(
            curve.windows(2).all(|pair| pair[0].abstains <= pair[1].abstains && pair[0].wrongly <= pair[1].wrongly)
        );
        let here = ThresholdPoint::of(&all, 0.5);
        assert_eq!((here.abstains, here.wrongly), (0.5, 0.0));
    }

    #[test]
    fn what_can_be_told_apart_is_told_apart_on_the_other_half_too() {
        let all: Vec<ScoredAnswer> =
            (0..40).map(|n| seen(n / 2 % 2 == 0, if n / 2 % 2 == 0 { 0.8 } else { 0.3 })).collect();
        let point = held_out(&all);
        assert_eq!((point.abstains, point.wrongly, point.withheld), (1.0, 0.0, 0.0));
        let nothing = ScoredAnswer { answerable: false, first: false, probability: None };
        assert_eq!(Some(held_out(&[nothing; 4]).abstains), Some(1.0));
    }
}
