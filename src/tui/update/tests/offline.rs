//! Tests of a daemon that did not answer one request, and then answers again.

use super::*;

/// An app in which one request has not reached the daemon.
fn offline() -> AppState {
    let mut state = cards();
    let ticket = state.ticket(Slot::Scopes);
    step(&mut state, Msg::Reply(ticket, Err(failure(FailureKind::Unreachable))));
    assert!(state.is_offline());
    state
}

#[test]
fn a_failure_because_no_daemon_runs_is_logged_once() {
    let unreachable = failure(FailureKind::Unreachable);
    let logged = |state: &AppState| state.log.iter().filter(|line| line.text.contains(&unreachable.message)).count();
    let mut state = offline();
    assert_eq!(logged(&state), 1, "a read");

    let mut state_of_act = cards();
    let out = press(&mut state_of_act, "d n o enter");
    let (ticket, _) = written(&out).unwrap();
    step(&mut state_of_act, Msg::Reply(ticket, Err(unreachable.clone())));
    assert!(state_of_act.is_offline());
    assert_eq!(logged(&state_of_act), 1, "an act");

    state = cards();
    let ticket = state.ticket(Slot::Doubts);
    step(&mut state, Msg::Reply(ticket, Err(unreachable.clone())));
    assert!(state.is_offline());
    assert_eq!(logged(&state), 1, "pairs to judge");
}

fn reads_cards(out: &[Effect]) -> bool {
    out.iter().any(|effect| matches!(effect, Effect::Read(_, ReadRequest::Conflicts(_))))
}

#[test]
fn a_change_or_an_answer_shows_that_the_daemon_runs() {
    let mut state = offline();
    let out = step(&mut state, Msg::Live(Live::Change(Box::default())));
    assert!(!state.is_offline() && reads_cards(&out), "{out:?}");
    assert!(toasts(&state).contains("The daemon answers again."), "{}", toasts(&state));

    let mut state = offline();
    let ticket = state.ticket(Slot::Inbox);
    let inbox = RequestAnswer::Inbox(crate::api::Inbox::default());
    let out = step(&mut state, Msg::Reply(ticket, Ok(inbox)));
    assert!(!state.is_offline() && reads_cards(&out), "{out:?}");
}

#[test]
fn the_key_that_reloads_asks_whether_the_daemon_answers() {
    let mut state = offline();
    let out = step(&mut state, Msg::Key(KeyPress::char('j')));
    assert!(out.is_empty(), "nothing is read meanwhile: {out:?}");
    let out = step(&mut state, Msg::Key(KeyPress::parse("ctrl-r").unwrap()));
    assert!(matches!(out[..], [Effect::Repaint, Effect::Read(_, ReadRequest::Health)]), "{out:?}");
    settle(&mut state, out);
    assert!(matches!(state.daemon, Daemon::Up { .. }));
}

#[test]
fn while_no_daemon_runs_no_change_is_begun() {
    for key in ["a", "u", "+", "A"] {
        let mut state = offline();
        let out = press(&mut state, key);
        assert!(
            out.iter().all(|effect| matches!(effect, Effect::Wake(_))) && state.overlay.is_none(),
            "{key}: {out:?}"
        );
        assert!(toasts(&state).contains("no daemon is running, and s starts it."), "{key}: {}", toasts(&state));
    }
}
