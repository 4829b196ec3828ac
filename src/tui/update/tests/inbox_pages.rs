//! Tests of a long group of the Inbox, which is read page by page.

use super::{
    inbox::{change, opened},
    *,
};
use crate::{
    api::{Inbox, InboxItem, InboxKind},
    tui::{
        sample::screens::after_import,
        state::inbox::{InboxRow, InboxState, ItemId},
    },
};

/// A long group of `total` reviews, from row `from`, in pages of fifty.
fn long_group(total: usize, from: usize) -> Inbox {
    let item = |n: usize| {
        let mut claim = crate::tui::sample::claim(1, &format!("claim {n}"));
        claim.id.0[..8].copy_from_slice(&(n as u64 + 1).to_be_bytes());
        InboxItem::Review(Box::new(crate::api::ReviewItem { claim, causes: vec![] }))
    };
    let end = (from + 50).min(total);
    let items = (from..end).map(item).collect();
    let next = (end < total).then(|| end.to_string());
    let group = crate::api::InboxGroup { group: InboxKind::NeedsReview, total, at_least: false, items, next };
    Inbox { groups: vec![group], total, ..Inbox::default() }
}

/// Answers reads of the Inbox from a long group.
fn serve(state: &mut AppState, effects: Vec<Effect>, total: usize) {
    let mut queue = effects;
    while let Some(effect) = queue.pop() {
        if let Effect::Read(ticket, ReadRequest::Inbox(query)) = effect {
            let from = query.cursor.as_ref().map_or(0, |cursor| cursor.parse().unwrap());
            assert_eq!(query.limit, Some(50), "a page, whatever there is");
            queue.extend(step(state, Msg::Reply(ticket, Ok(RequestAnswer::Inbox(long_group(total, from))))));
        }
    }
}

/// Presses keys. The returned requests are still to be answered.
fn keys(state: &mut AppState, keys: &str) -> Vec<Effect> {
    let mut out = Vec::new();
    for key in keys.split(' ') {
        state.now += 500;
        out.extend(step(state, Msg::Key(KeyPress::parse(key).unwrap())));
    }
    out
}

fn under(state: &AppState) -> String {
    state.inbox.claim().map_or_else(|| format!("{:?}", state.inbox.anchor()), |claim| claim.statement.clone())
}

#[test]
fn a_long_group_is_turned_page_by_page_and_never_held_whole() {
    let total = 100_000;
    let mut state = opened();
    let out = step(&mut state, Msg::Live(Live::Change(Box::new(change("max", "x")))));
    serve(&mut state, out, total);
    press(&mut state, "G");
    assert_eq!(state.inbox.anchor(), Some(&ItemId::More(InboxKind::NeedsReview)));
    let out = keys(&mut state, "enter");
    serve(&mut state, out, total);
    assert_eq!(under(&state), "claim 50");
    press(&mut state, "G k");
    assert_eq!(under(&state), "claim 99");
    let out = keys(&mut state, "n n n");
    serve(&mut state, out, total);
    assert_eq!(under(&state), "claim 100", "next goes on to the next page by itself");
    assert!(state.inbox.rows().count() <= 53, "{}", state.inbox.rows().count());
    let rest = state.inbox.rows().find_map(|row| if let InboxRow::More(_, rest) = row { Some(rest) } else { None });
    assert_eq!(rest, Some(total - 150));
    // After a change the shown page is read again, and the cursor stays.
    press(&mut state, "j");
    let out = step(&mut state, Msg::Live(Live::Change(Box::new(change("max", "x")))));
    serve(&mut state, out, total);
    assert_eq!(under(&state), "claim 101");
    press(&mut state, "g");
    assert_eq!(state.inbox.anchor(), Some(&ItemId::Before(InboxKind::NeedsReview)));
    let out = keys(&mut state, "enter");
    serve(&mut state, out, total);
    assert_eq!(under(&state), "claim 99");
    let out = keys(&mut state, "g enter");
    serve(&mut state, out, total);
    assert_eq!(under(&state), "claim 49");
    // If a page becomes empty, the previous one is shown.
    let out = keys(&mut state, "G enter");
    serve(&mut state, out, total);
    assert_eq!(under(&state), "claim 50");
    let out = step(&mut state, Msg::Live(Live::Change(Box::new(change("max", "x")))));
    serve(&mut state, out, 50);
    assert!(state.inbox.window.is_none());
    assert_eq!(state.inbox.rows().count(), 51, "fifty and their heading");
}

#[test]
fn a_key_pressed_twice_turns_back_one_page() {
    let total = 1_000;
    let mut state = opened();
    let out = step(&mut state, Msg::Live(Live::Change(Box::new(change("max", "x")))));
    serve(&mut state, out, total);
    for _ in 0..3 {
        let out = keys(&mut state, "G enter");
        serve(&mut state, out, total);
    }
    assert_eq!(under(&state), "claim 150");
    state.toasts.clear();
    let out = keys(&mut state, "g enter enter");
    serve(&mut state, out, total);
    assert_eq!((under(&state).as_str(), toasts(&state).as_str()), ("claim 149", ""));
}

#[test]
fn what_newer_items_push_off_the_page_is_not_called_settled() {
    let mut state = opened();
    state.inbox = InboxState::default();
    state.inbox.accept(long_group(100, 0));
    assert_eq!(under(&state), "claim 0");
    // One more came in front: of a hundred and one, fifty are listed.
    let lost = state.inbox.accept(long_group(101, 1));
    assert!(lost.is_none() && !state.inbox.is_on_settled());
    assert_eq!((under(&state).as_str(), state.inbox.cursor()), ("claim 0", 50), "it is listed after the others");
    let mut whole = long_group(10, 0);
    state.inbox = InboxState::default();
    state.inbox.accept(whole.clone());
    (whole.groups[0].total, whole.total) = (9, 9);
    whole.groups[0].items.remove(0);
    assert!(state.inbox.accept(whole).is_some() && state.inbox.is_on_settled(), "all are listed, and it is not");
}

#[test]
fn an_item_that_joins_an_import_is_not_called_settled() {
    let mut state = opened();
    state.inbox = InboxState::default();
    let mut first = after_import();
    for group in &mut first.groups {
        group.items.retain(|item| matches!(item, InboxItem::Card(card) if card.id == card_id(3)));
        group.total = group.items.len();
    }
    state.inbox.accept(first);
    assert_eq!(state.inbox.card(), Some(card_id(3)));
    assert!(state.inbox.accept(after_import()).is_none());
    assert!(matches!(state.inbox.current(), Some(InboxRow::Import(InboxKind::Refused, _))));
}
