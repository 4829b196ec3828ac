//! A text page over the screen: Markdown or a diff, line by line.

use ratatui::{layout::Rect, style::Style, text::Line};

use super::{
    empty,
    paint::{Paint, centred, span},
    palette::input,
};
use crate::tui::{
    action::Action,
    hits::Pane,
    state::page::{PageSubject, TextPage},
    text,
};

/// The widest page, in columns: longer lines are hard to read.
const MAX_WIDTH: u16 = 110;

/// Draws the page over the whole screen.
pub(super) fn draw(paint: &mut Paint<'_>, area: Rect, page: &TextPage) {
    let place = centred(area, MAX_WIDTH.min(area.width), area.height);
    paint.clear(area);
    let title = match &page.about {
        PageSubject::Snapshot(scope) => format!("Active claims in {scope}"),
        PageSubject::Setup { remove: false } => "Preview: changes to the agents' files".to_owned(),
        PageSubject::Setup { remove: true } => "Preview: removals from the agents' files".to_owned(),
        PageSubject::Notes { path, .. } => format!("Preview: ergo's section of {path}"),
        PageSubject::Join => "Joining a team".to_owned(),
    };
    let Some(body) = &page.text else {
        let inner = paint.pane(place, &title, "", true);
        paint.hits.add_pane(inner, Pane::Page, usize::from(inner.height));
        let back = paint.state.keys.say("{page_close} goes back.");
        return match &page.error {
            Some((error, hint)) => empty::centred_message(paint, inner, error, &[hint.clone(), back]),
            None => empty::centred_message(paint, inner, "Loading…", &[]),
        };
    };
    let width = usize::from(place.width.saturating_sub(4));
    let (matches, wanted) = (page.matches(), page.wanted());
    let shown = page.shown_match();
    let mut scroll = page.scroll(0);
    let mut lines: Vec<Line<'static>> = Vec::new();
    if page.changes_files() {
        lines.extend(text::wrap(&preview_explanation(paint), width, paint.theme.accent));
        lines.push(Line::default());
    }
    for (number, line) in body.lines().enumerate() {
        let style = match page.about {
            PageSubject::Snapshot(_) => markdown_style(paint, line),
            PageSubject::Setup { .. } | PageSubject::Notes { .. } => diff_style(paint, line),
            PageSubject::Join => paint.theme.text,
        };
        let here = shown.is_some_and(|at| matches.get(at) == Some(&number));
        if here {
            // Some of the text before the match stays in view.
            scroll = lines.len().saturating_sub(usize::from(place.height) / 3);
        }
        let found = if here { paint.theme.selected } else { paint.theme.found };
        let marked = |text: &str| text::marked(&text::line(text), wanted.as_deref(), style, found);
        lines.extend(wrap_hanging(line, width, style, page.is_preview(), marked));
    }
    let title = if page.note.is_empty() { title } else { format!("{title}: {}", page.note) };
    let title = match (&wanted, matches.len()) {
        (Some(wanted), 0) => format!("No line has “{wanted}”"),
        (Some(wanted), count) => {
            let at = page.find.as_ref().map_or(0, |find| find.at) + 1;
            format!("“{wanted}”: {} of {count}", at.min(count))
        }
        (None, _) => title,
    };
    paint.document(place, Pane::Page, &title, &lines, scroll, true);
}

/// Explains the diff, and how to apply it or why that is not possible.
fn preview_explanation(paint: &Paint<'_>) -> String {
    let say = "Nothing is written yet. Lines with + will be added, lines with - removed";
    match paint.state.check(Action::PageApply.spec()) {
        Ok(()) => paint.state.keys.say(&format!("{say}. Press {{page_apply}} to apply this; you are asked first.")),
        Err(why) => format!("{say}. Not possible: {why}."),
    }
}

/// Draws the search line over the last row.
pub(super) fn draw_find(paint: &mut Paint<'_>, area: Rect, page: &TextPage) {
    let Some(find) = page.find.as_ref().filter(|_| page.is_typing()) else { return };
    paint.clear(area);
    let (label, keys) = (" Find ", paint.state.keys.say("{pick} closes, {pick_down} next match"));
    paint.line(area, 0, &Line::from(span(label, paint.theme.badge)));
    let start = u16::try_from(label.len() + 1).unwrap_or(0);
    let end = u16::try_from(text::width(&keys) + 1).unwrap_or(0);
    let end = if area.width > start + end + 20 { end } else { 0 };
    let place = Rect { x: area.x + start, width: area.width.saturating_sub(start + end), ..area }.intersection(area);
    input(paint.theme, &find.input, place, paint.buffer, "words on this page");
    let place = Rect { x: area.x + area.width.saturating_sub(end), width: end, ..area }.intersection(area);
    paint.line(place, 0, &Line::from(span(keys, paint.theme.dim)));
}

/// Wraps a line and keeps its indentation; in a diff, the sign stays in a column of its own.
fn wrap_hanging(
    line: &str,
    width: usize,
    style: Style,
    signed: bool,
    marked: impl Fn(&str) -> Vec<(String, Style)>,
) -> Vec<Line<'static>> {
    let mark = line.chars().next().filter(|first| signed && matches!(first, '+' | '-' | ' '));
    let rest = mark.and_then(|mark| line.strip_prefix(mark)).unwrap_or(line);
    let body = rest.trim_start_matches(' ');
    let indent = (rest.len() - body.len()).min(width / 2);
    let column = usize::from(mark.is_some());
    // The lines after the first are aligned with the text of a bullet.
    let hang = if body.starts_with("- ") { 2 } else { 0 };
    let room = width.saturating_sub(column + indent + hang).max(1);
    let mut lines = Vec::new();
    for (row, wrapped) in text::wrap_runs(&marked(body), room).into_iter().enumerate() {
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

fn markdown_style(paint: &Paint<'_>, line: &str) -> Style {
    if line.starts_with('#') { paint.theme.accent } else { paint.theme.text }
}

/// Returns the style of a line of a diff. Its first character already says what becomes of it; the colour only repeats
/// that.
fn diff_style(paint: &Paint<'_>, line: &str) -> Style {
    let theme = paint.theme;
    match line {
        line if line.starts_with("+++ ") => theme.title,
        line if line.starts_with("--- ") || line.starts_with("@@") => theme.dim,
        line if line.starts_with('+') => theme.ok,
        line if line.starts_with('-') => theme.bad,
        _ => theme.text,
    }
}
