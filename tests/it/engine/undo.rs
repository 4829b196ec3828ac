//! undo: whole acts, refused where later ones build on them, itself undone.

use ergo::{
    api::{ErrorCode, RememberRequest},
    domain::Status,
};

use super::*;

fn undo_op(bed: &Bed, op: OpId) -> Result<ergo::api::UndoOutcome, ergo::api::ApiError> {
    bed.engine.undo(UndoRequest { caller: caller(), target_op: Some(op) })
}

#[test]
fn undo_takes_back_the_callers_own_last_act() {
    let bed = Bed::new();
    let mine = bed.remember("We ship on Fridays", "habit");
    let theirs = RememberRequest {
        caller: Caller { who: "bob".into(), ..caller() },
        ..request("Tests run in parallel", "speed")
    };
    let theirs = stored(bed.engine.remember(theirs).unwrap()).claim_id;
    let answer = bed.undo();
    assert!(answer.summary.contains("We ship on Fridays"), "{}", answer.summary);
    let claim = bed.claim(mine);
    assert!(claim.flags.undone && claim.status == Status::Retracted);
    assert_eq!(bed.claim(theirs).status, Status::Active);
    let error = bed.engine.undo(UndoRequest { caller: caller(), target_op: None }).unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
}

#[test]
fn an_undo_is_an_act_and_can_be_undone() {
    let bed = Bed::new();
    let id = bed.remember("We ship on Fridays", "habit");
    let first = bed.undo();
    let redo = undo_op(&bed, first.op_id).unwrap();
    assert_eq!(bed.claim(id).status, Status::Active);
    assert_eq!(redo.claims[0].id, id);
    let twice = undo_op(&bed, first.op_id).unwrap_err();
    assert_eq!(twice.code, ErrorCode::Stale);
    assert_eq!((first.redo, first.summary.as_str()), (false, "Undid: remembered “We ship on Fridays”"));
    assert_eq!((redo.redo, redo.summary.as_str()), (true, "Redid: remembered “We ship on Fridays”"));
    let again = undo_op(&bed, redo.op_id).unwrap();
    assert_eq!((again.redo, again.summary), (false, first.summary), "undoing a redo is an undo");
    let log = bed.engine.log(&ergo::api::LogQuery { acts: true, ..Default::default() }).unwrap();
    let rows: Vec<_> = log.items.iter().map(|event| (event.redo, event.about.as_deref())).collect();
    let what = Some("remembered “We ship on Fridays”");
    assert_eq!(rows[..3], [(false, what), (true, what), (false, what)]);
}

#[test]
fn an_undo_says_what_the_act_was_not_only_what_it_stored() {
    let summary_after = |act: CardAct| {
        let bed = Bed::new();
        bed.remember("Deploys run only on green CI", "a red deploy cost us a Friday");
        let card = bed.refuse("Deploys run on red CI", "hurry");
        let target = Some(bed.card(card).sides[0].claim.id.to_hex());
        let narrow = act == CardAct::Narrow;
        let order = ResolveRequest {
            target: target.filter(|_| narrow),
            qualifiers: ergo::domain::Qualifiers { env: narrow.then(|| "staging".into()), ..Default::default() },
            ..order(act, "it is so")
        };
        done(bed.resolve(card, order));
        bed.undo().summary
    };
    assert_eq!(summary_after(CardAct::Narrow), "Undid: narrowed “Deploys run on red CI” to env staging");
    let both = "“Deploys run on red CI” and “Deploys run only on green CI”, and stored “Deploys run on red CI”";
    assert_eq!(summary_after(CardAct::Dismiss), format!("Undid: dismissed the contradiction between {both}"));
    assert_eq!(summary_after(CardAct::Exception), format!("Undid: kept both as an exception: {both}"));
}

#[test]
fn an_act_that_others_build_on_cannot_be_undone_and_they_are_named() {
    let bed = Bed::new();
    let a = stored(bed.try_remember("Logs are kept for 30 days", "disk"));
    let b = stored(bed.supersede(a.claim_id, "Logs are kept for 60 days", "audit"));
    let error = undo_op(&bed, a.op_id).unwrap_err();
    assert_eq!((error.code, error.candidates), (ErrorCode::BuiltOn, vec![b.claim_id.to_hex()]));
    undo_op(&bed, b.op_id).unwrap();
    undo_op(&bed, a.op_id).unwrap();
    assert_eq!(bed.engine.counts().unwrap().active, 0);
}

#[test]
fn undoing_each_act_restores_what_was() {
    let bed = Bed::new();
    let id = bed.remember("Logs are kept for 30 days", "disk");
    bed.supersede(id, "Logs are kept for 60 days", "audit");
    bed.undo();
    assert_eq!(bed.claim(id).status, Status::Active);
    bed.retract(id, "junk");
    bed.undo();
    assert_eq!(bed.claim(id).status, Status::Active);
    assert!(bed.claim(id).replaced_by.is_empty() && bed.claim(id).closing_reason.is_none());
}

#[test]
fn the_scope_narrows_the_last_act() {
    let bed = Bed::new();
    let here = bed.remember("Logs are kept for 30 days", "disk");
    let mut elsewhere = request("We ship on Fridays", "habit");
    elsewhere.caller.project = "web".into();
    let there = stored(bed.engine.remember(elsewhere).unwrap()).claim_id;
    bed.undo();
    assert_eq!((bed.claim(here).status, bed.claim(there).status), (Status::Retracted, Status::Active));
    let anywhere = Caller { org_id: String::new(), project: String::new(), ..caller() };
    bed.engine.undo(UndoRequest { caller: anywhere, target_op: None }).unwrap();
    assert_eq!(bed.claim(there).status, Status::Retracted);
}

#[test]
fn an_unknown_act_and_a_retry() {
    let bed = Bed::new();
    assert_eq!(undo_op(&bed, OpId([3; 16])).unwrap_err().code, ErrorCode::NotFound);
    bed.remember("Logs are kept for 30 days", "disk");
    let request = UndoRequest { caller: Caller { op_id: Some(op(5)), ..caller() }, target_op: None };
    let first = bed.engine.undo(request.clone()).unwrap();
    let again = bed.engine.undo(request).unwrap();
    assert_eq!((first.undone, first.op_id), (again.undone, again.op_id));
}

#[test]
fn a_redaction_does_not_keep_an_act_from_being_undone() {
    let bed = Bed::new();
    let a = stored(bed.try_remember("Logs are kept for 30 days", "disk"));
    done(bed.engine.redact(on(a.claim_id, "pasted")).unwrap());
    undo_op(&bed, a.op_id).unwrap();
    let claim = bed.claim(a.claim_id);
    assert!(claim.flags.redacted && claim.flags.undone && claim.statement.is_empty());
}
