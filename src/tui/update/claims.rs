//! The Claims screen, and acts on the claim under the cursor on Claims and Why.

use super::{form_setup, motion::Motion, why};
use crate::{
    domain::ClaimKind,
    tui::{
        drift,
        key::KeyPress,
        msg::{Effect, Slot},
        state::{
            AppState, Overlay, Tone,
            claims::{ClaimsFocus, tree},
            form::{ClaimAct, FieldId},
            search_line::{AGES, VerdictChoice},
            why::Subject,
        },
    },
};

/// Returns the element after `here`: the first one if `here` is not among them, `None` after the last one.
pub(super) fn next_after<T: Copy + PartialEq>(all: &[T], here: Option<T>) -> Option<T> {
    let next = all.iter().position(|own| Some(*own) == here).map_or(0, |at| at + 1);
    all.get(next).copied()
}

/// Lists claims of the next status.
pub(super) fn filter_status(state: &mut AppState) {
    state.claims.status = state.claims.status.next();
    restart(state);
}

/// Lists claims of the next kind.
pub(super) fn filter_kind(state: &mut AppState) {
    state.claims.kind = next_after(&ClaimKind::ALL, state.claims.kind);
    restart(state);
}

/// Switches between claims that need review and all claims.
pub(super) fn filter_review(state: &mut AppState) {
    state.claims.needs_review = !state.claims.needs_review;
    restart(state);
}

/// Lists claims of the next age.
pub(super) fn filter_age(state: &mut AppState) {
    state.claims.days = next_after(&AGES, state.claims.days);
    restart(state);
}

/// Lists only claims by the author of the claim under the cursor, or the claims of all authors again.
pub(super) fn filter_author(state: &mut AppState) {
    state.claims.who = match state.claims.who {
        Some(_) => None,
        None => state.selected_claim().map(|claim| claim.agent.clone().unwrap_or_else(|| claim.who.clone())),
    };
    restart(state);
}

/// Lists only claims from the source file of the claim under the cursor, or from all sources again.
pub(super) fn filter_source(state: &mut AppState) {
    state.claims.source = match state.claims.source {
        Some(_) => None,
        None => state.selected_claim().and_then(|claim| claim.source.as_deref().map(file_of)),
    };
    restart(state);
}

/// Lists claims of the next guard result.
pub(super) fn filter_verdict(state: &mut AppState) {
    state.claims.verdict = next_after(&VerdictChoice::ALL, state.claims.verdict);
    restart(state);
}

/// Sorts by the next order.
pub(super) fn sort(state: &mut AppState, out: &mut Vec<Effect>) {
    state.claims.order = state.claims.order.next();
    restart(state);
    let by = state.claims.order.as_str().map_or("newest first".to_owned(), |order| format!("by {order}"));
    out.push(state.toast(Tone::Info, format!("Claims are sorted {by}.")));
}

/// Lists all active claims again.
pub(super) fn clear_filters(state: &mut AppState) {
    state.claims.clear_filters();
    restart(state);
}

/// Goes to the why-chain of the claim under the cursor.
pub(super) fn why(state: &mut AppState) {
    if let Some(id) = state.selected_claim().map(|claim| claim.id) {
        why::show(state, Subject::Claim(id.to_hex()));
    }
}

/// Returns a source without its line number.
fn file_of(source: &str) -> String {
    drift::named(source).map_or_else(|| source.to_owned(), |(path, _)| path.to_owned())
}

/// Opens the form of an act on the claim under the cursor, or on the marked ones.
pub(super) fn form(state: &mut AppState, act: ClaimAct, key: Option<KeyPress>) {
    let marked = if act == ClaimAct::Reviewed { state.marked_claims() } else { Vec::new() };
    let mut form = match (marked.split_first(), state.selected_claim()) {
        // The only marked claim is the one under the cursor, so its revision is known.
        (Some((first, [])), Some(claim)) if first.id == claim.id => form_setup::claim(claim, act, state.now),
        (Some((first, rest)), _) => form_setup::reviewed(first, rest),
        (_, Some(claim)) => form_setup::claim(claim, act, state.now),
        (_, None) => return,
    };
    if act == ClaimAct::Reviewed
        && let Some(reason) = super::inbox::prefilled_reason(state)
    {
        form.prefill(FieldId::Reason, &reason);
    }
    let form = form_setup::with_draft(state, form, key);
    state.overlay = Some(Overlay::Form(Box::new(form)));
}

/// Reads the list again, since its query has changed.
pub(super) fn restart(state: &mut AppState) {
    state.claims.list.restart();
    state.claims.scroll = 0;
    state.claims.related.return_to_list();
}

/// Moves the cursor in the list and in the related claims below it.
pub(super) fn move_cursor(state: &mut AppState, motion: Motion, height: usize) {
    let claims = &mut state.claims;
    let before = claims.current().map(|claim| claim.id);
    let (list, found) = (&mut claims.list, &mut claims.related);
    let (known, near) = (list.known(), found.near().len());
    match (found.row(), motion) {
        (None, Motion::By(rows)) => {
            let beyond = list.cursor().saturating_add_signed(rows).checked_sub(known);
            match beyond.filter(|_| near > 0) {
                Some(beyond) => found.place(beyond),
                None => list.step(rows, height),
            }
        }
        (Some(row), Motion::By(rows)) => match row.checked_add_signed(rows) {
            Some(row) => found.place(row),
            None if known > 0 => {
                found.return_to_list();
                list.place((known + row).saturating_add_signed(rows), height);
            }
            None => found.place(0),
        },
        (_, Motion::First) if known > 0 => {
            found.return_to_list();
            list.home(height);
        }
        (_, Motion::First) => found.place(0),
        (_, Motion::Last) if near > 0 => found.place(near - 1),
        (_, Motion::Last) => list.end(height),
    }
    if claims.current().map(|claim| claim.id) != before {
        claims.scroll = 0;
    }
}

/// Puts the cursor on a row. The related claims are numbered on after the rows of the list.
pub(super) fn place(state: &mut AppState, row: usize, height: usize) {
    let claims = &mut state.claims;
    if let Some(near) = row.checked_sub(claims.list.known()) {
        claims.related.place(near);
    } else {
        claims.related.return_to_list();
        claims.list.place(row, height);
    }
    claims.scroll = 0;
}

/// Reads every list again, since another scope is shown.
pub(super) fn rescope(state: &mut AppState) {
    restart(state);
    state.agents.clear_list();
    state.requests.agents = true;
    state.notes.forget_insights();
    state.models.files = None;
    // No key may act on a related claim, a card or a mark of the previous scope, so these are removed, and answers that
    // are still to come are ignored.
    state.claims.related.clear();
    state.conflicts.list.clear();
    state.conflicts.marks.clear();
    state.conflicts.card = None;
    state.requests.asked_card = None;
    state.timeline.list.restart();
    state.inbox.reset();
    state.requests.inbox = true;
    for slot in [
        Slot::Found,
        Slot::Card,
        Slot::Inbox,
        Slot::InboxPage,
        Slot::Agents,
        Slot::AgentActs,
        Slot::Ingested,
        Slot::Insights,
    ] {
        state.cancel_request(slot);
    }
}

/// Opens what is under the cursor.
pub(super) fn open(state: &mut AppState) {
    match state.claims.focus {
        ClaimsFocus::Scopes => state.claims.focus = ClaimsFocus::List,
        ClaimsFocus::List | ClaimsFocus::Detail => why(state),
    }
}

/// Moves the cursor in the scope tree. The lists follow.
pub(super) fn move_in_tree(state: &mut AppState, motion: Motion) {
    let last = tree(&state.scopes).len() - 1;
    pick_tree_row(state, motion.apply(state.claims.scope_row, last));
}

/// Chooses a row of the scope tree.
pub(super) fn pick_tree_row(state: &mut AppState, row: usize) {
    let rows = tree(&state.scopes);
    let scope = rows.get(row).and_then(|row| row.scope()).cloned();
    state.claims.scope_row = row.min(rows.len() - 1);
    if scope != state.scope {
        state.scope = scope;
        rescope(state);
    }
}

/// Puts the cursor of the scope tree on the scope that the lists are limited to.
pub(super) fn follow_scope(state: &mut AppState) {
    let rows = tree(&state.scopes);
    let here = rows.get(state.claims.scope_row).and_then(|row| row.scope());
    if here == state.scope.as_ref() && state.claims.scope_row < rows.len() {
        return;
    }
    let row = match &state.scope {
        None => Some(0),
        Some(scope) => rows.iter().position(|row| row.scope() == Some(scope)),
    };
    state.claims.scope_row = row.unwrap_or(0);
}
