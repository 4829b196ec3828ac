//! Tests of `update` without a terminal and without a daemon.

mod add;
mod agents;
mod cards;
mod cursor;
mod dialogs;
mod forms;
mod held;
mod inbox;
mod inbox_pages;
mod judging;
mod many;
mod marks;
mod matches;
mod notes;
mod offline;
mod peers;
mod scopes;
mod screens;
mod search;
mod story;
mod undo;

use proptest::prelude::*;

use super::{Opening, update};
use crate::{
    api::{CardAct, CardSettlement, CardStatus, Change, Done, Stale, UndoOutcome, WriteOutcome},
    domain::OpId,
    tui::{
        hits::Pane,
        key::KeyPress,
        msg::{
            Effect, FailureKind, Live, Msg, ReadRequest, RequestAnswer, RequestFailure, RequestId, Slot, WriteRequest,
        },
        sample::{answer, app, card, card_id, claims, id, press, scope, settings, settle, step, summary, written},
        state::{AppState, Daemon, Overlay, Screen, form::FieldId, why::Subject},
    },
};

const SIZE: (u16, u16) = (120, 40);

fn cards() -> AppState {
    app(SIZE, Opening { screen: Some(Screen::Cards), ..Opening::default() })
}

fn done(summary: &str, card: Option<u8>) -> OutcomeReply {
    OutcomeReply(WriteOutcome::Done(Done {
        op_id: OpId([9; 16]),
        scope: scope("api"),
        summary: summary.into(),
        claim_id: None,
        claims: vec![],
        needs_review: vec![],
        card_id: card.map(card_id),
        replayed: false,
        warnings: vec![],
    }))
}

/// The outcome of an act, which can be made into the message that brings it.
struct OutcomeReply(WriteOutcome);

impl OutcomeReply {
    fn to(self, ticket: RequestId) -> Msg {
        Msg::Reply(ticket, Ok(RequestAnswer::Outcome(Box::new(self.0))))
    }
}

fn failure(kind: FailureKind) -> RequestFailure {
    RequestFailure { kind, message: "it went wrong".into(), hint: Some("try again".into()), field: None }
}

fn toasts(state: &AppState) -> String {
    let lines = state.toasts.iter().map(|toast| format!("{} {}", toast.text, toast.hint).trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

fn reason(state: &AppState) -> String {
    match &state.overlay {
        Some(Overlay::Form(form)) => form.text(FieldId::Reason),
        _ => panic!("no form is open"),
    }
}

/// Returns the error that the open form shows.
fn form_error(state: &AppState) -> &str {
    match &state.overlay {
        Some(Overlay::Form(form)) => form.error.as_ref().map_or("", |(_, message)| message),
        _ => panic!("no form is open"),
    }
}

#[test]
fn keep_a_sends_the_prefilled_reason_and_goes_to_the_next_card() {
    let mut state = cards();
    let out = press(&mut state, "a enter");
    let (ticket, WriteRequest::Resolve { card, request }) = written(&out).unwrap() else { panic!() };
    assert_eq!(card, card_id(1).to_hex());
    assert_eq!((request.act, request.winner), (CardAct::Supersede, Some(id(1).to_hex())));
    assert_eq!(request.reason, "Red is what the dashboards alert on.");
    assert_eq!((request.expect_rev, request.caller.who.as_str()), (Some(5), "zoe"));
    assert!(request.caller.op_id.is_some());
    let out = step(&mut state, done("Superseded the canary", Some(1)).to(ticket));
    assert_eq!(toasts(&state), "Superseded the canary in acme/api. u to undo");
    assert!(state.overlay.is_none());
    assert_eq!(state.conflicts.list.anchor(), Some(card_id(2)));
    settle(&mut state, out);
    assert_eq!(state.conflicts.card.as_ref().unwrap().view.summary.id, card_id(2));
}

#[test]
fn undo_names_the_last_act_of_the_session_and_redo_takes_the_undo_back() {
    let mut state = cards();
    let out = press(&mut state, "a enter");
    step(&mut state, done("Superseded", Some(1)).to(written(&out).unwrap().0));
    let out = press(&mut state, "u");
    let (ticket, WriteRequest::Undo(request)) = written(&out).unwrap() else { panic!() };
    assert_eq!(request.target_op, Some(OpId([9; 16])));
    let undone = UndoOutcome {
        undone: OpId([9; 16]),
        op_id: OpId([8; 16]),
        summary: "Undid it".into(),
        redo: false,
        claims: vec![],
    };
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Undone(Box::new(undone)))));
    assert!(toasts(&state).contains("Undid it in acme/api. U to redo"));
    let out = press(&mut state, "U");
    let Some((_, WriteRequest::Undo(request))) = written(&out) else { panic!() };
    assert_eq!(request.target_op, Some(OpId([8; 16])));
}

#[test]
fn a_key_held_down_neither_types_nor_decides() {
    let mut state = cards();
    let before = {
        press(&mut state, "a");
        reason(&state)
    };
    for _ in 0..20 {
        state.now += 30;
        step(&mut state, Msg::Key(KeyPress::char('a')));
    }
    assert_eq!(reason(&state), before);
    press(&mut state, "a");
    assert_eq!(reason(&state), format!("{before}a"), "once it was let go it types");
}

#[test]
fn a_missing_reason_is_reported_at_its_field_and_nothing_is_sent() {
    let mut state = cards();
    let out = press(&mut state, "r tab enter");
    assert!(written(&out).is_none());
    let Some(Overlay::Form(form)) = &state.overlay else { panic!() };
    assert_eq!(form.error.as_ref().unwrap().0, Some(FieldId::Reason));
}

#[test]
fn narrow_wants_somewhere_and_real_days() {
    let mut state = cards();
    press(&mut state, "o");
    for keys in ["ctrl-s", "tab tab tab tab t o d a y ctrl-s"] {
        assert!(written(&press(&mut state, keys)).is_none());
    }
    let Some(Overlay::Form(form)) = &state.overlay else { panic!() };
    assert!(
        form.error.as_ref().unwrap().1.contains("enter a reason")
            || form.error.as_ref().unwrap().1.contains("invalid date")
    );
}

#[test]
fn what_was_written_survives_cancel_failure_and_staleness() {
    let mut state = cards();
    press(&mut state, "d n o esc d");
    assert_eq!(reason(&state), "no");
    let out = press(&mut state, "enter");
    let (ticket, first) = written(&out).unwrap();
    step(&mut state, Msg::Reply(ticket, Err(failure(FailureKind::Timeout))));
    assert_eq!(reason(&state), "no");
    let (ticket, again) = written(&press(&mut state, "enter")).unwrap();
    assert_eq!(first, again, "what may have happened goes again under the same key");
    let stale =
        Stale { message: "The card changed".into(), claim: None, heads: vec![], card: None, can_reinstate: false };
    step(&mut state, OutcomeReply(WriteOutcome::Stale(stale)).to(ticket));
    assert!(form_error(&state).contains("The card changed. Check what it does now, then submit again."));
    assert_eq!(reason(&state), "no");
    let (_, third) = written(&press(&mut state, "enter")).unwrap();
    assert_ne!(third, again, "an act that was answered is a new one");
}

#[test]
fn late_answers_are_dropped() {
    let mut state = cards();
    let first = step(&mut state, Msg::Key(KeyPress::char('j')));
    let second = step(&mut state, Msg::Key(KeyPress::char('j')));
    let ticket =
        |out: &[Effect]| match out.iter().find(|effect| matches!(effect, Effect::Read(_, ReadRequest::Card(_)))) {
            Some(Effect::Read(ticket, _)) => *ticket,
            _ => panic!("no card was asked for: {out:?}"),
        };
    let (late, current) = (ticket(&first), ticket(&second));
    step(&mut state, Msg::Reply(current, Ok(RequestAnswer::Card(Box::new(card(3))))));
    step(&mut state, Msg::Reply(late, Ok(RequestAnswer::Card(Box::new(card(2))))));
    assert_eq!(state.conflicts.card.as_ref().unwrap().view.summary.id, card_id(3));
}

#[test]
fn acts_wait_for_the_card_under_the_cursor() {
    let mut state = cards();
    step(&mut state, Msg::Key(KeyPress::char('j')));
    step(&mut state, Msg::Key(KeyPress::char('a')));
    assert!(state.overlay.is_none());
    assert!(toasts(&state).contains("still loading"));
}

#[test]
fn what_cannot_be_taken_back_asks_and_cancel_has_the_focus() {
    let ask = |keys: &str| {
        let mut state = app(SIZE, Opening { screen: Some(Screen::Claims), ..Opening::default() });
        let out = press(&mut state, &format!("X w h y ctrl-s {keys}"));
        written(&out).is_some()
    };
    assert!(!ask("enter"));
    assert!(!ask("n"));
    assert!(!ask("X"));
    assert!(ask("y"));
    assert!(ask("tab enter"));
    // A key that was pressed before the question was painted does not answer it.
    let mut state = app(SIZE, Opening { screen: Some(Screen::Claims), ..Opening::default() });
    press(&mut state, "X w h y");
    update(&mut state, Msg::Key(KeyPress::parse("ctrl-s").unwrap()));
    assert!(update(&mut state, Msg::Key(KeyPress::char('y'))).is_empty());
    assert!(matches!(state.overlay, Some(Overlay::Confirm(_))));
}

#[test]
fn read_only_refuses_every_act_and_says_why() {
    let mut state = cards();
    state.settings.read_only = true;
    for key in ["a", "b", "m", "r", "o", "x", "d", "D", "z", "u", "A"] {
        assert!(written(&press(&mut state, key)).is_none());
        assert!(state.overlay.is_none(), "{key}");
    }
    assert!(toasts(&state).contains("--read-only"));
}

#[test]
fn read_only_refuses_a_form_and_a_question_that_are_open() {
    let mut state = cards();
    press(&mut state, "a");
    state.settings.read_only = true;
    assert!(written(&press(&mut state, "ctrl-s")).is_none());
    let mut state = app(SIZE, Opening { screen: Some(Screen::Claims), ..Opening::default() });
    press(&mut state, "X w h y ctrl-s");
    state.settings.read_only = true;
    assert!(written(&press(&mut state, "y")).is_none());
    assert!(toasts(&state).contains("Nothing was sent: this app was opened with --read-only."));
}

#[test]
fn no_daemon_is_a_state_and_s_starts_it() {
    let mut state = AppState::new(settings(), SIZE, 1);
    let out = super::open(&mut state, Opening { screen: Some(Screen::Cards), ..Opening::default() });
    let Some(Effect::Read(ticket, _)) = out.first().cloned() else { panic!() };
    step(&mut state, Msg::Reply(ticket, Err(failure(FailureKind::Unreachable))));
    assert!(matches!(state.daemon, Daemon::Down { .. }));
    assert!(press(&mut state, "s").contains(&Effect::Start));
    assert_eq!(state.daemon, Daemon::Starting);
    let out = step(&mut state, Msg::Started(Ok(())));
    settle(&mut state, out);
    assert_eq!(state.conflicts.list.total(), 3);
}

#[test]
fn the_daemon_is_started_by_itself_once() {
    let mut with = settings();
    with.autostart = true;
    let mut state = AppState::new(with, SIZE, 1);
    super::open(&mut state, Opening::default());
    let out = step(&mut state, Msg::Live(Live::Down("nobody there".into())));
    assert!(out.contains(&Effect::Start));
    step(&mut state, Msg::Started(Err("no".into())));
    let out = step(&mut state, Msg::Live(Live::Down("nobody there".into())));
    assert!(!out.contains(&Effect::Start));
}

#[test]
fn a_lost_daemon_keeps_what_is_shown() {
    let mut state = cards();
    step(&mut state, Msg::Live(Live::Down("gone".into())));
    assert_eq!(state.conflicts.list.known(), 3);
    let out = step(&mut state, Msg::Live(Live::Up));
    assert!(out.iter().any(|effect| matches!(effect, Effect::Read(_, ReadRequest::Conflicts(_)))));
}

#[test]
fn a_deep_link_opens_the_card_and_the_cursor_goes_there() {
    let opened = |n| app(SIZE, Opening { card: Some(card_id(n).short()), ..Opening::default() });
    let state = opened(3);
    assert_eq!((state.screen, state.inbox.card()), (Screen::Inbox, Some(card_id(3))));
    assert_eq!(state.selected_card().unwrap().view.summary.id, card_id(3));
    // A card that the Inbox does not list is shown in the list of cards.
    let state = opened(7);
    assert_eq!((state.screen, state.conflicts.list.anchor()), (Screen::Cards, Some(card_id(7))));
    assert_eq!(state.selected_card().unwrap().view.summary.id, card_id(7));
}

#[test]
fn search_follows_each_letter_and_escape_brings_everything_back() {
    let mut state = app(SIZE, Opening { screen: Some(Screen::Claims), ..Opening::default() });
    press(&mut state, "/ d b");
    assert_eq!(state.claims.search, "db");
    let out = {
        state.now += 500;
        step(&mut state, Msg::Key(KeyPress::char('x')))
    };
    assert!(out.iter().any(
        |effect| matches!(effect, Effect::Read(_, ReadRequest::Claims(query)) if query.q.as_deref() == Some("dbx"))
    ));
    settle(&mut state, out);
    press(&mut state, "esc");
    assert_eq!(state.claims.search, "");
}

#[test]
fn why_walks_the_chain_and_back() {
    let mut state = app(SIZE, Opening { screen: Some(Screen::Claims), ..Opening::default() });
    press(&mut state, "enter");
    assert_eq!(state.screen, Screen::Why);
    press(&mut state, "j enter");
    assert_eq!(state.why.subject, Some(Subject::Claim(id(21).to_hex())));
    press(&mut state, "esc");
    assert_eq!(state.why.subject, Some(Subject::Claim(id(10).to_hex())));
    press(&mut state, "esc");
    assert_eq!(state.screen, Screen::Claims);
}

#[test]
fn live_changes_keep_the_cursor_on_its_claim() {
    let mut state = app(SIZE, Opening { screen: Some(Screen::Claims), ..Opening::default() });
    press(&mut state, "j j");
    let held = state.claims.list.anchor();
    let change = Change { event: "change".into(), claims: vec![id(99)], ..Change::default() };
    for effect in step(&mut state, Msg::Live(Live::Change(Box::new(change)))) {
        if let Effect::Read(ticket, read) = effect {
            let mut reply = answer(&read);
            if let RequestAnswer::Claims(page) = &mut reply {
                page.items.insert(0, crate::tui::sample::claim(99, "new"));
                page.total += 1;
            }
            step(&mut state, Msg::Reply(ticket, Ok(reply)));
        }
    }
    assert_eq!((state.claims.list.anchor(), state.claims.list.cursor()), (held, 3));
    assert_eq!(claims().total + 1, state.claims.list.total());
}

#[test]
fn pasted_lines_stay_lines_in_a_text_and_become_one_in_a_line() {
    let mut state = cards();
    press(&mut state, "x");
    step(&mut state, Msg::Paste("one\r\ntwo\u{202e}".into()));
    assert_eq!(reason(&state), "one\ntwo");
    press(&mut state, "esc o tab");
    step(&mut state, Msg::Paste("a\nb".into()));
    let Some(Overlay::Form(form)) = &state.overlay else { panic!() };
    assert_eq!(form.text(FieldId::Env), "a b");
}

#[test]
fn the_log_names_the_command_that_does_the_same() {
    let mut state = cards();
    press(&mut state, "b enter");
    let line = &state.log.iter().find(|line| line.text.starts_with('$')).unwrap().text;
    assert!(line.starts_with("$ ergo resolve 0101010101 --keep 65995e0000 --reason "), "{line}");
}

#[test]
fn ten_cards_need_no_more_than_forty_keys() {
    // A decision takes two keys, and the cursor goes on by itself.
    let mut state = cards();
    let mut keys = 0;
    for _ in 0..3 {
        let out = press(&mut state, "a enter");
        keys += 2;
        let (ticket, WriteRequest::Resolve { card, .. }) = written(&out).unwrap() else { panic!() };
        let n = (1..=3).find(|n| card_id(*n).to_hex() == card);
        let out = step(&mut state, done("Done", n).to(ticket));
        settle(&mut state, out);
    }
    assert!(keys * 10 <= 3 * 40);
}

/// Any key that has a meaning, and any message from outside.
fn any_message() -> impl Strategy<Value = Msg> {
    let keys: Vec<&'static str> =
        crate::tui::action::ACTIONS.iter().flat_map(|spec| spec.keys.iter().copied()).collect();
    prop_oneof![
        8 => prop::sample::select(keys).prop_map(|key| Msg::Key(KeyPress::parse(key).unwrap())),
        2 => any::<char>().prop_map(|c| Msg::Key(KeyPress::char(c))),
        1 => "\\PC{0,12}".prop_map(Msg::Paste),
        1 => (1u16..200, 1u16..60).prop_map(|(w, h)| Msg::Resize(w, h)),
        1 => (0u16..200, 0u16..60).prop_map(|(column, row)| Msg::Mouse {
            kind: crossterm::event::MouseEventKind::Down(crossterm::event::MouseButton::Left), column, row
        }),
        1 => Just(Msg::Live(Live::Up)),
        1 => Just(Msg::Live(Live::Down("gone".into()))),
        1 => Just(Msg::Started(Ok(()))),
        1 => Just(Msg::Live(Live::Change(Box::new(Change { cards: vec![card_id(1)], ..Change::default() })))),
        1 => Just(Msg::Woken),
        1 => (0u64..400).prop_map(|ms| Msg::Clock(crate::tui::sample::NOW + ms * 37)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]
    #[test]
    fn no_sequence_panics_or_loses_the_cursor(messages in prop::collection::vec(any_message(), 1..60), answered in any::<u64>()) {
        let mut state = cards();
        for (index, message) in messages.into_iter().enumerate() {
            let out = step(&mut state, message);
            // Some answers arrive, some are failures, some never arrive.
            match (answered >> (index % 64)) & 3 {
                0 => for effect in out {
                    if let Effect::Read(ticket, _) | Effect::Write(ticket, _) = effect {
                        step(&mut state, Msg::Reply(ticket, Err(failure(FailureKind::Refused))));
                    }
                },
                1 => {}
                _ => {
                    for effect in settle(&mut state, out) {
                        if let Effect::Write(ticket, _) = effect {
                            let out = step(&mut state, done("Done", Some(1)).to(ticket));
                            settle(&mut state, out);
                        }
                    }
                }
            }
            for (list, known, current) in [
                (state.conflicts.list.cursor(), state.conflicts.list.known(), state.conflicts.list.current().is_some()),
                (state.claims.list.cursor(), state.claims.list.known(), state.claims.list.current().is_some()),
            ] {
                prop_assert!(known == 0 || (list < known && current));
            }
            let selectable_rows = state.inbox.selectable_rows().len();
            prop_assert!(selectable_rows == 0 || state.inbox.current().is_some());
            prop_assert_eq!(state.inbox.anchor().cloned(), state.inbox.current().and_then(|row| row.id()));
            prop_assert_eq!(state.conflicts.list.anchor(), state.conflicts.list.current().map(|card| card.id));
            for pane in [Pane::Cards, Pane::Claims, Pane::Scopes, Pane::Chain, Pane::Peers, Pane::Picks] {
                prop_assert!(state.hits.current(pane).len() <= 1, "{pane:?}: {:?}", state.hits.current(pane));
            }
        }
    }
}

#[test]
fn a_slot_knows_what_is_under_way() {
    let mut state = AppState::new(settings(), SIZE, 1);
    let ticket = state.ticket(Slot::Why);
    assert!(state.waits(Slot::Why));
    assert!(state.accept_answer(ticket) && !state.waits(Slot::Why));
}
