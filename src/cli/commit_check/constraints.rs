//! Finds violations of constraints in a diff. Pure.
//!
//! There are few rules, and a person can verify each at a glance: people switch off a check with false alarms.

use std::{path::Path, sync::LazyLock};

use regex::Regex;
use serde::Serialize;

use super::git_diff::ChangedFile;
use crate::{
    api::{Beside, BesideRelation, ClaimView},
    domain::{
        Qualifiers,
        norm::{Modality, Norm},
    },
};

/// A violation of a constraint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct ConstraintViolation {
    /// The constraint's short id.
    pub(super) claim: String,
    pub(super) statement: String,
    pub(super) reason: Option<String>,
    pub(super) file: String,
    /// The line number; `None` if the change of the file itself is the violation.
    pub(super) line: Option<usize>,
    /// The text of the line.
    pub(super) text: Option<String>,
    /// The description of the violation, such as “forbidden package x”.
    pub(super) why: String,
    /// The exceptions to the constraint, which allow the violation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) exceptions: Vec<Beside>,
}

/// The maximum number of violations that are reported for one constraint.
const MAX_VIOLATIONS: usize = 5;

/// Files that list packages.
const MANIFESTS: [&str; 14] = [
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
    "requirements.txt",
    "Pipfile",
    "setup.cfg",
    "go.mod",
    "Gemfile",
    "composer.json",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "mix.exs",
    "pubspec.yaml",
];

/// A number after the word “port”.
static PORT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i)port[^0-9\n]{0,12}([0-9]{2,5})\b").ok());

/// Whether a constraint can be checked in a repository on this day (`YYYY-MM-DD`): it is in force, and not limited to an
/// environment, team or tenant, about which a diff says nothing.
pub(super) fn is_checkable(claim: &ClaimView, today: &str) -> bool {
    // The flag `expired` covers the last day.
    let Qualifiers { env, team, tenant, valid_from, valid_until: _ } = &claim.qualifiers;
    let is_limited = [env, team, tenant].into_iter().any(Option::is_some);
    let has_begun = valid_from.as_deref().is_none_or(|first| first <= today);
    !is_limited && has_begun && !claim.flags.expired
}

/// Returns where the files violate the constraint, which [`is_checkable`] allows.
pub(super) fn violations(claim: &ClaimView, files: &[ChangedFile]) -> Vec<ConstraintViolation> {
    let exempt = exempt(&claim.statement);
    let exceptions = claim.beside.iter().filter(|other| other.relation == BesideRelation::Exception);
    let exceptions: Vec<Beside> = exceptions.cloned().collect();
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !exempt.iter().any(|word| file.path.to_lowercase().contains(word))) {
        let violation = |line: Option<&(usize, String)>, why: String| ConstraintViolation {
            claim: claim.id.short(),
            statement: claim.statement.clone(),
            reason: claim.reason.clone(),
            file: file.path.clone(),
            line: line.map(|(number, _)| *number),
            text: line.map(|(_, text)| text.clone()),
            why,
            exceptions: exceptions.clone(),
        };
        if forbids(claim) {
            for quoted in quoted(&claim.statement) {
                if is_path(quoted) {
                    found.extend(
                        matches_path(quoted, &file.path)
                            .then(|| violation(None, format!("change to the protected path `{quoted}`"))),
                    );
                } else if !is_prose(&file.path) {
                    let lines = file.added.iter().filter(|(_, text)| holds_word(text, quoted));
                    found.extend(
                        lines.map(|line| violation(Some(line), format!("forbidden word `{quoted}` in an added line"))),
                    );
                }
            }
            for path in
                claim.statement.split_whitespace().map(bare).filter(|word| word.ends_with('/') && word.len() > 2)
            {
                found.extend(
                    matches_path(path, &file.path)
                        .then(|| violation(None, format!("change to the protected path {path}"))),
                );
            }
        }
        for norm in claim.norms.iter().filter(|norm| norm.scope == crate::domain::norm::NormScope::default()) {
            if let Some(package) = package(norm).filter(|_| is_manifest(&file.path)) {
                let lines = file.added.iter().filter(|(_, text)| names_package(text, package));
                found.extend(lines.map(|line| violation(Some(line), format!("forbidden package {package}"))));
            }
            let ports = file.added.iter().filter_map(|line| Some((line, wrong_port(norm, &file.path, &line.1)?)));
            found.extend(ports.map(|(line, port)| violation(Some(line), format!("wrong port {port}"))));
        }
    }
    found.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    found.dedup_by(|a, b| (&a.file, a.line) == (&b.file, b.line));
    found.truncate(MAX_VIOLATIONS);
    found
}

fn forbids(claim: &ClaimView) -> bool {
    claim.norms.iter().any(|norm| norm.modality == Modality::MustNot)
}

/// Returns the words in backquotes.
fn quoted(statement: &str) -> Vec<&str> {
    statement.split('`').skip(1).step_by(2).filter(|word| word.trim().len() > 1).collect()
}

/// Returns a word without the punctuation around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !(c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-')))
        .trim_end_matches(['.', ','])
}

/// Returns the stems of places that a constraint exempts: “outside tests”, “except in scripts”.
fn exempt(statement: &str) -> Vec<String> {
    let lower = statement.to_lowercase();
    let after = ["outside ", "except in ", "except for ", "except ", "unless in "];
    let found = after.iter().filter_map(|word| lower.split_once(word)).filter_map(|(_, rest)| {
        let rest = rest.strip_prefix("of ").unwrap_or(rest).trim_start_matches("the ");
        let word = bare(rest.split_whitespace().next()?).trim_end_matches('s').to_owned();
        (word.len() > 2).then_some(word)
    });
    found.collect()
}

fn is_path(word: &str) -> bool {
    word.contains('/') || word.contains('*') || (word.starts_with('.') && word.len() > 2)
}

/// Whether a path is in a folder, or matches a pattern in which `*` stands for anything.
fn matches_path(pattern: &str, path: &str) -> bool {
    let pattern = pattern.trim_start_matches("./").trim_end_matches("**");
    if let Some(folder) = pattern.strip_suffix('/') {
        return path.starts_with(&format!("{folder}/")) || path.contains(&format!("/{folder}/"));
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    let subject = if pattern.contains('/') { path } else { name };
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| subject.strip_prefix(first)) else { return false };
    let parts: Vec<_> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.ends_with(last)
}

fn is_prose(path: &str) -> bool {
    [".md", ".txt", ".rst", ".adoc", ".lock"].iter().any(|end| path.ends_with(end))
}

fn is_manifest(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    MANIFESTS.contains(&name)
        || (name.starts_with("requirements") && Path::new(name).extension().is_some_and(|end| end == "txt"))
}

/// Whether a line contains a whole word.
fn holds_word(text: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|text| text.chars().next());
        let edge = |own: Option<char>, next: Option<char>| !(own.is_some_and(inside) && next.is_some_and(inside));
        edge(word.chars().next(), before) && edge(word.chars().next_back(), after)
    })
}

/// Returns the package that a norm forbids.
fn package(norm: &Norm) -> Option<&str> {
    let used = ["used", "added", "installed", "imported", "included", "depended"];
    let forbidden = norm.modality == Modality::MustNot && norm.attribute.is_none() && norm.value.is_none();
    let object = norm.object.as_deref().is_some_and(|object| used.contains(&object));
    let word = norm.words.first().map(|word| bare(word.trim_matches('`')))?;
    let one = word.len() > 1 && !word.contains(char::is_whitespace);
    (forbidden && object && one).then_some(word)
}

/// Whether a line of a manifest names the package: as a key, a list element, or the end of a path.
fn names_package(text: &str, package: &str) -> bool {
    let (text, package) = (text.to_lowercase(), package.to_lowercase());
    if text.trim_start().starts_with(['#', '/']) {
        return false;
    }
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    text.match_indices(&package).any(|(at, _)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + package.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(inside) && !after.is_some_and(inside)
    })
}

/// Returns the port in a line that the norm does not allow.
fn wrong_port(norm: &Norm, path: &str, text: &str) -> Option<String> {
    norm.attribute.as_deref().filter(|attribute| attribute.split(' ').any(|word| word == "port"))?;
    let wanted = norm.value.as_deref().filter(|value| value.chars().all(|c| c.is_ascii_digit()))?;
    let seen = PORT.as_ref()?.captures(text)?.get(1)?.as_str();
    let about = format!("{path} {text}").to_lowercase();
    let subject = norm.words.first().map(|word| word.to_lowercase())?;
    match norm.modality {
        Modality::MustNot => (seen == wanted).then(|| seen.to_owned()),
        // The line or its file must name the thing that listens.
        Modality::Must => (seen != wanted && holds_word(&about, &subject)).then(|| seen.to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cli::commit_check::git_diff;

    fn claim(statement: &str, norm: serde_json::Value) -> ClaimView {
        let value = json!({
            "id": "ab".repeat(32), "scope": {"org_id": "a", "project": "b"}, "kind": "constraint", "status": "active",
            "statement": statement, "reason": "Because.", "source": null, "who": "ada", "agent": null, "norms": [norm],
            "device": "11".repeat(32), "at": 0, "key": null, "rev": 1,
        });
        serde_json::from_value(value).unwrap()
    }

    fn change(path: &str, line: &str) -> Vec<ChangedFile> {
        git_diff::read(&format!("--- a/{path}\n+++ b/{path}\n@@ -0,0 +7 @@\n+{line}\n")).unwrap()
    }

    fn never(subject: &str) -> serde_json::Value {
        json!({"modality": "must_not", "subject": subject, "object": "used", "words": [subject, "Never"]})
    }

    #[rstest::rstest]
    #[case("package.json", r#"    "lodash": "^4.17.0","#, true)]
    #[case("Cargo.toml", "lodash = \"1\"", true)]
    #[case("requirements-dev.txt", "lodash==1.2", true)]
    #[case("package.json", r#"    "lodash-es": "^4","#, false)]
    #[case("Cargo.toml", "# lodash is gone", false)]
    #[case("src/a.js", "import lodash from 'lodash'", false)]
    fn a_package_that_must_not_be_used(#[case] path: &str, #[case] line: &str, #[case] broken: bool) {
        let found = violations(&claim("Never use lodash.", never("lodash")), &change(path, line));
        assert_eq!(!found.is_empty(), broken, "{found:?}");
        assert!(found.iter().all(|violation| violation.line == Some(7) && violation.why.contains("lodash")));
    }

    #[rstest::rstest]
    #[case("src/a.rs", "x.unwrap();", true)]
    #[case("src/a.rs", "x.unwrap_or(1);", false)]
    #[case("tests/it/a.rs", "x.unwrap();", false)]
    #[case("README.md", "never `unwrap`", false)]
    fn a_word_that_must_not_be_written(#[case] path: &str, #[case] line: &str, #[case] broken: bool) {
        let norm = json!({"modality": "must_not", "subject": "test", "attribute": "unwrap", "object": "used"});
        let found = violations(&claim("Do not use `unwrap` outside tests.", norm), &change(path, line));
        assert_eq!(!found.is_empty(), broken, "{found:?}");
    }

    #[rstest::rstest]
    #[case("Never edit files under vendor/.", "vendor/a/b.c", true)]
    #[case("Never edit files under vendor/.", "src/vendor.rs", false)]
    #[case("Do not commit `*.sql` files.", "db/dump.sql", true)]
    #[case("Do not commit `*.sql` files.", "db/dump.sql.rs", false)]
    #[case("Never change `docs/adr/*`.", "docs/adr/1.md", true)]
    #[case("Never change `docs/adr/*`.", "docs/a.md", false)]
    fn a_file_that_must_not_be_touched(#[case] statement: &str, #[case] path: &str, #[case] broken: bool) {
        let norm = json!({"modality": "must_not", "subject": "file", "attribute": "x"});
        let found = violations(&claim(statement, norm), &change(path, "x"));
        assert_eq!(!found.is_empty(), broken, "{found:?}");
        assert!(found.iter().all(|violation| violation.line.is_none()));
    }

    #[rstest::rstest]
    #[case("must", "8080", "api.yaml", "port: 9090", true)]
    #[case("must", "8080", "compose.yaml", "API_PORT=9090", false)]
    #[case("must", "8080", "compose.yaml", "api: --port 9090", true)]
    #[case("must", "8080", "api.yaml", "port: 8080", false)]
    #[case("must", "8080", "web.yaml", "port: 9090", false)]
    #[case("must_not", "22", "web.yaml", "port: 22", true)]
    #[case("must_not", "22", "web.yaml", "port: 2222", false)]
    fn a_port_that_is_another(
        #[case] modality: &str,
        #[case] port: &str,
        #[case] path: &str,
        #[case] line: &str,
        #[case] broken: bool,
    ) {
        let norm = json!({"modality": modality, "subject": "api", "attribute": "listen port", "value": port, "words": ["API"]});
        let found = violations(&claim("The API listens on this port.", norm), &change(path, line));
        assert_eq!(!found.is_empty(), broken, "{found:?}");
    }

    #[test]
    fn a_constraint_with_an_exception_names_it() {
        let mut claim = claim("Never use lodash.", never("lodash"));
        let beside = |relation: &str| {
            let value = json!({
                "relation": relation, "claim": "cd".repeat(32), "statement": "The kiosk uses lodash.", "reason": "Old.",
                "who": "ada", "at": 0,
            });
            serde_json::from_value(value).unwrap()
        };
        claim.beside = vec![beside("compatible"), beside("exception")];
        let found = violations(&claim, &change("package.json", "\"lodash\": \"4\""));
        assert_eq!((found.len(), found[0].exceptions.len()), (1, 1), "{found:?}");
        assert_eq!(found[0].exceptions[0].relation, BesideRelation::Exception);
    }

    #[rstest::rstest]
    #[case(json!({}), true)]
    #[case(json!({"valid_from": "2026-03-01"}), true)]
    #[case(json!({"valid_from": "2025-01-01", "valid_until": "2027-01-01"}), true)]
    #[case(json!({"valid_from": "2026-03-02"}), false)]
    #[case(json!({"env": "prod"}), false)]
    #[case(json!({"team": "core"}), false)]
    #[case(json!({"tenant": "acme", "valid_from": "2025-01-01"}), false)]
    fn a_constraint_is_checked_once_it_holds_for_the_whole_repository(
        #[case] qualifiers: serde_json::Value,
        #[case] checkable: bool,
    ) {
        let mut only = claim("Never use lodash.", never("lodash"));
        only.qualifiers = serde_json::from_value(qualifiers).unwrap();
        assert_eq!(is_checkable(&only, "2026-03-01"), checkable);
        only.flags.expired = true;
        assert!(!is_checkable(&only, "2026-03-01"));
    }

    #[test]
    fn of_one_constraint_only_the_first_violations_are_reported() {
        let many: String = (0..50).map(|_| "+lodash = 1\n").collect();
        let files = git_diff::read(&format!("--- a/Cargo.toml\n+++ b/Cargo.toml\n@@ -0,0 +1,50 @@\n{many}")).unwrap();
        assert_eq!(violations(&claim("Never use lodash.", never("lodash")), &files).len(), MAX_VIOLATIONS);
    }
}
