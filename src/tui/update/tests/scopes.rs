//! Tests of a change of scope: the old items are gone from the screen, and no key acts on them.

use super::*;
use crate::{
    api::{ConflictsPage, Inbox},
    tui::sample::screens::three_cards,
};

/// Returns the reads among effects.
fn reads(effects: &[Effect]) -> Vec<(RequestId, ReadRequest)> {
    let read = |effect: &Effect| match effect {
        Effect::Read(ticket, read) => Some((*ticket, read.clone())),
        _ => None,
    };
    effects.iter().filter_map(read).collect()
}

#[test]
fn the_inbox_of_another_scope_begins_at_its_first_card() {
    let mut state = app(SIZE, Opening::default());
    press(&mut state, "j j");
    assert!(state.selected_card().is_some());
    state.now += 500;
    let out = step(&mut state, Msg::Key(KeyPress::char('S')));
    assert!(state.scope.is_some() && state.selected_card().is_none(), "nothing of the other scopes is in hand");
    assert!(written(&press(&mut state, "d")).is_none() && state.overlay.is_none());
    for (ticket, read) in reads(&out) {
        let reply =
            if matches!(read, ReadRequest::Inbox(_)) { RequestAnswer::Inbox(three_cards()) } else { answer(&read) };
        let out = step(&mut state, Msg::Reply(ticket, Ok(reply)));
        settle(&mut state, out);
    }
    assert_eq!((state.inbox.card(), state.inbox.selectable_rows().len()), (Some(card_id(1)), 3), "{}", toasts(&state));
    assert!(!toasts(&state).contains("Settled"));
}

#[test]
fn an_answer_about_the_scope_before_is_dropped() {
    let mut state = app(SIZE, Opening::default());
    let late = reads(&step(&mut state, Msg::Key(KeyPress::parse("ctrl-r").unwrap())));
    let out = step(&mut state, Msg::Key(KeyPress::char('S')));
    let late = late.iter().find(|(_, read)| matches!(read, ReadRequest::Inbox(_))).unwrap().0;
    step(&mut state, Msg::Reply(late, Ok(RequestAnswer::Inbox(three_cards()))));
    assert!(state.inbox.view.is_none(), "it was of all scopes");
    for (ticket, read) in reads(&out) {
        let reply =
            if matches!(read, ReadRequest::Inbox(_)) { RequestAnswer::Inbox(Inbox::default()) } else { answer(&read) };
        step(&mut state, Msg::Reply(ticket, Ok(reply)));
    }
    assert!(state.inbox.is_empty());
}

#[test]
fn a_scope_without_cards_shows_none_and_no_key_acts() {
    let mut state = cards();
    press(&mut state, "space");
    state.now += 500;
    let out = step(&mut state, Msg::Key(KeyPress::char('S')));
    for (ticket, read) in reads(&out) {
        let reply = if matches!(read, ReadRequest::Conflicts(_)) {
            RequestAnswer::Conflicts(ConflictsPage::default())
        } else {
            answer(&read)
        };
        step(&mut state, Msg::Reply(ticket, Ok(reply)));
    }
    assert!(state.conflicts.card.is_none() && state.conflicts.marks.is_empty());
    for key in ["a", "d", "x", "w"] {
        assert!(written(&press(&mut state, key)).is_none());
        assert!(state.overlay.is_none(), "{key}");
    }
    assert_eq!(state.screen, Screen::Cards);
}

#[test]
fn a_card_that_is_followed_into_another_scope_takes_the_screen_there() {
    let mut state = app(SIZE, Opening { scope: Some(scope("web")), ..Opening::default() });
    let out = {
        super::super::conflicts::request_card(&mut state, card_id(2).to_hex());
        state.screen = Screen::Cards;
        step(&mut state, Msg::Woken)
    };
    settle(&mut state, out);
    assert_eq!(state.scope, Some(scope("api")), "the card's own");
    assert_eq!(state.conflicts.current().unwrap().view.summary.id, card_id(2));
}

#[test]
fn marks_go_with_the_cards_that_left_the_list() {
    let mut state = cards();
    press(&mut state, "space space");
    let ticket = state.ticket(Slot::Conflicts);
    state.conflicts.list.refresh();
    state.conflicts.list.need();
    let page = ConflictsPage { items: vec![summary(2, CardStatus::Open)], total: 1, next: None };
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Conflicts(page))));
    assert_eq!((state.conflicts.marks.len(), state.conflicts.marks.contains(card_id(2))), (1, true));
}

#[test]
fn the_project_in_which_the_app_was_opened_is_shown_under_the_name_by_which_it_is_known() {
    let mut with = settings();
    with.identities = vec!["/work/api".into()];
    let mut state = AppState::new(with, SIZE, 1);
    super::super::open(&mut state, Opening { scope: Some(scope("api")), ..Opening::default() });
    let view = |project: &str, identity: &str| crate::api::ScopeView {
        scope: scope(project),
        active: 1,
        total: 1,
        open_cards: 0,
        needs_review: 0,
        latest: 1,
        identity: Some(identity.into()),
    };
    let ticket = state.ticket(Slot::Scopes);
    let items = vec![view("api", "/elsewhere/api"), view("api-2", "/work/api")];
    let out = step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Scopes(crate::api::Scopes { items }))));
    assert_eq!(state.scope, Some(scope("api-2")));
    let asked = reads(&out)
        .into_iter()
        .any(|(_, read)| matches!(read, ReadRequest::Inbox(query) if query.project.as_deref() == Some("api-2")));
    assert!(asked, "and read anew");
}

#[test]
fn a_change_of_the_organisation_refreshes_the_screens_of_its_projects() {
    let mut state = app(SIZE, Opening { screen: Some(Screen::Cards), scope: Some(scope("api")), ..Opening::default() });
    let read = |state: &mut AppState, project: &str| {
        let change = crate::api::Change {
            scope: Some(scope(project)),
            claims: vec![crate::tui::sample::id(70)],
            cards: vec![card_id(1)],
            ..crate::api::Change::default()
        };
        let out = step(state, Msg::Live(Live::Change(Box::new(change))));
        let lists = out.iter().any(|effect| matches!(effect, Effect::Read(_, ReadRequest::Conflicts(_))));
        let card = out.iter().any(|effect| matches!(effect, Effect::Read(_, ReadRequest::Card(_))));
        settle(state, out);
        (lists, card)
    };
    assert_eq!(read(&mut state, "*"), (true, true));
    assert_eq!(read(&mut state, "web"), (false, true), "the card on the screen may be about that claim");
}

#[test]
fn another_scope_takes_no_answer_about_the_files_of_the_one_before() {
    let mut state = app(SIZE, Opening { screen: Some(Screen::Models), ..Opening::default() });
    let ticket = state.ticket(Slot::Ingested);
    super::super::claims::rescope(&mut state);
    step(&mut state, Msg::Reply(ticket, Ok(answer(&ReadRequest::Ingested(crate::api::IngestedQuery::default())))));
    assert!(state.models.files.as_ref().is_none_or(|files| *files == crate::api::IngestedFiles::default()));
}

#[test]
fn acts_of_the_scope_before_are_not_opened() {
    let mut state = app(SIZE, Opening { screen: Some(Screen::Timeline), ..Opening::default() });
    assert!(state.timeline.list.current().is_some());
    super::super::claims::rescope(&mut state);
    step(&mut state, Msg::Key(KeyPress::parse("enter").unwrap()));
    assert_eq!(state.timeline.focus, crate::tui::state::Focus::List);
}

#[test]
fn an_answered_question_keeps_the_scope_in_which_it_was_asked() {
    let opening = Opening { screen: Some(Screen::Why), scope: Some(scope("api")), ..Opening::default() };
    let mut state = app(SIZE, opening);
    press(&mut state, "a w h y enter");
    state.scope = Some(scope("web"));
    super::super::claims::rescope(&mut state);
    let theme = crate::tui::theme::Theme::ansi(true);
    let shown = crate::tui::sample::text(&crate::tui::sample::frame(&mut state, &theme));
    assert!(shown.contains("Why in acme/api: why"), "{shown}");
}
