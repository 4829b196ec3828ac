//! Where the floor below which nothing is known could stand, and what each place would cost.

use serde::Serialize;

/// How far the floor is moved, from the least to the most, in steps.
const MOVES: std::ops::RangeInclusive<i8> = -4..=6;
const STEP: f64 = 0.05;

/// The share of unanswerable questions for which the floor is set on one half of the questions, to be measured on the other.
const WANTED: f64 = 0.8;

/// An answer as the floor sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Something answers the question.
    pub(super) answerable: bool,
    /// What came first answers it.
    pub(super) first: bool,
    /// How far the best stood above the floor; `None` where nothing was found.
    pub(super) above: Option<f32>,
}

/// What becomes of the questions where the floor stands somewhere else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Point {
    /// How far it is moved.
    pub moved: f64,
    /// Of the questions that nothing answers: the share of which it is said that nothing is known.
    pub abstains: f64,
    /// Of the others: how often that is said.
    pub wrongly: f64,
    /// Of the questions whose answer was first: how often it was called unknown.
    pub withheld: f64,
}

impl Point {
    fn of(seen: &[Seen], moved: f64) -> Self {
        let share = |of: &dyn Fn(&Seen) -> bool| {
            let all = seen.iter().filter(|seen| of(seen));
            let unknown = all.clone().filter(|seen| is_unknown(seen, moved)).count();
            unknown as f64 / all.count().max(1) as f64
        };
        Self {
            moved,
            abstains: share(&|seen| !seen.answerable),
            wrongly: share(&|seen| seen.answerable),
            withheld: share(&|seen| seen.first),
        }
    }
}

fn is_unknown(seen: &Seen, moved: f64) -> bool {
    seen.above.is_none_or(|above| f64::from(above) < moved)
}

/// The curve.
pub(super) fn curve(seen: &[Seen]) -> Vec<Point> {
    MOVES.map(|step| Point::of(seen, f64::from(step) * STEP)).collect()
}

/// The floor set on every second question so that it abstains as often as is wanted, and measured on the others; and the other way round: the mean.
pub(super) fn held_out(seen: &[Seen]) -> Point {
    let half = |odd: usize| -> Vec<Seen> { seen.iter().skip(odd).step_by(2).copied().collect() };
    let (even, odd) = (half(0), half(1));
    let measured = |set_on: &[Seen], asked: &[Seen]| {
        let fits = |step: &i32| Point::of(set_on, f64::from(*step) / 100.0).abstains >= WANTED;
        let moved = (-50..=100).find(fits).unwrap_or(100);
        Point::of(asked, f64::from(moved) / 100.0)
    };
    let (a, b) = (measured(&even, &odd), measured(&odd, &even));
    let mean = |of: fn(&Point) -> f64| f64::midpoint(of(&a), of(&b));
    Point {
        moved: mean(|p| p.moved),
        abstains: mean(|p| p.abstains),
        wrongly: mean(|p| p.wrongly),
        withheld: mean(|p| p.withheld),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(answerable: bool, above: f32) -> Seen {
        Seen { answerable, first: answerable, above: Some(above) }
    }

    #[test]
    fn a_higher_floor_says_more_often_that_nothing_is_known() {
        let all: Vec<Seen> =
            (0..20).flat_map(|n| [seen(true, 0.01 * n as f32), seen(false, 0.01 * n as f32 - 0.095)]).collect();
        let curve = curve(&all);
        assert_eq!(curve.len(), 11);
        assert!(
            curve.windows(2).all(|pair| pair[0].abstains <= pair[1].abstains && pair[0].wrongly <= pair[1].wrongly)
        );
        let here = curve[4];
        assert_eq!((here.moved, here.abstains, here.wrongly), (0.0, 0.5, 0.0));
    }

    #[test]
    fn what_can_be_told_apart_is_told_apart_on_the_other_half_too() {
        let all: Vec<Seen> = (0..40).map(|n| seen(n / 2 % 2 == 0, if n / 2 % 2 == 0 { 0.3 } else { -0.3 })).collect();
        let point = held_out(&all);
        assert_eq!((point.abstains, point.wrongly, point.withheld), (1.0, 0.0, 0.0));
        let nothing = Seen { answerable: false, first: false, above: None };
        assert_eq!(Some(held_out(&[nothing; 4]).abstains), Some(1.0));
    }
}
