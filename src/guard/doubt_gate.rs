//! The gate: finds the nearby claims that a write may contradict, so that its writer is asked about them.
//!
//! A contradiction is possible if two claims are about the same decision. A logistic regression over a few features of the pair computes the
//! probability. It is tuned to miss few contradictions, so it never refuses a write.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use serde::{Deserialize, Serialize};

use super::{
    Guard, JudgeContext, features, has_expired,
    judge::{ParsedClaim, Ruling},
    nli::{CrossEncoder, PairScores},
    weights::{JudgeProvenance, log_odds},
};
use crate::domain::{ClaimKind, DoubtBand, Norm, asset::expect_valid, guard_report::Relation, numeric::logistic_f32};

/// The maximum number of doubts of one write.
pub const MAX_DOUBTS: usize = 5;

/// The maximum number of claims that are mentioned, besides those that are asked about.
const MAX_MENTIONED: usize = 2;

/// The names of the features, in order. All are about -1 to 1.
pub const GATE_FEATURES: [&str; 12] = [
    "rank",
    "cosine",
    "overlap",
    "containment",
    "same_subject",
    "same_object",
    "strength",
    "polarity",
    "contradiction",
    "entailment",
    "related",
    "gate",
];

/// The features of one pair, by [`GATE_FEATURES`].
pub type GateFeatures = [f32; GATE_FEATURES.len()];

/// The weights of the gate, from `assets/gate.toml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GateWeights {
    /// The selection of the pairs that a cross-encoder scores for the gate.
    pub first: GateFirstStage,
    /// The regression for pairs that a cross-encoder scored.
    pub models: GateRegression,
    /// The regression for pairs without a cross-encoder's score.
    pub words: GateRegression,
    /// How the weights were made.
    pub provenance: JudgeProvenance,
}

/// The regression that selects the pairs for the cross-encoder. It uses words, ranks and cosines, because the cross-encoder takes ten
/// milliseconds for a pair.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GateFirstStage {
    /// The probability from which a pair is selected.
    pub least: f32,
    /// The maximum number of pairs of one write, besides those selected for the judge.
    pub most: usize,
    /// The weight of each feature by its name, and the `intercept`.
    pub weights: BTreeMap<String, f32>,
}

/// One regression with its thresholds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GateRegression {
    /// The probability from which the writer is asked.
    pub ask: f32,
    /// The probability from which a claim is mentioned.
    pub mention: f32,
    /// The weight of each feature by its name, and the `intercept`.
    pub weights: BTreeMap<String, f32>,
}

impl Default for GateRegression {
    fn default() -> Self {
        // No probability reaches these thresholds: without weights, there are no doubts.
        Self { ask: 1.1, mention: 1.1, weights: BTreeMap::new() }
    }
}

impl GateRegression {
    /// Returns the probability that a contradiction is possible.
    pub fn score(&self, features: &GateFeatures) -> f32 {
        score(&self.weights, features)
    }

    fn band(&self, score: f32, ask_shift: f32) -> Option<DoubtBand> {
        match score {
            _ if score >= self.raised_ask(ask_shift) => Some(DoubtBand::Ask),
            _ if score >= self.mention => Some(DoubtBand::Mention),
            _ => None,
        }
    }

    /// Returns the probability from which the writer is asked, raised by `shift` in log-odds.
    fn raised_ask(&self, shift: f32) -> f32 {
        if shift > 0.0 && self.ask < 1.0 { logistic_f32((self.ask / (1.0 - self.ask)).ln() + shift) } else { self.ask }
    }
}

/// Returns the probability of a regression; 0 without weights.
fn score(weights: &BTreeMap<String, f32>, features: &GateFeatures) -> f32 {
    if weights.is_empty() { 0.0 } else { logistic_f32(log_odds(weights, &GATE_FEATURES, features)) }
}

static WEIGHTS: LazyLock<GateWeights> =
    LazyLock::new(|| expect_valid("gate.toml", toml::from_str(include_str!("../../assets/gate.toml"))));

/// Returns the built-in weights.
pub fn built_in() -> &'static GateWeights {
    &WEIGHTS
}

/// A doubt about one of the claims with which a write was compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DoubtfulPair {
    /// The index of the claim.
    pub at: usize,
    /// The probability that a contradiction is possible.
    pub score: f32,
    /// Whether the writer is asked about it, or it is mentioned.
    pub band: DoubtBand,
}

impl Guard {
    /// Returns the probability from which a writer is asked, raised by `shift` in log-odds. `infers` tells whether a cross-encoder scored the
    /// pair.
    pub fn ask_threshold(&self, infers: bool, shift: f32) -> f32 {
        if infers { &self.gate.models } else { &self.gate.words }.raised_ask(shift)
    }

    /// Replaces the weights of the gate; for measurements.
    #[must_use]
    pub fn with_gate(mut self, gate: GateWeights) -> Self {
        self.gate = gate;
        self
    }

    /// Returns the indexes of those of `against` that a cross-encoder should score for the gate, the likeliest first. Those in `selected`, which
    /// [`Guard::select_for_inference`] returned, are left out.
    pub fn select_for_gate(
        &self,
        incoming: &ParsedClaim,
        against: &[Arc<ParsedClaim>],
        under: JudgeContext<'_>,
        selected: &[usize],
    ) -> Vec<usize> {
        let first = &self.gate.first;
        let mut likely: Vec<(f32, usize)> = self
            .possible(incoming, against, under)
            .filter(|(at, ruling)| !ruling.norms_contradict && !selected.contains(at))
            .map(|(at, ruling)| {
                let features = gate_features(at, &ruling, incoming, &against[at], &under.scores(at));
                (score(&first.weights, &features), at)
            })
            .filter(|(score, _)| *score >= first.least)
            .collect();
        likely.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        likely.into_iter().map(|(_, at)| at).take(first.most).collect()
    }

    /// Returns the doubts about `against`, the likeliest contradiction first: claims that the writer is asked about, and claims that are
    /// mentioned.
    pub fn doubts(
        &self,
        incoming: &ParsedClaim,
        against: &[Arc<ParsedClaim>],
        under: JudgeContext<'_>,
    ) -> Vec<DoubtfulPair> {
        let infers = matches!(under.cross_encoder, CrossEncoder::Fitted { .. });
        let scored = self.possible(incoming, against, under).filter_map(|(at, ruling)| {
            let scores = under.scores(at);
            let inferred = infers && scores.any_inference().is_some();
            // A pair that was not selected for the cross-encoder is no doubt, unless the rules find it, which needs no model.
            if infers && !inferred && !ruling.norms_contradict && !ruling.rejects_use {
                return None;
            }
            let features = gate_features(at, &ruling, incoming, &against[at], &scores);
            let regression = if inferred { &self.gate.models } else { &self.gate.words };
            let least = if ruling.rejects_use { regression.raised_ask(under.ask_shift) } else { 0.0 };
            Some((at, regression.score(&features).max(least), inferred))
        });
        select(scored, &self.gate, under.ask_shift)
    }

    /// Returns the features of each pair that may be a doubt, with the index in `against`; for fitting the weights.
    pub fn gate_features(
        &self,
        incoming: &ParsedClaim,
        against: &[Arc<ParsedClaim>],
        under: JudgeContext<'_>,
    ) -> Vec<(usize, GateFeatures)> {
        let features = |(at, ruling): (usize, Cow<'_, Ruling>)| {
            (at, gate_features(at, &ruling, incoming, &against[at], &under.scores(at)))
        };
        self.possible(incoming, against, under).map(features).collect()
    }

    /// Returns the guarded claims that the rules do not exclude from being doubts, as index and ruling.
    fn possible<'a>(
        &'a self,
        incoming: &'a ParsedClaim,
        against: &'a [Arc<ParsedClaim>],
        under: JudgeContext<'a>,
    ) -> impl Iterator<Item = (usize, Cow<'a, Ruling>)> + 'a {
        against
            .iter()
            .enumerate()
            .filter(move |(_, theirs)| {
                let kinds = [incoming.claim().kind, theirs.claim().kind];
                kinds.into_iter().all(ClaimKind::is_guarded) && !has_expired(theirs.claim(), under.today)
            })
            .map(move |(at, theirs)| (at, self.ruling(incoming, theirs, under, at)))
            .filter(|(_, ruling)| !is_certainly_compatible(ruling))
    }
}

/// Returns whether the rules are certain that both claims can hold.
pub(crate) fn is_certainly_compatible(ruling: &Ruling) -> bool {
    ruling.compatible && !ruling.hint && matches!(ruling.evidence.relation, Relation::Coexist | Relation::Consistent)
}

/// Returns the features of a pair. `rank` is its position among the nearby claims, 0 for the likeliest.
pub(crate) fn gate_features(
    rank: usize,
    ruling: &Ruling,
    ours: &ParsedClaim,
    theirs: &ParsedClaim,
    scores: &PairScores,
) -> GateFeatures {
    let (overlap, containment) = features::shared(&ours.parsed, &theirs.parsed);
    let shares = |text: fn(&Norm) -> Option<&str>| {
        let own = ours.norms().iter().filter_map(text).filter(|text| !text.is_empty());
        own.into_iter().any(|own| theirs.norms().iter().any(|norm| text(norm) == Some(own)))
    };
    let (contradiction, entailment) = scores.any_inference().map_or((0.0, 0.0), |inference| {
        let mean = |[forward, backward]: [f32; 2]| features::squash(f32::midpoint(forward, backward));
        (mean(inference.contradiction()), mean(inference.entailment()))
    });
    [
        1.0 / (1.0 + rank as f32),
        scores.cosine.unwrap_or(overlap.sqrt()),
        overlap,
        containment,
        f32::from(shares(|norm| Some(norm.subject.as_str()))),
        f32::from(shares(|norm| norm.object.as_deref())),
        ruling.strength,
        f32::from(features::negative(&ours.parsed) != features::negative(&theirs.parsed)),
        contradiction,
        entailment,
        // A contradiction and an entailment both mean that the pair is about the same thing.
        contradiction.max(entailment),
        scores.gate().map_or(0.0, |gate| {
            let gate = gate.clamp(1e-4, 1.0 - 1e-4);
            features::squash((gate / (1.0 - gate)).ln())
        }),
    ]
}

/// Selects the doubts, the likeliest contradiction first. For each possible pair, `scored` has the index, the score, and whether a
/// cross-encoder scored it.
fn select(
    scored: impl IntoIterator<Item = (usize, f32, bool)>,
    weights: &GateWeights,
    ask_shift: f32,
) -> Vec<DoubtfulPair> {
    let mut found: Vec<DoubtfulPair> = scored
        .into_iter()
        .filter_map(|(at, score, inferred)| {
            let band = if inferred { &weights.models } else { &weights.words }.band(score, ask_shift)?;
            Some(DoubtfulPair { at, score, band })
        })
        .collect();
    found.sort_by(|a, b| b.band.cmp(&a.band).then(b.score.total_cmp(&a.score)).then(a.at.cmp(&b.at)));
    let mut mentioned = 0;
    found.retain(|pair| {
        mentioned += usize::from(pair.band == DoubtBand::Mention);
        pair.band == DoubtBand::Ask || mentioned <= MAX_MENTIONED
    });
    found.truncate(MAX_DOUBTS);
    found
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::{domain::claim::Qualifiers, guard::NormedClaim};

    #[test]
    fn the_file_is_whole() {
        let read: GateWeights = toml::from_str(include_str!("../../assets/gate.toml")).unwrap();
        assert_eq!(&read, built_in());
        for regression in [&read.models, &read.words] {
            assert!(regression.weights.contains_key("intercept"));
            for name in regression.weights.keys() {
                assert!(name == "intercept" || GATE_FEATURES.contains(&name.as_str()), "{name} is no feature");
            }
            assert!(regression.mention <= regression.ask && regression.ask <= 1.0);
        }
    }

    #[test]
    fn few_are_asked_about_and_fewer_mentioned() {
        let regression = GateRegression { ask: 0.5, mention: 0.2, weights: BTreeMap::new() };
        let weights = GateWeights { models: regression.clone(), words: regression, ..GateWeights::default() };
        let doubts = |scores: &[f32], ask_shift: f32| -> Vec<(usize, DoubtBand)> {
            let scored = scores.iter().enumerate().map(|(at, score)| (at, *score, true));
            select(scored, &weights, ask_shift).into_iter().map(|pair| (pair.at, pair.band)).collect()
        };
        use DoubtBand::{Ask, Mention};
        assert_eq!(doubts(&[0.1, 0.3, 0.9, 0.25, 0.4], 0.0), [(2, Ask), (4, Mention), (1, Mention)]);
        assert_eq!(doubts(&[0.6; 9], 0.0).len(), MAX_DOUBTS);
        assert_eq!(doubts(&[0.1; 9], 0.0), []);
        // A shift of 1 raises the threshold from 0.5 to 0.73.
        assert_eq!(doubts(&[0.74, 0.72, 0.21, 0.19], 1.0), [(0, Ask), (1, Mention), (2, Mention)]);
        assert_eq!(doubts(&[0.72, 0.6, 0.55], 1.0), [(0, Mention), (1, Mention)]);
        let silent = GateWeights::default();
        assert_eq!(select([(0, 1.0, true)], &silent, 1.5), []);
    }

    fn parsed(statement: &str) -> Arc<ParsedClaim> {
        let norms = Guard::default().normalise_claim(ClaimKind::Decision, statement, &Qualifiers::default()).norms;
        Arc::new(ParsedClaim::new(NormedClaim { statement: statement.to_owned(), norms, ..NormedClaim::default() }))
    }

    #[rstest]
    #[case("Use MySQL instead of Postgres.", "We use Postgres for the payments service.")]
    #[case("Deploy with Nomad rather than Kubernetes.", "Workers are deployed with Kubernetes.")]
    fn the_end_of_something_in_use_is_asked_about(#[case] ours: &str, #[case] theirs: &str) {
        // By the words, with a cross-encoder that was not asked, and in a scope where questions were in vain.
        let fitted = CrossEncoder::Fitted { shift: 0.0 };
        for (cross_encoder, ask_shift) in [(CrossEncoder::Absent, 0.0), (fitted, 0.0), (fitted, 1.5)] {
            let under = JudgeContext { cross_encoder, ask_shift, ..JudgeContext::default() };
            let doubts = Guard::default().doubts(&parsed(ours), &[parsed(theirs)], under);
            assert_eq!(
                doubts.iter().map(|pair| pair.band).collect::<Vec<_>>(),
                [DoubtBand::Ask],
                "{cross_encoder:?} {ask_shift}"
            );
        }
    }

    #[test]
    fn what_lies_below_a_raised_threshold_is_mentioned() {
        let weights = [("intercept".to_owned(), 0.45)].into();
        let words = GateRegression { ask: 0.5, mention: 0.2, weights };
        let guard = Guard::default().with_gate(GateWeights { words, ..GateWeights::default() });
        let ours = parsed("The weekly report goes to the finance team as a draft");
        let against = [parsed("The weekly report goes to the finance team first")];
        let bands = |ask_shift: f32| -> Vec<DoubtBand> {
            let under = JudgeContext { ask_shift, ..JudgeContext::default() };
            guard.doubts(&ours, &against, under).into_iter().map(|pair| pair.band).collect()
        };
        assert_eq!((bands(0.0), bands(0.4)), (vec![DoubtBand::Ask], vec![DoubtBand::Ask]));
        assert_eq!((bands(0.5), bands(9.0)), (vec![DoubtBand::Mention], vec![DoubtBand::Mention]));
    }
}
