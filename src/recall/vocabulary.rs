//! Which words stand for each other: what people ask with, and what claims are written in.
//!
//! The built-in sets are general knowledge of software work (`assets/recall/vocabulary.txt`); a scope may add its own.

use std::{collections::HashMap, sync::LazyLock};

use crate::domain::text::stems;

/// The most words of one entry.
pub(super) const LONGEST: usize = 3;

/// The most entries that stand for another: beyond, they are so general that they find everything.
const MOST: usize = 12;

/// Words, or phrases, that stand for others, by their stems.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vocabulary {
    sets: HashMap<Vec<String>, Vec<Vec<String>>>,
}

impl Vocabulary {
    /// What is built in.
    pub fn built_in() -> &'static Self {
        static BUILT_IN: LazyLock<Vocabulary> =
            LazyLock::new(|| Vocabulary::parse(include_str!("../../assets/recall/vocabulary.txt")));
        &BUILT_IN
    }

    /// Reads sets, one a line: `a, b, c` find each other; `a > b, c` finds b and c from a, and a from each of them. `#` begins a comment.
    pub fn parse(text: &str) -> Self {
        let mut all = Self::default();
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default();
            let entries = |list: &str| -> Vec<Vec<String>> { list.split(',').map(stems).collect() };
            if let Some((sort, members)) = line.split_once('>') {
                let sort = stems(sort);
                for member in entries(members) {
                    all.add(&sort, &member);
                    all.add(&member, &sort);
                }
                continue;
            }
            let set = entries(line);
            for a in &set {
                for b in &set {
                    all.add(a, b);
                }
            }
        }
        all
    }

    /// Adds that `from` finds `to`, both by their stems.
    pub fn add(&mut self, from: &[String], to: &[String]) {
        let fits = |words: &[String]| (1..=LONGEST).contains(&words.len());
        if !fits(from) || !fits(to) || from == to {
            return;
        }
        let others = self.sets.entry(from.to_vec()).or_default();
        if others.len() < MOST && !others.iter().any(|other| other == to) {
            others.push(to.to_vec());
        }
    }

    /// What stands for these words.
    pub fn others(&self, words: &[String]) -> &[Vec<String>] {
        self.sets.get(words).map_or(&[], Vec::as_slice)
    }

    /// The single words of the built-in one, as they are written.
    pub fn built_in_words() -> Vec<String> {
        let text = include_str!("../../assets/recall/vocabulary.txt");
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
        let entries = lines.flat_map(|line| line.split([',', '>'])).map(str::trim);
        entries.filter(|entry| !entry.is_empty() && !entry.contains(' ')).map(str::to_owned).collect()
    }

    /// How many words and phrases it knows.
    pub fn len(&self) -> usize {
        self.sets.len()
    }

    /// Whether it knows none.
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn others(vocabulary: &Vocabulary, words: &str) -> Vec<String> {
        vocabulary.others(&stems(words)).iter().map(|other| other.join(" ")).collect()
    }

    #[test]
    fn a_set_finds_all_of_itself_and_a_sort_only_its_members() {
        let vocabulary = Vocabulary::parse("# a comment\nerase, delete, purge\nbroker > kafka, rabbitmq # more\n\n");
        assert_eq!(others(&vocabulary, "deleting"), ["eras", "purg"]);
        assert_eq!(others(&vocabulary, "brokers"), ["kafka", "rabbitmq"]);
        assert_eq!(others(&vocabulary, "kafka"), ["broker"], "not its rival");
        assert!(others(&vocabulary, "unheard").is_empty());
    }

    #[test]
    fn the_built_in_one_is_read_whole() {
        let vocabulary = Vocabulary::built_in();
        assert!(vocabulary.len() > 400 && !vocabulary.is_empty());
        assert!(others(vocabulary, "message broker").contains(&"kafka".to_owned()));
        for line in include_str!("../../assets/recall/vocabulary.txt").lines().filter(|line| !line.starts_with('#')) {
            for entry in line.split([',', '>']).filter(|_| !line.is_empty()) {
                assert!((1..=LONGEST).contains(&stems(entry).len()), "{entry:?} in {line:?}");
            }
        }
    }
}
