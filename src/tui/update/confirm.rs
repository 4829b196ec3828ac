//! The confirmation before something that cannot be undone.

use super::{form::HELD_MS, global, undo};
use crate::tui::{
    key::KeyPress,
    msg::{Effect, WriteRequest},
    state::{Acting, AppState, Overlay, overlay::Confirm},
};

/// Whether a question may be answered by this press, and whether the press is of the key that asked. Nothing is answered before the
/// question has been painted or while a key is held down, and the key that asked does not answer yes before another one was pressed.
fn accepts(state: &mut AppState, key: Option<KeyPress>) -> (bool, bool) {
    let now = state.now;
    let Some(Overlay::Confirm(confirm)) = &mut state.overlay else { return (false, false) };
    let asked = key.is_some_and(|key| confirm.opener.is_some_and(|opener| opener.same(key)));
    if !asked && key.is_some() {
        confirm.opener = None;
    }
    let held = key.is_some_and(|key| key.repeat) || (asked && is_held(confirm, now));
    (confirm.painted.is_some() && !held, asked)
}

/// Answers yes.
pub(super) fn yes(state: &mut AppState, key: Option<KeyPress>, out: &mut Vec<Effect>) {
    if accepts(state, key) == (true, false) {
        send(state, out);
    }
}

/// Answers no.
pub(super) fn no(state: &mut AppState) {
    state.overlay = None;
}

/// Presses the button that has the focus; it takes Enter, whichever key asked.
pub(super) fn press(state: &mut AppState, key: Option<KeyPress>, out: &mut Vec<Effect>) {
    let (ready, _) = accepts(state, key);
    let Some(Overlay::Confirm(confirm)) = &state.overlay else { return };
    match (ready, confirm.on_yes) {
        (true, true) => send(state, out),
        (true, false) => state.overlay = None,
        (false, _) => {}
    }
}

/// Moves the focus to the other button.
pub(super) fn switch(state: &mut AppState, key: Option<KeyPress>) {
    accepts(state, key);
    if let Some(Overlay::Confirm(confirm)) = &mut state.overlay {
        confirm.on_yes = !confirm.on_yes;
    }
}

/// Scrolls the preview.
pub(super) fn scroll(state: &mut AppState, by: isize, key: Option<KeyPress>) {
    accepts(state, key);
    if let Some(Overlay::Confirm(confirm)) = &mut state.overlay {
        let last = confirm.list.len().saturating_sub(1);
        confirm.scroll = confirm.scroll.saturating_add_signed(by).min(last);
    }
}

/// Whether this press of the key that asked is still that key held down: presses follow each other within [`HELD_MS`].
fn is_held(confirm: &mut Confirm, now: u64) -> bool {
    let held = confirm.painted.is_some_and(|last| now.saturating_sub(last) < HELD_MS);
    if held {
        confirm.painted = Some(now);
    }
    held
}

fn send(state: &mut AppState, out: &mut Vec<Effect>) {
    if let Some(Overlay::Confirm(confirm)) = state.overlay.take() {
        let acting = match &*confirm.write {
            WriteRequest::Undo(request) => undo::acting(request),
            WriteRequest::Redact(_) => Acting::Redact,
            _ => Acting::Confirmed,
        };
        global::send(state, *confirm.write, acting, out);
    }
}
