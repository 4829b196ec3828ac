//! Numeric functions that several modules share.

/// Returns `ln(Σ eˣ)` without overflow; the greatest number if that is not finite, and −∞ for no numbers.
pub fn log_sum_exp(numbers: &[f32]) -> f32 {
    let most = numbers.iter().copied().reduce(f32::max).unwrap_or(f32::NEG_INFINITY);
    if most.is_finite() { most + numbers.iter().map(|number| (number - most).exp()).sum::<f32>().ln() } else { most }
}

/// Returns the probability of these log-odds.
pub fn logistic(log_odds: f64) -> f64 {
    1.0 / (1.0 + (-log_odds).exp())
}

/// Returns the probability of these log-odds, computed with 32 bits like the models' scores.
pub fn logistic_f32(log_odds: f32) -> f32 {
    1.0 / (1.0 + (-log_odds).exp())
}

/// Returns the cosine of two vectors of length 1; 0 if they have different dimensions.
pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
    if a.len() != b.len() {
        return 0.0;
    }
    // Eight independent sums, so that the compiler can vectorise the loop.
    let mut sums = [0.0_f32; 8];
    let (a, b) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f32 = a.remainder().iter().zip(b.remainder()).map(|(x, y)| x * y).sum();
    for (a, b) in a.zip(b) {
        for (sum, (x, y)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += x * y;
        }
    }
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_a_sum_of_exponentials_add_up_to_one() {
        let logits = [100.0_f32, 101.0, 99.0];
        let scale = log_sum_exp(&logits);
        let sum: f32 = logits.iter().map(|logit| (logit - scale).exp()).sum();
        assert!((sum - 1.0).abs() < 1e-4, "{sum}");
    }

    #[test]
    fn what_is_not_finite_does_not_become_not_a_number() {
        let (high, low) = (f32::INFINITY, f32::NEG_INFINITY);
        assert_eq!((log_sum_exp(&[1.0, high]), log_sum_exp(&[low, low]), log_sum_exp(&[])), (high, low, low));
        assert!((log_sum_exp(&[low, 2.0]) - 2.0).abs() < 1e-6);
    }

    #[test]
    fn even_odds_are_a_half_in_both_widths() {
        assert_eq!((logistic(0.0), logistic_f32(0.0)), (0.5, 0.5));
        assert!(logistic(3.0) > 0.95 && logistic_f32(-3.0) < 0.05);
    }

    #[test]
    fn a_cosine_counts_each_dimension_once() {
        let unit = |at: usize| (0..11).map(|n| f32::from(n == at)).collect::<Vec<f32>>();
        for at in [0, 7, 8, 10] {
            assert_eq!((cosine(&unit(at), &unit(at)), cosine(&unit(at), &unit(at ^ 1))), (1.0, 0.0), "{at}");
        }
        assert!(cosine(&[1.0], &[1.0, 0.0]).abs() < f32::EPSILON);
    }
}
