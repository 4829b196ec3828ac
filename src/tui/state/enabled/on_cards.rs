//! The conditions of actions on cards.

use super::{Availability, has_rows, idle};
use crate::{
    api::{CardAct, CardKind, CardStatus, InboxItem, MAX_CARDS},
    tui::state::{AppState, Overlay, Screen, conflicts::Card, inbox::InboxRow},
};

/// Returns the card under the cursor.
pub(super) fn loaded_card(state: &AppState) -> Result<&Card, String> {
    let none = match state.screen {
        Screen::Inbox => state.inbox.card().is_none(),
        Screen::Cards => state.conflicts.list.loaded() && state.conflicts.list.is_empty(),
        _ => return Err("this screen has no cards".to_owned()),
    };
    if none {
        return Err("no card is under the cursor".to_owned());
    }
    state.selected_card().ok_or_else(|| "the card is still loading".to_owned())
}

/// Returns the card under the cursor, if an act on it can be sent now.
fn card(state: &AppState) -> Result<&Card, String> {
    let card = loaded_card(state)?;
    idle(state)?;
    Ok(card)
}

pub(super) fn act(state: &AppState, act: CardAct) -> Availability {
    card(state)?.can(act)
}

/// Checks an act on all marked cards. The daemon decides what the act does to each card, and a preview shows it first.
pub(super) fn cards_marked(state: &AppState) -> Availability {
    match state.marked_cards().len() {
        0 => Err(state.keys.say("no card is marked ({mark} marks one)")),
        n if n > MAX_CARDS => Err(format!("{n} cards are marked; at most {MAX_CARDS} are settled at once")),
        _ => idle(state),
    }
}

/// Checks an act on the marked cards or, if none is marked, on the card under the cursor.
fn act_on_one_or_marked(state: &AppState, act: CardAct) -> Availability {
    if state.is_marked() { cards_marked(state) } else { self::act(state, act) }
}

/// Checks an act that is possible on one card only.
fn act_on_one(state: &AppState, act: CardAct) -> Availability {
    if !state.is_marked() {
        return self::act(state, act);
    }
    let how = match state.inbox.current() {
        Some(InboxRow::Import(..)) if state.conflicts.marks.is_empty() => "and here are several: choose one of them",
        _ => "but several are marked: {back} unmarks them",
    };
    Err(state.keys.say(&format!("this acts on one card, {how}")))
}

/// The item under the cursor can be marked, to be settled with others by one act.
pub(super) fn markable(state: &AppState) -> Availability {
    if state.screen == Screen::Cards {
        return cards_listed(state);
    }
    match state.inbox.current() {
        Some(
            InboxRow::Import(..) | InboxRow::Item(_, InboxItem::Card(_) | InboxItem::Review(_) | InboxItem::Notice(_)),
        ) => Ok(()),
        Some(InboxRow::Item(_, InboxItem::Quarantined(_) | InboxItem::Joining(_))) => {
            Err("join requests and quarantined events are answered one by one".to_owned())
        }
        Some(
            InboxRow::Heading(..)
            | InboxRow::Before(..)
            | InboxRow::More(..)
            | InboxRow::Pairs(_)
            | InboxRow::Promotions(_),
        )
        | None => Err("there is nothing to mark".to_owned()),
    }
}

/// The form with the question about a held write is open.
pub(super) fn held_form_open(state: &AppState) -> Availability {
    match &state.overlay {
        Some(Overlay::Form(form)) if form.withdraws.is_some() => idle(state),
        _ => Err("both claims are stored already".to_owned()),
    }
}

/// Pairs wait for a verdict, or a held write is under the cursor.
pub(super) fn judgeable(state: &AppState) -> Availability {
    let pairs = state.inbox.view.as_ref().map_or(0, |view| view.doubts);
    if pairs > 0 { idle(state) } else { held_card(state) }
}

/// A pair is shown, or the form of a held write.
pub(super) fn verdict_askable(state: &AppState) -> Availability {
    match &state.overlay {
        Some(Overlay::Judging(judging)) if judging.current().is_none() => Err("there is no pair to judge".to_owned()),
        _ => Ok(()),
    }
}

/// A verdict was given in the judging dialog.
pub(super) fn verdict_given(state: &AppState) -> Availability {
    match &state.overlay {
        Some(Overlay::Judging(judging)) if judging.can_take_back() => idle(state),
        _ => Err("no verdict was given here yet".to_owned()),
    }
}

/// A held write that waits for an answer is under the cursor.
fn held_card(state: &AppState) -> Availability {
    let under = match state.screen {
        Screen::Inbox => match state.inbox.item() {
            Some(InboxItem::Card(card)) => Some(&**card),
            _ => None,
        },
        Screen::Cards => state.conflicts.list.current(),
        _ => None,
    };
    match under {
        Some(card) if card.kind == CardKind::Held && card.status != CardStatus::Settled => idle(state),
        _ => Err("there is nothing to judge here".to_owned()),
    }
}

/// The guard has evidence for the card under the cursor.
pub(super) fn card_details(state: &AppState) -> Availability {
    let card = loaded_card(state)?;
    card.evidence().map(|_| ()).ok_or_else(|| "the guard has no evidence for this card".to_owned())
}

pub(super) fn keep_new(state: &AppState) -> Availability {
    keep(state, |_| 0)
}

pub(super) fn keep_existing(state: &AppState) -> Availability {
    keep(state, |card| card.other)
}

/// Checks whether a side can be kept. Of several marked cards, the preview says which can be settled so.
fn keep(state: &AppState, side: impl Fn(&Card) -> usize) -> Availability {
    let marked = state.marked_cards();
    match (marked.as_slice(), loaded_card(state)) {
        ([], _) => act(state, CardAct::Supersede)?,
        ([only], Ok(card)) if only.id == card.view.summary.id => cards_marked(state)?,
        _ => return cards_marked(state),
    }
    let card = card(state)?;
    card.view.can_act_on(CardAct::Supersede, side(card))
}

pub(super) fn merge(state: &AppState) -> Availability {
    act_on_one(state, CardAct::Supersede)?;
    card(state)?.view.can_merge()
}

pub(super) fn retract_side(state: &AppState) -> Availability {
    act_on_one(state, CardAct::Retract)
}

pub(super) fn narrow(state: &AppState) -> Availability {
    act_on_one(state, CardAct::Narrow)
}

pub(super) fn exception(state: &AppState) -> Availability {
    act_on_one_or_marked(state, CardAct::Exception)
}

pub(super) fn dismiss(state: &AppState) -> Availability {
    act_on_one_or_marked(state, CardAct::Dismiss)
}

pub(super) fn discard(state: &AppState) -> Availability {
    act_on_one_or_marked(state, CardAct::Discard)
}

pub(super) fn answer_yes(state: &AppState) -> Availability {
    act_on_one(state, CardAct::Yes)
}

pub(super) fn answer_no(state: &AppState) -> Availability {
    act_on_one(state, CardAct::No)
}

pub(super) fn snooze(state: &AppState) -> Availability {
    act_on_one_or_marked(state, CardAct::Snooze)
}

/// Cards are listed.
pub(super) fn cards_listed(state: &AppState) -> Availability {
    let none = match state.screen {
        Screen::Inbox => !has_rows(state),
        _ => state.conflicts.list.is_empty(),
    };
    if none { Err("no card is listed".to_owned()) } else { Ok(()) }
}
