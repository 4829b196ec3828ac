//! Verification codes: six words that two people compare, read aloud or on their screens, in place of a hash.
//!
//! The list is ergo's own (`assets/words.txt`): 256 nouns of three to eight letters. No two share their first
//! four letters or differ in a single letter. Six words carry 48 bits.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

/// The number of words in a code.
pub const CODE_WORDS: usize = 6;

const WORD_LIST: &str = include_str!("../../assets/words.txt");

/// Returns the code of `material`. Different values of `purpose` give unrelated codes; the same purpose and
/// material give the same words on every device.
pub fn verification_code(purpose: &str, material: &[u8]) -> [&'static str; CODE_WORDS] {
    let list: Vec<&'static str> = WORD_LIST.lines().collect();
    let hash = blake3::derive_key(&format!("ergo/words/1 {purpose}"), material);
    let mut out = [""; CODE_WORDS];
    for (word, byte) in out.iter_mut().zip(hash) {
        *word = list.get(usize::from(byte)).copied().unwrap_or_default();
    }
    out
}

/// Whether the typed words are those that were shown, ignoring case and separators.
pub fn matches(typed: &[String], shown: &[String]) -> bool {
    let plain = |verification_code: &[String]| -> Vec<String> {
        verification_code
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
        let list: Vec<_> = WORD_LIST.lines().collect();
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
    fn codes_are_stable_and_differ_by_purpose() {
        let shown = verification_code("pair", b"material");
        assert_eq!(shown, verification_code("pair", b"material"));
        assert_ne!(shown, verification_code("pair", b"materiel"));
        assert_ne!(shown, verification_code("card", b"material"));
        // All versions of ergo must show the same words.
        assert_eq!(shown.join(" "), "quartz coyote carpet harvest rabbit harvest");
    }

    #[test]
    fn typed_words_match_in_any_spelling_but_all_are_needed() {
        let shown: Vec<String> = ["acid", "acorn", "agent"].map(str::to_owned).into();
        for typed in [
            vec!["acid acorn agent"],
            vec!["Acid", "ACORN", "agent"],
            vec!["acid-acorn-agent"],
            vec!["acid,", "acorn, agent"],
        ] {
            assert!(matches(&typed.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>(), &shown), "{typed:?}");
        }
        for typed in [vec![], vec!["acid acorn"], vec!["acorn acid agent"], vec!["acid acorn agent acid"]] {
            assert!(!matches(&typed.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>(), &shown), "{typed:?}");
        }
        assert!(!matches(&[], &[]), "no words are never the right ones");
    }
}
