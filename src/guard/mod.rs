//! The contradiction guard: normalises statements, compares norms and judges pairs of claims.
//!
//! Pure: no I/O, no clock, and no calls of models. The models' scores of a pair are arguments ([`PairScores`]). The caller finds the nearby
//! claims by the store's index, which is built from [`Guard::index_terms`], and by the statement's vector.

pub(crate) mod align;
pub(crate) mod amounts;
pub mod ask_shift;
pub(crate) mod correction;
pub mod deep;
pub mod doubt_gate;
pub(crate) mod explain;
pub mod features;
pub mod judge;
pub(crate) mod lexicon;
pub mod nli;
pub mod normalise;
pub(crate) mod oppose;
pub(crate) mod rejected_option;
pub(crate) mod same_form;
pub(crate) mod shared_phrase;
pub mod shortlist;
pub mod structural;
pub mod structural_pair_check;
#[cfg(test)]
mod tests;
pub mod weights;

pub use ask_shift::{COUNTED_ANSWERS, ask_shift};
pub use doubt_gate::{DoubtfulPair, GateWeights};
pub use judge::{ParsedClaim, Ruling, Stages};
pub use nli::{CrossEncoder, Inference, PairScores};
pub use normalise::{Normalised, Normaliser, RuleNormaliser};
pub use shared_phrase::without_shared_places;
pub use shortlist::{MAX_BY_MEANING, MAX_BY_WORDS, MAX_CANDIDATES, shortlist};
pub use structural_pair_check::StructuralPairCheck;
pub use weights::JudgeWeights;

use std::{borrow::Cow, sync::Arc};

use crate::domain::{
    claim::{ClaimKind, Qualifiers},
    guard_report::{Finding, GuardReport, RuleId, Tier},
    id::ClaimId,
    norm::{IndexTerms, Norm},
};

/// A claim with its norms, as the guard compares it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NormedClaim {
    /// The id of an existing claim; `None` for the new one.
    pub id: Option<ClaimId>,
    /// Its kind. A rejection of "use X" is compared as "do not use X"; two facts are not compared.
    pub kind: ClaimKind,
    /// The statement as written.
    pub statement: String,
    /// Its norms, as in the event; those of a rejection are negated ([`Guard::normalise_claim`]).
    pub norms: Vec<Norm>,
    /// The name and version of the normaliser that read them.
    pub normaliser: String,
    /// Its source. If it is `path:line`, claims from nearby lines of one document are recognised.
    pub source: Option<String>,
}

/// The maximum distance in lines between adjacent statements of a document, such as entries of a list or two short paragraphs.
const MAX_LINES_APART: usize = 6;

impl NormedClaim {
    /// Returns the document and the line that it comes from.
    fn line(&self) -> Option<(&str, usize)> {
        let (path, line) = self.source.as_deref()?.rsplit_once(':')?;
        Some((path, line.parse().ok()?))
    }

    /// Returns whether both come from nearby lines of one document, and not from one line at different times.
    fn is_adjacent_to(&self, other: &Self) -> bool {
        self.line()
            .zip(other.line())
            .is_some_and(|(a, b)| a.0 == b.0 && (1..=MAX_LINES_APART).contains(&a.1.abs_diff(b.1)))
    }

    /// Returns whether the two are compared at all. Two facts are not, because one replaces the other by its key.
    fn is_comparable_with(&self, other: &Self) -> bool {
        self.kind.is_guarded() || other.kind.is_guarded()
    }
}

/// The guard, with its normaliser and the judge's weights.
pub struct Guard {
    normaliser: Box<dyn Normaliser>,
    stages: Stages,
    weights: JudgeWeights,
    gate: doubt_gate::GateWeights,
}

/// What the judge takes into account besides the two claims.
#[derive(Clone, Copy, Debug, Default)]
pub struct JudgeContext<'a> {
    /// The day as `YYYY-MM-DD`; an expired claim contradicts nothing.
    pub today: &'a str,
    /// The models' scores of each pair, in the order of the existing claims; missing if no model was asked.
    pub scores: &'a [PairScores],
    /// The results of [`Guard::rulings`] for each pair, in the same order. If one is missing, the rules are applied again.
    pub rulings: &'a [Ruling],
    /// The cross-encoder that scored the pairs.
    pub cross_encoder: CrossEncoder,
    /// A number, at least 0, added to the log-odds of the probability from which the writer is asked: see [`ask_shift()`].
    pub ask_shift: f32,
}

impl JudgeContext<'_> {
    fn scores(&self, at: usize) -> PairScores {
        self.scores.get(at).copied().unwrap_or_default()
    }
}

impl Guard {
    /// Replaces the normaliser.
    #[must_use]
    pub fn with_normaliser(mut self, normaliser: Box<dyn Normaliser>) -> Self {
        self.normaliser = normaliser;
        self
    }

    /// Selects the stages that run; for measurements.
    #[must_use]
    pub fn with_stages(mut self, stages: Stages) -> Self {
        self.stages = stages;
        self
    }

    /// Replaces the judge's weights; for measurements.
    #[must_use]
    pub fn with_weights(mut self, weights: JudgeWeights) -> Self {
        self.weights = weights;
        self
    }

    /// Returns the judge's weights and thresholds.
    pub fn weights(&self) -> &JudgeWeights {
        &self.weights
    }

    /// Parses a statement into norms. The writer's `qualifiers` override the conditions in the text. Never fails: a statement
    /// that cannot be parsed gets a FUZZY norm, and `problems` says what was not understood.
    pub fn normalise(&self, statement: &str, qualifiers: &Qualifiers) -> Normalised {
        self.normaliser.normalise(statement, qualifiers)
    }

    /// Normalises the statement of a claim; a rejection of "use X" gets the norm "do not use X".
    pub fn normalise_claim(&self, kind: ClaimKind, statement: &str, qualifiers: &Qualifiers) -> Normalised {
        let mut normalised = self.normalise(statement, qualifiers);
        if kind == ClaimKind::Rejection {
            judge::reject(&mut normalised.norms, &normalise::parse(statement));
        }
        normalised
    }

    /// Returns the norms that the rules find, refined by a language model's `reading` as far as the statement's words support
    /// it. `known` tells whether other claims of the scope have a canonical subject.
    pub fn refine_claim(
        kind: ClaimKind,
        statement: &str,
        qualifiers: &Qualifiers,
        reading: &normalise::llm::Reading,
        known: &dyn Fn(&str) -> bool,
    ) -> Vec<Norm> {
        let parsed = normalise::parse(statement);
        let mut norms = normalise::llm::merge_reading(&parsed, qualifiers, reading, known);
        if kind == ClaimKind::Rejection {
            judge::reject(&mut norms, &parsed);
        }
        norms
    }

    /// Returns the terms by which the store indexes a claim and finds nearby claims.
    pub fn index_terms(norms: &[Norm], statement: &str) -> IndexTerms {
        structural_pair_check::index_terms(norms, statement)
    }

    /// Compares `incoming` with each of `against` and returns the report.
    pub fn judge(&self, incoming: &ParsedClaim, against: &[Arc<ParsedClaim>], under: JudgeContext<'_>) -> GuardReport {
        let ours = incoming.claim();
        let mut report = GuardReport { compared: against.len(), ..GuardReport::default() };
        for (at, existing) in against.iter().enumerate() {
            let theirs = existing.claim();
            if !ours.is_comparable_with(theirs) || has_expired(theirs, under.today) {
                continue;
            }
            let scores = under.scores(at);
            report.inferred += usize::from(scores.inference.is_some());
            let mut ruling = self.ruling(incoming, existing, under, at).into_owned();
            judge::weigh(&mut ruling, incoming, existing, &scores, &self.weights, under.cross_encoder);
            // A contradiction with a fact only warns.
            if !(ours.kind.is_guarded() && theirs.kind.is_guarded()) {
                ruling.tier = ruling.tier.min(Tier::Warn);
            }
            if ruling.tier > Tier::Clean {
                ruling.evidence.normaliser.clone_from(&ours.normaliser);
                ruling.evidence.their_normaliser.clone_from(&theirs.normaliser);
                report.findings.push(Finding {
                    claim: theirs.id.unwrap_or(NO_CLAIM),
                    tier: ruling.tier,
                    score: ruling.score,
                    evidence: ruling.evidence,
                });
            }
        }
        report
            .findings
            .sort_by(|a, b| b.tier.cmp(&a.tier).then(b.score.total_cmp(&a.score)).then(a.claim.cmp(&b.claim)));
        report.tier = report.findings.first().map_or(Tier::Clean, |finding| finding.tier);
        report
    }

    /// Returns the indexes of the facts that a new fact may make outdated: those that differ from it only in values, and those that it
    /// contradicts by the rules. Empty for a guarded claim.
    pub fn outdated_facts(
        &self,
        incoming: &ParsedClaim,
        against: &[Arc<ParsedClaim>],
        under: JudgeContext<'_>,
    ) -> Vec<usize> {
        let outdated = |at: &usize| {
            let theirs = &against[*at];
            if incoming.claim().is_comparable_with(theirs.claim()) || has_expired(theirs.claim(), under.today) {
                return false;
            }
            let ruling = self.ruling(incoming, theirs, under, *at);
            let opposed = ruling.strength >= judge::CONTRADICTION_STRENGTH
                || same_form::differ_in_values(&incoming.parsed, &theirs.parsed);
            opposed && !ruling.compatible
        };
        (0..against.len()).filter(outdated).collect()
    }

    /// Returns the indexes of those of `against` that a cross-encoder should compare, the most promising first: a few that the
    /// rules do not decide and that share a subject, words or meaning with the new claim.
    pub fn select_for_inference(
        &self,
        incoming: &ParsedClaim,
        against: &[Arc<ParsedClaim>],
        under: JudgeContext<'_>,
    ) -> Vec<usize> {
        self.best(incoming, against, under, self.weights.gate.most, |theirs, scores, ruling| {
            judge::inference_priority(ruling, incoming, theirs, &scores, &self.weights.gate)
        })
    }

    /// Returns the indexes of those of `against` that a language model should compare, the likeliest first: pairs that the
    /// cross-encoder found likely to contradict and that the judge did not block.
    pub fn select_for_deep_stage(
        &self,
        incoming: &ParsedClaim,
        against: &[Arc<ParsedClaim>],
        under: JudgeContext<'_>,
    ) -> Vec<usize> {
        self.best(incoming, against, under, self.weights.deep.most, |theirs, scores, ruling| {
            scores.inference?;
            let mut ruling = ruling.clone();
            judge::weigh(&mut ruling, incoming, theirs, &scores, &self.weights, under.cross_encoder);
            let asked = ruling.tier < Tier::Block && !ruling.compatible && !ruling.norms_contradict;
            (asked && ruling.score >= self.weights.deep.gate).then_some(ruling.score)
        })
    }

    /// Returns the indexes of at most `most` claims, those with the highest `score` first. Claims without a score, facts compared with a
    /// fact, and expired claims are left out.
    fn best(
        &self,
        incoming: &ParsedClaim,
        against: &[Arc<ParsedClaim>],
        under: JudgeContext<'_>,
        most: usize,
        score: impl Fn(&ParsedClaim, PairScores, &Ruling) -> Option<f32>,
    ) -> Vec<usize> {
        let mut scored: Vec<(f32, usize)> = against
            .iter()
            .enumerate()
            .filter(|(_, theirs)| {
                incoming.claim().is_comparable_with(theirs.claim()) && !has_expired(theirs.claim(), under.today)
            })
            .filter_map(|(at, theirs)| {
                Some((score(theirs, under.scores(at), &self.ruling(incoming, theirs, under, at))?, at))
            })
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        scored.truncate(most);
        scored.into_iter().map(|(_, at)| at).collect()
    }

    /// Returns the ruling on one pair, whatever its tier; for measurements.
    pub fn compare(&self, incoming: &ParsedClaim, stored: &ParsedClaim, scores: &PairScores) -> Ruling {
        self.weigh(incoming, stored, scores, CrossEncoder::Fitted { shift: 0.0 })
    }

    /// Returns the ruling on two stored claims, as [`Guard::compare`] does, but with the day and the scope's threshold. Returns `None` if one of
    /// them has expired.
    pub fn weigh_stored(&self, newer: &ParsedClaim, older: &ParsedClaim, under: JudgeContext<'_>) -> Option<Ruling> {
        let expired = [newer, older].into_iter().any(|claim| has_expired(claim.claim(), under.today));
        (!expired).then(|| self.weigh(newer, older, &under.scores(0), under.cross_encoder))
    }

    fn weigh(&self, incoming: &ParsedClaim, stored: &ParsedClaim, scores: &PairScores, by: CrossEncoder) -> Ruling {
        let mut ruling = self.apply_rules(incoming, stored);
        judge::weigh(&mut ruling, incoming, stored, scores, &self.weights, by);
        ruling
    }

    /// Applies the rules to `incoming` and each of `against`. The result, as [`JudgeContext::rulings`], is shared by all stages.
    pub fn rulings(&self, incoming: &ParsedClaim, against: &[Arc<ParsedClaim>]) -> Vec<Ruling> {
        against.iter().map(|stored| self.apply_rules(incoming, stored)).collect()
    }

    /// Returns the rules' ruling on the pair at `at`.
    fn ruling<'a>(
        &self,
        incoming: &ParsedClaim,
        stored: &ParsedClaim,
        under: JudgeContext<'a>,
        at: usize,
    ) -> Cow<'a, Ruling> {
        match under.rulings.get(at) {
            Some(ruling) => Cow::Borrowed(ruling),
            None => Cow::Owned(self.apply_rules(incoming, stored)),
        }
    }

    /// Applies the rules to two claims.
    fn apply_rules(&self, incoming: &ParsedClaim, stored: &ParsedClaim) -> Ruling {
        let ruling = judge::apply_rules(incoming, stored, self.stages);
        // If the norms contradict each other, every device must get the same result, including one that does not know the lines.
        let beside = !ruling.norms_contradict && !ruling.compatible && incoming.claim().is_adjacent_to(stored.claim());
        if beside && align::hold_under_different_conditions(&incoming.parsed, &stored.parsed) {
            return judge::compatible(incoming, stored, RuleId::Neighbours, "They are adjacent in one document.");
        }
        ruling
    }

    /// Explains in one sentence why two claims may contradict each other: by the rules, or, if inference decided, by the words that
    /// only one of them has. `None` if the rules find nothing.
    pub fn explain(&self, ours: &ParsedClaim, theirs: &ParsedClaim, inferred: bool) -> Option<String> {
        if inferred {
            let (words, their_words) = explain::differing_words(&ours.parsed, &theirs.parsed);
            return Some(explain::inferred(&words, &their_words, None));
        }
        let ruling = self.compare(ours, theirs, &PairScores::default());
        (ruling.tier > Tier::Clean).then_some(ruling.evidence.sentence).filter(|sentence| !sentence.is_empty())
    }

    /// Returns the features of one pair, with and without a cross-encoder. For fitting the weights.
    pub fn features(&self, incoming: &ParsedClaim, stored: &ParsedClaim, scores: &PairScores) -> PairFeatures {
        let ruling = self.apply_rules(incoming, stored);
        let with_inference = scores.inference.is_some() && !ruling.compatible && !ruling.norms_contradict;
        let features = |scores: &PairScores| features::extract(&ruling, incoming, stored, scores);
        PairFeatures {
            with_inference: with_inference.then(|| features(scores)),
            by_rules: (!ruling.compatible).then(|| features(&PairScores::default())),
        }
    }
}

/// The features of one pair, by the stages that they come from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PairFeatures {
    /// With a cross-encoder's scores; `None` if it was not asked, or if the rules decide.
    pub with_inference: Option<features::Features>,
    /// Without a model's scores; `None` if the two are compatible by the rules.
    pub by_rules: Option<features::Features>,
}

/// The id of a new claim without one.
const NO_CLAIM: ClaimId = crate::domain::id::EventId([0; 32]);

/// Returns whether every norm of a claim has expired.
fn has_expired(claim: &NormedClaim, today: &str) -> bool {
    !claim.norms.is_empty()
        && claim.norms.iter().all(|norm| norm.valid_until.as_deref().is_some_and(|until| until < today))
}

impl Default for Guard {
    fn default() -> Self {
        Self {
            normaliser: Box::new(RuleNormaliser),
            stages: Stages::default(),
            weights: weights::built_in().clone(),
            gate: doubt_gate::built_in().clone(),
        }
    }
}
