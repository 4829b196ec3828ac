//! Marking what one act is to settle, and which cards the Inbox lists.

use crate::{
    api::{CardStatus, InboxItem},
    tui::{
        action::Action,
        hits::Pane,
        state::{
            Screen, State,
            conflicts::CardFilter,
            inbox::{Row, id_of},
        },
    },
};

/// Marks, or filters.
pub(super) fn perform(state: &mut State, id: Action) {
    match (id, state.screen) {
        (Action::CardFilter, _) => filter(state),
        (_, Screen::Inbox) => in_inbox(state, id),
        _ => in_list(state, id),
    }
}

/// From what waits to what is snoozed, to what is settled, to all cards, and back.
fn filter(state: &mut State) {
    let before = if state.screen == Screen::Inbox { CardFilter::Open } else { state.conflicts.filter };
    if let Some(next) = before.next() {
        state.screen = Screen::Cards;
        state.conflicts.filter = next;
        state.conflicts.list.restart();
    } else {
        state.screen = Screen::Inbox;
    }
    state.conflicts.marks.clear();
}

/// Cards of a status.
fn in_list(state: &mut State, id: Action) {
    let height = state.hits.height(Pane::Cards);
    let screen = &mut state.conflicts;
    match id {
        Action::Mark => {
            if let Some(card) = screen.list.current() {
                screen.marks.toggle(card);
            }
            screen.list.step(1, height);
        }
        Action::MarkRange => {
            let here = screen.list.cursor();
            let last = (0..screen.list.known()).find(|index| {
                let row = screen.list.get(*index).map(|card| InboxItem::Card(Box::new(card.clone())));
                row.as_ref().map(id_of).as_ref() == screen.marks.last() && row.is_some()
            });
            let from = last.unwrap_or(here);
            for index in from.min(here)..=from.max(here) {
                if let Some(card) = screen.list.get(index) {
                    screen.marks.add(card);
                }
            }
        }
        Action::MarkAll => {
            let listed: Vec<_> = (0..screen.list.known()).filter_map(|index| screen.list.get(index)).collect();
            if listed.iter().all(|card| screen.marks.contains(card.id)) {
                screen.marks.clear();
            } else {
                let open = listed.into_iter().filter(|card| card.status != CardStatus::Settled);
                open.for_each(|card| screen.marks.add(card));
            }
        }
        _ => {}
    }
}

/// Everything that waits.
fn in_inbox(state: &mut State, id: Action) {
    let stops = state.inbox.stops();
    let here = state.inbox.cursor();
    let marks = &mut state.conflicts.marks;
    let things: Vec<InboxItem> = match id {
        Action::Mark => stops.get(here).map(|row| state.inbox.things(row)).unwrap_or_default(),
        Action::MarkRange => {
            let last = stops.iter().position(|row| match row {
                Row::Item(_, item) => Some(&id_of(item)) == marks.last(),
                Row::Import(..) => state.inbox.things(row).iter().any(|item| Some(&id_of(item)) == marks.last()),
                Row::Heading(..) | Row::Before(..) | Row::More(..) => false,
            });
            let from = last.unwrap_or(here);
            let range = stops.get(from.min(here)..=from.max(here)).unwrap_or_default();
            range.iter().flat_map(|row| state.inbox.things(row)).collect()
        }
        Action::MarkAll => {
            let kind = state.inbox.kind();
            let group = stops.iter().filter(|row| match row {
                Row::Item(own, _) | Row::Import(own, _) => Some(*own) == kind,
                Row::Heading(..) | Row::Before(..) | Row::More(..) => false,
            });
            group.flat_map(|row| state.inbox.things(row)).collect()
        }
        _ => return,
    };
    let all = things.iter().all(|item| marks.has(item));
    for item in &things {
        if all && id != Action::MarkRange {
            marks.remove_item(item);
        } else {
            marks.add_item(item);
        }
    }
    if id == Action::Mark {
        super::inbox::next(state);
    }
}
