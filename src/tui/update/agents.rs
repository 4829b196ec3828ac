//! The Agents screen: the agent under the cursor, what it did, and setting agents up.

use super::{conflicts, global, motion::Motion, why};
use crate::tui::{
    hits::Pane,
    state::{AppState, Focus, Screen, agents::AgentListing, why::Subject},
};

/// Goes to the Agents screen, and reads its data again.
pub(super) fn show(state: &mut AppState) {
    global::go(state, Screen::Agents);
    state.requests.agents = true;
    state.requests.injected = true;
}

/// Switches to the next listing of an agent.
pub(super) fn filter(state: &mut AppState) {
    state.agents.shown = state.agents.shown.next();
    state.agents.clear_list();
}

/// Returns the row under the cursor in the list of an agent's acts or injected claims.
pub(super) fn row(state: &AppState) -> usize {
    match state.agents.shown {
        AgentListing::Injected => state.agents.injected_row,
        AgentListing::Acts | AgentListing::Refused => state.agents.list.cursor(),
    }
}

/// Puts the cursor on a row of the list of an agent's acts or injected claims.
pub(super) fn place(state: &mut AppState, row: usize, height: usize) {
    match state.agents.shown {
        AgentListing::Injected => {
            state.agents.injected_row = row.min(state.agents.injected_here().len().saturating_sub(1));
        }
        AgentListing::Acts | AgentListing::Refused => state.agents.list.place(row, height),
    }
}

/// Moves in a pane of this screen.
pub(super) fn shift(state: &mut AppState, pane: Pane, motion: Motion, height: usize) {
    let agents = &mut state.agents;
    match (pane, agents.shown) {
        (Pane::Agents, _) => {
            let last = agents.entries().len().saturating_sub(1);
            agents.place(motion.apply(agents.row(), last));
        }
        (_, AgentListing::Injected) => {
            let last = agents.injected_here().len().saturating_sub(1);
            agents.injected_row = motion.apply(agents.injected_row.min(last), last);
        }
        (_, AgentListing::Acts | AgentListing::Refused) => motion.step(&mut agents.list, height),
    }
}

/// Opens the list of the agent under the cursor; from there, goes to the claim or card of the row under the cursor.
pub(super) fn open(state: &mut AppState) {
    if state.agents.focus == Focus::List {
        state.agents.focus = Focus::Detail;
        return;
    }
    if state.agents.shown == AgentListing::Injected {
        let claim = state.agents.injected_here().get(state.agents.injected_row).map(|injected| injected.claim);
        if let Some(claim) = claim {
            why::show(state, Subject::Claim(claim.to_hex()));
        }
        return;
    }
    let Some(event) = state.agents.list.selected().cloned() else { return };
    if event.kind == "local.refused" {
        // The id of a refused write is that of the card that it opened.
        conflicts::show(state, event.id.to_hex());
    } else if let Some(claim) = super::acts::subject(&event) {
        why::show(state, Subject::Claim(claim.to_hex()));
    }
}
