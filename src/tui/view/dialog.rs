//! A question before something that cannot be taken back.

use ratatui::{
    layout::Rect,
    text::{Line, Span},
};

use super::paint::{Paint, centred, rows, span};
use crate::tui::{action::Action, hits::Hit, state::overlay::Confirm, text};

/// Draws it in the middle: what is asked, what will happen, two buttons.
pub(super) fn draw(paint: &mut Paint<'_>, area: Rect, confirm: &Confirm) {
    let theme = paint.theme;
    let width = area.width.saturating_sub(4).min(60);
    let effect = text::wrap(&confirm.effect, usize::from(width.saturating_sub(4)), theme.text);
    let height = u16::try_from(effect.len()).unwrap_or(1).saturating_add(4);
    let place = centred(area, width, height);
    paint.clear(place);
    let inner = paint.pane(place, &confirm.question, "", true);
    paint.lines(inner, &effect, 0);
    let button = |label: String, focused: bool| span(label, if focused { theme.selected } else { theme.text });
    let no = button(" n Cancel ".to_owned(), !confirm.on_yes);
    let yes = button(format!(" y {} ", confirm.yes), confirm.on_yes);
    let row = rows(inner, usize::from(inner.height.saturating_sub(1)), 1);
    let (first, second) = (u16::try_from(no.width()).unwrap_or(0), u16::try_from(yes.width()).unwrap_or(0));
    paint.line(row, 0, &Line::from(vec![no, Span::raw("  "), yes]));
    paint.hits.add(Rect { width: first.min(row.width), ..row }, Hit::Act(Action::No));
    paint.hits.add(Rect { x: row.x + first + 2, width: second, ..row }.intersection(row), Hit::Act(Action::Yes));
}
