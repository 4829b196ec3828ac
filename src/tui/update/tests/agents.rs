//! Tests of the Agents screen, of setting agents up, and of recomputing vectors.

use super::*;
use crate::{
    api::Reembedded,
    tui::{
        sample::agents::SETUP,
        state::{agents::AgentListing, page::PageSubject},
    },
};

fn at(screen: Screen) -> AppState {
    app(SIZE, Opening { screen: Some(screen), ..Opening::default() })
}

/// Returns the queries for logs among effects.
fn logs(out: &[Effect]) -> Vec<crate::api::LogQuery> {
    let asked = |effect: &Effect| match effect {
        Effect::Read(_, ReadRequest::Log(query)) => Some(query.clone()),
        _ => None,
    };
    out.iter().filter_map(asked).collect()
}

fn key(state: &mut AppState, key: &str) -> Vec<Effect> {
    state.now += 500;
    step(state, Msg::Key(KeyPress::parse(key).unwrap()))
}

#[test]
fn what_each_agent_did_was_refused_and_was_given_is_listed() {
    let mut state = at(Screen::Agents);
    assert_eq!(state.agents.entry().unwrap().name.as_deref(), Some("claude-code"));
    let out = key(&mut state, "j");
    assert_eq!(logs(&out)[0].who.as_deref(), Some("codex-mcp-client"), "the list follows the cursor");
    settle(&mut state, out);
    let out = key(&mut state, "f");
    assert!(logs(&out)[0].refused);
    settle(&mut state, out);
    let out = key(&mut state, "f");
    assert_eq!(
        (state.agents.shown, logs(&out).len()),
        (AgentListing::Injected, 0),
        "what hooks gave is of this machine"
    );
    press(&mut state, "enter enter");
    assert_eq!((state.screen, &state.why.subject), (Screen::Why, &Some(Subject::Claim(id(12).to_hex()))));
    press(&mut state, "esc esc f");
    assert_eq!((state.screen, state.agents.shown), (Screen::Agents, AgentListing::Acts));
}

#[test]
fn a_message_says_what_another_writer_proposed_or_was_refused() {
    for (act, what) in [
        ("refused", "A claim by max via claude-code was refused"),
        ("proposed", "Proposed to retract “Deploy every Friday” (by max via claude-code)"),
    ] {
        let mut state = at(Screen::Claims);
        let change = Change {
            event: "change".into(),
            act: act.into(),
            who: "max".into(),
            agent: Some("claude-code".into()),
            summary: "Proposed to retract “Deploy every Friday”.".into(),
            ..Change::default()
        };
        step(&mut state, Msg::Live(Live::Change(Box::new(change))));
        assert_eq!(toasts(&state), format!("{what}: a new card is in the Inbox."));
    }
}

#[test]
fn a_refused_write_opens_its_card_and_another_act_its_claim() {
    let mut state = at(Screen::Agents);
    press(&mut state, "enter");
    let out = key(&mut state, "enter");
    assert_eq!(state.screen, Screen::Inbox);
    let card =
        out.iter().any(|effect| matches!(effect, Effect::Read(_, ReadRequest::Card(id)) if id.starts_with("0101")));
    assert!(card, "{out:?}");
    let mut state = at(Screen::Agents);
    press(&mut state, "enter j enter");
    assert_eq!(state.screen, Screen::Why);
}

#[test]
fn who_comes_and_goes_is_read_again_and_is_no_news() {
    let mut state = at(Screen::Agents);
    let change = Change { event: "change".into(), act: "agent.came".into(), who: "codex".into(), ..Change::default() };
    let out = step(&mut state, Msg::Live(Live::Change(Box::new(change.clone()))));
    assert!(out.iter().any(|effect| matches!(effect, Effect::Read(_, ReadRequest::Agents(_)))));
    assert!(state.last_change.is_none());
    let mut state = at(Screen::Claims);
    let out = step(&mut state, Msg::Live(Live::Change(Box::new(change))));
    assert!(out.is_empty(), "elsewhere nobody asks: {out:?}");
}

#[test]
fn setup_is_shown_first_and_written_after_another_key() {
    let mut state = at(Screen::Agents);
    press(&mut state, "i");
    let Some(Overlay::Page(page)) = &state.overlay else { panic!("{:?}", state.overlay) };
    assert_eq!((&page.about, page.text.as_deref()), (&PageSubject::Setup { remove: false }, Some(SETUP)));
    let out = press(&mut state, "a");
    assert!(written(&out).is_none());
    let Some(Overlay::Confirm(confirm)) = &state.overlay else { panic!("{:?}", state.overlay) };
    assert!(confirm.effect.starts_with("This changes 2 files."), "{}", confirm.effect);
    assert!(written(&press(&mut state, "a")).is_none(), "the key that asked does not answer");
    let (ticket, write) = written(&press(&mut state, "y")).unwrap();
    assert_eq!(write, WriteRequest::Setup { remove: false });
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Setup("…\n\nClaude Code know of ergo now".into()))));
    assert_eq!(state.toasts.last().unwrap().text, "Claude Code know of ergo now.");
    assert!(state.log.iter().any(|line| line.text == "$ ergo setup"), "the command line of it is in the log");
}

#[test]
fn nothing_to_write_and_an_app_that_may_not_write_say_so() {
    let mut state = at(Screen::Agents);
    press(&mut state, "x");
    let Some(Overlay::Page(page)) = &mut state.overlay else { panic!() };
    page.text = Some("Claude Code: knows nothing of ergo. Nothing changes.".into());
    press(&mut state, "a");
    assert!(matches!(state.overlay, Some(Overlay::Page(_))));
    assert!(state.toasts.last().unwrap().text.contains("there is nothing to remove"));
    let mut state = at(Screen::Agents);
    state.settings.read_only = true;
    press(&mut state, "i a");
    assert!(state.toasts.last().unwrap().text.contains("--read-only"));
    let mut state = at(Screen::Agents);
    state.settings.demonstration = true;
    press(&mut state, "i a");
    assert!(matches!(state.overlay, Some(Overlay::Page(_))));
    assert!(state.toasts.last().unwrap().text.contains("not in the demonstration"));
}

#[test]
fn vectors_are_made_step_by_step_until_all_are_there() {
    let mut state = at(Screen::Models);
    let reembed = |out: &[Effect]| {
        out.iter().find_map(|effect| match effect {
            Effect::Write(ticket, write) if **write == WriteRequest::Reembed => Some(*ticket),
            _ => None,
        })
    };
    let ticket = reembed(&press(&mut state, "e")).unwrap();
    press(&mut state, "e");
    assert!(state.toasts.last().unwrap().text.contains("the vectors are already being recomputed"));
    let half = Reembedded { model: "mini".into(), done: 40, total: 90, finished: false };
    let out = step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Reembedded(half.clone()))));
    assert_eq!(state.models.reembed, Some(half.clone()));
    let ticket = reembed(&out).unwrap();
    let all = Reembedded { done: 90, finished: true, ..half };
    let out = step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Reembedded(all))));
    assert_eq!((reembed(&out), state.models.reembed.is_none()), (None, true));
    assert!(state.toasts.last().unwrap().text.contains("Recomputed all 90 vectors"));
}

#[test]
fn the_daemon_is_asked_again_while_texts_wait_for_their_vectors() {
    let mut state = at(Screen::Models);
    let mut busy = crate::tui::sample::screens::diagnose();
    busy.unembedded.chunks = 40;
    let ticket = state.ticket(crate::tui::msg::Slot::Diagnose);
    let out = step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Diagnose(Box::new(busy)))));
    let wake = state.now + 1_000;
    assert!(out.contains(&Effect::Wake(wake)), "{out:?}");
    assert!(step(&mut state, Msg::Woken).is_empty(), "not before its time");
    step(&mut state, Msg::Clock(wake));
    let out = step(&mut state, Msg::Woken);
    assert!(out.iter().any(|effect| matches!(effect, Effect::Read(_, ReadRequest::Diagnose))));
    settle(&mut state, out);
    step(&mut state, Msg::Clock(wake + 5_000));
    assert!(step(&mut state, Msg::Woken).is_empty(), "and no longer once nothing waits");
}

#[test]
fn the_acts_of_one_agent_are_not_shown_under_the_name_of_another() {
    let mut state = app(SIZE, Opening { screen: Some(Screen::Agents), ..Opening::default() });
    assert!(!state.agents.list.is_empty());
    let out = key(&mut state, "j");
    assert!(state.agents.list.is_empty());
    let ticket = out.iter().find_map(|effect| match effect {
        Effect::Read(ticket, ReadRequest::Log(_)) => Some(*ticket),
        _ => None,
    });
    step(&mut state, Msg::Reply(ticket.unwrap(), Err(failure(FailureKind::Refused))));
    let theme = crate::tui::theme::Theme::ansi(true);
    let shown = crate::tui::sample::text(&crate::tui::sample::frame(&mut state, &theme));
    assert!(shown.contains("it went wrong") && !shown.contains("loading"), "{shown}");
    key(&mut state, "tab");
    key(&mut state, "enter");
    assert_eq!(state.screen, Screen::Agents, "there is nothing to open");
}
