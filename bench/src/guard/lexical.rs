//! The baseline: overlap of tokens, with cues of negation, of antonyms and of numbers. No grammar, no stems.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use super::path::{Answer, GuardPath, Opposed};
use ergo::domain::{ClaimKind, Tier};

/// Overlap (Jaccard) from which a pair with a cue blocks. Chosen so that the real rules of the measured data give about 3 false blocks per 1,000,
/// which is where a user could bear it.
const BLOCK: f32 = 0.40;
/// Overlap from which a pair with a cue warns.
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

struct Bag {
    words: BTreeSet<String>,
    numbers: BTreeSet<String>,
    negated: bool,
}

fn bag(statement: &str) -> Bag {
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
    Bag { words, numbers, negated }
}

/// Overlap where some cue says that the pair differs in sense, else nothing.
fn score(a: &Bag, b: &Bag) -> (f32, &'static str) {
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

/// A project of bags of words.
#[derive(Default)]
pub(super) struct Lexical {
    stored: Vec<(Bag, String, bool)>,
}

impl GuardPath for Lexical {
    fn fresh(&mut self) {
        self.stored.clear();
    }

    fn write(&mut self, _kind: ClaimKind, statement: &str) -> Answer {
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
        Answer { opposed, took }
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
