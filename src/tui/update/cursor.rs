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

/// Moves the cursor to a claim that was written or is active again.
pub(super) fn claim(state: &mut AppState, id: ClaimId) {
    state.claims.related.return_to_list();
    state.claims.list.seek(id);
    state.why.place(Some(NodeId { section: Section::Chain, id: id.0 }));
}

/// Moves the cursor to the first active one of these claims.
pub(super) fn claims(state: &mut AppState, claims: &[ClaimView]) {
    if let Some(claim) = claims.iter().find(|claim| claim.status == Status::Active) {
        self::claim(state, claim.id);
    }
}

/// Moves the cursor to an item of the Inbox that waits again.
pub(super) fn item(state: &mut AppState, item: ItemId) {
    if let ItemId::Card(card) = item {
        state.conflicts.list.seek(card);
    }
    state.inbox.cursor_target = Some(item);
}

/// Releases items of the Inbox that a redo has settled again, or that the undo of what opened them has removed: they
/// leave the lists without a message.
pub(super) fn release(state: &mut AppState, items: Vec<ItemId>) {
    let anchor = state.conflicts.list.anchor();
    state.conflicts.released = anchor.filter(|card| items.contains(&ItemId::Card(*card)));
    state.inbox.released.extend(items);
}
