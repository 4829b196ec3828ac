//! Fuzzy matching of typed text: letters in their order, with gaps, and one or two typing errors in longer words.

use frizbee::{CaseMatching, Config, Matcher, Pattern, PatternConfig};

/// A word may have one typing error per this many letters, but at most two.
const LETTERS_PER_TYPO: usize = 4;

/// Finds the texts that contain every typed word. Returns their numbers with scores, the best first, and equal ones in
/// the given order; nothing if nothing is typed.
pub fn find(wanted: &str, texts: &[impl AsRef<str>]) -> Vec<(usize, u16)> {
    let pattern = |word: &str| {
        let typos = u16::try_from(word.chars().count() / LETTERS_PER_TYPO).unwrap_or(0).min(2);
        Pattern::new(word, PatternConfig::default()).max_typos(Some(typos))
    };
    let patterns: Vec<Pattern> = wanted.split_whitespace().map(pattern).collect();
    if patterns.is_empty() {
        return Vec::new();
    }
    let mut matcher = Matcher::from_patterns(&patterns, &Config::default().casing(CaseMatching::Ignore));
    let found = matcher.match_list(texts);
    found.into_iter().map(|found| (usize::try_from(found.index).unwrap_or(usize::MAX), found.score)).collect()
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn letters_in_order_and_a_slip_find_the_text() {
        let texts = ["Retract", "Dismiss", "Keep both as an exception", "Snooze"];
        let best = |wanted: &str| find(wanted, &texts).first().map(|(index, _)| *index);
        assert_eq!(best("retr"), Some(0));
        assert_eq!(best("dsms"), Some(1));
        assert_eq!(best("dimsiss"), Some(1), "two letters changed places");
        assert_eq!(best("keep excep"), Some(2));
        assert_eq!(best("SNOOZ"), Some(3));
        assert_eq!(best("xyzzy"), None);
        assert_eq!(best("  "), None);
    }
}
