//! How near to each other the claims of a scope stand that do not say the same: what a scope itself teaches about strangers.
//!
//! Every claim of a sample is taken for a question that nothing answers: it is left out, and how near the next one comes is what a stranger reaches here. Where
//! all claims speak of one matter, a stranger comes nearer than where they speak of many, and the floor of recall stands higher there.
//! What it is worth: docs/recall.md and record 49.

use serde::{Deserialize, Serialize};

/// How many claims of a scope are left out in turn, at most.
pub const SAMPLE: usize = 200;

/// From fewer claims nothing is learned.
pub const FEWEST: usize = 30;

/// The share of the sample below which the figure lies. Far below the middle: many claims have a neighbour that says nearly the same, and is no stranger.
const SHARE: f64 = 0.2;

/// The figure of the scope on which the floor was set.
const USUAL: f64 = 0.38;

/// How far a scope moves its floor, at most: where claims are made after one pattern, nothing but strangers would be left.
const MOST: (f64, f64) = (-0.05, 0.15);

/// By what factor a scope has to grow, or to shrink, for its strangers to be looked at anew.
const OUTGROWN: f64 = 1.25;

/// What a scope teaches about strangers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Strangers {
    /// The embedder whose vectors were compared, by its name and hash.
    pub embedder: String,
    /// How many claims were in force.
    pub claims: usize,
    /// How many of them were left out in turn.
    pub sample: usize,
    /// The cosine that four of five nearest strangers exceed.
    pub cosine: f32,
}

impl Strangers {
    /// What the cosines of claims left out to their nearest ones teach; `None` where they are too few.
    pub fn of(embedder: &str, claims: usize, mut cosines: Vec<f32>) -> Option<Self> {
        cosines.sort_unstable_by(f32::total_cmp);
        let sample = cosines.len();
        let cosine = *cosines.get((sample as f64 * SHARE) as usize).filter(|_| sample >= FEWEST)?;
        Some(Self { embedder: embedder.to_owned(), claims, sample, cosine })
    }

    /// By how much they raise the floor of the scope; below 0 they lower it.
    pub fn raise(&self) -> f64 {
        (f64::from(self.cosine) - USUAL).clamp(MOST.0, MOST.1)
    }

    /// Whether they say nothing any more of a scope with so many claims in force and vectors of this embedder.
    pub fn is_outgrown(&self, embedder: &str, claims: usize) -> bool {
        let (then, now) = (self.claims.max(1) as f64, claims.max(1) as f64);
        self.embedder != embedder || now / then >= OUTGROWN || then / now >= OUTGROWN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowded_scope_raises_its_floor_and_a_scattered_one_lowers_it_within_bounds() {
        let raise = |cosine: f32| Strangers::of("m", 100, vec![cosine; 50]).unwrap().raise();
        assert!(raise(0.49) > 0.1 && raise(0.36) < 0.0);
        assert_eq!((raise(0.99), raise(-0.5)), (MOST.1, MOST.0));
        assert!(raise(0.38).abs() < 1e-6);
    }

    #[test]
    fn claims_that_have_a_double_do_not_count_as_strangers() {
        let cosines = (0..100).map(|n| if n % 2 == 0 { 0.98 } else { 0.3 }).collect();
        assert!((Strangers::of("m", 100, cosines).unwrap().cosine - 0.3).abs() < f32::EPSILON);
    }

    #[test]
    fn a_handful_teaches_nothing() {
        assert_eq!(Strangers::of("m", 100, vec![0.4; FEWEST - 1]), None);
        assert_eq!(Strangers::of("m", 0, Vec::new()), None);
    }

    #[test]
    fn they_are_outgrown_by_many_claims_and_by_another_embedder() {
        let strangers = Strangers::of("m", 100, vec![0.4; 50]).unwrap();
        assert!(!strangers.is_outgrown("m", 120) && !strangers.is_outgrown("m", 81));
        assert!(strangers.is_outgrown("m", 125) && strangers.is_outgrown("m", 80));
        assert!(strangers.is_outgrown("other", 100));
    }
}
