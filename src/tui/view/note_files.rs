//! The Notes screen: the followed rule files with their states, or the insights; and the one under the cursor in full,
//! an insight with the claims that support it.

use ratatui::{
    layout::Rect,
    style::Style,
    text::{Line, Span},
};

use super::{
    Shape,
    claims::grouped,
    empty,
    paint::{Paint, labelled, rows, span},
};
use crate::{
    api::{InsightView, Lifecycle, NoteFileState, NoteFileView},
    tui::{
        hits::Pane,
        state::{Focus, note_files::NotesListing},
        text, times,
        update::next_step_of_note,
    },
};

const STATE_WIDTH: usize = 16;

const LABEL_WIDTH: usize = 12;

/// How many of the last runs are shown.
const MAX_RUNS: usize = 5;

pub(super) fn draw(paint: &mut Paint<'_>, area: Rect) {
    let notes = &paint.state.notes;
    if notes.status.is_none() || (notes.shown == NotesListing::Files && notes.is_empty()) {
        return draw_empty(paint, area);
    }
    match (Shape::of(paint), notes.focus) {
        (Shape::Wide, _) => {
            let width = area.width / 2;
            list(paint, Rect { width, ..area });
            detail(paint, Rect { x: area.x + width, width: area.width - width, ..area });
        }
        (Shape::Mid, _) => {
            let height = (area.height * 9 / 20).max(5);
            list(paint, Rect { height, ..area });
            detail(paint, Rect { y: area.y + height, height: area.height - height, ..area });
        }
        (Shape::Single, Focus::List) => list(paint, area),
        (Shape::Single, Focus::Detail) => detail(paint, area),
    }
}

fn draw_empty(paint: &mut Paint<'_>, area: Rect) {
    let state = paint.state;
    let inner = paint.pane(area, "Notes", "", true);
    paint.hits.add_pane(inner, Pane::Notes, usize::from(inner.height));
    if let Some(error) = &state.notes.error {
        return empty::centred_message(paint, inner, error, &[state.keys.say("{reload} tries again.")]);
    }
    if state.notes.status.is_none() {
        return empty::centred_message(paint, inner, "Loading…", &[]);
    }
    let body = [
        "The rules in files such as CLAUDE.md become claims, and active claims can be written back into a section of each file.".to_owned(),
        "To follow a file, a repository, or a folder of them:".to_owned(),
        "ergo notes add PATH".to_owned(),
        state.keys.say("Press {notes_list} to see the insights."),
    ];
    empty::centred_message(paint, inner, "No file is followed", &body);
}

fn list(paint: &mut Paint<'_>, area: Rect) {
    let notes = &paint.state.notes;
    let focused = notes.focus == Focus::List;
    let count = notes.len();
    let dot = paint.theme.glyphs.dot;
    let place = format!("{} of {}", grouped((notes.row() + 1).min(count)), grouped(count));
    let note = match (notes.shown_error(), &notes.status, notes.shown) {
        (Some(error), ..) => error.clone(),
        (None, Some(status), NotesListing::Files) if status.watching => format!("watched {dot} {place}"),
        _ => place,
    };
    let title = match notes.shown {
        NotesListing::Files => "Notes: files".to_owned(),
        NotesListing::Principles => format!("Notes: insights of {}", paint.state.shown_scope().org_id),
    };
    let inner = paint.pane(area, &title, &note, focused);
    let height = usize::from(inner.height);
    paint.hits.add_pane(inner, Pane::Notes, height);
    if count == 0 {
        let keys = &paint.state.keys;
        if let Some(error) = notes.shown_error() {
            return empty::centred_message(paint, inner, error, &[keys.say("{reload} tries again.")]);
        }
        if notes.insights.is_none() {
            return empty::centred_message(paint, inner, "Loading…", &[]);
        }
        let body = [
            "An insight is a rule that is found in one or more projects.".to_owned(),
            keys.say("Press {notes_list} to see the files."),
        ];
        return empty::centred_message(paint, inner, "No insights yet", &body);
    }
    let top = (notes.row() + 1).saturating_sub(height);
    let width = usize::from(inner.width);
    for (slot, index) in (top..count).take(height).enumerate() {
        let current = index == notes.row();
        let line = match notes.shown {
            NotesListing::Files => notes.files().get(index).map(|file| file_line(paint, file, width, current)),
            NotesListing::Principles => {
                notes.principles().get(index).map(|insight| principle_line(paint, insight, width, current))
            }
        };
        let place = rows(inner, slot, 1);
        paint.line(place, 0, &line.unwrap_or_default());
        paint.row(place, Pane::Notes, index, current, focused);
    }
}

/// Formats the state of a file, with a mark so that colour is not the only sign.
fn state_of(paint: &Paint<'_>, state: NoteFileState) -> (String, Style) {
    let (theme, glyphs) = (paint.theme, paint.theme.glyphs);
    let (mark, style) = match state {
        NoteFileState::InStep => (glyphs.done, theme.ok),
        NoteFileState::New => (glyphs.dead, theme.dim),
        NoteFileState::ChangedHere => (glyphs.more[0], theme.warn),
        NoteFileState::ChangedThere => (glyphs.more[1], theme.warn),
        NoteFileState::Conflict => (glyphs.alert, theme.bad),
        NoteFileState::LineDeclined => (glyphs.alert, theme.warn),
        NoteFileState::Missing => (glyphs.alert, theme.dim),
    };
    (format!("{mark} {}", state.words()), style)
}

fn cursor_mark(paint: &Paint<'_>, current: bool) -> [Span<'static>; 2] {
    [span(if current { paint.theme.glyphs.cursor } else { " " }, paint.theme.accent), Span::raw(" ")]
}

fn file_line(paint: &Paint<'_>, file: &NoteFileView, width: usize, current: bool) -> Line<'static> {
    let theme = paint.theme;
    let (state, style) = state_of(paint, file.state);
    let claims = if file.claims == 1 { "1 claim".to_owned() } else { format!("{} claims", grouped(file.claims)) };
    let room = width.saturating_sub(3 + STATE_WIDTH + 11);
    let mut spans = Vec::from(cursor_mark(paint, current));
    spans.extend([
        span(text::pad(&state, STATE_WIDTH), style),
        Span::raw(" "),
        span(text::pad(&path_end(&file.path, room), room), theme.text),
        span(format!("{claims:>11}"), theme.dim),
    ]);
    Line::from(spans)
}

/// Cuts the beginning of a long path, because its end tells files of one folder apart.
fn path_end(path: &str, room: usize) -> String {
    let path = text::line(path);
    if text::width(&path) <= room {
        return path;
    }
    let mut cut = path.as_str();
    while text::width(cut) + 1 > room
        && let Some(first) = cut.chars().next()
    {
        cut = cut.get(first.len_utf8()..).unwrap_or_default();
    }
    // Cut at a slash if there is one, so that names stay whole.
    let at = cut.find('/').filter(|at| at + 1 < cut.len()).unwrap_or(0);
    format!("…{}", cut.get(at..).unwrap_or_default())
}

fn principle_line(paint: &Paint<'_>, insight: &InsightView, width: usize, current: bool) -> Line<'static> {
    let theme = paint.theme;
    let rank = format!("{:.2} ", insight.rank);
    let (mark, style) = match (insight.principle.is_some(), insight.contradicted, insight.candidate) {
        (_, true, _) => (theme.glyphs.alert, theme.bad),
        (true, ..) => (theme.glyphs.mark, theme.ok),
        (false, false, true) => (theme.glyphs.dead, theme.warn),
        (false, false, false) => (" ", theme.dim),
    };
    let projects =
        if insight.projects == 1 { "1 project".to_owned() } else { format!("{} projects", insight.projects) };
    let room = width.saturating_sub(2 + rank.len() + 2 + 12);
    let faded = insight.status != Lifecycle::Active;
    let mut spans = Vec::from(cursor_mark(paint, current));
    spans.extend([
        span(rank, theme.dim),
        span(format!("{mark} "), style),
        span(text::pad(&insight.statement, room), if faded { theme.dim } else { theme.text }),
        span(format!("{projects:>12}"), theme.dim),
    ]);
    Line::from(spans)
}

fn detail(paint: &mut Paint<'_>, area: Rect) {
    let notes = &paint.state.notes;
    let focused = notes.focus == Focus::Detail;
    let width = usize::from(area.width.saturating_sub(4));
    let (title, lines) = match (notes.file(), notes.principle()) {
        (Some(file), _) => ("File", file_in_full(paint, file, width)),
        (None, Some(insight)) => ("Insight", principle_in_full(paint, insight, width)),
        (None, None) => ("", Vec::new()),
    };
    paint.document(area, Pane::Note, title, &lines, notes.scroll, focused);
}

fn file_in_full(paint: &Paint<'_>, file: &NoteFileView, width: usize) -> Vec<Line<'static>> {
    let (theme, state) = (paint.theme, paint.state);
    let (words, style) = state_of(paint, file.state);
    let mut out = text::wrap(&file.path, width, theme.title);
    out.extend(text::wrap(&words, width, style));
    out.extend(text::wrap(&state.keys.say(next_step_of_note(file)), width, theme.text));
    out.push(Line::default());
    let body = width.saturating_sub(LABEL_WIDTH);
    let mut field = |label: &str, value: &str| {
        out.extend(labelled(label, text::wrap(value, body, theme.text), LABEL_WIDTH, theme.dim));
    };
    if let Some(problem) = &file.problem {
        field("problem", problem);
    }
    if let Some(scope) = &file.scope {
        field("scope", &scope.to_string());
    }
    let parts = if file.fragments == 1 { "part" } else { "parts" };
    field("claims", &format!("{} in {} {parts} of the file", grouped(file.claims), grouped(file.fragments)));
    let ago = |at: Option<u64>| at.map_or_else(|| "never".to_owned(), |at| times::ago(at, state.now));
    field("read", &ago(file.scanned_at));
    field("written", &ago(file.written_at));
    if !file.cards.is_empty() {
        let cards: Vec<String> = file.cards.iter().map(|card| card.short()).collect();
        field("cards", &cards.join(", "));
    }
    let runs = state.notes.status.iter().flat_map(|status| &status.runs).take(MAX_RUNS);
    let mut first = true;
    for run in runs {
        if first {
            out.push(Line::default());
            out.push(Line::from(span("Last runs", theme.accent)));
            first = false;
        }
        let line = format!("{}: {}", times::ago(run.at, state.now), run.sentence());
        out.extend(text::wrap(&line, width, theme.dim));
    }
    out
}

fn principle_in_full(paint: &Paint<'_>, insight: &InsightView, width: usize) -> Vec<Line<'static>> {
    let (theme, state) = (paint.theme, paint.state);
    let dot = theme.glyphs.dot;
    let mut out = text::wrap(&insight.statement, width, theme.title);
    let promotion = match (insight.principle.is_some(), insight.candidate) {
        (true, _) => "a principle of the organisation",
        (false, true) => "may become a principle of the organisation",
        (false, false) => "not promoted",
    };
    let status = format!("{} {dot} {promotion} {dot} {}", insight.kind, insight.status.as_str());
    out.extend(text::wrap(&status, width, theme.dim));
    if insight.contradicted {
        out.extend(text::wrap("One of its claims is on an open card in the Inbox.", width, theme.bad));
    }
    out.push(Line::default());
    let body = width.saturating_sub(LABEL_WIDTH);
    let mut field = |label: &str, value: &str| {
        out.extend(labelled(label, text::wrap(value, body, theme.text), LABEL_WIDTH, theme.dim));
    };
    let share = |value: f64| format!("{:.0} %", value * 100.0);
    field("rank", &format!("{:.2}", insight.rank));
    let parts = [("confidence", insight.confidence), ("recency", insight.recency), ("sources", insight.quality)];
    let parts: Vec<String> = parts.iter().map(|(name, value)| format!("{name} {}", share(*value))).collect();
    field("based on", &parts.join(", "));
    let (first, last) = (times::ago(insight.first_seen, state.now), times::ago(insight.last_seen, state.now));
    let many = |n: usize, one: &str, many: &str| format!("{} {}", grouped(n), if n == 1 { one } else { many });
    let times = many(insight.sightings, "time", "times");
    let projects = many(insight.projects, "project", "projects");
    field("seen", &format!("{times} in {projects}, first {first}, last {last}"));
    let tags = std::iter::once(insight.domain.as_str()).chain(insight.tags.iter().map(String::as_str));
    field("about", &tags.filter(|tag| !tag.is_empty()).collect::<Vec<_>>().join(", "));
    out.push(Line::default());
    out.push(Line::from(span("Supported by, with weights", theme.accent)));
    for derivation in &insight.derivations {
        let head = format!("{:>4}  ", share(derivation.weight));
        let column = text::width(&head);
        let body = width.saturating_sub(column);
        out.extend(labelled(&head, text::wrap(&derivation.statement, body, theme.text), column, theme.dim));
        let source = derivation.source.as_deref().map_or_else(String::new, |source| format!(" {dot} {source}"));
        let place = format!("{}{source}", derivation.scope);
        out.extend(labelled("", text::wrap(&place, body, theme.dim), column, theme.dim));
    }
    out
}
