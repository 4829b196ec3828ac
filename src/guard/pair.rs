//! The comparison of carried norms that derived conflict cards rest on, and what the store indexes.

use super::{
    explain, judge,
    normalise::{self, item::ItemKind},
};
use crate::domain::{
    norm::{IndexTerms, Norm},
    verdict::{Evidence, PairCheck, Relation, Stage},
};

/// Terms that are indexed of one statement, at most.
const MAX_TERMS: usize = 64;

/// The structural comparison, as the store uses it.
#[derive(Clone, Copy, Debug, Default)]
pub struct StructuralPairCheck;

impl PairCheck for StructuralPairCheck {
    fn version(&self) -> u32 {
        1
    }

    fn contradiction(&self, ours: &[Norm], theirs: &[Norm]) -> Option<Evidence> {
        let (comparison, i, j) = judge::strongest(ours, theirs)?;
        (comparison.relation == Relation::Contradiction).then(|| Evidence {
            stage: Stage::Structural,
            rule: comparison.rule.into(),
            relation: comparison.relation,
            confidence: comparison.confidence,
            sentence: explain::structural(comparison, &ours[i], &theirs[j]),
            field: comparison.field.into(),
            words: ours[i].words.clone(),
            their_words: theirs[j].words.clone(),
            norm: ours[i].clone(),
            their_norm: theirs[j].clone(),
            features: std::collections::BTreeMap::new(),
        })
    }

    fn index_terms(&self, norms: &[Norm], statement: &str) -> IndexTerms {
        index_terms(norms, statement)
    }
}

pub(crate) fn index_terms(norms: &[Norm], statement: &str) -> IndexTerms {
    let mut subjects: Vec<String> = norms.iter().map(|n| n.subject.clone()).filter(|s| !s.is_empty()).collect();
    subjects.sort_unstable();
    subjects.dedup();
    let items = normalise::lex(statement);
    let mut terms: Vec<String> = items
        .iter()
        .filter(|item| item.kind == ItemKind::Content)
        .flat_map(|item| {
            let set = item.alternative.map(|(set, _)| format!("#{}", super::lexicon::lexicon().set_name(set)));
            std::iter::once(item.key.clone()).chain(set)
        })
        .take(MAX_TERMS)
        .collect();
    terms.sort_unstable();
    terms.dedup();
    IndexTerms { subjects, terms }
}
