//! Synonyms between the words of questions and the words of claims.
//!
//! The built-in ones apply to software work in general (`assets/recall/vocabulary.txt`); a scope may add its own.

use std::{collections::HashMap, sync::LazyLock};

use crate::domain::text::stems;

/// The maximum number of words of one entry.
pub(super) const MAX_ENTRY_WORDS: usize = 3;

/// The maximum number of synonyms of an entry. An entry with more would be so general that it finds everything.
const MAX_SYNONYMS: usize = 12;

/// Synonyms of words and phrases, by their stems.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vocabulary {
    sets: HashMap<Vec<String>, Vec<Vec<String>>>,
}

impl Vocabulary {
    /// Returns the built-in vocabulary.
    pub fn built_in() -> &'static Self {
        static BUILT_IN: LazyLock<Vocabulary> =
            LazyLock::new(|| Vocabulary::parse(include_str!("../../assets/recall/vocabulary.txt")));
        &BUILT_IN
    }

    /// Parses sets, one per line. In `a, b, c` each finds the others; in `a > b, c` a finds b and c, and each of these finds a. `#` begins a
    /// comment.
    pub fn parse(text: &str) -> Self {
        let mut all = Self::default();
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default();
            let entries = |list: &str| -> Vec<Vec<String>> { list.split(',').map(stems).collect() };
            if let Some((generic, members)) = line.split_once('>') {
                let generic = stems(generic);
                for member in entries(members) {
                    all.add(&generic, &member);
                    all.add(&member, &generic);
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

    /// Makes `from` find `to`, both as stems.
    pub fn add(&mut self, from: &[String], to: &[String]) {
        let fits = |words: &[String]| (1..=MAX_ENTRY_WORDS).contains(&words.len());
        if !fits(from) || !fits(to) || from == to {
            return;
        }
        let others = self.sets.entry(from.to_vec()).or_default();
        if others.len() < MAX_SYNONYMS && !others.iter().any(|other| other == to) {
            others.push(to.to_vec());
        }
    }

    /// Returns the synonyms of these stems.
    pub fn others(&self, words: &[String]) -> &[Vec<String>] {
        self.sets.get(words).map_or(&[], Vec::as_slice)
    }

    /// Returns the single words of the built-in vocabulary, as they are written.
    pub fn built_in_words() -> Vec<String> {
        let text = include_str!("../../assets/recall/vocabulary.txt");
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
        let entries = lines.flat_map(|line| line.split([',', '>'])).map(str::trim);
        entries.filter(|entry| !entry.is_empty() && !entry.contains(' ')).map(str::to_owned).collect()
    }

    /// Returns the number of words and phrases.
    pub fn len(&self) -> usize {
        self.sets.len()
    }

    /// Returns whether it is empty.
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
    fn members_of_a_set_find_each_other_and_a_generic_term_finds_its_members() {
        let vocabulary = Vocabulary::parse("# a comment\nerase, delete, purge\nbroker > kafka, rabbitmq # more\n\n");
        assert_eq!(others(&vocabulary, "deleting"), ["eras", "purg"]);
        assert_eq!(others(&vocabulary, "brokers"), ["kafka", "rabbitmq"]);
        assert_eq!(others(&vocabulary, "kafka"), ["broker"], "not another member");
        assert!(others(&vocabulary, "unknown").is_empty());
    }

    #[test]
    fn the_built_in_vocabulary_is_valid() {
        let vocabulary = Vocabulary::built_in();
        assert!(vocabulary.len() > 400 && !vocabulary.is_empty());
        assert!(others(vocabulary, "message broker").contains(&"kafka".to_owned()));
        for line in include_str!("../../assets/recall/vocabulary.txt").lines().filter(|line| !line.starts_with('#')) {
            for entry in line.split([',', '>']).filter(|_| !line.is_empty()) {
                assert!((1..=MAX_ENTRY_WORDS).contains(&stems(entry).len()), "{entry:?} in {line:?}");
            }
        }
    }
}
