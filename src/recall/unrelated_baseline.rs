//! The unrelated baseline: how similar unrelated claims of a scope are, as a cosine.
//!
//! Each claim of a sample is treated as a question that no other claim answers, and compared with its nearest neighbour. If all claims of a
//! scope are about one topic, unrelated ones are more similar to each other, so the floor of recall is higher. See docs/recall.md and record 49.

use serde::{Deserialize, Serialize};

/// The maximum size of a sample.
pub const SAMPLE: usize = 200;

/// The minimum size of a sample.
pub const MIN_SAMPLE: usize = 30;

/// The quantile of the sample's cosines. It is far below the median, because many claims have a neighbour that says nearly the same.
const QUANTILE: f64 = 0.2;

/// The baseline of the scope on which the floor was fitted.
const NEUTRAL: f64 = 0.38;

/// The limits of the shift of the floor. Without them, a scope whose claims follow one pattern would never answer.
const MAX_SHIFT: (f64, f64) = (-0.05, 0.15);

/// The factor by which a scope must grow or shrink for its baseline to be measured again.
const STALE_FACTOR: f64 = 1.25;

/// The unrelated baseline of a scope.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnrelatedBaseline {
    /// The embedder whose vectors were compared, by its name and hash.
    pub embedder: String,
    /// The number of active claims when it was measured.
    pub claims: usize,
    /// The size of the sample.
    pub sample: usize,
    /// The cosine that four of five nearest neighbours exceed.
    pub cosine: f32,
}

impl UnrelatedBaseline {
    /// Computes the baseline from the cosines of claims with their nearest neighbours; `None` if there are too few.
    pub fn of(embedder: &str, claims: usize, mut cosines: Vec<f32>) -> Option<Self> {
        cosines.sort_unstable_by(f32::total_cmp);
        let sample = cosines.len();
        let cosine = *cosines.get((sample as f64 * QUANTILE) as usize).filter(|_| sample >= MIN_SAMPLE)?;
        Some(Self { embedder: embedder.to_owned(), claims, sample, cosine })
    }

    /// Returns by how much the baseline raises the floor of the scope; negative if it lowers it.
    pub fn raise(&self) -> f64 {
        (f64::from(self.cosine) - NEUTRAL).clamp(MAX_SHIFT.0, MAX_SHIFT.1)
    }

    /// Returns whether it must be measured again, given the current embedder and number of active claims.
    pub fn is_outdated(&self, embedder: &str, claims: usize) -> bool {
        let (then, now) = (self.claims.max(1) as f64, claims.max(1) as f64);
        self.embedder != embedder || now / then >= STALE_FACTOR || then / now >= STALE_FACTOR
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_claims_raise_the_floor_and_dissimilar_ones_lower_it_within_limits() {
        let raise = |cosine: f32| UnrelatedBaseline::of("m", 100, vec![cosine; 50]).unwrap().raise();
        assert!(raise(0.49) > 0.1 && raise(0.36) < 0.0);
        assert_eq!((raise(0.99), raise(-0.5)), (MAX_SHIFT.1, MAX_SHIFT.0));
        assert!(raise(0.38).abs() < 1e-6);
    }

    #[test]
    fn near_duplicates_do_not_change_the_baseline() {
        let cosines = (0..100).map(|n| if n % 2 == 0 { 0.98 } else { 0.3 }).collect();
        assert!((UnrelatedBaseline::of("m", 100, cosines).unwrap().cosine - 0.3).abs() < f32::EPSILON);
    }

    #[test]
    fn a_small_sample_has_no_baseline() {
        assert_eq!(UnrelatedBaseline::of("m", 100, vec![0.4; MIN_SAMPLE - 1]), None);
        assert_eq!(UnrelatedBaseline::of("m", 0, Vec::new()), None);
    }

    #[test]
    fn many_claims_or_another_embedder_make_it_outdated() {
        let baseline = UnrelatedBaseline::of("m", 100, vec![0.4; 50]).unwrap();
        assert!(!baseline.is_outdated("m", 120) && !baseline.is_outdated("m", 81));
        assert!(baseline.is_outdated("m", 125) && baseline.is_outdated("m", 80));
        assert!(baseline.is_outdated("other", 100));
    }
}
