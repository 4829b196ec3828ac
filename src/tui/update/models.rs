//! The Models screen: recomputing the vectors.

use super::{global, replies::sentence};
use crate::{
    api::Reembedded,
    tui::{
        msg::{Effect, RequestFailure, Slot, WriteRequest},
        state::{AppState, Screen, Tone},
    },
};

/// Goes to the Models screen, and reads its data again.
pub(super) fn show(state: &mut AppState) {
    global::go(state, Screen::Models);
    state.requests.diagnose = true;
    state.models.files = None;
}

/// Recomputes all vectors.
pub(super) fn reembed(state: &mut AppState, out: &mut Vec<Effect>) {
    state.add_log_line(Tone::Info, "$ ergo reembed");
    state.models.reembed = Some(Reembedded::default());
    request_step(state, out);
}

/// Requests one step, in which the daemon recomputes some vectors and reports its progress.
fn request_step(state: &mut AppState, out: &mut Vec<Effect>) {
    if global::refuse_read_only(state, out) {
        return;
    }
    let ticket = state.ticket(Slot::Reembed);
    out.push(Effect::Write(ticket, Box::new(WriteRequest::Reembed)));
}

/// Handles the result of a step, and requests the next one.
pub(super) fn accept(state: &mut AppState, done: Reembedded, out: &mut Vec<Effect>) {
    if done.finished {
        state.models.reembed = None;
        state.requests.diagnose = true;
        out.push(state.toast(Tone::Done, format!("Recomputed all {1} vectors with {0}.", done.model, done.total)));
    } else {
        state.models.reembed = Some(done);
        request_step(state, out);
    }
}

/// Handles a failed step. The vectors computed so far are kept, and a new start continues from there.
pub(super) fn failed(state: &mut AppState, failure: &RequestFailure, out: &mut Vec<Effect>) {
    state.models.reembed = None;
    state.requests.diagnose = true;
    let how = state.keys.say("{reembed} continues.");
    out.push(state.toast(Tone::Bad, format!("{} {how}", sentence(&failure.message))));
}
