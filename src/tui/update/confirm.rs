//! The confirmation before an act, such as one that cannot be undone.

use super::{form::HELD_KEY_MS, global, undo};
use crate::tui::{
    hits::Pane,
    key::KeyPress,
    msg::{Effect, WriteRequest},
    state::{Acting, AppState, Overlay, overlay::Confirm},
};

/// Returns whether a key may answer the question, and whether it is the key that opened it. No key answers before the
/// question has been painted, or while it is held down. The key that opened the question does not answer yes before
/// another key was pressed.
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

/// Presses the button that has the focus. Unlike for [`yes`], the key may be the one that opened the question.
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
    let last = state.hits.overflow(Pane::Picks);
    if let Some(Overlay::Confirm(confirm)) = &mut state.overlay {
        confirm.scroll = confirm.scroll.min(last).saturating_add_signed(by).min(last);
    }
}

/// Returns whether the key that opened the question is still held down: its presses follow each other within
/// [`HELD_KEY_MS`].
fn is_held(confirm: &mut Confirm, now: u64) -> bool {
    let held = confirm.painted.is_some_and(|last| now.saturating_sub(last) < HELD_KEY_MS);
    if held {
        confirm.painted = Some(now);
    }
    held
}

fn send(state: &mut AppState, out: &mut Vec<Effect>) {
    if let Some(Overlay::Confirm(confirm)) = state.overlay.take() {
        let acting = match &*confirm.write {
            WriteRequest::Undo(request) => undo::acting(request),
            _ => confirm.about.map_or(Acting::Confirmed, Acting::Form),
        };
        global::send(state, *confirm.write, acting, out);
    }
}
