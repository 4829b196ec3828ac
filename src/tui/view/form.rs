//! A form over the screen.

use ratatui::{
    layout::Rect,
    text::{Line, Span},
    widgets::{Block, Widget},
};
use ratatui_textarea::TextArea;

use super::{
    paint::{Paint, centred, rows, span},
    verdict_fields,
};
use crate::tui::{
    action::Action,
    hits::Hit,
    state::{
        ActForm,
        form::{Field, FieldInput, FormSubject},
    },
    text,
};

/// Width of the labels of one-line fields.
const LABEL_WIDTH: u16 = 14;

const MAX_TEXT_ROWS: usize = 6;

/// The most rows of keys.
const MAX_KEY_ROWS: usize = 2;

/// Draws the form: its effect, the fields, the error, and the keys.
pub(super) fn draw(paint: &mut Paint<'_>, area: Rect, form: &ActForm) {
    let theme = paint.theme;
    let width = area.width.saturating_sub(2).min(86);
    let columns = usize::from(width.saturating_sub(4));
    let alert = |message: &String, style| text::wrap(&format!("{} {message}", theme.glyphs.alert), columns, style);
    let mut error = form.outdated.as_ref().map_or_else(Vec::new, |message| alert(message, theme.warn));
    error.extend(form.error.iter().flat_map(|(_, message)| alert(message, theme.bad)));
    let error_rows = error.len();
    let mut keys = hints(form);
    // The key that closes the form is not left out before these.
    for spare in [Action::Editor, Action::NewLine, Action::NextField] {
        if key_rows(paint, &keys, columns).len() > 1 {
            keys.retain(|(id, _)| *id != spare);
        }
    }
    let mut keys = key_rows(paint, &keys, columns);
    // An empty line after the effect, the keys with an empty line before, and the border.
    let fixed = error_rows + 4;
    // In a low window the effect and all but the first keys give way to the fields.
    let least: usize = heights_within(form, columns, 1).iter().sum();
    keys.truncate(usize::from(area.height).saturating_sub(fixed + least).clamp(1, MAX_KEY_ROWS));
    let fixed = fixed + keys.len();
    let spare = usize::from(area.height).saturating_sub(fixed + least);
    let effect = text::wrap_at_most(&form.effect, columns, spare, theme.dim);
    let fixed = fixed + effect.len();
    let aside = verdict_fields::aside(paint, form, columns, usize::from(area.height).saturating_sub(fixed));
    let fixed = fixed + aside.len();
    let room = usize::from(area.height).saturating_sub(fixed);
    let heights = field_heights(form, columns, room);
    // If not even the lowest fields fit, those before the one that has the focus give way.
    let skip = hidden_fields(&heights, form.focus, room);
    let total = heights.iter().skip(skip).sum::<usize>() + fixed;
    let place = centred(area, width, u16::try_from(total).unwrap_or(area.height));
    paint.clear(place);
    let inner = paint.pane(place, &form.title, &form.scope_of_act().to_string(), true);
    paint.lines(inner, &effect, 0);
    let mut y = effect.len() + 1;
    for (index, (field, height)) in form.fields.iter().zip(heights).enumerate().skip(skip) {
        let area = rows(inner, y, height);
        draw_field(paint, area, field, index == form.focus);
        paint.hits.add(area, Hit::Field(index));
        y += height;
        if index + 1 == form.verdicts().count() {
            for line in &aside {
                paint.line(inner, y, line);
                y += 1;
            }
        }
    }
    for line in error {
        paint.line(inner, y, &line);
        y += 1;
    }
    let first = usize::from(inner.height).saturating_sub(keys.len());
    let last = rows(inner, first, keys.len());
    paint.clear(last);
    if form.sending {
        return paint.line(last, 0, &Line::from(span("Sending…", theme.warn)));
    }
    for (at, keys) in keys.iter().enumerate() {
        draw_keys(paint, rows(inner, first + at, 1), keys);
    }
}

/// Returns the keys that work in the field that has the focus.
fn hints(form: &ActForm) -> Vec<(Action, &'static str)> {
    if form.asks_verdict() {
        return verdict_fields::HINTS.into();
    }
    let input = form.fields.get(form.focus).map(|field| &field.input);
    let mut out = match (form.at_end(), form.outdated.is_some()) {
        (true, true) => Vec::new(),
        (true, false) => vec![(Action::Advance, "submit")],
        (false, true) => vec![(Action::Advance, "next")],
        (false, false) => vec![(Action::Advance, "next"), (Action::Submit, "submit")],
    };
    if form.at_end() && matches!(input, Some(FieldInput::Text(_))) {
        out.push((Action::NewLine, "new line"));
    }
    if matches!(input, Some(FieldInput::Text(_) | FieldInput::Line(_))) {
        out.push((Action::Editor, "editor"));
    }
    if matches!(form.about, FormSubject::Held { .. }) {
        out.push((Action::PrevField, "back"));
    }
    out.push((Action::Cancel, "keep as a draft"));
    out
}

/// Returns the width of a key with what it does.
fn key_width(paint: &Paint<'_>, id: Action, words: &str) -> usize {
    text::width(&paint.state.keys.first(id)) + 1 + text::width(words)
}

/// Distributes keys over rows of this width.
fn key_rows(paint: &Paint<'_>, keys: &[(Action, &'static str)], columns: usize) -> Vec<Vec<(Action, &'static str)>> {
    let mut out = vec![Vec::new()];
    let mut used = 0;
    for key in keys {
        let width = key_width(paint, key.0, key.1);
        if used > 0 && used + 2 + width > columns {
            out.push(Vec::new());
            used = 0;
        }
        used += width + if used > 0 { 2 } else { 0 };
        if let Some(row) = out.last_mut() {
            row.push(*key);
        }
    }
    out
}

/// Draws the keys of a row, each with what it does; they can be clicked.
fn draw_keys(paint: &mut Paint<'_>, area: Rect, keys: &[(Action, &str)]) {
    let mut x = area.x;
    for (id, words) in keys {
        let key = paint.state.keys.first(*id);
        if key.is_empty() {
            continue;
        }
        let cells = u16::try_from(key_width(paint, *id, words)).unwrap_or(0);
        // A key is left out rather than cut.
        if x.saturating_add(cells) > area.right() {
            break;
        }
        let place = Rect { x, width: cells, ..area };
        let spans = [span(key, paint.theme.key), Span::raw(" "), span(*words, paint.theme.dim)];
        paint.line(place, 0, &Line::from(spans.to_vec()));
        paint.hits.add(place, Hit::Act(*id));
        x = x.saturating_add(cells + 2);
    }
}

/// Returns the rows of each field: text fields take what they need, and shrink together if there is not enough room.
fn field_heights(form: &ActForm, columns: usize, room: usize) -> Vec<usize> {
    let within = |limit| heights_within(form, columns, limit);
    let fits = |heights: &Vec<usize>| heights.iter().sum::<usize>() <= room;
    (1..=MAX_TEXT_ROWS).rev().map(within).find(fits).unwrap_or_else(|| within(1))
}

/// Returns the rows of each field if no text field has more than `limit` rows of text.
fn heights_within(form: &ActForm, columns: usize, limit: usize) -> Vec<usize> {
    let height = |field: &Field| match &field.input {
        FieldInput::Text(area) => text_rows(area, columns).min(limit) + 2,
        FieldInput::Line(_) | FieldInput::Choice { .. } | FieldInput::Verdict { .. } => 1,
    };
    form.fields.iter().map(height).collect()
}

/// Returns how many fields at the beginning are not shown, so that the one that has the focus fits.
fn hidden_fields(heights: &[usize], focus: usize, room: usize) -> usize {
    if heights.iter().sum::<usize>() <= room {
        return 0;
    }
    let upto = |skip: usize| heights.iter().take(focus + 1).skip(skip).sum::<usize>();
    (0..focus).find(|skip| upto(*skip) <= room).unwrap_or(focus)
}

fn text_rows(area: &TextArea<'static>, columns: usize) -> usize {
    let columns = columns.saturating_sub(4).max(1);
    let rows: usize = area.lines().iter().map(|line| text::width(line) / columns + 1).sum();
    rows.clamp(2, MAX_TEXT_ROWS)
}

fn draw_field(paint: &mut Paint<'_>, area: Rect, field: &Field, focused: bool) {
    let theme = paint.theme;
    let label_style = if focused { theme.accent } else { theme.dim };
    let label_area = Rect { width: LABEL_WIDTH.min(area.width), ..area };
    let value = Rect { x: area.x + label_area.width, width: area.width - label_area.width, ..area };
    match &field.input {
        FieldInput::Text(text_area) => {
            let border = if focused { theme.border_focus } else { theme.border };
            let block = Block::bordered()
                .border_set(theme.glyphs.border)
                .border_style(border)
                .title(span(format!(" {} ", field.label), label_style));
            render(paint, text_area, area, field.hint, focused, Some(block));
        }
        FieldInput::Line(text_area) => {
            paint.line(label_area, 0, &Line::from(span(text::fit(field.label, usize::from(LABEL_WIDTH)), label_style)));
            render(paint, text_area, value, field.hint, focused, None);
        }
        FieldInput::Verdict { doubt, chosen } => verdict_fields::row(paint, area, doubt, *chosen, focused),
        FieldInput::Choice { options, chosen } => {
            paint.line(label_area, 0, &Line::from(span(text::fit(field.label, usize::from(LABEL_WIDTH)), label_style)));
            let mut spans = Vec::new();
            let shown = visible_options(options, *chosen, usize::from(value.width));
            if shown.start > 0 {
                spans.push(span("… ", theme.dim));
            }
            for (index, option) in options.iter().enumerate().take(shown.end).skip(shown.start) {
                let on = index == *chosen;
                let style = if on && focused {
                    theme.selected
                } else if on {
                    theme.title
                } else {
                    theme.dim
                };
                let mark = if on { theme.glyphs.cursor } else { " " };
                spans.push(span(format!("{mark}{} ", text::line(option)), style));
                spans.push(Span::raw(" "));
            }
            if shown.end < options.len() {
                spans.push(span("…", theme.dim));
            }
            paint.line(value, 0, &Line::from(spans));
        }
    }
}

/// Returns the options that fit into a row as a whole, among them the chosen one.
fn visible_options(options: &[String], chosen: usize, room: usize) -> std::ops::Range<usize> {
    let width = |option: &String| text::width(option) + 3;
    if options.iter().map(width).sum::<usize>() <= room {
        return 0..options.len();
    }
    // Leave room for an ellipsis at both ends.
    let room = room.saturating_sub(4);
    let (mut start, mut end, mut used) = (chosen, chosen + 1, options.get(chosen).map_or(0, width));
    loop {
        let left = start.checked_sub(1).and_then(|at| options.get(at)).map(width).filter(|w| used + w <= room);
        let right = options.get(end).map(width).filter(|w| used + w <= room);
        match (left, right) {
            (_, Some(w)) => (end, used) = (end + 1, used + w),
            (Some(w), None) => (start, used) = (start - 1, used + w),
            (None, None) => return start..end.min(options.len()),
        }
    }
}

fn render(
    paint: &mut Paint<'_>,
    area: &TextArea<'static>,
    place: Rect,
    hint: &str,
    focused: bool,
    block: Option<Block<'static>>,
) {
    let theme = paint.theme;
    let place = place.intersection(paint.buffer.area);
    if place.is_empty() || (block.is_some() && (place.height < 3 || place.width < 3)) {
        return;
    }
    let mut area = area.clone();
    area.set_style(theme.text);
    area.set_cursor_line_style(theme.text);
    area.set_cursor_style(if focused { theme.selected } else { theme.text });
    area.set_placeholder_text(hint);
    area.set_placeholder_style(theme.dim);
    if let Some(block) = block {
        area.set_block(block);
    }
    (&area).render(place, paint.buffer);
}

#[cfg(test)]
mod tests {
    use super::{hints, visible_options};
    use crate::tui::{
        action::Action,
        sample::{app, press},
        state::{Overlay, Screen},
        update::Opening,
    };

    #[test]
    fn only_keys_that_work_in_the_field_are_offered() {
        let mut state = app((120, 40), Opening { screen: Some(Screen::Cards), ..Opening::default() });
        press(&mut state, "o");
        let offered = |state: &crate::tui::state::AppState| match &state.overlay {
            Some(Overlay::Form(form)) => hints(form).into_iter().map(|(id, _)| id).collect::<Vec<_>>(),
            _ => panic!("no form is open"),
        };
        assert_eq!(offered(&state), [Action::Advance, Action::Submit, Action::Cancel], "a choice is not edited");
        press(&mut state, "tab");
        assert_eq!(
            offered(&state),
            [Action::Advance, Action::Submit, Action::Editor, Action::Cancel],
            "nor has one line two"
        );
        press(&mut state, "shift-tab shift-tab");
        assert_eq!(offered(&state), [Action::Advance, Action::NewLine, Action::Editor, Action::Cancel]);
    }

    #[test]
    fn what_is_chosen_is_always_among_the_options_shown() {
        let options: Vec<String> = (0..9).map(|n| format!("docs/adr/{n}.md")).collect();
        assert_eq!(visible_options(options.get(..2).unwrap(), 0, 60), 0..2);
        for chosen in 0..9 {
            let shown = visible_options(&options, chosen, 60);
            assert!(shown.contains(&chosen) && shown.len() == 3, "{chosen}: {shown:?}");
        }
        assert_eq!(visible_options(&options, 4, 5), 4..5, "cut, but there");
    }
}
