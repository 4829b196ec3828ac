//! The cursor goes to what an act made or brought back, on every screen that lists it.

use crate::{
    api::ClaimView,
    domain::{ClaimId, Status},
    tui::state::{
        State,
        inbox::ItemId,
        why::{NodeId, Section},
    },
};

/// To a claim that was written, or is in force again.
pub(super) fn claim(state: &mut State, id: ClaimId) {
    state.claims.found.leave();
    state.claims.list.seek(id);
    state.why.cursor = Some(NodeId { section: Section::Chain, id: id.0 });
}

/// To the first of these claims that is in force.
pub(super) fn claims(state: &mut State, claims: &[ClaimView]) {
    if let Some(claim) = claims.iter().find(|claim| claim.status == Status::Active) {
        self::claim(state, claim.id);
    }
}

/// To a thing of the Inbox that waits again.
pub(super) fn item(state: &mut State, item: ItemId) {
    if let ItemId::Card(card) = item {
        state.conflicts.list.seek(card);
    }
    state.inbox.sought = Some(item);
}

/// From things of the Inbox that this app settled again: they leave the lists without a word.
pub(super) fn release(state: &mut State, items: Vec<ItemId>) {
    if let Some(card) = items.iter().find_map(|item| if let ItemId::Card(card) = item { Some(*card) } else { None }) {
        state.conflicts.released = Some(card);
    }
    state.inbox.released.extend(items);
}
