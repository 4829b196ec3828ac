//! Tests of the Notes screen.

use super::*;
use crate::{
    api::NotesRun,
    tui::{sample::notes::written as would_be, state::page::PageSubject},
};

fn notes() -> AppState {
    app(SIZE, Opening { screen: Some(Screen::Notes), scope: Some(scope("api")), ..Opening::default() })
}

#[test]
fn the_difference_is_shown_before_a_section_is_written_and_it_asks() {
    let mut state = notes();
    press(&mut state, "w");
    let Some(Overlay::Page(page)) = &state.overlay else { panic!("no page") };
    assert!(matches!(&page.about, PageSubject::Notes { path, .. } if path.ends_with("AGENTS.md")));
    let text = page.text.clone().unwrap();
    for line in ["-- Use PostgreSQL 15", "+- Use PostgreSQL 16", "Conflict, line 14", "Left out: 3 claims"] {
        assert!(text.contains(line), "{line} is missing: {text}");
    }
    assert!(written(&press(&mut state, "a")).is_none(), "it asks first");
    let out = press(&mut state, "y");
    let Some((ticket, WriteRequest::NotesWrite(request))) = written(&out) else { panic!("{out:?}") };
    assert!(!request.dry_run && request.path.ends_with("AGENTS.md"));
    let done = crate::api::NotesWritten { written: true, ..would_be(&request.path) };
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::NotesWritten(Box::new(done)))));
    assert!(state.overlay.is_none() && toasts(&state).contains("Wrote 2 claims"), "{}", toasts(&state));
}

#[test]
fn a_change_during_the_request_for_the_insights_has_them_read_again() {
    let insights = |out: &[Effect]| {
        out.iter().find_map(|effect| match effect {
            Effect::Read(ticket, ReadRequest::Insights(_)) => Some(*ticket),
            _ => None,
        })
    };
    let change = || {
        let claims = vec![id(121)];
        Msg::Live(Live::Change(Box::new(Change { scope: Some(scope("api")), claims, ..Change::default() })))
    };
    let mut state = notes();
    state.now += 500;
    let out = step(&mut state, Msg::Key(KeyPress::char('f')));
    let ticket = insights(&out).unwrap();
    assert_eq!(insights(&step(&mut state, change())), None, "the first request is still under way");
    let answer = || RequestAnswer::Insights(Box::new(crate::tui::sample::notes::insights()));
    let again = insights(&step(&mut state, Msg::Reply(ticket, Ok(answer())))).expect("they may have changed");
    assert_eq!(insights(&step(&mut state, Msg::Reply(again, Ok(answer())))), None);
}

#[test]
fn a_section_that_is_up_to_date_is_not_written() {
    let mut state = notes();
    let ticket = {
        state.now += 500;
        let out = step(&mut state, Msg::Key(KeyPress::char('w')));
        out.iter()
            .find_map(|effect| match effect {
                Effect::Read(ticket, ReadRequest::NotesPreview(_)) => Some(*ticket),
                _ => None,
            })
            .unwrap()
    };
    let same = crate::api::NotesWritten { changed: false, conflicts: vec![], ..would_be("AGENTS.md") };
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::NotesWritten(Box::new(same)))));
    assert!(written(&press(&mut state, "a")).is_none());
    assert!(toasts(&state).contains("up to date"), "{}", toasts(&state));
}

#[test]
fn files_are_read_and_the_result_is_reported() {
    let mut state = notes();
    let out = press(&mut state, "c");
    let Some((ticket, WriteRequest::NotesScan(_))) = written(&out) else { panic!("{out:?}") };
    let run = NotesRun {
        files: 6,
        changed_files: 2,
        stored: 3,
        refused: 1,
        problems: vec!["old/CLAUDE.md cannot be read".into()],
        ..NotesRun::default()
    };
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::NotesRun(Box::new(run)))));
    let shown = toasts(&state);
    assert!(shown.contains("Read 6 files, 2 changed: 3 claims stored, 1 refused."), "{shown}");
    assert!(shown.contains("cannot be read."), "{shown}");
}

#[test]
fn undo_after_files_were_read_asks_about_the_act_before() {
    for stored in [0, 3] {
        let mut state = notes();
        state.record_act(crate::tui::state::SessionAct {
            op: OpId([1; 16]),
            scope: scope("api"),
            summary: "Stored “x”".into(),
            about: vec![],
            opens: false,
            settled: 0,
        });
        let ticket = written(&press(&mut state, "c")).unwrap().0;
        let run = NotesRun { files: 1, stored, ..NotesRun::default() };
        step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::NotesRun(Box::new(run)))));
        let out = press(&mut state, "u");
        if stored == 0 {
            assert!(matches!(written(&out), Some((_, WriteRequest::Undo(_)))), "nothing was stored: {out:?}");
            continue;
        }
        assert!(written(&out).is_none(), "{out:?}");
        let Some(Overlay::Confirm(confirm)) = &state.overlay else { panic!("no question") };
        assert_eq!(confirm.question, "Undo a change from before the files were read?");
        assert!(confirm.effect.contains("Stored “x”. That was in acme/api."), "{}", confirm.effect);
        assert!(confirm.effect.contains("5 lists them"), "{}", confirm.effect);
        let Some((_, WriteRequest::Undo(request))) = written(&press(&mut state, "y")) else { panic!() };
        assert_eq!(request.target_op, Some(OpId([1; 16])));
    }
}

#[test]
fn a_conflict_leads_to_its_card_and_a_principle_to_its_history() {
    let mut state = notes();
    press(&mut state, "j j enter enter");
    assert!(matches!(state.screen, Screen::Inbox | Screen::Cards));
    let mut state = notes();
    press(&mut state, "f enter enter");
    assert_eq!((state.screen, state.why.subject.clone()), (Screen::Why, Some(Subject::Claim(id(121).to_hex()))));
}

#[test]
fn the_inbox_leads_to_what_may_be_promoted_and_a_person_accepts_it() {
    let mut state = app(SIZE, Opening { scope: Some(scope("api")), ..Opening::default() });
    state.inbox.reset();
    let ticket = state.ticket(Slot::Inbox);
    let inbox = crate::api::Inbox { promotions: 1, ..crate::api::Inbox::default() };
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Inbox(inbox))));
    press(&mut state, "enter");
    assert_eq!(state.screen, Screen::Notes);
    let ticket = state.ticket(Slot::Insights);
    let mut insights = crate::tui::sample::notes::insights();
    insights.items[1].candidate = true;
    insights.items[1].contradicted = false;
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Insights(Box::new(insights.clone())))));
    assert_eq!(state.notes.principle().map(|one| one.claim), Some(insights.items[1].claim));
    assert!(written(&press(&mut state, "p")).is_none(), "it asks first");
    let out = press(&mut state, "y");
    let Some((_, WriteRequest::Promote(request))) = written(&out) else { panic!("{out:?}") };
    assert_eq!(request.claims, [insights.items[1].claim.to_hex()]);
    // An insight that is a claim of the organisation already is not promoted again.
    state.notes.place(0);
    state.acting = None;
    press(&mut state, "p");
    assert!(state.overlay.is_none() && toasts(&state).contains("already"), "{}", toasts(&state));
}

#[test]
fn insights_of_another_organisation_are_not_shown_under_its_name() {
    let mut state = notes();
    press(&mut state, "f");
    assert!(state.notes.insights.is_some());
    state.scope = Some(crate::domain::Scope { org_id: "other".into(), project: "api".into() });
    super::super::claims::rescope(&mut state);
    let out = step(&mut state, Msg::Woken);
    assert!(state.notes.insights.is_none());
    let ticket = out.iter().find_map(|effect| match effect {
        Effect::Read(ticket, ReadRequest::Insights(query)) if query.org_id == "other" => Some(*ticket),
        _ => None,
    });
    step(&mut state, Msg::Reply(ticket.unwrap(), Err(failure(FailureKind::Refused))));
    assert_eq!((state.notes.error.clone(), state.notes.insights_error.is_some()), (None, true));
    let theme = crate::tui::theme::Theme::ansi(true);
    let shown = crate::tui::sample::text(&crate::tui::sample::frame(&mut state, &theme));
    assert!(shown.contains("it went wrong (try again)") && !shown.contains("Loading"), "{shown}");
}
