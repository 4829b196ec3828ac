//! The tour: what ergo is, on three cards. The app shows it once on each machine.

use crate::tui::{
    msg::Effect,
    state::{AppState, Overlay},
};

const CARD_COUNT: usize = 3;

pub(super) fn open(state: &mut AppState) {
    state.overlay = Some(Overlay::Tour { page: 0 });
}

/// Goes to the next card; from the last one, ends the tour.
pub(super) fn next(state: &mut AppState, out: &mut Vec<Effect>) {
    match &mut state.overlay {
        Some(Overlay::Tour { page }) if *page + 1 < CARD_COUNT => *page += 1,
        _ => end(state, out),
    }
}

/// Goes to the previous card.
pub(super) fn back(state: &mut AppState) {
    if let Some(Overlay::Tour { page }) = &mut state.overlay {
        *page = page.saturating_sub(1);
    }
}

/// Ends the tour.
pub(super) fn end(state: &mut AppState, out: &mut Vec<Effect>) {
    state.overlay = None;
    out.push(Effect::Toured);
}
