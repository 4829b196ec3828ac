//! A claim in full.

use ratatui::{style::Style, text::Line};

use super::{
    card::written_by,
    paint::{Paint, labelled, span},
};
use crate::{
    api::ClaimView,
    domain::{Status, text::sanitize},
    tui::{search_words::SearchWords, text, times},
};

const LABEL_WIDTH: usize = 12;

/// Returns status and flags in words.
pub(super) fn status(claim: &ClaimView) -> String {
    // “undone” is already shown in place of the status.
    let flags = claim.flag_words().filter(|word| *word != "undone");
    std::iter::once(claim.flags.status_word(claim.status)).chain(flags).collect::<Vec<_>>().join(", ")
}

/// Lays out the claim at this width.
pub(super) fn lines(paint: &Paint<'_>, claim: &ClaimView, width: usize) -> Vec<Line<'static>> {
    lines_with_matches(paint, claim, width, &SearchWords::default())
}

/// Like [`lines`], with the words of a search highlighted.
pub(super) fn lines_with_matches(
    paint: &Paint<'_>,
    claim: &ClaimView,
    width: usize,
    words: &SearchWords,
) -> Vec<Line<'static>> {
    let (theme, state) = (paint.theme, paint.state);
    let dot = theme.glyphs.dot;
    let mut out = Vec::new();
    let heading = format!("{} {dot} {} {dot} {}", claim.kind, status(claim), claim.id.short());
    let warn = claim.flags.needs_review || claim.flags.contested;
    out.extend(text::wrap(&heading, width, if warn { theme.warn } else { theme.dim }));
    if claim.flags.redacted {
        out.push(Line::from(span("(its text was redacted)", theme.dim)));
    } else {
        out.extend(wrap_highlighted(paint, &claim.statement, width, theme.title, words));
    }
    let body = width.saturating_sub(LABEL_WIDTH);
    let mut field = |label: &str, value: &str| {
        let words = if matches!(label, "because" | "source") { words } else { &SearchWords::default() };
        out.extend(labelled(label, wrap_highlighted(paint, value, body, theme.text, words), LABEL_WIDTH, theme.dim));
    };
    if claim.reason.is_some() || claim.kind.is_guarded() {
        field("because", claim.reason.as_deref().unwrap_or(claim.flags.missing_reason()));
    }
    if let Some(closing) = &claim.closing_reason {
        let label = match claim.status {
            Status::Superseded => "replaced",
            Status::Retracted => claim.flags.status_word(claim.status),
            Status::Refused => "refused",
            Status::Active => "note",
        };
        field(label, closing);
    }
    for other in &claim.beside {
        let (label, words) = other.words();
        field(label, &words);
    }
    if let Some(source) = &claim.source {
        field("source", source);
    }
    let zone = &state.settings.zone;
    let ago = times::ago(claim.at, state.now);
    field("by", &format!("{} {dot} {} ({ago})", written_by(claim), times::minute(claim.at, zone)));
    field("scope", &claim.scope.to_string());
    if let Some(text) = claim.qualifiers.holds() {
        field("holds", &text);
    }
    if let Some(key) = &claim.key {
        field("key", key);
    }
    let ids = |ids: &[crate::domain::ClaimId]| ids.iter().map(|id| id.short()).collect::<Vec<_>>().join(", ");
    for (label, list) in
        [("replaces", &claim.replaces), ("replaced by", &claim.replaced_by), ("depends on", &claim.premises)]
    {
        if !list.is_empty() {
            field(label, &ids(list));
        }
    }
    if claim.dependents > 0 {
        let count = if claim.dependents == 1 { "1 claim".to_owned() } else { format!("{} claims", claim.dependents) };
        field("dependents", &count);
    }
    if let Some(injected) = state.agents.injected_of(claim.id) {
        let times = if injected.times == 1 { "once".to_owned() } else { format!("{} times", injected.times) };
        let into =
            if injected.sessions == 1 { "one session".to_owned() } else { format!("{} sessions", injected.sessions) };
        let last = times::ago(injected.last, state.now);
        field("injected", &format!("{times} into {into}, last {last}"));
    }
    out
}

/// Wraps a text, with the words of a search highlighted.
pub(super) fn wrap_highlighted(
    paint: &Paint<'_>,
    text: &str,
    width: usize,
    style: Style,
    words: &SearchWords,
) -> Vec<Line<'static>> {
    if words.is_empty() {
        return text::wrap(text, width, style);
    }
    let mut lines = Vec::new();
    for paragraph in sanitize(text).split('\n') {
        let runs = words.runs(paragraph).into_iter();
        let runs: Vec<_> =
            runs.map(|(run, hit)| (run, if hit { style.patch(paint.theme.found) } else { style })).collect();
        lines.extend(text::wrap_runs(&runs, width));
    }
    lines
}
