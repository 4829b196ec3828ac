//! Judging the pairs that wait: a key a pair. The next pair is shown at once, while the verdict is on its way.

use super::{command_line, global, live, motion::Motion, reads, replies::sentence, undo};
use crate::{
    api::{Doubts, JudgePairsRequest, JudgedPairs, PairEffect, VerdictOnPair},
    domain::{OpId, PairVerdict},
    tui::{
        hits::Pane,
        msg::{Effect, FailureKind, ReadRequest, RequestFailure, Slot, WriteRequest},
        state::{Acting, AppState, Overlay, SessionAct, Tone, judging::JudgingState},
    },
};

/// Said if a pair no longer waits.
const STALE: &str = "That pair was judged already, or one of its claims is no longer active.";

fn judging(state: &mut AppState) -> Option<&mut JudgingState> {
    match &mut state.overlay {
        Some(Overlay::Judging(judging)) => Some(judging),
        _ => None,
    }
}

/// Shows the pairs that wait, one after another.
pub(super) fn open(state: &mut AppState, out: &mut Vec<Effect>) {
    let fresh = JudgingState::new(state.scope.clone());
    let query = fresh.query();
    state.overlay = Some(Overlay::Judging(Box::new(fresh)));
    reads::read(state, Slot::Doubts, ReadRequest::Doubts(query), out);
}

/// Closes the pairs.
pub(super) fn close(state: &mut AppState) {
    state.overlay = None;
    live::refresh_all(state);
}

/// Takes the pairs that wait.
pub(super) fn accept(state: &mut AppState, doubts: Doubts) {
    if let Some(judging) = judging(state) {
        judging.accept(doubts);
    }
}

/// Gives a verdict on the pair that is shown.
pub(super) fn give(state: &mut AppState, verdict: PairVerdict, out: &mut Vec<Effect>) {
    if let Some(judging) = judging(state) {
        judging.give(verdict);
        send(state, out);
    }
}

/// Sends the next verdict that was given, if none is on its way.
fn send(state: &mut AppState, out: &mut Vec<Effect>) {
    let Some((pair, verdict)) = judging(state).and_then(JudgingState::next_to_send) else { return };
    let caller = state.caller(&pair.scope);
    if let Some(op) = caller.op_id {
        state.remember_own(op);
    }
    let verdicts = vec![VerdictOnPair { pair: pair.id.to_hex(), verdict, because: None }];
    let write = WriteRequest::JudgePairs(JudgePairsRequest { caller, verdicts, ..JudgePairsRequest::default() });
    state.note(Tone::Info, format!("$ {}", command_line::of(&write)));
    let ticket = state.ticket(Slot::Judged);
    out.push(Effect::Write(ticket, Box::new(write)));
}

/// Takes what became of a verdict.
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
    state.note(Tone::Done, sentence(&summary));
    state.did(SessionAct { op: op_id, scope, summary, about: Vec::new(), settled: 0 });
    state.requests.inbox = true;
    send(state, out);
    more(state, out);
}

/// Reads the next pairs once all that were read are judged.
fn more(state: &mut AppState, out: &mut Vec<Effect>) {
    if let Some(query) = judging(state).filter(|judging| judging.wants_more()).map(|judging| judging.query()) {
        reads::read(state, Slot::Doubts, ReadRequest::Doubts(query), out);
    }
}

/// A verdict was not stored, or the pairs were not read.
pub(super) fn failed(state: &mut AppState, failure: &RequestFailure, out: &mut Vec<Effect>) {
    // Somebody judged it meanwhile, or one of its claims gave way by a verdict that was given before.
    if failure.kind == FailureKind::Stale {
        if let Some(judging) = judging(state) {
            judging.remove_sent();
        }
        out.push(state.toast(Tone::Info, STALE));
        send(state, out);
        return more(state, out);
    }
    let hint = match (failure.kind, &failure.hint) {
        (FailureKind::Unreachable, _) => state.keys.say(" {judging_close} goes back; there {start} starts the daemon."),
        (_, Some(hint)) => format!(" ({hint})"),
        (_, None) => String::new(),
    };
    let message = format!("{}{hint}", sentence(&failure.message));
    match judging(state) {
        Some(judging) => judging.failed(message.clone()),
        None => out.push(state.toast(Tone::Bad, message.clone())),
    }
    state.note(Tone::Bad, message);
}

/// Goes to another pair.
pub(super) fn step(state: &mut AppState, by: isize) {
    if let Some(judging) = judging(state) {
        judging.step(by);
    }
}

/// Takes the last verdict back.
pub(super) fn take_back(state: &mut AppState, out: &mut Vec<Effect>) {
    if let Some(Some((op, scope))) = judging(state).and_then(JudgingState::take_back) {
        let write = undo::request(state, op, &scope);
        global::send(state, write, Acting::Undo(op, scope), out);
    }
}

/// An act was undone, perhaps a verdict.
pub(super) fn undone(state: &mut AppState, op: OpId) {
    if let Some(judging) = judging(state) {
        judging.undone(op);
    }
}

/// Scrolls the pair.
pub(super) fn scroll(state: &mut AppState, motion: Motion) {
    let overflow = state.hits.overflow(Pane::Pair);
    if let Some(judging) = judging(state) {
        judging.scroll = motion.apply(judging.scroll.min(overflow), overflow);
    }
}
