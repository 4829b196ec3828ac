//! Divides a question into terms and up to eight sub-queries.

use std::collections::BTreeSet;

use super::{Vocabulary, vocabulary::MAX_ENTRY_WORDS};
use crate::domain::{stop_words::is_stop_word, text};

/// The maximum number of sub-queries.
pub const MAX_SUB_QUERIES: usize = 8;

/// The maximum number of terms of a question.
const MAX_TERMS: usize = 12;

/// The maximum number of synonyms of all terms together.
const MAX_SYNONYMS: usize = 40;

/// A word of a question, or a phrase of the vocabulary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The term as written, in lower case.
    pub asked: String,
    /// Its stems: one, unless it is a phrase.
    pub stems: Vec<String>,
    /// Its synonyms in the vocabulary, as stems.
    pub others: Vec<Vec<String>>,
    /// Whether it is written like a name: with a capital within a sentence, several capitals, or digits and letters.
    pub name: bool,
}

/// A question as terms and sub-queries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// Its terms, in order and without repeats.
    pub terms: Vec<Term>,
    /// The sub-queries, as indexes into `terms`. The first has all terms, any of which may match; the terms of the others must be adjacent.
    pub sub_queries: Vec<Vec<usize>>,
}

impl Question {
    /// Parses a question. Stop words are left out; phrases of the vocabulary are one term.
    pub fn new(question: &str, vocabulary: &Vocabulary) -> Self {
        let terms = terms(question, vocabulary);
        let sub_queries = sub_queries(terms.len());
        Self { terms, sub_queries }
    }

    /// Returns the name of the method: `decompose_N` for N sub-queries, with `_v` if the vocabulary added synonyms.
    pub fn method(&self) -> String {
        let added = if self.terms.iter().any(|term| !term.others.is_empty()) { "_v" } else { "" };
        format!("decompose_{}{added}", self.sub_queries.len())
    }

    /// Returns the sub-queries whose terms must be adjacent.
    pub fn adjacent(&self) -> &[Vec<usize>] {
        self.sub_queries.get(1..).unwrap_or_default()
    }
}

fn terms(question: &str, vocabulary: &Vocabulary) -> Vec<Term> {
    let asked: Vec<String> = text::words(question).collect();
    let stems = text::stems(question);
    let names = names(question);
    let mut terms: Vec<Term> = Vec::new();
    let (mut seen, mut room) = (BTreeSet::new(), MAX_SYNONYMS);
    let mut at = 0;
    while at < stems.len() && terms.len() < MAX_TERMS {
        // Takes the longest phrase that the vocabulary contains, or else the word.
        let known = |many: &usize| {
            let phrase = stems.get(at..at + many);
            phrase.is_some_and(|phrase| !vocabulary.others(phrase).is_empty())
        };
        let many = (2..=MAX_ENTRY_WORDS).rev().find(known).unwrap_or(1);
        let end = (at + many).min(stems.len());
        let (words, own) = (&asked[at..end], stems[at..end].to_vec());
        at = end;
        if (many == 1 && words.iter().all(|word| is_stop_word(word))) || !seen.insert(own.clone()) {
            continue;
        }
        let others: Vec<_> = vocabulary.others(&own).iter().take(room).cloned().collect();
        room -= others.len();
        let name = words.iter().any(|word| names.contains(word));
        terms.push(Term { asked: words.join(" "), stems: own, others, name });
    }
    terms
}

/// Returns the words of a question that are written like names, in lower case.
fn names(question: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut begins = true;
    for token in question.split_whitespace() {
        let word = token.trim_matches(|c: char| !c.is_alphanumeric());
        let capitals = word.chars().filter(|c| c.is_uppercase()).count();
        let mixed = word.chars().any(char::is_alphabetic) && word.chars().any(char::is_numeric);
        if capitals > 1 || mixed || (capitals == 1 && !begins && word.starts_with(char::is_uppercase)) {
            names.extend(text::words(word));
        }
        begins = token.ends_with(['.', '?', '!', ':', '\u{201c}']);
    }
    names
}

/// Returns the sub-query of all terms, then those of three, two and one consecutive terms, up to the limit.
fn sub_queries(terms: usize) -> Vec<Vec<usize>> {
    if terms == 0 {
        return Vec::new();
    }
    let runs = |length: usize| (0..(terms + 1).saturating_sub(length)).map(move |from| (from..from + length).collect());
    let mut all: Vec<Vec<usize>> = vec![(0..terms).collect()];
    // A single term alone is the first sub-query already.
    all.extend([3, 2].into_iter().filter(|length| *length <= terms).flat_map(runs));
    if terms > 1 {
        all.extend(runs(1));
    }
    all.truncate(MAX_SUB_QUERIES);
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn asked(question: &str) -> Vec<String> {
        Question::new(question, &Vocabulary::default()).terms.into_iter().map(|term| term.asked).collect()
    }

    #[test]
    fn stop_words_and_repeats_are_left_out() {
        assert_eq!(asked("Why do we deploy only on green CI?"), ["deploy", "green", "ci"]);
        assert_eq!(asked("why don't we use the thing"), ["thing"]);
        assert_eq!(asked("deploys deployed deploying"), ["deploys"]);
        assert!(asked("why is it so?").is_empty());
    }

    #[test]
    fn sub_queries_are_all_then_runs_and_never_more_than_eight() {
        assert_eq!(sub_queries(0), Vec::<Vec<usize>>::new());
        assert_eq!(sub_queries(1), [vec![0]]);
        assert_eq!(sub_queries(2), [vec![0, 1], vec![0, 1], vec![0], vec![1]]);
        assert_eq!(sub_queries(3), [vec![0, 1, 2], vec![0, 1, 2], vec![0, 1], vec![1, 2], vec![0], vec![1], vec![2]]);
        assert_eq!(sub_queries(9).len(), MAX_SUB_QUERIES);
    }

    #[test]
    fn the_method_says_how_many_and_whether_words_were_added() {
        let vocabulary = Vocabulary::parse("message broker > kafka");
        assert_eq!(Question::new("the message broker port", &vocabulary).method(), "decompose_4_v");
        assert_eq!(Question::new("port", &vocabulary).method(), "decompose_1");
        assert_eq!(Question::new("why?", &vocabulary).method(), "decompose_0");
    }

    #[test]
    fn names_are_recognised_by_their_spelling() {
        let question = Question::new(
            "Which version of Redis runs on the API host? Do S3 or Windows count",
            &Vocabulary::default(),
        );
        let names: Vec<&str> = question.terms.iter().filter(|term| term.name).map(|term| term.asked.as_str()).collect();
        assert_eq!(names, ["redis", "api", "s3", "windows"]);
    }

    #[test]
    fn a_phrase_of_the_vocabulary_is_one_term_even_with_stop_words() {
        let vocabulary = Vocabulary::parse("sign in, log in");
        let question = Question::new("How do we sign in?", &vocabulary);
        assert_eq!((question.terms[0].asked.as_str(), question.terms.len()), ("sign in", 1));
        assert_eq!(question.terms[0].others, [vec!["log".to_owned(), "in".to_owned()]]);
    }

    proptest! {
        #[test]
        fn every_question_stays_within_limits(question in "\\PC{0,400}") {
            let question = Question::new(&question, Vocabulary::built_in());
            prop_assert!(question.terms.len() <= MAX_TERMS && question.sub_queries.len() <= MAX_SUB_QUERIES);
            prop_assert!(question.terms.iter().map(|term| term.others.len()).sum::<usize>() <= MAX_SYNONYMS);
            let places = question.sub_queries.iter().flatten();
            prop_assert!(places.copied().all(|place| place < question.terms.len()));
        }
    }
}
