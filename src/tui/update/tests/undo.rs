//! Tests of undo and redo: what is undone, in which order, and what needs a confirmation.

use super::*;
use crate::tui::state::{SessionAct, inbox::ItemId};

/// An act of this session in a project.
fn act(n: u8, project: &str) -> SessionAct {
    SessionAct {
        op: OpId([n; 16]),
        scope: scope(project),
        summary: format!("Retracted “claim {n}”"),
        about: Vec::new(),
        opens: false,
        settled: 1,
    }
}

fn undo_sent(effects: &[Effect]) -> Option<(RequestId, Option<OpId>)> {
    match written(effects)? {
        (ticket, WriteRequest::Undo(request)) => Some((ticket, request.target_op)),
        other => panic!("no undo: {other:?}"),
    }
}

fn answered(state: &mut AppState, ticket: RequestId, undone: u8, op: u8, redo: bool) {
    let summary = if redo { "Redid: retracted “x”" } else { "Undid: retracted “x”" };
    let outcome = UndoOutcome {
        undone: OpId([undone; 16]),
        op_id: OpId([op; 16]),
        summary: summary.into(),
        redo,
        claims: vec![],
    };
    step(state, Msg::Reply(ticket, Ok(RequestAnswer::Undone(Box::new(outcome)))));
}

fn question(state: &AppState) -> Option<(String, String)> {
    match &state.overlay {
        Some(Overlay::Confirm(confirm)) => Some((confirm.question.clone(), confirm.effect.clone())),
        _ => None,
    }
}

#[test]
fn what_this_session_did_goes_newest_first_and_redo_says_what_it_redid() {
    let mut state = cards();
    state.record_act(act(1, "api"));
    state.record_act(act(2, "api"));
    state.inbox.settled = 2;
    let (ticket, op) = undo_sent(&press(&mut state, "u")).unwrap();
    assert_eq!(op, Some(OpId([2; 16])));
    answered(&mut state, ticket, 2, 12, false);
    assert_eq!((toasts(&state).as_str(), state.inbox.settled), ("Undid: retracted “x” in acme/api. U to redo", 1));
    let (ticket, op) = undo_sent(&press(&mut state, "u")).unwrap();
    assert_eq!(op, Some(OpId([1; 16])));
    answered(&mut state, ticket, 1, 11, false);
    let (ticket, op) = undo_sent(&press(&mut state, "U")).unwrap();
    assert_eq!(op, Some(OpId([11; 16])), "redo takes back the last undo");
    answered(&mut state, ticket, 11, 21, true);
    assert_eq!((toasts(&state).as_str(), state.inbox.settled), ("Redid: retracted “x” in acme/api. u to undo", 1));
    let (ticket, op) = undo_sent(&press(&mut state, "u")).unwrap();
    assert_eq!(op, Some(OpId([21; 16])), "and is itself undone");
    answered(&mut state, ticket, 21, 31, false);
    assert!(toasts(&state).contains("U to redo"));
    assert_eq!(undo_sent(&press(&mut state, "U")).unwrap().1, Some(OpId([31; 16])));
}

#[test]
fn beyond_the_session_it_is_shown_what_would_be_undone() {
    let mut state = cards();
    let out = press(&mut state, "u");
    assert!(written(&out).is_none(), "nothing is undone unseen");
    let (question, effect) = question(&state).unwrap();
    assert_eq!(question, "Undo your last change?");
    assert!(
        effect.starts_with(
            "You superseded “Deploy every Friday” with “Deploy on green CI and an approved review” in acme/api"
        ),
        "{effect}"
    );
    assert_eq!(undo_sent(&press(&mut state, "y")).unwrap().1, Some(OpId([2; 16])), "the newest of this person's own");
}

#[test]
fn the_daemon_says_which_act_was_the_last() {
    let mut state = cards();
    let out = step(&mut state, Msg::Key(crate::tui::key::KeyPress::parse("u").unwrap()));
    let asked = out.iter().find_map(|effect| match effect {
        Effect::Read(ticket, ReadRequest::LastAct(caller)) => Some((*ticket, caller.clone())),
        _ => None,
    });
    let (ticket, caller) = asked.unwrap();
    assert_eq!((caller.who.as_str(), caller.agent), ("zoe", None));
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Log(crate::api::LogPage::default()))));
    assert!(question(&state).is_none());
    assert!(toasts(&state).contains("You have no change to undo"), "{}", toasts(&state));
}

#[test]
fn an_act_in_a_scope_that_is_not_shown_is_asked_about() {
    let mut state = cards();
    state.scope = Some(scope("api"));
    state.record_act(act(1, "web"));
    assert!(written(&press(&mut state, "u")).is_none());
    let (question_text, effect) = question(&state).unwrap();
    assert_eq!(question_text, "Undo a change in acme/web?");
    assert!(effect.contains("Retracted “claim 1”."), "{effect}");
    assert!(written(&press(&mut state, "enter")).is_none(), "Cancel has the focus");
    let (ticket, op) = undo_sent(&press(&mut state, "u tab enter")).unwrap();
    assert_eq!(op, Some(OpId([1; 16])));
    answered(&mut state, ticket, 1, 11, false);
    assert!(toasts(&state).contains("Undid: retracted “x” in acme/web. U to redo"));
    press(&mut state, "U");
    assert_eq!(question(&state).unwrap().0, "Redo a change in acme/web?");
}

/// Presses the key of an audit, which opens these cards. Returns its `op_id`.
fn audit(state: &mut AppState, opened: &[u8]) -> Option<OpId> {
    let (ticket, WriteRequest::Audit(request)) = written(&press(state, "A")).unwrap() else { panic!() };
    let opened = opened.iter().map(|n| summary(*n, CardStatus::Open)).collect();
    let outcome = crate::api::AuditOutcome { claims: 9, opened, ..crate::api::AuditOutcome::default() };
    let out = step(state, Msg::Reply(ticket, Ok(RequestAnswer::Audited(outcome))));
    settle(state, out);
    request.caller.op_id
}

#[test]
fn undo_takes_back_the_cards_of_an_audit_before_the_act_before_it() {
    let mut state = cards();
    state.record_act(act(1, "api"));
    let op = audit(&mut state, &[1, 2]);
    assert!(toasts(&state).contains("9 claims compared in acme/api: 2 new cards. u to undo"), "{}", toasts(&state));
    let (ticket, undone) = undo_sent(&press(&mut state, "u")).unwrap();
    assert_eq!(undone, op);
    let outcome = |undone, op_id, redo| UndoOutcome { undone, op_id, summary: "Undid".into(), redo, claims: vec![] };
    let undone = outcome(op.unwrap(), OpId([12; 16]), false);
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Undone(Box::new(undone)))));
    assert_eq!(state.conflicts.released, Some(card_id(1)), "the card under the cursor goes without a message");
    let (ticket, _) = undo_sent(&press(&mut state, "U")).unwrap();
    let redone = outcome(OpId([12; 16]), OpId([13; 16]), true);
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Undone(Box::new(redone)))));
    assert_eq!(state.inbox.cursor_target, Some(crate::tui::state::inbox::ItemId::Card(card_id(1))));
    assert_eq!(undo_sent(&press(&mut state, "u")).unwrap().1, Some(OpId([13; 16])));
}

#[test]
fn an_audit_that_opened_no_card_is_nothing_to_undo() {
    let mut state = cards();
    state.record_act(act(1, "api"));
    audit(&mut state, &[]);
    assert!(!toasts(&state).contains("to undo"), "{}", toasts(&state));
    assert_eq!(undo_sent(&press(&mut state, "u")).unwrap().1, Some(OpId([1; 16])));
}

#[test]
fn nothing_offers_to_undo_a_redaction() {
    let mut state = app(SIZE, Opening { screen: Some(Screen::Claims), ..Opening::default() });
    let out = press(&mut state, "X w h y ctrl-s y");
    let ticket = written(&out).unwrap().0;
    step(&mut state, done("Redacted the text of a claim", None).to(ticket));
    assert_eq!(toasts(&state), "Redacted the text of a claim in acme/api.");
    assert!(state.undo_stack.is_empty(), "the key goes on to what can be undone");
}

#[test]
fn what_somebody_else_undid_first_gives_way_to_the_act_before() {
    let mut state = cards();
    state.record_act(act(1, "api"));
    state.record_act(act(2, "api"));
    let (ticket, _) = undo_sent(&press(&mut state, "u")).unwrap();
    step(&mut state, Msg::Reply(ticket, Err(failure(FailureKind::Stale))));
    assert_eq!(undo_sent(&press(&mut state, "u")).unwrap().1, Some(OpId([1; 16])));
}

/// Returns the event-stream message about a change of this session.
fn own_change(op: Option<OpId>) -> Msg {
    let change = Change {
        event: "change".into(),
        act: "resolve".into(),
        op_id: op,
        scope: Some(scope("api")),
        who: "zoe".into(),
        summary: "Superseded the canary".into(),
        ..Change::default()
    };
    Msg::Live(Live::Change(Box::new(change)))
}

#[test]
fn an_act_whose_answer_was_lost_is_the_next_to_be_undone() {
    for change_first in [true, false] {
        let mut state = cards();
        state.record_act(act(1, "api"));
        let (ticket, WriteRequest::Resolve { request, .. }) = written(&press(&mut state, "a enter")).unwrap() else {
            panic!()
        };
        let op = request.caller.op_id;
        let lost = Msg::Reply(ticket, Err(failure(FailureKind::Timeout)));
        let messages = if change_first { [own_change(op), lost] } else { [lost, own_change(op)] };
        for message in messages {
            let out = step(&mut state, message);
            settle(&mut state, out);
        }
        assert!(toasts(&state).contains("Done after all: Superseded the canary"), "{}", toasts(&state));
        let (_, undone) = undo_sent(&press(&mut state, "esc u")).unwrap();
        assert_eq!(undone, op, "change first: {change_first}");
    }
}

#[test]
fn a_lost_act_that_opened_cards_is_known_by_them() {
    let cards = [card_id(1), card_id(2)];
    for (opened, about) in [(vec![], &cards[..]), (vec![cards[1]], &cards[1..])] {
        let mut state = self::cards();
        let (ticket, WriteRequest::Audit(request)) = written(&press(&mut state, "A")).unwrap() else { panic!() };
        step(&mut state, Msg::Reply(ticket, Err(failure(FailureKind::Timeout))));
        let Msg::Live(Live::Change(mut change)) = own_change(request.caller.op_id) else { panic!() };
        (change.cards, change.opened) = (cards.to_vec(), opened);
        let opens = !change.opened.is_empty();
        step(&mut state, Msg::Live(Live::Change(change)));
        let act = state.undo_stack.last().unwrap();
        let about: Vec<_> = about.iter().map(|card| ItemId::Card(*card)).collect();
        assert_eq!((&act.about, act.opens), (&about, opens));
    }
}

#[test]
fn an_answered_act_is_not_counted_twice_when_its_change_arrives() {
    for change_first in [true, false] {
        let mut state = cards();
        let (ticket, WriteRequest::Resolve { request, .. }) = written(&press(&mut state, "a enter")).unwrap() else {
            panic!()
        };
        let answer = done("Superseded", Some(1)).to(ticket);
        let change = own_change(request.caller.op_id);
        for message in if change_first { [change, answer] } else { [answer, change] } {
            step(&mut state, message);
        }
        assert_eq!(state.undo_stack.len(), 1, "change first: {change_first}");
    }
}

#[test]
fn what_another_program_undid_is_no_longer_counted_nor_undone_again() {
    let mut state = cards();
    state.record_act(act(1, "api"));
    state.record_act(act(2, "api"));
    state.inbox.settled = 2;
    let undone = Some(OpId([2; 16]));
    let change = Change { event: "change".into(), act: "undo".into(), undone, ..Change::default() };
    step(&mut state, Msg::Live(Live::Change(Box::new(change))));
    assert_eq!(state.inbox.settled, 1);
    assert_eq!(undo_sent(&press(&mut state, "u")).unwrap().1, Some(OpId([1; 16])));
}

#[test]
fn an_undo_elsewhere_replaces_the_offer_to_undo() {
    let elsewhere = |state: &mut AppState, undone: u8| {
        let change = crate::api::Change {
            event: "change".into(),
            act: "undo".into(),
            who: "max".into(),
            undone: Some(OpId([undone; 16])),
            summary: format!("Undid: retracted “claim {undone}”"),
            ..crate::api::Change::default()
        };
        step(state, Msg::Live(crate::tui::msg::Live::Change(Box::new(change))));
    };
    let mut state = cards();
    state.record_act(act(1, "api"));
    state.record_act(act(2, "api"));
    state.inbox.settled = 2;
    state.toast_with(crate::tui::state::Tone::Done, "Retracted “claim 2”.", "{undo} to undo");
    elsewhere(&mut state, 9);
    assert!(toasts(&state).contains("u to undo"), "that was no act of this session");
    elsewhere(&mut state, 2);
    assert_eq!(toasts(&state), "Undid: retracted “claim 2” (by max, elsewhere).");
    assert_eq!((state.undo_stack.len(), state.inbox.settled), (1, 1));

    // An undo of this session that is undone elsewhere can no longer be redone here.
    let (ticket, _) = undo_sent(&press(&mut state, "u")).unwrap();
    answered(&mut state, ticket, 1, 11, false);
    elsewhere(&mut state, 11);
    assert_eq!((state.redo_stack.len(), state.inbox.settled), (0, 1));
}
