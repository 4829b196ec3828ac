//! A text over the screen: Markdown or a difference, a line at a time.

use ratatui::{layout::Rect, style::Style, text::Line};

use super::{
    empty,
    paint::{Paint, centred, span},
};
use crate::tui::{
    hits::Pane,
    state::page::{About, Page},
    text,
};

/// The widest page, in columns: lines that are longer are hard to read.
const WIDEST: u16 = 110;

/// Draws it over the whole screen.
pub(super) fn draw(paint: &mut Paint<'_>, area: Rect, page: &Page) {
    let place = centred(area, WIDEST.min(area.width), area.height);
    paint.clear(area);
    let title = match &page.about {
        About::Snapshot(scope) => format!("What is in force in {scope}"),
        About::Setup { remove: false } => "What ergo would write for agents".to_owned(),
        About::Setup { remove: true } => "What ergo would take back".to_owned(),
    };
    let Some(body) = &page.text else {
        let inner = paint.pane(place, &title, "", true);
        paint.hits.add_pane(inner, Pane::Page, usize::from(inner.height));
        let back = paint.state.keys.say("{page_close} goes back.");
        return match &page.trouble {
            Some((trouble, hint)) => empty::card(paint, inner, trouble, &[hint.clone(), back]),
            None => empty::card(paint, inner, "Reading…", &[]),
        };
    };
    let width = usize::from(place.width.saturating_sub(4));
    let mut lines: Vec<Line<'static>> = Vec::new();
    for line in body.lines() {
        let style = match page.about {
            About::Snapshot(_) => of_markdown(paint, line),
            About::Setup { .. } => of_difference(paint, line),
        };
        lines.extend(hung(line, width, style, page.is_setup()));
    }
    let title = if page.note.is_empty() { title } else { format!("{title}: {}", page.note) };
    paint.document(place, Pane::Page, &title, &lines, page.scroll, true);
}

/// A line wrapped under itself: what it is indented by is kept, and in a difference its mark stays in a column of its own.
fn hung(line: &str, width: usize, style: Style, marked: bool) -> Vec<Line<'static>> {
    let mark = line.chars().next().filter(|first| marked && matches!(first, '+' | '-' | ' '));
    let rest = mark.and_then(|mark| line.strip_prefix(mark)).unwrap_or(line);
    let body = rest.trim_start_matches(' ');
    let indent = (rest.len() - body.len()).min(width / 2);
    let column = usize::from(mark.is_some());
    // What follows a bullet stands under its words.
    let hang = if body.starts_with("- ") { 2 } else { 0 };
    let room = width.saturating_sub(column + indent + hang).max(1);
    let mut lines = Vec::new();
    for (row, wrapped) in text::wrap(body, room, style).into_iter().enumerate() {
        let lead = match (mark, row) {
            (Some(mark), 0) => mark.to_string(),
            (mark, _) => " ".repeat(usize::from(mark.is_some())),
        };
        let under = if row == 0 { 0 } else { hang };
        let mut spans = vec![span(format!("{lead}{}", " ".repeat(indent + under)), style)];
        spans.extend(wrapped.spans);
        lines.push(Line::from(spans));
    }
    lines
}

fn of_markdown(paint: &Paint<'_>, line: &str) -> Style {
    if line.starts_with('#') { paint.theme.accent } else { paint.theme.text }
}

/// A line of a difference says by its first letter what becomes of it; the colour says it again.
fn of_difference(paint: &Paint<'_>, line: &str) -> Style {
    let theme = paint.theme;
    match line {
        line if line.starts_with("+++ ") => theme.title,
        line if line.starts_with("--- ") || line.starts_with("@@") => theme.dim,
        line if line.starts_with('+') => theme.ok,
        line if line.starts_with('-') => theme.bad,
        _ => theme.text,
    }
}
