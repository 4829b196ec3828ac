//! The comparison of carried norms that derived conflict cards rest on.

use crate::domain::{
    norm::{IndexTerms, Norm},
    verdict::{Evidence, PairCheck},
};

/// The structural comparison, as the store uses it.
#[derive(Clone, Copy, Debug, Default)]
pub struct StructuralPairCheck;

impl PairCheck for StructuralPairCheck {
    fn version(&self) -> u32 {
        1
    }

    fn contradiction(&self, _ours: &[Norm], _theirs: &[Norm]) -> Option<Evidence> {
        None
    }

    fn index_terms(&self, norms: &[Norm], statement: &str) -> IndexTerms {
        index_terms(norms, statement)
    }
}

pub(crate) fn index_terms(norms: &[Norm], _statement: &str) -> IndexTerms {
    let mut subjects: Vec<String> = norms.iter().map(|n| n.subject.clone()).filter(|s| !s.is_empty()).collect();
    subjects.sort_unstable();
    subjects.dedup();
    IndexTerms { subjects, terms: Vec::new() }
}
