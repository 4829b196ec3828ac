//! The tour: what ergo is, on three cards, shown once on a machine.

use crate::tui::{
    msg::Effect,
    state::{AppState, Overlay},
};

/// How many cards it has.
const CARDS: usize = 3;

/// Opens the tour.
pub(super) fn open(state: &mut AppState) {
    state.overlay = Some(Overlay::Tour { page: 0 });
}

/// Goes to the next card; from the last one, leaves.
pub(super) fn next(state: &mut AppState, out: &mut Vec<Effect>) {
    match &mut state.overlay {
        Some(Overlay::Tour { page }) if *page + 1 < CARDS => *page += 1,
        _ => end(state, out),
    }
}

/// Goes to the card before.
pub(super) fn back(state: &mut AppState) {
    if let Some(Overlay::Tour { page }) = &mut state.overlay {
        *page = page.saturating_sub(1);
    }
}

/// Leaves the tour.
pub(super) fn end(state: &mut AppState, out: &mut Vec<Effect>) {
    state.overlay = None;
    out.push(Effect::Toured);
}
