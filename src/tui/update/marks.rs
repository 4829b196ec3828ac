//! Marking items for one act, and the status filter of the Inbox.

use crate::{
    api::{CardStatus, InboxItem},
    domain::text,
    tui::{
        hits::Pane,
        msg::Effect,
        state::{
            AppState, Screen, Tone,
            conflicts::CardListFilter,
            inbox::{InboxRow, ItemId, id_of},
        },
    },
};

/// Switches from the Inbox to the snoozed, the settled and all cards, and back.
pub(super) fn filter(state: &mut AppState) {
    let before = if state.screen == Screen::Inbox { CardListFilter::Open } else { state.conflicts.filter };
    if let Some(next) = before.next() {
        state.screen = Screen::Cards;
        state.conflicts.filter = next;
        state.conflicts.list.restart();
    } else {
        state.screen = Screen::Inbox;
    }
    state.conflicts.marks.clear();
}

/// Marks or unmarks the item under the cursor, and goes to the next row.
pub(super) fn toggle(state: &mut AppState) {
    if state.screen == Screen::Inbox {
        let items = state.inbox.selectable_rows().get(state.inbox.cursor()).map(|row| state.inbox.items(row));
        toggle_items(state, &items.unwrap_or_default());
        // Behind the last item that can be marked, the keys that act on the marked ones have no effect.
        let next = state.inbox.selectable_rows().get(state.inbox.cursor() + 1).copied();
        if matches!(next, Some(InboxRow::Pairs(_) | InboxRow::Promotions(_))) {
            return;
        }
        return super::inbox::next(state);
    }
    let height = state.hits.height(Pane::Cards);
    let screen = &mut state.conflicts;
    if let Some(card) = screen.list.current() {
        screen.marks.toggle(card);
    }
    screen.list.step(1, height);
}

/// Marks all items from the one that was marked last to the one under the cursor.
pub(super) fn range(state: &mut AppState, out: &mut Vec<Effect>) {
    if state.screen == Screen::Inbox {
        let (selectable_rows, here) = (state.inbox.selectable_rows(), state.inbox.cursor());
        let marks = &mut state.conflicts.marks;
        let last = selectable_rows
            .iter()
            .position(|row| state.inbox.items(row).iter().any(|item| Some(&id_of(item)) == marks.last()));
        let from = last.unwrap_or(here);
        let range = selectable_rows.get(from.min(here)..=from.max(here)).unwrap_or_default();
        range.iter().flat_map(|row| state.inbox.items(row)).for_each(|item| marks.add_item(&item));
        return;
    }
    let screen = &mut state.conflicts;
    let here = screen.list.cursor();
    let last = (0..screen.list.known())
        .find(|index| screen.list.get(*index).is_some_and(|card| screen.marks.last() == Some(&ItemId::Card(card.id))));
    let from = last.unwrap_or(here);
    let mut missing = 0;
    for index in from.min(here)..=from.max(here) {
        match screen.list.get(index) {
            Some(card) => screen.marks.add(card),
            None => missing += 1,
        }
    }
    report_unmarked(state, missing, out);
}

/// Shows how many cards were not marked, because they are not in memory.
fn report_unmarked(state: &mut AppState, count: usize, out: &mut Vec<Effect>) {
    if count > 0 {
        let cards = text::count(count, "card is not loaded and was", "cards are not loaded and were");
        out.push(state.toast(Tone::Warn, format!("{cards} not marked. Scroll to them to load them.")));
    }
}

/// Marks everything listed in the group under the cursor, or unmarks it if everything is marked.
pub(super) fn group(state: &mut AppState, out: &mut Vec<Effect>) {
    if state.screen == Screen::Inbox {
        let kind = state.inbox.kind();
        let selectable_rows = state.inbox.selectable_rows();
        let group = selectable_rows.iter().filter(|row| match row {
            InboxRow::Item(own, _) | InboxRow::Import(own, _) => Some(*own) == kind,
            InboxRow::Heading(..)
            | InboxRow::Before(..)
            | InboxRow::More(..)
            | InboxRow::Pairs(_)
            | InboxRow::Promotions(_) => false,
        });
        let items: Vec<InboxItem> = group.flat_map(|row| state.inbox.items(row)).collect();
        return toggle_items(state, &items);
    }
    let screen = &mut state.conflicts;
    let listed: Vec<_> = (0..screen.list.known()).filter_map(|index| screen.list.get(index)).collect();
    if listed.iter().all(|card| screen.marks.contains(card.id)) {
        screen.marks.clear();
    } else {
        let missing = screen.list.total().saturating_sub(listed.len());
        let open = listed.into_iter().filter(|card| card.status != CardStatus::Settled);
        open.for_each(|card| screen.marks.add(card));
        report_unmarked(state, missing, out);
    }
}

fn toggle_items(state: &mut AppState, items: &[InboxItem]) {
    let marks = &mut state.conflicts.marks;
    if items.iter().all(|item| marks.has(item)) {
        for item in items {
            marks.remove_item(item);
        }
    } else {
        for item in items {
            marks.add_item(item);
        }
    }
}
