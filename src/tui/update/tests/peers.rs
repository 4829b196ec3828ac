//! Tests of the Peers screen.

use super::{SIZE, failure, toasts};
use crate::{
    api::{Change, PendingJoins},
    tui::{
        msg::{Effect, FailureKind, Live, Msg, ReadRequest, RequestAnswer, Slot, WriteRequest},
        sample::{app, press, scope, settle, step, sync_status, written},
        state::{AppState, Focus, Overlay, Screen, peers::PeerEntry},
        update::Opening,
    },
};

fn peers() -> AppState {
    app(SIZE, Opening { screen: Some(Screen::Peers), ..Opening::default() })
}

fn name(state: &AppState) -> String {
    match state.peers.current() {
        Some(PeerEntry::Pending(join)) => format!("{} waits", join.name),
        Some(PeerEntry::Team(team)) => team.name.clone(),
        Some(PeerEntry::Peer(peer)) => peer.name.clone(),
        None => String::new(),
    }
}

/// Sends a change of a peer, and answers the reads that follow: with nobody waiting, or as before.
fn answered(state: &mut AppState, nobody_waits: bool) {
    let effects =
        step(state, Msg::Live(Live::Change(Box::new(Change { act: "sync.peer".into(), ..Change::default() }))));
    if nobody_waits {
        let ticket = effects
            .iter()
            .find_map(|effect| match effect {
                crate::tui::msg::Effect::Read(ticket, _) if ticket.slot == Slot::Sync => Some(*ticket),
                _ => None,
            })
            .unwrap();
        step(state, Msg::Reply(ticket, Ok(RequestAnswer::Sync(Box::new(sync_status()), PendingJoins::default()))));
    }
    settle(state, effects);
}

#[test]
fn who_waits_is_admitted_only_after_the_words_were_shown_and_another_key_meant_yes() {
    let mut state = peers();
    assert_eq!(name(&state), "eve-laptop waits");
    assert_eq!(written(&press(&mut state, "i")), None);
    let Some(Overlay::Confirm(confirm)) = &state.overlay else { panic!("nothing was asked") };
    assert!(confirm.effect.contains("anvil copper lemon tiger orbit maple"), "{}", confirm.effect);
    assert_eq!(written(&press(&mut state, "i enter")), None, "the same key does not answer, and Cancel has the focus");
    assert!(state.overlay.is_none());
    let effects = press(&mut state, "i y");
    let Some((ticket, WriteRequest::AnswerJoin { id, request, .. })) = written(&effects) else { panic!("{effects:?}") };
    assert_eq!((id.as_str(), request.accept, request.words.len()), ("5e11a0b2c3d4e5f6", true, 6));
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Joined { name: "eve-laptop".into(), accepted: true })));
    assert!(toasts(&state).contains("eve-laptop is in the team"));
}

#[test]
fn the_cursor_stays_on_its_device_whatever_comes_or_goes_above() {
    let mut state = peers();
    press(&mut state, "j j j");
    assert_eq!(name(&state), "ada-laptop");
    answered(&mut state, true);
    assert_eq!(name(&state), "ada-laptop");
    press(&mut state, "G");
    assert_eq!(name(&state), "max-old-laptop");
    press(&mut state, "enter");
    assert_eq!(state.peers.focus, Focus::Detail);
    press(&mut state, "esc");
    assert_eq!((state.peers.focus, state.screen), (Focus::List, Screen::Peers));
}

#[test]
fn nobody_can_be_admitted_if_nobody_waits_and_the_reason_is_shown() {
    let mut state = peers();
    press(&mut state, "j x");
    assert!(toasts(&state).contains("no join request is under the cursor"));
    let effects = press(&mut state, "c");
    assert!(matches!(written(&effects), Some((_, WriteRequest::SyncNow))));
}

#[test]
fn a_team_is_never_called_in_sync_while_something_was_not_let_in() {
    let mut state = peers();
    let mut status = sync_status();
    status.teams[0].quarantined = 2;
    state.peers.accept(status, vec![]);
    assert_eq!(state.peers.attention(), 2);
    let shown = crate::tui::sample::text(&crate::tui::sample::frame(&mut state, &crate::tui::theme::Theme::ansi(true)));
    assert!(shown.contains("2 in quarantine") && !shown.contains("in sync"), "{shown}");
    // Nor while a peer did not accept what this device sent.
    let mut status = sync_status();
    let peer = status.teams[0].peers.iter_mut().find(|peer| !peer.you && peer.connected).unwrap();
    peer.not_taken = 3;
    state.peers.accept(status, vec![]);
    let shown = crate::tui::sample::text(&crate::tui::sample::frame(&mut state, &crate::tui::theme::Theme::ansi(true)));
    assert!(shown.contains("3 not accepted by a peer") && !shown.contains("in sync"), "{shown}");
}

#[test]
fn someone_at_the_door_is_announced_on_every_screen() {
    let mut state = app(SIZE, Opening::default());
    let change =
        Change { act: "sync.pending".into(), summary: "eve-laptop asks to join core".into(), ..Change::default() };
    step(&mut state, Msg::Live(Live::Change(Box::new(change))));
    assert!(toasts(&state).contains("eve-laptop asks to join core. 4 shows the words to compare."));
}

#[test]
fn a_copied_device_is_reported_and_the_team_is_not_called_in_sync() {
    let mut state = peers();
    let mut status = sync_status();
    status.teams[0].forks = 1;
    status.teams[0].problems = vec![
        "max-desk wrote two different events in one place of its chain in acme/api: `ergo sync revoke max-desk`".into(),
    ];
    state.peers.accept(status, vec![]);
    let shown = crate::tui::sample::text(&crate::tui::sample::frame(&mut state, &crate::tui::theme::Theme::ansi(true)));
    assert!(shown.contains("a device's store was copied") && !shown.contains("in sync"), "{shown}");
    assert!(shown.contains("wrote two different events") && shown.contains("ergo sync revoke"), "{shown}");
    assert_eq!(state.peers.attention(), 1);
}

#[test]
fn who_was_put_out_reads_by_whom_and_what_stays() {
    let mut state = peers();
    let mut status = sync_status();
    let says =
        "ada (ada-laptop) put this device out of core on 2026-11-22. What it holds stays here, and is shared no more.";
    let ended =
        crate::api::TeamEnd { left: false, by: None, at: crate::tui::sample::NOW, reason: None, says: says.into() };
    status.teams =
        vec![crate::api::TeamStatus { ended: Some(ended), ..crate::api::TeamStatus::new(status.teams[0].id, "core") }];
    state.peers.accept(status, vec![]);
    let shown = crate::tui::sample::text(&crate::tui::sample::frame(&mut state, &crate::tui::theme::Theme::ansi(true)));
    assert!(shown.contains("this device was revoked") && shown.contains("What it holds stays here"), "{shown}");
}

#[test]
fn a_team_is_made_in_the_app() {
    let mut state = app(SIZE, Opening { screen: Some(Screen::Peers), ..Opening::default() });
    press(&mut state, "n");
    assert!(written(&press(&mut state, "ctrl-s")).is_none(), "it needs a name");
    let out = press(&mut state, "c o r e ctrl-s");
    let Some((ticket, WriteRequest::CreateTeam(request))) = written(&out) else { panic!("{out:?}") };
    assert_eq!((request.name.as_str(), request.scopes.clone()), ("core", vec![scope("api")]));
    let made = crate::api::TeamView {
        id: crate::domain::EventId([7; 32]),
        name: "core".into(),
        role: crate::api::Role::Admin,
        scopes: vec![],
        members: 1,
        summary: "Made the team “core”".into(),
    };
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::TeamMade(Box::new(made)))));
    assert!(state.overlay.is_none() && toasts(&state).contains("Made the team “core”."));
}

#[test]
fn a_team_is_joined_in_the_app_by_words_that_both_screens_show() {
    use crate::tui::sample::screens::join;
    let mut state = app(SIZE, Opening { screen: Some(Screen::Peers), ..Opening::default() });
    press(&mut state, "J");
    step(&mut state, Msg::Paste("ergo1abc".into()));
    let out = press(&mut state, "ctrl-s");
    let Some((ticket, WriteRequest::JoinTeam(request))) = written(&out) else { panic!("{out:?}") };
    assert_eq!(request.ticket.as_deref(), Some("ergo1abc"));
    assert!(state.log.iter().all(|line| !line.text.contains("ergo1abc")), "a ticket is nothing for a log");
    let waiting = join(crate::api::JoinState::Waiting);
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Join(Box::new(waiting)))));
    let Some(Overlay::Page(page)) = &state.overlay else { panic!() };
    assert!(page.text.as_deref().is_some_and(|text| text.contains("anvil copper lemon tiger orbit maple")));
    assert!(
        !step(&mut state, Msg::Woken).iter().any(|effect| matches!(effect, Effect::Read(_, ReadRequest::Joined(_))))
    );
    state.now += 1_000;
    let out = step(&mut state, Msg::Woken);
    assert!(out.iter().any(|effect| matches!(effect, Effect::Read(_, ReadRequest::Joined(_)))), "it asks by itself");
    settle(&mut state, out);
    assert!(state.overlay.is_none() && toasts(&state).contains("This device is in core."));
}

#[test]
fn a_slow_daemon_does_not_end_the_wait_for_the_other_device_and_a_restarted_one_says_so() {
    use crate::tui::sample::screens::join;
    let mut state = app(SIZE, Opening { screen: Some(Screen::Peers), ..Opening::default() });
    press(&mut state, "J");
    step(&mut state, Msg::Paste("ergo1abc".into()));
    let (ticket, _) = written(&press(&mut state, "ctrl-s")).unwrap();
    let waiting = join(crate::api::JoinState::Waiting);
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Join(Box::new(waiting)))));
    for kind in [FailureKind::Timeout, FailureKind::NotFound] {
        state.now += 1_000;
        let out = step(&mut state, Msg::Woken);
        let ticket = out.iter().find_map(|effect| match effect {
            Effect::Read(ticket, ReadRequest::Joined(_)) => Some(*ticket),
            _ => None,
        });
        step(&mut state, Msg::Reply(ticket.unwrap(), Err(failure(kind))));
    }
    let Some(Overlay::Page(page)) = &state.overlay else { panic!() };
    assert_eq!(page.error.as_ref().map(|(error, _)| error.as_str()), Some("it went wrong"));
    assert!(state.peers.joining.is_none());
}

#[test]
fn a_read_only_app_admits_nobody_and_does_not_sync() {
    let mut state = peers();
    state.settings.read_only = true;
    for keys in ["enter", "i", "x", "c"] {
        assert_eq!(written(&press(&mut state, keys)), None, "{keys}");
        assert!(state.overlay.is_none() && toasts(&state).contains("--read-only"), "{keys}: {}", toasts(&state));
        state.toasts.clear();
    }
}

#[test]
fn enter_on_an_expired_request_asks_nothing() {
    let mut state = peers();
    state.now = state.waiting().unwrap().expires_at;
    press(&mut state, "enter");
    assert!(state.overlay.is_none() && toasts(&state).contains("expired"), "{}", toasts(&state));
}

#[test]
fn the_words_of_a_join_wait_until_what_was_opened_meanwhile_is_closed() {
    use crate::tui::sample::screens::join;
    let mut state = peers();
    press(&mut state, "J");
    step(&mut state, Msg::Paste("ergo1abc".into()));
    let (ticket, _) = written(&press(&mut state, "ctrl-s")).unwrap();
    press(&mut state, "esc ? a");
    let waiting = join(crate::api::JoinState::Waiting);
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Join(Box::new(waiting)))));
    assert!(matches!(state.overlay, Some(Overlay::Palette(_))), "{:?}", state.overlay);
    assert!(toasts(&state).contains("words to compare"), "{}", toasts(&state));
    press(&mut state, "esc");
    let Some(Overlay::Page(page)) = &state.overlay else { panic!("{:?}", state.overlay) };
    assert!(page.text.as_deref().is_some_and(|text| text.contains("anvil copper lemon tiger orbit maple")));
}
