//! Six words in place of a number: what two people compare, aloud or by eye.
//!
//! The list is ergo's own (`assets/words.txt`): 256 nouns of three to eight letters, no two of which begin alike in their first four
//! letters or differ in a single one. Six of them say 48 bits.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

/// How many words are compared.
pub const WORDS: usize = 6;

const LIST: &str = include_str!("../../assets/words.txt");

/// The six words of a secret, or of what is to be the same on both sides. `purpose` keeps the words of one thing apart from those of
/// another; the same purpose and material give the same words everywhere.
pub fn words(purpose: &str, material: &[u8]) -> [&'static str; WORDS] {
    let list: Vec<&'static str> = LIST.lines().collect();
    let hash = blake3::derive_key(&format!("ergo/words/1 {purpose}"), material);
    let mut out = [""; WORDS];
    for (word, byte) in out.iter_mut().zip(hash) {
        *word = list.get(usize::from(byte)).copied().unwrap_or_default();
    }
    out
}

/// Whether what a person typed is what was shown: case and the space between do not count.
pub fn same(typed: &[String], shown: &[String]) -> bool {
    let plain = |words: &[String]| -> Vec<String> {
        words
            .iter()
            .flat_map(|word| word.split([' ', '-', ',']))
            .filter(|w| !w.is_empty())
            .map(str::to_lowercase)
            .collect()
    };
    !shown.is_empty() && plain(typed) == plain(shown)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_list_has_256_words_that_cannot_be_confused() {
        let list: Vec<_> = LIST.lines().collect();
        assert_eq!(list.len(), 256);
        assert!(list.is_sorted());
        let starts: BTreeSet<_> = list.iter().map(|word| &word[..word.len().min(4)]).collect();
        assert_eq!(starts.len(), 256, "the first four letters tell each word from every other");
        for word in &list {
            assert!((3..=8).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_lowercase()), "{word}");
            for other in list.iter().filter(|other| *other != word && other.len() == word.len()) {
                let differ = word.bytes().zip(other.bytes()).filter(|(a, b)| a != b).count();
                assert!(differ > 1, "{word} and {other} differ in one letter");
            }
        }
    }

    #[test]
    fn the_words_of_one_thing_never_change_and_differ_by_purpose() {
        let shown = words("pair", b"material");
        assert_eq!(shown, words("pair", b"material"));
        assert_ne!(shown, words("pair", b"materiel"));
        assert_ne!(shown, words("card", b"material"));
        // Two versions of ergo must show the same words.
        assert_eq!(shown.join(" "), "quartz coyote carpet harvest rabbit harvest");
    }

    #[test]
    fn what_is_typed_may_be_written_in_any_way_but_must_be_all_of_it() {
        let shown: Vec<String> = ["acid", "acorn", "agent"].map(str::to_owned).into();
        for typed in [
            vec!["acid acorn agent"],
            vec!["Acid", "ACORN", "agent"],
            vec!["acid-acorn-agent"],
            vec!["acid,", "acorn, agent"],
        ] {
            assert!(same(&typed.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>(), &shown), "{typed:?}");
        }
        for typed in [vec![], vec!["acid acorn"], vec!["acorn acid agent"], vec!["acid acorn agent acid"]] {
            assert!(!same(&typed.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>(), &shown), "{typed:?}");
        }
        assert!(!same(&[], &[]), "no words are never the right ones");
    }
}
