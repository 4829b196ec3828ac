//! Handles the answers about one card: the card as it is now, and the refusal of an act because its target has changed.

use super::{conflicts, form, live};
use crate::{
    api::{CardSettlement, CardStatus, CardView, Stale},
    tui::{
        msg::Effect,
        state::{Acting, AppState, Tone, conflicts::Card, inbox::ItemId},
        text::writer,
    },
};

/// Handles a card that was read. If someone else settled it meanwhile, its open form says so, otherwise a message.
pub(super) fn card(state: &mut AppState, view: CardView, out: &mut Vec<Effect>) {
    let summary = view.summary.clone();
    let id = summary.id;
    if state.conflicts.wanted.is_some() && state.conflicts.wanted == state.requests.asked_card {
        // The card was requested by a prefix.
        state.conflicts.wanted = Some(id.to_hex());
        state.requests.asked_card = Some(id.to_hex());
    }
    let same = state.conflicts.card.as_ref().is_some_and(|card| card.view.summary.id == id);
    let was_elsewhere = same && state.conflicts.card.as_ref().is_some_and(|card| card.elsewhere);
    let settled = view.settled.clone();
    if summary.status == CardStatus::Settled {
        state.inbox.mark_settled(&ItemId::Card(id));
    } else {
        form::note_settlement(state, id, None);
    }
    match &mut state.conflicts.card {
        Some(card) if same => card.refresh(view),
        slot => *slot = Some(Card::new(view)),
    }
    state.conflicts.error = None;
    state.conflicts.list.update(id, |row| *row = summary);
    let elsewhere = state.conflicts.card.as_ref().is_some_and(|card| card.elsewhere);
    if let (true, false, Some(settled)) = (elsewhere, was_elsewhere, settled) {
        let own = settled.op_id.is_some_and(|op| state.own_ops.contains(&op));
        let text = format!("{}.", settled_by(&settled));
        if own {
            if let Some(card) = &mut state.conflicts.card {
                card.elsewhere = false;
            }
        } else if form::note_settlement(state, id, Some(&text)) {
            state.add_log_line(Tone::Warn, text);
        } else {
            out.push(state.toast(Tone::Warn, text));
        }
    }
    conflicts::open_wanted(state);
}

/// Returns a sentence that says who settled a card, and how.
fn settled_by(settled: &CardSettlement) -> String {
    let by = writer(&settled.who, settled.agent.as_deref());
    let reason = settled.reason.as_deref().map_or_else(String::new, |reason| format!(" ({reason})"));
    format!("Already settled by {by}: {}{reason}", settled.outcome())
}

/// Handles the refusal of an act because its target has changed. Its form stays open and says so.
pub(super) fn stale(state: &mut AppState, stale: Stale, acting: Option<&Acting>, out: &mut Vec<Effect>) {
    state.inbox.acting.clear();
    let who = stale.card.as_ref().and_then(|card| card.settled.as_ref()).map(settled_by);
    let text = format!("{}.", who.as_ref().unwrap_or(&stale.message));
    if form::stale(state, acting, &stale, text.clone()) {
        state.add_log_line(Tone::Warn, text);
    } else {
        out.push(state.toast(Tone::Warn, format!("{text} What you wrote is kept.")));
    }
    if let Some(view) = stale.card
        && let Some(card) = &mut state.conflicts.card
        && card.view.summary.id == view.summary.id
    {
        card.refresh(*view);
    }
    live::refresh_all(state);
}
