//! Tests that the cursor goes to what was restored or written.

use super::*;
use crate::{
    api::Stored,
    tui::{sample::claim, state::Tone},
};

#[test]
fn the_card_that_an_undo_brings_back_is_under_the_cursor() {
    for screen in [Screen::Inbox, Screen::Cards] {
        let mut state = app(SIZE, Opening { screen: Some(screen), ..Opening::default() });
        if screen == Screen::Inbox {
            press(&mut state, "j");
        }
        let held = state.selected_card().unwrap().view.summary.id;
        let out = press(&mut state, "d n o enter");
        let (ticket, _) = written(&out).unwrap();
        let out = step(&mut state, done("Dismissed it", Some(1)).to(ticket));
        settle(&mut state, out);
        assert_ne!(state.selected_card().map(|card| card.view.summary.id), Some(held), "it goes on");
        let out = press(&mut state, "u");
        let (ticket, _) = written(&out).unwrap();
        let undone = UndoOutcome {
            undone: OpId([9; 16]),
            op_id: OpId([8; 16]),
            summary: "Undid: it".into(),
            redo: false,
            claims: vec![],
        };
        let out = step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Undone(Box::new(undone)))));
        settle(&mut state, out);
        assert_eq!(state.selected_card().map(|card| card.view.summary.id), Some(held), "{screen:?}");
    }
}

#[test]
fn what_was_written_in_place_of_a_claim_is_under_the_cursor() {
    let mut state = app(SIZE, Opening { screen: Some(Screen::Claims), ..Opening::default() });
    let out = press(&mut state, "j j e x tab w h y enter");
    let (ticket, _) = written(&out).unwrap();
    let stored = Stored {
        claim_id: id(14),
        op_id: OpId([9; 16]),
        scope: scope("api"),
        duplicate: false,
        replayed: false,
        dry_run: false,
        superseded: vec![],
        warnings: vec![],
        doubts: Vec::new(),
    };
    let out = step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Outcome(Box::new(WriteOutcome::Stored(stored))))));
    settle(&mut state, out);
    assert_eq!(state.claims.list.anchor(), Some(id(14)));
    press(&mut state, "k");
    step(&mut state, Msg::Woken);
    assert_ne!(state.claims.list.anchor(), Some(id(14)), "a key moves it on");
    assert!(state.toasts.iter().any(|toast| toast.tone == Tone::Done));
}

#[test]
fn a_claim_that_was_brought_back_is_under_the_cursor() {
    let mut state = app(SIZE, Opening { screen: Some(Screen::Claims), ..Opening::default() });
    state.record_act(crate::tui::state::SessionAct {
        op: OpId([9; 16]),
        scope: scope("api"),
        summary: "Retracted".into(),
        about: Vec::new(),
        opens: false,
        settled: 0,
    });
    let (ticket, _) = written(&press(&mut state, "u")).unwrap();
    let undone = UndoOutcome {
        undone: OpId([9; 16]),
        op_id: OpId([8; 16]),
        summary: "Undid: it".into(),
        redo: false,
        claims: vec![claim(13, "Errors end with what to do next")],
    };
    let out = step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Undone(Box::new(undone)))));
    settle(&mut state, out);
    assert_eq!(state.claims.list.anchor(), Some(id(13)));
}
