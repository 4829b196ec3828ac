//! The Timeline: its period, undoing an act, and the command line of an act.

use super::{command_line, global, undo, why};
use crate::{
    api::EventView,
    domain::ClaimId,
    tui::{
        msg::Effect,
        state::{Acting, AppState, Focus, why::Subject},
    },
};

/// Undoes the act under the cursor.
pub(super) fn undo_selected(state: &mut AppState, out: &mut Vec<Effect>) {
    let Some(event) = current(state) else { return };
    let write = undo::request(state, event.op_id, &event.scope);
    global::send(state, write, Acting::Undo(event.op_id, event.scope), out);
}

/// Lists the acts of the next period, or the story of it.
pub(super) fn next_period(state: &mut AppState) {
    let been_here = state.settings.last_here.is_some();
    if let Some(story) = &mut state.timeline.story {
        // The story is read again, since its query changes.
        story.span = story.span.next(been_here);
    } else if let Some(acts) = state.acts_mut() {
        acts.span = acts.span.next(been_here);
        acts.list.restart();
        acts.scroll = 0;
    }
}

/// Copies the command line of the act under the cursor.
pub(super) fn copy_command(state: &mut AppState, out: &mut Vec<Effect>) {
    if let Some(line) = current(state).as_ref().and_then(command_line::of_event) {
        out.push(Effect::Copy { text: line.clone(), what: line });
    }
}

fn current(state: &AppState) -> Option<EventView> {
    state.acts().and_then(|acts| acts.list.selected()).cloned()
}

/// Opens the act under the cursor in full; from there, goes to the claim that it was about.
pub(super) fn open(state: &mut AppState) {
    let Some(event) = current(state) else { return };
    if let Some(acts) = state.acts_mut().filter(|acts| acts.focus == Focus::List) {
        acts.focus = Focus::Detail;
        return;
    }
    if let Some(claim) = subject(&event) {
        why::show(state, Subject::Claim(claim.to_hex()));
    }
}

/// Returns the claim that an act was about: the claim that it created, otherwise the first one that it changed.
pub(super) fn subject(event: &EventView) -> Option<ClaimId> {
    let made = ["assert", "fact_set"].contains(&event.kind.as_str()) || event.statement.is_some();
    if made && !event.kind.starts_with("local.") { Some(event.id) } else { event.targets.first().copied() }
}
