//! Tests of judging the waiting pairs.

use super::*;
use crate::{
    api::{Inbox, JudgedPair, JudgedPairs, PairEffect},
    domain::PairVerdict,
    tui::{sample::screens, state::judging::JudgingState},
};

/// An app with five pairs to judge and nothing else.
fn inbox() -> AppState {
    let mut state = app(SIZE, Opening { screen: Some(Screen::Inbox), ..Opening::default() });
    let ticket = state.ticket(Slot::Inbox);
    let inbox = Inbox { doubts: 5, ..Inbox::default() };
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Inbox(inbox))));
    state
}

fn judging(state: &AppState) -> &JudgingState {
    match &state.overlay {
        Some(Overlay::Judging(judging)) => judging,
        other => panic!("no pairs: {other:?}"),
    }
}

fn sent(effects: &[Effect]) -> Option<(RequestId, crate::api::VerdictOnPair)> {
    match written(effects)? {
        (ticket, WriteRequest::JudgePairs(request)) => Some((ticket, request.verdicts[0].clone())),
        other => panic!("{other:?}"),
    }
}

fn answer(pair: u8, op: u8, effect: PairEffect) -> RequestAnswer {
    RequestAnswer::JudgedPairs(JudgedPairs {
        op_id: OpId([op; 16]),
        scope: scope("api"),
        summary: "Judged a pair of claims".into(),
        pairs: vec![JudgedPair { pair: card_id(pair), verdict: PairVerdict::Replaces, effect, card_id: None }],
        left: 4,
        replayed: false,
    })
}

#[test]
fn one_line_of_the_inbox_leads_to_the_pairs() {
    for keys in ["J", "enter"] {
        let mut state = inbox();
        press(&mut state, "G");
        assert_eq!(state.inbox.anchor(), Some(&crate::tui::state::inbox::ItemId::Pairs));
        press(&mut state, keys);
        assert_eq!((judging(&state).pairs.len(), judging(&state).total), (3, 5));
    }
}

#[test]
fn a_key_judges_a_pair_and_the_next_is_shown_at_once() {
    let mut state = inbox();
    press(&mut state, "J");
    let (ticket, verdict) = sent(&press(&mut state, "r")).unwrap();
    assert_eq!((verdict.pair, verdict.verdict), (card_id(110).to_hex(), PairVerdict::Replaces));
    assert_eq!(judging(&state).at, 1);
    assert!(sent(&press(&mut state, "k")).is_none(), "the first is still on its way");
    let out = step(&mut state, Msg::Reply(ticket, Ok(answer(110, 1, PairEffect::Replaced))));
    let (ticket, verdict) = sent(&out).unwrap();
    assert_eq!((verdict.pair, verdict.verdict), (card_id(112).to_hex(), PairVerdict::Compatible));
    step(&mut state, Msg::Reply(ticket, Ok(answer(112, 2, PairEffect::Kept))));
    assert_eq!((judging(&state).total, judging(&state).judged(), state.undo_stack.len()), (3, 2, 2));
}

#[test]
fn a_long_session_keeps_the_keys_of_its_last_acts_alone() {
    let mut state = inbox();
    press(&mut state, "J");
    let (mut ticket, _) = sent(&press(&mut state, "r")).unwrap();
    let first = state.own_ops[0];
    for _ in 0..150 {
        step(&mut state, Msg::Reply(ticket, Ok(answer(110, 1, PairEffect::Replaced))));
        if let Some(Overlay::Judging(judging)) = &mut state.overlay {
            judging.undone(OpId([1; 16]));
        }
        (ticket, _) = sent(&press(&mut state, "r")).unwrap();
    }
    assert!(state.own_ops.len() <= 100 && !state.own_ops.contains(&first), "{} keys", state.own_ops.len());
}

#[test]
fn undo_takes_the_last_verdict_back_and_asks_again() {
    let mut state = inbox();
    press(&mut state, "J");
    let (ticket, verdict) = sent(&press(&mut state, "r")).unwrap();
    let line = format!("$ ergo judge {} replaces", verdict.pair.split_at(10).0);
    assert!(state.log.iter().any(|entry| entry.text == line), "{line}");
    step(&mut state, Msg::Reply(ticket, Ok(answer(110, 1, PairEffect::Replaced))));
    let out = press(&mut state, "u");
    let Some((ticket, WriteRequest::Undo(request))) = written(&out) else { panic!("{out:?}") };
    assert_eq!(request.target_op, Some(OpId([1; 16])));
    let undone = UndoOutcome {
        undone: OpId([1; 16]),
        op_id: OpId([3; 16]),
        summary: "Undid a judgement".into(),
        redo: false,
        claims: vec![],
    };
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Undone(Box::new(undone)))));
    assert_eq!((judging(&state).at, judging(&state).total), (0, 5));
    press(&mut state, "u");
    assert!(toasts(&state).contains("no verdict was given"), "{}", toasts(&state));
}

#[test]
fn a_failed_verdict_is_reported_and_asked_again() {
    let mut state = inbox();
    press(&mut state, "J");
    let (ticket, _) = sent(&press(&mut state, "c")).unwrap();
    let gone =
        RequestFailure { kind: FailureKind::Unreachable, message: "no daemon answers".into(), hint: None, field: None };
    step(&mut state, Msg::Reply(ticket, Err(gone)));
    assert_eq!(judging(&state).at, 0);
    let error = judging(&state).error.clone().unwrap();
    assert!(error.contains("no daemon answers") && error.contains("starts the daemon"), "{error}");
    press(&mut state, "esc");
    assert!(state.overlay.is_none());
}

#[test]
fn a_pair_that_no_longer_waits_leaves_the_list() {
    let mut state = inbox();
    press(&mut state, "J");
    let (ticket, _) = sent(&press(&mut state, "k")).unwrap();
    let stale = RequestFailure {
        kind: FailureKind::Stale,
        message: "none of these pairs waits any more".into(),
        hint: None,
        field: None,
    };
    step(&mut state, Msg::Reply(ticket, Err(stale)));
    let shown = judging(&state).current().unwrap().pair.id;
    assert_eq!((judging(&state).pairs.len(), judging(&state).judged(), shown), (2, 0, card_id(112)));
    assert!(toasts(&state).contains("judged already"));
}

#[test]
fn ten_pairs_are_judged_with_ten_keys() {
    let mut state = inbox();
    let mut many = screens::doubts();
    let first = many.items[0].clone();
    many.items = (1..=10).map(|n| crate::api::PairInDoubt { id: card_id(n), ..first.clone() }).collect();
    many.total = 10;
    state.now += 500;
    let out = step(&mut state, Msg::Key(KeyPress::char('J')));
    let ticket = out.iter().find_map(|effect| match effect {
        Effect::Read(ticket, ReadRequest::Doubts(_)) => Some(*ticket),
        _ => None,
    });
    step(&mut state, Msg::Reply(ticket.unwrap(), Ok(RequestAnswer::Doubts(many))));
    let mut verdicts = Vec::new();
    for (n, key) in (1..=10).zip("krsckrsckr".chars()) {
        let (ticket, verdict) = sent(&press(&mut state, &key.to_string())).unwrap();
        verdicts.push(verdict.verdict);
        step(&mut state, Msg::Reply(ticket, Ok(answer(n, n, PairEffect::Kept))));
    }
    assert_eq!((judging(&state).judged(), judging(&state).total), (10, 0));
    assert_eq!(verdicts.iter().filter(|verdict| **verdict == PairVerdict::Compatible).count(), 3);
    // A key that is held down gives no verdict.
    let held = KeyPress { repeat: true, ..KeyPress::char('k') };
    assert!(written(&step(&mut state, Msg::Key(held))).is_none());
}

#[test]
fn verdicts_that_still_wait_when_the_pairs_are_closed_are_sent_all_the_same() {
    let mut state = inbox();
    press(&mut state, "J");
    let (ticket, _) = sent(&press(&mut state, "k")).unwrap();
    press(&mut state, "k k esc");
    assert!(state.overlay.is_none());
    let out = step(&mut state, Msg::Reply(ticket, Ok(answer(110, 1, PairEffect::Kept))));
    let (ticket, verdict) = sent(&out).unwrap();
    assert_eq!(verdict.pair, card_id(112).to_hex());
    // Opening the dialog again does not make the answer an outdated one.
    super::super::judging::open(&mut state, &mut Vec::new());
    let out = step(&mut state, Msg::Reply(ticket, Ok(answer(112, 2, PairEffect::Kept))));
    let (ticket, _) = sent(&out).unwrap();
    press(&mut state, "esc");
    step(&mut state, Msg::Reply(ticket, Ok(answer(1, 3, PairEffect::Kept))));
    assert_eq!((state.undo_stack.len(), state.closed_pairs.is_none()), (3, true));
}

#[test]
fn verdicts_that_were_not_stored_after_the_pairs_were_closed_are_counted_in_a_message() {
    let mut state = inbox();
    press(&mut state, "J");
    let (ticket, _) = sent(&press(&mut state, "k")).unwrap();
    press(&mut state, "k esc");
    step(&mut state, Msg::Reply(ticket, Err(failure(FailureKind::Unreachable))));
    assert!(
        toasts(&state).contains("2 verdicts not stored; pairs without a verdict still wait."),
        "{}",
        toasts(&state)
    );
    assert!(state.closed_pairs.is_none());
}

#[test]
fn leaving_the_app_sends_what_was_judged() {
    let mut state = inbox();
    press(&mut state, "J k k k esc");
    let out = step(&mut state, Msg::Key(KeyPress::char('q')));
    let Some((_, WriteRequest::JudgePairs(request))) = written(&out) else { panic!("{out:?}") };
    assert_eq!(request.verdicts.len(), 2, "the first is on its way already");
    assert!(out.contains(&Effect::Quit));
}

#[test]
fn a_verdict_that_is_being_stored_cannot_be_taken_back_yet_and_a_message_says_so() {
    let mut state = inbox();
    press(&mut state, "J k u");
    assert_eq!(judging(&state).judged(), 1);
    assert!(toasts(&state).contains("press u again in a moment"), "{}", toasts(&state));
}
