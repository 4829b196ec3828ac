//! Shows the cost of each threshold from which the verdict is `known`.

use serde::Serialize;

use ergo::recall::answer_model;

/// The probabilities that are shown beside the one in use, in hundredths.
const SHOWN: std::ops::RangeInclusive<u8> = 3..=17;
const STEP: f64 = 0.05;

/// The share of unanswerable questions for which the probability is set on one half of the questions, to be measured on the other.
const WANTED: f64 = 0.8;

/// An answer with its probability.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Something answers the question.
    pub(super) answerable: bool,
    /// What came first answers it.
    pub(super) first: bool,
    /// The probability that it does; `None` where nothing was found.
    pub(super) probability: Option<f32>,
}

/// What becomes of the questions where less, or more, is enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Point {
    /// The probability that is enough.
    pub from: f64,
    /// Of the questions that nothing answers: the share of which it is not said that the answer is known.
    pub abstains: f64,
    /// Of the others: how often it is not said.
    pub wrongly: f64,
    /// Of the questions whose answer was first: how often it is not said.
    pub withheld: f64,
}

impl Point {
    pub(super) fn of(seen: &[Seen], from: f64) -> Self {
        let share = |of: &dyn Fn(&Seen) -> bool| {
            let all = seen.iter().filter(|seen| of(seen));
            let unknown = all.clone().filter(|seen| is_unknown(seen, from)).count();
            unknown as f64 / all.count().max(1) as f64
        };
        Self {
            from,
            abstains: share(&|seen| !seen.answerable),
            wrongly: share(&|seen| seen.answerable),
            withheld: share(&|seen| seen.first),
        }
    }
}

fn is_unknown(seen: &Seen, from: f64) -> bool {
    // On the wire it is rounded; what stands at the threshold stays.
    seen.probability.is_none_or(|probability| f64::from(probability) < from - 1e-6)
}

pub(super) fn curve(seen: &[Seen]) -> Vec<Point> {
    let mut from: Vec<f64> = SHOWN.map(|step| f64::from(step) * STEP).collect();
    from.push(answer_model::built_in().by_meaning.known_from);
    from.sort_by(f64::total_cmp);
    from.dedup();
    from.into_iter().map(|from| Point::of(seen, from)).collect()
}

/// The probability set on every second question so that it abstains as often as is wanted, and measured on the others; and the other way round: the mean.
pub(super) fn held_out(seen: &[Seen]) -> Point {
    let half = |odd: usize| -> Vec<Seen> { seen.iter().skip(odd).step_by(2).copied().collect() };
    let (even, odd) = (half(0), half(1));
    let measured = |set_on: &[Seen], asked: &[Seen]| {
        let fits = |step: &i32| Point::of(set_on, f64::from(*step) / 100.0).abstains >= WANTED;
        let from = (0..=100).find(fits).unwrap_or(100);
        Point::of(asked, f64::from(from) / 100.0)
    };
    let (a, b) = (measured(&even, &odd), measured(&odd, &even));
    let mean = |of: fn(&Point) -> f64| f64::midpoint(of(&a), of(&b));
    Point {
        from: mean(|p| p.from),
        abstains: mean(|p| p.abstains),
        wrongly: mean(|p| p.wrongly),
        withheld: mean(|p| p.withheld),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(answerable: bool, probability: f32) -> Seen {
        Seen { answerable, first: answerable, probability: Some(probability) }
    }

    #[test]
    fn a_higher_threshold_says_more_often_that_nothing_is_known() {
        let all: Vec<Seen> =
            (0..20).flat_map(|n| [seen(true, 0.5 + 0.01 * n as f32), seen(false, 0.4 + 0.01 * n as f32)]).collect();
        let curve = curve(&all);
        assert!(
            curve.windows(2).all(|pair| pair[0].abstains <= pair[1].abstains && pair[0].wrongly <= pair[1].wrongly)
        );
        let here = Point::of(&all, 0.5);
        assert_eq!((here.abstains, here.wrongly), (0.5, 0.0));
    }

    #[test]
    fn what_can_be_told_apart_is_told_apart_on_the_other_half_too() {
        let all: Vec<Seen> = (0..40).map(|n| seen(n / 2 % 2 == 0, if n / 2 % 2 == 0 { 0.8 } else { 0.3 })).collect();
        let point = held_out(&all);
        assert_eq!((point.abstains, point.wrongly, point.withheld), (1.0, 0.0, 0.0));
        let nothing = Seen { answerable: false, first: false, probability: None };
        assert_eq!(Some(held_out(&[nothing; 4]).abstains), Some(1.0));
    }
}
