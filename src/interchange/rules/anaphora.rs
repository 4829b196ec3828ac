//! Sentences that need the previous one to be understood, such as “Never paste one into a PR.” If their subject can be resolved, it
//! is inserted; otherwise they are skipped.

use super::wording;
use crate::interchange::sentence::{capital, uncapital};

/// First words that refer to the previous sentence.
const OPENERS: [&str; 21] = [
    "it",
    "they",
    "them",
    "he",
    "she",
    "both",
    "either",
    "neither",
    "otherwise",
    "then",
    "instead",
    "but",
    "and",
    "or",
    "however",
    "therefore",
    "likewise",
    "similarly",
    "thus",
    "such",
    "same",
];

/// Pronouns that need an antecedent.
const PRONOUNS: [&str; 7] = ["it", "them", "one", "ones", "this", "these", "those"];

/// Function words, which name nothing.
const FUNCTION_WORDS: [&str; 56] = [
    "a", "all", "also", "always", "an", "and", "any", "are", "as", "at", "be", "before", "after", "by", "can",
    "cannot", "do", "don't", "each", "ever", "every", "for", "from", "if", "in", "into", "is", "may", "must", "never",
    "no", "not", "of", "on", "once", "only", "or", "please", "shall", "should", "so", "than", "that", "the", "then",
    "to", "until", "unless", "was", "we", "when", "where", "will", "with", "without", "you",
];

/// Transitive verbs: an imperative with one of them needs an object.
const TRANSITIVE_VERBS: [&str; 22] = [
    "skip", "use", "avoid", "omit", "remove", "delete", "replace", "rename", "ignore", "disable", "enable", "put",
    "store", "place", "keep", "set", "add", "wrap", "mark", "exclude", "treat", "tag",
];

/// Words with which no object begins.
const NON_OBJECT_STARTS: [&str; 15] =
    ["in", "on", "for", "when", "if", "unless", "at", "during", "with", "from", "after", "before", "by", "to", "where"];

/// Nouns after “this” that refer to the project or the file, and need no previous sentence.
const SELF_REFERENCES: [&str; 20] = [
    "project",
    "repo",
    "repository",
    "codebase",
    "crate",
    "package",
    "service",
    "application",
    "app",
    "library",
    "team",
    "document",
    "file",
    "guide",
    "workspace",
    "directory",
    "module",
    "plugin",
    "product",
    "website",
];

/// Whether a sentence cannot be understood without the previous one.
pub(super) fn is_context_dependent(sentence: &str) -> bool {
    let words = wording::words_outside_code(sentence);
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let first = word(0);
    if OPENERS.contains(&first) {
        return true;
    }
    if ["as above", "see above", "see below", "the above", "the former", "the latter", "as described above"]
        .iter()
        .any(|phrase| words.join(" ").contains(phrase))
    {
        return true;
    }
    if matches!(first, "this" | "that" | "these" | "those") {
        return !SELF_REFERENCES.contains(&word(1));
    }
    let imperative = usize::from(matches!(first, "never" | "always" | "please" | "only"))
        + usize::from(matches!((first, word(1)), ("do", "not"))) * 2
        + usize::from(first == "don't");
    let next = usize::from(word(imperative + 1) == "only") + 1;
    let followed = word(imperative + next);
    if TRANSITIVE_VERBS.contains(&word(imperative))
        && NON_OBJECT_STARTS.contains(&followed)
        && word(imperative + next + 1) != "mind"
    {
        // “Use in tests” lacks its object, and so does “Add to the changelog when …”. “Keep to the left” does not, but is rare.
        return true;
    }
    words.iter().enumerate().skip(1).any(|(at, pronoun)| {
        if !PRONOUNS.contains(&pronoun.as_str()) {
            return false;
        }
        let next = word(at + 1);
        let stands_alone = next.is_empty() || FUNCTION_WORDS.contains(&next) || NON_OBJECT_STARTS.contains(&next);
        let counted = ["one", "ones"].contains(&pronoun.as_str())
            && (FUNCTION_WORDS.contains(&word(at - 1)) && !matches!(word(at - 1), "not" | "never" | "if" | "when")
                || next == "of");
        if matches!(pronoun.as_str(), "it" | "them") && next == "simple" {
            return false;
        }
        if (!stands_alone && !matches!(pronoun.as_str(), "it" | "them")) || counted {
            return false;
        }
        // Any noun-like word before the pronoun may be its antecedent, except the initial verb.
        let names = |word: &&String| !FUNCTION_WORDS.contains(&word.as_str()) && !PRONOUNS.contains(&word.as_str());
        let named = words.iter().take(at).skip(imperative).filter(names).count();
        let verb = usize::from(
            !FUNCTION_WORDS.contains(&word(imperative)) && imperative < at && wording::is_verb(word(imperative)),
        );
        named <= verb
    })
}

/// Returns the subject of a sentence, or the object of an imperative.
pub(super) fn subject(sentence: &str) -> Option<String> {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    let plain = |word: &str| word.to_lowercase().trim_matches(|c: char| !c.is_alphanumeric() && c != '\'').to_owned();
    let first = plain(words.first()?);
    if OPENERS.contains(&first.as_str()) || PRONOUNS.contains(&first.as_str()) {
        return None;
    }
    let (from, until): (usize, usize) = if wording::is_verb(&first) && !wording::states_first(sentence) {
        let until = words.iter().skip(1).position(|word| {
            NON_OBJECT_STARTS.contains(&plain(word).as_str())
                || matches!(plain(word).as_str(), "and" | "or" | "of" | "not" | "as" | "within")
        });
        (1, until.map_or(words.len(), |at| at + 1))
    } else {
        (0, words.iter().skip(1).position(|word| wording::is_finite(&plain(word)))? + 1)
    };
    let found = words.get(from..until)?;
    let text = found.join(" ");
    let text = text.trim_end_matches(['.', ',', ';', ':', '!']);
    let named = found.iter().any(|word| !FUNCTION_WORDS.contains(&plain(word).as_str()));
    (named && (1..=7).contains(&found.len()) && !text.contains(['.', ',', ';', ':'])).then(|| text.to_owned())
}

/// Inserts the subject of the previous sentence: in place of an initial pronoun, or else before the sentence.
pub(super) fn resolve(subject: &str, sentence: &str) -> Option<String> {
    let first = sentence.split_whitespace().next()?;
    let pronoun = first.to_lowercase();
    let rest = sentence.strip_prefix(first)?.trim_start();
    match pronoun.as_str() {
        "it" | "they" => Some(format!("{} {rest}", capital(subject))),
        // These words join two sentences and cannot be replaced by a subject.
        _ if OPENERS.contains(&pronoun.as_str()) || matches!(pronoun.as_str(), "this" | "that" | "these" | "those") => {
            None
        }
        _ => Some(format!("{}: {}", capital(subject), uncapital(sentence))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("Never paste one into a PR.", true)]
    #[case("Skip in emergencies with a note.", true)]
    #[case("Do not use in tests.", true)]
    #[case("They must be rotated.", true)]
    #[case("If it fails, rerun the job.", true)]
    #[case("Then push it.", true)]
    #[case("Do not add setters to them.", false)]
    #[case("Tag them with the version.", true)]
    #[case("Do not rely on this.", true)]
    #[case("This project uses Yarn.", false)]
    #[case("If a test fails, fix it first.", false)]
    #[case("Run the tests before you push.", false)]
    #[case("Use one space after a period.", false)]
    #[case("Keep it simple.", false)]
    #[case("Run tests in CI.", false)]
    #[case("Write a file, then close it.", false)]
    fn a_sentence_that_depends_on_its_context_is_recognised(#[case] sentence: &str, #[case] expected: bool) {
        // “them” may stand for “setters”: the words alone do not tell.
        assert_eq!(is_context_dependent(sentence), expected, "{sentence}");
    }

    #[rstest::rstest]
    #[case("API keys live in Vault.", Some("API keys"))]
    #[case("Release branches are cut from `main`.", Some("Release branches"))]
    #[case("Store API keys in the vault.", Some("API keys"))]
    #[case("It is so.", None)]
    fn a_sentence_has_a_subject(#[case] sentence: &str, #[case] expected: Option<&str>) {
        assert_eq!(subject(sentence).as_deref(), expected, "{sentence}");
    }

    #[test]
    fn the_subject_goes_where_it_is_missed() {
        assert_eq!(resolve("API keys", "Never paste one into a PR.").unwrap(), "API keys: never paste one into a PR.");
        assert_eq!(resolve("models", "They must not change.").unwrap(), "Models must not change.");
        assert_eq!(resolve("x", "Then push it."), None);
    }
}
