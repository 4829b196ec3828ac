//! Tests of confirmations: which key presses which button.

use super::*;
use crate::{
    api::{ResolvedCard, ResolvedMany},
    tui::msg::WriteRequest,
};

/// An app with the confirmation of an act on many cards, which Enter opened.
fn asked_by_enter() -> AppState {
    let mut state = cards();
    let out = press(&mut state, "space d n o enter");
    let (ticket, WriteRequest::ResolveMany(request)) = written(&out).unwrap() else { panic!() };
    let item = ResolvedCard {
        card: card_id(1),
        headline: "x".into(),
        settled: true,
        summary: "Dismissed it".into(),
        warnings: vec![],
    };
    let preview = ResolvedMany {
        op_id: OpId([5; 16]),
        scope: scope("api"),
        summary: "Would settle 1 card".into(),
        items: vec![item],
        needs_review: vec![],
        dry_run: request.dry_run,
        replayed: false,
    };
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Many(Box::new(preview)))));
    assert!(matches!(state.overlay, Some(Overlay::Confirm(_))));
    state
}

#[test]
fn enter_presses_the_button_that_has_the_focus_whichever_key_asked() {
    let mut state = asked_by_enter();
    assert!(written(&press(&mut state, "enter")).is_none());
    assert!(state.overlay.is_none(), "Cancel has the focus first");
    let mut state = asked_by_enter();
    assert!(written(&press(&mut state, "tab enter")).is_some());
    let mut state = asked_by_enter();
    assert!(written(&press(&mut state, "tab tab enter")).is_none());
    assert!(state.overlay.is_none());
}

#[test]
fn a_letter_that_asked_says_no_yes_before_it_was_let_go() {
    let mut state = asked_by_enter();
    if let Some(Overlay::Confirm(confirm)) = &mut state.overlay {
        confirm.opener = Some(KeyPress::char('y'));
    }
    assert!(written(&press(&mut state, "y")).is_none());
    assert!(written(&press(&mut state, "tab y")).is_some());
}

#[test]
fn quitting_asks_once_before_it_discards_a_draft() {
    let quits = |out: &[Effect]| out.iter().any(|effect| matches!(effect, Effect::Quit));
    let mut state = cards();
    press(&mut state, "d esc");
    assert!(quits(&press(&mut state, "q")), "nothing was written");
    let mut state = cards();
    press(&mut state, "d x y esc");
    assert!(!quits(&press(&mut state, "q")));
    assert!(toasts(&state).contains("Quitting discards 1 draft (Dismiss): q again to quit"), "{}", toasts(&state));
    assert!(quits(&press(&mut state, "q")));
    press(&mut state, "d z esc");
    assert!(!quits(&press(&mut state, "q")), "another draft");
}
