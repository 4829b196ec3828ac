//! Tests of the prefilled values of forms, and of the project in which the app was opened.

use super::*;
use crate::{
    api::{ScopeView, Scopes},
    tui::{
        sample::{proposal, settings},
        state::conflicts::Card,
    },
};

#[test]
fn a_proposal_is_accepted_with_the_agents_reason_and_has_no_side_to_choose() {
    let mut state = cards();
    state.conflicts.card = Some(Card::new(proposal(1)));
    press(&mut state, "a");
    assert!(
        state.overlay.is_none() && toasts(&state).contains("only a retract"),
        "there is nothing to keep it against"
    );
    press(&mut state, "r");
    assert_eq!(reason(&state), "Blue never was the colour.");
    let effects = press(&mut state, "ctrl-s");
    let sent = effects.iter().find_map(|effect| match effect {
        Effect::Write(_, write) => Some(&**write),
        _ => None,
    });
    let Some(WriteRequest::Resolve { request, .. }) = sent else { panic!("{effects:?}") };
    assert_eq!((request.act, request.target.clone()), (CardAct::Retract, Some(id(101).to_hex())));
}

#[test]
fn the_side_that_is_kept_gives_its_own_reason_or_none() {
    let mut view = card(1);
    view.sides[1].claim.reason = None;
    let mut state = cards();
    state.conflicts.card = Some(Card::new(view));
    press(&mut state, "b");
    assert_eq!(reason(&state), "", "the newer side's reason would say the opposite");
}

#[test]
fn an_editor_that_failed_says_so_and_the_text_stays() {
    let mut state = cards();
    press(&mut state, "a");
    let before = reason(&state);
    step(&mut state, Msg::Edited(Err("The editor “vi” ended with exit status: 1".into())));
    assert_eq!(reason(&state), before);
    assert!(toasts(&state).contains("exit status: 1"));
    step(&mut state, Msg::Edited(Ok(Some("said\u{1b}[31m better\n".into()))));
    assert_eq!(reason(&state), "said[31m better");
}

#[test]
fn the_app_knows_its_project_by_what_it_is_not_by_its_name() {
    let mut settings = settings();
    settings.identities = vec!["host/b".into(), "/b".into()];
    let mut state = AppState::new(settings, SIZE, 1);
    assert_eq!(state.home, (scope("api"), Some("host/b".into())));
    let ticket = state.ticket(Slot::Scopes);
    let mut scopes = vec![scope_view("api", Some("host/a")), scope_view("api-2", Some("/b"))];
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Scopes(Scopes { items: std::mem::take(&mut scopes) }))));
    assert_eq!(state.home, (scope("api-2"), Some("/b".into())));
    let caller = state.caller(&scope("api-2"));
    assert_eq!((caller.project.as_str(), caller.identity.as_deref()), ("api-2", Some("/b")));
    assert_eq!(state.caller(&scope("api")).identity, None, "another project is not this one");
}

fn scope_view(project: &str, identity: Option<&str>) -> ScopeView {
    ScopeView {
        scope: scope(project),
        active: 1,
        total: 1,
        open_cards: 0,
        needs_review: 0,
        latest: 1,
        identity: identity.map(str::to_owned),
    }
}

#[test]
fn one_key_clears_the_line_wherever_something_is_typed() {
    let mut state = cards();
    press(&mut state, "a");
    assert!(!reason(&state).is_empty());
    press(&mut state, "ctrl-u");
    assert_eq!(reason(&state), "");
    press(&mut state, "o n e alt-enter t w o ctrl-u");
    assert_eq!(reason(&state), "one", "the line, not the text");
    press(&mut state, "esc / d b ctrl-u x");
    assert_eq!(state.claims.search, "x");
    press(&mut state, "esc ? a b ctrl-u c");
    let Some(Overlay::Palette(palette)) = &state.overlay else { panic!() };
    assert_eq!(palette.input.lines(), ["c"]);
}

#[test]
fn a_reason_from_an_import_is_no_reason_for_an_act() {
    let mut view = card(1);
    for side in &mut view.sides {
        side.claim.source = Some("docs/AGENTS.md:12".into());
        side.claim.reason = Some("Stated in AGENTS.md under “Tests”.".into());
    }
    let mut state = cards();
    state.conflicts.card = Some(Card::new(view));
    for key in ["a", "b"] {
        press(&mut state, key);
        assert_eq!(reason(&state), "", "{key}");
        assert!(written(&press(&mut state, "enter")).is_none(), "it must be given");
        press(&mut state, "esc");
    }
}

#[test]
fn a_reason_that_mentions_its_source_is_a_reason() {
    for (source, reason_of_claim, expected) in [
        ("ops", "it drops packets", "it drops packets"),
        ("Zoe", "Zoe from legal asked for it", "Zoe from legal asked for it"),
        ("CLAUDE.md:12", "CLAUDE.md grew too long. Stated in CLAUDE.md.", "CLAUDE.md grew too long."),
    ] {
        let mut view = card(1);
        for side in &mut view.sides {
            side.claim.source = Some(source.into());
            side.claim.reason = Some(reason_of_claim.into());
        }
        let mut state = cards();
        state.conflicts.card = Some(Card::new(view));
        press(&mut state, "b");
        assert_eq!(reason(&state), expected);
    }
}

/// A refused claim against two stored ones, of which the first may no longer be active.
fn three_sided(first: crate::domain::Status) -> crate::api::CardView {
    let mut view = card(1);
    let mut other = view.sides[1].clone();
    other.claim.id = id(102);
    view.sides.push(other);
    view.sides[1].claim.status = first;
    view
}

#[test]
fn a_draft_keeps_the_side_that_was_chosen_and_not_its_place_in_the_list() {
    use crate::domain::Status;
    // The second choice is the claim that is retracted: the form names another one, and says so.
    for (choose, gone) in [("right", false), ("left right", true)] {
        let mut state = cards();
        state.conflicts.card = Some(Card::new(three_sided(Status::Active)));
        press(&mut state, &format!("r {choose} tab n o esc"));
        // Another person retracts the first existing claim.
        state.conflicts.card = Some(Card::new(three_sided(Status::Retracted)));
        press(&mut state, "r");
        assert_eq!(reason(&state), "no");
        let Some(Overlay::Form(form)) = &state.overlay else { panic!() };
        assert_eq!(form.error.as_ref().is_some_and(|(field, _)| *field == Some(FieldId::Target)), gone, "{choose}");
        let out = press(&mut state, "ctrl-s");
        let Some((_, WriteRequest::Resolve { request, .. })) = written(&out) else { panic!("{out:?}") };
        assert_eq!(request.target, Some(id(102).to_hex()), "{choose}");
    }
}

#[test]
fn a_new_claim_goes_to_the_scope_that_its_form_shows() {
    let scope_sent = |state: &mut AppState| match written(&press(state, "ctrl-s")) {
        Some((_, WriteRequest::Remember(request))) => (request.statement.clone(), request.caller.project),
        other => panic!("{other:?}"),
    };
    // Begun while all scopes were shown, with another scope chosen; submitted while one scope is shown.
    let mut state = app(SIZE, Opening { screen: Some(Screen::Claims), ..Opening::default() });
    press(&mut state, "+ a enter b enter enter enter right");
    let Some(Overlay::Form(form)) = &state.overlay else { panic!() };
    assert_eq!(form.scope_of_act(), scope("web"), "the heading follows the choice");
    press(&mut state, "esc");
    state.scope = Some(scope("api"));
    press(&mut state, "+");
    assert_eq!(scope_sent(&mut state), ("a".to_owned(), "api".to_owned()));
    // Begun while one scope was shown, submitted while all are shown: the form asks for the scope, and keeps the
    // choice.
    let mut state = app(SIZE, Opening { scope: Some(scope("api")), ..Opening::default() });
    press(&mut state, "+ a enter b esc");
    state.scope = None;
    press(&mut state, "+ tab tab tab right");
    assert_eq!(scope_sent(&mut state), ("a".to_owned(), "web".to_owned()));
}

#[test]
fn a_text_that_was_closed_while_it_was_sent_goes_only_with_its_own_act() {
    let statement = |state: &AppState| match &state.overlay {
        Some(Overlay::Form(form)) => form.text(FieldId::Statement),
        other => panic!("{other:?}"),
    };
    for kind in [FailureKind::Timeout, FailureKind::Unreachable, FailureKind::Refused] {
        let mut state = cards();
        let (ticket, _) = written(&press(&mut state, "+ a enter b ctrl-s")).unwrap();
        press(&mut state, "esc");
        step(&mut state, Msg::Reply(ticket, Err(failure(kind))));
        let out = step(&mut state, Msg::Live(Live::Up));
        settle(&mut state, out);
        let (ticket, _) = written(&press(&mut state, "d n o ctrl-s")).unwrap();
        step(&mut state, done("Dismissed", Some(1)).to(ticket));
        press(&mut state, "+");
        assert_eq!(statement(&state), "a", "{kind:?}");
    }
    let mut state = cards();
    let (ticket, _) = written(&press(&mut state, "+ a enter b ctrl-s")).unwrap();
    press(&mut state, "esc");
    step(&mut state, done("Stored", None).to(ticket));
    press(&mut state, "+");
    assert_eq!(statement(&state), "", "what was stored is no draft");
}

#[test]
fn a_form_that_is_being_sent_is_not_edited() {
    let mut state = cards();
    press(&mut state, "d n o");
    assert!(written(&press(&mut state, "ctrl-s")).is_some());
    let out = press(&mut state, "alt-enter ctrl-o");
    assert!(out.is_empty(), "{out:?}");
    let Some(Overlay::Form(form)) = &mut state.overlay else { panic!() };
    assert_eq!(form.area().unwrap().lines(), ["no"]);
}

/// The answer to the act of an open form that its card has changed.
fn card_changed(state: &mut AppState, ticket: RequestId, view: crate::api::CardView) {
    let stale = Stale::of_card("card 0101010101 changed since it was shown; nothing was done".into(), view);
    step(state, OutcomeReply(WriteOutcome::Stale(stale)).to(ticket));
}

#[test]
fn a_form_whose_card_has_changed_says_what_it_does_now_and_is_sent_again() {
    use crate::domain::Status;
    let mut state = cards();
    let (ticket, _) = written(&press(&mut state, "a x ctrl-s")).unwrap();
    let mut now = three_sided(Status::Active);
    now.sides[2].claim.statement = "The canary is never red".into();
    now.summary.rev = 9;
    card_changed(&mut state, ticket, now);
    assert!(form_error(&state).contains("changed since it was shown"));
    assert_eq!(reason(&state), "Red is what the dashboards alert on.x");
    let Some(Overlay::Form(form)) = &state.overlay else { panic!() };
    assert!(form.effect.contains("The canary is never red"), "{}", form.effect);
    let Some((ticket, WriteRequest::Resolve { request, .. })) = written(&press(&mut state, "ctrl-s")) else { panic!() };
    assert_eq!(request.expect_rev, Some(9));
    // Now the act is no longer possible.
    let mut now = three_sided(Status::Active);
    now.acts.iter_mut().for_each(|option| option.disabled = Some("both are stored".into()));
    card_changed(&mut state, ticket, now);
    let Some(Overlay::Form(form)) = &state.overlay else { panic!() };
    assert!(form.outdated.as_ref().unwrap().ends_with("It is no longer possible: both are stored."));
    assert!(written(&press(&mut state, "ctrl-s")).is_none());
}

#[test]
fn a_text_that_was_not_edited_is_sent_byte_for_byte() {
    let statement_sent = |state: &mut AppState| match written(&press(state, "ctrl-s")) {
        Some((_, WriteRequest::Resolve { request, .. })) => request.statement.unwrap(),
        other => panic!("{other:?}"),
    };
    let odd = "Use 👨\u{200d}💻\tand क\u{94d}\u{200d}ष\r\nnot \u{2067}شيء\u{2069}";
    let mut view = card(1);
    view.sides[0].claim.statement = odd.into();
    for (keys, expected) in [("m", odd.to_owned()), ("m x", format!("{odd}x"))] {
        let mut state = cards();
        state.conflicts.card = Some(Card::new(view.clone()));
        press(&mut state, keys);
        let theme = crate::tui::theme::Theme::ansi(true);
        let screen = crate::tui::sample::text(&crate::tui::sample::frame(&mut state, &theme));
        assert!(!screen.contains(['\u{2067}', '\t']) && !screen.contains("👨\u{200d}"), "{screen}");
        assert!(screen.contains("क\u{94d}\u{200d}ष"), "{screen}");
        assert_eq!(statement_sent(&mut state), expected);
    }
}

#[test]
fn a_form_says_which_conditions_a_new_text_keeps() {
    use super::super::form_setup;
    use crate::{domain::Qualifiers, tui::state::form::ClaimAct};
    let held = |until: Option<&str>| Qualifiers {
        env: Some("prod".into()),
        valid_from: Some("2020-01-01".into()),
        valid_until: until.map(str::to_owned),
        ..Qualifiers::default()
    };
    let mut view = card(2);
    view.sides[0].claim.qualifiers = held(Some("2030-01-01"));
    let claim = view.sides[0].claim.clone();
    let form = form_setup::claim(&claim, ClaimAct::Supersede, crate::tui::sample::NOW);
    assert!(form.effect.ends_with("first. It keeps the conditions: env prod, until 2030-01-01."), "{}", form.effect);
    view.sides[1].claim.qualifiers = held(None);
    let form = form_setup::card(&Card::new(view), CardAct::Supersede, None, crate::tui::sample::NOW);
    let expected = "It keeps the conditions: env prod. Not kept, since not all have them: until 2030-01-01.";
    assert!(form.effect.ends_with(expected), "{}", form.effect);
    assert!(form.effect.contains("is always red” (env prod, until 2030-01-01)"), "{}", form.effect);
}

#[test]
fn the_log_says_that_what_was_submitted_was_refused() {
    let mut state = cards();
    let (ticket, _) = written(&press(&mut state, "a enter")).unwrap();
    let refused = crate::api::Refused {
        conflicts: vec![],
        card_id: Some(card_id(1)),
        settled: None,
        unsettled: true,
        scope: scope("api"),
        ways_on: vec![],
        may_only_propose: false,
    };
    step(&mut state, OutcomeReply(WriteOutcome::Conflict(refused)).to(ticket));
    assert!(form_error(&state).starts_with("Refused by the guard"));
    assert_eq!(state.log.back().unwrap().text, form_error(&state));
}

#[test]
fn a_letter_chooses_an_option_and_one_that_chooses_nothing_is_answered() {
    let kind = |state: &AppState| match &state.overlay {
        Some(Overlay::Form(form)) => form.text(FieldId::Kind),
        other => panic!("{other:?}"),
    };
    let mut state = app(SIZE, Opening { scope: Some(scope("api")), ..Opening::default() });
    press(&mut state, "+ tab tab c");
    assert_eq!(kind(&state), "constraint");
    press(&mut state, "c");
    assert_eq!(kind(&state), "convention", "the next one that begins so");
    press(&mut state, "w");
    assert_eq!(kind(&state), "convention");
    assert!(form_error(&state).contains("first letter"));
    press(&mut state, "right");
    assert_eq!(form_error(&state), "");
}

#[test]
fn a_form_about_a_claim_says_that_somebody_changed_the_claim() {
    let mut state = app(SIZE, Opening { screen: Some(Screen::Claims), ..Opening::default() });
    press(&mut state, "X w h y");
    let Some(Overlay::Form(form)) = &state.overlay else { panic!() };
    let crate::tui::state::form::FormSubject::Claim { id: about, .. } = form.about else { panic!() };
    for (claim, expected) in [(id(99), ""), (about, "max changed it meanwhile: Retracted “x”.")] {
        let change = Change { claims: vec![claim], ..super::inbox::change("max", "Retracted “x”") };
        step(&mut state, Msg::Live(Live::Change(Box::new(change))));
        assert_eq!(form_error(&state), expected);
        assert_eq!(reason(&state), "why");
    }
}

#[test]
fn a_text_from_the_editor_is_not_lost_when_the_app_is_left() {
    for keys in ["ctrl-o", "ctrl-u", "alt-enter"] {
        let mut state = cards();
        press(&mut state, &format!("a {keys}"));
        if keys == "ctrl-o" {
            step(&mut state, Msg::Edited(Ok(Some("Red is on every dashboard.".into()))));
        }
        let out = press(&mut state, "esc q");
        assert!(!out.contains(&Effect::Quit), "{keys}");
        assert!(toasts(&state).contains("Quitting discards 1 draft"), "{keys}: {}", toasts(&state));
    }
}

#[test]
fn a_form_in_which_nothing_was_typed_leaves_no_draft() {
    let mut state = cards();
    press(&mut state, "a esc");
    assert!(state.drafts.is_empty());
    // What was only prefilled is not restored: the claim may have changed meanwhile.
    let mut view = card(1);
    let mut state = cards();
    press(&mut state, "m tab x esc");
    view.sides[0].claim.statement = "The canary deployment is never red".into();
    state.conflicts.card = Some(Card::new(view));
    press(&mut state, "m");
    let Some(Overlay::Form(form)) = &state.overlay else { panic!("{:?}", state.overlay) };
    assert_eq!(form.text(FieldId::Statement), "The canary deployment is never red");
    assert!(form.text(FieldId::Reason).ends_with('x'));
}

#[test]
fn a_redaction_leaves_no_draft_once_it_is_done() {
    let mut state = app(SIZE, Opening { screen: Some(Screen::Claims), ..Opening::default() });
    let (ticket, _) = written(&press(&mut state, "X w h y ctrl-s y")).unwrap();
    assert_eq!(state.drafts.len(), 1, "it may fail");
    step(&mut state, done("Redacted", None).to(ticket));
    assert!(state.drafts.is_empty());
    assert!(!toasts(&state).contains("to undo"), "{}", toasts(&state));
}

#[test]
fn a_line_stays_one_line() {
    let mut state = cards();
    press(&mut state, "/ a alt-enter b tab c");
    assert_eq!(state.claims.search, "abc");
    press(&mut state, "esc ? a alt-enter b tab c");
    let Some(Overlay::Palette(palette)) = &state.overlay else { panic!("{:?}", state.overlay) };
    assert_eq!(palette.input.lines(), ["abc"]);
}

#[test]
fn ctrl_c_closes_a_form_and_keeps_its_text() {
    let mut state = cards();
    press(&mut state, "d n o ctrl-c");
    assert!(state.overlay.is_none());
    press(&mut state, "d");
    assert_eq!(reason(&state), "no");
}
