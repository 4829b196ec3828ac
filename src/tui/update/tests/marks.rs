//! Tests of marked claims: an act changes the claims that its form names, and no others.

use super::*;
use crate::{
    api::{Inbox, InboxKind},
    domain::EventId,
    tui::{sample::screens::inbox, state::inbox::ItemId},
};

fn review() -> ItemId {
    ItemId::Review(id(40))
}

fn notice(n: u8) -> ItemId {
    ItemId::Notice(EventId([n; 32]))
}

fn go_to(state: &mut AppState, wanted: &ItemId) {
    press(state, "g");
    for _ in 0..30 {
        if state.inbox.anchor() == Some(wanted) {
            return;
        }
        press(state, "j");
    }
    panic!("{wanted:?} is not there");
}

/// An app in which these rows of the Inbox are marked.
fn marked(rows: &[ItemId]) -> AppState {
    let mut state = app(SIZE, Opening::default());
    for row in rows {
        go_to(&mut state, row);
        press(&mut state, "space");
    }
    state
}

#[test]
fn one_marked_claim_is_reviewed_instead_of_the_next_row() {
    let mut state = marked(&[review()]);
    go_to(&mut state, &notice(0x51));
    press(&mut state, "v");
    assert_eq!(reason(&state), "It still holds, although max via claude-code superseded a claim that it depends on.");
    let out = press(&mut state, "ctrl-s");
    let Some((ticket, WriteRequest::Reviewed(request))) = written(&out) else { panic!("{out:?}") };
    assert_eq!((request.target, request.also, request.expect_rev), (id(40).to_hex(), vec![], None));
    step(&mut state, done("Reviewed", None).to(ticket));
    assert_eq!((state.inbox.settled, state.conflicts.marks.len()), (1, 0));
    assert_eq!(state.inbox.anchor(), Some(&notice(0x51)), "that row still waits");
}

#[test]
fn a_marked_claim_under_the_cursor_is_reviewed_as_it_was_shown() {
    let mut state = marked(&[review()]);
    go_to(&mut state, &review());
    let out = press(&mut state, "v ctrl-s");
    let Some((_, WriteRequest::Reviewed(request))) = written(&out) else { panic!("{out:?}") };
    assert_eq!((request.target, request.expect_rev), (id(40).to_hex(), Some(3)));
}

#[test]
fn an_act_on_the_row_under_the_cursor_leaves_the_marked_ones_alone() {
    let mut state = marked(&[review(), notice(0x52)]);
    go_to(&mut state, &notice(0x51));
    let out = press(&mut state, "r n o ctrl-s");
    let Some((ticket, WriteRequest::Retract(request))) = written(&out) else { panic!("{out:?}") };
    assert_eq!(request.target, id(41).to_hex());
    step(&mut state, done("Retracted", None).to(ticket));
    assert_eq!((state.inbox.settled, state.conflicts.marks.len()), (1, 2));
    assert_eq!(state.inbox.released, [notice(0x51)]);
}

/// Sends a change, after which the Inbox has no claim that needs review.
fn reread(state: &mut AppState, change: Change) {
    let mut view: Inbox = inbox();
    view.groups.retain(|group| group.group != InboxKind::NeedsReview);
    let change = Change { event: "change".into(), who: "max".into(), summary: "Stored “x”".into(), ..change };
    for effect in step(state, Msg::Live(Live::Change(Box::new(change)))) {
        if let Effect::Read(ticket, ReadRequest::Inbox(_)) = effect {
            step(state, Msg::Reply(ticket, Ok(RequestAnswer::Inbox(view.clone()))));
        }
    }
}

#[test]
fn nobody_else_is_named_for_what_they_did_not_settle() {
    let mut state = marked(&[]);
    go_to(&mut state, &review());
    reread(&mut state, Change { claims: vec![id(99)], ..Change::default() });
    assert_eq!(toasts(&state), "Already settled.");
    // An item that this app settled from another screen leaves without a message.
    let mut state = marked(&[]);
    go_to(&mut state, &review());
    state.record_own_op(OpId([4; 16]));
    reread(&mut state, Change { claims: vec![id(40)], op_id: Some(OpId([4; 16])), ..Change::default() });
    assert_eq!((toasts(&state).as_str(), state.inbox.kept_item.is_none()), ("", true));
}

#[test]
fn the_cursor_stays_on_the_last_item_that_can_be_marked() {
    let mut state = app(SIZE, Opening::default());
    let ticket = state.ticket(Slot::Inbox);
    let inbox = Inbox { doubts: 14, ..crate::tui::sample::screens::three_cards() };
    let out = step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Inbox(inbox))));
    settle(&mut state, out);
    press(&mut state, "G k");
    let last = state.inbox.anchor().cloned();
    assert!(matches!(last, Some(ItemId::Card(_))), "{last:?}");
    press(&mut state, "space");
    assert_eq!((state.inbox.anchor().cloned(), state.marked_cards().len()), (last, 1));
}

#[test]
fn of_one_marked_card_only_a_side_that_can_be_kept_is_offered() {
    let mut state = cards();
    press(&mut state, "space g");
    let mut view = card(1);
    view.sides[1].claim.scope.project = "*".into();
    view.sides[1].new_claim = false;
    state.conflicts.card = Some(crate::tui::state::conflicts::Card::new(view));
    assert!(state.is_marked());
    let error = state.check(crate::tui::action::Action::KeepNew.spec()).unwrap_err();
    assert!(error.contains("belongs to acme/*"), "{error}");
    press(&mut state, "j space");
    assert_eq!(
        state.check(crate::tui::action::Action::KeepNew.spec()),
        Ok(()),
        "the preview says which can be settled"
    );
}
