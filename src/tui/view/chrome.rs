//! The first row, with tabs, scope and state of the daemon, and the last row, with the keys.

use ratatui::{
    layout::Rect,
    text::{Line, Span},
};

use super::{
    claims::grouped,
    paint::{Paint, span},
    tour,
};
use crate::{
    api::CardKind,
    domain::CardId,
    tui::{
        action::{self, Action, ActionSpec, KeyScope},
        hits::Hit,
        state::{AppState, Daemon, Overlay, Screen, is_narrow, story::StoryState, why::Subject},
        text,
    },
};

/// Splits an area into the first row, the body, and the last row.
pub(super) fn split(area: Rect) -> (Rect, Rect, Rect) {
    let top = Rect { height: 1, ..area };
    let body = Rect { y: area.y + 1, height: area.height.saturating_sub(2), ..area };
    let bottom = Rect { y: area.y + area.height.saturating_sub(1), height: 1, ..area };
    (top, body, bottom)
}

/// Draws the tabs on the left, and the path and the daemon's state on the right.
///
/// If there is little room, these are left out, in this order: the path, the badge, the space between tabs, the word
/// beside the daemon's mark, the names of the other tabs, those tabs.
pub(super) fn top(paint: &mut Paint<'_>, area: Rect) {
    let theme = paint.theme;
    let columns = usize::from(area.width);
    let width = text::spans_width;
    let (full, terse) = (width(&status_spans(paint, false)), width(&status_spans(paint, true)));
    let roomy = BADGE_WIDTH + named_tabs_width(paint, 2) + full <= columns;
    let gap = if roomy || 1 + named_tabs_width(paint, 2) + full <= columns { 2 } else { 1 };
    let named = roomy || 1 + named_tabs_width(paint, gap) + terse <= columns;
    let mark_only = named && 1 + named_tabs_width(paint, gap) + full > columns;
    let gap = if named { gap } else { 2 };
    let active_only = !named && (columns < 66 || BADGE_WIDTH + key_tabs_width(paint) + full > columns);
    let mut spans =
        if named && !roomy { vec![Span::raw(" ")] } else { vec![span(" ergo ", theme.badge), Span::raw(" ")] };
    let mut x = area.x + if named && !roomy { 1 } else { 7 };
    for screen in Screen::TABS {
        let here = screen == paint.state.screen.tab();
        if active_only && !here {
            continue;
        }
        let (key, count) = (paint.state.keys.first(screen.act()), waiting_count(paint, screen));
        let label =
            if named || here || screen == Screen::Inbox || key.is_empty() { tab_label(paint, screen) } else { key };
        let width = u16::try_from(text::width(&label) + count.len()).unwrap_or(0);
        paint.hits.add(Rect { x, width, ..area }.intersection(area), Hit::Tab(screen));
        spans.push(span(label, if here { theme.tab } else { theme.dim }));
        spans.push(span(count, theme.warn));
        spans.push(Span::raw(" ".repeat(usize::from(gap))));
        x = x.saturating_add(width + gap);
    }
    let left = text::spans_width(&spans);
    paint.line(area, 0, &Line::from(spans));
    let right = status(paint, columns.saturating_sub(left), mark_only);
    let width = text::spans_width(&right);
    let start = area.x + area.width.saturating_sub(u16::try_from(width).unwrap_or(area.width));
    let place = Rect { x: start, width: area.width - (start - area.x), ..area };
    paint.line(place, 0, &Line::from(right));
}

/// Width of the badge before the first tab.
const BADGE_WIDTH: usize = 7;

/// Returns a tab's key and name.
fn tab_label(paint: &Paint<'_>, screen: Screen) -> String {
    format!("{} {}", paint.state.keys.first(screen.act()), screen.title()).trim_start().to_owned()
}

/// Formats the number of items that wait on a tab, after a space; empty if there are none.
fn waiting_count(paint: &Paint<'_>, screen: Screen) -> String {
    let number = match screen {
        Screen::Inbox => paint.state.inbox.total(),
        Screen::Peers => paint.state.peers.attention(),
        _ => 0,
    };
    if number > 0 { format!(" {}", grouped(number)) } else { String::new() }
}

/// Returns the width of all tabs if only the active one and the Inbox are named, and the others have only their keys.
fn key_tabs_width(paint: &Paint<'_>) -> usize {
    let width = |screen: Screen| {
        let key = paint.state.keys.first(screen.act());
        let named = screen == paint.state.screen.tab() || screen == Screen::Inbox || key.is_empty();
        text::width(&if named { tab_label(paint, screen) } else { key }) + waiting_count(paint, screen).len() + 2
    };
    Screen::TABS.into_iter().map(width).sum()
}

/// Returns the width of all tabs with their names, and `gap` after each.
fn named_tabs_width(paint: &Paint<'_>, gap: u16) -> usize {
    let width = |screen| text::width(&tab_label(paint, screen)) + waiting_count(paint, screen).len() + usize::from(gap);
    Screen::TABS.into_iter().map(width).sum()
}

/// Returns what is always shown on the right: read-only mode, a daemon of another version, and the daemon's state. If
/// `terse`, a running daemon has only a mark.
fn status_spans(paint: &Paint<'_>, terse: bool) -> Vec<Span<'static>> {
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
    let mut end = status_spans(paint, terse);
    let used = text::spans_width(&end);
    let room = room.saturating_sub(used + 3);
    if room >= 8 {
        end.insert(0, span(breadcrumbs(paint, room), paint.theme.dim));
        end.insert(1, Span::raw("  "));
    }
    end
}

/// Returns the path to what is shown: scope, then claim or card, then why.
fn breadcrumbs(paint: &Paint<'_>, room: usize) -> String {
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
        Screen::Agents => parts.extend(state.agents.entry().and_then(|entry| entry.name.clone())),
        Screen::Inbox => parts.extend(
            state.inbox.card().map(CardId::short).or_else(|| state.inbox.claim().map(|claim| claim.id.short())),
        ),
        Screen::Timeline if state.story().is_some() => parts.push("story".to_owned()),
        Screen::Timeline => {
            parts.extend(state.acts().and_then(|acts| acts.list.current()).map(|event| event.op_id.short()));
        }
    }
    // Parts are left out rather than cut.
    while parts.len() > 1 && text::width(&parts.join(&path)) > room {
        parts.pop();
    }
    text::fit(&parts.join(&path), room)
}

/// Returns the word for an action in the footer: that of its row, unless the item or overlay shown has another one;
/// empty to hide the action.
fn footer_word(state: &AppState, spec: &ActionSpec) -> &'static str {
    let last_page = matches!(state.overlay, Some(Overlay::Tour { page }) if tour::is_last(page));
    match spec.id {
        Action::AdmitPending if state.inbox.quarantined().is_some() => "accept",
        Action::RejectPending if state.inbox.quarantined().is_some() => "discard",
        Action::StoryCard if state.story().and_then(StoryState::mark).is_none_or(|mark| mark.card.is_none()) => {
            "history"
        }
        Action::TourNext if last_page => "begin",
        Action::TourEnd if last_page => "",
        // The overlay shows them itself.
        _ if spec.scope == KeyScope::Verdict => "",
        _ => spec.short,
    }
}

/// Draws the keys that work here, most important first, as far as they fit; search, help and quit always.
pub(super) fn bottom(paint: &mut Paint<'_>, area: Rect) {
    let state = paint.state;
    let chain = state.chain();
    let mut all: Vec<&ActionSpec> = action::in_chain(chain)
        .filter(|spec| !footer_word(state, spec).is_empty() && state.check(spec).is_ok())
        .collect();
    // A held write waits for an answer before all else.
    if state.selected_card().is_some_and(|card| card.view.summary.kind == CardKind::Held) {
        all.sort_by_key(|spec| spec.id != Action::Judge);
    }
    // A narrow screen shows one part at a time, and opening leads to the next part.
    let open = is_narrow(paint.size) && state.overlay.is_none();
    let last = |spec: &&&ActionSpec| {
        matches!(spec.id, Action::Search | Action::Palette | Action::Quit) || (open && spec.id == Action::Open)
    };
    let ends: Vec<&ActionSpec> = all.iter().filter(last).copied().collect();
    let width =
        |spec: &ActionSpec| state.keys.first(spec.id).chars().count() + footer_word(state, spec).chars().count() + 3;
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
    // While the user types, letters are text: the keys of the screen are not shown. A form shows its own keys.
    if !matches!(state.overlay, Some(Overlay::Prompt(_) | Overlay::Form(_))) {
        let mut x = area.x + 1;
        for spec in shown.into_iter().chain(ends) {
            let spans = [
                span(state.keys.first(spec.id), paint.theme.key),
                Span::raw(" "),
                span(footer_word(state, spec), paint.theme.dim),
            ];
            let cells = u16::try_from(width(spec)).unwrap_or(0);
            let place = Rect { x, width: cells.saturating_sub(2), ..area }.intersection(area);
            paint.line(place, 0, &Line::from(spans.to_vec()));
            paint.hits.add(place, Hit::Act(spec.id));
            x = x.saturating_add(cells);
        }
    }
}
