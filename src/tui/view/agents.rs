//! The Agents screen: the agents, the changes and refused writes of the one under the cursor, and the claims injected
//! for it.

use ratatui::{
    layout::Rect,
    text::{Line, Span},
};

use super::{
    Shape,
    claims::grouped,
    empty,
    paint::{Paint, rows, span},
};
use crate::{
    api::EventView,
    client::injected::InjectedClaim,
    domain::judgement::built_in,
    tui::{
        hits::Pane,
        state::{
            Focus,
            agents::{AgentEntry, AgentListing},
        },
        text, times,
    },
};

/// Height of the summary of the agent under the cursor, with its border.
const SUMMARY_HEIGHT: u16 = 8;

pub(super) fn draw(paint: &mut Paint<'_>, area: Rect) {
    let agents = &paint.state.agents;
    let entries = agents.entries();
    if entries.is_empty() {
        return draw_empty(paint, area);
    }
    match (Shape::of(paint), agents.focus) {
        (Shape::Wide, _) => {
            let width = (area.width * 2 / 5).min(56);
            list(paint, Rect { width, ..area }, entries);
            let right = Rect { x: area.x + width, width: area.width - width, ..area };
            summary(paint, Rect { height: SUMMARY_HEIGHT, ..right });
            acts(
                paint,
                Rect { y: right.y + SUMMARY_HEIGHT, height: right.height.saturating_sub(SUMMARY_HEIGHT), ..right },
            );
        }
        (Shape::Mid, _) => {
            let wanted = u16::try_from(entries.len()).unwrap_or(u16::MAX).saturating_add(2);
            let height = wanted.clamp(4, area.height / 3);
            list(paint, Rect { height, ..area }, entries);
            acts(paint, Rect { y: area.y + height, height: area.height - height, ..area });
        }
        (Shape::Single, Focus::List) => list(paint, area, entries),
        (Shape::Single, Focus::Detail) => acts(paint, area),
    }
}

fn draw_empty(paint: &mut Paint<'_>, area: Rect) {
    let state = paint.state;
    let inner = paint.pane(area, "Agents", "", true);
    paint.hits.add_pane(inner, Pane::Agents, usize::from(inner.height));
    if let Some(error) = &state.agents.error {
        return empty::centred_message(paint, inner, error, &[state.keys.say("{reload} tries again.")]);
    }
    if state.agents.view.is_none() {
        return empty::centred_message(paint, inner, "Loading…", &[]);
    }
    let place = state.scope.as_ref().map_or_else(|| "yet".to_owned(), |scope| format!("in {scope}"));
    let body = [
        state.keys.say("{agent_setup} previews the setup that connects the agents installed here."),
        "On the command line: ergo setup --dry-run".to_owned(),
    ];
    empty::centred_message(paint, inner, &format!("No agent is connected, and none has written {place}"), &body);
}

fn list(paint: &mut Paint<'_>, area: Rect, entries: &[AgentEntry]) {
    let agents = &paint.state.agents;
    let focused = agents.focus == Focus::List;
    let connected: usize = entries.iter().map(|entry| entry.sessions.len()).sum();
    let note = match (&agents.error, connected) {
        _ if paint.state.is_offline() => "unknown: the daemon is not running".to_owned(),
        (Some(error), _) => error.clone(),
        (None, 0) => "no session is connected".to_owned(),
        (None, 1) => "1 session is connected".to_owned(),
        (None, n) => format!("{n} sessions are connected"),
    };
    let inner = paint.pane(area, "Agents", &note, focused);
    let height = usize::from(inner.height);
    paint.hits.add_pane(inner, Pane::Agents, height);
    let cursor = agents.row();
    let top = (cursor + 1).saturating_sub(height);
    for (slot, (index, entry)) in entries.iter().enumerate().skip(top).take(height).enumerate() {
        let place = rows(inner, slot, 1);
        let line = line(paint, entry, usize::from(place.width), index == cursor);
        paint.line(place, 0, &line);
        paint.row(place, Pane::Agents, index, index == cursor, focused);
    }
}

/// Formats an agent as one line: whether it is connected, its name, and how much it wrote, was refused and got
/// injected.
fn line(paint: &Paint<'_>, entry: &AgentEntry, width: usize, current: bool) -> Line<'static> {
    let theme = paint.theme;
    let connected = !entry.sessions.is_empty() && !paint.state.is_offline();
    let (dot, dot_style) = if connected { (theme.glyphs.live, theme.ok) } else { (theme.glyphs.dead, theme.dim) };
    let mut parts = Vec::new();
    if let Some(wrote) = &entry.wrote {
        parts.push(format!("{} {}", grouped(wrote.wrote), if wrote.wrote == 1 { "change" } else { "changes" }));
    }
    let refused = entry.wrote.as_ref().map_or(0, |wrote| wrote.refused);
    if refused > 0 {
        parts.push(format!("{} refused", grouped(refused)));
    }
    if entry.injected > 0 {
        parts.push(format!("{} injected", grouped(entry.injected)));
    }
    if parts.is_empty() {
        parts.push("wrote nothing".to_owned());
    }
    let age = entry.wrote.as_ref().map_or_else(String::new, |wrote| times::age(wrote.last, paint.state.now));
    // The name has priority: of the other parts, only those are shown that fit as a whole.
    let most = width.saturating_sub(22);
    while parts.len() > 1 && text::width(&parts.join(", ")) > most {
        parts.pop();
    }
    let end = text::fit(&parts.join(", "), most.max(12));
    let room = width.saturating_sub(4 + text::width(&end) + 2 + 5);
    Line::from(vec![
        span(if current { theme.glyphs.cursor } else { " " }, theme.accent),
        Span::raw(" "),
        span(dot, dot_style),
        Span::raw(" "),
        span(text::pad(&name(entry), room), if connected { theme.title } else { theme.text }),
        Span::raw("  "),
        span(end, if refused > 0 { theme.warn } else { theme.dim }),
        span(format!("{age:>5}"), theme.dim),
    ])
}

fn name(entry: &AgentEntry) -> String {
    entry.name.clone().unwrap_or_else(|| "unnamed agent".to_owned())
}

/// Draws the summary of the agent under the cursor.
fn summary(paint: &mut Paint<'_>, area: Rect) {
    let state = paint.state;
    let theme = paint.theme;
    let Some(entry) = state.agents.entry() else { return };
    let inner = paint.pane(area, &name(entry), "", false);
    let dot = theme.glyphs.dot;
    let mut fields: Vec<(String, String, _)> = Vec::new();
    let connected: Vec<String> = entry
        .sessions
        .iter()
        .map(|session| {
            let place = session.scope.as_ref().map_or_else(|| "no project".to_owned(), ToString::to_string);
            match times::age(session.since, state.now).as_str() {
                "now" => format!("{place}, just now"),
                age => format!("{place}, for {age}"),
            }
        })
        .collect();
    let connected = if state.is_offline() { Vec::new() } else { connected };
    let description = entry.name.as_deref().and_then(built_in);
    let (words, style) = if let Some(description) = description.filter(|_| connected.is_empty()) {
        (description.to_owned(), theme.dim)
    } else if state.is_offline() {
        ("unknown: the daemon is not running".to_owned(), theme.dim)
    } else if connected.is_empty() {
        ("no".to_owned(), theme.dim)
    } else {
        (connected.join(&format!(" {dot} ")), theme.ok)
    };
    let label = if description.is_some() && connected.is_empty() { "built in" } else { "connected" };
    fields.push((label.to_owned(), words, style));
    match &entry.wrote {
        Some(wrote) => {
            let people: Vec<&str> =
                wrote.people.iter().map(String::as_str).filter(|who| *who != wrote.agent.as_str()).collect();
            let whom = if people.is_empty() { String::new() } else { format!(" for {}", people.join(", ")) };
            fields.push(("changes".to_owned(), format!("{}{whom}", grouped(wrote.wrote)), theme.text));
            let refused = match wrote.refused {
                0 => ("nothing".to_owned(), theme.dim),
                1 => ("one write".to_owned(), theme.warn),
                n => (format!("{} writes", grouped(n)), theme.warn),
            };
            fields.push(("refused".to_owned(), refused.0, refused.1));
            let first = times::ago(wrote.first, state.now);
            let words = format!("first {first}, last {}", times::ago(wrote.last, state.now));
            fields.push(("seen".to_owned(), words, theme.dim));
        }
        None => fields.push(("changes".to_owned(), "none".to_owned(), theme.dim)),
    }
    if let Some((words, style)) = judged(paint, entry) {
        fields.push(("judged".to_owned(), words, style));
    }
    let times: usize = state.agents.injected_here().iter().map(|injected| injected.times).sum();
    let words = match entry.injected {
        0 => "nothing".to_owned(),
        1 => format!("one claim, {}", times_in_words(times)),
        n => format!("{} claims, {} in all", grouped(n), times_in_words(times)),
    };
    fields.push(("injected".to_owned(), words, if entry.injected > 0 { theme.text } else { theme.dim }));
    let width = usize::from(inner.width).saturating_sub(11);
    for (row, (label, words, style)) in fields.into_iter().enumerate() {
        let line = Line::from(vec![span(text::pad(&label, 11), theme.dim), span(text::fit(&words, width), style)]);
        paint.line(inner, row, &line);
    }
}

/// Returns a line about the agent's judgements; `None` if it was never asked.
fn judged(paint: &Paint<'_>, entry: &AgentEntry) -> Option<(String, ratatui::style::Style)> {
    let judgements = &entry.wrote.as_ref()?.judgements;
    let warned = judgements.always_compatible || judgements.overturned > 0;
    Some((judgements.words()?, if warned { paint.theme.warn } else { paint.theme.text }))
}

fn times_in_words(times: usize) -> String {
    if times == 1 { "once".to_owned() } else { format!("{} times", grouped(times)) }
}

/// Draws the changes or refused writes of the agent under the cursor, or the claims injected for it.
fn acts(paint: &mut Paint<'_>, area: Rect) {
    let agents = &paint.state.agents;
    let focused = agents.focus == Focus::Detail;
    let Some(entry) = agents.entry() else { return };
    let of = name(entry);
    let title = match agents.shown {
        AgentListing::Acts => format!("Changes by {of}"),
        AgentListing::Refused => format!("Refused writes of {of}"),
        AgentListing::Injected => format!("Claims injected for {of}"),
    };
    if agents.shown == AgentListing::Injected {
        return injected(paint, area, &title, focused);
    }
    let list = &agents.list;
    let [_, down] = paint.theme.glyphs.more;
    let note = match (list.loaded(), list.is_empty()) {
        (false, _) if entry.name.is_none() => String::new(),
        (false, _) => agents.list_error.clone().unwrap_or_else(|| "loading…".to_owned()),
        (true, true) => "0".to_owned(),
        (true, false) if !list.is_whole() => {
            format!("{} of more than {} {down}", grouped(list.cursor() + 1), grouped(list.known()))
        }
        (true, false) => format!("{} of {}", grouped(list.cursor() + 1), grouped(list.total())),
    };
    let mut inner = paint.pane(area, &title, &note, focused);
    // Without a summary, the judgements are shown above the list.
    if Shape::of(paint) != Shape::Wide
        && let Some((words, style)) = judged(paint, entry)
    {
        let words = format!("Judged: {words}");
        let lines = text::wrap_at_most(&words, usize::from(inner.width), usize::from(inner.height / 4), style);
        paint.lines(inner, &lines, 0);
        inner = rows(inner, lines.len(), usize::from(inner.height));
    }
    let height = usize::from(inner.height);
    paint.hits.add_pane(inner, Pane::AgentActs, height);
    if list.is_empty() || entry.name.is_none() {
        if list.loaded() || entry.name.is_none() {
            let heading =
                if agents.shown == AgentListing::Refused { "Nothing was refused" } else { "This agent wrote nothing" };
            empty::centred_message(
                paint,
                inner,
                heading,
                &[paint.state.keys.say("{agent_filter} shows the other lists.")],
            );
        }
        return;
    }
    let (top, width) = (list.top(height), usize::from(inner.width));
    let mut day = String::new();
    for slot in 0..height.min(list.known().saturating_sub(top)) {
        let index = top + slot;
        let place = rows(inner, slot, 1);
        let current = index == list.cursor();
        let line = match list.get(index) {
            Some(event) => row(paint, event, &mut day, width, current),
            None => Line::from(span("  …", paint.theme.dim)),
        };
        paint.line(place, 0, &line);
        paint.row(place, Pane::AgentActs, index, current, focused);
    }
}

/// Formats an act as one line: day, minute, verb and subject. Only the first row of a day names it.
fn row(paint: &Paint<'_>, event: &EventView, day: &mut String, width: usize, current: bool) -> Line<'static> {
    let (state, theme) = (paint.state, paint.theme);
    let zone = &state.settings.zone;
    let own = times::spoken_day(event.at, state.now, zone);
    let named = if *day == own { String::new() } else { own.clone() };
    *day = own;
    let what = event.subject().or_else(|| event.reason.clone()).unwrap_or_default();
    let style = if event.kind == "local.refused" { theme.warn } else { theme.ok };
    let room = width.saturating_sub(2 + 11 + 6 + 13);
    Line::from(vec![
        span(if current { theme.glyphs.cursor } else { " " }, theme.accent),
        Span::raw(" "),
        span(text::pad(&named, 11), theme.title),
        span(text::pad(&times::clock(event.at, zone), 6), theme.dim),
        span(text::pad(event.verb(), 12), if event.undone { theme.dim } else { style }),
        Span::raw(" "),
        span(text::pad(&what, room), if event.undone { theme.dim } else { theme.text }),
    ])
}

/// Draws the claims that hooks injected, one per line: how often, the statement, the hooks, and the age.
fn injected(paint: &mut Paint<'_>, area: Rect, title: &str, focused: bool) {
    let agents = &paint.state.agents;
    let all = agents.injected_here();
    let cursor = agents.injected_row.min(all.len().saturating_sub(1));
    let note = if all.is_empty() { "0".to_owned() } else { format!("{} of {}", cursor + 1, grouped(all.len())) };
    let inner = paint.pane(area, title, &note, focused);
    let height = usize::from(inner.height);
    paint.hits.add_pane(inner, Pane::AgentActs, height);
    if all.is_empty() {
        let body = "Hooks inject the claims that an agent needs: when a session starts, at a prompt, and when it opens a file. `ergo setup` installs them.";
        return empty::centred_message(paint, inner, "No claims were injected yet", &[body.to_owned()]);
    }
    let top = (cursor + 1).saturating_sub(height);
    for (slot, (index, entry)) in all.iter().enumerate().skip(top).take(height).enumerate() {
        let place = rows(inner, slot, 1);
        let line = injected_row(paint, entry, usize::from(place.width), index == cursor);
        paint.line(place, 0, &line);
        paint.row(place, Pane::AgentActs, index, index == cursor, focused);
    }
}

fn injected_row(paint: &Paint<'_>, entry: &InjectedClaim, width: usize, current: bool) -> Line<'static> {
    let theme = paint.theme;
    let what = entry.statement.clone().unwrap_or_else(|| format!("{} (not in this store)", entry.claim.short()));
    let what = if what.is_empty() { "(redacted)".to_owned() } else { what };
    let times = format!("{:>4} x", grouped(entry.times));
    let hooks = entry.hooks.iter().cloned().collect::<Vec<_>>().join(", ");
    let age = times::age(entry.last, paint.state.now);
    let hooked = if width >= 80 { text::pad(&hooks, 28) } else { String::new() };
    let room = width.saturating_sub(2 + 6 + 2 + text::width(&hooked) + 5);
    Line::from(vec![
        span(if current { theme.glyphs.cursor } else { " " }, theme.accent),
        Span::raw(" "),
        span(times, theme.title),
        Span::raw("  "),
        span(text::pad(&what, room), if entry.statement.is_some() { theme.text } else { theme.dim }),
        span(hooked, theme.dim),
        span(format!("{age:>5}"), theme.dim),
    ])
}
