//! The palette, and the keys that it shares with the search line. The log is closed here as well.

use super::{perform as perform_action, prompt};
use crate::tui::{
    hits::Pane,
    key::KeyPress,
    msg::Effect,
    state::{
        AppState, Overlay,
        form::{clear_line, type_in_line},
        overlay::Palette,
    },
};

/// Types a key without an action into the search.
pub(super) fn typed(state: &mut AppState, key: KeyPress) {
    if let Some(Overlay::Palette(palette)) = &mut state.overlay {
        type_in_line(&mut palette.input, key);
        palette.row = 0;
    }
}

pub(super) fn open(state: &mut AppState) {
    state.overlay = Some(Overlay::Palette(Palette::new()));
}

/// Moves in the palette, or to the next match on a page.
pub(super) fn step(state: &mut AppState, rows: isize) {
    let last = match &state.overlay {
        Some(Overlay::Palette(palette)) => palette.acts(state).len().saturating_sub(1),
        _ => 0,
    };
    match &mut state.overlay {
        Some(Overlay::Palette(palette)) => palette.row = palette.row.saturating_add_signed(rows).min(last),
        Some(Overlay::Page(page)) => page.step(rows > 0),
        Some(
            Overlay::Prompt(_)
            | Overlay::Log { .. }
            | Overlay::Form(_)
            | Overlay::Confirm(_)
            | Overlay::Judging(_)
            | Overlay::Tour { .. },
        )
        | None => {}
    }
}

/// Moves by pages.
pub(super) fn turn_page(state: &mut AppState, pages: isize) {
    let page = state.hits.height(Pane::Picks).saturating_sub(1).max(1);
    step(state, pages * isize::try_from(page).unwrap_or(1));
}

/// Deletes what was typed.
pub(super) fn clear(state: &mut AppState) {
    match &mut state.overlay {
        Some(Overlay::Palette(palette)) => {
            clear_line(&mut palette.input);
            palette.row = 0;
        }
        Some(Overlay::Prompt(_)) => prompt::clear(state),
        Some(Overlay::Page(page)) => page.clear(),
        Some(
            Overlay::Log { .. } | Overlay::Form(_) | Overlay::Confirm(_) | Overlay::Judging(_) | Overlay::Tour { .. },
        )
        | None => {}
    }
}

/// Runs the action under the cursor, submits the input line, or ends the typing of a search.
pub(super) fn pick(state: &mut AppState, key: Option<KeyPress>, out: &mut Vec<Effect>) {
    match &mut state.overlay {
        Some(Overlay::Palette(palette)) => {
            let palette = palette.clone();
            let chosen = palette.acts(state).get(palette.row).map(|spec| spec.id);
            state.overlay = None;
            if let Some(chosen) = chosen {
                perform_action(state, chosen, key, out);
            }
        }
        Some(Overlay::Prompt(_)) => prompt::submit(state, out),
        Some(Overlay::Page(page)) => page.end_typing(),
        Some(
            Overlay::Log { .. } | Overlay::Form(_) | Overlay::Confirm(_) | Overlay::Judging(_) | Overlay::Tour { .. },
        )
        | None => {}
    }
}

/// Closes the palette, the log, the input line, or the search on a page.
pub(super) fn close(state: &mut AppState) {
    match &mut state.overlay {
        Some(Overlay::Palette(_) | Overlay::Log { .. }) => state.overlay = None,
        Some(Overlay::Prompt(_)) => prompt::cancel(state),
        Some(Overlay::Page(page)) => page.find = None,
        Some(Overlay::Form(_) | Overlay::Confirm(_) | Overlay::Judging(_) | Overlay::Tour { .. }) | None => {}
    }
}
