//! The Timeline: acts by day, and the act under the cursor in full.

use ratatui::{
    layout::Rect,
    text::{Line, Span},
};

use super::{
    Shape,
    claims::grouped,
    empty,
    paint::{Paint, labelled, rows, span},
};
use crate::{
    api::EventView,
    tui::{
        hits::Pane,
        search_words::SearchWords,
        state::{Focus, TimelineState, acts::Period},
        text::{self, writer},
        times,
        update::command_of,
    },
};

const LABEL_WIDTH: usize = 11;

const DAY_WIDTH: usize = 11;
const MINUTE_WIDTH: usize = 6;
const WRITER_WIDTH: usize = 14;
const VERB_WIDTH: usize = 12;

/// A list narrower than this has one column for day and minute, so that the subject has more room: the first row of a
/// day shows the day, the others the minute.
const NARROW_BELOW: usize = 66;

/// Width of the writer in a narrow list.
const NARROW_WRITER_WIDTH: usize = 9;

/// A list narrower than this does not show the writer.
const TINY_BELOW: usize = 46;

pub(super) fn draw(paint: &mut Paint<'_>, area: Rect) {
    let Some(acts) = paint.state.acts() else { return };
    match (Shape::of(paint), acts.focus) {
        (Shape::Wide, _) => {
            let width = area.width * 13 / 20;
            list(paint, Rect { width, ..area }, acts);
            detail(paint, Rect { x: area.x + width, width: area.width - width, ..area }, acts);
        }
        (Shape::Mid, _) => {
            let height = (area.height * 11 / 20).max(5);
            list(paint, Rect { height, ..area }, acts);
            detail(paint, Rect { y: area.y + height, height: area.height - height, ..area }, acts);
        }
        (Shape::Single, Focus::List) => list(paint, area, acts),
        (Shape::Single, Focus::Detail) => detail(paint, area, acts),
    }
}

/// Returns the title of the list: its period and scope.
fn title(paint: &Paint<'_>, acts: &TimelineState) -> String {
    let state = paint.state;
    let zone = &state.settings.zone;
    let since = match (acts.span, state.settings.last_here) {
        (Period::LastHere, Some(at)) => {
            let day = times::spoken_day(at, state.now, zone).to_lowercase();
            format!("since your last visit, {day} {}", times::clock(at, zone))
        }
        (Period::LastHere | Period::All, _) => "so far".to_owned(),
        (Period::Yesterday, _) => "since yesterday".to_owned(),
        (Period::Week, _) => "in the last seven days".to_owned(),
    };
    let scope = state.scope.as_ref().map_or_else(String::new, |scope| format!(" in {scope}"));
    format!("What happened {since}{scope}")
}

fn list(paint: &mut Paint<'_>, area: Rect, acts: &TimelineState) {
    let focused = acts.focus == Focus::List;
    let [_, down] = paint.theme.glyphs.more;
    let list = &acts.list;
    let note = match (&acts.error, list.loaded()) {
        (Some(error), _) => error.clone(),
        (None, false) => "loading…".to_owned(),
        (None, true) if list.is_empty() => "0".to_owned(),
        // The whole log is not counted: the total is known once the last page is loaded.
        (None, true) if acts.span == Period::All && !list.is_whole() => {
            format!("{} of more than {} {down}", grouped(list.cursor() + 1), grouped(list.known()))
        }
        (None, true) => format!("{} of {}", grouped(list.cursor() + 1), grouped(list.total())),
    };
    let inner = paint.pane(area, &title(paint, acts), &note, focused);
    let height = usize::from(inner.height);
    paint.hits.add_pane(inner, Pane::Acts, height);
    if list.loaded() && list.is_empty() {
        return draw_empty(paint, inner, acts);
    }
    let top = list.top(height);
    let width = usize::from(inner.width);
    let zone = &paint.state.settings.zone;
    let now = paint.state.now;
    let words = paint.state.claims.words();
    let mut day = String::new();
    for slot in 0..height {
        let index = top + slot;
        if index >= list.known() {
            break;
        }
        let place = rows(inner, slot, 1);
        let current = index == list.cursor();
        let line = match list.get(index) {
            Some(event) => {
                let own = times::spoken_day(event.at, now, zone);
                // Only the first row of a day names it.
                let named = if own == day { "" } else { own.as_str() };
                let line = row(paint, event, (named, &words), width, current);
                day = own;
                line
            }
            None => Line::from(span("  …", paint.theme.dim)),
        };
        paint.line(place, 0, &line);
        paint.row(place, Pane::Acts, index, current, focused);
    }
}

fn draw_empty(paint: &mut Paint<'_>, area: Rect, acts: &TimelineState) {
    let (heading, step) = match acts.span {
        Period::LastHere => ("Nothing happened since your last visit", "Press {timeline_period} to go further back."),
        Period::Yesterday | Period::Week => {
            ("Nothing happened in that time", "Press {timeline_period} to go further back.")
        }
        Period::All => {
            ("Nothing happened yet", "{add_claim} writes the first claim, or: ergo remember '…' --reason '…'")
        }
    };
    empty::centred_message(paint, area, heading, &[paint.state.keys.say(step)]);
}

/// Formats an act as one line: day, minute, writer, verb, and subject, with the words of a search highlighted.
fn row(
    paint: &Paint<'_>,
    event: &EventView,
    (day, words): (&str, &SearchWords),
    width: usize,
    current: bool,
) -> Line<'static> {
    let theme = paint.theme;
    let mark = if current { theme.glyphs.cursor } else { " " };
    let who = event.agent.as_deref().unwrap_or(&event.who);
    let minute = times::clock(event.at, &paint.state.settings.zone);
    let undone = if event.undone { "undone" } else { "" };
    let what = about(event);
    let narrow = width < NARROW_BELOW;
    let narrow_writer = if width < TINY_BELOW { 0 } else { NARROW_WRITER_WIDTH };
    let (when, who_columns) = match (narrow, day.is_empty()) {
        (true, true) => (vec![span(text::pad(&minute, DAY_WIDTH), theme.dim)], narrow_writer),
        (true, false) => (vec![span(text::pad(day, DAY_WIDTH), theme.title)], narrow_writer),
        (false, _) => (
            vec![span(text::pad(day, DAY_WIDTH), theme.title), span(text::pad(&minute, MINUTE_WIDTH), theme.dim)],
            WRITER_WIDTH,
        ),
    };
    let used = 2 + DAY_WIDTH + if narrow { 0 } else { MINUTE_WIDTH } + who_columns + VERB_WIDTH;
    let room = width.saturating_sub(used + if undone.is_empty() { 0 } else { undone.len() + 1 });
    let (text_style, verb_style) = match (event.undone, event.kind.as_str()) {
        (true, _) => (theme.dim, theme.dim),
        (_, "local.refused") => (theme.text, theme.warn),
        _ if event.outcome.is_some() => (theme.text, theme.accent),
        (_, "retract" | "redact" | "local.redact") => (theme.text, theme.bad),
        (_, kind) if kind.starts_with("resolve.") || kind.starts_with("local.") => (theme.text, theme.accent),
        _ => (theme.text, theme.ok),
    };
    let mut spans = vec![span(mark, theme.accent), Span::raw(" ")];
    spans.extend(when);
    if let Some(columns) = who_columns.checked_sub(1) {
        spans.extend([span(text::pad(who, columns), theme.dim), Span::raw(" ")]);
    }
    spans.extend([span(text::pad(event.verb(), VERB_WIDTH - 1), verb_style), Span::raw(" ")]);
    spans.extend(paint.highlight(words, &text::pad(&what, room), text_style));
    spans.push(span(if undone.is_empty() { String::new() } else { format!(" {undone}") }, theme.warn));
    Line::from(spans)
}

/// Returns in one line what an act was about.
fn about(event: &EventView) -> String {
    let what = event.subject().or_else(|| event.reason.clone());
    let what = what.unwrap_or_else(|| event.targets.first().map(|id| id.short()).unwrap_or_default());
    match event.kind.strip_prefix("judgement.") {
        Some(verdict) => format!("{verdict}: {what}"),
        None => what,
    }
}

fn detail(paint: &mut Paint<'_>, area: Rect, acts: &TimelineState) {
    let focused = acts.focus == Focus::Detail;
    let width = usize::from(area.width.saturating_sub(4));
    let Some(event) = acts.list.current() else {
        let inner = paint.pane(area, "Change", "", focused);
        paint.hits.add_pane(inner, Pane::Act, usize::from(inner.height));
        return;
    };
    let lines = act_in_full(paint, event, width);
    paint.document(area, Pane::Act, "Change", &lines, acts.scroll, focused);
}

/// Lays out an act in full.
fn act_in_full(paint: &Paint<'_>, event: &EventView, width: usize) -> Vec<Line<'static>> {
    let (theme, state) = (paint.theme, paint.state);
    let zone = &state.settings.zone;
    let dot = theme.glyphs.dot;
    let by = writer(&event.who, event.agent.as_deref());
    let did = match event.kind.as_str() {
        "local.refused" if event.accept.is_none() => format!("A write by {by} was refused"),
        _ => format!("{by} {}", event.verb()),
    };
    let mut out = text::wrap(&did, width, theme.title);
    let what = about(event);
    if !what.is_empty() {
        out.extend(text::wrap(&what, width, theme.text));
    }
    out.push(Line::default());
    let body = width.saturating_sub(LABEL_WIDTH);
    let mut field = |label: &str, value: &str, style| {
        out.extend(labelled(label, text::wrap(value, body, style), LABEL_WIDTH, theme.dim));
    };
    if let (Some(_), Some(about)) = (&event.statement, &event.about) {
        field("about", about, theme.text);
    }
    if let Some(reason) = event.reason.as_deref().filter(|reason| *reason != what) {
        field("because", reason, theme.text);
    }
    let when = format!("{} {dot} {}", times::minute(event.at, zone), times::ago(event.at, state.now));
    field("when", &when, theme.text);
    field("scope", &event.scope.to_string(), theme.text);
    if !event.targets.is_empty() {
        let ids: Vec<String> = event.targets.iter().take(6).map(|id| id.short()).collect();
        field("claims", &ids.join(", "), theme.text);
    }
    field("change", &event.op_id.to_string(), theme.dim);
    if event.undone {
        field("", "It was undone.", theme.warn);
    }
    if let Some(command) = command_of(event) {
        out.push(Line::default());
        out.push(Line::from(span("The same on the command line", theme.accent)));
        out.extend(text::wrap(&format!("$ {command}"), width, theme.text));
    }
    out.push(Line::default());
    let back = match state.check(crate::tui::action::Action::UndoSelected.spec()) {
        Ok(()) => state.keys.say("{undo_selected} undoes this change; {open} opens the claim."),
        Err(why) => format!("It cannot be undone: {why}."),
    };
    out.extend(text::wrap(&back, width, theme.dim));
    out
}
