//! The question about a held write, the pairs to judge, and the story.

use super::*;
use crate::{
    domain::TextWriter,
    tui::{
        msg::{RequestAnswer, RequestId, Slot},
        sample::{scope, screens},
    },
};

/// The form of the question, as if its write had just been answered.
fn question(size: (u16, u16)) -> AppState {
    let mut state = screen(size, Screen::Claims);
    press(&mut state, "+ a tab b ctrl-s");
    let ticket: RequestId = state.ticket(Slot::Act);
    let outcome = crate::api::WriteOutcome::Consider(screens::consider());
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Outcome(Box::new(outcome)))));
    state.toasts.clear();
    state
}

#[test]
fn a_held_write_is_asked_about_in_a_line_a_claim() {
    for size in [(120, 40), (80, 24), (60, 16)] {
        let mut state = question(size);
        press(&mut state, "k");
        shot(&format!("held_form_{}x{}", size.0, size.1), &mut state);
        press(&mut state, "r");
        shot(&format!("held_answered_{}x{}", size.0, size.1), &mut state);
    }
    let ascii = text(&frame(&mut question((80, 24)), &Theme::mono(false)));
    assert!(ascii.is_ascii() || !ascii.contains(['│', '─', '▌']), "{ascii}");
}

fn judging_screen(size: (u16, u16)) -> AppState {
    let opening = Opening { screen: Some(Screen::Timeline), scope: Some(scope("api")), ..Opening::default() };
    let mut state = app(size, opening);
    press(&mut state, "v");
    state
}

#[test]
fn the_story_of_a_scope_with_its_turns() {
    for size in [(120, 40), (80, 24), (60, 16)] {
        let mut state = judging_screen(size);
        shot(&format!("story_{}x{}", size.0, size.1), &mut state);
        press(&mut state, "enter");
        shot(&format!("story_mark_{}x{}", size.0, size.1), &mut state);
    }
    let mut state = judging_screen((120, 40));
    press(&mut state, "j j j j");
    shot("story_claim_120x40", &mut state);
    let mut state = judging_screen((80, 24));
    insta::assert_snapshot!("story_ascii_80x24", text(&frame(&mut state, &Theme::mono(false))));
    let ticket = state.ticket(Slot::Story);
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Story(Box::default()))));
    shot("story_empty_80x24", &mut state);
}

#[test]
fn the_story_names_who_wrote_a_text_and_who_accepted_it() {
    let mut state = judging_screen((120, 40));
    let mut story = screens::story();
    for claim in &mut story.claims {
        claim.provenance.text_writer = Some(TextWriter { who: "max".into(), agent: None });
    }
    let ticket = state.ticket(Slot::Story);
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Story(Box::new(story)))));
    let shown = text(&frame(&mut state, &Theme::mono(true)));
    assert!(shown.contains("max, accepted by"), "{shown}");
}

#[test]
fn pairs_to_judge_with_what_differs_and_what_each_key_does() {
    for size in [(120, 40), (80, 24), (60, 16), (40, 10)] {
        let mut state = screen(size, Screen::Inbox);
        let ticket = state.ticket(Slot::Inbox);
        let inbox = crate::api::Inbox { doubts: 14, ..screens::three_cards() };
        let out = step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Inbox(inbox))));
        crate::tui::sample::settle(&mut state, out);
        press(&mut state, "G");
        shot(&format!("pairs_inbox_{}x{}", size.0, size.1), &mut state);
        press(&mut state, "enter");
        shot(&format!("judging_{}x{}", size.0, size.1), &mut state);
        press(&mut state, "r");
        press(&mut state, "N");
        shot(&format!("judging_given_{}x{}", size.0, size.1), &mut state);
    }
    let mut state = screen((80, 24), Screen::Inbox);
    let ticket = state.ticket(Slot::Inbox);
    let inbox = crate::api::Inbox { doubts: 1, ..crate::api::Inbox::default() };
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Inbox(inbox))));
    press(&mut state, "J");
    insta::assert_snapshot!("judging_ascii_80x24", text(&frame(&mut state, &Theme::mono(false))));
    let ticket = state.ticket(Slot::Doubts);
    if let Some(Overlay::Judging(judging)) = &mut state.overlay {
        judging.pairs.clear();
    }
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Doubts(crate::api::Doubts::default()))));
    shot("judging_nothing_80x24", &mut state);
}

#[test]
fn a_question_of_the_story_says_what_each_answer_does() {
    for size in [(120, 40), (80, 24), (60, 16)] {
        let mut state = screen(size, Screen::Cards);
        let view = screens::story_card();
        let summary = crate::api::CardSummary { id: crate::tui::sample::card_id(1), ..view.summary.clone() };
        state.conflicts.list.update(summary.id, |row| *row = summary.clone());
        state.conflicts.card = Some(Card::new(crate::api::CardView { summary, ..view }));
        shot(&format!("story_card_list_{}x{}", size.0, size.1), &mut state);
        state.conflicts.focus = Focus::Detail;
        shot(&format!("story_card_{}x{}", size.0, size.1), &mut state);
        press(&mut state, "y");
        shot(&format!("story_card_yes_{}x{}", size.0, size.1), &mut state);
    }
}
