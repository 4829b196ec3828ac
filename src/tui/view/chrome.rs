//! The first and the last row: tabs, scope and state of the daemon; and the keys.

use ratatui::{
    layout::Rect,
    text::{Line, Span},
};

use super::{
    claims::group,
    paint::{Paint, span},
    tour,
};
use crate::{
    domain::CardId,
    tui::{
        action::{self, Action, ActionSpec},
        hits::Hit,
        state::{AppState, Daemon, Overlay, Screen, why::Subject},
        text,
    },
};

/// The first row, the last row, and what is between.
pub(super) fn split(area: Rect) -> (Rect, Rect, Rect) {
    let top = Rect { height: 1, ..area };
    let body = Rect { y: area.y + 1, height: area.height.saturating_sub(2), ..area };
    let bottom = Rect { y: area.y + area.height.saturating_sub(1), height: 1, ..area };
    (top, body, bottom)
}

/// Tabs on the left; where one is and whether the daemon answers on the right.
///
/// If there is little room, these go, in this order: the path, the badge, the space between tabs, the word beside the daemon's mark, the names
/// of the other tabs, those tabs.
pub(super) fn top(paint: &mut Paint<'_>, area: Rect) {
    let theme = paint.theme;
    let columns = usize::from(area.width);
    let wide = |ends: &[Span<'_>]| ends.iter().map(Span::width).sum::<usize>();
    let (full, terse) = (wide(&ends(paint, false)), wide(&ends(paint, true)));
    let roomy = BADGE + names(paint, 2) + full <= columns;
    let gap = if roomy || 1 + names(paint, 2) + full <= columns { 2 } else { 1 };
    let named = roomy || 1 + names(paint, gap) + terse <= columns;
    let mark_only = named && 1 + names(paint, gap) + full > columns;
    let gap = if named { gap } else { 2 };
    let alone = !named && (columns < 66 || BADGE + keys(paint) + full > columns);
    let mut spans =
        if named && !roomy { vec![Span::raw(" ")] } else { vec![span(" ergo ", theme.badge), Span::raw(" ")] };
    let mut x = area.x + if named && !roomy { 1 } else { 7 };
    for screen in Screen::TABS {
        let here = screen == paint.state.screen.tab();
        if alone && !here {
            continue;
        }
        let (key, count) = (paint.state.keys.first(screen.act()), count(paint, screen));
        let label = if named || here || screen == Screen::Inbox || key.is_empty() { label(paint, screen) } else { key };
        let width = u16::try_from(text::width(&label) + count.len()).unwrap_or(0);
        paint.hits.add(Rect { x, width, ..area }.intersection(area), Hit::Tab(screen));
        spans.push(span(label, if here { theme.tab } else { theme.dim }));
        spans.push(span(count, theme.warn));
        spans.push(Span::raw(" ".repeat(usize::from(gap))));
        x = x.saturating_add(width + gap);
    }
    let left: usize = spans.iter().map(Span::width).sum();
    paint.line(area, 0, &Line::from(spans));
    let right = status(paint, columns.saturating_sub(left), mark_only);
    let width: usize = right.iter().map(Span::width).sum();
    let start = area.x + area.width.saturating_sub(u16::try_from(width).unwrap_or(area.width));
    let place = Rect { x: start, width: area.width - (start - area.x), ..area };
    paint.line(place, 0, &Line::from(right));
}

/// Columns before the first tab.
const BADGE: usize = 7;

/// A tab's key and name.
fn label(paint: &Paint<'_>, screen: Screen) -> String {
    format!("{} {}", paint.state.keys.first(screen.act()), screen.title()).trim_start().to_owned()
}

/// How much waits on a tab, in front of which there is a space; empty if nothing does.
fn count(paint: &Paint<'_>, screen: Screen) -> String {
    let number = match screen {
        Screen::Inbox => paint.state.inbox.total(),
        Screen::Peers => paint.state.peers.attention(),
        _ => 0,
    };
    if number > 0 { format!(" {}", group(number)) } else { String::new() }
}

/// Columns of all tabs with their keys alone, but for the one that is shown and the Inbox.
fn keys(paint: &Paint<'_>) -> usize {
    let width = |screen: Screen| {
        let key = paint.state.keys.first(screen.act());
        let named = screen == paint.state.screen.tab() || screen == Screen::Inbox || key.is_empty();
        text::width(&if named { label(paint, screen) } else { key }) + count(paint, screen).len() + 2
    };
    Screen::TABS.into_iter().map(width).sum()
}

/// Columns of all tabs with their names, and `gap` after each.
fn names(paint: &Paint<'_>, gap: u16) -> usize {
    let width = |screen| text::width(&label(paint, screen)) + count(paint, screen).len() + usize::from(gap);
    Screen::TABS.into_iter().map(width).sum()
}

/// What must be said on the right: read-only, a daemon of another version, whether it answers. `terse`: a mark says that it does.
fn ends(paint: &Paint<'_>, terse: bool) -> Vec<Span<'static>> {
    let (state, theme) = (paint.state, paint.theme);
    let glyphs = theme.glyphs;
    let daemon = match &state.daemon {
        Daemon::Up { .. } if terse => span(format!("{} ", glyphs.live), theme.ok),
        Daemon::Up { .. } => span(format!("{} live ", glyphs.live), theme.ok),
        Daemon::Unknown => span(format!("{} … ", glyphs.dead), theme.dim),
        Daemon::Starting => span(format!("{} starting ", glyphs.dead), theme.warn),
        Daemon::Down { .. } => {
            let how = state.keys.say("no daemon: {start} starts it");
            span(format!("{} {how} ", glyphs.dead), theme.bad)
        }
    };
    let mut end = Vec::new();
    if state.settings.read_only {
        end.push(span("READ-ONLY", theme.warn));
        end.push(Span::raw("  "));
    }
    if let Daemon::Up { version } = &state.daemon
        && version != env!("CARGO_PKG_VERSION")
    {
        end.push(span(format!("daemon has version {}", text::fit(version, 12)), theme.warn));
        end.push(Span::raw("  "));
    }
    end.push(daemon);
    end
}

fn status(paint: &Paint<'_>, room: usize, terse: bool) -> Vec<Span<'static>> {
    let mut end = ends(paint, terse);
    let used: usize = end.iter().map(Span::width).sum();
    let room = room.saturating_sub(used + 3);
    if room >= 8 {
        end.insert(0, span(crumbs(paint, room), paint.theme.dim));
        end.insert(1, Span::raw("  "));
    }
    end
}

/// Where one is: scope, then claim or card, then why.
fn crumbs(paint: &Paint<'_>, room: usize) -> String {
    let state = paint.state;
    let path = format!(" {} ", paint.theme.glyphs.path);
    let scope = state.scope.as_ref().map_or_else(|| "all scopes".to_owned(), ToString::to_string);
    let mut parts = vec![scope];
    match state.screen {
        Screen::Cards => parts.extend(state.conflicts.list.anchor().map(CardId::short)),
        Screen::Claims => parts.extend(state.claims.current().map(|claim| claim.id.short())),
        Screen::Why => {
            if let Some(Subject::Claim(id)) = &state.why.subject {
                parts.push(id.chars().take(10).collect());
            }
            parts.push("why".to_owned());
        }
        Screen::Peers => parts = vec!["teams".to_owned()],
        Screen::Models => parts = vec!["this device".to_owned()],
        Screen::Notes => parts.extend(state.notes.file().map(|file| text::line(&file.path))),
        Screen::Agents => parts.extend(state.agents.entry().and_then(|entry| entry.name)),
        Screen::Inbox => parts.extend(
            state.inbox.card().map(CardId::short).or_else(|| state.inbox.claim().map(|claim| claim.id.short())),
        ),
        Screen::Timeline if state.story().is_some() => parts.push("story".to_owned()),
        Screen::Timeline => {
            parts.extend(state.acts().and_then(|acts| acts.list.current()).map(|event| event.op_id.short()));
        }
    }
    // What is cut would say less than what is left out.
    while parts.len() > 1 && text::width(&parts.join(&path)) > room {
        parts.pop();
    }
    text::fit(&parts.join(&path), room)
}

/// The word for an action in the footer: that of its row, unless what is shown names it otherwise; empty for none.
fn word(state: &AppState, spec: &ActionSpec) -> &'static str {
    let last_page = matches!(state.overlay, Some(Overlay::Tour { page }) if tour::is_last(page));
    match spec.id {
        Action::AdmitPending if state.inbox.quarantined().is_some() => "accept",
        Action::RejectPending if state.inbox.quarantined().is_some() => "discard",
        Action::TourNext if last_page => "begin",
        Action::TourEnd if last_page => "",
        _ => spec.short,
    }
}

/// The keys that matter here, most important first, as far as they fit; help and quit always.
pub(super) fn bottom(paint: &mut Paint<'_>, area: Rect) {
    let state = paint.state;
    let chain = state.chain();
    let all: Vec<&ActionSpec> =
        action::in_chain(chain).filter(|spec| !word(state, spec).is_empty() && state.check(spec).is_ok()).collect();
    // Where one part of a screen is shown at a time, opening it is how one gets on.
    let open = state.is_narrow() && state.overlay.is_none();
    let last = |spec: &&&ActionSpec| {
        matches!(spec.id, Action::Search | Action::Palette | Action::Quit) || (open && spec.id == Action::Open)
    };
    let ends: Vec<&ActionSpec> = all.iter().filter(last).copied().collect();
    let width = |spec: &ActionSpec| state.keys.first(spec.id).chars().count() + word(state, spec).chars().count() + 3;
    let kept: usize = ends.iter().map(|spec| width(spec)).sum();
    let mut room = usize::from(area.width).saturating_sub(kept + 1);
    let mut shown = Vec::new();
    for spec in all.iter().filter(|spec| !last(spec)) {
        if width(spec) > room {
            break;
        }
        room -= width(spec);
        shown.push(*spec);
    }
    // While something is typed, a letter is a letter: the acts of the screen are not offered. A form has its keys in it, and so has the log,
    // in which nothing can be chosen.
    if !matches!(state.overlay, Some(Overlay::Prompt(_) | Overlay::Form(_) | Overlay::Log { .. })) {
        let mut x = area.x + 1;
        for spec in shown.into_iter().chain(ends) {
            let spans = [
                span(state.keys.first(spec.id), paint.theme.key),
                Span::raw(" "),
                span(word(state, spec), paint.theme.dim),
            ];
            let cells = u16::try_from(width(spec)).unwrap_or(0);
            let place = Rect { x, width: cells.saturating_sub(2), ..area }.intersection(area);
            paint.line(place, 0, &Line::from(spans.to_vec()));
            paint.hits.add(place, Hit::Act(spec.id));
            x = x.saturating_add(cells);
        }
    }
}
