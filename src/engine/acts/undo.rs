//! `undo`: reverses a whole act. An undo is an act itself, and can be undone by its id.

use super::{propose::needs_person, replay, settlement::describe_settlement};
use crate::{
    api::{ApiError, ErrorCode, UndoOutcome, UndoRequest},
    domain::{CardId, EventKind, OpId, Scope, derive, text},
    engine::{
        Engine,
        act_context::{ActContext, WriteScope},
        request_hash::request_hash,
        validate, wording,
    },
    store::{EventDraft, EventRow, Reader, Ref},
};

/// `POST /undo`.
pub(in crate::engine) fn undo(engine: &Engine, request: &UndoRequest) -> Result<UndoOutcome, ApiError> {
    let named = validate::optional_scope(Some(&request.caller.org_id), Some(&request.caller.project))?;
    let identity = validate::identity(&request.caller)?;
    engine.act(&request.caller, request_hash("undo", request), |context| {
        if let Some(answer) = done_before(context)? {
            return Ok(answer);
        }
        let scope = match &named {
            Some(scope) => Some(context.reader().scope_for(scope, identity.as_deref())?),
            None => None,
        };
        let target = match request.target_op {
            Some(op) => op,
            None => latest_act(context, scope.as_ref())?,
        };
        undo_act(context, target, scope.as_ref(), request.dry_run)
    })
}

/// Returns the caller's latest act in a scope, or in all scopes.
fn latest_act(context: &ActContext<'_>, scope: Option<&Scope>) -> Result<OpId, ApiError> {
    let (reader, actor) = (context.reader(), &context.actor);
    let device = context.engine.device();
    let last = |scope: Option<&Scope>| reader.last_op(&device, &actor.who, actor.agent.as_deref(), scope);
    if let Some(op) = last(scope)? {
        return Ok(op);
    }
    let none = "there is no change of yours to undo";
    let hint = "`ergo log` lists changes, each with the id for `ergo undo ID`";
    let Some(scope) = scope else { return Err(ApiError::not_found(none).hint(hint)) };
    let elsewhere = last(None)?.map(|op| reader.op(&op)).transpose()?.and_then(|events| events.into_iter().next());
    Err(match elsewhere {
        Some(event) => ApiError::not_found(format!("{none} in {scope}; the last one is in {}", event.scope))
            .hint(format!("to undo that one: `ergo undo --scope {}`", text::quote(&event.scope.to_string()))),
        None => ApiError::not_found(format!("{none} in {scope}")).hint(hint),
    })
}

/// Undoes an act. The summary names the act's scope if it differs from the `asked` one, which happens for the
/// organisation's level.
fn undo_act(
    context: &mut ActContext<'_>,
    target: OpId,
    asked: Option<&Scope>,
    dry_run: bool,
) -> Result<UndoOutcome, ApiError> {
    let events = context.reader().op(&target)?;
    let Some(first) = events.first() else {
        return Err(ApiError::not_found(format!("there is no change {target}")).hint("`ergo log` lists changes"));
    };
    if events.iter().any(|event| derive::is_redact(&event.kind)) {
        return Err(ApiError::field("target_op", "a redaction cannot be undone: the text is gone for good")
            .hint("`ergo log` lists changes; an earlier one can be undone by its `op_id`"));
    }
    if events.iter().any(|event| matches!(event.kind, EventKind::Roster(_))) {
        return Err(ApiError::field("target_op", "a change to a team cannot be undone")
            .hint("do the opposite: admit a device that was revoked, or revoke one that was admitted"));
    }
    if context.may_only_propose() && events.iter().any(|event| event.agent.is_none()) {
        // The id in the log, from which `ergo undo` finds the act.
        let id = first.id.short();
        return Err(needs_person(format!("a person made the change {id}, and agents may not undo it here"))
            .hint(format!("ask {} to run `ergo undo {id}`", first.who)));
    }
    let effective: Vec<&EventRow> = events.iter().filter(|event| event.effective).collect();
    if effective.is_empty() {
        return Err(undone_already(context.reader(), first)?);
    }
    must_not_be_settled_proposal(context, &effective)?;
    let later = context.reader().built_on(&target)?;
    if !later.is_empty() {
        let all = later.len();
        // In the order in which they must be undone; thousands may depend on one act.
        let latest = later.into_iter().rev().take(MAX_NAMED_EVENTS).collect();
        return Err(wording::built_on(&named(context, latest)?, all));
    }

    let (local, shared): (Vec<&EventRow>, Vec<&EventRow>) =
        effective.iter().copied().partition(|event| matches!(event.kind, EventKind::Local(_)));
    let mut drafts = Vec::new();
    for (kind, events) in [(EventKind::Undo, shared), (EventKind::Local(derive::local::UNDO.into()), local)] {
        if !events.is_empty() {
            drafts.push(EventDraft::new(kind, events.iter().map(|event| Ref::Id(event.id))));
        }
    }
    let (root, redo) = undo_root(context.reader(), events.clone())?;
    let what = describe_act(context.reader(), &root)?;
    let place =
        if asked.is_some_and(|scope| *scope != first.scope) { format!(" in {}", first.scope) } else { String::new() };
    if dry_run {
        let summary = format!("Would {}: {what}{place}", if redo { "redo" } else { "undo" });
        return Ok(UndoOutcome { undone: target, op_id: context.op, summary, redo, claims: vec![] });
    }
    let summary = format!("{}: {what}{place}", if redo { "Redid" } else { "Undid" });
    let committed = context.commit(&WriteScope::at(&first.scope), drafts, "undo", summary.clone())?;
    context.last_change_undoes(target);
    Ok(UndoOutcome { undone: target, op_id: committed.op, summary, redo, claims: context.changed(&committed)? })
}

/// Refuses to undo a proposal whose card is settled: the card would lose the decision with it.
fn must_not_be_settled_proposal(context: &ActContext<'_>, events: &[&EventRow]) -> Result<(), ApiError> {
    for event in events.iter().filter(|event| derive::is_local_kind(&event.kind, derive::local::PROPOSED)) {
        let Some(card) = context.reader().card(&CardId::of_members(&[event.id]))? else { continue };
        let Some(by) = card.settled else { continue };
        let mut error = ApiError::new(
            ErrorCode::BuiltOn,
            format!("this proposal cannot be undone, since {} settled its card {}", by.who, card.id.short()),
        );
        error.candidates = vec![by.event.to_hex()];
        let op = by.op.short();
        return Err(error.hint(if context.may_only_propose() && by.agent.is_none() {
            format!("if the card should be open again, ask {} to run `ergo undo {op}`", by.who)
        } else {
            format!("undo the settlement instead: `ergo undo {op}`")
        }));
    }
    Ok(())
}

/// Returns the error for an act that is already undone: by whom, and how to redo it.
fn undone_already(reader: &Reader, event: &EventRow) -> Result<ApiError, ApiError> {
    let Some(undo) = reader.undo_of(&event.id)? else {
        return Ok(ApiError::new(ErrorCode::Stale, "this change was undone already; nothing was done"));
    };
    let agent = undo.agent.map(|agent| format!(" through {agent}")).unwrap_or_default();
    Ok(ApiError::new(
        ErrorCode::Stale,
        format!("this change was undone already, by {}{agent}; nothing was done", undo.who),
    )
    .hint(format!("to redo it, undo the undo: `ergo undo {}`", undo.op.short())))
}

/// The greatest number of events that an error names among those to undo first.
const MAX_NAMED_EVENTS: usize = 20;

fn is_undo(events: &[EventRow]) -> bool {
    events.iter().all(|event| derive::is_undo(&event.kind))
}

/// Follows a chain of undos to the first act that is not an undo. Returns its events, and whether undoing `events` puts
/// it in force again.
fn undo_root(reader: &Reader, events: Vec<EventRow>) -> Result<(Vec<EventRow>, bool), ApiError> {
    let (mut root, mut redo) = (events, false);
    while let Some(target) = root.first().filter(|_| is_undo(&root)).and_then(|event| event.targets.first()) {
        let Some(event) = reader.event(target)? else { break };
        root = reader.op(&event.op)?;
        redo = !redo;
    }
    Ok((root, redo))
}

/// Describes in one sentence the act that an undo reversed, and whether the undo was a redo; `None` for any other
/// event.
pub(in crate::engine) fn describe_undone(
    reader: &Reader,
    event: &EventRow,
) -> Result<Option<(String, bool)>, ApiError> {
    let Some(target) = event.targets.first().filter(|_| is_undo(std::slice::from_ref(event))) else { return Ok(None) };
    let Some(target) = reader.event(target)? else { return Ok(None) };
    let (root, redo) = undo_root(reader, reader.op(&target.op)?)?;
    Ok(Some((describe_act(reader, &root)?, redo)))
}

/// Describes an act in one sentence: if it settled a card, by what became of the claims on it, as the log does.
fn describe_act(reader: &Reader, events: &[EventRow]) -> Result<String, ApiError> {
    let settlement = events.first().map(|event| describe_settlement(reader, event)).transpose()?.flatten();
    match settlement {
        Some((outcome, _)) => Ok(outcome),
        None => replay::describe(reader, events),
    }
}

/// Describes the events that must be undone first.
fn named(context: &ActContext<'_>, events: Vec<EventRow>) -> Result<Vec<(crate::domain::EventId, String)>, ApiError> {
    events
        .into_iter()
        .map(|event| {
            let what = replay::describe(context.reader(), std::slice::from_ref(&event))?;
            Ok((event.id, what))
        })
        .collect()
}

fn done_before(context: &ActContext<'_>) -> Result<Option<UndoOutcome>, ApiError> {
    let events = context.done_before()?;
    let Some(first) = events.first() else { return Ok(None) };
    let undone = match first.targets.first() {
        Some(target) if is_undo(&events) => context.reader().event(target)?.map(|event| event.op),
        _ => None,
    };
    let undone = undone.ok_or_else(|| replay::other_act(first))?;
    let (_, redo) = undo_root(context.reader(), context.reader().op(&undone)?)?;
    let summary = format!("{} by an earlier request with this `op_id`", if redo { "Redone" } else { "Undone" });
    Ok(Some(UndoOutcome { undone, op_id: context.op, summary, redo, claims: vec![] }))
}
