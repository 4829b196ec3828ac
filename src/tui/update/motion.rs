//! Cursor movement, with the same keys on every screen.

use super::{acts, agents, claims, conflicts, inbox, note_files, peers, story, why};
use crate::tui::{
    hits::Pane,
    key::KeyPress,
    msg::{Effect, ListRow},
    state::{AppState, Focus, Overlay, Screen, claims::ClaimsFocus, windowed::Windowed},
};

/// A movement of a cursor or a scroll position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Motion {
    /// By a number of rows, down if positive.
    By(isize),
    /// To the first row.
    First,
    /// To the last row.
    Last,
}

impl Motion {
    /// Returns the new position of something at `from` that can be at 0 to `last`.
    pub(super) fn apply(self, from: usize, last: usize) -> usize {
        match self {
            Self::By(rows) => from.saturating_add_signed(rows).min(last),
            Self::First => 0,
            Self::Last => last,
        }
    }

    /// Moves a scroll position, which can be at 0 to `last`. The text may have become shorter since the last move.
    pub(super) fn scroll(self, position: &mut usize, last: usize) {
        *position = self.apply((*position).min(last), last);
    }

    /// Moves the cursor of a list that shows `height` rows.
    pub(super) fn step<T: ListRow + Clone>(self, list: &mut Windowed<T>, height: usize) {
        match self {
            Self::By(rows) => list.step(rows, height),
            Self::First => list.home(height),
            Self::Last => list.end(height),
        }
    }
}

/// Moves in the pane that has the focus.
pub(super) fn shift_focused(state: &mut AppState, motion: Motion) {
    shift(state, pane(state), motion);
}

/// Moves by pages in the pane that has the focus. One line of the old page stays visible.
pub(super) fn turn_page(state: &mut AppState, pages: isize) {
    let rows = isize::try_from(state.hits.height(pane(state)).saturating_sub(1).max(1)).unwrap_or(1);
    shift_focused(state, Motion::By(pages * rows));
}

/// Opens the item under the cursor.
pub(super) fn open(state: &mut AppState, key: Option<KeyPress>, out: &mut Vec<Effect>) {
    match state.screen {
        Screen::Cards => conflicts::open(state),
        Screen::Claims => claims::open(state),
        Screen::Why => why::open(state),
        Screen::Peers => peers::open(state, key, out),
        Screen::Inbox => inbox::open(state, out),
        Screen::Timeline if state.timeline.story.is_some() => story::open(state),
        Screen::Timeline => acts::open(state),
        Screen::Agents => agents::open(state),
        Screen::Notes => note_files::open(state),
        Screen::Models => {}
    }
}

/// Returns the pane that has the focus.
pub(super) fn pane(state: &AppState) -> Pane {
    match &state.overlay {
        Some(Overlay::Page(_)) => return Pane::Page,
        Some(Overlay::Log { .. }) => return Pane::Picks,
        Some(Overlay::Judging(_)) => return Pane::Pair,
        _ => {}
    }
    match state.screen {
        Screen::Cards => match state.conflicts.focus {
            Focus::List => Pane::Cards,
            Focus::Detail => Pane::Card,
        },
        Screen::Claims => match state.claims.focus {
            ClaimsFocus::Scopes => Pane::Scopes,
            ClaimsFocus::List => Pane::Claims,
            ClaimsFocus::Detail => Pane::Detail,
        },
        Screen::Why => Pane::Chain,
        Screen::Peers => match state.peers.focus {
            Focus::List => Pane::Peers,
            Focus::Detail => Pane::Peer,
        },
        Screen::Inbox => match state.inbox.focus {
            Focus::List => Pane::Inbox,
            Focus::Detail if state.inbox.card().is_some() => Pane::Card,
            Focus::Detail => Pane::Item,
        },
        Screen::Timeline if state.timeline.story.is_some() => match state.timeline.focus {
            Focus::List => Pane::Story,
            Focus::Detail => Pane::StoryItem,
        },
        Screen::Timeline => match state.acts().map(|acts| acts.focus).unwrap_or_default() {
            Focus::List => Pane::Acts,
            Focus::Detail => Pane::Act,
        },
        Screen::Notes => match state.notes.focus {
            Focus::List => Pane::Notes,
            Focus::Detail => Pane::Note,
        },
        Screen::Agents => match state.agents.focus {
            Focus::List => Pane::Agents,
            Focus::Detail => Pane::AgentActs,
        },
        Screen::Models => Pane::Models,
    }
}

/// Moves the cursor of a list, or scrolls a pane.
pub(super) fn shift(state: &mut AppState, pane: Pane, motion: Motion) {
    let height = state.hits.height(pane);
    let overflow = state.hits.overflow(pane);
    match pane {
        Pane::Cards => motion.step(&mut state.conflicts.list, height),
        Pane::Claims => claims::move_cursor(state, motion, height),
        Pane::Card => {
            if let Some(card) = &mut state.conflicts.card {
                motion.scroll(&mut card.scroll, overflow);
            }
        }
        Pane::Detail => motion.scroll(&mut state.claims.scroll, overflow),
        Pane::Scopes => claims::move_in_tree(state, motion),
        Pane::Chain => match motion {
            Motion::By(rows) => {
                if !state.why.scroll(rows, overflow) {
                    state.why.step(rows);
                }
            }
            Motion::First => state.why.step(isize::MIN),
            Motion::Last => {
                state.why.step(isize::MAX);
                state.why.scroll = usize::MAX;
            }
        },
        Pane::Peers => {
            let last = state.peers.entries().len().saturating_sub(1);
            state.peers.place(motion.apply(state.peers.row(), last));
        }
        Pane::Peer => motion.scroll(&mut state.peers.scroll, overflow),
        Pane::Inbox => {
            let last = state.inbox.selectable_rows().len().saturating_sub(1);
            state.inbox.place(motion.apply(state.inbox.cursor(), last));
        }
        Pane::Item => motion.scroll(&mut state.inbox.scroll, overflow),
        Pane::Acts => {
            let Some(acts) = state.acts_mut() else { return };
            let before = acts.list.anchor();
            motion.step(&mut acts.list, height);
            if acts.list.anchor() != before {
                acts.scroll = 0;
            }
        }
        Pane::Act => {
            if let Some(acts) = state.acts_mut() {
                motion.scroll(&mut acts.scroll, overflow);
            }
        }
        Pane::Models => motion.scroll(&mut state.models.scroll, overflow),
        Pane::Notes | Pane::Note => note_files::shift(state, pane, motion),
        Pane::Story | Pane::StoryItem => story::shift(state, pane, motion),
        Pane::Agents | Pane::AgentActs => agents::shift(state, pane, motion, height),
        Pane::Page => {
            let shown = state.hits.scroll(pane);
            if let Some(Overlay::Page(page)) = &mut state.overlay {
                page.scroll_to(motion.apply(page.scroll(shown).min(overflow), overflow));
            }
        }
        Pane::Pair => super::judging::scroll(state, motion),
        Pane::Picks => {
            if let Some(Overlay::Log { up }) = &mut state.overlay {
                let top = overflow.saturating_sub(*up);
                *up = overflow - motion.apply(top, overflow);
            }
        }
    }
}

/// Moves the focus by a number of panes. With `round`, the first pane follows the last one. A text page and the log
/// are a single pane.
pub(super) fn move_focus(state: &mut AppState, by: isize, round: bool) {
    if matches!(state.overlay, Some(Overlay::Page(_) | Overlay::Log { .. })) {
        return;
    }
    match state.screen {
        Screen::Cards => move_focus_in(&mut state.conflicts.focus, [Focus::List, Focus::Detail], by, round),
        Screen::Claims => {
            let order = [ClaimsFocus::Scopes, ClaimsFocus::List, ClaimsFocus::Detail];
            move_focus_in(&mut state.claims.focus, order, by, round);
        }
        Screen::Peers => move_focus_in(&mut state.peers.focus, [Focus::List, Focus::Detail], by, round),
        Screen::Inbox => move_focus_in(&mut state.inbox.focus, [Focus::List, Focus::Detail], by, round),
        Screen::Timeline => move_focus_in(&mut state.timeline.focus, [Focus::List, Focus::Detail], by, round),
        Screen::Notes => move_focus_in(&mut state.notes.focus, [Focus::List, Focus::Detail], by, round),
        Screen::Agents => move_focus_in(&mut state.agents.focus, [Focus::List, Focus::Detail], by, round),
        Screen::Why | Screen::Models => {}
    }
}

fn move_focus_in<T: Copy + PartialEq, const N: usize>(focus: &mut T, order: [T; N], by: isize, round: bool) {
    let index = order.iter().position(|own| own == focus).unwrap_or(0);
    let next = index.saturating_add_signed(by).min(N - 1);
    let next = if round { (index + N).saturating_add_signed(by) % N } else { next };
    *focus = order[next];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scroll_position_beyond_the_end_moves_from_the_end() {
        let moved = |motion: Motion, mut position: usize| {
            motion.scroll(&mut position, 5);
            position
        };
        assert_eq!((moved(Motion::By(-1), usize::MAX), moved(Motion::By(9), 2)), (4, 5));
        assert_eq!((moved(Motion::First, 3), moved(Motion::Last, 3)), (0, 5));
    }
}
