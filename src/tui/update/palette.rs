//! The palette, and the keys that it shares with the search line and the log.

use crossterm::event::KeyEvent;

use super::{page, perform as perform_act, prompt};
use crate::tui::{
    action::Action,
    hits::Pane,
    key::KeyPress,
    msg::Effect,
    state::{Overlay, State, form::clear_line},
};

/// A key that is no act goes into the search.
pub(super) fn typed(state: &mut State, key: KeyPress) {
    if let Some(Overlay::Palette(palette)) = &mut state.overlay {
        palette.input.input(KeyEvent::new(key.code, key.mods));
        palette.row = 0;
    }
}

/// Does an act of the palette, the search line or the log.
pub(super) fn perform(state: &mut State, id: Action, key: Option<KeyPress>, out: &mut Vec<Effect>) {
    let page = state.hits.height(Pane::Picks).saturating_sub(1).max(1);
    let step = match id {
        Action::PickUp => -1,
        Action::PickDown => 1,
        Action::PickPageUp => -isize::try_from(page).unwrap_or(1),
        Action::PickPageDown => isize::try_from(page).unwrap_or(1),
        _ => 0,
    };
    if id == Action::ClearWords
        && let Some(Overlay::Palette(palette)) = &mut state.overlay
    {
        clear_line(&mut palette.input);
        palette.row = 0;
        return;
    }
    match &state.overlay {
        Some(Overlay::Prompt(_)) => prompt::perform(state, id),
        Some(Overlay::Page(_)) => page::type_on(state, id),
        Some(Overlay::Log { up }) => {
            let last = state.log.len().saturating_sub(1);
            state.overlay = match id {
                Action::Close | Action::Pick => None,
                _ => Some(Overlay::Log { up: up.saturating_add_signed(-step).min(last) }),
            };
        }
        Some(Overlay::Palette(palette)) => match id {
            Action::Close => state.overlay = None,
            Action::Pick => {
                let chosen = palette.acts(state).get(palette.row).map(|spec| spec.id);
                state.overlay = None;
                if let Some(chosen) = chosen {
                    perform_act(state, chosen, key, out);
                }
            }
            _ => {
                let last = palette.acts(state).len().saturating_sub(1);
                let row = palette.row.saturating_add_signed(step).min(last);
                if let Some(Overlay::Palette(palette)) = &mut state.overlay {
                    palette.row = row;
                }
            }
        },
        _ => {}
    }
}
