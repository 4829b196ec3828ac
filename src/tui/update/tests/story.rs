//! Tests of the Timeline as a story.

use super::*;
use crate::tui::state::{Focus, story::StoryRow};

fn on_the_story() -> AppState {
    let opening = Opening { screen: Some(Screen::Timeline), scope: Some(scope("api")), ..Opening::default() };
    let mut state = app(SIZE, opening);
    press(&mut state, "v");
    state
}

#[test]
fn the_story_is_read_for_the_scope_and_back_shows_the_acts() {
    let mut state = on_the_story();
    let story = state.story().unwrap();
    assert_eq!(story.rows().len(), 8);
    assert!(
        matches!(story.current(), Some(StoryRow::Mark(mark)) if mark.claims.len() == 3),
        "the newest mark is first"
    );
    press(&mut state, "enter");
    assert_eq!(state.timeline.focus, Focus::Detail);
    press(&mut state, "esc esc");
    assert!(state.story().is_none() && state.screen == Screen::Timeline);
}

#[test]
fn a_key_leads_from_a_mark_to_what_settles_it() {
    let mut state = on_the_story();
    press(&mut state, "o");
    assert!(matches!(state.screen, Screen::Inbox | Screen::Cards), "the reversal has a card");
    let mut state = on_the_story();
    press(&mut state, "j o");
    assert_eq!((state.screen, state.why.subject.clone()), (Screen::Why, Some(Subject::Claim(id(93).to_hex()))));
}

#[test]
fn acts_are_not_acted_on_while_the_story_is_shown() {
    let mut state = on_the_story();
    assert!(written(&press(&mut state, "x")).is_none());
    assert!(toasts(&state).contains("no change is under the cursor"));
    press(&mut state, "v o");
    assert!(toasts(&state).contains("to show the story"));
}

#[test]
fn another_period_reads_the_story_anew() {
    let mut state = on_the_story();
    state.now += 500;
    let out = step(&mut state, Msg::Key(KeyPress::char('f')));
    let since = out.iter().find_map(|effect| match effect {
        Effect::Read(_, ReadRequest::Story(query)) => Some(query.since),
        _ => None,
    });
    assert!(since.is_some(), "{out:?}");
}

#[test]
fn matches_are_found_among_its_rows() {
    let mut state = on_the_story();
    state.claims.search = "postgres".into();
    press(&mut state, "n");
    assert_eq!(state.story().unwrap().row(), 1);
    press(&mut state, "n n n");
    assert!(toasts(&state).contains("last match"), "{}", toasts(&state));
}

#[test]
fn a_question_of_the_story_is_answered_with_y_or_n_and_a_reason() {
    for (key, act) in [("y", CardAct::Yes), ("n", CardAct::No)] {
        let mut state = cards();
        let view = crate::tui::sample::screens::story_card();
        let summary = crate::api::CardSummary { id: card_id(1), ..view.summary.clone() };
        state.conflicts.list.update(summary.id, |row| *row = summary.clone());
        state.conflicts.card = Some(crate::tui::state::conflicts::Card::new(crate::api::CardView { summary, ..view }));
        press(&mut state, "a");
        assert!(state.overlay.is_none(), "sides are not kept on it");
        press(&mut state, key);
        let Some(Overlay::Form(form)) = &state.overlay else { panic!("no form") };
        assert!(form.effect.contains("supersedes"), "what it does is said beforehand: {}", form.effect);
        let out = press(&mut state, "x ctrl-s");
        let Some((_, WriteRequest::Resolve { request, .. })) = written(&out) else { panic!("{out:?}") };
        assert_eq!((request.act, request.reason.ends_with('x')), (act, true));
    }
}

/// A story card under the cursor.
fn story_card() -> AppState {
    let mut state = cards();
    let view = crate::tui::sample::screens::story_card();
    let summary = crate::api::CardSummary { id: card_id(1), ..view.summary.clone() };
    state.conflicts.list.update(summary.id, |row| *row = summary.clone());
    state.conflicts.card = Some(crate::tui::state::conflicts::Card::new(crate::api::CardView { summary, ..view }));
    state
}

#[test]
fn why_on_a_story_card_shows_the_newest_claim() {
    let mut state = story_card();
    let newest = state.selected_card().unwrap().view.sides.iter().max_by_key(|side| side.claim.at).unwrap().claim.id;
    press(&mut state, "w");
    assert_eq!((state.screen, state.why.subject.clone()), (Screen::Why, Some(Subject::Claim(newest.to_hex()))));
}

#[test]
fn dismissing_a_story_card_is_not_called_a_contradiction_of_a_pair() {
    let mut state = story_card();
    press(&mut state, "d");
    let Some(Overlay::Form(form)) = &state.overlay else { panic!("no form") };
    assert!(form.effect.starts_with("Nothing is unclear") && !form.effect.contains("pair"), "{}", form.effect);
}

#[test]
fn a_late_answer_is_not_shown_as_the_story_of_another_scope() {
    let story = |out: &[Effect]| {
        out.iter().find_map(|effect| match effect {
            Effect::Read(ticket, ReadRequest::Story(query)) => Some((*ticket, query.project.clone())),
            _ => None,
        })
    };
    let mut state = on_the_story();
    let (late, project) = story(&step(&mut state, Msg::Key(KeyPress::char('f')))).unwrap();
    assert_eq!(project, "api");
    state.scope = Some(scope("web"));
    let (_, project) = story(&step(&mut state, Msg::Woken)).expect("the story of the other scope is not waited for");
    assert_eq!(project, "web");
    step(&mut state, Msg::Reply(late, Ok(RequestAnswer::Story(Box::new(crate::tui::sample::screens::story())))));
    assert!(state.story().unwrap().story.is_none());
}
