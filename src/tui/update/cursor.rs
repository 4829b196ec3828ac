//! Moves the cursor to what an act created or restored, on every screen that lists it.

use crate::{
    api::ClaimView,
    domain::{ClaimId, Status},
    tui::state::{
        AppState,
        inbox::ItemId,
        why::{NodeId, Section},
    },
};

/// To a claim that was written, or is in force again.
pub(super) fn claim(state: &mut AppState, id: ClaimId) {
    state.claims.related.leave();
    state.claims.list.seek(id);
    state.why.cursor = Some(NodeId { section: Section::Chain, id: id.0 });
}

/// To the first of these claims that is in force.
pub(super) fn claims(state: &mut AppState, claims: &[ClaimView]) {
    if let Some(claim) = claims.iter().find(|claim| claim.status == Status::Active) {
        self::claim(state, claim.id);
    }
}

/// To an item of the Inbox that waits again.
pub(super) fn item(state: &mut AppState, item: ItemId) {
    if let ItemId::Card(card) = item {
        state.conflicts.list.seek(card);
    }
    state.inbox.sought = Some(item);
}

/// From items of the Inbox that this app settled again: they leave the lists without a word.
pub(super) fn release(state: &mut AppState, items: Vec<ItemId>) {
    if let Some(card) = items.iter().find_map(|item| if let ItemId::Card(card) = item { Some(*card) } else { None }) {
        state.conflicts.released = Some(card);
    }
    state.inbox.released.extend(items);
}
