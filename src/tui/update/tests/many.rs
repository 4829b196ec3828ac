//! Tests of settling many cards at once, and of the number of keys for ten cards.

use super::*;
use crate::{
    api::{Keep, ResolvedCard, ResolvedMany},
    tui::state::form::{FormSubject, KeepSide},
};

/// Returns the preview of a request, or its result: every card is settled except those of `left`.
fn answer_to(request: &crate::api::ResolveManyRequest, left: &[u8]) -> RequestAnswer {
    let items = request.cards.iter().map(|card| {
        let settled = !left.iter().any(|n| card_id(*n).to_hex() == card.id);
        let id = (1..=60).map(card_id).find(|id| id.to_hex() == card.id).unwrap();
        let summary = if settled { "Superseded it" } else { "no side is first" };
        ResolvedCard { card: id, headline: "They disagree".into(), settled, summary: summary.into(), warnings: vec![] }
    });
    let items: Vec<ResolvedCard> = items.collect();
    RequestAnswer::Many(Box::new(ResolvedMany {
        op_id: OpId([5; 16]),
        scope: scope("api"),
        summary: format!("Settled {} cards", items.len() - left.len()),
        items,
        needs_review: vec![],
        dry_run: request.dry_run,
        replayed: false,
    }))
}

/// Returns the request among effects.
fn sent(effects: &[Effect]) -> (RequestId, crate::api::ResolveManyRequest) {
    match written(effects) {
        Some((ticket, WriteRequest::ResolveMany(request))) => (ticket, request),
        other => panic!("no act on many cards: {other:?}"),
    }
}

#[test]
fn marked_cards_are_previewed_confirmed_and_undone_as_one() {
    let mut state = cards();
    press(&mut state, "space space");
    assert_eq!((state.conflicts.marks.len(), state.conflicts.list.anchor()), (2, Some(card_id(3))));
    let (ticket, preview) = sent(&press(&mut state, "a enter"));
    assert_eq!((preview.dry_run, preview.cards.len(), preview.keep.clone()), (true, 2, Some(Keep::First)));
    step(&mut state, Msg::Reply(ticket, Ok(answer_to(&preview, &[2]))));
    let Some(Overlay::Confirm(confirm)) = &state.overlay else { panic!("no preview") };
    assert_eq!((confirm.list.len(), confirm.on_yes), (2, false), "Cancel has the focus");
    assert!(confirm.effect.contains("One card is not changed"), "{}", confirm.effect);
    for _ in 0..20 {
        state.now += 30;
        assert!(written(&step(&mut state, Msg::Key(KeyPress::parse("enter").unwrap()))).is_none());
    }
    assert!(
        matches!(state.overlay, Some(Overlay::Confirm(_))),
        "the key that led here answers nothing while it is held"
    );
    let (ticket, request) = sent(&press(&mut state, "y"));
    assert_eq!((request.dry_run, request.cards.clone()), (false, preview.cards));
    assert_ne!(request.caller.op_id, None);
    step(&mut state, Msg::Reply(ticket, Ok(answer_to(&request, &[2]))));
    assert!(toasts(&state).contains("Settled 1 cards in acme/api."), "{}", toasts(&state));
    assert_eq!(state.conflicts.marks.len(), 1, "what was left is still marked");
    let out = press(&mut state, "u");
    let Some((_, WriteRequest::Undo(request))) = written(&out) else { panic!() };
    assert_eq!(request.target_op, Some(OpId([5; 16])));
}

#[test]
fn a_range_all_and_none_are_marked() {
    let mut state = cards();
    press(&mut state, "space j V");
    assert_eq!(state.conflicts.marks.len(), 3);
    press(&mut state, "esc");
    assert!(state.conflicts.marks.is_empty());
    press(&mut state, "*");
    assert_eq!(state.conflicts.marks.len(), state.conflicts.list.known());
    press(&mut state, "*");
    assert!(state.conflicts.marks.is_empty());
}

#[test]
fn one_source_is_chosen_among_those_of_the_marked_cards() {
    let mut state = cards();
    press(&mut state, "p");
    assert!(toasts(&state).contains("no card is marked"));
    press(&mut state, "space k p");
    let Some(Overlay::Form(form)) = &state.overlay else { panic!() };
    assert_eq!(form.about, FormSubject::Many { act: CardAct::Supersede, keep: KeepSide::Chosen });
    let (_, request) = sent(&press(&mut state, "right ctrl-s"));
    assert_eq!(request.keep, Some(Keep::Writer("claude-code".into())));
}

#[test]
fn acts_that_differ_from_card_to_card_say_so() {
    let mut state = cards();
    press(&mut state, "space r");
    assert!(state.overlay.is_none());
    assert!(toasts(&state).contains("esc unmarks them"));
}

#[test]
fn a_preview_that_comes_late_takes_nothing_away() {
    let mut state = cards();
    let (ticket, preview) = sent(&press(&mut state, "space a enter"));
    press(&mut state, "esc ?");
    step(&mut state, Msg::Reply(ticket, Ok(answer_to(&preview, &[]))));
    assert!(matches!(state.overlay, Some(Overlay::Palette(_))));
    assert!(state.acting.is_none());
}

#[test]
fn where_nothing_can_be_done_nothing_is_asked() {
    let mut state = cards();
    let (ticket, preview) = sent(&press(&mut state, "space a enter"));
    step(&mut state, Msg::Reply(ticket, Ok(answer_to(&preview, &[1]))));
    assert!(state.overlay.is_none());
    assert!(toasts(&state).contains("no side is first"));
}

#[test]
fn cards_that_are_not_loaded_are_not_marked_without_a_word() {
    let mut state = cards();
    let ticket = state.ticket(Slot::Conflicts);
    state.conflicts.list.restart();
    assert!(state.conflicts.list.need().is_some());
    let items = (1..=3).map(|n| summary(n, CardStatus::Open)).collect();
    let page = crate::api::ConflictsPage { items, total: 230, next: Some("3".into()) };
    update(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Conflicts(page))));
    update(&mut state, Msg::Key(KeyPress::char('*')));
    assert_eq!(state.conflicts.marks.len(), 3);
    assert!(toasts(&state).contains("227 cards are not loaded and were not marked."), "{}", toasts(&state));
}
