//! The Agents screen: the agent under the cursor, what it did, and setting agents up.

use super::{conflicts, global, motion::Motion, why};
use crate::tui::{
    hits::Pane,
    state::{AppState, Focus, Screen, agents::AgentListing, why::Subject},
};

/// Goes to this screen, and reads anew what it shows.
pub(super) fn show(state: &mut AppState) {
    global::go(state, Screen::Agents);
    state.requests.agents = true;
    state.requests.injected = true;
}

/// Lists what the agent did, what was refused, or what hooks gave it.
pub(super) fn filter(state: &mut AppState) {
    state.agents.shown = state.agents.shown.next();
    state.agents.begin();
}

/// The row under the cursor of what an agent did, or was given.
pub(super) fn row(state: &AppState) -> usize {
    match state.agents.shown {
        AgentListing::Injected => state.agents.injected_row,
        AgentListing::Acts | AgentListing::Refused => state.agents.list.cursor(),
    }
}

/// Puts the cursor on a row of what an agent did.
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
        (_, AgentListing::Acts | AgentListing::Refused) => match motion {
            Motion::By(rows) => agents.list.step(rows, height),
            Motion::First => agents.list.home(height),
            Motion::Last => agents.list.end(height),
        },
    }
}

/// Opens what is under the cursor: the agent's list, and from there the claim or the card that a row is about.
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
    let Some(event) = state.agents.list.current().cloned() else { return };
    if event.kind == "local.refused" {
        // A refused write is known by the card that it opened.
        conflicts::show(state, event.id.to_hex());
    } else if let Some(claim) = super::acts::subject(&event) {
        why::show(state, Subject::Claim(claim.to_hex()));
    }
}
