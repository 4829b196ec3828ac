//! A question before something that cannot be taken back.

use super::global;
use crate::tui::{
    action::Action,
    key::KeyPress,
    msg::Effect,
    state::{Acting, Overlay, State},
};

/// Answers the question. Nothing says yes before the question has been painted, while a key is held down, or by the key
/// that asked it.
pub(super) fn perform(state: &mut State, id: Action, key: Option<KeyPress>, out: &mut Vec<Effect>) {
    let Some(Overlay::Confirm(confirm)) = &mut state.overlay else { return };
    let by_opener = key.is_some_and(|key| key.repeat || confirm.opener.is_some_and(|opener| opener.same(key)));
    match id {
        Action::Yes if confirm.painted && !by_opener => yes(state, out),
        Action::PressButton if confirm.on_yes && confirm.painted && !by_opener => yes(state, out),
        Action::PressButton if !confirm.on_yes && !by_opener => state.overlay = None,
        Action::No => state.overlay = None,
        Action::PreviewUp => confirm.scroll = confirm.scroll.saturating_sub(1),
        Action::PreviewDown => confirm.scroll = (confirm.scroll + 1).min(confirm.list.len().saturating_sub(1)),
        Action::SwitchButton => confirm.on_yes = !confirm.on_yes,
        _ => {}
    }
}

fn yes(state: &mut State, out: &mut Vec<Effect>) {
    if let Some(Overlay::Confirm(confirm)) = state.overlay.take() {
        global::send(state, *confirm.write, Acting::Confirmed, out);
    }
}
