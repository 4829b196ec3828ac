//! Tests of search matches on screens and pages, of the highlighted words of a card, and of messages about copies.

use super::*;
use crate::tui::{
    clipboard::{ClipboardEnvironment, Copied},
    hits::HitMap,
    state::conflicts::HighlightMode,
};

fn searched(screen: Screen, words: &str) -> AppState {
    let claim = (screen == Screen::Why).then(|| "14".to_owned());
    let mut state = app(SIZE, Opening { screen: Some(screen), claim, ..Opening::default() });
    state.claims.search = words.into();
    state
}

#[test]
fn on_the_why_chain_and_the_log_a_match_is_what_has_the_words() {
    let mut state = searched(Screen::Why, "fridays ");
    press(&mut state, "g n");
    assert_eq!(state.why.current_claim().map(|claim| claim.statement.as_str()), Some("Deploy every Friday"));
    press(&mut state, "n");
    assert!(toasts(&state).contains("the last match"), "{}", toasts(&state));
    press(&mut state, "N");
    assert!(toasts(&state).contains("the first match"), "{}", toasts(&state));

    let mut state = searched(Screen::Timeline, "staging");
    press(&mut state, "n");
    assert_eq!(state.timeline.list.current().map(|event| event.kind.as_str()), Some("fact_set"));
    press(&mut state, "N");
    assert_eq!(state.timeline.list.cursor(), 6, "nothing before it has the word");
}

#[test]
fn on_claims_every_row_is_a_match() {
    let mut state = searched(Screen::Claims, "canary");
    press(&mut state, "n n N");
    assert_eq!(state.claims.row(), 1);
    press(&mut state, "N N");
    assert_eq!(state.claims.row(), 0);
    assert!(toasts(&state).contains("the first match"));
}

#[test]
fn without_a_search_the_key_says_what_to_do() {
    for screen in [Screen::Claims, Screen::Why, Screen::Timeline] {
        let mut state = searched(screen, " by:max ");
        press(&mut state, "n");
        assert!(toasts(&state).contains("Next match: there is no search: / starts one."), "{}", toasts(&state));
    }
}

#[test]
fn a_page_is_searched_as_one_types_and_escape_goes_back_one_step() {
    let mut state = app((80, 24), Opening { screen: Some(Screen::Claims), ..Opening::default() });
    press(&mut state, "P n");
    assert!(toasts(&state).contains("/ searches this page"), "{}", toasts(&state));
    press(&mut state, "/ s o r t space 2");
    let page = |state: &AppState| match &state.overlay {
        Some(Overlay::Page(page)) => page.clone(),
        other => panic!("{other:?}"),
    };
    // Lines 2, and 20 to 29.
    assert_eq!((page(&state).matches().len(), page(&state).shown_match()), (11, Some(0)));
    press(&mut state, "enter n N N");
    assert_eq!(page(&state).shown_match(), Some(10), "round and round");
    let painted = state.hits.scroll(Pane::Page);
    assert!(painted > 0, "the last match is in view");
    press(&mut state, "k");
    assert_eq!((page(&state).shown_match(), page(&state).scroll(0)), (None, painted - 1), "it scrolls on from there");
    press(&mut state, "esc");
    assert!(page(&state).find.is_none());
    press(&mut state, "/ x esc esc");
    assert!(state.overlay.is_none());
    state.painted(HitMap::default());
}

#[test]
fn a_card_marks_what_tells_the_sides_apart_or_all_that_differs_or_nothing() {
    let mut state = cards();
    press(&mut state, "W");
    assert_eq!(state.conflicts.words, HighlightMode::Off, "what differs is what tells them apart");
    press(&mut state, "W");
    assert_eq!(state.conflicts.words, HighlightMode::Guard);
    let open = state.conflicts.card.as_mut().unwrap();
    open.view.sides[1].claim.statement = "Nobody may ship on a Sunday".into();
    open.compare(1);
    press(&mut state, "W");
    assert_eq!(state.conflicts.words, HighlightMode::Differences);
    press(&mut state, "W n");
    assert_eq!(state.conflicts.words, HighlightMode::Off, "and so on the next card");
}

#[test]
fn what_became_of_a_copy_is_shown_when_it_is_known() {
    let mut state = cards();
    let out = press(&mut state, "C");
    assert!(out.iter().any(|effect| matches!(effect, Effect::Copy { .. })) && state.toasts.is_empty());
    let copied = Copied {
        what: "ergo tui".into(),
        tool: Some("wl-copy"),
        terminal: false,
        place: ClipboardEnvironment::default(),
    };
    step(&mut state, Msg::Copied(copied, None));
    assert_eq!(toasts(&state), "Copied with wl-copy: ergo tui");
}

/// Presses a key on the Timeline of a daemon with 3,000 acts, of which every thousandth is about a needle.
fn press_on_acts(state: &mut AppState, key: &str) {
    let act = |n: u32| {
        let statement = if n % 1_000 == 500 { "the needle" } else { "straw" };
        let mut event = crate::tui::sample::screens::event(2, "assert", Some(statement));
        event.id.0[..4].copy_from_slice(&n.to_be_bytes());
        event
    };
    state.now += 500;
    let mut queue = step(state, Msg::Key(KeyPress::parse(key).unwrap()));
    while let Some(effect) = queue.pop() {
        let Effect::Read(ticket, read) = effect else { continue };
        let reply = match &read {
            ReadRequest::Log(query) => {
                let from: u32 = query.cursor.as_ref().map_or(0, |cursor| cursor.parse().unwrap());
                let end = (from + 200).min(3_000);
                let next = (end < 3_000).then(|| end.to_string());
                RequestAnswer::Log(crate::api::LogPage { items: (from..end).map(act).collect(), total: 3_000, next })
            }
            other => answer(other),
        };
        queue.extend(step(state, Msg::Reply(ticket, Ok(reply))));
    }
}

#[test]
fn a_match_among_acts_that_are_no_longer_in_memory_is_found() {
    let mut state = searched(Screen::Timeline, "needle");
    state.timeline.list.clear();
    press_on_acts(&mut state, "ctrl-r");
    press_on_acts(&mut state, "G");
    assert_eq!(state.timeline.list.cursor(), 2_999);
    for (key, end, rows) in
        [("N", "the first match", [2_500, 1_500, 500]), ("n", "the last match", [500, 1_500, 2_500])]
    {
        let mut found = Vec::new();
        for _ in 0..40 {
            press_on_acts(&mut state, key);
            if toasts(&state).contains(end) {
                break;
            }
            if state.timeline.list.current().is_some_and(|act| act.statement.as_deref() == Some("the needle")) {
                found.push(state.timeline.list.cursor());
            }
        }
        found.dedup();
        assert_eq!(found, rows, "{key}: {}", toasts(&state));
        state.toasts.clear();
        press_on_acts(&mut state, "g");
    }
}
