//! The formulas of the confidence, decay, rank and status of an insight. Times are in milliseconds since the Unix epoch.

use serde::{Deserialize, Serialize};

/// The number of days without a sighting after which the recency of something seen once is 0.5.
pub const HALF_LIFE_DAYS: f64 = 90.0;

/// The weights of the rank: confidence, frequency, recency, quality of the sources, links.
pub const WEIGHTS: [f64; 5] = [0.35, 0.25, 0.20, 0.15, 0.05];

/// The rank below which an insight decays, once it was not seen for [`DECAY_DAYS`].
const DECAY_RANK: f64 = 0.15;
/// The days without a sighting after which an insight below [`DECAY_RANK`] decays.
const DECAY_DAYS: f64 = 90.0;
/// The rank below which an insight is pruned, once it was not seen for [`PRUNE_DAYS`].
const PRUNE_RANK: f64 = 0.10;
/// The days without a sighting after which an insight below [`PRUNE_RANK`] is pruned.
const PRUNE_DAYS: f64 = 180.0;

/// The number of sightings from which further ones add nothing to the rank.
const MAX_SIGHTINGS: f64 = 10.0;

/// The number of links from which further ones add nothing to the rank.
const MAX_LINKS: f64 = 5.0;

/// The confidence in an insight of one project.
const ONE_PROJECT_CONFIDENCE: f64 = 0.5;
/// The confidence that each further project adds.
const CONFIDENCE_PER_PROJECT: f64 = 0.1;
/// The maximum confidence by agreement.
const MAX_CONFIDENCE: f64 = 0.95;
/// The factor of the confidence while a contradiction is open.
const CONTRADICTED_FACTOR: f64 = 0.6;

/// The length of a day in milliseconds.
pub const DAY: u64 = 86_400_000;

/// Whether an insight is active, decays or was pruned. It is computed from the events and a clock, and never stored.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Lifecycle {
    /// In use.
    #[default]
    Active,
    /// Not seen for a long time, and of a low rank.
    Decaying,
    /// Hidden from lists and files, but not deleted; a new sighting makes it active again.
    Pruned,
}

impl Lifecycle {
    /// Returns the word used in JSON and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Decaying => "decaying",
            Self::Pruned => "pruned",
        }
    }
}

/// Returns the number of days between two times; 0 if the first is later than the second.
pub fn days(since: u64, now: u64) -> f64 {
    now.saturating_sub(since) as f64 / DAY as f64
}

/// Returns the recency, 0 to 1: `exp(-λ' · days)` with `λ' = λ / (1 + ln(frequency))` and `λ = ln 2 / half-life`.
pub fn recency(days: f64, frequency: usize) -> f64 {
    let lambda = std::f64::consts::LN_2 / HALF_LIFE_DAYS;
    let damped = lambda / (1.0 + (frequency.max(1) as f64).ln());
    (-damped * days).exp()
}

/// Returns the confidence, 0 to 1: 0.5 for one project and 0.1 more for each further one. It is lower while the insight is contradicted,
/// and is halved for each half-life without a sighting after the first one.
pub fn confidence(projects: usize, stale_days: f64, contradicted: bool) -> f64 {
    let agreed = ONE_PROJECT_CONFIDENCE + CONFIDENCE_PER_PROJECT * projects.saturating_sub(1) as f64;
    let overdue = (stale_days - HALF_LIFE_DAYS).max(0.0) / HALF_LIFE_DAYS;
    let kept = if contradicted { CONTRADICTED_FACTOR } else { 1.0 };
    agreed.min(MAX_CONFIDENCE) * kept * 0.5_f64.powf(overdue)
}

/// Returns the frequency as it enters the rank, 0 to 1: `ln(sightings) / ln(10)`.
pub fn frequency_share(sightings: usize) -> f64 {
    ((sightings.max(1) as f64).ln() / MAX_SIGHTINGS.ln()).min(1.0)
}

/// Returns the rank, 0 to 1; `confidence`, `recency` and `quality` are from 0 to 1.
pub fn rank(confidence: f64, sightings: usize, recency: f64, quality: f64, links: usize) -> f64 {
    let linked = (links as f64 / MAX_LINKS).min(1.0);
    let parts = [confidence, frequency_share(sightings), recency, quality, linked];
    WEIGHTS.iter().zip(parts).map(|(weight, part)| weight * part.clamp(0.0, 1.0)).sum()
}

/// Returns the status: decaying below rank 0.15 after 90 days without a sighting, pruned below 0.10 after 180.
pub fn lifecycle(rank: f64, stale_days: f64) -> Lifecycle {
    if rank < PRUNE_RANK && stale_days > PRUNE_DAYS {
        Lifecycle::Pruned
    } else if rank < DECAY_RANK && stale_days > DECAY_DAYS {
        Lifecycle::Decaying
    } else {
        Lifecycle::Active
    }
}

/// Returns the lowest threshold for which at least 95 % of the pairs from it on say the same. Each of `pairs` is a cosine and whether a judge
/// said that both claims say the same. Returns `None` if there are fewer than 10 pairs, or no threshold reaches 95 %.
pub fn calibrated(pairs: &[(f32, bool)]) -> Option<f32> {
    if pairs.len() < 10 {
        return None;
    }
    let mut sorted = pairs.to_vec();
    sorted.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut same, mut best) = (0_usize, None);
    for (at, (cosine, is_same)) in sorted.iter().enumerate() {
        same += usize::from(*is_same);
        // Among pairs with the same cosine, only the last one can be the threshold.
        let last = sorted.get(at + 1).is_none_or(|next| next.0 < *cosine);
        if last && *is_same && same as f64 >= 0.95 * (at + 1) as f64 {
            best = Some(*cosine);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn recency_halves_in_ninety_days_and_slower_for_what_is_often_seen() {
        assert!((recency(90.0, 1) - 0.5).abs() < 1e-9);
        assert!((recency(180.0, 1) - 0.25).abs() < 1e-9);
        // For e sightings, the half-life doubles: 1 + ln(e) = 2. Three sightings are a little more.
        assert!((recency(90.0, 3) - 0.5_f64.powf(1.0 / (1.0 + 3.0_f64.ln()))).abs() < 1e-9);
        assert!((recency(0.0, 7) - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn the_rank_has_its_written_weights() {
        assert!((rank(1.0, 10, 1.0, 1.0, 5) - 1.0).abs() < 1e-9);
        assert!((rank(1.0, 1, 0.0, 0.0, 0) - 0.35).abs() < 1e-9);
        assert!((rank(0.0, 10, 0.0, 0.0, 0) - 0.25).abs() < 1e-9);
        assert!((rank(0.0, 1, 1.0, 0.0, 0) - 0.20).abs() < 1e-9);
        assert!((rank(0.0, 1, 0.0, 1.0, 0) - 0.15).abs() < 1e-9);
        assert!((rank(0.0, 1, 0.0, 0.0, 9) - 0.05).abs() < 1e-9);
    }

    #[test]
    fn what_nobody_sees_decays_and_is_pruned() {
        let at = |days: f64| lifecycle(rank(confidence(1, days, false), 1, recency(days, 1), 0.3, 0), days);
        assert_eq!([at(0.0), at(89.0), at(200.0)], [Lifecycle::Active; 3]);
        assert_eq!(at(270.0), Lifecycle::Decaying);
        assert_eq!(at(400.0), Lifecycle::Pruned);
        assert_eq!(lifecycle(0.01, 90.0), Lifecycle::Active, "a low rank alone is not enough");
        assert_eq!(lifecycle(0.01, 180.0), Lifecycle::Decaying);
    }

    #[test]
    fn a_threshold_is_learnt_from_judged_pairs() {
        let mut pairs: Vec<(f32, bool)> = (0_u8..10).map(|at| (0.9 - f32::from(at) / 100.0, true)).collect();
        pairs.extend((0_u8..10).map(|at| (0.7 - f32::from(at) / 100.0, false)));
        assert_eq!(calibrated(&pairs), Some(0.9 - 0.09));
        assert_eq!(calibrated(&pairs[..5]), None);
        assert_eq!(calibrated(&[(0.5, false); 12]), None);
    }

    proptest! {
        #[test]
        fn more_projects_never_rank_lower_and_time_never_raises(
            projects in 1_usize..20, days in 0.0_f64..1000.0, later in 0.0_f64..1000.0, quality in 0.0_f64..1.0,
        ) {
            let of = |projects: usize, days: f64| {
                rank(confidence(projects, days, false), projects, recency(days, projects), quality, 0)
            };
            prop_assert!(of(projects + 1, days) >= of(projects, days) - 1e-9);
            prop_assert!(of(projects, days + later) <= of(projects, days) + 1e-9);
            prop_assert!((0.0..=1.0).contains(&of(projects, days)));
            prop_assert!(confidence(projects, days, true) < confidence(projects, days, false));
        }
    }
}
