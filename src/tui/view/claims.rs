//! The Claims screen: the scope tree, the list, and the claim under the cursor in full.

use ratatui::{
    layout::Rect,
    text::{Line, Span},
};

use super::{
    Shape, claim, empty,
    paint::{Paint, labelled, rows, span},
    tree,
};
use crate::{
    api::{ClaimView, RecallHit, RecallVerdict},
    domain::{ClaimKind, Status},
    tui::{
        hits::Pane,
        msg::UnansweredScopes,
        search_words::SearchWords,
        state::{claims::ClaimsFocus, search_line::SearchLine},
        text, times,
    },
};

pub(super) fn draw(paint: &mut Paint<'_>, area: Rect) {
    let focus = paint.state.claims.focus;
    match Shape::of(paint) {
        Shape::Wide => {
            let side = (area.width / 5).clamp(20, 32);
            let rest = area.width - side;
            let middle = rest * 11 / 20;
            tree::draw(paint, Rect { width: side, ..area });
            list(paint, Rect { x: area.x + side, width: middle, ..area });
            detail(paint, Rect { x: area.x + side + middle, width: rest - middle, ..area });
        }
        Shape::Mid => {
            let side = 20;
            let (x, width) = (area.x + side, area.width - side);
            let upper = area.height * 11 / 20;
            tree::draw(paint, Rect { width: side, ..area });
            list(paint, Rect { x, width, height: upper, ..area });
            detail(paint, Rect { x, width, y: area.y + upper, height: area.height - upper });
        }
        Shape::Single => match focus {
            ClaimsFocus::Scopes => tree::draw(paint, area),
            ClaimsFocus::List => list(paint, area),
            ClaimsFocus::Detail => detail(paint, area),
        },
    }
}

/// Returns the title of the list: its filters, order and search.
fn title(paint: &Paint<'_>) -> String {
    let claims = &paint.state.claims;
    let line = SearchLine::parse(&claims.search);
    let kinds = claims.kinds(&line).unwrap_or_default();
    let kinds = kinds.iter().map(|kind| format!("{kind}s")).collect::<Vec<_>>().join(", ");
    let mut out = match (line.status.unwrap_or(claims.status.0), kinds.is_empty()) {
        (None, true) => "All claims".to_owned(),
        (Some(status), true) => format!("Claims: {status}"),
        (None, false) => format!("{kinds}, all"),
        (Some(status), false) => format!("{kinds}: {status}"),
    };
    if claims.needs_review {
        out.push_str(", need review");
    }
    if let Some(verdict) = claims.verdict {
        out = format!("{out}, {}", verdict.as_str());
    }
    if let Some(days) = claims.days {
        out = if days == 1 { format!("{out}, last day") } else { format!("{out}, last {days} days") };
    }
    if let Some(who) = &claims.who {
        out = format!("{out}, by {who}");
    }
    if let Some(source) = &claims.source {
        out = format!("{out}, from {source}");
    }
    if let Some(order) = claims.order.as_str() {
        out = format!("{out}, sorted by {order}");
    }
    if !claims.search.trim().is_empty() {
        out = format!("{out}, matching “{}”", claims.search.trim());
    }
    out
}

fn list(paint: &mut Paint<'_>, area: Rect) {
    let claims = &paint.state.claims;
    let focused = claims.focus == ClaimsFocus::List;
    let [_, down] = paint.theme.glyphs.more;
    let note = match (&claims.error, claims.list.loaded()) {
        (Some(error), _) => error.clone(),
        (None, false) => "loading…".to_owned(),
        (None, true) if claims.list.is_empty() && claims.related.near().len() == 0 => "0".to_owned(),
        (None, true) if claims.related.row().is_some() => {
            let row = claims.related.row().unwrap_or_default() + 1;
            format!("similar: {row} of {}", claims.related.near().len())
        }
        (None, true) => {
            let seeking = if claims.list.is_seeking() { format!(" {down} loading…") } else { String::new() };
            let total = claims.list.total();
            let all = if claims.is_filtered() { total_in_scope(paint).filter(|all| *all > total) } else { None };
            let least = if claims.at_least { "at least " } else { "" };
            match all {
                // A filtered list also says how many claims there are without the filters.
                Some(all) => {
                    let row = grouped(claims.list.cursor() + 1);
                    let matches = if total == 1 { "match" } else { "matches" };
                    format!("{row} of {least}{} {matches}, {} claims in all{seeking}", grouped(total), grouped(all))
                }
                None => format!("{} of {least}{}{seeking}", grouped(claims.list.cursor() + 1), grouped(total)),
            }
        }
    };
    let inner = paint.pane(area, &title(paint), &note, focused);
    let height = usize::from(inner.height);
    paint.hits.add_pane(inner, Pane::Claims, height);
    let near: Vec<&RecallHit> = claims.related.near().collect();
    if claims.list.loaded() && claims.list.is_empty() && near.is_empty() {
        return draw_empty(paint, inner);
    }
    let known = claims.list.known();
    // Related claims are below the list, under a heading of their own.
    let top = match claims.related.row() {
        Some(row) => (known + 1 + row + 1).saturating_sub(height),
        None => claims.list.top(height),
    };
    let width = usize::from(inner.width);
    let words = paint.state.claims.words();
    let cursor = claims.row();
    let end = known + near.len() + usize::from(!near.is_empty());
    for slot in 0..height {
        let index = top + slot;
        let place = rows(inner, slot, 1);
        if index >= end {
            let unanswered = unanswered_words(paint);
            let lines = unanswered.iter().flat_map(|words| text::wrap(words, width, paint.theme.warn));
            for (below, line) in lines.enumerate().take(height - slot) {
                paint.line(inner, slot + below, &line);
            }
            break;
        }
        if index == known && !near.is_empty() {
            paint.line(place, 0, &related_heading(paint, width));
            continue;
        }
        let row_of = if index < known { index } else { index.saturating_sub(1) };
        let line = match index.checked_sub(known + 1).and_then(|row| near.get(row)) {
            Some(hit) => row(paint, &hit.claim, width, row_of == cursor, &words),
            None => match claims.list.get(index) {
                Some(claim) => row(paint, claim, width, row_of == cursor, &words),
                None => Line::from(span("  …", paint.theme.dim)),
            },
        };
        paint.line(place, 0, &line);
        paint.row(place, Pane::Claims, row_of, row_of == cursor, focused);
    }
}

/// Returns the heading between the claims that contain the words and the related ones.
fn related_heading(paint: &Paint<'_>, width: usize) -> Line<'static> {
    let claims = &paint.state.claims;
    let found = &claims.related;
    let words = match (claims.list.is_empty(), found.verdict == RecallVerdict::Known, found.by_meaning) {
        (_, false, _) if found.verdict == RecallVerdict::Nothing => "No claim answers this; the closest are",
        (_, false, _) => "One of these may answer; the closest are",
        (true, true, true) => "No claim has these words; similar in meaning",
        (true, true, false) => "No claim has these words; related ones",
        (false, true, true) => "Similar in meaning",
        (false, true, false) => "Related",
    };
    let words = match (found.unanswered.count(), found.scopes_asked) {
        (0, _) => words.to_owned(),
        (unanswered, of) => format!("{words}, in {} of {of} scopes", of.saturating_sub(unanswered)),
    };
    let rule = paint.theme.glyphs.rule;
    let words = text::fit(&words, width.saturating_sub(6));
    let rest = width.saturating_sub(text::width(&words) + 4);
    Line::from(vec![
        span(format!("{rule}{rule} "), paint.theme.dim),
        span(words, paint.theme.accent),
        span(format!(" {}", rule.repeat(rest)), paint.theme.dim),
    ])
}

/// Says which scopes did not answer the search by meaning, and why: one text for those that failed, and one for those
/// that timed out.
fn unanswered_words(paint: &Paint<'_>) -> Vec<String> {
    let UnansweredScopes { timed_out, failed } = &paint.state.claims.related.unanswered;
    let failed = failed.first().map(|(scope, error)| match failed.len() - 1 {
        0 => format!("{scope} could not be searched by meaning: {error}"),
        more => format!("{scope} and {more} more could not be searched by meaning: {error}"),
    });
    let timed_out = match timed_out {
        0 => None,
        1 => Some("1 scope timed out: select it to search it by meaning".to_owned()),
        n => Some(format!("{n} scopes timed out: select one to search it by meaning")),
    };
    failed.into_iter().chain(timed_out).collect()
}

/// Counts the claims of every status in the scope shown; `None` until the scopes are loaded.
fn total_in_scope(paint: &Paint<'_>) -> Option<usize> {
    let state = paint.state;
    let scopes = state.scopes.iter().filter(|view| state.scope.as_ref().is_none_or(|scope| *scope == view.scope));
    (!state.scopes.is_empty()).then(|| scopes.map(|view| view.total).sum())
}

fn draw_empty(paint: &mut Paint<'_>, area: Rect) {
    let claims = &paint.state.claims;
    let (heading, step) = if !claims.search.trim().is_empty() {
        (
            format!("No claim matches “{}”", claims.search.trim()),
            "{back} clears the search; {search} searches for other words.",
        )
    } else if claims.is_filtered() {
        ("No claim matches these filters".to_owned(), "{clear_filters} or {back} clears them.")
    } else {
        ("No claims yet".to_owned(), "{add_claim} writes the first. To import decision records: ergo import adr DIR")
    };
    let mut steps = vec![paint.state.keys.say(step)];
    steps.extend(unanswered_words(paint).into_iter().map(|words| format!("{}.", words.trim_end_matches('.'))));
    empty::centred_message(paint, area, &heading, &steps);
}

/// Formats a claim as one line: kind, statement with the searched words highlighted, where else these are, flags,
/// status, and age.
fn row(paint: &Paint<'_>, claim: &ClaimView, width: usize, current: bool, words: &SearchWords) -> Line<'static> {
    let theme = paint.theme;
    let mark = if current { theme.glyphs.cursor } else { " " };
    let kind = if width >= 60 { text::pad(claim.kind.as_str(), 11) } else { kind_short(claim.kind).to_owned() };
    let state = match claim.status {
        Status::Active => "",
        status => claim.flags.status_word(status),
    };
    let flags: String = [
        (claim.flags.contested, '!'),
        (claim.flags.needs_review, '?'),
        (claim.flags.excepted, '='),
        (claim.flags.expired, '~'),
    ]
    .into_iter()
    .filter_map(|(set, mark)| set.then_some(mark))
    .collect();
    let age = times::age(claim.at, paint.state.now);
    let elsewhere = if width >= 44 { words.elsewhere(claim) } else { "" };
    // Two claims may differ in nothing but their conditions.
    let holds = claim.qualifiers.conditions().filter(|_| width >= 44);
    let holds = holds.map_or_else(String::new, |holds| format!("({})", text::fit(&holds, width / 4)));
    let end = [holds.as_str(), elsewhere, flags.as_str(), state, age.as_str()]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    let statement = if claim.flags.redacted { "(redacted)" } else { &claim.statement };
    let room = width.saturating_sub(text::width(&kind) + text::width(&end) + 4);
    let style = if claim.status == Status::Active { theme.text } else { theme.dim };
    let mut spans = vec![span(mark, theme.accent), Span::raw(" "), span(kind, theme.dim), Span::raw(" ")];
    spans.extend(paint.highlight(words, &text::pad(statement, room), style));
    spans.push(Span::raw(" "));
    spans.push(span(end, if flags.is_empty() { theme.dim } else { theme.warn }));
    Line::from(spans)
}

/// Abbreviates a kind to four columns.
pub(super) fn kind_short(kind: ClaimKind) -> &'static str {
    match kind {
        ClaimKind::Decision => "dec ",
        ClaimKind::Constraint => "con ",
        ClaimKind::Rejection => "rej ",
        ClaimKind::Convention => "conv",
        ClaimKind::Fact => "fact",
    }
}

/// Formats a number with thousands separators: `100,312`.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn detail(paint: &mut Paint<'_>, area: Rect) {
    let claims = &paint.state.claims;
    let focused = claims.focus == ClaimsFocus::Detail;
    let width = usize::from(area.width.saturating_sub(4));
    let Some(current) = claims.current() else {
        let inner = paint.pane(area, "Claim", "", focused);
        paint.hits.add_pane(inner, Pane::Detail, usize::from(inner.height));
        return;
    };
    let words = paint.state.claims.words();
    let mut lines = Vec::new();
    let why = if words.is_empty() { String::new() } else { words.why(current, claims.related.hit(current.id)) };
    if !why.is_empty() {
        let label = "matches     ";
        let body = text::wrap(&why, width.saturating_sub(label.len()), paint.theme.text);
        lines.extend(labelled(label.trim_end(), body, label.len(), paint.theme.accent));
    }
    lines.extend(claim::lines_with_matches(paint, current, width, &words));
    paint.document(area, Pane::Detail, "Claim", &lines, claims.scroll, focused);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(100_312), "100,312");
    }
}
