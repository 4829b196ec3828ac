//! Undo and redo of this session's acts, newest first. Older acts, acts in another scope than the shown one, and acts
//! before the last reading of rule files are undone only after a confirmation.

use super::{cursor, global, held_write, judging, live, reads, replies::sentence};
use crate::{
    api::{Caller, LogPage, ResolveManyRequest, UndoOutcome, UndoRequest},
    domain::{OpId, Scope},
    tui::{
        key::KeyPress,
        msg::{Effect, ReadRequest, Slot, WriteRequest},
        state::{Acting, AppState, Overlay, SessionAct, Tone, overlay::Confirm},
        text, times,
    },
};

/// Undoes the newest act of this session; if there is none, asks for the last one before it.
pub(super) fn undo(state: &mut AppState, key: Option<KeyPress>, out: &mut Vec<Effect>) {
    match state.undo_stack.last().cloned() {
        Some(act) => undo_or_ask(state, &act, "Undo", key, out),
        None if state.waits(Slot::LastAct) => {}
        None => request_last_act(state, out),
    }
}

/// Undoes the newest undo of this session.
pub(super) fn redo(state: &mut AppState, key: Option<KeyPress>, out: &mut Vec<Effect>) {
    if let Some(act) = state.redo_stack.last().cloned() {
        undo_or_ask(state, &act, "Redo", key, out);
    }
}

/// Undoes an act at once if its scope is shown and no rule files were read after it; otherwise opens a confirmation.
fn undo_or_ask(
    state: &mut AppState,
    act: &SessionAct,
    verb: &'static str,
    key: Option<KeyPress>,
    out: &mut Vec<Effect>,
) {
    let write = request(state, act.op, &act.scope);
    let summary = sentence(&act.summary);
    let (question, effect) = if state.read_files_last {
        let how = state.keys.say("{show_timeline} lists them, to undo each.");
        let effect = format!("{summary} That was in {}. The claims that came from files stay; {how}", act.scope);
        (format!("{verb} a change from before the files were read?"), effect)
    } else if !state.shows(&act.scope) {
        let effect = format!("{summary} That was in {}, which is not shown.", act.scope);
        (format!("{verb} a change in {}?", act.scope), effect)
    } else {
        return global::send(state, write, Acting::Undo(act.op, act.scope.clone()), out);
    };
    state.overlay = Some(Overlay::Confirm(Confirm::new(question, effect, verb, write, key)));
}

/// Returns the request that undoes an act.
pub(super) fn request(state: &mut AppState, op: OpId, scope: &Scope) -> WriteRequest {
    WriteRequest::Undo(UndoRequest { caller: state.caller(scope), target_op: Some(op), ..UndoRequest::default() })
}

/// Returns the `op_id` of a request, if its act can be undone by [`undo`].
pub(super) fn undoable(write: &WriteRequest) -> Option<OpId> {
    match write {
        WriteRequest::Resolve { .. }
        | WriteRequest::ResolveMany(ResolveManyRequest { dry_run: false, .. })
        | WriteRequest::Remember(_)
        | WriteRequest::Judge(_)
        | WriteRequest::Promote(_)
        | WriteRequest::Supersede(_)
        | WriteRequest::Retract(_)
        | WriteRequest::Reinstate(_)
        | WriteRequest::Reviewed(_)
        | WriteRequest::Audit(_) => write.op(),
        WriteRequest::ResolveMany(_)
        | WriteRequest::NotesScan(_)
        | WriteRequest::NotesWrite(_)
        | WriteRequest::JudgePairs(_)
        | WriteRequest::Redact(_)
        | WriteRequest::Undo(_)
        | WriteRequest::SyncNow
        | WriteRequest::CreateTeam(_)
        | WriteRequest::JoinTeam(_)
        | WriteRequest::Quarantine { .. }
        | WriteRequest::AnswerJoin { .. }
        | WriteRequest::Reembed
        | WriteRequest::Setup { .. } => None,
    }
}

/// Handles an act that got no answer but was done: it is the next one to be undone.
pub(super) fn done_without_answer(state: &mut AppState, act: SessionAct, out: &mut Vec<Effect>) {
    let (summary, place) = (act.summary.trim_end_matches('.'), state.scope_suffix(&act.scope));
    out.push(state.toast_with(Tone::Done, format!("Done after all: {summary}{place}."), "{undo} to undo"));
    state.record_act(act);
}

/// Returns what the app waits for after it has sent an undo: the undone act and its scope.
pub(super) fn acting(request: &UndoRequest) -> Acting {
    let Caller { org_id, project, .. } = request.caller.clone();
    request.target_op.map_or(Acting::Confirmed, |op| Acting::Undo(op, Scope { org_id, project }))
}

/// Requests the last act of this person in the shown scope, or in all scopes.
fn request_last_act(state: &mut AppState, out: &mut Vec<Effect>) {
    let shown = state.scope.clone();
    let (org_id, project) = shown.map_or_else(Default::default, |scope| (scope.org_id, scope.project));
    let caller = Caller { org_id, project, who: state.settings.who.clone(), ..Caller::default() };
    reads::read(state, Slot::LastAct, ReadRequest::LastAct(caller), out);
}

/// Handles the last act of this person: opens a confirmation to undo it.
pub(super) fn found(state: &mut AppState, page: LogPage, out: &mut Vec<Effect>) {
    let Some(event) = page.items.into_iter().next() else {
        let place = state.scope.as_ref().map_or_else(String::new, |scope| format!(" in {scope}"));
        let how = state.keys.say("{show_timeline} lists what others did");
        return out.push(state.toast(Tone::Info, format!("You have no change{place} to undo; {how}.")));
    };
    // In the meantime an overlay may have been opened, or an act done.
    if state.overlay.is_some() || !state.undo_stack.is_empty() || state.acting.is_some() {
        return;
    }
    let quote = |words: &str| format!(" “{}”", text::fit(words, 90));
    let what = match (&event.about, &event.statement) {
        (Some(old), Some(new)) if event.kind == "supersede" => format!("{} with{}", quote(old), quote(new)),
        (about, statement) => statement.as_ref().or(about.as_ref()).map(|words| quote(words)).unwrap_or_default(),
    };
    let ago = times::ago(event.at, state.now);
    let effect = format!("You {}{what} in {}, {ago}. That was before this session.", event.verb(), event.scope);
    let write = request(state, event.op_id, &event.scope);
    let question = "Undo your last change?";
    state.overlay = Some(Overlay::Confirm(Confirm::new(question, effect, "Undo", write, None)));
}

/// Handles the answer to an undo, which can itself be undone. A withdrawal is one too: see [`held_write::withdrawn`].
pub(super) fn done(state: &mut AppState, outcome: UndoOutcome, out: &mut Vec<Effect>) {
    // The question about a write that was withdrawn needs no answer.
    state.drafts.retain(|_, draft| draft.withdraws != Some(outcome.undone));
    state.read_files_last = false;
    let scope = match state.acting.take() {
        Some(Acting::Undo(_, scope)) => scope,
        Some(Acting::Withdraw { scope, card, statement, .. }) => {
            return held_write::withdrawn(state, outcome.op_id, scope, card, &statement, out);
        }
        _ => state.shown_scope(),
    };
    // The daemon calls it a redo to undo a withdrawal, which undid the act that held the write.
    let (before, redo) = state.take_act(outcome.undone).map_or((None, outcome.redo), |(act, redo)| (Some(act), redo));
    let (summary, text) = match &before {
        Some(act) if redo != outcome.redo => {
            let verb = if redo { "Redid" } else { "Undid" };
            (act.summary.clone(), format!("{verb}: {}", lower_first(&act.summary)))
        }
        _ => (outcome.summary.clone(), outcome.summary.clone()),
    };
    let act = SessionAct {
        op: outcome.op_id,
        scope,
        summary,
        about: before.as_ref().map(|act| act.about.clone()).unwrap_or_default(),
        opens: before.as_ref().is_some_and(|act| act.opens),
        settled: before.as_ref().map_or(0, |act| act.settled),
    };
    cursor::claims(state, &outcome.claims);
    if outcome.redo != act.opens {
        cursor::release(state, act.about.clone());
    } else if let Some(item) = act.about.first().cloned() {
        cursor::item(state, item);
    }
    let count = &mut state.inbox.settled;
    *count = if outcome.redo { *count + act.settled } else { count.saturating_sub(act.settled) };
    let place = state.scope_suffix(&act.scope);
    let text = text.trim_end_matches('.');
    let (to, back) =
        if redo { (&mut state.undo_stack, "{undo} to undo") } else { (&mut state.redo_stack, "{redo} to redo") };
    to.push(act);
    out.push(state.toast_with(Tone::Done, format!("{text}{place}."), back));
    live::refresh_all(state);
}

/// Returns the text with its first letter in lower case.
fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// Handles the undo of an act of this session, or of an undo, by another program. What the act settled in the Inbox
/// waits again. The message replaces the one that offers the undo: the key would undo an older act.
pub(super) fn undone_elsewhere(state: &mut AppState, op: OpId, by: &str, summary: &str, out: &mut Vec<Effect>) {
    let Some((act, undo)) = state.take_act(op) else { return };
    let count = &mut state.inbox.settled;
    *count = if undo { *count + act.settled } else { count.saturating_sub(act.settled) };
    judging::undone(state, op);
    out.push(state.toast(Tone::Info, format!("{} (by {by}, elsewhere).", summary.trim_end_matches('.'))));
}

/// Removes an act that cannot be undone any more, so that the one before it is next.
pub(super) fn stale(state: &mut AppState, op: OpId) {
    state.take_act(op);
}
