//! Assigns a category, a domain and tags to a claim by fixed lists of words.

use serde::{Deserialize, Serialize};

use crate::domain::ClaimKind;

/// The category of a rule.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum NoteCategory {
    /// A way of doing things in the project.
    #[default]
    Convention,
    /// Something that must hold.
    Principle,
    /// A method or tool to use.
    Technique,
    /// Something to avoid.
    Warning,
    /// Something that is preferred.
    Preference,
    /// A fact.
    Fact,
}

impl NoteCategory {
    /// Returns the word used in JSON and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Convention => "convention",
            Self::Principle => "principle",
            Self::Technique => "technique",
            Self::Warning => "warning",
            Self::Preference => "preference",
            Self::Fact => "fact",
        }
    }
}

/// The labels of a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// Its category.
    pub category: NoteCategory,
    /// Its domain: the one of [`DOMAINS`] of which it contains most words, or [`GENERAL`].
    pub domain: &'static str,
    /// Other domains, and programming languages, at most five.
    pub tags: Vec<&'static str>,
}

/// The domain of a claim that fits no other one.
pub const GENERAL: &str = "general";

/// The domains, each with its words. An entry is a whole word (see [`is_match`]) or, with an asterisk, the beginning of
/// one; then every usual word that begins so belongs to the domain.
pub const DOMAINS: &[(&str, &[&str])] = &[
    (
        "testing",
        &[
            "test",
            "tested",
            "testing",
            "testable",
            "assert*",
            "mock",
            "mocked",
            "mocking",
            "fixture",
            "coverage",
            "snapshot",
            "e2e",
            "flaky",
            "flakiness",
        ],
    ),
    (
        "git",
        &[
            "commit",
            "committed",
            "committing",
            "committer",
            "branch",
            "branching",
            "merge",
            "merged",
            "merging",
            "rebase",
            "rebased",
            "rebasing",
            "git",
            "pull-request",
            "pr",
            "changelog",
            "tag",
        ],
    ),
    (
        "security",
        &[
            "secret",
            "password*",
            "token",
            "auth",
            "authenticat*",
            "authoriz*",
            "authoris*",
            "oauth*",
            "encrypt*",
            "credential",
            "permission",
            "vulnerab*",
            "sanitiz*",
            "sanitis*",
        ],
    ),
    (
        "database",
        &[
            "database",
            "sql",
            "sqlite*",
            "postgres*",
            "migration",
            "query",
            "queries",
            "schema",
            "index",
            "indexed",
            "indexing",
            "indices",
            "orm",
        ],
    ),
    ("api", &["api", "endpoint", "http", "restful", "grpc", "graphql", "json", "request", "response", "webhook"]),
    (
        "frontend",
        &["react", "component", "css", "html", "ui", "browser", "accessibility", "a11y", "tailwind", "svelte*", "vue"],
    ),
    (
        "build",
        &[
            "build", "building", "ci", "cargo", "npm", "pnpm", "yarn", "makefile", "cmake", "docker*", "bazel",
            "compil*", "lint", "linter", "linting", "pipeline",
        ],
    ),
    (
        "dependencies",
        &[
            "dependenc*",
            "crate",
            "package",
            "library",
            "libraries",
            "licence*",
            "license*",
            "vendor",
            "vendored",
            "vendoring",
            "upgrad*",
        ],
    ),
    ("docs", &["document*", "readme", "comment", "commented", "commenting", "docstring", "doc", "spelling"]),
    (
        "style",
        &[
            "indent*",
            "tabs",
            "spaces",
            "format",
            "formatted",
            "formatter",
            "formatting",
            "naming",
            "snake_case",
            "camelcase",
            "import",
            "line-length",
            "semicolon",
        ],
    ),
    (
        "errors",
        &[
            "error",
            "panic*",
            "unwrap",
            "unwrapped",
            "unwrapping",
            "exception",
            "retry",
            "retries",
            "retried",
            "retrying",
            "timeout",
            "fail",
            "failed",
            "failing",
            "failure",
            "result",
        ],
    ),
    (
        "performance",
        &[
            "fast",
            "faster",
            "fastest",
            "slow*",
            "cache",
            "cached",
            "caching",
            "latency",
            "latencies",
            "memory",
            "allocat*",
            "performance",
            "performant",
            "benchmark*",
        ],
    ),
    (
        "operations",
        &["deploy*", "release*", "production", "staging", "rollback", "kubernetes", "terraform", "monitor*", "backup"],
    ),
    ("logging", &["log", "logging", "logger", "trace", "traced", "tracing", "metric"]),
    (
        "concurrency",
        &["async*", "await*", "thread*", "lock", "locked", "locking", "mutex", "race", "parallel*", "concurren*"],
    ),
];

/// Programming languages, which are tags, with words like those of [`DOMAINS`].
const LANGUAGES: &[(&str, &[&str])] = &[
    ("rust", &["rust", "rustc", "cargo", "clippy", "rustfmt"]),
    ("python", &["python*", "pytest", "pip", "ruff", "mypy"]),
    ("typescript", &["typescript", "tsconfig", "eslint*"]),
    ("javascript", &["javascript", "js", "npm", "nodejs"]),
    ("go", &["golang", "gofmt"]),
    ("elixir", &["elixir", "ecto"]),
    ("sql", &["sql", "sqlite*", "postgres*"]),
    ("shell", &["bash", "shell", "shellcheck"]),
];

/// The maximum number of tags of a claim.
const MAX_TAGS: usize = 5;

/// Returns the labels of a statement.
pub fn labels(kind: ClaimKind, statement: &str) -> Labels {
    let words = words(statement);
    let mut domains: Vec<(usize, &'static str)> =
        DOMAINS.iter().map(|(name, list)| (hits(list, &words), *name)).filter(|(hits, _)| *hits > 0).collect();
    // The sort is stable: among equals, the first of the list wins.
    domains.sort_by_key(|(hits, _)| std::cmp::Reverse(*hits));
    let domain = domains.first().map_or(GENERAL, |(_, name)| *name);
    let languages = LANGUAGES.iter().filter(|(_, list)| hits(list, &words) > 0).map(|(name, _)| *name);
    let tags = languages.chain(domains.iter().skip(1).map(|(_, name)| *name)).take(MAX_TAGS).collect();
    Labels { category: category(kind, &words), domain, tags }
}

fn category(kind: ClaimKind, words: &[String]) -> NoteCategory {
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    if kind == ClaimKind::Fact {
        NoteCategory::Fact
    } else if kind == ClaimKind::Rejection || has(&["never", "avoid", "don't", "forbidden", "beware", "careful"]) {
        NoteCategory::Warning
    } else if has(&["prefer", "prefers", "favour", "favor", "rather", "ideally"]) {
        NoteCategory::Preference
    } else if kind == ClaimKind::Constraint || has(&["must", "always", "required"]) {
        NoteCategory::Principle
    } else if kind == ClaimKind::Decision || has(&["use", "run", "with", "using"]) {
        NoteCategory::Technique
    } else {
        NoteCategory::Convention
    }
}

fn words(text: &str) -> Vec<String> {
    let inner = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '\'' | '’');
    text.to_lowercase().replace('’', "'").split(|c| !inner(c)).filter(|w| !w.is_empty()).map(str::to_owned).collect()
}

/// Counts the words that match an entry of the list.
fn hits(list: &[&str], words: &[String]) -> usize {
    words.iter().filter(|word| list.iter().any(|entry| is_match(entry, word))).count()
}

/// Whether a word begins with the entry before its asterisk or, if there is none, is the entry, its plural or genitive,
/// or a compound that begins with it (`test-suite`).
fn is_match(entry: &str, word: &str) -> bool {
    match entry.strip_suffix('*') {
        Some(stem) => word.starts_with(stem),
        None => word
            .strip_prefix(entry)
            .is_some_and(|rest| matches!(rest, "" | "s" | "es") || rest.starts_with(['-', '_', '\''])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(ClaimKind::Constraint, "Tests must not use a fixed port", "testing", NoteCategory::Principle)]
    #[case(ClaimKind::Convention, "Never commit secrets", "git", NoteCategory::Warning)]
    #[case(ClaimKind::Decision, "Store sessions in Postgres", "database", NoteCategory::Technique)]
    #[case(ClaimKind::Convention, "Prefer small functions", "general", NoteCategory::Preference)]
    #[case(ClaimKind::Rejection, "Rejected: a REST API", "api", NoteCategory::Warning)]
    #[case(ClaimKind::Convention, "Errors are values", "errors", NoteCategory::Convention)]
    #[case(ClaimKind::Fact, "The build takes 3 minutes", "build", NoteCategory::Fact)]
    fn a_claim_has_a_domain_and_a_category(
        #[case] kind: ClaimKind,
        #[case] text: &str,
        #[case] domain: &str,
        #[case] category: NoteCategory,
    ) {
        let labels = labels(kind, text);
        assert_eq!((labels.domain, labels.category), (domain, category));
    }

    #[test]
    fn other_domains_and_languages_are_tags() {
        let labels = labels(ClaimKind::Convention, "Run cargo clippy and the tests before each commit");
        assert_eq!(labels.tags, ["rust", "git", "build"]);
        assert_eq!(labels.domain, "testing");
    }

    #[rstest::rstest]
    #[case("It is important to stay restrained", GENERAL)]
    #[case("Make sure that authors agree", GENERAL)]
    #[case("The committee performs the rest of the formation", GENERAL)]
    #[case("Secretaries read testimonials and mockups", GENERAL)]
    #[case("Backups are restored weekly", "operations")]
    #[case("Authors of branches rebase them", "git")]
    #[case("Authentication and authorisation are separate", "security")]
    #[case("The test-suite's mocks are generated", "testing")]
    #[case("Allocations are measured", "performance")]
    fn a_word_that_only_begins_like_one_of_a_domain_is_not_in_it(#[case] text: &str, #[case] domain: &str) {
        assert_eq!(labels(ClaimKind::Convention, text).domain, domain);
    }

    #[test]
    fn no_entry_repeats_another_one_of_its_list() {
        for (name, list) in DOMAINS.iter().chain(LANGUAGES) {
            for (at, entry) in list.iter().enumerate() {
                let others = list.iter().enumerate().filter(|(other, _)| *other != at);
                let twice = others.map(|(_, other)| other).find(|other| is_match(other, entry.trim_end_matches('*')));
                assert_eq!(twice, None, "{entry} of {name}");
            }
        }
    }
}
