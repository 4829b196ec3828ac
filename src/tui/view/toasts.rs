//! Short messages over the lower edge of the screen, or above the row under the cursor if that is there.

use ratatui::{layout::Rect, text::Line};

use super::paint::{Paint, rows, span};
use crate::tui::{state::Tone, text};

/// The columns beside the text of a message: two on either side of it, its mark with spaces, and one at its end.
const OUTSIDE_WIDTH: usize = 8;

/// The most lines of one message. The session's log has it in full.
const MAX_LINES: usize = 3;

/// Draws the messages, the newest at the bottom.
pub(super) fn draw(paint: &mut Paint<'_>, area: Rect) {
    let theme = paint.theme;
    let width = usize::from(area.width).saturating_sub(OUTSIDE_WIDTH).max(1);
    let mut lines: Vec<Line<'static>> = Vec::new();
    for toast in &paint.state.toasts {
        let (mark, style) = match toast.tone {
            Tone::Info => (theme.glyphs.dot, theme.text),
            Tone::Done => (theme.glyphs.done, theme.ok),
            Tone::Warn => (theme.glyphs.alert, theme.warn),
            Tone::Bad => (theme.glyphs.alert, theme.bad),
        };
        let hint = if paint.state.overlay.is_none() && !toast.hint.is_empty() {
            format!(" {}", toast.hint)
        } else {
            String::new()
        };
        let mut wrapped = text::wrap(&format!("{}{hint}", toast.text), width, theme.title);
        if wrapped.len() > MAX_LINES {
            // The hint stays whole, on a line of its own.
            let last = if hint.is_empty() { Vec::new() } else { text::wrap(hint.trim_start(), width, theme.title) };
            wrapped = text::wrap_at_most(&toast.text, width, MAX_LINES - last.len().min(MAX_LINES), theme.title);
            wrapped.extend(last);
        }
        for (row, line) in wrapped.into_iter().enumerate() {
            let mut spans = vec![span(format!(" {} ", if row == 0 { mark } else { " " }), style)];
            spans.extend(line.spans);
            lines.push(Line::from(spans));
        }
    }
    let height = usize::from(area.height / 2).min(lines.len());
    let skip = lines.len() - height;
    let top = top(paint, area, height);
    for (row, line) in lines.iter().skip(skip).enumerate() {
        let place = rows(area, top + row, 1);
        let wide =
            u16::try_from(text::spans_width(&line.spans) + 2).unwrap_or(place.width).min(place.width.saturating_sub(4));
        let place = Rect { x: place.x + 2, width: wide, ..place }.intersection(place);
        // Clear up to the border of the pane, so that no half word stays beside the message. A row of the border itself
        // has no words.
        let at = |x: u16, border: &str| paint.buffer.cell((x, place.y)).is_some_and(|cell| cell.symbol() == border);
        let borders = theme.glyphs.border;
        let mut end = place.right();
        if at(area.x, borders.vertical_left) {
            end = (end..area.right()).find(|x| at(*x, borders.vertical_right)).unwrap_or(end);
        }
        paint.clear(Rect { width: end.saturating_sub(place.x), ..place });
        paint.style(place, paint.theme.toast);
        paint.line(place, 0, line);
        paint.style(place, paint.theme.toast);
    }
}

/// Returns the row of the area on which messages of this height begin: above the lower edge of the panes, or, if they
/// would cover a row under a cursor there, above that row.
fn top(paint: &Paint<'_>, area: Rect, height: usize) -> usize {
    let lowest = (usize::from(area.height) - height).saturating_sub(1);
    let covers = |top: usize| {
        let messages = rows(area, top, height);
        paint.hits.current_areas().filter(|row| row.intersects(messages)).map(|row| row.y).min()
    };
    let above = covers(lowest).map(|y| usize::from(y.saturating_sub(area.y)).saturating_sub(height));
    above.filter(|top| covers(*top).is_none()).unwrap_or(lowest)
}
