//! A form over the screen.

use ratatui::{
    layout::Rect,
    text::{Line, Span},
    widgets::{Block, Widget},
};
use ratatui_textarea::TextArea;

use super::paint::{Paint, centred, rows, span};
use crate::tui::{
    hits::Hit,
    state::{
        Form,
        form::{Field, Input},
    },
    text,
};

/// Columns of the labels of one-line fields.
const LABEL: u16 = 14;

/// The most lines that a text field shows.
const TEXT_ROWS: usize = 6;

/// Draws the form: what will happen, the fields, what is wrong, how to go on.
pub(super) fn draw(paint: &mut Paint<'_>, area: Rect, form: &Form) {
    let theme = paint.theme;
    let width = area.width.saturating_sub(2).min(86);
    let columns = usize::from(width.saturating_sub(4));
    let effect = text::wrap(&form.effect, columns, theme.dim);
    let error = form
        .error
        .as_ref()
        .map(|(_, message)| text::wrap(&format!("{} {message}", theme.glyphs.alert), columns, theme.bad));
    let error_rows = error.as_ref().map_or(0, Vec::len);
    let fixed = effect.len() + 1 + error_rows + 2;
    let room = usize::from(area.height).saturating_sub(fixed + 2);
    let heights = heights(form, columns, room);
    let total = heights.iter().sum::<usize>() + fixed + 2;
    let place = centred(area, width, u16::try_from(total).unwrap_or(area.height));
    paint.clear(place);
    let inner = paint.pane(place, &form.title, &form.scope.to_string(), true);
    paint.lines(inner, &effect, 0);
    let mut y = effect.len() + 1;
    for (index, (field, height)) in form.fields.iter().zip(heights).enumerate() {
        let area = rows(inner, y, height);
        draw_field(paint, area, field, index == form.focus);
        paint.hits.add(area, Hit::Field(index));
        y += height;
    }
    for line in error.unwrap_or_default() {
        paint.line(inner, y, &line);
        y += 1;
    }
    let dot = theme.glyphs.dot;
    let how = if form.sending {
        span("Sending…", theme.warn)
    } else if form.at_end() {
        span(
            format!("enter: do it {dot} alt-enter: new line {dot} ctrl-o: editor {dot} esc: keep as a draft"),
            theme.dim,
        )
    } else {
        span(format!("enter: next {dot} ctrl-s: do it {dot} ctrl-o: editor {dot} esc: keep as a draft"), theme.dim)
    };
    let last = rows(inner, usize::from(inner.height.saturating_sub(1)), 1);
    let how = span(text::fit(&how.content, columns), how.style);
    paint.line(last, 0, &Line::from(how));
}

/// Rows for each field: texts take what they need, and shrink together where there is not enough.
fn heights(form: &Form, columns: usize, room: usize) -> Vec<usize> {
    let want = |limit: usize| -> Vec<usize> {
        form.fields
            .iter()
            .map(|field| match &field.input {
                Input::Text(area) => text_rows(area, columns).min(limit) + 2,
                Input::Line(_) | Input::Choice { .. } => 1,
            })
            .collect()
    };
    (1..=TEXT_ROWS).rev().map(want).find(|heights| heights.iter().sum::<usize>() <= room).unwrap_or_else(|| want(1))
}

fn text_rows(area: &TextArea<'static>, columns: usize) -> usize {
    let columns = columns.saturating_sub(4).max(1);
    let rows: usize = area.lines().iter().map(|line| text::width(line) / columns + 1).sum();
    rows.clamp(2, TEXT_ROWS)
}

fn draw_field(paint: &mut Paint<'_>, area: Rect, field: &Field, focused: bool) {
    let theme = paint.theme;
    let label_style = if focused { theme.accent } else { theme.dim };
    let label_area = Rect { width: LABEL.min(area.width), ..area };
    let value = Rect { x: area.x + label_area.width, width: area.width - label_area.width, ..area };
    match &field.input {
        Input::Text(text_area) => {
            let border = if focused { theme.border_focus } else { theme.border };
            let block = Block::bordered()
                .border_set(theme.glyphs.border)
                .border_style(border)
                .title(span(format!(" {} ", field.label), label_style));
            render(paint, text_area, area, field.hint, focused, Some(block));
        }
        Input::Line(text_area) => {
            paint.line(label_area, 0, &Line::from(span(text::fit(field.label, usize::from(LABEL)), label_style)));
            render(paint, text_area, value, field.hint, focused, None);
        }
        Input::Choice { options, chosen } => {
            paint.line(label_area, 0, &Line::from(span(text::fit(field.label, usize::from(LABEL)), label_style)));
            let mut spans = Vec::new();
            for (index, option) in options.iter().enumerate() {
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
            paint.line(value, 0, &Line::from(spans));
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
