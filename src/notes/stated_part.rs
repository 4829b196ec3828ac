//! Finds the part of the work for which a rule says that it holds, such as “in tests” or “on Windows”, and the rest of the rule.

use std::collections::BTreeSet;

/// The words with which such a part can begin.
const OPENERS: [&str; 19] = [
    "in", "on", "for", "within", "inside", "outside", "during", "when", "whenever", "while", "if", "unless", "except",
    "where", "under", "at", "before", "after", "until",
];

/// The openers with which a part at the end of a rule can begin. After the other ones, the end of a rule mostly says what is done, not
/// where.
const CLOSING: [&str; 15] = [
    "in", "on", "for", "within", "inside", "outside", "during", "when", "whenever", "while", "if", "unless", "except",
    "where", "under",
];

/// The maximum number of words of a part at the beginning of a rule, up to its comma or colon.
const MAX_LEADING_WORDS: usize = 8;

/// The maximum number of words of a part at the end of a rule, without its first word.
const MAX_TRAILING_WORDS: usize = 5;

/// The minimum number of words of the rest of the rule.
const MIN_REST_WORDS: usize = 2;

/// Words that do not distinguish parts.
const IGNORED: [&str; 10] = ["a", "an", "the", "our", "your", "all", "any", "each", "every", "this"];

/// The stated part of a rule, and the rest of the rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatedPart {
    /// The rule without the part.
    pub rest: String,
    /// The part, as it is written: “in tests”.
    pub part: String,
}

/// Finds the part of the work that a rule states at its beginning, up to a comma or colon, or at its end.
pub fn stated_part(statement: &str) -> Option<StatedPart> {
    let statement = statement.trim();
    leading(statement).or_else(|| trailing(statement))
}

fn leading(statement: &str) -> Option<StatedPart> {
    let (part, rest) = statement.split_once([',', ':'])?;
    let words: Vec<&str> = part.split_whitespace().collect();
    let opens = words.first().is_some_and(|word| OPENERS.contains(&word.to_lowercase().as_str()));
    let rest = rest.trim();
    let mut letters = rest.chars();
    let first = letters.next()?;
    let fits =
        opens && (2..=MAX_LEADING_WORDS).contains(&words.len()) && rest.split_whitespace().count() >= MIN_REST_WORDS;
    fits.then(|| StatedPart {
        rest: first.to_uppercase().chain(letters).collect(),
        part: words.join(" ").to_lowercase(),
    })
}

fn trailing(statement: &str) -> Option<StatedPart> {
    let own = statement.trim_end_matches(['.', '!', ';']);
    let words: Vec<&str> = own.split_whitespace().collect();
    let is_opener = |word: &&str| CLOSING.contains(&word.to_lowercase().as_str());
    let last = words.iter().rposition(is_opener)?;
    // “except in tests” is one part.
    let at = if last > 0 && words.get(last - 1).is_some_and(is_opener) { last - 1 } else { last };
    let (rest, part) = words.split_at(at);
    let fits = (2..=MAX_TRAILING_WORDS + 1).contains(&part.len()) && rest.len() >= MIN_REST_WORDS;
    fits.then(|| StatedPart { rest: format!("{}.", rest.join(" ").trim_end_matches(',')), part: part.join(" ") })
}

/// A part that only one of two rules states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneSidedPart {
    /// Whether the first rule states it.
    pub of_first: bool,
    /// The part, and the rest of that rule.
    pub stated: StatedPart,
}

/// Returns the part of the work that one of two rules states, if the other one states none.
pub fn one_sided_part(first: &str, second: &str) -> Option<OneSidedPart> {
    let own = |statement: &str, other: &str| {
        let known = content(other);
        stated_part(statement).filter(|stated| !content(&stated.part).is_subset(&known))
    };
    match (own(first, second), own(second, first)) {
        (Some(stated), None) => Some(OneSidedPart { of_first: true, stated }),
        (None, Some(stated)) => Some(OneSidedPart { of_first: false, stated }),
        _ => None,
    }
}

/// Returns the distinguishing words of a text, without a plural `s`.
fn content(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase);
    let words = words.filter(|word| !IGNORED.contains(&word.as_str()) && !OPENERS.contains(&word.as_str()));
    words.map(|word| word.strip_suffix('s').map(str::to_owned).unwrap_or(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("In tests, mocks must not be used.", "in tests", "Mocks must not be used.")]
    #[case("For the public API: names are never shortened.", "for the public api", "Names are never shortened.")]
    #[case("Paths must be absolute on Windows.", "on Windows", "Paths must be absolute.")]
    #[case("Never call `unwrap`, except in tests.", "except in tests", "Never call `unwrap`.")]
    #[case("Commits must be signed during a release", "during a release", "Commits must be signed.")]
    fn a_rule_says_where_it_holds(#[case] statement: &str, #[case] part: &str, #[case] rest: &str) {
        assert_eq!(stated_part(statement), Some(StatedPart { rest: rest.into(), part: part.into() }));
    }

    #[rstest::rstest]
    #[case("Commits must be signed.")]
    #[case("Use tabs, not spaces.")]
    #[case("In short.")]
    #[case("Log in.")]
    #[case("Keep in mind that every request that reaches the gateway carries a token of its own.")]
    #[case("")]
    fn most_rules_hold_everywhere(#[case] statement: &str) {
        assert_eq!(stated_part(statement), None);
    }

    #[test]
    fn a_part_counts_if_the_other_rule_does_not_name_it() {
        let (one, other) = ("In tests, mocks must be used.", "Mocks must not be used.");
        assert!(one_sided_part(one, other).unwrap().of_first);
        assert!(!one_sided_part(other, one).unwrap().of_first);
        assert_eq!(one_sided_part("Use mocks in tests.", "A test must not use mocks."), None);
        assert_eq!(one_sided_part("Use mocks in tests.", "Use no mocks on Windows."), None, "each has one");
        assert_eq!(one_sided_part("Use mocks.", "Use no mocks."), None);
    }
}
