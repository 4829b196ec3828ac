//! The session's log: acts, each with its command line, and messages.

use ratatui::{layout::Rect, text::Line};

use super::{
    empty,
    paint::{Paint, labelled},
};
use crate::tui::{hits::Pane, state::Tone, text, times};

/// Draws the log over the screen, scrolled up by `up` lines from its end.
pub(super) fn draw(paint: &mut Paint<'_>, area: Rect, up: usize) {
    let (theme, state) = (paint.theme, paint.state);
    let place = Rect {
        x: area.x + 1,
        y: area.y + 1,
        width: area.width.saturating_sub(2),
        height: area.height.saturating_sub(2),
    };
    paint.clear(place);
    let width = usize::from(place.width.saturating_sub(4));
    let mut lines: Vec<Line<'static>> = Vec::new();
    for entry in &state.log {
        let style = match entry.tone {
            Tone::Info => theme.dim,
            Tone::Done => theme.ok,
            Tone::Warn => theme.warn,
            Tone::Bad => theme.bad,
        };
        let at = times::minute(entry.at, &state.settings.zone);
        lines.extend(labelled(&at, text::wrap(&entry.text, width.saturating_sub(18), style), 18, theme.dim));
    }
    let height = usize::from(place.height.saturating_sub(2));
    let overflow = lines.len().saturating_sub(height);
    let skip = overflow.saturating_sub(up);
    let close = state.keys.say("{log_close} closes");
    let note = match skip {
        0 => close,
        above => format!("{} {above} above {} {close}", theme.glyphs.more[0], theme.glyphs.dot),
    };
    let inner = paint.pane(place, "Session log", &note, true);
    paint.hits.add_pane(inner, Pane::Picks, height);
    paint.hits.add_overflow(Pane::Picks, overflow);
    if lines.is_empty() {
        return empty::centred_message(
            paint,
            inner,
            "Nothing was done yet",
            &["What you do appears here, with its command line.".to_owned()],
        );
    }
    paint.lines(inner, &lines, skip);
}
