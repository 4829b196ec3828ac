//! The comparison of carried norms that derived conflict cards rest on, and what the store indexes.

use super::{
    NormedClaim, PairScores, ParsedClaim, Stages, judge,
    normalise::{
        self,
        item::{Item, ItemKind},
    },
    weights,
};
use crate::domain::{
    ago::day,
    norm::{IndexTerms, Norm, SubjectKind},
    verdict::{Carried, Evidence, PairCheck, Relation, Tier},
};

/// The stage whose answer every machine can repeat from what events carry.
const STRUCTURAL: Stages = Stages { structural: true, aligned: false };

/// The version of the comparison that cards on every machine are computed by.
const VERSION: u32 = 2;

/// Terms that are indexed of one statement, at most.
const MAX_TERMS: usize = 64;

/// Phrases that are indexed of one statement, at most.
const MAX_PHRASES: usize = 48;

/// How many of the terms that follow a term make a phrase with it: a word put in between must not hide it.
const NEAR: usize = 2;

/// The structural comparison, as the store uses it.
#[derive(Clone, Copy, Debug, Default)]
pub struct StructuralPairCheck;

impl PairCheck for StructuralPairCheck {
    /// Another comparison, or other weights of it, needs another version: a test holds the two together.
    fn version(&self) -> u32 {
        VERSION
    }

    fn contradiction(&self, ours: Carried<'_>, theirs: Carried<'_>) -> Option<Evidence> {
        // Norms alone are quick to compare; only what they call a contradiction is read again and judged as a write is.
        let (comparison, ..) = judge::strongest(ours.norms, theirs.norms)?;
        if comparison.relation != Relation::Contradiction {
            return None;
        }
        let (a, b) = (claim_of(ours), claim_of(theirs));
        if super::is_over(&a, &day(theirs.written)) || super::is_over(&b, &day(ours.written)) {
            return None;
        }
        let (a, b) = (ParsedClaim::new(a), ParsedClaim::new(b));
        let mut ruling = judge::rule(&a, &b, STRUCTURAL);
        judge::weigh(&mut ruling, &a, &b, &PairScores::default(), weights::built_in(), 0.0);
        (ruling.decided && ruling.tier == Tier::Block).then_some(ruling.evidence)
    }

    fn index_terms(&self, norms: &[Norm], statement: &str) -> IndexTerms {
        index_terms(norms, statement)
    }
}

fn claim_of(carried: Carried<'_>) -> NormedClaim {
    let (statement, norms) = (carried.statement.to_owned(), carried.norms.to_vec());
    NormedClaim { kind: carried.kind, statement, norms, ..NormedClaim::default() }
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
    let phrases = phrases(&items);
    // Norms are compared within one subject and attribute: see `structural::compare`.
    let mut pairs: Vec<String> = norms
        .iter()
        .filter(|norm| norm.subject_kind == SubjectKind::Present && !norm.subject.is_empty())
        .map(|norm| format!("{}\u{1f}{}", norm.subject, norm.attribute.as_deref().unwrap_or_default()))
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    IndexTerms { subjects, pairs, terms, phrases }
}

/// Pairs of content words that stand near each other. A member of a set of exclusive alternatives stands for its set: what
/// contradicts names another member.
fn phrases(items: &[Item]) -> Vec<String> {
    let names: Vec<String> = items
        .iter()
        .filter(|item| item.kind == ItemKind::Content)
        .map(|item| match item.alternative {
            Some((set, _)) => format!("#{}", super::lexicon::lexicon().set_name(set)),
            None => item.key.clone(),
        })
        .collect();
    let near = |at: usize| names.iter().skip(at + 1).take(NEAR).map(move |other| (at, other));
    let mut phrases: Vec<String> = (0..names.len())
        .flat_map(near)
        .filter(|(at, other)| names[*at] != **other)
        .map(|(at, other)| format!("{} {}", names[at].as_str().min(other), names[at].as_str().max(other)))
        .take(MAX_PHRASES)
        .collect();
    phrases.sort_unstable();
    phrases.dedup();
    phrases
}

#[cfg(test)]
mod tests {
    use super::{VERSION, index_terms};
    use crate::guard::weights;

    /// Cards on every machine follow from these weights: who changes them, counts the version up and writes the new ones here.
    #[test]
    fn other_weights_of_the_rules_need_another_version() {
        let rules: weights::Rules = toml::from_str(
            "block = 0.39\nwarn = 0.33885\n\
             weights = {aligned = 1.7521, found = 3.1416, intercept = -4.4613, structural_contradiction = 1.7381}",
        )
        .unwrap();
        assert_eq!((VERSION, &weights::built_in().rules), (2, &rules));
    }

    #[test]
    fn what_contradicts_shares_phrases_whatever_its_value_and_order() {
        let phrases = |text: &str| index_terms(&[], text).phrases;
        let blue = phrases("The archive api must use a blue canary");
        assert_eq!(blue, phrases("The archive api must use a red canary"));
        assert!(blue.contains(&"api archiv".to_owned()), "{blue:?}");
        let turned = phrases("A blue canary must be used by the api of the archive");
        assert!(turned.iter().filter(|phrase| blue.contains(phrase)).count() >= 2, "{turned:?}");
        assert!(phrases(&"word number ".repeat(1000)).len() <= super::MAX_PHRASES);
        assert!(phrases("").is_empty());
    }
}
