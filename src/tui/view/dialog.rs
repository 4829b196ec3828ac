//! A confirmation before something that cannot be undone or that concerns many items.

use ratatui::{
    layout::Rect,
    text::{Line, Span},
};

use super::paint::{Paint, centred, rows, span};
use crate::tui::{
    action::Action,
    hits::{Hit, Pane},
    state::overlay::{Confirm, Listed},
    text,
};

/// Draws the dialog in the middle: the question, the effect, the result for each item if there are several, and two
/// buttons.
pub(super) fn draw(paint: &mut Paint<'_>, area: Rect, confirm: &Confirm) {
    let theme = paint.theme;
    let widest = if confirm.list.is_empty() { 60 } else { 92 };
    let width = area.width.saturating_sub(4).min(widest);
    let columns = usize::from(width.saturating_sub(4));
    let effect = text::wrap(&confirm.effect, columns, theme.text);
    let list: Vec<Line<'static>> = confirm.list.iter().map(|item| listed(paint, item, columns)).collect();
    let room = usize::from(area.height).saturating_sub(effect.len() + 7);
    let shown = list.len().min(room);
    let height = effect.len() + 4 + if list.is_empty() { 0 } else { shown + 1 };
    let place = centred(area, width, u16::try_from(height).unwrap_or(area.height));
    paint.clear(place);
    let scroll = confirm.scroll.min(list.len().saturating_sub(shown));
    let note = match list.len() {
        0 => String::new(),
        total if total > shown => {
            let keys = paint.state.keys.say("{preview_up} and {preview_down} scroll");
            format!("{} to {} of {total}: {keys}", scroll + 1, scroll + shown)
        }
        total => format!("{total}"),
    };
    let inner = paint.pane(place, &confirm.question, &note, true);
    paint.lines(inner, &effect, 0);
    if !list.is_empty() {
        let place = rows(inner, effect.len() + 1, shown);
        paint.hits.add_pane(place, Pane::Picks, shown);
        paint.hits.add_overflow(Pane::Picks, list.len().saturating_sub(shown));
        paint.lines(place, &list, scroll);
    }
    let button = |label: String, focused: bool| span(label, if focused { theme.selected } else { theme.text });
    let keys = &paint.state.keys;
    let no = button(format!(" {} Cancel ", keys.first(Action::No)), !confirm.on_yes);
    let yes = button(format!(" {} {} ", keys.first(Action::Yes), confirm.yes), confirm.on_yes);
    let row = rows(inner, usize::from(inner.height.saturating_sub(1)), 1);
    let (first, second) = (u16::try_from(no.width()).unwrap_or(0), u16::try_from(yes.width()).unwrap_or(0));
    paint.clear(row);
    paint.line(row, 0, &Line::from(vec![no, Span::raw("  "), yes]));
    paint.hits.add(Rect { width: first.min(row.width), ..row }, Hit::Act(Action::No));
    paint.hits.add(Rect { x: row.x + first + 2, width: second, ..row }.intersection(row), Hit::Act(Action::Yes));
}

/// Formats the result for one item: a mark and a word, so that colour is not the only sign.
fn listed(paint: &Paint<'_>, item: &Listed, columns: usize) -> Line<'static> {
    let theme = paint.theme;
    let (mark, word, style) =
        if item.done { (theme.glyphs.done, "", theme.ok) } else { (theme.glyphs.alert, "not settled: ", theme.warn) };
    let about = if item.done { String::new() } else { format!(" ({})", item.about) };
    let words = text::fit(&format!("{word}{}{about}", item.text), columns.saturating_sub(2));
    Line::from(vec![span(format!("{mark} "), style), span(words, theme.text)])
}
