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

/// The domains, each with its words or their beginnings. An entry of at most three letters is a whole word.
pub const DOMAINS: &[(&str, &[&str])] = &[
    ("testing", &["test", "assert", "mock", "fixture", "coverage", "snapshot", "e2e", "flaky"]),
    ("git", &["commit", "branch", "merge", "rebase", "git", "pull-request", "pr", "prs", "changelog", "tag"]),
    (
        "security",
        &["secret", "password", "token", "auth", "encrypt", "credential", "permission", "vulnerab", "sanitiz"],
    ),
    ("database", &["database", "sql", "sqlite", "postgres", "migration", "query", "queries", "schema", "index", "orm"]),
    ("api", &["api", "endpoint", "http", "rest", "grpc", "graphql", "json", "request", "response", "webhook"]),
    ("frontend", &["react", "component", "css", "html", "ui", "browser", "accessib", "tailwind", "svelte", "vue"]),
    (
        "build",
        &["build", "ci", "cargo", "npm", "pnpm", "yarn", "make", "docker", "bazel", "compile", "lint", "pipeline"],
    ),
    ("dependencies", &["dependenc", "crate", "package", "library", "licence", "license", "vendor", "upgrade"]),
    ("docs", &["document", "readme", "comment", "docstring", "doc", "docs", "spelling"]),
    (
        "style",
        &[
            "indent",
            "tabs",
            "spaces",
            "format",
            "naming",
            "snake_case",
            "camelcase",
            "import",
            "line-length",
            "semicolon",
        ],
    ),
    ("errors", &["error", "panic", "unwrap", "exception", "retry", "retries", "timeout", "fail", "result"]),
    ("performance", &["fast", "slow", "cache", "latency", "memory", "allocat", "perform", "benchmark"]),
    (
        "operations",
        &["deploy", "release", "production", "staging", "rollback", "kubernetes", "terraform", "monitor", "backup"],
    ),
    ("logging", &["log", "logs", "logging", "logger", "trace", "tracing", "metric"]),
    ("concurrency", &["async", "await", "thread", "lock", "mutex", "race", "parallel", "concurren"]),
];

/// Programming languages, which are tags.
const LANGUAGES: &[(&str, &[&str])] = &[
    ("rust", &["rust", "cargo", "clippy", "rustfmt"]),
    ("python", &["python", "pytest", "pip", "ruff", "mypy"]),
    ("typescript", &["typescript", "tsconfig", "eslint"]),
    ("javascript", &["javascript", "npm", "node"]),
    ("go", &["golang", "gofmt"]),
    ("elixir", &["elixir", "mix", "ecto"]),
    ("sql", &["sql", "sqlite", "postgres"]),
    ("shell", &["bash", "shell"]),
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

/// Counts the words that begin with an entry of the list. An entry of at most three letters must be the whole word.
fn hits(list: &[&str], words: &[String]) -> usize {
    let matches = |word: &str| list.iter().any(|known| word == *known || known.len() > 3 && word.starts_with(known));
    words.iter().filter(|word| matches(word)).count()
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
}
