//! Tests of adding a claim, copying one, opening its source, sorting the list, and the theme.

use super::*;
use crate::{api::RememberRequest, domain::ClaimKind, tui::theme::ThemeBase};

fn remembered(effects: &[Effect]) -> RememberRequest {
    match written(effects) {
        Some((_, WriteRequest::Remember(request))) => *request,
        other => panic!("nothing is remembered: {other:?}"),
    }
}

/// Returns the keys that type a text; a space is the key of that name.
fn typed(text: &str) -> String {
    text.chars().map(|c| if c == ' ' { "space".to_owned() } else { c.to_string() }).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_claim_is_added_from_any_screen() {
    let mut state = app(SIZE, Opening { scope: Some(scope("api")), ..Opening::default() });
    let settled = state.inbox.settled;
    press(&mut state, "+");
    let out = press(&mut state, &format!("{} enter {} ctrl-s", typed("use tabs"), typed("smaller")));
    let request = remembered(&out);
    assert_eq!((request.statement.as_str(), request.reason.as_deref()), ("use tabs", Some("smaller")));
    assert_eq!((request.kind, request.caller.project.as_str()), (Some(ClaimKind::Decision), "api"));
    assert!(
        state
            .log
            .iter()
            .any(|line| line.text.starts_with("$ ergo remember 'use tabs' --kind decision --reason smaller"))
    );
    let stored = crate::api::Stored {
        claim_id: id(14),
        op_id: OpId([9; 16]),
        scope: scope("api"),
        duplicate: false,
        replayed: false,
        dry_run: false,
        superseded: vec![],
        warnings: vec![],
        doubts: Vec::new(),
    };
    let ticket = written(&out).unwrap().0;
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Outcome(Box::new(WriteOutcome::Stored(stored))))));
    assert!(state.overlay.is_none() && toasts(&state).contains("u to undo"));
    assert_eq!(state.inbox.settled, settled, "it was about nothing in the Inbox");
}

#[test]
fn a_claim_without_a_statement_or_a_reason_is_refused_at_the_missing_field() {
    let mut state = app(SIZE, Opening { scope: Some(scope("api")), ..Opening::default() });
    press(&mut state, "+");
    let with_statement = format!("{} ctrl-s", typed("use tabs"));
    for (keys, missing) in [("ctrl-s", FieldId::Statement), (&with_statement, FieldId::Reason)] {
        assert!(written(&press(&mut state, keys)).is_none());
        let Some(Overlay::Form(form)) = &state.overlay else { panic!() };
        assert_eq!(form.error.as_ref().unwrap().0, Some(missing));
    }
}

#[test]
fn where_all_scopes_are_shown_it_asks_in_which() {
    let mut state = app(SIZE, Opening { screen: Some(Screen::Claims), ..Opening::default() });
    press(&mut state, "+");
    let out = press(&mut state, &format!("{} enter {} enter enter enter right enter", typed("x y"), typed("z")));
    assert_eq!(remembered(&out).caller.project, "web");
}

#[test]
fn a_fact_needs_no_reason_and_a_decision_does() {
    let mut state = app(SIZE, Opening { scope: Some(scope("api")), ..Opening::default() });
    press(&mut state, "+");
    assert!(written(&press(&mut state, &format!("{} ctrl-s", typed("the host is a")))).is_none(), "why?");
    assert_eq!(remembered(&press(&mut state, "tab f ctrl-s")).kind, Some(ClaimKind::Fact));
}

#[test]
fn the_text_is_copied_and_the_source_is_opened_at_its_line() {
    let mut state = app(SIZE, Opening { screen: Some(Screen::Claims), ..Opening::default() });
    let out = press(&mut state, "Y");
    assert!(
        out.iter().any(
            |effect| matches!(effect, Effect::Copy { text, .. } if text == "Use PostgreSQL 16 for the main store")
        ),
        "{out:?}"
    );
    let out = press(&mut state, "E");
    let open = Effect::Open { path: "docs/adr/0004-canary.md".into(), line: Some(12) };
    assert!(out.contains(&open), "{out:?}");
    let mut state = cards();
    assert!(press(&mut state, "E").contains(&Effect::Open { path: "CLAUDE.md".into(), line: Some(31) }));
    state.home.0 = scope("web");
    assert!(press(&mut state, "E").iter().all(|effect| !matches!(effect, Effect::Open { .. })));
    assert!(toasts(&state).contains("its source is not a file of acme/web"));
    let mut state = cards();
    let mut view = card(1);
    view.sides.iter_mut().for_each(|side| side.claim.source = None);
    state.conflicts.card = Some(crate::tui::state::conflicts::Card::new(view));
    press(&mut state, "E");
    assert!(toasts(&state).contains("it names no source"), "{}", toasts(&state));
}

#[test]
fn claims_are_sorted_on_the_daemon() {
    let mut state = app(SIZE, Opening { screen: Some(Screen::Claims), ..Opening::default() });
    let mut orders = Vec::new();
    for _ in 0..3 {
        state.now += 500;
        let out = step(&mut state, Msg::Key(KeyPress::char('O')));
        orders.extend(out.iter().filter_map(|effect| match effect {
            Effect::Read(_, ReadRequest::Claims(query)) => Some(query.order.clone()),
            _ => None,
        }));
        settle(&mut state, out);
    }
    assert_eq!(orders, [Some("kind".to_owned()), Some("source".to_owned()), None]);
}

#[test]
fn themes_go_round() {
    let mut state = cards();
    assert!(press(&mut state, "T").contains(&Effect::Theme(ThemeBase::Dark)));
    assert!(press(&mut state, "T").contains(&Effect::Theme(ThemeBase::Light)));
    assert!(toasts(&state).contains("Theme: light"));
}

#[test]
fn the_theme_is_not_changed_where_there_are_no_colours() {
    let mut state = app(SIZE, Opening::default());
    state.settings.no_color = true;
    assert!(!press(&mut state, "T").iter().any(|effect| matches!(effect, Effect::Theme(_))));
    assert!(toasts(&state).contains("colours are off"), "{}", toasts(&state));
}
