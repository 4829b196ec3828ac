//! Calibration: predicted and observed shares in ten bins.

use std::fmt;

use serde::Serialize;

/// Pairs by their predicted probability, in ten bins of equal width.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Bins(pub [Bin; 10]);

/// The pairs whose predicted probability lies in one tenth.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Bin {
    pub pairs: usize,
    /// Pairs that contradict.
    pub contradictions: usize,
    /// The sum of the predicted probabilities, which is the expected number of contradictions.
    pub expected: f64,
}

impl Bins {
    /// Counts a pair.
    pub(super) fn add(&mut self, probability: f32, contradiction: bool) {
        let bin = &mut self.0[((probability * 10.0) as usize).min(9)];
        bin.pairs += 1;
        bin.contradictions += usize::from(contradiction);
        bin.expected += f64::from(probability);
    }

    /// Returns the expected calibration error: the mean distance of observed shares from predicted ones.
    pub fn error(&self) -> f64 {
        let pairs: usize = self.0.iter().map(|bin| bin.pairs).sum();
        let off: f64 = self.0.iter().map(|bin| (bin.expected - bin.contradictions as f64).abs()).sum();
        off / pairs.max(1) as f64
    }
}

impl fmt::Display for Bins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {:<11} {:>7} {:>10} {:>10}", "probability", "pairs", "predicted", "observed")?;
        for (at, bin) in self.0.iter().enumerate() {
            let share = |sum: f64| {
                if bin.pairs == 0 { "-".to_owned() } else { format!("{:.3}", sum / bin.pairs as f64) }
            };
            let range = format!("{:.1} to {:.1}", at as f64 / 10.0, (at + 1) as f64 / 10.0);
            let (predicted, observed) = (share(bin.expected), share(bin.contradictions as f64));
            writeln!(f, "  {range:<11} {:>7} {predicted:>10} {observed:>10}", bin.pairs)?;
        }
        writeln!(f, "  expected calibration error {:.4}", self.error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_fall_into_tenths_and_what_is_true_has_no_error() {
        let mut bins = Bins::default();
        for contradiction in [true, false, true, false] {
            bins.add(0.5, contradiction);
        }
        bins.add(1.0, true);
        bins.add(0.0, false);
        assert_eq!((bins.0[5].pairs, bins.0[5].contradictions, bins.0[9].pairs, bins.0[0].pairs), (4, 2, 1, 1));
        assert!(bins.error() < 1e-9, "{}", bins.error());
        assert_eq!(bins.to_string().lines().count(), 12);
    }
}
