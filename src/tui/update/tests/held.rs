//! Tests of the question about a held write.

use super::*;
use crate::{
    api::{CardKind, Inbox, InboxGroup, InboxItem, InboxKind, JudgeRequest, Refused, Stored},
    domain::PairVerdict,
    tui::sample::screens,
};

fn form(state: &AppState) -> &crate::tui::state::ActForm {
    match &state.overlay {
        Some(Overlay::Form(form)) => form,
        other => panic!("no form: {other:?}"),
    }
}

fn judged(effects: &[Effect]) -> (RequestId, JudgeRequest) {
    match written(effects) {
        Some((ticket, WriteRequest::Judge(request))) => (ticket, *request),
        other => panic!("nothing is judged: {other:?}"),
    }
}

/// An app in which a new claim was just written and is held.
fn asked() -> AppState {
    let mut state = app(SIZE, Opening { scope: Some(scope("api")), ..Opening::default() });
    press(&mut state, "+");
    let out = press(&mut state, "a tab b ctrl-s");
    let Some((ticket, WriteRequest::Remember(request))) = written(&out) else { panic!("{out:?}") };
    assert!(request.consider, "a person is there to answer");
    let out = step(&mut state, OutcomeReply(WriteOutcome::Consider(screens::consider())).to(ticket));
    settle(&mut state, out);
    state
}

#[test]
fn a_key_a_claim_and_the_reason_of_the_write_answer_the_question() {
    let mut state = asked();
    assert_eq!(form(&state).fields[0].label, "");
    assert!(form(&state).asks_verdict());
    press(&mut state, "k r");
    assert!(!form(&state).asks_verdict(), "the optional one is not asked about");
    let (ticket, request) = judged(&press(&mut state, "ctrl-s"));
    let pair = |n: u8, verdict| (id(n).to_hex(), verdict);
    let expected = [pair(80, PairVerdict::Compatible), pair(81, PairVerdict::Replaces)].into();
    assert_eq!((request.verdicts, request.because.as_deref()), (expected, Some("b")));
    assert_eq!(request.token, screens::consider().token);
    assert!(request.caller.op_id.is_some() && request.caller.project == "api");
    let stored = Stored {
        claim_id: id(14),
        op_id: OpId([9; 16]),
        scope: scope("api"),
        duplicate: false,
        replayed: false,
        dry_run: false,
        superseded: vec![id(81)],
        warnings: vec![],
        doubts: screens::consider().doubts,
    };
    step(&mut state, OutcomeReply(WriteOutcome::Stored(stored)).to(ticket));
    assert!(state.overlay.is_none());
    let shown = toasts(&state);
    assert!(shown.contains("Stored “The weekly report goes to the finance team as a"), "{shown}");
    assert!(shown.contains("”, in place of “Drafts of reports stay within"), "{shown}");
    assert!(shown.contains("u to undo") && shown.contains("Does “Reports are archived"), "{shown}");
    assert_eq!(shown.matches("still hold?").count(), 2, "no more than two are mentioned: {shown}");
}

#[test]
fn every_question_needs_an_answer_and_answers_need_a_reason() {
    let mut state = asked();
    press(&mut state, "c");
    assert!(written(&press(&mut state, "ctrl-s")).is_none());
    assert_eq!(form(&state).focus, 1, "the one without an answer");
    press(&mut state, "s ctrl-u");
    assert!(written(&press(&mut state, "ctrl-s")).is_none());
    assert!(form(&state).error.as_ref().is_some_and(|(_, text)| text.contains("reason")));
    let (ticket, _) = judged(&press(&mut state, "x ctrl-s"));
    let refused = Refused {
        conflicts: vec![],
        card_id: Some(card_id(8)),
        settled: None,
        unsettled: false,
        scope: scope("api"),
        ways_on: vec![],
        may_only_propose: false,
    };
    step(&mut state, OutcomeReply(WriteOutcome::Conflict(refused)).to(ticket));
    assert!(state.overlay.is_none(), "its text is on a card");
    assert!(toasts(&state).contains("is kept on a card"), "{}", toasts(&state));
}

#[test]
fn a_question_that_is_left_waits_on_its_card_and_can_be_withdrawn() {
    let mut state = asked();
    press(&mut state, "k esc");
    assert!(state.overlay.is_none());
    let held = crate::api::CardSummary { kind: CardKind::Held, ..summary(7, CardStatus::Open) };
    let group = InboxGroup {
        group: InboxKind::Held,
        total: 1,
        at_least: false,
        items: vec![InboxItem::Card(Box::new(held))],
        next: None,
    };
    let ticket = state.ticket(Slot::Inbox);
    let inbox = Inbox { groups: vec![group], total: 1, ..Inbox::default() };
    let out = step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Inbox(inbox))));
    settle(&mut state, out);
    // The cursor leaves an item that is no longer listed.
    press(&mut state, "j J");
    let verdicts: Vec<_> = form(&state).verdicts().map(|(_, verdict)| verdict).collect();
    assert_eq!(verdicts, [Some(PairVerdict::Compatible), None, None], "what was said before is still there");
    press(&mut state, "esc");
    let out = press(&mut state, "u");
    assert!(
        matches!(written(&out), Some((_, WriteRequest::Undo(request))) if request.target_op == Some(OpId([7; 16]))),
        "undo withdraws the write: {out:?}"
    );
}

#[test]
fn a_question_can_be_answered_by_not_storing_the_claim() {
    let mut state = asked();
    let out = press(&mut state, "k x");
    assert!(state.overlay.is_none());
    assert!(
        matches!(written(&out), Some((_, WriteRequest::Undo(request))) if request.target_op == Some(OpId([7; 16]))),
        "{out:?}"
    );
}

#[test]
fn a_dead_daemon_loses_no_answer() {
    let mut state = asked();
    press(&mut state, "k k");
    let (ticket, first) = judged(&press(&mut state, "ctrl-s"));
    let gone =
        RequestFailure { kind: FailureKind::Unreachable, message: "no daemon answers".into(), hint: None, field: None };
    step(&mut state, Msg::Reply(ticket, Err(gone)));
    assert!(form(&state).error.as_ref().is_some_and(|(_, text)| text.contains("No daemon answers")));
    let (_, again) = judged(&press(&mut state, "ctrl-s"));
    assert_eq!(first, again, "the same act, so that it happens once");
}

#[test]
fn the_mouse_answers_too() {
    let mut state = asked();
    let hit = |state: &AppState, wanted: crate::tui::hits::Hit| {
        (0..SIZE.1).flat_map(|y| (0..SIZE.0).map(move |x| (x, y))).find(|(x, y)| state.hits.at(*x, *y) == Some(wanted))
    };
    let click = |state: &mut AppState, (column, row): (u16, u16)| {
        let kind = crossterm::event::MouseEventKind::Down(crossterm::event::MouseButton::Left);
        step(state, Msg::Mouse { kind, column, row });
    };
    let place = hit(&state, crate::tui::hits::Hit::Field(1)).unwrap();
    click(&mut state, place);
    let place = hit(&state, crate::tui::hits::Hit::Act(crate::tui::action::Action::Same)).unwrap();
    click(&mut state, place);
    let verdicts: Vec<_> = form(&state).verdicts().map(|(_, verdict)| verdict).collect();
    assert_eq!(verdicts, [None, Some(PairVerdict::Same), None]);
}

#[test]
fn the_arrows_lead_from_the_reason_back_to_the_questions() {
    let mut state = asked();
    press(&mut state, "k r");
    assert!(!form(&state).asks_verdict());
    press(&mut state, "up");
    assert!(form(&state).asks_verdict());
    press(&mut state, "down down down down");
    assert!(!form(&state).asks_verdict());
}

#[test]
fn a_question_that_comes_late_takes_no_keys_from_what_was_opened_meanwhile() {
    let mut state = app(SIZE, Opening { scope: Some(scope("api")), ..Opening::default() });
    let (ticket, _) = written(&press(&mut state, "+ a tab b ctrl-s")).unwrap();
    press(&mut state, "esc / n e x");
    let out = step(&mut state, OutcomeReply(WriteOutcome::Consider(screens::consider())).to(ticket));
    settle(&mut state, out);
    assert!(matches!(state.overlay, Some(Overlay::Prompt(_))), "{:?}", state.overlay);
    assert!(toasts(&state).contains("until its question is answered. It is in the Inbox."), "{}", toasts(&state));
    assert!(state.undo_stack.iter().any(|act| act.op == OpId([7; 16])), "undo withdraws it");
}

#[test]
fn keys_pressed_before_the_question_is_painted_answer_nothing() {
    let mut state = app(SIZE, Opening { scope: Some(scope("api")), ..Opening::default() });
    let (ticket, _) = written(&press(&mut state, "+ a tab b ctrl-s")).unwrap();
    update(&mut state, OutcomeReply(WriteOutcome::Consider(screens::consider())).to(ticket));
    let mut out = Vec::new();
    for key in ['k', 'c', 'x'] {
        out.extend(update(&mut state, Msg::Key(KeyPress::char(key))));
    }
    assert!(written(&out).is_none(), "{out:?}");
    assert!(form(&state).verdicts().all(|(_, verdict)| verdict.is_none()));
}

#[test]
fn answers_are_kept_until_the_claim_is_withdrawn() {
    for fails in [true, false] {
        let mut state = asked();
        let (ticket, _) = written(&press(&mut state, "k x")).unwrap();
        let reply = if fails {
            Err(failure(FailureKind::Refused))
        } else {
            Ok(RequestAnswer::Undone(Box::new(UndoOutcome {
                undone: OpId([7; 16]),
                op_id: OpId([8; 16]),
                summary: "Undid it".into(),
                redo: false,
                claims: vec![],
            })))
        };
        step(&mut state, Msg::Reply(ticket, reply));
        let kept = state.drafts.values().any(|draft| draft.verdicts().any(|(_, verdict)| verdict.is_some()));
        assert_eq!(kept, fails);
    }
}

#[test]
fn undo_after_a_withdrawal_asks_the_question_again_before_it_undoes_anything_older() {
    let undone = |state: &mut AppState, ticket, undone: u8, op: u8, redo: bool| {
        let summary =
            if redo { "Redid: held “x” until it was judged" } else { "Undid: held “x” until it was judged" };
        let outcome = UndoOutcome {
            undone: OpId([undone; 16]),
            op_id: OpId([op; 16]),
            summary: summary.into(),
            redo,
            claims: vec![],
        };
        step(state, Msg::Reply(ticket, Ok(RequestAnswer::Undone(Box::new(outcome)))));
        toasts(state)
    };
    let target = |out: &[Effect]| match written(out) {
        Some((ticket, WriteRequest::Undo(request))) => (ticket, request.target_op),
        other => panic!("no undo: {other:?}"),
    };
    let mut state = asked();
    let held = state.undo_stack.last().cloned().unwrap();
    let other = crate::tui::state::SessionAct { op: OpId([20; 16]), about: vec![], opens: false, ..held };
    state.record_act(other);
    let (ticket, op) = target(&press(&mut state, "k x"));
    assert_eq!(op, Some(OpId([7; 16])));
    let shown = undone(&mut state, ticket, 7, 8, false);
    assert!(shown.contains("Withdrew “The weekly report") && shown.contains("u to undo"), "{shown}");
    let (ticket, op) = target(&press(&mut state, "u"));
    assert_eq!(op, Some(OpId([8; 16])), "the withdrawal");
    let shown = undone(&mut state, ticket, 8, 9, true);
    assert!(shown.contains("Undid: withdrew “The weekly report") && shown.contains("U to redo"), "{shown}");
    let (ticket, op) = target(&press(&mut state, "U"));
    assert_eq!(op, Some(OpId([9; 16])));
    let shown = undone(&mut state, ticket, 9, 10, false);
    assert!(shown.contains("Redid: withdrew “The weekly report"), "{shown}");
    let (ticket, op) = target(&press(&mut state, "u"));
    assert_eq!(op, Some(OpId([10; 16])));
    undone(&mut state, ticket, 10, 11, true);
    assert_eq!(target(&press(&mut state, "u")).1, Some(OpId([20; 16])), "then what was done before the withdrawal");
}

#[test]
fn the_card_of_a_withdrawn_write_closes_without_a_second_message() {
    for own in [true, false] {
        let mut state = cards();
        if own {
            state.record_act(crate::tui::state::SessionAct {
                op: OpId([7; 16]),
                scope: scope("api"),
                summary: "Held “x”".into(),
                about: vec![crate::tui::state::inbox::ItemId::Card(card_id(1))],
                opens: true,
                settled: 0,
            });
        }
        let mut view = card(1);
        view.summary.status = CardStatus::Settled;
        view.settled = Some(CardSettlement {
            act: "undone".into(),
            who: "zoe".into(),
            agent: None,
            at: 1,
            reason: None,
            op_id: None,
            stored_as: None,
            merged: false,
        });
        let ticket = state.ticket(Slot::Card);
        step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Card(Box::new(view)))));
        assert_eq!(toasts(&state).contains("No longer applies"), !own, "{}", toasts(&state));
    }
}
