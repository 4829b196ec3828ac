//! The Inbox filtered by status: a list of cards, and the card.

use ratatui::{
    layout::Rect,
    text::{Line, Span},
};

use super::{
    Shape, card, claim_pair, empty,
    paint::{Paint, rows, span},
};
use crate::{
    api::{CardKind, CardStatus, CardSummary},
    tui::{
        hits::Pane,
        state::{Focus, conflicts::CardListFilter},
        text, times,
    },
};

/// Lines of a card in the list, if it is not narrow.
const ROW_HEIGHT: usize = 2;

pub(super) fn draw(paint: &mut Paint<'_>, area: Rect) {
    let screen = &paint.state.conflicts;
    let has_card = screen.wanted.is_some() || screen.card.is_some();
    if screen.list.loaded() && screen.list.is_empty() && screen.wanted.is_none() {
        return draw_empty(paint, area);
    }
    match Shape::of(paint) {
        Shape::Wide => {
            let width = super::list_width(area);
            let left = Rect { width, ..area };
            let right = Rect { x: area.x + width, width: area.width - width, ..area };
            list(paint, left);
            show_card(paint, right);
        }
        Shape::Mid | Shape::Single if screen.focus == Focus::Detail && has_card => show_card(paint, area),
        Shape::Mid => {
            let height = (area.height / 3).max(2 + 2 * u16::try_from(ROW_HEIGHT).unwrap_or(2));
            list(paint, Rect { height, ..area });
            show_card(paint, Rect { y: area.y + height, height: area.height - height, ..area });
        }
        Shape::Single => list(paint, area),
    }
}

fn draw_empty(paint: &mut Paint<'_>, area: Rect) {
    let state = paint.state;
    let scope = state.scope.as_ref().map_or_else(|| "in any scope".to_owned(), |scope| format!("in {scope}"));
    let inner = paint.pane(area, &title(paint), "", true);
    paint.hits.add_pane(inner, Pane::Cards, 1);
    let (heading, step) = match state.conflicts.filter {
        CardListFilter::Open => {
            (format!("No open cards {scope}"), "Press {audit} to compare the active claims with each other.")
        }
        CardListFilter::Snoozed => {
            (format!("No card is snoozed {scope}"), "Press {card_filter} to see the settled ones.")
        }
        CardListFilter::Settled => {
            (format!("No card was settled yet {scope}"), "Press {card_filter} to see all cards.")
        }
        CardListFilter::All => {
            (format!("No cards {scope}"), "Press {audit} to compare the active claims with each other.")
        }
    };
    empty::centred_message(paint, inner, &heading, &[state.keys.say(step)]);
}

fn title(paint: &Paint<'_>) -> String {
    let screen = &paint.state.conflicts;
    let scope = paint.state.scope.as_ref().map_or_else(String::new, |scope| format!(": {scope}"));
    match screen.filter {
        CardListFilter::All => format!("All cards{scope}"),
        CardListFilter::Open => format!("Open cards{scope}"),
        CardListFilter::Snoozed => format!("Snoozed cards{scope}"),
        CardListFilter::Settled => format!("Settled cards{scope}"),
    }
}

fn list(paint: &mut Paint<'_>, area: Rect) {
    let screen = &paint.state.conflicts;
    let focused = screen.focus == Focus::List;
    let marked = match screen.marks.len() {
        0 => String::new(),
        n => format!("{n} marked, "),
    };
    let note = match (&screen.error, screen.list.loaded()) {
        (Some(error), _) => error.clone(),
        (None, true) => format!("{marked}{} of {}", screen.list.cursor() + 1, screen.list.total()),
        (None, false) => "loading…".to_owned(),
    };
    let inner = paint.pane(area, &title(paint), &note, focused);
    // In a narrow list, each of the two claims takes a line.
    let row_height = if inner.width < 60 && Shape::of(paint) == Shape::Wide { ROW_HEIGHT + 1 } else { ROW_HEIGHT };
    let fit = (usize::from(inner.height) / row_height).max(1);
    paint.hits.add_pane(inner, Pane::Cards, fit);
    let top = screen.list.top(fit);
    for slot in 0..=fit {
        let index = top + slot;
        if index >= screen.list.known() {
            break;
        }
        let place = rows(inner, slot * row_height, row_height);
        if place.is_empty() {
            break;
        }
        let current = index == screen.list.cursor();
        if let Some(summary) = screen.list.get(index) {
            let lines = row(paint, summary, usize::from(place.width), row_height, current);
            paint.lines(place, &lines, 0);
        } else {
            paint.line(place, 0, &Line::from(span("…", paint.theme.dim)));
        }
        paint.row(place, Pane::Cards, index, current, focused);
    }
}

/// Lays out a card in `row_height` lines: both claims, in one line or two; then its status, kind, scope, writer and
/// age.
fn row(paint: &Paint<'_>, summary: &CardSummary, width: usize, row_height: usize, current: bool) -> Vec<Line<'static>> {
    let theme = paint.theme;
    let mark = if current { theme.glyphs.cursor } else { " " };
    let style = if summary.status == CardStatus::Open { theme.text } else { theme.dim };
    let dot = theme.glyphs.dot;
    let who = summary.agent.as_deref().unwrap_or(&summary.who);
    let age = times::age(summary.at, paint.state.now);
    let scope = paint.state.scope.is_none().then(|| summary.scope.project.clone());
    let status = match summary.status {
        CardStatus::Open => None,
        CardStatus::Snoozed => Some("snoozed".to_owned()),
        CardStatus::Settled => Some("settled".to_owned()),
    };
    let parts = status.into_iter().chain([kind(summary).to_owned()]).chain(scope).chain([who.to_owned()]);
    let meta = parts.collect::<Vec<_>>().join(&format!(" {dot} "));
    // Marks get a column of their own once a card is marked.
    let marks = &paint.state.conflicts.marks;
    let marked = match (marks.is_empty(), marks.contains(summary.id)) {
        (true, _) => "",
        (false, true) => theme.glyphs.mark,
        (false, false) => " ",
    };
    let width = width.saturating_sub(text::width(marked));
    let cursor = |indent: &'static str| [span(mark, theme.accent), span(marked, theme.warn), Span::raw(indent)];
    let room = width.saturating_sub(2);
    let head: Vec<Vec<Span<'static>>> = match (&summary.pair, row_height) {
        (Some(pair), ROW_HEIGHT) => vec![claim_pair::one_line(paint, pair, room, style)],
        (Some(pair), _) => claim_pair::two_lines(paint, pair, room, style).into(),
        (None, _) => {
            text::wrap(&summary.headline, room, style).into_iter().map(|line| line.spans).take(row_height - 1).collect()
        }
    };
    let mut out: Vec<Line<'static>> =
        head.into_iter().map(|spans| cursor(" ").into_iter().chain(spans).collect()).collect();
    let room = width.saturating_sub(text::width(&age) + 5);
    let meta = [span(text::pad(&meta, room), theme.dim), Span::raw(" "), span(age, theme.dim)];
    out.push(cursor("   ").into_iter().chain(meta).collect());
    out
}

/// Returns the word for the kind of a card.
pub(super) fn kind(card: &CardSummary) -> &'static str {
    match card.kind {
        CardKind::Refused if card.accept.is_some() => "proposed",
        CardKind::Refused => "refused",
        CardKind::Contradiction => "contradiction",
        CardKind::Contested => "concurrent",
        CardKind::Found => "found later",
        CardKind::Proposed => "proposed",
        CardKind::Held => "held",
        CardKind::Story => "story",
    }
}

fn show_card(paint: &mut Paint<'_>, area: Rect) {
    let screen = &paint.state.conflicts;
    let focused = screen.focus == Focus::Detail;
    let Some(open) = &screen.card else {
        return unread_card(paint, area, "Card", focused);
    };
    let summary = &open.view.summary;
    let path = paint.theme.glyphs.path;
    let title = format!("{} {path} card {}", summary.scope, summary.id.short());
    card::draw(paint, area, open, &title, focused);
}

/// Draws the pane of a card that was not read: it is still loading, or reading it failed.
pub(super) fn unread_card(paint: &mut Paint<'_>, area: Rect, title: &str, focused: bool) {
    let inner = paint.pane(area, title, "", focused);
    paint.hits.add_pane(inner, Pane::Card, usize::from(inner.height));
    match paint.state.conflicts.card_error.clone() {
        Some(error) => {
            empty::centred_message(paint, inner, &error, &[paint.state.keys.say("{reload} tries again.")]);
        }
        None => empty::centred_message(paint, inner, "Loading the card…", &[]),
    }
}
