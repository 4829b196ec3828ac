//! Phrases of place that two statements share: "in the front end". They say nothing about whether the statements contradict each other, but
//! a cross-encoder finds statements about one place more alike than they are.

use std::ops::Range;

use super::normalise::{
    lex,
    lexical_item::{Item, ItemKind},
    token::prepare,
};

/// The maximum number of words of a phrase after its preposition and articles.
const MAX_WORDS: usize = 4;

/// The maximum number of phrases of a statement that are compared.
const MAX_PLACES: usize = 8;

/// The minimum number of content words that remain of a statement.
const MIN_REST: usize = 2;

/// Returns two statements without the phrases of place that both have word for word; `None` if they share none.
pub fn without_shared_places(ours: &str, theirs: &str) -> Option<(String, String)> {
    let (ours, theirs) = (Statement::new(ours), Statement::new(theirs));
    let (our_places, their_places) = (ours.places_of(&theirs), theirs.places_of(&ours));
    if our_places.is_empty() || their_places.is_empty() {
        return None;
    }
    ours.without(&our_places).zip(theirs.without(&their_places))
}

/// A statement with its phrases of place.
struct Statement {
    text: String,
    items: Vec<Item>,
    /// Byte ranges in the text.
    places: Vec<Range<usize>>,
    /// Byte ranges in the text of those that a word such as "not" or "only" governs: they may be what the statement is about.
    governed: Vec<Range<usize>>,
}

impl Statement {
    fn new(statement: &str) -> Self {
        let (text, items) = (prepare(statement), lex(statement));
        let is_governed = |at: usize| at.checked_sub(1).is_some_and(|before| items[before].cue().is_some());
        let of = |governed: bool| {
            let all = (0..items.len()).filter(|at| is_governed(*at) == governed);
            all.filter_map(|at| place(&items, at)).take(MAX_PLACES).collect()
        };
        let (places, governed) = (of(false), of(true));
        Self { text, items, places, governed }
    }

    fn words(&self, phrase: &Range<usize>) -> String {
        self.text.get(phrase.clone()).unwrap_or_default().to_lowercase()
    }

    /// Returns its places that are also places of the other statement, and that neither governs.
    fn places_of(&self, other: &Self) -> Vec<Range<usize>> {
        let within =
            |phrases: &[Range<usize>], of: &Self, words: &str| phrases.iter().any(|phrase| of.words(phrase) == words);
        let shared = |phrase: &&Range<usize>| {
            let words = self.words(phrase);
            within(&other.places, other, &words)
                && !within(&other.governed, other, &words)
                && !within(&self.governed, self, &words)
        };
        self.places.iter().filter(shared).cloned().collect()
    }

    /// Returns the text without these phrases and their commas; `None` if too little remains.
    fn without(&self, places: &[Range<usize>]) -> Option<String> {
        let remains = |item: &&Item| item.is_content() && !places.iter().any(|place| place.contains(&item.start));
        if self.items.iter().filter(remains).count() < MIN_REST {
            return None;
        }
        let mut out = String::with_capacity(self.text.len());
        let mut from = 0;
        for place in places {
            out.push_str(self.text.get(from..place.start)?.trim_end());
            let comma = self.text.get(place.end..)?.starts_with(',');
            from = place.end + usize::from(comma);
        }
        out.push_str(self.text.get(from..)?);
        let mut letters = out.trim().chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect())
    }
}

/// Returns the phrase of place that begins with the item at `at`: a preposition, articles, and the words up to the next stop word, cue or mark.
fn place(items: &[Item], at: usize) -> Option<Range<usize>> {
    let stop =
        |at: usize, words: &[&str]| items[at].kind == ItemKind::Stop && words.contains(&items[at].lower.as_str());
    if !stop(at, &["in", "on", "at", "for", "within", "during", "under"]) {
        return None;
    }
    let article = |at: &usize| stop(*at, &["the", "a", "an", "our", "all", "each", "every"]);
    let first = (at + 1..items.len()).find(|at| !article(at))?;
    let end = (first..items.len()).find(|at| !items[*at].is_content()).unwrap_or(items.len());
    (1..=MAX_WORDS).contains(&(end - first)).then(|| items[at].start..items[end - 1].end)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::at_the_beginning(
        "In the front end, server state is handled by TanStack Query.",
        "In the front end, form state is handled by react-hook-form.",
        "Server state is handled by TanStack Query.",
        "Form state is handled by react-hook-form."
    )]
    #[case::inside(
        "Server state in the front end is handled by TanStack Query; we have no global store for it.",
        "In the front end, components live in PascalCase files, one component per file.",
        "Server state is handled by TanStack Query; we have no global store for it.",
        "Components live in PascalCase files, one component per file."
    )]
    #[case::at_the_end(
        "Invoices are rendered by Typst for the payments service.",
        "Mails are sent by Postmark for the payments service",
        "Invoices are rendered by Typst.",
        "Mails are sent by Postmark"
    )]
    fn a_shared_place_is_left_out(
        #[case] ours: &str,
        #[case] theirs: &str,
        #[case] our_rest: &str,
        #[case] their_rest: &str,
    ) {
        assert_eq!(without_shared_places(ours, theirs), Some((our_rest.to_owned(), their_rest.to_owned())));
    }

    #[rstest]
    #[case::none("Use tabs.", "Use spaces.")]
    #[case::other("In the front end, use tabs.", "In the back end, use spaces.")]
    #[case::longer("Use tabs in tests.", "Use spaces in tests folders.")]
    #[case::nothing_left("Tests in CI.", "Lint code in CI.")]
    #[case::denied("Secrets are stored in Vault.", "Secrets are stored in a file and no longer in Vault.")]
    #[case::excepted("Use mocks in tests.", "Use no mocks except in tests.")]
    fn statements_without_a_shared_place_stay(#[case] ours: &str, #[case] theirs: &str) {
        assert_eq!(without_shared_places(ours, theirs), None);
    }
}
