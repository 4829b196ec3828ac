//! Two norms side by side, with a mark at the field in which they conflict.

use ratatui::text::{Line, Span};

use super::paint::span;
use crate::{
    domain::{
        Norm,
        guard_report::Evidence,
        norm::{Modality, SubjectKind},
    },
    tui::{text, theme::Theme},
};

const NAME_WIDTH: usize = 11;

/// Lists the fields that at least one norm sets. `statements` are those of the new and of the existing claim, whose
/// words are shown.
pub(super) fn table(theme: &Theme, evidence: &Evidence, statements: [&str; 2], width: usize) -> Vec<Line<'static>> {
    let cell = width.saturating_sub(NAME_WIDTH + 11).max(4) / 2;
    let heading = vec![
        span(text::pad("Parsed", NAME_WIDTH), theme.accent),
        span(text::pad("new", cell), theme.dim),
        Span::raw(" "),
        span(text::pad("existing", cell), theme.dim),
    ];
    let mut out = vec![Line::from(heading)];
    let [mine, theirs] = statements;
    let (a, b) = (fields(&evidence.norm, mine), fields(&evidence.their_norm, theirs));
    for ((name, left), (_, right)) in a.into_iter().zip(b) {
        if left.is_none() && right.is_none() {
            continue;
        }
        // The guard may report a conflict of limits under the field `value`.
        let bound = name == "limit" && evidence.field == "value" && left != right && evidence.norm.value.is_none();
        let fired = name == evidence.field || bound;
        let style = if fired { theme.warn } else { theme.text };
        let show = |value: Option<String>| text::pad(value.as_deref().unwrap_or("any"), cell);
        let mut spans = vec![
            span(text::pad(name, NAME_WIDTH), if fired { theme.warn } else { theme.dim }),
            span(show(left), style),
            Span::raw(" "),
            span(show(right), style),
        ];
        if fired {
            spans.push(span(format!(" {} differs", theme.glyphs.fired), theme.warn));
        }
        out.push(Line::from(spans));
    }
    out
}

/// Returns every field of a norm, in a fixed order, in the words of its statement.
fn fields(norm: &Norm, statement: &str) -> [(&'static str, Option<String>); 11] {
    [
        ("modality", Some(modality(norm.modality).to_owned())),
        ("subject", Some(subject(norm, statement))),
        (
            "attribute",
            norm.attribute.as_ref().map(|stems| as_written(stems, statement)).filter(|text| !text.is_empty()),
        ),
        ("object", norm.object.clone()),
        ("value", norm.value.as_ref().and_then(|_| norm.written_value())),
        ("limit", norm.limit.as_ref().and_then(|_| norm.written_value())),
        ("env", norm.scope.env.clone()),
        ("team", norm.scope.team.clone()),
        ("tenant", norm.scope.tenant.clone()),
        ("from", norm.valid_from.clone()),
        ("until", norm.valid_until.clone()),
    ]
}

/// Replaces stems by the closest words of the statement, in the statement's order.
///
/// Stems without such a word are left out: they come from synonyms of the statement's words. So is the preposition
/// before a value (`@on`), which only the comparison uses.
fn as_written(stems: &str, statement: &str) -> String {
    let words: Vec<&str> = statement
        .split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.' | '/' | '#' | '+'))
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '#' && c != '+'))
        .collect();
    let mut found: Vec<(usize, String)> = stems
        .split_whitespace()
        .filter(|marked| !marked.starts_with('@'))
        .filter_map(|marked| {
            // `~` marks an opposite.
            let stem = marked.trim_start_matches('~');
            let size = stem.chars().count();
            let near = |word: &str| {
                let shared = word.to_lowercase().chars().zip(stem.chars()).take_while(|(a, b)| a == b).count();
                let close = shared == size || size > 3 && shared + 1 == size;
                (close && word.chars().count() <= size + 6).then_some(shared)
            };
            let best = words.iter().enumerate().filter_map(|(at, word)| Some((near(word)?, at, word)));
            best.max_by_key(|(shared, at, word)| (*shared, word.len() == stem.len(), std::cmp::Reverse(*at)))
                .map(|(_, at, word)| (at, (*word).to_owned()))
        })
        .collect();
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, word)| word).collect::<Vec<_>>().join(" ")
}

fn subject(norm: &Norm, statement: &str) -> String {
    let written = as_written(&norm.subject, statement);
    let written = if written.is_empty() && !norm.subject.is_empty() {
        norm.words.first().cloned().unwrap_or_default()
    } else {
        written
    };
    match norm.subject_kind {
        SubjectKind::Present => written,
        SubjectKind::Fuzzy if written.is_empty() => "not recognised".to_owned(),
        SubjectKind::Fuzzy => format!("{written} (best guess)"),
        SubjectKind::Missing => "none: a question or idea".to_owned(),
    }
}

/// Returns the words for a modality.
pub(super) fn modality(modality: Modality) -> &'static str {
    match modality {
        Modality::Must => "must",
        Modality::Should => "should",
        Modality::May => "may",
        Modality::MustNot => "must not",
        Modality::ShouldNot => "should not",
        Modality::MayNot => "need not",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(SubjectKind::Present, "deploy", "Deployments")]
    #[case(SubjectKind::Fuzzy, "deploy", "Deployments (best guess)")]
    #[case(SubjectKind::Fuzzy, "", "not recognised")]
    #[case(SubjectKind::Missing, "", "none: a question or idea")]
    fn a_subject_says_how_it_was_read(#[case] subject_kind: SubjectKind, #[case] stems: &str, #[case] shown: &str) {
        let norm = Norm { subject_kind, subject: stems.to_owned(), ..Norm::default() };
        assert_eq!(subject(&norm, "Deployments must use a blue canary"), shown);
    }

    #[rstest::rstest]
    #[case("deploy", "Deployments must use a blue canary", "Deployments")]
    #[case("@on", "Deploys run only on green CI", "")]
    #[case("file own", "Service 1 logs to its own file.", "own file")]
    #[case("queri ~cach", "Cached queries are slow", "Cached queries")]
    #[case("test", "Tesla runs all tests", "tests")]
    #[case("postgr", "We use PG", "")]
    fn stems_are_shown_as_the_words_were_written(#[case] stems: &str, #[case] statement: &str, #[case] shown: &str) {
        assert_eq!(as_written(stems, statement), shown);
    }
}
