//! A question before something that cannot be taken back.

use super::{form::HELD_MS, global, undo};
use crate::tui::{
    action::Action,
    key::KeyPress,
    msg::{Effect, Write},
    state::{Acting, Overlay, State, overlay::Confirm},
};

/// Answers the question. Nothing is answered before the question has been painted or while a key is held down, and the key that
/// asked is no yes before another one was pressed. The button that has the focus takes Enter, whichever key asked.
pub(super) fn perform(state: &mut State, id: Action, key: Option<KeyPress>, out: &mut Vec<Effect>) {
    let now = state.now;
    let Some(Overlay::Confirm(confirm)) = &mut state.overlay else { return };
    let asked = key.is_some_and(|key| confirm.opener.is_some_and(|opener| opener.same(key)));
    if !asked && key.is_some() {
        confirm.opener = None;
    }
    let held = key.is_some_and(|key| key.repeat) || (asked && is_held(confirm, now));
    let ready = confirm.painted.is_some() && !held;
    match id {
        Action::Yes if ready && !asked => yes(state, out),
        Action::PressButton if ready && confirm.on_yes => yes(state, out),
        Action::PressButton if ready => state.overlay = None,
        Action::No => state.overlay = None,
        Action::PreviewUp => confirm.scroll = confirm.scroll.saturating_sub(1),
        Action::PreviewDown => confirm.scroll = (confirm.scroll + 1).min(confirm.list.len().saturating_sub(1)),
        Action::SwitchButton => confirm.on_yes = !confirm.on_yes,
        _ => {}
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

fn yes(state: &mut State, out: &mut Vec<Effect>) {
    if let Some(Overlay::Confirm(confirm)) = state.overlay.take() {
        let acting = match &*confirm.write {
            Write::Undo(request) => undo::acting(request),
            Write::Redact(_) => Acting::Redact,
            _ => Acting::Confirmed,
        };
        global::send(state, *confirm.write, acting, out);
    }
}
