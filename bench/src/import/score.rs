//! Scores the claims that were found in a file against the expected ones.

use std::collections::BTreeSet;

/// The likeness from which two claims count as the same.
const SAME_CLAIM: f64 = 0.8;

/// Words that express or introduce a denial. They are not compared.
const DENYING: [&str; 26] = [
    "not",
    "never",
    "no",
    "do",
    "don't",
    "dont",
    "avoid",
    "accepted",
    "allowed",
    "supported",
    "rejected",
    "forbidden",
    "must",
    "out",
    "of",
    "scope",
    "longer",
    "instead",
    "good",
    "should",
    "you",
    "always",
    "preferred",
    "without",
    "doesn't",
    "cannot",
];

/// Words that make a sentence a denial.
const DENIALS: [&str; 11] =
    ["not", "never", "no", "don't", "dont", "avoid", "rejected", "forbidden", "out", "cannot", "instead"];

/// A claim that a careful person would find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedClaim {
    pub statement: String,
    /// Whether a careful person might as well leave it out.
    pub optional: bool,
}

/// Reads a list of expected claims: one per line; `? ` marks an optional one.
pub fn expected(text: &str) -> Vec<ExpectedClaim> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines
        .map(|line| match line.strip_prefix("? ") {
            Some(rest) => ExpectedClaim { statement: rest.to_owned(), optional: true },
            None => ExpectedClaim { statement: line.to_owned(), optional: false },
        })
        .collect()
}

/// The comparison of the claims of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchedClaims {
    /// Expected claims that were found; optional ones do not count.
    pub hits: usize,
    /// Expected claims that were not found; optional ones do not count.
    pub missed: Vec<String>,
    /// Found claims that were not expected.
    pub surplus: Vec<String>,
}

/// Pairs found claims with expected ones, the most alike first.
pub fn matched(expected: &[ExpectedClaim], taken: &[String]) -> MatchedClaims {
    let mut pairs = Vec::new();
    for (at, want) in expected.iter().enumerate() {
        for (other, got) in taken.iter().enumerate() {
            let alike = alike(&want.statement, got);
            if alike >= SAME_CLAIM {
                pairs.push((alike, at, other));
            }
        }
    }
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut found, mut used) = (BTreeSet::new(), BTreeSet::new());
    for (_, at, other) in pairs {
        if !found.contains(&at) && !used.contains(&other) {
            found.insert(at);
            used.insert(other);
        }
    }
    let mut out = MatchedClaims::default();
    for (at, want) in expected.iter().enumerate().filter(|(_, want)| !want.optional) {
        if found.contains(&at) {
            out.hits += 1;
        } else {
            out.missed.push(want.statement.clone());
        }
    }
    let left = taken.iter().enumerate().filter(|(other, _)| !used.contains(other));
    out.surplus = left.map(|(_, got)| got.clone()).collect();
    out
}

/// Returns how alike two claims are, 0 to 1: the F1 of their words; 0 if one denies and the other does not.
fn alike(a: &str, b: &str) -> f64 {
    let (a, b) = (words(a), words(b));
    let denies = |words: &[String]| words.iter().any(|word| DENIALS.contains(&word.as_str()));
    if denies(&a) != denies(&b) {
        return 0.0;
    }
    let content = |words: Vec<String>| -> Vec<String> {
        words.into_iter().filter(|word| !DENYING.contains(&word.as_str())).collect()
    };
    let (a, mut b) = (content(a), content(b));
    let total = a.len() + b.len();
    if total == 0 {
        return 1.0;
    }
    let mut common = 0;
    for word in &a {
        if let Some(at) = b.iter().position(|other| other == word) {
            b.swap_remove(at);
            common += 1;
        }
    }
    2.0 * f64::from(common) / total as f64
}

fn words(text: &str) -> Vec<String> {
    text.to_lowercase()
        .replace('’', "'")
        .split(|c: char| c.is_whitespace() || matches!(c, '—' | '–' | ':' | ';' | ','))
        .map(|word| {
            word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '*' | '<' | '>' | '_')).to_owned()
        })
        .filter(|word| !word.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_found_whatever_words_deny_it_and_never_as_its_opposite() {
        assert!(alike("Not accepted: generated code.", "Do not accepted generated code") > 0.9);
        assert!(alike("Never commit secrets.", "Do not commit secrets.") > 0.9);
        assert!(alike("Commit secrets.", "Do not commit secrets.") < 0.1);
        assert!(alike("Use tabs.", "Run the tests.") < SAME_CLAIM);
    }

    #[test]
    fn each_claim_counts_once() {
        let expected = expected("Use tabs.\n? Use `x`.\n\nRun the tests.\n");
        let taken = ["Use tabs.".to_owned(), "Use tabs.".to_owned(), "Use `x`.".to_owned()];
        let found = matched(&expected, &taken);
        assert_eq!((found.hits, found.missed.len(), found.surplus.len()), (1, 1, 1));
    }
}
