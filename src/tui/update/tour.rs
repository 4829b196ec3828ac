//! The tour: what ergo is, on three cards, shown once on a machine.

use crate::tui::{
    action::Action,
    msg::Effect,
    state::{Overlay, State},
};

/// How many cards it has.
const CARDS: usize = 3;

/// Turns a card, or leaves.
pub(super) fn perform(state: &mut State, id: Action, out: &mut Vec<Effect>) {
    let Some(Overlay::Tour { page }) = state.overlay else { return };
    let next = match id {
        Action::TourNext => Some(page + 1).filter(|page| *page < CARDS),
        Action::TourBack => Some(page.saturating_sub(1)),
        _ => None,
    };
    state.overlay = next.map(|page| Overlay::Tour { page });
    if state.overlay.is_none() {
        out.push(Effect::Toured);
    }
}
