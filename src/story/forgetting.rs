//! Samples the claims of a long story that a language model reads. Old claims are less likely, claims that were on a card more likely.

use crate::domain::ClaimId;

/// A day in milliseconds.
const DAY: u64 = 24 * 60 * 60 * 1000;

/// The probability that a claim is read, by the age in milliseconds below which it applies: the middle of each range of the forgetting curve.
const SURVIVAL_BY_AGE: [(u64, f64); 2] = [(DAY, 0.3), (7 * DAY, 0.15)];

/// The probability that an older claim is read.
const OLD_SURVIVAL: f64 = 0.075;

/// A claim that may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForgettableClaim {
    /// Its id.
    pub id: ClaimId,
    /// Its age, in milliseconds.
    pub age: u64,
    /// The number of cards on which it is or was.
    pub conflicts: u32,
    /// Whether it is always read, because it was just written or has most in common with such a claim.
    pub kept: bool,
}

impl ForgettableClaim {
    /// Returns the probability that it is read, 0 to 1. It depends on its age, and is doubled for each card.
    pub fn survival(&self) -> f64 {
        if self.kept {
            return 1.0;
        }
        let base = SURVIVAL_BY_AGE.iter().find(|(age, _)| self.age < *age).map_or(OLD_SURVIVAL, |(_, share)| *share);
        // Four cards already make it certain.
        (base * f64::from(1_u32 << self.conflicts.min(8))).min(1.0)
    }

    /// Returns whether it is read. The same seed gives the same result, and a claim that is read stays so if its probability rises.
    pub fn survives(&self, seed: u64) -> bool {
        draw(seed, &self.id) < self.survival()
    }
}

/// Returns a pseudo-random number for a claim, at least 0 and less than 1.
fn draw(seed: u64, id: &ClaimId) -> f64 {
    let mut bytes = [0; 4];
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"ergo/forgetting/1").update(&seed.to_be_bytes()).update(&id.0);
    hasher.finalize_xof().fill(&mut bytes);
    f64::from(u32::from_be_bytes(bytes)) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::EventId;

    fn claim(n: u32, age: u64, conflicts: u32) -> ForgettableClaim {
        let mut id = [0; 32];
        id[..4].copy_from_slice(&n.to_be_bytes());
        ForgettableClaim { id: EventId(id), age, conflicts, kept: false }
    }

    /// Returns the share of many claims that are read.
    fn share(age: u64, conflicts: u32) -> f64 {
        let survivors = (0..4_000).filter(|n| claim(*n, age, conflicts).survives(7)).count();
        survivors as f64 / 4_000.0
    }

    #[test]
    fn older_claims_are_rarer_and_each_card_doubles_the_share() {
        for (age, range) in [(DAY / 2, 0.2..=0.4), (3 * DAY, 0.1..=0.2), (60 * DAY, 0.05..=0.1)] {
            let once = share(age, 0);
            assert!(range.contains(&once), "{age}: {once}");
            let doubled = share(age, 1) / once;
            assert!((1.7..=2.3).contains(&doubled), "{age}: {doubled}");
        }
        assert!((share(60 * DAY, 4) - 1.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn a_seed_repeats_its_sample_and_what_matters_more_survives(
            n in any::<u32>(), age in 0..30 * DAY, conflicts in 0..40_u32, seed in any::<u64>(),
        ) {
            let one = claim(n, age, conflicts);
            prop_assert_eq!(one.survives(seed), one.survives(seed));
            let likelier = [
                ForgettableClaim { conflicts: conflicts + 1, ..one },
                ForgettableClaim { age: age / 2, ..one },
                ForgettableClaim { kept: true, ..one },
            ];
            prop_assert!(!one.survives(seed) || likelier.iter().all(|claim| claim.survives(seed)));
            prop_assert!(likelier[2].survives(seed));
        }
    }
}
