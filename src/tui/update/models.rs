//! The Models screen: making the vectors anew.

use super::{global, replies::sentence};
use crate::{
    api::Reembedded,
    tui::{
        msg::{Effect, RequestFailure, Slot, WriteRequest},
        state::{AppState, Screen, Tone},
    },
};

/// Goes to this screen, and reads anew what it shows.
pub(super) fn show(state: &mut AppState) {
    global::go(state, Screen::Models);
    state.requests.diagnose = true;
    state.models.files = None;
}

/// Makes all vectors again.
pub(super) fn reembed(state: &mut AppState, out: &mut Vec<Effect>) {
    state.note(Tone::Info, "$ ergo reembed");
    state.models.reembed = Some(Reembedded::default());
    step(state, out);
}

/// One step: the daemon makes some, and says how far it is.
fn step(state: &mut AppState, out: &mut Vec<Effect>) {
    let ticket = state.ticket(Slot::Reembed);
    out.push(Effect::Write(ticket, Box::new(WriteRequest::Reembed)));
}

/// A step is done.
pub(super) fn accept(state: &mut AppState, done: Reembedded, out: &mut Vec<Effect>) {
    if done.finished {
        state.models.reembed = None;
        state.requests.diagnose = true;
        out.push(state.toast(Tone::Done, format!("Recomputed all {1} vectors with {0}.", done.model, done.total)));
    } else {
        state.models.reembed = Some(done);
        step(state, out);
    }
}

/// A step failed: what is done is kept, and begun again it goes on from there.
pub(super) fn failed(state: &mut AppState, failure: &RequestFailure, out: &mut Vec<Effect>) {
    state.models.reembed = None;
    state.requests.diagnose = true;
    let how = state.keys.say("{reembed} continues.");
    out.push(state.toast(Tone::Bad, format!("{} {how}", sentence(&failure.message))));
}
