//! The palette, and the input line.

use ratatui::{
    layout::Rect,
    text::{Line, Span},
    widgets::Widget,
};
use ratatui_textarea::TextArea;

use super::paint::{Paint, centred, rows, span};
use crate::tui::{
    action::{ActionSpec, Danger},
    hits::Pane,
    msg::Slot,
    state::overlay::{Palette, PromptInput, PromptPurpose},
    text,
    theme::Theme,
};

/// Draws the palette: a search line, then the actions with their keys; an action that is not possible with the reason.
pub(super) fn draw(paint: &mut Paint<'_>, area: Rect, palette: &Palette) {
    let (theme, state) = (paint.theme, paint.state);
    let place = centred(area, area.width.saturating_sub(4).min(92), area.height.saturating_sub(2));
    paint.clear(place);
    let acts = palette.acts(state);
    let note = if acts.is_empty() { String::new() } else { format!("{} of {}", palette.row + 1, acts.len()) };
    let inner = paint.pane(place, "Help and all commands: type to search", &note, true);
    input(theme, &palette.input, rows(inner, 0, 1), paint.buffer, "what do you want to do?");
    // The height of the explanation does not depend on the action under the cursor.
    let width = usize::from(inner.width);
    let explain = |spec: &ActionSpec| {
        let why = state.check(spec).err().map_or_else(String::new, |reason| format!(" Not now: {reason}."));
        let words = format!("{}{why}", state.keys.say(spec.help));
        text::wrap_at_most(&words, width, (usize::from(inner.height) / 3).max(2), theme.text)
    };
    let tallest = acts.iter().map(|spec| explain(spec).len()).max().unwrap_or(0);
    let below = 1 + tallest.max(2);
    let list = rows(inner, 2, usize::from(inner.height).saturating_sub(2 + below));
    let height = usize::from(list.height);
    paint.hits.add_pane(list, Pane::Picks, height);
    let top = (palette.row + 1).saturating_sub(height);
    for (slot, (index, spec)) in acts.iter().enumerate().skip(top).take(height).enumerate() {
        let mark = match spec.danger {
            Danger::None => " ",
            Danger::Undoable => theme.glyphs.dot,
            Danger::Final => theme.glyphs.alert,
        };
        let keys = text::pad(&state.keys.all(spec.id), 14);
        let check = state.check(spec);
        let (style, words) = match &check {
            Ok(()) => (theme.text, state.keys.say(spec.help)),
            Err(reason) => (theme.dim, format!("not possible: {reason}")),
        };
        let title = text::pad(spec.title, 26);
        let line = Line::from(vec![
            span(keys, if check.is_ok() { theme.key } else { theme.dim }),
            span(format!("{mark} "), theme.dim),
            span(title, style),
            Span::raw(" "),
            span(text::fit(&words, width.saturating_sub(43)), theme.dim),
        ]);
        let place = rows(list, slot, 1);
        paint.line(place, 0, &line);
        paint.row(place, Pane::Picks, index, index == palette.row, true);
    }
    if acts.is_empty() {
        let text = state.keys.say("{clear_input} clears what was typed; {close} goes back.");
        let lines = text::wrap(&format!("No command matches “{}”. {text}", palette.wanted()), width, theme.text);
        paint.lines(list, &lines, 0);
    }
    // The action under the cursor in full, below the list.
    let foot = rows(inner, usize::from(inner.height).saturating_sub(below - 1), below - 1);
    if let Some(spec) = acts.get(palette.row) {
        paint.lines(foot, &explain(spec), 0);
    }
}

/// Draws the input line over the last row.
pub(super) fn prompt(paint: &mut Paint<'_>, area: Rect, prompt: &PromptInput) {
    let theme = paint.theme;
    paint.clear(area);
    let (label, hint) = match prompt.asking {
        PromptPurpose::Search => (
            " Search ",
            "words, by:NAME since:7d source:FILE kind:… status:all guard:warned; !word or !by:NAME excludes",
        ),
        PromptPurpose::Why => (" Why ", "a question in words, or a claim's id"),
    };
    let found = match prompt.asking {
        PromptPurpose::Search if paint.state.waits(Slot::Claims) => "…".to_owned(),
        PromptPurpose::Search => {
            let claims = &paint.state.claims;
            match claims.related.near().len() {
                0 => format!("{} found ", claims.list.total()),
                near => format!("{} found, {near} similar ", claims.list.total()),
            }
        }
        PromptPurpose::Why => paint.state.keys.say("{pick} asks "),
    };
    paint.line(area, 0, &Line::from(span(label, theme.badge)));
    let start = u16::try_from(label.len() + 1).unwrap_or(0);
    let end = u16::try_from(text::width(&found) + 1).unwrap_or(0);
    let place = Rect { x: area.x + start, width: area.width.saturating_sub(start + end), ..area }.intersection(area);
    input(theme, &prompt.input, place, paint.buffer, hint);
    let place = Rect { x: area.x + area.width.saturating_sub(end), width: end, ..area }.intersection(area);
    paint.line(place, 0, &Line::from(span(found, theme.dim)));
}

/// Draws a text area of one line, with a block as its cursor.
pub(super) fn input(
    theme: &Theme,
    area: &TextArea<'static>,
    place: Rect,
    buffer: &mut ratatui::buffer::Buffer,
    hint: &str,
) {
    if place.is_empty() {
        return;
    }
    let mut area = area.clone();
    area.set_style(theme.text);
    area.set_cursor_line_style(theme.text);
    area.set_cursor_style(theme.selected);
    area.set_placeholder_text(text::fit(hint, usize::from(place.width.saturating_sub(1))));
    area.set_placeholder_style(theme.dim);
    (&area).render(place.intersection(buffer.area), buffer);
}
