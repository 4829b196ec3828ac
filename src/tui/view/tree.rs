//! The scope tree.

use ratatui::{
    layout::Rect,
    text::{Line, Span},
};

use super::paint::{Paint, rows, span};
use crate::tui::{
    hits::Pane,
    state::claims::{ClaimsFocus, TreeRow, tree},
    text,
};

/// Draws each scope with the number of its active claims and, marked, of its open conflicts.
pub(super) fn draw(paint: &mut Paint<'_>, area: Rect) {
    let state = paint.state;
    let focused = state.claims.focus == ClaimsFocus::Scopes;
    let has_cards = state.open_cards() > 0;
    let note = if has_cards { format!("{} open conflicts", paint.theme.glyphs.alert) } else { String::new() };
    let inner = paint.pane(area, "Scopes", &note, focused);
    let height = usize::from(inner.height);
    paint.hits.add_pane(inner, Pane::Scopes, height);
    let list = tree(&state.scopes);
    let cursor = state.claims.scope_row;
    let top = (cursor + 1).saturating_sub(height);
    let width = usize::from(inner.width);
    for (slot, (index, row)) in list.iter().enumerate().skip(top).take(height).enumerate() {
        let place = rows(inner, slot, 1);
        let line = line(paint, row, width);
        paint.line(place, 0, &line);
        paint.row(place, Pane::Scopes, index, index == cursor, focused);
    }
}

fn line(paint: &Paint<'_>, row: &TreeRow<'_>, width: usize) -> Line<'static> {
    let (theme, scopes) = (paint.theme, &paint.state.scopes);
    let (name, active, cards) = match row {
        TreeRow::All => {
            let active = scopes.iter().map(|scope| scope.active).sum();
            ("All scopes".to_owned(), Some(active), paint.state.open_cards())
        }
        TreeRow::Org(org) => ((*org).to_owned(), None, 0),
        TreeRow::Scope(view, last) => {
            let rail = if theme.glyphs.rail == "|" {
                if *last { "`- " } else { "|- " }
            } else if *last {
                "└ "
            } else {
                "├ "
            };
            (format!("{rail}{}", view.scope.project), Some(view.active), view.open_cards)
        }
    };
    let count = active.map_or_else(String::new, |active: usize| active.to_string());
    let alert = if cards > 0 { format!(" {}{cards}", theme.glyphs.alert) } else { String::new() };
    let room = width.saturating_sub(count.len() + alert.len() + 1);
    let style = if active.is_none() { theme.dim } else { theme.text };
    Line::from(vec![
        span(text::pad(&name, room), style),
        Span::raw(" "),
        span(count, theme.dim),
        span(alert, theme.warn),
    ])
}
