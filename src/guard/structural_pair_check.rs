//! The comparison of norms from which conflict cards are derived, and the terms that the store indexes.

use std::collections::BTreeSet;

use super::{
    CrossEncoder, NormedClaim, PairScores, ParsedClaim, Stages, judge,
    normalise::{
        self,
        lexical_item::{Item, ItemKind},
    },
    weights,
};
use crate::domain::{
    ago::day,
    guard_report::{ComparedClaim, Evidence, PairCheck, Relation, Tier},
    norm::{IndexTerms, Norm, SubjectKind},
};

/// The stage that gives the same result on every device, because it depends on the events alone.
const STRUCTURAL: Stages = Stages { structural: true, aligned: false };

/// The version of the comparison.
const VERSION: u32 = 6;

/// The maximum number of indexed terms of a statement.
const MAX_TERMS: usize = 64;

/// The maximum number of indexed phrases of a statement.
const MAX_PHRASES: usize = 48;

/// The number of following terms with which a term forms a phrase. It is more than one, so that an inserted word does not break the
/// match.
const PHRASE_REACH: usize = 2;

/// The structural comparison for the store.
#[derive(Clone, Copy, Debug, Default)]
pub struct StructuralPairCheck;

impl PairCheck for StructuralPairCheck {
    /// Returns the version, which must be raised when the comparison or its weights change. A test compares the weights.
    fn version(&self) -> u32 {
        VERSION
    }

    fn contradiction(&self, ours: ComparedClaim<'_>, theirs: ComparedClaim<'_>) -> Option<Evidence> {
        // Comparing norms is fast. The statements are parsed and judged like a write only if the norms contradict each other.
        let (comparison, ..) = judge::strongest(ours.norms, theirs.norms)?;
        if comparison.relation != Relation::Contradiction {
            return None;
        }
        let (a, b) = (claim_of(ours), claim_of(theirs));
        if super::has_expired(&a, &day(theirs.written)) || super::has_expired(&b, &day(ours.written)) {
            return None;
        }
        let (a, b) = (ParsedClaim::new(a), ParsedClaim::new(b));
        let mut ruling = judge::apply_rules(&a, &b, STRUCTURAL);
        judge::weigh(&mut ruling, &a, &b, &PairScores::default(), weights::built_in(), CrossEncoder::Absent);
        (ruling.norms_contradict && ruling.tier == Tier::Block).then_some(ruling.evidence)
    }

    fn index_terms(&self, norms: &[Norm], statement: &str) -> IndexTerms {
        index_terms(norms, statement)
    }
}

fn claim_of(carried: ComparedClaim<'_>) -> NormedClaim {
    let (statement, norms) = (carried.statement.to_owned(), carried.norms.to_vec());
    NormedClaim { kind: carried.kind, statement, norms, ..NormedClaim::default() }
}

pub(crate) fn index_terms(norms: &[Norm], statement: &str) -> IndexTerms {
    let mut subjects: Vec<String> = norms.iter().map(|n| n.subject.clone()).filter(|s| !s.is_empty()).collect();
    subjects.sort_unstable();
    subjects.dedup();
    let items = normalise::lex(statement);
    let terms = items.iter().filter(|item| item.kind == ItemKind::Content).flat_map(|item| {
        let set = item.alternative.map(|(set, _)| format!("#{}", super::lexicon::lexicon().set_name(set)));
        std::iter::once(item.key.clone()).chain(set)
    });
    let terms = first_distinct(terms, MAX_TERMS);
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

/// Returns the pairs of nearby content words. A member of a set of exclusive alternatives is replaced by the set, because a
/// contradicting claim names another member.
fn phrases(items: &[Item]) -> Vec<String> {
    let names: Vec<String> = items
        .iter()
        .filter(|item| item.kind == ItemKind::Content)
        .map(|item| match item.alternative {
            Some((set, _)) => format!("#{}", super::lexicon::lexicon().set_name(set)),
            None => item.key.clone(),
        })
        .collect();
    let near = |at: usize| names.iter().skip(at + 1).take(PHRASE_REACH).map(move |other| (at, other));
    let phrases = (0..names.len())
        .flat_map(near)
        .filter(|(at, other)| names[*at] != **other)
        .map(|(at, other)| format!("{} {}", names[at].as_str().min(other), names[at].as_str().max(other)));
    first_distinct(phrases, MAX_PHRASES)
}

/// Returns the first `most` different texts, sorted.
fn first_distinct(texts: impl Iterator<Item = String>, most: usize) -> Vec<String> {
    let mut found = BTreeSet::new();
    for text in texts {
        if found.len() == most {
            break;
        }
        found.insert(text);
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::{VERSION, index_terms};
    use crate::guard::weights;

    /// Cards on every device depend on these weights. To change them, raise the version and copy the new weights here.
    #[test]
    fn other_rule_weights_need_another_version() {
        let rules: weights::RuleWeights = toml::from_str(
            "block = 0.39\nwarn = 0.33885\n\
             weights = {aligned = 1.7521, found = 3.1416, intercept = -4.4613, structural_contradiction = 1.7381}",
        )
        .unwrap();
        assert_eq!((VERSION, &weights::built_in().rules), (6, &rules));
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

    #[test]
    fn repeated_words_take_no_place_of_later_ones() {
        let statement =
            format!("{}and the queue uses Kafka for orders.", "The archive api is an archive api, ".repeat(30));
        let found = index_terms(&[], &statement);
        assert!(found.terms.contains(&"kafka".to_owned()), "{:?}", found.terms);
        assert!(found.phrases.iter().any(|phrase| phrase.contains("#queue")), "{:?}", found.phrases);
        let many: Vec<String> = (0..200).map(|n| format!("thing{n}")).collect();
        let found = index_terms(&[], &many.join(" "));
        assert_eq!((found.terms.len(), found.phrases.len()), (super::MAX_TERMS, super::MAX_PHRASES));
    }
}
