//! Which claim answers a question best. Pure.

use std::collections::BTreeSet;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_segmentation::UnicodeSegmentation;

use crate::domain::ClaimKind;

/// The share of a question's terms that an answer must speak of. Below it, a claim is only shown as near: one word in
/// common out of four is chance more often than not.
pub(in crate::engine) const ENOUGH: f32 = 0.3;

/// The most terms of a question that are looked for.
const MAX_TERMS: usize = 24;

/// Words of questions and of grammar, which say nothing of what is asked for.
const EMPTY: &[&str] = &[
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "because", "been",
    "before", "being", "but", "by", "can", "could", "did", "do", "does", "doing", "done", "for", "from", "had", "has",
    "have", "having", "he", "her", "here", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "just",
    "let", "like", "made", "make", "may", "me", "might", "more", "most", "must", "my", "no", "not", "of", "on", "only",
    "or", "our", "ours", "out", "over", "own", "please", "reason", "shall", "she", "should", "so", "some", "such",
    "tell", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "too",
    "under", "up", "us", "use", "used", "uses", "using", "very", "was", "we", "were", "what", "when", "where", "which",
    "who", "whom", "whose", "why", "will", "with", "would", "you", "your", "don", "t", "s", "re", "ve", "ll",
];

/// The terms that a text is about: lower-case words, those of grammar left out, in order and without repeats.
pub(in crate::engine) fn terms(text: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    text.unicode_words()
        .flat_map(|word| word.split(['\'', '’', '_']))
        .map(str::to_lowercase)
        .filter(|word| !word.is_empty() && !EMPTY.contains(&word.as_str()))
        .filter(|word| seen.insert(stem(word)))
        .take(MAX_TERMS)
        .collect()
}

/// The share of `terms` that occur in any of `texts`, 0 to 1, whatever their inflection.
pub(in crate::engine) fn coverage(terms: &[String], texts: &[&str]) -> f32 {
    if terms.is_empty() {
        return 0.0;
    }
    let stemmer = Stemmer::create(Algorithm::English);
    let stems: BTreeSet<String> = texts
        .iter()
        .flat_map(|text| text.unicode_words())
        .flat_map(|word| word.split(['\'', '’', '_']))
        .map(|word| stemmer.stem(&word.to_lowercase()).into_owned())
        .collect();
    let found = terms.iter().filter(|term| stems.contains(&*stemmer.stem(term))).count();
    found as f32 / terms.len() as f32
}

/// How well a claim answers: its place among the full-text matches, from 0, weighed by how much of the question it
/// speaks of and by its kind, since a choice explains more than a fact.
pub(in crate::engine) fn score(place: usize, coverage: f32, kind: ClaimKind) -> f32 {
    let weight = match kind {
        ClaimKind::Decision | ClaimKind::Constraint => 1.0,
        ClaimKind::Rejection | ClaimKind::Convention => 0.95,
        ClaimKind::Fact => 0.6,
    };
    // Coverage counts twice: the matches are ordered by any of the terms, and most of them share only a common one.
    coverage * coverage * weight / (10.0 + place as f32)
}

fn stem(word: &str) -> String {
    Stemmer::create(Algorithm::English).stem(word).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_reduced_to_what_it_asks_for() {
        assert_eq!(terms("Why do we deploy only on green CI?"), ["deploy", "green", "ci"]);
        assert_eq!(terms("why don't we use the thing"), ["thing"]);
        assert_eq!(terms("why is it so?"), Vec::<String>::new());
        assert_eq!(terms("deploys deployed deploying"), ["deploys"]);
    }

    #[test]
    fn coverage_sees_through_inflection() {
        let asked = terms("why do deployments need green builds");
        assert!(coverage(&asked, &["Deployment needs a green build"]) > 0.9);
        assert!(coverage(&asked, &["Postgres port is 5432"]) < f32::EPSILON);
        assert!(coverage(&[], &["anything"]) < f32::EPSILON);
    }

    #[test]
    fn a_choice_outweighs_a_fact_that_matches_as_well() {
        assert!(score(0, 1.0, ClaimKind::Decision) > score(0, 1.0, ClaimKind::Fact));
        assert!(score(9, 1.0, ClaimKind::Fact) > score(0, 0.4, ClaimKind::Decision));
    }
}
