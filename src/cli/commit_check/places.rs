//! The places that a statement names.

use super::words::{CONDITIONS, PLACE_PREPOSITIONS, Punctuation, StatementWord};

/// A place that a statement names: a path, a word that is a part of paths (“tests”), or the files of a language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place<'a> {
    pub(super) name: &'a str,
    /// Whether it surely names a place in the repository: it is a path, stands in backquotes, or is a language or a usual name of a
    /// folder.
    pub(super) is_sure: bool,
    /// The extensions of the language's files; empty if it is no language.
    pub(super) extensions: &'static [&'static str],
}

/// Languages, with the extensions of their files. A rule about SQL or CSS also concerns code within files of other languages.
const LANGUAGES: [(&str, &[&str]); 13] = [
    ("bash", &["bash", "sh"]),
    ("elixir", &["ex", "exs"]),
    ("go", &["go"]),
    ("golang", &["go"]),
    ("java", &["java"]),
    ("javascript", &["cjs", "js", "jsx", "mjs"]),
    ("kotlin", &["kt", "kts"]),
    ("php", &["php"]),
    ("python", &["py", "pyi"]),
    ("ruby", &["rb"]),
    ("rust", &["rs"]),
    ("swift", &["swift"]),
    ("typescript", &["cts", "mts", "ts", "tsx"]),
];

impl<'a> Place<'a> {
    fn of(word: &StatementWord<'a>) -> Self {
        let usual = ["bench", "doc", "example", "fixture", "lib", "migration", "script", "spec", "src", "test"];
        let language = LANGUAGES.iter().find(|(name, _)| *name == word.lower);
        let is_sure = word.is_code()
            || is_path(word.text)
            || language.is_some()
            || usual.iter().any(|name| is_same_name(name, &word.lower));
        Self { name: word.text, is_sure, extensions: language.map_or(&[], |(_, extensions)| extensions) }
    }
}

/// Words that change nothing about what is named.
pub(super) const FILLERS: [&str; 37] = [
    "a",
    "again",
    "all",
    "also",
    "an",
    "any",
    "anything",
    "anywhere",
    "code",
    "codebase",
    "directly",
    "directory",
    "each",
    "either",
    "ever",
    "every",
    "everything",
    "existing",
    "file",
    "files",
    "folder",
    "generated",
    "instead",
    "its",
    "layer",
    "module",
    "modules",
    "new",
    "our",
    "please",
    "project",
    "repository",
    "source",
    "sources",
    "the",
    "this",
    "vendored",
];

pub(super) const JOINERS: [&str; 3] = ["and", "or", "nor"];

/// Subjects that stand for everybody and everything.
pub(super) const EVERYBODY: [&str; 26] = [
    "agent",
    "agents",
    "are",
    "be",
    "been",
    "but",
    "can",
    "commits",
    "contributors",
    "developers",
    "do",
    "does",
    "has",
    "have",
    "i",
    "is",
    "may",
    "must",
    "people",
    "shall",
    "should",
    "they",
    "was",
    "we",
    "were",
    "you",
];

/// Words that end the name of a place or an object: what follows limits the prohibition.
const LIMITS: [&str; 14] = [
    "at", "between", "by", "except", "from", "into", "of", "per", "than", "that", "through", "via", "whose", "without",
];

pub(super) fn is_limit(word: &StatementWord<'_>) -> bool {
    word.is_one_of(&LIMITS) || word.is_one_of(&CONDITIONS) || word.is_one_of(&PLACE_PREPOSITIONS)
}

/// Returns the places that words name; none for “in any file”. `None` if they are no list of single names.
pub(super) fn places<'a>(words: &[StatementWord<'a>], fillers: &[&str]) -> Option<Vec<Place<'a>>> {
    let is_condition = |word: &StatementWord<'_>| is_limit(word) && !word.is_one_of(&PLACE_PREPOSITIONS);
    if words.iter().any(is_condition) {
        return None;
    }
    let items = words.split_inclusive(|word| word.mark == Punctuation::Comma || word.is_one_of(&JOINERS));
    let items = items.map(|item| {
        let mut names = item.iter().filter(|word| {
            let skipped = word.is_one_of(&JOINERS) || word.is_one_of(&PLACE_PREPOSITIONS);
            !skipped && !word.is_one_of(&FILLERS) && !word.is_one_of(fillers)
        });
        let name = names.next();
        if names.next().is_some() { None } else { Some(name.map(Place::of)) }
    });
    items.collect::<Option<Vec<_>>>().map(|places| places.into_iter().flatten().collect())
}

/// Returns the places of an exemption; of “integration tests”, the tests. `None` if it is a condition.
pub(super) fn exempt_places<'a>(words: &[StatementWord<'a>], length: usize) -> Option<Vec<Place<'a>>> {
    let (marker, rest) = words.split_at_checked(length)?;
    let prepositions = ["at", "for", "from", "of"];
    let preposition = rest.first().filter(|word| word.is_one_of(&PLACE_PREPOSITIONS) || word.is_one_of(&prepositions));
    if marker.first()?.lower == "unless" && preposition.is_none() {
        return None;
    }
    let rest = rest.get(usize::from(preposition.is_some())..)?;
    if rest.iter().any(|word| is_limit(word) && !word.is_one_of(&PLACE_PREPOSITIONS)) {
        return None;
    }
    let items = rest.split_inclusive(|word| word.mark == Punctuation::Comma || word.is_one_of(&JOINERS));
    let places = items.filter_map(|item| {
        let mut names = item.iter().rev().filter(|word| {
            !word.is_one_of(&JOINERS) && !word.is_one_of(&FILLERS) && !word.is_one_of(&PLACE_PREPOSITIONS)
        });
        names.next().map(Place::of)
    });
    Some(places.collect())
}

/// Whether a word is a path or a pattern of paths.
pub(super) fn is_path(word: &str) -> bool {
    let is_code =
        word.starts_with('@') || word.contains(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ';' | '"'));
    !is_code && (word.contains(['/', '*']) || (word.starts_with('.') && word.len() > 2))
}

/// Whether two words are the same name, in the singular or the plural.
pub(super) fn is_same_name(a: &str, b: &str) -> bool {
    let is_plural = |one: &str, many: &str| many.strip_prefix(one).is_some_and(|end| matches!(end, "s" | "es"));
    a == b || is_plural(a, b) || is_plural(b, a)
}
