//! Handles the answers about one card: the card as it is now, and the refusal of an act because its target has changed.

use super::{conflicts, form, live};
use crate::{
    api::{CardStatus, CardView, Stale},
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
    let before = state.conflicts.card.as_ref().filter(|card| card.view.summary.id == id);
    let same = before.is_some();
    let was_elsewhere = before.is_some_and(|card| card.elsewhere);
    let was_settled = before.is_some_and(|card| card.view.summary.status == CardStatus::Settled);
    let settled = settled_by(&view).map(|text| (view.settled.as_ref().and_then(|by| by.op_id), format!("{text}.")));
    let undone = view.settled.as_ref().is_some_and(|settled| settled.act == "undone");
    if summary.status == CardStatus::Settled {
        state.inbox.mark_settled(&ItemId::Card(id));
    } else if was_settled {
        form::note_settlement(state, id, None);
    }
    match &mut state.conflicts.card {
        Some(card) if same => card.refresh(view),
        slot => *slot = Some(Card::new(view)),
    }
    state.conflicts.card_error = None;
    state.conflicts.list.update(id, |row| *row = summary);
    let elsewhere = state.conflicts.card.as_ref().is_some_and(|card| card.elsewhere);
    if let (true, false, Some((op, text))) = (elsewhere, was_elsewhere, settled) {
        if op.is_some_and(|op| state.own_ops.contains(&op)) {
            if let Some(card) = &mut state.conflicts.card {
                card.elsewhere = false;
            }
        } else if form::note_settlement(state, id, Some(&text)) {
            state.add_log_line(Tone::Warn, text);
        } else if !(undone && state.opened(id)) {
            // The undo of what this session did has its own message.
            out.push(state.toast(Tone::Warn, text));
        }
    }
    conflicts::open_wanted(state);
}

/// Says who settled a card, and how, or why it no longer applies, without a period at the end. `None` if it is open.
fn settled_by(view: &CardView) -> Option<String> {
    if let Some(moot) = Card::moot(view) {
        return Some(moot);
    }
    let settled = view.settled.as_ref()?;
    let by = writer(&settled.who, settled.agent.as_deref());
    let reason = settled.reason.as_deref().map_or_else(String::new, |reason| format!(" ({reason})"));
    Some(format!("Already settled by {by}: {}{reason}", view.outcome().unwrap_or_default()))
}

/// Handles the refusal of an act because its target has changed. Its form stays open and says so.
pub(super) fn stale(state: &mut AppState, stale: Stale, acting: Option<&Acting>, out: &mut Vec<Effect>) {
    state.inbox.acting.clear();
    let who = stale.card.as_deref().and_then(settled_by);
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
