//! The row `lexical`, a baseline: overlap of tokens, with cues of negation, antonyms and numbers. No grammar, no stems.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use super::path::{GuardPath, Opposed, WriteAnswer};
use ergo::domain::{ClaimKind, Tier};

/// The overlap (Jaccard) from which a pair with a cue is refused. The real rules of the measured data then get 4.2 false
/// refusals per 1,000 (bench/guard-quality.md), about as many as a user could bear.
const BLOCK: f32 = 0.40;
/// The overlap from which a pair with a cue gets a warning.
const WARN: f32 = 0.30;

const NEGATIONS: &[&str] = &[
    "not",
    "never",
    "no",
    "don't",
    "cannot",
    "can't",
    "without",
    "avoid",
    "forbidden",
    "nor",
    "doesn't",
    "isn't",
    "aren't",
    "won't",
];

const ANTONYMS: &[(&str, &str)] = &[
    ("enable", "disable"),
    ("enabled", "disabled"),
    ("allow", "forbid"),
    ("allowed", "forbidden"),
    ("always", "never"),
    ("public", "private"),
    ("sync", "async"),
    ("synchronous", "asynchronous"),
    ("tabs", "spaces"),
    ("short", "long"),
    ("before", "after"),
    ("add", "remove"),
    ("required", "optional"),
    ("mandatory", "optional"),
    ("include", "exclude"),
    ("true", "false"),
    ("merge", "rebase"),
    ("first", "last"),
];

const STOP: &[&str] = &[
    "a", "an", "the", "is", "are", "to", "of", "in", "and", "or", "for", "on", "with", "be", "we", "it", "this",
    "that", "by", "as", "at", "must", "should", "will",
];

/// The words of a statement.
struct WordBag {
    words: BTreeSet<String>,
    numbers: BTreeSet<String>,
    negated: bool,
}

fn bag(statement: &str) -> WordBag {
    let (mut words, mut numbers, mut negated) = (BTreeSet::new(), BTreeSet::new(), false);
    for word in statement.to_lowercase().split(|c: char| !(c.is_alphanumeric() || c == '\'')) {
        if NEGATIONS.contains(&word) {
            negated = true;
        } else if word.starts_with(|c: char| c.is_ascii_digit()) {
            numbers.insert(word.to_owned());
        } else if !word.is_empty() && !STOP.contains(&word) {
            words.insert(word.to_owned());
        }
    }
    WordBag { words, numbers, negated }
}

/// Returns the overlap and the cue of a contradiction; without a cue the score is 0.
fn score(a: &WordBag, b: &WordBag) -> (f32, &'static str) {
    let shared = a.words.intersection(&b.words).count();
    let all = a.words.union(&b.words).count().max(1);
    let overlap = shared as f32 / all as f32;
    let across =
        |x: &str, y: &str| a.words.contains(x) && b.words.contains(y) && !a.words.contains(y) && !b.words.contains(x);
    if a.negated != b.negated {
        (overlap, "negation")
    } else if ANTONYMS.iter().any(|(x, y)| across(x, y) || across(y, x)) {
        (overlap, "antonym")
    } else if !a.numbers.is_empty() && !b.numbers.is_empty() && a.numbers.is_disjoint(&b.numbers) {
        (overlap, "number")
    } else {
        (0.0, "none")
    }
}

/// A project in memory: the words, the text, and whether each statement is active.
#[derive(Default)]
pub(super) struct Lexical {
    stored: Vec<(WordBag, String, bool)>,
}

impl GuardPath for Lexical {
    fn fresh(&mut self) {
        self.stored.clear();
    }

    fn write(&mut self, _kind: ClaimKind, statement: &str) -> WriteAnswer {
        let start = Instant::now();
        let ours = bag(statement);
        let mut opposed: Vec<Opposed> = self
            .stored
            .iter()
            .enumerate()
            .filter(|(_, (.., active))| *active)
            .filter_map(|(number, (theirs, ..))| {
                let (score, cue) = score(&ours, theirs);
                let tier = if score >= BLOCK {
                    Tier::Block
                } else if score >= WARN {
                    Tier::Warn
                } else {
                    Tier::Clean
                };
                (score > 0.0).then(|| Opposed { number, tier, score, why: cue.to_owned() })
            })
            .collect();
        opposed.sort_by(|a, b| b.score.total_cmp(&a.score));
        let took = start.elapsed();
        self.stored.push((ours, statement.to_owned(), true));
        WriteAnswer { opposed, took }
    }

    fn write_or_supersede(&mut self, statement: &str, _reason: &str) -> (bool, Duration) {
        let answer = self.write(ClaimKind::Decision, statement);
        let blocking: Vec<usize> = answer.opposed.iter().filter(|o| o.tier == Tier::Block).map(|o| o.number).collect();
        for number in &blocking {
            self.stored[*number].2 = false;
        }
        (!blocking.is_empty(), answer.took)
    }

    fn answer(&mut self, question: &str) -> Option<String> {
        let asked = bag(question);
        self.stored
            .iter()
            .enumerate()
            .filter(|(_, (.., active))| *active)
            .max_by_key(|(number, (bag, ..))| (bag.words.intersection(&asked.words).count(), *number))
            .map(|(_, (_, statement, _))| statement.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cue_is_needed_and_overlap_counts() {
        let of = |a: &str, b: &str| score(&bag(a), &bag(b));
        assert!(of("Use tabs for indentation", "Never use tabs for indentation").0 > 0.9);
        assert!(of("Use tabs for indentation", "Use tabs for all indentation").0 < f32::EPSILON);
        assert_eq!(of("Port is 80", "Port is 81").1, "number");
    }
}
