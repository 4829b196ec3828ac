//! undo of whole acts: refused if later acts depend on them, and itself undoable.

use ergo::{
    api::{ErrorCode, LogQuery, RememberRequest, WhyRequest},
    domain::{EventKind, Status, derive::local},
    store::{EventDraft, Ref},
};

use super::*;

fn undo_op(fixture: &Fixture, op: OpId) -> Result<ergo::api::UndoOutcome, ergo::api::ApiError> {
    fixture.engine.undo(UndoRequest { caller: caller(), target_op: Some(op), ..UndoRequest::default() })
}

#[test]
fn undo_takes_back_the_callers_own_last_act() {
    let fixture = Fixture::new();
    let mine = fixture.remember("We ship on Fridays", "habit");
    let theirs = RememberRequest {
        caller: Caller { who: "bob".into(), ..caller() },
        ..request("Tests run in parallel", "speed")
    };
    let theirs = stored(fixture.engine.remember(theirs).unwrap()).claim_id;
    let answer = fixture.undo();
    assert!(answer.summary.contains("We ship on Fridays"), "{}", answer.summary);
    let claim = fixture.claim(mine);
    assert!(claim.flags.undone && claim.status == Status::Retracted);
    let why =
        WhyRequest { org_id: "acme".into(), project: "api".into(), question: mine.to_hex(), ..WhyRequest::default() };
    let note = fixture.engine.why(&why).unwrap().note;
    assert_eq!(note.as_deref(), Some("This claim is undone, and no claim replaced it."));
    assert_eq!(fixture.claim(theirs).status, Status::Active);
    let error = fixture.engine.undo(UndoRequest { caller: caller(), ..UndoRequest::default() }).unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
}

#[test]
fn the_last_act_is_the_one_stored_last_although_the_clock_was_days_ahead() {
    let fixture = Fixture::new();
    fixture.clock.store(NOON + 10 * 24 * 3_600_000, Ordering::Relaxed);
    let ahead = fixture.remember("We ship on Fridays", "habit");
    fixture.clock.store(NOON, Ordering::Relaxed);
    let last = fixture.remember("Tests run in parallel", "speed");
    assert!(fixture.undo().summary.contains("Tests run in parallel"));
    assert!(fixture.claim(last).flags.undone && !fixture.claim(ahead).flags.undone);
    assert!(fixture.undo().summary.contains("We ship on Fridays"), "then the one before");
}

#[test]
fn an_undo_is_an_act_and_can_be_undone() {
    let fixture = Fixture::new();
    let id = fixture.remember("We ship on Fridays", "habit");
    let first = fixture.undo();
    let redo = undo_op(&fixture, first.op_id).unwrap();
    assert_eq!(fixture.claim(id).status, Status::Active);
    assert_eq!(redo.claims[0].id, id);
    let twice = undo_op(&fixture, first.op_id).unwrap_err();
    assert_eq!(twice.code, ErrorCode::Stale);
    assert_eq!(twice.message, "this change was undone already, by ada; nothing was done");
    assert!(twice.hint.unwrap().contains(&format!("ergo undo {}", redo.op_id.short())));
    assert_eq!((first.redo, first.summary.as_str()), (false, "Undid: remembered “We ship on Fridays”"));
    assert_eq!((redo.redo, redo.summary.as_str()), (true, "Redid: remembered “We ship on Fridays”"));
    let again = undo_op(&fixture, redo.op_id).unwrap();
    assert_eq!((again.redo, again.summary), (false, first.summary), "undoing a redo is an undo");
    let log = fixture.engine.log(&ergo::api::LogQuery { acts: true, ..Default::default() }).unwrap();
    let rows: Vec<_> = log.items.iter().map(|event| (event.redo, event.about.as_deref())).collect();
    let what = Some("remembered “We ship on Fridays”");
    assert_eq!(rows[..3], [(false, what), (true, what), (false, what)]);
}

#[test]
fn a_claim_that_was_seen_again_in_its_file_can_be_undone() {
    let fixture = Fixture::new();
    let written = stored(fixture.engine.remember(request("We ship on Fridays", "habit")).unwrap());
    assert_eq!(fixture.engine.observe(&caller(), &[written.claim_id]).unwrap(), 1);
    undo_op(&fixture, written.op_id).unwrap();
    assert_eq!(fixture.claim(written.claim_id).status, Status::Retracted);
}

#[test]
fn the_log_finds_a_change_by_its_id_or_that_of_its_event() {
    let fixture = Fixture::new();
    let claim = fixture.remember("We ship on Fridays", "habit").to_hex();
    fixture.remember("Tests run in parallel", "speed");
    let log = |id: &str, org_id: Option<&str>| {
        let project = org_id.map(|_| "api".to_owned());
        let (id, org_id) = (Some(id.to_owned()), org_id.map(str::to_owned));
        fixture.engine.log(&LogQuery { id, org_id, project, limit: Some(1), ..LogQuery::default() })
    };
    let page = log(&claim[..16], None).unwrap();
    let [event] = &page.items[..] else { panic!("{page:?}") };
    assert_eq!((event.id.to_hex(), page.next.is_none()), (claim.clone(), true));
    assert_eq!(log(&event.op_id.to_hex(), None).unwrap(), page);
    assert_eq!(log(&claim.to_uppercase(), Some("acme")).unwrap(), page);
    assert_eq!(log(&claim, Some("other")).unwrap().items, []);
    for invalid in ["", "abc", "no id"] {
        assert_eq!(log(invalid, None).unwrap_err().code, ErrorCode::BadRequest, "{invalid}");
    }
}

#[test]
fn an_undo_says_what_the_act_was_not_only_what_it_stored() {
    let summary_after = |act: CardAct| {
        let fixture = Fixture::new();
        fixture.remember("Deploys run only on green CI", "a red deploy cost us a Friday");
        let card = fixture.refuse("Deploys run on red CI", "hurry");
        let target = Some(fixture.card(card).sides[0].claim.id.to_hex());
        let narrow = act == CardAct::Narrow;
        let order = ResolveRequest {
            target: target.filter(|_| narrow),
            qualifiers: ergo::domain::Qualifiers { env: narrow.then(|| "staging".into()), ..Default::default() },
            ..order(act, "it is so")
        };
        done(fixture.resolve(card, order));
        fixture.undo().summary
    };
    assert_eq!(summary_after(CardAct::Narrow), "Undid: narrowed “Deploys run on red CI” to env staging");
    let both = "“Deploys run on red CI” and “Deploys run only on green CI”, and stored “Deploys run on red CI”";
    assert_eq!(summary_after(CardAct::Dismiss), format!("Undid: dismissed the contradiction between {both}"));
    assert_eq!(summary_after(CardAct::Exception), format!("Undid: kept both as an exception: {both}"));
}

#[test]
fn an_undo_names_the_claims_of_the_card() {
    let fixture = Fixture::new();
    let green = fixture.remember("Deploys run only on green CI", "a red deploy cost us a Friday");
    let card = fixture.refuse("Deploys run on red CI", "hurry");
    let undone_after = |order: ResolveRequest| {
        let settled = done(fixture.resolve(card, order));
        undo_op(&fixture, settled.op_id).unwrap().summary
    };
    assert_eq!(undone_after(order(CardAct::Discard, "no")), "Undid: discarded “Deploys run on red CI”");
    let keep = ResolveRequest { winner: Some(green.to_hex()), ..order(CardAct::Supersede, "it stays") };
    assert_eq!(undone_after(keep), "Undid: kept “Deploys run only on green CI”, discarded “Deploys run on red CI”");
    let until = Some(fixture.card(card).summary.at + 3_600_000);
    let snooze = ResolveRequest { until, ..order(CardAct::Snooze, "") };
    assert_eq!(undone_after(snooze), "Undid: snoozed the card about “Deploys run on red CI”");
}

#[test]
fn an_act_that_others_build_on_cannot_be_undone_and_they_are_named() {
    let fixture = Fixture::new();
    let a = stored(fixture.try_remember("Logs are kept for 30 days", "disk"));
    let b = stored(fixture.supersede(a.claim_id, "Logs are kept for 60 days", "audit"));
    let error = undo_op(&fixture, a.op_id).unwrap_err();
    assert_eq!((error.code, error.candidates), (ErrorCode::BuiltOn, vec![b.claim_id.to_hex()]));
    undo_op(&fixture, b.op_id).unwrap();
    undo_op(&fixture, a.op_id).unwrap();
    assert_eq!(fixture.engine.counts().unwrap().active, 0);
}

#[test]
fn undoing_each_act_restores_what_was() {
    let fixture = Fixture::new();
    let id = fixture.remember("Logs are kept for 30 days", "disk");
    fixture.supersede(id, "Logs are kept for 60 days", "audit");
    fixture.undo();
    assert_eq!(fixture.claim(id).status, Status::Active);
    fixture.retract(id, "junk");
    fixture.undo();
    assert_eq!(fixture.claim(id).status, Status::Active);
    assert!(fixture.claim(id).replaced_by.is_empty() && fixture.claim(id).closing_reason.is_none());
}

#[test]
fn the_scope_narrows_the_last_act() {
    let fixture = Fixture::new();
    let here = fixture.remember("Logs are kept for 30 days", "disk");
    let mut elsewhere = request("We ship on Fridays", "habit");
    elsewhere.caller.project = "web".into();
    let there = stored(fixture.engine.remember(elsewhere).unwrap()).claim_id;
    fixture.undo();
    assert_eq!((fixture.claim(here).status, fixture.claim(there).status), (Status::Retracted, Status::Active));
    let anywhere = Caller { org_id: String::new(), project: String::new(), ..caller() };
    fixture.engine.undo(UndoRequest { caller: anywhere, ..UndoRequest::default() }).unwrap();
    assert_eq!(fixture.claim(there).status, Status::Retracted);
}

#[test]
fn an_unknown_act_and_a_retry() {
    let fixture = Fixture::new();
    assert_eq!(undo_op(&fixture, OpId([3; 16])).unwrap_err().code, ErrorCode::NotFound);
    fixture.remember("Logs are kept for 30 days", "disk");
    let request = UndoRequest { caller: Caller { op_id: Some(op(5)), ..caller() }, ..UndoRequest::default() };
    let first = fixture.engine.undo(request.clone()).unwrap();
    let again = fixture.engine.undo(request).unwrap();
    assert_eq!((first.undone, first.op_id), (again.undone, again.op_id));
}

#[test]
fn a_dry_run_names_the_change_so_that_a_repetition_undoes_no_other() {
    let fixture = Fixture::new();
    let first = fixture.remember("Logs are kept for 30 days", "disk");
    let last = stored(fixture.try_remember("We ship on Fridays", "habit"));
    let request = UndoRequest { caller: caller(), dry_run: true, ..UndoRequest::default() };
    for _ in 0..2 {
        let found = fixture.engine.undo(request.clone()).unwrap();
        assert_eq!((found.undone, found.redo), (last.op_id, false));
        assert_eq!(found.summary, "Would undo: remembered “We ship on Fridays”");
    }
    assert_eq!(fixture.claim(last.claim_id).status, Status::Active);
    let request = UndoRequest { target_op: Some(last.op_id), dry_run: false, ..request };
    fixture.engine.undo(request.clone()).unwrap();
    assert_eq!(fixture.engine.undo(request).unwrap_err().code, ErrorCode::Stale);
    assert_eq!(fixture.claim(first).status, Status::Active);
}

#[test]
fn a_redaction_does_not_keep_an_act_from_being_undone() {
    let fixture = Fixture::new();
    let a = stored(fixture.try_remember("Logs are kept for 30 days", "disk"));
    done(fixture.engine.redact(on(a.claim_id, "pasted")).unwrap());
    undo_op(&fixture, a.op_id).unwrap();
    let claim = fixture.claim(a.claim_id);
    assert!(claim.flags.redacted && claim.flags.undone && claim.statement.is_empty());
}

#[test]
fn after_a_redaction_nothing_else_is_undone_in_its_place() {
    let fixture = Fixture::new();
    let kept = fixture.remember("Deploys run only on green CI", "a red deploy cost us a Friday");
    let pasted = fixture.remember("The password is hunter2", "it was pasted");
    let card = fixture.refuse("Deploys run on red CI", "hurry");
    for target in [pasted.to_hex(), card.to_hex()] {
        done(fixture.engine.redact(ActRequest { target, ..on(pasted, "a secret") }).unwrap());
        let error = fixture.engine.undo(UndoRequest { caller: caller(), ..UndoRequest::default() }).unwrap_err();
        assert!(error.message.contains("a redaction cannot be undone"), "{error:?}");
    }
    assert_eq!([kept, pasted].map(|id| fixture.claim(id).status), [Status::Active; 2]);
    // The act done since then is the last change.
    fixture.retract(kept, "junk");
    fixture.undo();
    assert_eq!(fixture.claim(kept).status, Status::Active);
}

#[test]
fn the_last_act_of_a_project_may_be_of_its_organisation_but_not_of_another_project() {
    let fixture = Fixture::new();
    let here = fixture.remember("Logs are kept for 30 days", "disk");
    let mut level = request("Releases must be signed", "since it was decided");
    level.caller.project = "*".into();
    stored(fixture.engine.remember(level).unwrap());
    assert_eq!(fixture.undo().summary, "Undid: remembered “Releases must be signed” in acme/*");
    let web = Caller { project: "web".into(), ..caller() };
    let error = fixture.engine.undo(UndoRequest { caller: web, ..UndoRequest::default() }).unwrap_err();
    assert_eq!(error.message, "there is no change of yours to undo in acme/web; the last one is in acme/api");
    assert!(error.hint.unwrap().contains("`ergo undo --scope acme/api`"));
    assert_eq!(fixture.claim(here).status, Status::Active);
    assert_eq!(fixture.undo().summary, "Undid: remembered “Logs are kept for 30 days”");
}

#[test]
fn the_change_of_an_undo_names_the_act_that_it_undid() {
    let fixture = Fixture::new();
    fixture.remember("Logs are kept for 30 days", "disk");
    let undone = fixture.undo().undone;
    let named: Vec<_> = fixture.changes.lock().unwrap().iter().map(|change| change.undone).collect();
    assert_eq!(named, [None, Some(undone)]);
}

#[test]
fn an_act_of_an_unknown_kind_is_described_by_its_kind() {
    for (kind, text) in [("future", "local.future"), (local::WARNED, "noted for a person: “Tea is free”")] {
        let fixture = Fixture::new();
        let claim = fixture.remember("Tea is free", "kind");
        let draft = EventDraft::new(EventKind::Local(kind.into()), [Ref::Id(claim)]);
        super::doubts::commit(&fixture, "ada", vec![draft]);
        let request = UndoRequest { caller: caller(), target_op: Some(op(77)), dry_run: true };
        assert_eq!(fixture.engine.undo(request).unwrap().summary, format!("Would undo: {text}"));
    }
}
