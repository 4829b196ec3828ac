//! The mouse. What a click does depends on what was painted at its position.

use crossterm::event::{MouseButton, MouseEventKind};

use super::{agents, claims, form, motion, note_files, perform, story};
use crate::tui::{
    action::{Action, KeyScope},
    hits::{Hit, Pane},
    msg::Effect,
    state::{AppState, Focus, Overlay, Screen, claims::ClaimsFocus},
};

/// Rows that the view moves per notch of the wheel.
const ROWS_PER_NOTCH: isize = 3;

/// Handles a mouse event.
pub(super) fn mouse(state: &mut AppState, kind: MouseEventKind, column: u16, row: u16, out: &mut Vec<Effect>) {
    let Some(hit) = state.hits.at(column, row) else { return };
    match kind {
        MouseEventKind::Down(MouseButton::Left) => click(state, hit, out),
        MouseEventKind::Down(MouseButton::Right) => mark(state, hit, out),
        MouseEventKind::ScrollDown => wheel(state, hit, ROWS_PER_NOTCH, out),
        MouseEventKind::ScrollUp => wheel(state, hit, -ROWS_PER_NOTCH, out),
        _ => {}
    }
}

fn click(state: &mut AppState, hit: Hit, out: &mut Vec<Effect>) {
    // An overlay takes the clicks on itself; the screen below takes none.
    let over = state.overlay.is_some();
    match hit {
        Hit::Field(index) => form::focus_on(state, index),
        Hit::Row(Pane::Picks, row) => {
            if let Some(Overlay::Palette(palette)) = &mut state.overlay {
                palette.row = row;
                perform(state, Action::Pick, None, out);
            }
        }
        Hit::Act(id) => {
            let own = state.chain().contains(&id.spec().scope);
            if own {
                perform(state, id, None, out);
            }
        }
        _ if over => {}
        Hit::Tab(screen) => perform(state, screen.act(), None, out),
        Hit::Pane(pane) => focus(state, pane),
        Hit::Row(pane, row) => {
            let again = motion::pane(state) == pane && is_current(state, pane, row);
            focus(state, pane);
            match pane {
                Pane::Cards => state.conflicts.list.place(row, state.hits.height(pane)),
                Pane::Claims => claims::place(state, row, state.hits.height(pane)),
                Pane::Agents => _ = state.agents.place(row),
                Pane::AgentActs => agents::place(state, row, state.hits.height(pane)),
                Pane::Scopes => claims::pick_tree_row(state, row),
                Pane::Chain => {
                    if let Some((here, _)) = state.why.current() {
                        state.why.step(row.cast_signed() - here.cast_signed());
                    }
                }
                Pane::Peers => state.peers.place(row),
                Pane::Inbox => state.inbox.place(row),
                Pane::Acts => {
                    let height = state.hits.height(pane);
                    if let Some(acts) = state.acts_mut() {
                        acts.list.place(row, height);
                        acts.scroll = 0;
                    }
                }
                Pane::Story => story::place(state, row),
                Pane::Notes => note_files::place(state, row),
                Pane::Card
                | Pane::Detail
                | Pane::Peer
                | Pane::Item
                | Pane::Act
                | Pane::StoryItem
                | Pane::Note
                | Pane::Pair
                | Pane::Models
                | Pane::Page
                | Pane::Picks => {}
            }
            if again && state.chain().contains(&KeyScope::Move) {
                perform(state, Action::Open, None, out);
            }
        }
    }
}

/// Marks the clicked item, for the right button.
fn mark(state: &mut AppState, hit: Hit, out: &mut Vec<Effect>) {
    if state.overlay.is_some() {
        return;
    }
    match hit {
        Hit::Row(Pane::Cards, row) => state.conflicts.list.place(row, state.hits.height(Pane::Cards)),
        Hit::Row(Pane::Inbox, row) => state.inbox.place(row),
        _ => return,
    }
    let pane = if state.screen == Screen::Inbox { Pane::Inbox } else { Pane::Cards };
    focus(state, pane);
    perform(state, Action::Mark, None, out);
}

fn is_current(state: &AppState, pane: Pane, row: usize) -> bool {
    match pane {
        Pane::Cards => state.conflicts.list.cursor() == row,
        Pane::Claims => state.claims.row() == row,
        Pane::Chain => state.why.current().is_some_and(|(here, _)| here == row),
        Pane::Peers => state.peers.row() == row,
        Pane::Inbox => state.inbox.cursor() == row,
        Pane::Acts => state.acts().is_some_and(|acts| acts.list.cursor() == row),
        Pane::Story => state.story().is_some_and(|story| story.row() == row),
        Pane::Notes => state.notes.row() == row,
        Pane::Agents => state.agents.row() == row,
        Pane::AgentActs => agents::row(state) == row,
        _ => false,
    }
}

fn wheel(state: &mut AppState, hit: Hit, rows: isize, out: &mut Vec<Effect>) {
    let (Hit::Pane(pane) | Hit::Row(pane, _)) = hit else { return };
    let log = matches!(state.overlay, Some(Overlay::Log { .. }));
    if pane == Pane::Picks && !log {
        let asked = matches!(state.overlay, Some(Overlay::Confirm(_)));
        let id = match (asked, rows > 0) {
            (true, true) => Action::PreviewDown,
            (true, false) => Action::PreviewUp,
            (false, true) => Action::PickDown,
            (false, false) => Action::PickUp,
        };
        perform(state, id, None, out);
    } else if state.overlay.is_none() || matches!(pane, Pane::Page | Pane::Pair | Pane::Picks) {
        let rows =
            if matches!(pane, Pane::Chain | Pane::Scopes | Pane::Inbox | Pane::Agents | Pane::Notes | Pane::Story) {
                rows.signum()
            } else {
                rows
            };
        motion::shift(state, pane, motion::Motion::By(rows));
    }
}

fn focus(state: &mut AppState, pane: Pane) {
    match pane {
        Pane::Cards => state.conflicts.focus = Focus::List,
        Pane::Card if state.screen == Screen::Inbox => state.inbox.focus = Focus::Detail,
        Pane::Card => state.conflicts.focus = Focus::Detail,
        Pane::Inbox => state.inbox.focus = Focus::List,
        Pane::Item => state.inbox.focus = Focus::Detail,
        Pane::Acts | Pane::Act => {
            let focus = if pane == Pane::Acts { Focus::List } else { Focus::Detail };
            if let Some(acts) = state.acts_mut() {
                acts.focus = focus;
            }
        }
        Pane::Notes => state.notes.focus = Focus::List,
        Pane::Note => state.notes.focus = Focus::Detail,
        Pane::Story => state.timeline.focus = Focus::List,
        Pane::StoryItem => state.timeline.focus = Focus::Detail,
        Pane::Scopes => state.claims.focus = ClaimsFocus::Scopes,
        Pane::Claims => state.claims.focus = ClaimsFocus::List,
        Pane::Detail => state.claims.focus = ClaimsFocus::Detail,
        Pane::Peers => state.peers.focus = Focus::List,
        Pane::Peer => state.peers.focus = Focus::Detail,
        Pane::Agents => state.agents.focus = Focus::List,
        Pane::AgentActs => state.agents.focus = Focus::Detail,
        Pane::Chain | Pane::Models | Pane::Page | Pane::Pair | Pane::Picks => {}
    }
}
