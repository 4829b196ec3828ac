//! Judging the waiting pairs, with one key per pair. The next pair is shown at once, before the verdict is stored.

use super::{command_line, global, live, motion::Motion, reads, replies::sentence, undo};
use crate::{
    api::{Doubts, JudgePairsRequest, JudgedPairs, PairEffect, PairInDoubt, VerdictOnPair},
    domain::{OpId, PairVerdict, Scope, text::count},
    tui::{
        hits::Pane,
        msg::{Effect, FailureKind, ReadRequest, RequestFailure, Slot, WriteRequest},
        state::{
            Acting, AppState, Overlay, SessionAct, Tone,
            judging::{JudgingState, TakenBack},
        },
    },
};

/// The maximum number of verdicts that the daemon accepts in a request.
const MAX_VERDICTS_PER_REQUEST: usize = 50;

/// The message if a pair no longer waits.
const STALE: &str = "That pair was judged already, or one of its claims is no longer active.";

/// Returns the pairs of the open judging dialog.
fn shown(state: &mut AppState) -> Option<&mut JudgingState> {
    match &mut state.overlay {
        Some(Overlay::Judging(judging)) => Some(judging),
        _ => None,
    }
}

/// Returns the pairs of the open judging dialog, or those of a dialog that was closed before all its verdicts were
/// sent.
fn judging(state: &mut AppState) -> Option<&mut JudgingState> {
    match &mut state.overlay {
        Some(Overlay::Judging(judging)) => Some(judging),
        _ => state.closed_pairs.as_deref_mut(),
    }
}

/// Opens the dialog that shows the waiting pairs one by one.
pub(super) fn open(state: &mut AppState, out: &mut Vec<Effect>) {
    let scope = state.scope.clone();
    let judging = match state.closed_pairs.take() {
        Some(mut closed) => {
            closed.reopen(scope);
            closed
        }
        None => Box::new(JudgingState::new(scope)),
    };
    let query = judging.query();
    state.overlay = Some(Overlay::Judging(judging));
    reads::read(state, Slot::Doubts, ReadRequest::Doubts(query), out);
}

/// Closes the judging dialog. Unsent verdicts are still sent, one after another.
pub(super) fn close(state: &mut AppState) {
    if let Some(Overlay::Judging(judging)) = state.overlay.take()
        && judging.unsent() > 0
    {
        state.closed_pairs = Some(judging);
    }
    live::refresh_all(state);
}

/// Sends all unsent verdicts at once, since the app quits.
pub(super) fn send_all(state: &mut AppState, out: &mut Vec<Effect>) {
    let mut rest = judging(state).map(JudgingState::all_to_send).unwrap_or_default();
    while let Some(scope) = rest.first().map(|(pair, _)| pair.scope.clone()) {
        let (mut own, other): (Vec<_>, Vec<_>) = rest.into_iter().partition(|(pair, _)| pair.scope == scope);
        let more = own.split_off(own.len().min(MAX_VERDICTS_PER_REQUEST));
        write(state, &scope, own, out);
        rest = more.into_iter().chain(other).collect();
    }
}

/// Takes the waiting pairs.
pub(super) fn accept(state: &mut AppState, doubts: Doubts) {
    if let Some(judging) = shown(state) {
        judging.accept(doubts);
    }
}

/// Gives a verdict on the shown pair.
pub(super) fn give(state: &mut AppState, verdict: PairVerdict, out: &mut Vec<Effect>) {
    if let Some(judging) = shown(state) {
        judging.give(verdict);
        send(state, out);
    }
}

/// Sends the next verdict, unless another one waits for its answer.
fn send(state: &mut AppState, out: &mut Vec<Effect>) {
    let Some((pair, verdict)) = judging(state).and_then(JudgingState::next_to_send) else { return };
    let scope = pair.scope.clone();
    write(state, &scope, vec![(pair, verdict)], out);
}

/// Sends verdicts on pairs of a scope.
fn write(state: &mut AppState, scope: &Scope, verdicts: Vec<(PairInDoubt, PairVerdict)>, out: &mut Vec<Effect>) {
    if global::refuse_read_only(state, out) {
        return;
    }
    let caller = state.caller(scope);
    if let Some(op) = caller.op_id {
        state.record_own_op(op);
    }
    let verdict = |(pair, verdict): (PairInDoubt, _)| VerdictOnPair { pair: pair.id.to_hex(), verdict, because: None };
    let verdicts = verdicts.into_iter().map(verdict).collect();
    let write = WriteRequest::JudgePairs(JudgePairsRequest { caller, verdicts, ..JudgePairsRequest::default() });
    state.add_log_line(Tone::Info, format!("$ {}", command_line::of(&write)));
    let ticket = state.ticket(Slot::Judged);
    out.push(Effect::Write(ticket, Box::new(write)));
}

/// Handles the answer to a verdict.
pub(super) fn stored(state: &mut AppState, judged: JudgedPairs, out: &mut Vec<Effect>) {
    let opened = judged.pairs.iter().any(|pair| pair.effect == PairEffect::Card);
    let stale = judged.pairs.iter().any(|pair| pair.effect == PairEffect::Stale);
    if let Some(judging) = judging(state) {
        judging.stored(&judged);
    }
    if opened {
        out.push(state.toast(Tone::Done, "A card is open in the Inbox: it asks which of the two holds."));
    }
    if stale {
        out.push(state.toast(Tone::Info, STALE));
    }
    let JudgedPairs { op_id, scope, summary, .. } = judged;
    state.add_log_line(Tone::Done, sentence(&summary));
    state.record_act(SessionAct { op: op_id, scope, summary, about: Vec::new(), opens: false, settled: 0 });
    state.requests.inbox = true;
    send(state, out);
    request_more(state, out);
    state.closed_pairs = state.closed_pairs.take().filter(|closed| closed.unsent() > 0);
}

/// Reads the next pairs once all that were read are judged.
fn request_more(state: &mut AppState, out: &mut Vec<Effect>) {
    if let Some(query) = shown(state).filter(|judging| judging.wants_more()).map(|judging| judging.query()) {
        reads::read(state, Slot::Doubts, ReadRequest::Doubts(query), out);
    }
}

/// Handles a failure: the pairs were not read, or a verdict was not stored.
pub(super) fn failed(state: &mut AppState, slot: Slot, failure: &RequestFailure, out: &mut Vec<Effect>) {
    // Another request may have judged the pair in the meantime, or an earlier verdict made one of its claims inactive.
    if failure.kind == FailureKind::Stale {
        if let Some(judging) = judging(state) {
            judging.remove_sent();
        }
        out.push(state.toast(Tone::Info, STALE));
        send(state, out);
        state.closed_pairs = state.closed_pairs.take().filter(|closed| closed.unsent() > 0);
        return request_more(state, out);
    }
    let hint = match (failure.kind, &failure.hint) {
        (FailureKind::Unreachable, _) if shown(state).is_some() => {
            state.keys.say(" {judging_close} goes back; there {start} starts the daemon.")
        }
        (FailureKind::Unreachable, _) => state.keys.say(" {start} starts the daemon."),
        (_, Some(hint)) => format!(" ({hint})"),
        (_, None) => String::new(),
    };
    let message = format!("{}{hint}", sentence(&failure.message));
    if let Some(judging) = shown(state) {
        if slot == Slot::Doubts {
            judging.error = Some(message.clone());
        } else {
            judging.failed(message.clone());
        }
        state.add_log_line(Tone::Bad, message);
        return;
    }
    let closed = (slot == Slot::Judged).then(|| state.closed_pairs.take()).flatten();
    // After a timeout it is not known whether the first of these verdicts is stored.
    let not = if failure.kind == FailureKind::Timeout { "may not be stored" } else { "not stored" };
    let lost = closed.map_or_else(String::new, |closed| {
        let verdicts = count(closed.unsent(), "verdict", "verdicts");
        format!("{verdicts} {not}; pairs without a verdict still wait. ")
    });
    out.push(state.toast(Tone::Bad, format!("{lost}{message}")));
}

/// Moves by a number of pairs.
pub(super) fn step(state: &mut AppState, by: isize) {
    if let Some(judging) = shown(state) {
        judging.step(by);
    }
}

/// Takes the last verdict back.
pub(super) fn take_back(state: &mut AppState, out: &mut Vec<Effect>) {
    match shown(state).and_then(JudgingState::take_back) {
        Some(TakenBack::ByUndo(op, scope)) => {
            let write = undo::request(state, op, &scope);
            global::send(state, write, Acting::Undo(op, scope), out);
        }
        Some(TakenBack::NotYet) => {
            let text =
                state.keys.say("The last verdict is still being stored: press {judging_undo} again in a moment.");
            out.push(state.toast(Tone::Info, text));
        }
        Some(TakenBack::Done) | None => {}
    }
}

/// Handles the undo of an act, which may have stored a verdict.
pub(super) fn undone(state: &mut AppState, op: OpId) {
    if let Some(judging) = shown(state) {
        judging.undone(op);
    }
}

/// Scrolls the pair.
pub(super) fn scroll(state: &mut AppState, motion: Motion) {
    let overflow = state.hits.overflow(Pane::Pair);
    if let Some(judging) = shown(state) {
        motion.scroll(&mut judging.scroll, overflow);
    }
}
