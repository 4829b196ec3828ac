//! Tests of the Timeline, the log, Models, the tour, and the filters of the claims.

use super::*;
use crate::tui::{
    drift::Drift,
    sample::NOW,
    state::{acts::Period, search_line::VerdictChoice},
};

fn at(screen: Screen) -> AppState {
    app(SIZE, Opening { screen: Some(screen), ..Opening::default() })
}

/// Returns the last query of a kind among effects.
fn asked<T>(effects: &[Effect], of: impl Fn(&ReadRequest) -> Option<T>) -> Option<T> {
    effects.iter().rev().find_map(|effect| match effect {
        Effect::Read(_, read) => of(read),
        _ => None,
    })
}

/// Presses a key, and returns all effects.
fn key(state: &mut AppState, key: &str) -> Vec<Effect> {
    state.now += 500;
    step(state, Msg::Key(KeyPress::parse(key).unwrap()))
}

#[test]
fn the_timeline_begins_where_the_person_left_and_goes_further_back() {
    let mut state = at(Screen::Claims);
    let out = key(&mut state, "5");
    let log = |read: &ReadRequest| match read {
        ReadRequest::Log(query) => Some(query.clone()),
        _ => None,
    };
    let query = asked(&out, log).unwrap();
    assert_eq!((query.since, query.acts), (state.settings.last_here, true));
    settle(&mut state, out);
    let out = key(&mut state, "f");
    assert_eq!(asked(&out, log).unwrap().since, Some(NOW - (14 + 24) * 3_600_000), "since yesterday began");
    settle(&mut state, out);
    press(&mut state, "f");
    let out = key(&mut state, "f");
    assert_eq!(asked(&out, log).unwrap().since, None);
    assert_eq!(state.timeline.span, Period::All);
}

#[test]
fn an_act_of_the_log_is_taken_back_by_its_id_and_what_cannot_be_says_why() {
    let mut state = at(Screen::Timeline);
    assert!(written(&press(&mut state, "x")).is_none());
    assert!(toasts(&state).contains("nothing was stored"), "{}", toasts(&state));
    let out = press(&mut state, "j x");
    let Some((_, WriteRequest::Undo(request))) = written(&out) else { panic!() };
    assert_eq!(request.target_op, Some(OpId([2; 16])));
    assert!(state.log.iter().any(|line| line.text.starts_with("$ ergo undo ")));
    let mut state = at(Screen::Timeline);
    press(&mut state, "j j j j x");
    assert!(toasts(&state).contains("already undone"));
}

#[test]
fn the_command_line_of_an_act_is_copied() {
    let mut state = at(Screen::Timeline);
    let out = press(&mut state, "j j j c");
    let line = out.iter().find_map(|effect| match effect {
        Effect::Copy { text, .. } => Some(text.clone()),
        _ => None,
    });
    let line = line.unwrap();
    assert!(line.starts_with("ergo retract "), "{line}");
}

#[test]
fn the_models_are_asked_for_when_they_are_looked_at_and_not_before() {
    let mut state = at(Screen::Inbox);
    assert!(state.models.diagnose.is_none());
    press(&mut state, "6");
    assert_eq!(state.models.diagnose.as_ref().unwrap().guard.waiting, 17);
}

#[test]
fn the_tour_has_three_cards_is_skipped_with_one_key_and_remembered() {
    let mut with = settings();
    with.tour = true;
    let mut state = AppState::new(with, SIZE, NOW);
    super::super::open(&mut state, Opening::default());
    assert!(matches!(state.overlay, Some(Overlay::Tour { page: 0 })));
    assert!(!press(&mut state, "enter enter").contains(&Effect::Toured));
    assert!(matches!(state.overlay, Some(Overlay::Tour { page: 2 })));
    assert!(press(&mut state, "enter").contains(&Effect::Toured));
    assert!(state.overlay.is_none());
    press(&mut state, "ctrl-t");
    assert!(press(&mut state, "esc").contains(&Effect::Toured), "it can be seen again, and skipped");
    assert!(state.overlay.is_none());
}

#[test]
fn the_claims_are_filtered_by_keys_and_by_the_search_line() {
    let claims = |read: &ReadRequest| match read {
        ReadRequest::Claims(query) => Some((**query).clone()),
        _ => None,
    };
    let mut state = at(Screen::Claims);
    let out = key(&mut state, "m");
    assert_eq!(asked(&out, claims).unwrap().verdict.as_deref(), Some("disputed"));
    settle(&mut state, out);
    let out = key(&mut state, "t");
    assert_eq!(asked(&out, claims).unwrap().since, Some(NOW - 24 * 3_600_000));
    settle(&mut state, out);
    let out = key(&mut state, "p");
    assert_eq!(asked(&out, claims).unwrap().who.as_deref(), Some("zoe"));
    settle(&mut state, out);
    let out = key(&mut state, "o");
    assert_eq!(asked(&out, claims).unwrap().source.as_deref(), Some("docs/adr/0004-canary.md"), "the line is left out");
    settle(&mut state, out);
    let out = key(&mut state, "esc");
    assert_eq!(asked(&out, claims).unwrap().verdict, None, "esc clears them");
    assert_eq!(state.screen, Screen::Claims);
    settle(&mut state, out);
    state.claims.search = "canary by:max guard:warned since:7d".into();
    let query = state.claims.query(None, (NOW, &state.settings.zone), None).unwrap();
    assert_eq!((query.q.as_deref(), query.who.as_deref()), (Some("canary"), Some("max")));
    assert_eq!(query.verdict.as_deref(), Some(VerdictChoice::Warned.as_str()));
    assert_eq!(query.since, Some(NOW - 7 * 24 * 3_600_000));
}

#[test]
fn the_sources_of_a_chain_are_compared_and_marked() {
    let mut state = at(Screen::Claims);
    let out = press(&mut state, "enter");
    let compared = out.iter().find_map(|effect| match effect {
        Effect::Compare(sources) => Some(sources.clone()),
        _ => None,
    });
    let compared = compared.unwrap();
    assert_eq!(compared.len(), 3, "each claim of the chain names a line of this project");
    let first = compared[0].0;
    step(&mut state, Msg::Drifted(vec![(first, Drift::Moved(31))]));
    assert_eq!(state.why.drifts.get(&first), Some(&Drift::Moved(31)));
}

#[test]
fn the_key_of_why_leads_there_and_types_nothing() {
    let mut state = app(SIZE, Opening::default());
    press(&mut state, "3");
    assert_eq!((state.screen, state.overlay.is_none()), (Screen::Why, true));
    let out = press(&mut state, "q");
    assert!(out.contains(&Effect::Quit), "a key that follows is a key: {out:?}");
    // The chain that was read last is shown again.
    press(&mut state, "2 w");
    let before = state.why.subject.clone();
    assert!(before.is_some());
    press(&mut state, "1 3");
    assert_eq!((state.screen, &state.why.subject), (Screen::Why, &before));
    press(&mut state, "a");
    assert!(matches!(state.overlay, Some(Overlay::Prompt(_))));
}

#[test]
fn no_act_is_about_a_claim_behind_an_error() {
    let mut state = app(SIZE, Opening { screen: Some(Screen::Claims), ..Opening::default() });
    press(&mut state, "enter");
    assert!(state.selected_claim().is_some());
    let ticket = state.ticket(Slot::Why);
    step(&mut state, Msg::Reply(ticket, Err(failure(FailureKind::NotFound))));
    assert!(state.selected_claim().is_none());
    press(&mut state, "j r");
    assert!(state.overlay.is_none());
    assert!(toasts(&state).contains("no claim is under the cursor"), "{}", toasts(&state));
}

#[rstest::rstest]
#[case("assert", Some("Blue"), None)]
#[case("fact_set", Some("Blue"), None)]
#[case("supersede", Some("Blue"), None)]
#[case("supersede", None, None)]
#[case("local.refused", Some("Blue"), None)]
#[case("judgement.same", None, None)]
#[case("retract", None, Some("ergo retract "))]
#[case("local.found", None, Some("ergo audit --scope acme/api"))]
fn only_a_change_that_is_known_in_full_has_a_command_line(
    #[case] kind: &str,
    #[case] statement: Option<&str>,
    #[case] expected: Option<&str>,
) {
    let event = crate::tui::sample::screens::event(2, kind, statement);
    let command = super::super::command_of(&event);
    assert_eq!(command.is_some(), expected.is_some(), "{command:?}");
    assert!(command.unwrap_or_default().starts_with(expected.unwrap_or_default()));
}

#[test]
fn a_late_text_fills_no_page_that_was_opened_since() {
    let mut state = at(Screen::Claims);
    let out = step(&mut state, Msg::Key(KeyPress::char('P')));
    let late = out.iter().find_map(|effect| match effect {
        Effect::Read(ticket, read @ ReadRequest::Snapshot(_)) => Some((*ticket, answer(read))),
        _ => None,
    });
    let (ticket, reply) = late.unwrap();
    press(&mut state, "esc");
    let page = crate::tui::state::page::TextPage::new(crate::tui::state::page::PageSubject::Join);
    state.overlay = Some(Overlay::Page(Box::new(page)));
    step(&mut state, Msg::Reply(ticket, Ok(reply)));
    assert!(matches!(&state.overlay, Some(Overlay::Page(page)) if page.text.is_none()));
}

#[test]
fn a_claim_in_a_list_shows_its_conditions() {
    let mut state = app(SIZE, Opening { screen: Some(Screen::Claims), ..Opening::default() });
    let first = state.claims.list.anchor().unwrap();
    state.claims.list.update(first, |claim| claim.qualifiers.env = Some("staging".into()));
    let theme = crate::tui::theme::Theme::ansi(true);
    let screen = crate::tui::sample::text(&crate::tui::sample::frame(&mut state, &theme));
    assert!(screen.contains("(env staging)"), "{screen}");
}

#[test]
fn a_change_does_not_cancel_the_pending_reading_of_the_models() {
    let mut state = at(Screen::Claims);
    state.requests.diagnose = true;
    step(&mut state, Msg::Live(Live::Change(Box::default())));
    assert!(state.requests.diagnose);
}

#[test]
fn the_wheel_beside_the_log_does_not_move_the_screen_below() {
    let mut state = at(Screen::Cards);
    press(&mut state, "@");
    let before = state.conflicts.list.cursor();
    for column in 0..SIZE.0 {
        step(&mut state, Msg::Mouse { kind: crossterm::event::MouseEventKind::ScrollDown, column, row: 10 });
    }
    assert_eq!(state.conflicts.list.cursor(), before);
}

#[test]
fn the_log_is_closed_by_the_key_that_closes_a_page() {
    for key in ["q", "esc", "backspace"] {
        let mut state = at(Screen::Claims);
        press(&mut state, "@");
        assert!(matches!(state.overlay, Some(Overlay::Log { .. })));
        let out = press(&mut state, &format!("enter tab {key}"));
        assert!(state.overlay.is_none() && !out.contains(&Effect::Quit), "{key}: {out:?}");
        assert_eq!(
            state.claims.focus,
            crate::tui::state::claims::ClaimsFocus::default(),
            "the screen below got no key"
        );
    }
}
