//! Two norms side by side, the field that fired marked.

use ratatui::text::{Line, Span};

use super::paint::span;
use crate::{
    domain::{
        Norm,
        norm::{Limit, Modality, SubjectKind},
        verdict::Evidence,
    },
    tui::{text, theme::Theme},
};

/// Columns of the field names.
const NAME: usize = 11;

/// The fields in which at least one norm says something.
pub(super) fn table(theme: &Theme, evidence: &Evidence, width: usize) -> Vec<Line<'static>> {
    let cell = width.saturating_sub(NAME + 10).max(4) / 2;
    let heading = vec![
        span(text::pad("Norms", NAME), theme.accent),
        span(text::pad("A", cell), theme.dim),
        Span::raw(" "),
        span(text::pad("B", cell), theme.dim),
    ];
    let mut out = vec![Line::from(heading)];
    let (a, b) = (fields(&evidence.norm), fields(&evidence.their_norm));
    for ((name, left), (_, right)) in a.into_iter().zip(b) {
        if left.is_none() && right.is_none() {
            continue;
        }
        let fired = name == evidence.field || (name == "stance" && evidence.field == "modality");
        let style = if fired { theme.warn } else { theme.text };
        let show = |value: Option<String>| text::pad(value.as_deref().unwrap_or("any"), cell);
        let mut spans = vec![
            span(text::pad(name, NAME), if fired { theme.warn } else { theme.dim }),
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

/// Every field of a norm as words, in one order.
fn fields(norm: &Norm) -> [(&'static str, Option<String>); 11] {
    [
        ("stance", Some(modality(norm.modality).to_owned())),
        ("subject", Some(subject(norm))),
        ("attribute", norm.attribute.clone()),
        ("object", norm.object.clone()),
        ("value", norm.value.clone()),
        ("limit", norm.limit.as_ref().map(limit)),
        ("env", norm.scope.env.clone()),
        ("team", norm.scope.team.clone()),
        ("tenant", norm.scope.tenant.clone()),
        ("from", norm.valid_from.clone()),
        ("until", norm.valid_until.clone()),
    ]
}

fn subject(norm: &Norm) -> String {
    let kind = match norm.subject_kind {
        SubjectKind::Present => "",
        SubjectKind::Fuzzy => " (vague)",
        SubjectKind::Missing => " (none)",
    };
    format!("{}{kind}", norm.subject).trim_start().to_owned()
}

/// A stance in words.
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

/// A bound in words.
fn limit(limit: &Limit) -> String {
    let unit = if limit.unit.is_empty() { String::new() } else { format!(" {}", limit.unit) };
    match (&limit.min, &limit.max) {
        (Some(min), Some(max)) => format!("{min} to {max}{unit}"),
        (Some(min), None) => format!("at least {min}{unit}"),
        (None, Some(max)) => format!("at most {max}{unit}"),
        (None, None) => "any".to_owned(),
    }
}

/// A norm in one line.
pub(super) fn in_one_line(norm: &Norm) -> String {
    let parts = fields(norm).into_iter().filter_map(|(name, value)| {
        let value = value?;
        Some(match name {
            "stance" | "subject" | "object" => value,
            _ => format!("{name} {value}"),
        })
    });
    parts.collect::<Vec<_>>().join(", ")
}
