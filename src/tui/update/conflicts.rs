//! Cards: navigation, and the forms of acts on them.

use super::{claims, form_setup, inbox, many, why};
use crate::{
    api::{CardAct, CardKind, CardStatus},
    tui::{
        hits::Pane,
        key::KeyPress,
        msg::Effect,
        state::{
            AppState, Focus, Overlay, Screen,
            conflicts::{Card, CardListFilter},
            form::KeepSide,
            inbox::ItemId,
            why::Subject,
        },
    },
};

/// Opens the form of an act on the marked cards, or on the card under the cursor if none is marked.
pub(super) fn settle(state: &mut AppState, act: CardAct, keep: KeepSide, key: Option<KeyPress>, out: &mut Vec<Effect>) {
    if state.is_marked() {
        return many::open(state, act, keep, key, out);
    }
    let winner = match keep {
        KeepSide::First => Some(0),
        KeepSide::Second => state.conflicts.card.as_ref().map(|card| card.other),
        KeepSide::Both => None,
        // Only marked cards have sources to choose from.
        KeepSide::Chosen => return,
    };
    form(state, act, winner, key);
}

/// Opens the form of an act on the card under the cursor.
pub(super) fn form(state: &mut AppState, act: CardAct, winner: Option<usize>, key: Option<KeyPress>) {
    let Some(card) = state.selected_card() else { return };
    let form = form_setup::card(card, act, winner, state.now);
    let form = form_setup::with_draft(state, form, key);
    if state.is_narrow() {
        // The card of the form is shown behind it.
        state.conflicts.focus = Focus::Detail;
        state.inbox.focus = Focus::Detail;
    }
    state.overlay = Some(Overlay::Form(Box::new(form)));
}

/// Moves the cursor by a number of cards.
pub(super) fn step(state: &mut AppState, by: isize) {
    match state.screen {
        Screen::Inbox if by > 0 => inbox::next(state),
        Screen::Inbox => inbox::previous(state),
        _ => state.conflicts.list.step(by, state.hits.height(Pane::Cards)),
    }
}

/// Compares the new claim with the next of several existing ones.
pub(super) fn compare_next(state: &mut AppState) {
    if let Some(card) = &mut state.conflicts.card {
        let next = card.other % card.view.sides.len().saturating_sub(1).max(1) + 1;
        card.compare(next);
    }
}

/// Switches to the next mode of highlighting.
pub(super) fn highlight(state: &mut AppState) {
    let apart = state.selected_card().is_some_and(|card| card.diff.is_apart());
    state.conflicts.words = state.conflicts.words.next(apart);
}

/// Shows or hides the guard's evidence on a card.
pub(super) fn toggle_details(state: &mut AppState) {
    state.conflicts.details = !state.conflicts.details;
}

/// Goes to the why-chain of a stored claim of the card: the newest of a story, otherwise preferably the existing side
/// that is shown.
pub(super) fn why(state: &mut AppState) {
    let stored = |card: &Card| {
        let shown = card.b().filter(|_| card.view.summary.kind != CardKind::Story);
        let sides = shown.into_iter().chain(card.a()).chain(&card.view.sides);
        sides.into_iter().find(|side| !side.new_claim).map(|side| side.claim.id)
    };
    if let Some(id) = state.selected_card().and_then(stored) {
        why::show(state, Subject::Claim(id.to_hex()));
    }
}

/// Requests a card by id or prefix, and opens it when it arrives.
pub(super) fn request_card(state: &mut AppState, id: String) {
    let other = |card: &Card| !card.view.summary.id.to_hex().starts_with(&id);
    if state.conflicts.card.as_ref().is_some_and(other) {
        state.conflicts.card = None;
    }
    state.conflicts.wanted = Some(id);
    state.conflicts.focus = Focus::Detail;
}

/// Goes to a card in the Inbox.
pub(super) fn show(state: &mut AppState, id: String) {
    super::global::go(state, Screen::Inbox);
    request_card(state, id);
}

pub(super) fn open(state: &mut AppState) {
    if !state.conflicts.list.is_empty() {
        state.conflicts.focus = Focus::Detail;
    }
}

/// Moves the cursor to the wanted card once the card and the list have arrived: in the Inbox if the card is listed
/// there, otherwise in the list of the cards of its status.
pub(super) fn open_wanted(state: &mut AppState) {
    let Some(wanted) = &state.conflicts.wanted else { return };
    let card = state.conflicts.card.as_ref().filter(|card| card.view.summary.id.to_hex() == *wanted);
    let Some(summary) = card.map(|card| card.view.summary.clone()) else { return };
    if !state.shows(&summary.scope) {
        // The list beside the card shows the card's own scope.
        state.scope = Some(summary.scope);
        claims::rescope(state);
        return claims::follow_scope(state);
    }
    match state.screen {
        Screen::Inbox if state.inbox.view.is_none() && state.inbox.error.is_none() => return,
        Screen::Inbox if state.inbox.select(&ItemId::Card(summary.id)) => state.inbox.focus = Focus::Detail,
        Screen::Inbox => {
            state.screen = Screen::Cards;
            state.conflicts.filter = match summary.status {
                CardStatus::Open => CardListFilter::Open,
                CardStatus::Snoozed => CardListFilter::Snoozed,
                CardStatus::Settled => CardListFilter::Settled,
            };
            state.conflicts.list.restart();
            return;
        }
        Screen::Cards if !state.conflicts.list.loaded() => return,
        Screen::Cards => state.conflicts.list.insert_current(summary.clone(), state.hits.height(Pane::Cards)),
        Screen::Claims
        | Screen::Why
        | Screen::Peers
        | Screen::Timeline
        | Screen::Models
        | Screen::Agents
        | Screen::Notes => {}
    }
    state.requests.asked_card = Some(summary.id.to_hex());
    state.conflicts.wanted = None;
}
