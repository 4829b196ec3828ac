//! The contradiction guard: normalise, compare norms, ask language inference where there is one, judge.
//!
//! Pure: no I/O and no clock. Models come in through [`Nli`] and [`Normaliser`]; candidates come from the store's index,
//! which is fed by [`Guard::index_terms`].
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub(crate) mod align;
pub(crate) mod explain;
pub mod judge;
pub(crate) mod lexicon;
pub mod nli;
pub mod normalise;
pub(crate) mod oppose;
pub mod pair;
pub mod structural;
#[cfg(test)]
mod tests;

pub use judge::{Ruling, Stages};
pub use nli::{Inference, Nli, NoNli};
pub use normalise::{Normalised, Normaliser, RuleNormaliser};
pub use pair::StructuralPairCheck;

use crate::domain::{
    claim::{ClaimKind, Qualifiers},
    id::ClaimId,
    norm::{IndexTerms, Norm},
    verdict::{Finding, Tier, Verdict},
};

/// How many candidates a write is compared with, at most. The index ranks them; beyond this the shared terms are few.
pub const MAX_CANDIDATES: usize = 64;

/// A claim as the guard compares it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidate {
    /// The stored claim; `None` for the incoming one, which has no id yet.
    pub id: Option<ClaimId>,
    /// Its kind; a rejection is compared as "not", facts are never compared.
    pub kind: ClaimKind,
    /// The statement as written.
    pub statement: String,
    /// What the normaliser made of it, as the event carries it.
    pub norms: Vec<Norm>,
}

/// The guard, with its normaliser and its language inference.
pub struct Guard {
    normaliser: Box<dyn Normaliser>,
    nli: Box<dyn Nli>,
    stages: Stages,
}

impl Guard {
    /// A guard with the rule-based normaliser.
    pub fn new(nli: Box<dyn Nli>) -> Self {
        Self { normaliser: Box::new(RuleNormaliser), nli, stages: Stages::default() }
    }

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

    /// What the store indexes of a claim, and looks candidates up by.
    pub fn index_terms(norms: &[Norm], statement: &str) -> IndexTerms {
        pair::index_terms(norms, statement)
    }

    /// Compares `incoming` with each of `against` and says what follows. `today` is `YYYY-MM-DD`: a claim whose window has passed opposes
    /// nothing.
    pub fn judge(&self, incoming: &Candidate, against: &[Candidate], today: &str) -> Verdict {
        let ours = judge::prepare(incoming);
        let mut verdict = Verdict { compared: against.len(), ..Verdict::default() };
        for candidate in against {
            if candidate.kind == ClaimKind::Fact || is_over(candidate, today) {
                continue;
            }
            let theirs = judge::prepare(candidate);
            let mut ruling = judge::rule(&ours, &incoming.statement, &theirs, &candidate.statement, self.stages);
            let overlap = align::overlap(&ours.parsed, &theirs.parsed);
            if let Err(reason) =
                judge::infer(&mut ruling, &incoming.statement, &candidate.statement, overlap, self.nli.as_ref())
                && !verdict.skipped.contains(&reason)
            {
                verdict.skipped.push(reason);
            }
            if ruling.tier > Tier::Clean {
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

    /// The ruling on one pair, whatever its tier; for measuring.
    pub fn compare(&self, incoming: &Candidate, stored: &Candidate) -> Ruling {
        judge::rule(
            &judge::prepare(incoming),
            &incoming.statement,
            &judge::prepare(stored),
            &stored.statement,
            self.stages,
        )
    }
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
        Self::new(Box::new(NoNli))
    }
}
