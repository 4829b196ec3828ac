//! The contradiction guard: normalise, compare norms, ask language inference where there is one, judge.
//!
//! Pure: no I/O and no clock, and no model is asked here: what models said of a pair comes in as data ([`PairScores`]). Candidates come
//! from the store's index, which is fed by [`Guard::index_terms`], and from the neighbours of the statement's vector.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub(crate) mod align;
pub(crate) mod change;
pub mod deep;
pub(crate) mod explain;
pub mod features;
pub mod judge;
pub(crate) mod lexicon;
pub mod nli;
pub mod normalise;
pub(crate) mod oppose;
pub mod pair;
pub mod shortlist;
pub mod structural;
#[cfg(test)]
mod tests;
pub mod weights;

pub use judge::{ParsedClaim, Ruling, Stages};
pub use nli::{Inference, PairScores};
pub use normalise::{Normalised, Normaliser, RuleNormaliser};
pub use pair::StructuralPairCheck;
pub use shortlist::{MAX_BY_MEANING, MAX_BY_WORDS, MAX_CANDIDATES, shortlist};
pub use weights::Weights;

use std::sync::Arc;

use crate::domain::{
    claim::{ClaimKind, Qualifiers},
    id::ClaimId,
    norm::{IndexTerms, Norm},
    verdict::{Finding, RuleId, Tier, Verdict},
};

/// A claim with its norms, as the guard compares it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NormedClaim {
    /// The stored claim; `None` for the incoming one, which has no id yet.
    pub id: Option<ClaimId>,
    /// Its kind; a rejection is compared as "not", facts not with each other.
    pub kind: ClaimKind,
    /// The statement as written.
    pub statement: String,
    /// What the normaliser made of it, as the event carries it.
    pub norms: Vec<Norm>,
    /// The name and version of that normaliser.
    pub normaliser: String,
    /// Where it comes from: `path:line` tells neighbours in one document.
    pub source: Option<String>,
}

/// How many lines apart two statements of one document are neighbours, at most: entries of one list, or of two short paragraphs.
const NEIGHBOURS: usize = 6;

impl NormedClaim {
    /// The document and the line that it comes from.
    fn line(&self) -> Option<(&str, usize)> {
        let (path, line) = self.source.as_deref()?.rsplit_once(':')?;
        Some((path, line.parse().ok()?))
    }

    /// Whether both stand near each other in one document, and are not one line of it at two times.
    fn is_beside(&self, other: &Self) -> bool {
        self.line().zip(other.line()).is_some_and(|(a, b)| a.0 == b.0 && (1..=NEIGHBOURS).contains(&a.1.abs_diff(b.1)))
    }

    /// Whether the two are compared at all: a fact replaces another by its key.
    fn meets(&self, other: &Self) -> bool {
        self.kind.is_guarded() || other.kind.is_guarded()
    }
}

/// The guard, with its normaliser and the judge's weights.
pub struct Guard {
    normaliser: Box<dyn Normaliser>,
    stages: Stages,
    weights: Weights,
}

/// Under which circumstances a write is judged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Circumstances<'a> {
    /// `YYYY-MM-DD`: a claim whose window has passed opposes nothing.
    pub today: &'a str,
    /// What models found of each pair, in the order of the existing claims; a missing one was not asked about.
    pub scores: &'a [PairScores],
    /// Added to the score from which inference blocks: what people made of earlier findings in this scope.
    pub threshold_shift: f32,
}

impl Circumstances<'_> {
    fn scores(&self, at: usize) -> PairScores {
        self.scores.get(at).copied().unwrap_or_default()
    }
}

impl Guard {
    /// The same guard with another normaliser.
    #[must_use]
    pub fn with_normaliser(mut self, normaliser: Box<dyn Normaliser>) -> Self {
        self.normaliser = normaliser;
        self
    }

    /// The same guard with some of its stages only; for measuring.
    #[must_use]
    pub fn with_stages(mut self, stages: Stages) -> Self {
        self.stages = stages;
        self
    }

    /// The same guard with other weights; for measuring.
    #[must_use]
    pub fn with_weights(mut self, weights: Weights) -> Self {
        self.weights = weights;
        self
    }

    /// The judge's weights and thresholds.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// Turns a statement into norms. What the writer says in `qualifiers` overrules what is read from the text.
    /// Never fails: what cannot be parsed has a FUZZY norm, and `problems` says what was not understood.
    pub fn normalise(&self, statement: &str, qualifiers: &Qualifiers) -> Normalised {
        self.normaliser.normalise(statement, qualifiers)
    }

    /// [`Guard::normalise`] for a claim of some kind: a rejection of "use X" carries the norm "do not use X".
    pub fn normalise_claim(&self, kind: ClaimKind, statement: &str, qualifiers: &Qualifiers) -> Normalised {
        let mut normalised = self.normalise(statement, qualifiers);
        if kind == ClaimKind::Rejection {
            judge::reject(&mut normalised.norms);
        }
        normalised
    }

    /// The norms of a claim whose statement a language model has read too: by the rules, refined as far as `reading` can be believed. `known` tells
    /// whether claims of its scope have a canonical subject.
    pub fn refine_claim(
        kind: ClaimKind,
        statement: &str,
        qualifiers: &Qualifiers,
        reading: &normalise::llm::Reading,
        known: &dyn Fn(&str) -> bool,
    ) -> Vec<Norm> {
        let mut norms = normalise::llm::reconcile(&normalise::parse(statement), qualifiers, reading, known);
        if kind == ClaimKind::Rejection {
            judge::reject(&mut norms);
        }
        norms
    }

    /// What the store indexes of a claim, and looks candidates up by.
    pub fn index_terms(norms: &[Norm], statement: &str) -> IndexTerms {
        pair::index_terms(norms, statement)
    }

    /// Compares `incoming` with each of `against` and says what follows.
    pub fn judge(&self, incoming: &ParsedClaim, against: &[Arc<ParsedClaim>], under: Circumstances<'_>) -> Verdict {
        let ours = incoming.claim();
        let mut verdict = Verdict { compared: against.len(), ..Verdict::default() };
        for (at, existing) in against.iter().enumerate() {
            let theirs = existing.claim();
            if !ours.meets(theirs) || is_over(theirs, under.today) {
                continue;
            }
            let scores = under.scores(at);
            verdict.inferred += usize::from(scores.inference.is_some());
            let mut ruling = self.rule(incoming, existing);
            judge::weigh(&mut ruling, incoming, existing, &scores, &self.weights, under.threshold_shift);
            // A fact is noted, and never a reason to refuse.
            if !(ours.kind.is_guarded() && theirs.kind.is_guarded()) {
                ruling.tier = ruling.tier.min(Tier::Warn);
            }
            if ruling.tier > Tier::Clean {
                ruling.evidence.normaliser.clone_from(&ours.normaliser);
                ruling.evidence.their_normaliser.clone_from(&theirs.normaliser);
                verdict.findings.push(Finding {
                    claim: theirs.id.unwrap_or(NO_CLAIM),
                    tier: ruling.tier,
                    score: ruling.score,
                    evidence: ruling.evidence,
                });
            }
        }
        verdict
            .findings
            .sort_by(|a, b| b.tier.cmp(&a.tier).then(b.score.total_cmp(&a.score)).then(a.claim.cmp(&b.claim)));
        verdict.tier = verdict.findings.first().map_or(Tier::Clean, |finding| finding.tier);
        verdict
    }

    /// Returns which of `against` a cross-encoder should be asked about: the best few that the rules leave open and that share
    /// a subject, words or meaning with the write. Indexes into `against`, the best first.
    pub fn worth_inferring(
        &self,
        incoming: &ParsedClaim,
        against: &[Arc<ParsedClaim>],
        under: Circumstances<'_>,
    ) -> Vec<usize> {
        self.best(incoming, against, under, self.weights.gate.most, |theirs, scores, ruling| {
            judge::worth(&ruling, incoming, theirs, &scores, &self.weights.gate)
        })
    }

    /// Returns which of `against` a language model should be asked about: what the cross-encoder found likely and the judge let pass.
    /// Indexes into `against`, the likeliest first.
    pub fn worth_deepening(
        &self,
        incoming: &ParsedClaim,
        against: &[Arc<ParsedClaim>],
        under: Circumstances<'_>,
    ) -> Vec<usize> {
        self.best(incoming, against, under, self.weights.deep.most, |theirs, scores, mut ruling| {
            scores.inference?;
            judge::weigh(&mut ruling, incoming, theirs, &scores, &self.weights, under.threshold_shift);
            let asked = ruling.tier < Tier::Block && !ruling.settled && !ruling.decided;
            (asked && ruling.score >= self.weights.deep.gate).then_some(ruling.score)
        })
    }

    /// Returns the indexes of the `most` claims that `score` rates highest, the best first; it leaves out those without a score, facts
    /// that a fact would replace, and what has expired.
    fn best(
        &self,
        incoming: &ParsedClaim,
        against: &[Arc<ParsedClaim>],
        under: Circumstances<'_>,
        most: usize,
        score: impl Fn(&ParsedClaim, PairScores, Ruling) -> Option<f32>,
    ) -> Vec<usize> {
        let mut worth: Vec<(f32, usize)> = against
            .iter()
            .enumerate()
            .filter(|(_, theirs)| incoming.claim().meets(theirs.claim()) && !is_over(theirs.claim(), under.today))
            .filter_map(|(at, theirs)| Some((score(theirs, under.scores(at), self.rule(incoming, theirs))?, at)))
            .collect();
        worth.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        worth.truncate(most);
        worth.into_iter().map(|(_, at)| at).collect()
    }

    /// The ruling on one pair, whatever its tier; for measuring.
    pub fn compare(&self, incoming: &ParsedClaim, stored: &ParsedClaim, scores: &PairScores) -> Ruling {
        let mut ruling = self.rule(incoming, stored);
        judge::weigh(&mut ruling, incoming, stored, scores, &self.weights, 0.0);
        ruling
    }

    /// What the rules find between two claims.
    fn rule(&self, incoming: &ParsedClaim, stored: &ParsedClaim) -> Ruling {
        let ruling = judge::rule(incoming, stored, self.stages);
        // Norms that contradict each other do so on every machine, also where a document's lines are not known.
        let beside = !ruling.decided && !ruling.settled && incoming.claim().is_beside(stored.claim());
        if beside && align::under_other_conditions(&incoming.parsed, &stored.parsed) {
            return judge::apart(
                incoming,
                stored,
                RuleId::Neighbours,
                "They stand next to each other in one document.",
            );
        }
        ruling
    }

    /// Why two claims may not both hold, in one sentence: as the rules see it, or, if inference decided, by the words that only one of
    /// them has. `None` if the rules see nothing against them.
    pub fn explain(&self, ours: &ParsedClaim, theirs: &ParsedClaim, inferred: bool) -> Option<String> {
        if inferred {
            let (words, their_words) = explain::apart(&ours.parsed, &theirs.parsed);
            return Some(explain::inferred(&words, &their_words, None));
        }
        let ruling = self.compare(ours, theirs, &PairScores::default());
        (ruling.tier > Tier::Clean).then_some(ruling.evidence.sentence).filter(|sentence| !sentence.is_empty())
    }

    /// The figures of one pair as the judge weighs them with and without a cross-encoder; `None` if it weighs nothing. For fitting.
    pub fn figures(&self, incoming: &ParsedClaim, stored: &ParsedClaim, scores: &PairScores) -> Weighed {
        let ruling = self.rule(incoming, stored);
        let heard = scores.inference.is_some() && !ruling.settled && !ruling.decided;
        let figures = |scores: &PairScores| features::figures(&ruling, incoming, stored, scores);
        Weighed {
            heard: heard.then(|| figures(scores)),
            alone: (!ruling.settled).then(|| figures(&PairScores::default())),
        }
    }
}

/// The figures of one pair, by what was heard of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Weighed {
    /// With a cross-encoder's word.
    pub heard: Option<features::Figures>,
    /// Without any model's.
    pub alone: Option<features::Figures>,
}

/// Stands for a candidate without an id.
const NO_CLAIM: ClaimId = crate::domain::id::EventId([0; 32]);

/// Whether every norm of a claim has passed.
fn is_over(candidate: &NormedClaim, today: &str) -> bool {
    !candidate.norms.is_empty()
        && candidate.norms.iter().all(|norm| norm.valid_until.as_deref().is_some_and(|until| until < today))
}

impl Default for Guard {
    fn default() -> Self {
        Self { normaliser: Box::new(RuleNormaliser), stages: Stages::default(), weights: weights::built_in().clone() }
    }
}
