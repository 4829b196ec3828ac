//! The contradiction guard: normalise, compare norms, ask language inference where there is one, judge.
//!
//! Pure: no I/O and no clock, and no model is asked here: what models said of a pair comes in as data ([`Said`]). Candidates come
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

pub use judge::{Ruling, Stages};
pub use nli::{Inference, Said};
pub use normalise::{Normalised, Normaliser, RuleNormaliser};
pub use pair::StructuralPairCheck;
pub use shortlist::{MAX_BY_MEANING, MAX_BY_WORDS, MAX_CANDIDATES, shortlist};
pub use weights::Weights;

use crate::domain::{
    claim::{ClaimKind, Qualifiers},
    id::ClaimId,
    norm::{IndexTerms, Norm},
    verdict::{Finding, Tier, Verdict},
};

/// A claim as the guard compares it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidate {
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

impl Candidate {
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
    /// What models said of each candidate, in their order; one that is missing was not asked about.
    pub said: &'a [Said],
    /// Added to the score from which inference blocks: what people made of earlier findings in this scope.
    pub shift: f32,
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
    pub fn judge(&self, incoming: &Candidate, against: &[Candidate], under: Circumstances<'_>) -> Verdict {
        let ours = judge::prepare(incoming);
        let mut verdict = Verdict { compared: against.len(), ..Verdict::default() };
        for (at, candidate) in against.iter().enumerate() {
            if !incoming.meets(candidate) || is_over(candidate, under.today) {
                continue;
            }
            let said = under.said.get(at).copied().unwrap_or_default();
            verdict.inferred += usize::from(said.inference.is_some());
            let theirs = judge::prepare(candidate);
            let mut ruling = self.rule(incoming, &ours, candidate, &theirs);
            judge::weigh(&mut ruling, &ours, &theirs, &said, &self.weights, under.shift);
            // A fact is noted, and never a reason to refuse.
            if !(incoming.kind.is_guarded() && candidate.kind.is_guarded()) {
                ruling.tier = ruling.tier.min(Tier::Warn);
            }
            if ruling.tier > Tier::Clean {
                ruling.evidence.normaliser.clone_from(&incoming.normaliser);
                ruling.evidence.their_normaliser.clone_from(&candidate.normaliser);
                verdict.findings.push(Finding {
                    claim: candidate.id.unwrap_or(NO_CLAIM),
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

    /// Which of `against` a cross-encoder should be asked about: the best few that the rules leave open and that share
    /// a subject, words or meaning with the write. Their places in `against`, the best first.
    pub fn worth_inferring(&self, incoming: &Candidate, against: &[Candidate], under: Circumstances<'_>) -> Vec<usize> {
        self.best(incoming, against, under.today, self.weights.gate.most, |at, ours, theirs, ruling| {
            let said = under.said.get(at).copied().unwrap_or_default();
            judge::worth(&ruling, ours, theirs, &said, &self.weights.gate)
        })
    }

    /// Which of `against` a language model should be asked about: what the cross-encoder found likely and the judge let pass. Their
    /// places in `against`, the likeliest first.
    pub fn worth_deepening(&self, incoming: &Candidate, against: &[Candidate], under: Circumstances<'_>) -> Vec<usize> {
        self.best(incoming, against, under.today, self.weights.deep.most, |at, ours, theirs, mut ruling| {
            let said = under.said.get(at).copied().filter(|said| said.inference.is_some())?;
            judge::weigh(&mut ruling, ours, theirs, &said, &self.weights, under.shift);
            let asked = ruling.tier < Tier::Block && !ruling.settled && !ruling.decided;
            (asked && ruling.score >= self.weights.deep.gate).then_some(ruling.score)
        })
    }

    /// The places in `against` of the `most` candidates that `score` rates highest, the best first; it leaves out those without a
    /// score, facts, and what has passed.
    fn best(
        &self,
        incoming: &Candidate,
        against: &[Candidate],
        today: &str,
        most: usize,
        score: impl Fn(usize, &judge::Prepared, &judge::Prepared, Ruling) -> Option<f32>,
    ) -> Vec<usize> {
        let ours = judge::prepare(incoming);
        let mut worth: Vec<(f32, usize)> = against
            .iter()
            .enumerate()
            .filter(|(_, candidate)| incoming.meets(candidate) && !is_over(candidate, today))
            .filter_map(|(at, candidate)| {
                let theirs = judge::prepare(candidate);
                let ruling = self.rule(incoming, &ours, candidate, &theirs);
                Some((score(at, &ours, &theirs, ruling)?, at))
            })
            .collect();
        worth.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        worth.truncate(most);
        worth.into_iter().map(|(_, at)| at).collect()
    }

    /// The ruling on one pair, whatever its tier; for measuring.
    pub fn compare(&self, incoming: &Candidate, stored: &Candidate, said: &Said) -> Ruling {
        let (ours, theirs) = (judge::prepare(incoming), judge::prepare(stored));
        let mut ruling = self.rule(incoming, &ours, stored, &theirs);
        judge::weigh(&mut ruling, &ours, &theirs, said, &self.weights, 0.0);
        ruling
    }

    /// What the rules find between two statements that are read.
    fn rule(
        &self,
        incoming: &Candidate,
        ours: &judge::Prepared,
        stored: &Candidate,
        theirs: &judge::Prepared,
    ) -> Ruling {
        let ruling = judge::rule(ours, &incoming.statement, theirs, &stored.statement, self.stages);
        // Norms that contradict each other do so on every machine, also where a document's lines are not known.
        let beside = !ruling.decided && !ruling.settled && incoming.is_beside(stored);
        if beside && align::under_other_conditions(&ours.parsed, &theirs.parsed) {
            return judge::apart(ours, theirs, "neighbours", "They stand next to each other in one document.");
        }
        ruling
    }

    /// Why two claims may not both hold, in one sentence: as the rules see it, or, where inference spoke, by the words that only one of
    /// them has. `None` where the rules see nothing against them.
    pub fn explain(&self, ours: &Candidate, theirs: &Candidate, inferred: bool) -> Option<String> {
        let (a, b) = (judge::prepare(ours), judge::prepare(theirs));
        if inferred {
            let (words, their_words) = explain::apart(&a.parsed, &b.parsed);
            return Some(explain::inferred(&words, &their_words, None));
        }
        let mut ruling = self.rule(ours, &a, theirs, &b);
        judge::weigh(&mut ruling, &a, &b, &Said::default(), &self.weights, 0.0);
        (ruling.tier > Tier::Clean).then_some(ruling.evidence.sentence).filter(|sentence| !sentence.is_empty())
    }

    /// The figures of one pair as the judge weighs them where a cross-encoder was heard, and where none was; `None` where it weighs nothing.
    /// For fitting.
    pub fn figures(&self, incoming: &Candidate, stored: &Candidate, said: &Said) -> Weighed {
        let (ours, theirs) = (judge::prepare(incoming), judge::prepare(stored));
        let ruling = self.rule(incoming, &ours, stored, &theirs);
        let heard = said.inference.is_some() && !ruling.settled && !ruling.decided;
        Weighed {
            heard: heard.then(|| features::figures(&ruling, &ours, &theirs, said)),
            alone: (!ruling.settled).then(|| features::figures(&ruling, &ours, &theirs, &Said::default())),
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
fn is_over(candidate: &Candidate, today: &str) -> bool {
    !candidate.norms.is_empty()
        && candidate.norms.iter().all(|norm| norm.valid_until.as_deref().is_some_and(|until| until < today))
}

impl Default for Guard {
    fn default() -> Self {
        Self { normaliser: Box::new(RuleNormaliser), stages: Stages::default(), weights: weights::built_in().clone() }
    }
}
