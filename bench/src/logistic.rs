//! Logistic regression by Newton's method, with a ridge: Hastie, Tibshirani, Friedman, "The Elements of Statistical Learning", 4.4.

use std::collections::BTreeMap;

use ergo::domain::numeric::logistic;

#[derive(Clone, Debug)]
pub(super) struct FitExample {
    pub(super) features: Vec<f32>,
    /// The label.
    pub(super) yes: bool,
    pub(super) weight: f64,
}

/// The most steps of Newton's method, which converges in about ten.
const MAX_STEPS: usize = 40;

/// Returns the intercept, then a weight for each feature. `ridge` is the penalty of a squared weight, relative to the total
/// weight of the examples.
pub(super) fn fit(examples: &[FitExample], ridge: f64) -> Vec<f64> {
    let size = examples.first().map_or(0, |example| example.features.len()) + 1;
    let mut weights = vec![0.0; size];
    let total: f64 = examples.iter().map(|example| example.weight).sum();
    for _ in 0..MAX_STEPS {
        let mut gradient = vec![0.0; size];
        let mut hessian = vec![vec![0.0; size]; size];
        for example in examples {
            let x: Vec<f64> = std::iter::once(1.0).chain(example.features.iter().map(|f| f64::from(*f))).collect();
            let odds: f64 = weights.iter().zip(&x).map(|(w, x)| w * x).sum();
            let p = logistic(odds);
            let error = (p - f64::from(example.yes)) * example.weight;
            let curve = (p * (1.0 - p)).max(1e-9) * example.weight;
            for i in (0..size).filter(|i| x[*i] != 0.0) {
                gradient[i] += error * x[i];
                for j in 0..=i {
                    hessian[i][j] += curve * x[i] * x[j];
                }
            }
        }
        // The intercept has no penalty.
        for i in 1..size {
            gradient[i] += ridge * total * weights[i];
            hessian[i][i] += ridge * total;
        }
        hessian[0][0] += 1e-9;
        let Some(step) = solve(&mut hessian, gradient) else { break };
        let length = step.iter().map(|s| s.abs()).fold(0.0, f64::max);
        // A long step may overshoot.
        let scale = if length > 5.0 { 5.0 / length } else { 1.0 };
        for (weight, step) in weights.iter_mut().zip(&step) {
            *weight -= scale * step;
        }
        if length < 1e-6 {
            break;
        }
    }
    weights
}

/// Fits weights of the features in `chosen`. Each example has the values of all features, in the order of `names`,
/// and a label. Returns the rounded weights by their names, and that of `intercept`.
pub(super) fn fit_named<'e>(
    examples: impl Iterator<Item = (&'e [f32], bool)>,
    names: &[&str],
    chosen: &[&str],
    ridge: f64,
) -> BTreeMap<String, f32> {
    let columns: Vec<usize> = (0..names.len()).filter(|column| chosen.contains(&names[*column])).collect();
    let example = |(values, yes): (&[f32], bool)| {
        let features = columns.iter().map(|column| values[*column]).collect();
        FitExample { features, yes, weight: 1.0 }
    };
    let examples: Vec<FitExample> = examples.map(example).collect();
    let names = std::iter::once("intercept").chain(columns.iter().map(|column| names[*column]));
    names.map(str::to_owned).zip(fit(&examples, ridge).into_iter().map(rounded)).collect()
}

/// Returns a weight, rounded as in the files of weights.
pub(super) fn rounded(weight: f64) -> f32 {
    (weight * 1e4).round() as f32 / 1e4
}

/// Solves a linear system by Cholesky's method, given the lower half of the matrix; returns `None` if the matrix is not
/// positive definite.
fn solve(lower: &mut [Vec<f64>], mut right: Vec<f64>) -> Option<Vec<f64>> {
    let size = right.len();
    for i in 0..size {
        for j in 0..=i {
            let sum = lower[i][j] - (0..j).map(|k| lower[i][k] * lower[j][k]).sum::<f64>();
            if i == j {
                if sum <= 0.0 {
                    return None;
                }
                lower[i][i] = sum.sqrt();
            } else {
                lower[i][j] = sum / lower[j][j];
            }
        }
    }
    for i in 0..size {
        right[i] = (right[i] - (0..i).map(|k| lower[i][k] * right[k]).sum::<f64>()) / lower[i][i];
    }
    for i in (0..size).rev() {
        right[i] = (right[i] - (i + 1..size).map(|k| lower[k][i] * right[k]).sum::<f64>()) / lower[i][i];
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_weights_of_a_simple_table_are_found() {
        // With x = 1, three of four examples are positive; with x = 0, one of four: the log-odds are ±ln 3.
        let examples: Vec<FitExample> = [(1.0, true, 3.0), (1.0, false, 1.0), (0.0, true, 1.0), (0.0, false, 3.0)]
            .map(|(x, yes, weight)| FitExample { features: vec![x], yes, weight })
            .into();
        let weights = fit(&examples, 0.0);
        let ln3 = 3.0_f64.ln();
        assert!((weights[0] + ln3).abs() < 1e-4 && (weights[1] - 2.0 * ln3).abs() < 1e-4, "{weights:?}");
        assert!(fit(&examples, 1.0)[1] < 1.0, "a ridge holds weights back");
    }

    #[test]
    fn the_chosen_features_have_rounded_weights_by_their_names() {
        let examples: [([f32; 3], bool); 4] =
            [([9.0, 1.0, 5.0], true), ([9.0, 1.0, 0.0], false), ([2.0, 0.0, 5.0], false), ([1.0, 1.0, 3.0], true)];
        let columns = |of: &[usize]| -> Vec<FitExample> {
            let chosen = |all: &[f32; 3]| of.iter().map(|column| all[*column]).collect();
            examples.iter().map(|(all, yes)| FitExample { features: chosen(all), yes: *yes, weight: 1.0 }).collect()
        };
        let expected: Vec<f32> = fit(&columns(&[0, 2]), 0.1).into_iter().map(rounded).collect();
        let all = examples.iter().map(|(features, yes)| (features.as_slice(), *yes));
        let weights = fit_named(all, &["a", "b", "c"], &["c", "a"], 0.1);
        let named = [("intercept", expected[0]), ("a", expected[1]), ("c", expected[2])];
        assert_eq!(weights, BTreeMap::from(named.map(|(name, weight)| (name.to_owned(), weight))));
    }

    #[test]
    fn what_can_be_told_apart_wholly_still_has_an_end() {
        let examples: Vec<FitExample> =
            (0..20).map(|i| FitExample { features: vec![i as f32 / 20.0, 0.0], yes: i >= 10, weight: 1.0 }).collect();
        let weights = fit(&examples, 1e-3);
        assert!(weights.iter().all(|w| w.is_finite()) && weights[1] > 1.0 && weights[2].abs() < 1e-9);
    }
}
