//! The Peers screen: teams and their devices, join requests, and the sync state of each.

use ratatui::{
    layout::Rect,
    text::{Line, Span},
};

use super::{
    Shape, empty,
    paint::{Paint, rows, span},
    peer,
};
use crate::{
    api::{PeerState, PeerView, PendingJoin, SyncMode, TeamStatus},
    domain::text::escape,
    tui::{
        hits::Pane,
        state::{Focus, peers::PeerEntry},
        text, times,
    },
};

pub(super) fn draw(paint: &mut Paint<'_>, area: Rect) {
    let peers = &paint.state.peers;
    if peers.entries().is_empty() {
        return draw_empty(paint, area);
    }
    match (Shape::of(paint), peers.focus) {
        (Shape::Wide, _) => {
            let width = area.width * 9 / 20;
            list(paint, Rect { width, ..area });
            detail(paint, Rect { x: area.x + width, width: area.width - width, ..area });
        }
        (Shape::Mid, _) => {
            let height = (area.height * 2 / 5).max(6);
            list(paint, Rect { height, ..area });
            detail(paint, Rect { y: area.y + height, height: area.height - height, ..area });
        }
        (Shape::Single, Focus::List) => list(paint, area),
        (Shape::Single, Focus::Detail) => detail(paint, area),
    }
}

fn draw_empty(paint: &mut Paint<'_>, area: Rect) {
    let peers = &paint.state.peers;
    let inner = paint.pane(area, "Peers", "", true);
    paint.hits.add_pane(inner, Pane::Peers, usize::from(inner.height));
    if let Some(error) = &peers.error {
        let error = error.clone();
        return empty::centred_message(paint, inner, &error, &[]);
    }
    if peers.status.is_none() {
        return empty::centred_message(paint, inner, "Loading…", &[]);
    }
    let body = [
        "Nothing is shared until you create or join a team.".to_owned(),
        paint.state.keys.say("{new_team} creates one; {join_team} joins one by its ticket."),
    ];
    empty::centred_message(paint, inner, "No team yet", &body);
}

fn list(paint: &mut Paint<'_>, area: Rect) {
    let peers = &paint.state.peers;
    let focused = peers.focus == Focus::List;
    let note = match (&peers.error, &peers.status) {
        (Some(error), _) => error.clone(),
        (None, Some(status)) => status.says.clone(),
        (None, None) => String::new(),
    };
    let inner = paint.pane(area, "Peers", &note, focused);
    let height = usize::from(inner.height);
    paint.hits.add_pane(inner, Pane::Peers, height);
    let entries = peers.entries();
    let cursor = peers.row();
    let top = (cursor + 1).saturating_sub(height);
    for (slot, (index, entry)) in entries.iter().enumerate().skip(top).take(height).enumerate() {
        let place = rows(inner, slot, 1);
        let line = line(paint, entry, usize::from(place.width), index == cursor);
        paint.line(place, 0, &line);
        paint.row(place, Pane::Peers, index, index == cursor, focused);
    }
}

fn line(paint: &Paint<'_>, entry: &PeerEntry<'_>, width: usize, current: bool) -> Line<'static> {
    let theme = paint.theme;
    let mark = span(if current { theme.glyphs.cursor } else { " " }, theme.accent);
    let (name, style, end, end_style) = match entry {
        PeerEntry::Pending(join) => join_request_parts(paint, join),
        PeerEntry::Team(team) => {
            let (words, good) = team_state(team, paint.state.peers.status.as_ref().map(|status| status.mode));
            (escape(&team.name), theme.title, words, if good { theme.ok } else { theme.warn })
        }
        PeerEntry::Peer(peer) => {
            let dot = if peer.connected || peer.you { theme.glyphs.live } else { theme.glyphs.dead };
            let style = if peer.state == PeerState::Active { theme.text } else { theme.dim };
            let (words, good) = device_state(paint, peer);
            (format!("  {dot} {}", escape(&peer.name)), style, words, if good { theme.ok } else { theme.dim })
        }
    };
    // The words must be compared as a whole: if they do not fit, only the detail shows them.
    let cut = matches!(entry, PeerEntry::Pending(_)) && text::width(&name) + text::width(&end) + 3 > width;
    let end = if cut { String::new() } else { text::fit(&end, width.saturating_sub(12)) };
    let room = width.saturating_sub(text::width(&end) + 3);
    Line::from(vec![mark, Span::raw(" "), span(text::pad(&name, room), style), Span::raw(" "), span(end, end_style)])
}

/// The name and the state of a row, each with its style.
type RowParts = (String, ratatui::style::Style, String, ratatui::style::Style);

fn join_request_parts(paint: &Paint<'_>, join: &PendingJoin) -> RowParts {
    let theme = paint.theme;
    let name = format!("{} {} asks to join", theme.glyphs.alert, escape(&join.name));
    (name, theme.warn, join.words.join(" "), theme.title)
}

/// Describes the state of a team in a few words, and says whether it is good. It is never “in sync” while something was
/// not accepted.
pub(super) fn team_state(team: &TeamStatus, mode: Option<SyncMode>) -> (String, bool) {
    let active = || team.peers.iter().filter(|peer| !peer.you && peer.state == PeerState::Active);
    match &team.ended {
        Some(end) if end.left => return ("this device left".to_owned(), false),
        Some(_) => return ("this device was revoked".to_owned(), false),
        None if team.role.is_none() => return ("this device was revoked".to_owned(), false),
        None => {}
    }
    if team.quarantined > 0 {
        return (format!("{} in quarantine", team.quarantined), false);
    }
    if team.forks > 0 {
        return ("a device's store was copied".to_owned(), false);
    }
    if active().next().is_none() {
        return ("no other device yet".to_owned(), false);
    }
    if mode == Some(SyncMode::Off) {
        return ("sync is off".to_owned(), false);
    }
    let not_taken = team.not_taken();
    if not_taken > 0 {
        return (format!("{not_taken} not accepted by a peer"), false);
    }
    match team.untaken() {
        0 => {}
        1 => return ("1 local change not accepted by any peer".to_owned(), false),
        n => return (format!("{n} local changes not accepted by any peer"), false),
    }
    match active().filter(|peer| peer.connected).count() {
        0 => ("no peer is connected".to_owned(), false),
        _ if team.in_sync => ("in sync".to_owned(), true),
        n => (format!("{n} connected, syncing"), false),
    }
}

/// Describes how a device is reached and what is missing on either side, and says whether all is well.
fn device_state(paint: &Paint<'_>, peer: &PeerView) -> (String, bool) {
    match peer.state {
        PeerState::Left => return ("left".to_owned(), false),
        PeerState::Revoked => return ("revoked".to_owned(), false),
        PeerState::Active => {}
    }
    if peer.you {
        return (format!("this device, {}", peer.role.as_str()), true);
    }
    let path = if peer.connected {
        peer.path_words()
    } else {
        let seen = peer.last_seen.map(|at| times::ago(at, paint.state.now));
        seen.unwrap_or_else(|| "never seen".to_owned())
    };
    let missing = match (peer.we_lack, peer.they_lack) {
        (0, 0) if peer.is_in_sync() => format!("  {}", paint.theme.glyphs.done),
        (0, 0) => String::new(),
        (ours, 0) => format!("  {ours} to receive"),
        (0, theirs) => format!("  {theirs} to send"),
        (ours, theirs) => format!("  {ours} to receive, {theirs} to send"),
    };
    (format!("{path}{missing}"), peer.connected && peer.is_in_sync())
}

fn detail(paint: &mut Paint<'_>, area: Rect) {
    let peers = &paint.state.peers;
    let focused = peers.focus == Focus::Detail;
    let width = usize::from(area.width.saturating_sub(4));
    let (title, lines) = match peers.current() {
        Some(PeerEntry::Pending(join)) => ("Join request", peer::pending(paint, join, width)),
        Some(PeerEntry::Team(team)) => ("Team", peer::team(paint, team, width)),
        Some(PeerEntry::Peer(peer)) => ("Device", peer::device(paint, peer, width)),
        None => ("", Vec::new()),
    };
    paint.document(area, Pane::Peer, title, &lines, peers.scroll, focused);
}
