//! Finds violations of constraints in a diff. Pure. `prohibition` reads the constraints.
//!
//! There are few rules, and a person can verify each at a glance: people switch off a check with false alarms.

use std::{collections::HashMap, ffi::OsStr, path::Path, sync::LazyLock};

use regex::Regex;
use serde::Serialize;

use super::{
    comments::SplitLine,
    git_diff::{ChangedFile, ChangedLine},
    places::{Place, is_same_name},
    prohibition::{self, Prohibition},
};
use crate::{
    api::{Beside, BesideRelation, ClaimView},
    domain::{
        Qualifiers,
        norm::{Modality, Norm, NormScope},
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

/// A number after the word “port”, which may be a part of a name such as `API_PORT` or `containerPort`.
static PORT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?:(?:^|[^\p{L}\p{N}])(?i:port)|\p{Ll}Port)(?:[sS]?[^\p{L}\p{N}\n][^0-9\n]{0,11})?([0-9]{2,5})\b").ok()
});

/// Why a constraint is not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum NotChecked {
    /// It is limited to an environment, team, tenant or period, about which a diff says nothing.
    Limited,
    /// Nothing that it says can be compared with a diff.
    NotComparable,
}

/// What a constraint says about a diff.
#[derive(Debug)]
pub(super) struct ConstraintCheck<'a> {
    claim: &'a ClaimView,
    prohibitions: Vec<Prohibition<'a>>,
    /// The norms that set or forbid a port.
    ports: Vec<&'a Norm>,
}

/// Whether a constraint can be checked in a repository on this day (`YYYY-MM-DD`): it is in force, and not limited to an
/// environment, team or tenant, about which a diff says nothing.
fn is_in_force_everywhere(claim: &ClaimView, today: &str) -> bool {
    // The flag `expired` covers the last day.
    let Qualifiers { env, team, tenant, valid_from, valid_until: _ } = &claim.qualifiers;
    let is_limited = [env, team, tenant].into_iter().any(Option::is_some);
    let has_begun = valid_from.as_deref().is_none_or(|first| first <= today);
    !is_limited && has_begun && !claim.flags.expired
}

impl<'a> ConstraintCheck<'a> {
    /// Reads what a constraint says about these changes on this day (`YYYY-MM-DD`).
    pub(super) fn of(claim: &'a ClaimView, files: &[ChangedFile], today: &str) -> Result<Self, NotChecked> {
        let norms = || claim.norms.iter().filter(|norm| norm.scope == NormScope::default());
        if !is_in_force_everywhere(claim, today) || (norms().next().is_none() && !claim.norms.is_empty()) {
            return Err(NotChecked::Limited);
        }
        let forbids = norms().any(|norm| norm.modality == Modality::MustNot);
        let mut prohibitions = if forbids { prohibition::read(&claim.statement) } else { Vec::new() };
        // “Daemon” may be a folder or something else: whether it is one is known if a changed file is in it.
        let is_place = |place: &Place<'_>| place.is_sure || files.iter().any(|file| is_in(place, &file.path));
        prohibitions.retain(|prohibition| prohibition.within.iter().all(is_place));
        let ports: Vec<_> = norms().filter(|norm| port(norm).is_some()).collect();
        if prohibitions.is_empty() && ports.is_empty() {
            return Err(NotChecked::NotComparable);
        }
        Ok(Self { claim, prohibitions, ports })
    }

    /// Returns where the files violate the constraint. A line that the change moves, or only indents, is no violation.
    pub(super) fn violations(&self, files: &[ChangedFile]) -> Vec<ConstraintViolation> {
        let content = |violation: &ConstraintViolation| {
            (violation.why.clone(), violation.text.as_deref().unwrap_or_default().trim().to_owned())
        };
        let mut removed: HashMap<_, usize> = HashMap::new();
        for violation in self.line_violations(files, |file| &file.removed) {
            *removed.entry(content(&violation)).or_default() += 1;
        }
        let mut found = self.line_violations(files, |file| &file.added);
        found.retain(|violation| match removed.get_mut(&content(violation)) {
            Some(left) if *left > 0 => {
                *left -= 1;
                false
            }
            _ => true,
        });
        found.extend(self.path_violations(files));
        found.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        found.dedup_by(|a, b| (&a.file, a.line) == (&b.file, b.line));
        found.truncate(MAX_VIOLATIONS);
        found
    }

    /// Returns the changes of files that are violations by themselves.
    fn path_violations(&self, files: &[ChangedFile]) -> Vec<ConstraintViolation> {
        let mut found = Vec::new();
        for file in files {
            for Prohibition { paths, deletion, .. } in self.prohibitions_of(file) {
                let protected =
                    paths.iter().filter(|path| (!file.is_deleted || *deletion) && matches_path(path, &file.path));
                let why = |path: &&str| format!("change to the protected path {path}");
                found.extend(protected.map(|path| self.violation(file, None, why(path))));
            }
        }
        found
    }

    /// Returns the violations in the added or in the removed lines of the files.
    fn line_violations(
        &self,
        files: &[ChangedFile],
        lines: fn(&ChangedFile) -> &[ChangedLine],
    ) -> Vec<ConstraintViolation> {
        let mut found = Vec::new();
        let exempt: Vec<_> = self.prohibitions.iter().flat_map(|one| one.exempt.iter().copied()).collect();
        for file in files {
            let lines = lines(file);
            for prohibition in self.prohibitions_of(file) {
                self.check_lines(prohibition, file, lines, &mut found);
            }
            let is_exempt = exempt.iter().any(|place| is_in(place, &file.path));
            for norm in self.ports.iter().filter(|_| !is_exempt) {
                let ports = lines_outside(lines, &exempt)
                    .filter_map(|line| Some((line, wrong_port(norm, &file.path, &line.split.code)?)));
                found.extend(ports.map(|(line, port)| self.violation(file, Some(line), format!("wrong port {port}"))));
            }
        }
        found
    }

    /// Returns the prohibitions that hold in a file.
    fn prohibitions_of(&self, file: &ChangedFile) -> impl Iterator<Item = &Prohibition<'a>> {
        self.prohibitions.iter().filter(|Prohibition { within, exempt, .. }| {
            (within.is_empty() || within.iter().any(|place| is_in(place, &file.path)))
                && !exempt.iter().any(|place| is_in(place, &file.path))
        })
    }

    fn check_lines(
        &self,
        prohibition: &Prohibition<'_>,
        file: &ChangedFile,
        lines: &[ChangedLine],
        found: &mut Vec<ConstraintViolation>,
    ) {
        let Prohibition { code, packages, exempt, .. } = prohibition;
        let is_manifest = is_manifest(&file.path);
        for code in code.iter().filter(|_| is_manifest || !is_prose(&file.path)) {
            // In a manifest, `lodash` is not `lodash-es`.
            let names = |line: &SplitLine| {
                if is_manifest {
                    names_package(&line.code, code)
                } else {
                    holds_word(&line.code, code) || begins_with_word(&line.comment, code)
                }
            };
            let why = || format!("forbidden word `{code}` in an added line");
            let naming = lines_outside(lines, exempt).filter(|line| names(&line.split));
            found.extend(naming.map(|line| self.violation(file, Some(line), why())));
        }
        for package in packages.iter().filter(|_| is_manifest) {
            let naming = lines_outside(lines, exempt).filter(|line| names_package(&line.split.code, package));
            found.extend(naming.map(|line| self.violation(file, Some(line), format!("forbidden package {package}"))));
        }
    }

    fn violation(&self, file: &ChangedFile, line: Option<&ChangedLine>, why: String) -> ConstraintViolation {
        let exceptions = self.claim.beside.iter().filter(|other| other.relation == BesideRelation::Exception);
        ConstraintViolation {
            claim: self.claim.id.short(),
            statement: self.claim.statement.clone(),
            reason: self.claim.reason.clone(),
            file: file.path.clone(),
            line: line.map(|line| line.number),
            text: line.map(|line| line.text.clone()),
            why,
            exceptions: exceptions.cloned().collect(),
        }
    }
}

/// Whether a file is in a place. A word must be a whole part of the path, such as a folder or a word of `store_test.go`.
fn is_in(place: &Place<'_>, path: &str) -> bool {
    if !place.extensions.is_empty() {
        let is_of_language = |end: &OsStr| place.extensions.iter().any(|extension| end == *extension);
        return Path::new(path).extension().is_some_and(is_of_language);
    }
    if place.name.contains(['/', '*', '.']) {
        return matches_path(place.name, path);
    }
    let name = place.name.to_lowercase();
    let path = path.to_lowercase();
    let mut parts = path.split(['/', '.', '_', '-']).chain(path.split(['/', '.'])).chain(path.split('/'));
    parts.any(|part| is_same_name(&name, part))
}

/// Whether a path is in a folder, or matches a pattern in which `*` stands for anything.
fn matches_path(pattern: &str, path: &str) -> bool {
    let pattern = pattern.trim_start_matches("./").trim_end_matches("**");
    let folder = pattern.trim_end_matches('/');
    let is_below = path.starts_with(&format!("{folder}/")) || path.contains(&format!("/{folder}/"));
    if is_below || pattern.ends_with('/') {
        return is_below;
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

/// Returns the lines that are not in a module with the name of one of these places.
fn lines_outside<'f>(lines: &'f [ChangedLine], places: &'f [Place<'_>]) -> impl Iterator<Item = &'f ChangedLine> {
    let is_outside = move |module: &str| !places.iter().any(|place| is_in(place, module));
    lines.iter().filter(move |line| line.module.as_deref().is_none_or(is_outside))
}

/// Returns the characters before and after each occurrence of a word.
fn surroundings(text: &str, word: &str) -> impl Iterator<Item = (Option<char>, Option<char>)> {
    text.match_indices(word).map(move |(at, found)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + found.len()..).and_then(|text| text.chars().next());
        (before, after)
    })
}

/// Whether a line contains a whole word.
fn holds_word(text: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    let edge = |own: Option<char>, next: Option<char>| !(own.is_some_and(inside) && next.is_some_and(inside));
    surroundings(text, word)
        .any(|(before, after)| edge(word.chars().next(), before) && edge(word.chars().next_back(), after))
}

/// Whether a comment begins with a word, as one that instructs a tool does: `// @ts-ignore`, `# TODO`.
fn begins_with_word(comment: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    // `///`, `//!`, `/**`
    let text = comment.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '/' | '!' | '*'));
    text.strip_prefix(word).is_some_and(|rest| !(word.ends_with(inside) && rest.starts_with(inside)))
}

/// Whether a line of a manifest names the package: as a key, a list element, or the end of a path.
fn names_package(text: &str, package: &str) -> bool {
    let (text, package) = (text.to_lowercase(), package.to_lowercase());
    if text.trim_start().starts_with(['#', '/']) {
        return false;
    }
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    surroundings(&text, &package).any(|(before, after)| !before.is_some_and(inside) && !after.is_some_and(inside))
}

/// Returns the port that a norm sets or forbids.
fn port(norm: &Norm) -> Option<&str> {
    let is_port = norm.attribute.as_deref()?.split(' ').any(|word| word == "port");
    let decides = matches!(norm.modality, Modality::Must | Modality::MustNot);
    norm.value.as_deref().filter(|value| is_port && decides && value.chars().all(|c| c.is_ascii_digit()))
}

/// Returns the port in a line that the norm does not allow.
fn wrong_port(norm: &Norm, path: &str, text: &str) -> Option<String> {
    let wanted = port(norm)?;
    let seen = PORT.as_ref()?.captures(text)?.get(1)?.as_str();
    let about = format!("{path} {text}").to_lowercase();
    let subject = norm.words.first().map(|word| word.to_lowercase())?;
    match norm.modality {
        Modality::MustNot => (seen == wanted).then(|| seen.to_owned()),
        // The line or its file must name the thing that listens.
        Modality::Must if holds_word(&about, &subject) => (seen != wanted).then(|| seen.to_owned()),
        Modality::Must => owned_port(text, &subject).filter(|port| *port != wanted).map(str::to_owned),
        _ => None,
    }
}

/// Returns the port in a line that is set under a name of the subject and “port” only: `API_PORT` or `apiPort` for “api”.
/// `WEB_API_PORT` may be the port of something else.
fn owned_port<'t>(text: &'t str, subject: &str) -> Option<&'t str> {
    PORT.as_ref()?.captures_iter(text).find_map(|found| {
        let (whole, port) = (found.get(0)?, found.get(1)?);
        // The match begins with the character before the word “port”.
        let before = text.get(..whole.start() + whole.as_str().chars().next()?.len_utf8())?.trim_end_matches('_');
        let before = before.to_lowercase();
        let outside = before.strip_suffix(subject)?.chars().next_back();
        outside.is_none_or(|c| !c.is_alphanumeric() && c != '_').then_some(port.as_str())
    })
}

#[cfg(test)]
mod tests;
