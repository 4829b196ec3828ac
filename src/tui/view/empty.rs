//! Messages on empty screens: why there is nothing to show, and the next step.

use ratatui::{
    layout::{Alignment, Rect},
    text::Line,
};

use super::paint::{Paint, centred, span};
use crate::tui::{
    state::{Daemon, Screen},
    text,
};

/// Draws a heading in the middle of an area, with paragraphs below it.
pub(super) fn centred_message(paint: &mut Paint<'_>, area: Rect, heading: &str, body: &[String]) {
    let width = area.width.saturating_sub(2).min(64);
    let mut lines: Vec<Line<'static>> = text::wrap(heading, usize::from(width), paint.theme.title);
    for paragraph in body {
        lines.push(Line::default());
        lines.extend(text::wrap(paragraph, usize::from(width), paint.theme.text));
    }
    let lines: Vec<Line<'static>> = lines.into_iter().map(|line| line.alignment(Alignment::Center)).collect();
    let place = centred(area, width, u16::try_from(lines.len()).unwrap_or(u16::MAX));
    for (row, line) in lines.iter().enumerate() {
        let indent = usize::from(place.width).saturating_sub(text::spans_width(&line.spans)) / 2;
        let mut spans = vec![span(" ".repeat(indent), paint.theme.text)];
        spans.extend(line.spans.clone());
        paint.line(place, row, &Line::from(spans));
    }
}

/// Draws how to start the daemon, if none answers and the screen has no data yet. Returns whether it did.
pub(super) fn offline(paint: &mut Paint<'_>, area: Rect) -> bool {
    let state = paint.state;
    let known = match state.screen {
        Screen::Cards => state.conflicts.list.loaded() || state.conflicts.card.is_some(),
        Screen::Claims => state.claims.list.loaded(),
        Screen::Why => state.why.chain.is_some(),
        Screen::Peers => state.peers.status.is_some(),
        Screen::Inbox => state.inbox.view.is_some(),
        Screen::Timeline if state.story().is_some() => state.story().is_some_and(|story| story.story.is_some()),
        Screen::Timeline => state.acts().is_some_and(|acts| acts.list.loaded()),
        Screen::Models => state.models.diagnose.is_some(),
        Screen::Agents => state.agents.view.is_some(),
        Screen::Notes => state.notes.status.is_some(),
    };
    if known {
        return false;
    }
    match &state.daemon {
        Daemon::Starting => centred_message(paint, area, "Starting the daemon…", &[]),
        Daemon::Down { message } => {
            let how = state.keys.say("{start} starts it, or run: ergo daemon start");
            let body = [how, format!("({message})")];
            centred_message(paint, area, "No daemon is running", &body);
        }
        Daemon::Up { .. } | Daemon::Unknown => return false,
    }
    true
}
