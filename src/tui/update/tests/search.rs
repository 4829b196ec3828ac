//! Tests of the search, from any screen: claims with the words, and related claims below them; and of the snapshot of a
//! scope.

use super::*;
use crate::{
    api::ClaimsPage,
    tui::{
        sample::{agents, claims},
        state::page::PageSubject,
    },
};

/// An app whose search found no claim with the words.
fn without_words() -> AppState {
    let mut state = app(SIZE, Opening { screen: Some(Screen::Claims), ..Opening::default() });
    let mut queue = Vec::new();
    for key in "/ r o l l enter".split(' ') {
        state.now += 500;
        queue.extend(step(&mut state, Msg::Key(KeyPress::parse(key).unwrap())));
    }
    while let Some(effect) = queue.pop() {
        let Effect::Read(ticket, read) = effect else { continue };
        let reply = match &read {
            ReadRequest::Claims(_) => RequestAnswer::Claims(ClaimsPage::default()),
            other => answer(other),
        };
        queue.extend(step(&mut state, Msg::Reply(ticket, Ok(reply))));
    }
    state
}

#[test]
fn a_search_from_anywhere_shows_claims_and_escape_goes_back_to_where_it_was_opened() {
    for screen in Screen::TABS {
        let mut state = app(SIZE, Opening { screen: Some(screen), ..Opening::default() });
        press(&mut state, "/ c a n");
        assert_eq!((state.screen, state.claims.search.as_str()), (Screen::Claims, "can"), "{screen:?}");
        press(&mut state, "esc");
        assert_eq!((state.screen, state.claims.search.as_str()), (screen, ""), "{screen:?}");
        press(&mut state, "/ c a n enter w");
        assert_eq!(state.screen, Screen::Why, "from a result to its why-chain");
        press(&mut state, "esc");
        assert_eq!(
            (state.screen, state.claims.search.as_str()),
            (Screen::Claims, "can"),
            "the results are still there"
        );
    }
}

#[test]
fn what_is_near_is_asked_for_in_each_scope_and_one_question_at_a_time() {
    let mut state = app(SIZE, Opening { screen: Some(Screen::Claims), ..Opening::default() });
    let recalls = |out: &[Effect]| -> Vec<Vec<String>> {
        let asked = |effect: &Effect| match effect {
            Effect::Read(_, ReadRequest::Recall(requests)) => {
                Some(requests.iter().map(|one| format!("{} in {}", one.query, one.project)).collect())
            }
            _ => None,
        };
        out.iter().filter_map(asked).collect()
    };
    press(&mut state, "/ c a");
    let out = step(&mut state, Msg::Key(KeyPress::char('n')));
    assert_eq!(recalls(&out), [["can in api", "can in web"]], "the project at hand first");
    let more = step(&mut state, Msg::Key(KeyPress::char('a')));
    assert!(recalls(&more).is_empty(), "the first question is still under way");
    let recall = out.into_iter().find(|effect| matches!(effect, Effect::Read(_, ReadRequest::Recall(_))));
    let Some(Effect::Read(ticket, read)) = recall else { panic!() };
    let next = step(&mut state, Msg::Reply(ticket, Ok(answer(&read))));
    assert_eq!(recalls(&next), [["cana in api", "cana in web"]], "then what was typed meanwhile");
}

#[test]
fn the_cursor_walks_from_the_list_into_what_is_near_and_back() {
    let mut state = app(SIZE, Opening { screen: Some(Screen::Claims), ..Opening::default() });
    press(&mut state, "/ c a n enter");
    let listed = claims().total;
    assert_eq!(state.claims.related.near().len(), 2, "the one that is in the list stands there alone");
    press(&mut state, "G");
    assert_eq!(state.claims.related.row(), Some(1));
    assert_eq!(state.selected_claim().unwrap().id, id(51));
    press(&mut state, "k k");
    assert_eq!((state.claims.related.row(), state.claims.list.cursor()), (None, listed - 1));
    press(&mut state, "j");
    assert_eq!(state.selected_claim().unwrap().id, id(50));
    press(&mut state, "g");
    assert_eq!((state.claims.related.row(), state.claims.list.cursor()), (None, 0));
    press(&mut state, "G enter");
    assert_eq!(state.why.subject, Some(Subject::Claim(id(51).to_hex())));
    press(&mut state, "esc esc");
    assert_eq!(
        (state.claims.related.near().len(), state.claims.search.as_str()),
        (0, ""),
        "without words nothing is near"
    );
}

#[test]
fn where_no_claim_has_the_words_the_cursor_stands_on_what_is_near() {
    let mut state = without_words();
    assert_eq!(state.claims.related.row(), Some(0));
    assert_eq!(state.selected_claim().unwrap().id, id(10));
    press(&mut state, "k");
    assert_eq!(state.claims.related.row(), Some(0));
    // A filter that recall does not know removes the related claims.
    press(&mut state, "m");
    assert_eq!(state.claims.related.near().len(), 0);
}

#[test]
fn a_click_on_what_is_near_takes_the_cursor_there() {
    let mut state = app(SIZE, Opening { screen: Some(Screen::Claims), ..Opening::default() });
    press(&mut state, "/ c a n enter");
    let row = (0..state.size.1).find(|row| {
        let hit = state.hits.at(40, *row);
        hit == Some(crate::tui::hits::Hit::Row(crate::tui::hits::Pane::Claims, claims().total + 1))
    });
    let click = crossterm::event::MouseEventKind::Down(crossterm::event::MouseButton::Left);
    step(&mut state, Msg::Mouse { kind: click, column: 40, row: row.unwrap() });
    assert_eq!(state.claims.related.row(), Some(1));
}

#[test]
fn what_is_not_wanted_reaches_the_daemon() {
    let mut state = app(SIZE, Opening { screen: Some(Screen::Claims), ..Opening::default() });
    state.claims.search = "canary !blue !by:max !kind:fact".into();
    let query = state.claims.query(None, (state.now, &state.settings.zone), None).unwrap();
    assert_eq!((query.q.as_deref(), query.without.as_deref()), (Some("canary"), Some("blue")));
    assert_eq!(query.not_who.as_deref(), Some("max"));
    assert!(!query.kind.unwrap().contains("fact"));
}

#[test]
fn filters_that_exclude_every_kind_list_nothing() {
    let mut state = app(SIZE, Opening { screen: Some(Screen::Claims), ..Opening::default() });
    state.claims.search = "kind:fact !kind:fact".into();
    super::super::claims::restart(&mut state);
    let out = step(&mut state, Msg::Woken);
    assert!(!out.iter().any(|effect| matches!(effect, Effect::Read(_, ReadRequest::Claims(_)))), "{out:?}");
    settle(&mut state, out);
    assert!(state.claims.list.loaded() && state.claims.list.is_empty() && state.selected_claim().is_none());
}

#[test]
fn another_scope_shows_no_related_claim_of_the_one_before() {
    let mut state = without_words();
    assert!(state.selected_claim().is_some());
    state.now += 500;
    let out = step(&mut state, Msg::Key(KeyPress::char('S')));
    let (mut recalled, mut late) = (None, None);
    for effect in out {
        let Effect::Read(ticket, read) = effect else { continue };
        match &read {
            ReadRequest::Claims(_) => late = Some(ticket),
            ReadRequest::Recall(requests) => recalled = Some((ticket, requests.len(), read)),
            _ => {}
        }
    }
    // The list arrives before recall's answer.
    step(&mut state, Msg::Reply(late.unwrap(), Ok(RequestAnswer::Claims(ClaimsPage::default()))));
    assert!(state.claims.related.near().len() == 0 && state.selected_claim().is_none());
    let (ticket, scopes, read) = recalled.unwrap();
    assert_eq!(scopes, 1, "the shown scope is asked at once");
    step(&mut state, Msg::Reply(ticket, Ok(answer(&read))));
    assert!(state.selected_claim().is_some());
}

#[test]
fn the_scope_on_a_page_is_read_scrolled_copied_and_closed() {
    let mut state = app((80, 24), Opening { screen: Some(Screen::Claims), ..Opening::default() });
    press(&mut state, "P");
    let Some(Overlay::Page(page)) = &state.overlay else { panic!("{:?}", state.overlay) };
    assert_eq!(page.about, PageSubject::Snapshot(crate::tui::sample::scope("api")));
    assert_eq!(page.text.as_deref(), Some(agents::snapshot().snapshot.as_str()));
    press(&mut state, "G");
    let Some(Overlay::Page(page)) = &state.overlay else { panic!() };
    assert!(page.scroll(0) > 0);
    assert!(!press(&mut state, "enter l a").iter().any(|effect| matches!(effect, Effect::Write(..))));
    let out = press(&mut state, "y");
    let text = agents::snapshot().snapshot;
    assert!(out.contains(&Effect::Copy { text, what: "the page".into() }));
    press(&mut state, "q");
    assert!(state.overlay.is_none());
    assert_eq!(state.screen, Screen::Claims, "q closes the page, not the app");
}

/// Returns the titles of the actions that the palette lists for a search.
fn listed(state: &mut AppState, typed: &str) -> Vec<&'static str> {
    let keys: Vec<String> = typed.chars().map(|c| if c == ' ' { "space".to_owned() } else { c.to_string() }).collect();
    press(state, &format!("? {}", keys.join(" ")));
    let Some(Overlay::Palette(palette)) = &state.overlay else { panic!() };
    let titles = palette.acts(state).iter().map(|spec| spec.title).collect();
    press(state, "esc");
    titles
}

#[test]
fn acts_are_found_by_other_words_and_with_slips() {
    let mut state = cards();
    for (typed, title) in [
        ("delete", "Retract a claim"),
        ("ignore", "Dismiss"),
        ("dismis", "Dismiss"),
        ("dimsiss", "Dismiss"),
        ("snze", "Snooze"),
        ("find", "Search"),
        ("exit", "Quit"),
    ] {
        assert_eq!(listed(&mut state, typed).first(), Some(&title), "{typed}");
    }
    let mut state = app(SIZE, Opening { screen: Some(Screen::Claims), ..Opening::default() });
    assert_eq!(listed(&mut state, "delete").first(), Some(&"Retract"));
    assert_eq!(listed(&mut state, "snooze").first(), Some(&"Snooze"), "of another screen, where none here fits");
}

#[test]
fn a_palette_in_which_nothing_fits_says_so() {
    let mut state = cards();
    assert!(listed(&mut state, "xyzzyq").is_empty());
    press(&mut state, "? x y z z y q");
    let screen =
        crate::tui::sample::text(&crate::tui::sample::frame(&mut state, &crate::tui::theme::Theme::ansi(true)));
    assert!(screen.contains("No command matches “xyzzyq”. ctrl-u clears what was typed"), "{screen}");
    press(&mut state, "enter");
    assert!(state.overlay.is_none());
}

#[test]
fn a_list_that_could_not_be_read_is_not_asked_for_again_at_once() {
    let lists = [(Screen::Claims, Slot::Claims), (Screen::Cards, Slot::Conflicts), (Screen::Timeline, Slot::Timeline)];
    for (screen, slot) in lists {
        let asked = |out: &[Effect]| {
            out.iter().find_map(|effect| match effect {
                Effect::Read(ticket, _) if ticket.slot == slot => Some(*ticket),
                _ => None,
            })
        };
        let mut state = app(SIZE, Opening { screen: Some(screen), ..Opening::default() });
        let out = step(&mut state, Msg::Key(KeyPress::parse("ctrl-r").unwrap()));
        let ticket = asked(&out).unwrap();
        for kind in [FailureKind::Refused, FailureKind::Timeout] {
            let out = step(&mut state, Msg::Reply(ticket, Err(failure(kind))));
            assert_eq!(asked(&out), None, "{slot:?}, {kind:?}");
        }
        state.now += 500;
        let out = step(&mut state, Msg::Key(KeyPress::char('j')));
        assert!(asked(&out).is_some(), "{slot:?}: it is tried again as one goes on");
    }
}

#[test]
fn a_search_line_takes_as_many_bytes_as_the_daemon_does() {
    let mut state = app(SIZE, Opening { screen: Some(Screen::Claims), ..Opening::default() });
    press(&mut state, "/");
    step(&mut state, Msg::Paste("配".repeat(400)));
    press(&mut state, "配 a");
    assert_eq!(state.claims.search, format!("{}a", "配".repeat(333)));
}

#[test]
fn a_filter_without_a_valid_value_is_reported_once_the_search_is_entered() {
    let mut state = app(SIZE, Opening { screen: Some(Screen::Claims), ..Opening::default() });
    press(&mut state, "/ k i n d : x");
    assert_eq!(toasts(&state), "", "it is still being typed");
    press(&mut state, "enter");
    let expected = "Invalid filter “kind:x”, so it is searched for as a word: \
        kind takes decision, constraint, rejection, convention or fact.";
    assert_eq!(toasts(&state), expected);
}

#[test]
fn an_action_of_another_screen_says_where_it_is_instead_of_acting_unseen() {
    let mut state = app(SIZE, Opening::default());
    let kind = state.claims.kind;
    press(&mut state, "? f i l t e r space b y space k i n d enter");
    assert_eq!((state.screen, state.claims.kind), (Screen::Inbox, kind));
    assert!(toasts(&state).contains("this is on the Claims screen: 2 goes there"), "{}", toasts(&state));
}
