//! The Agents screen: the agent under the cursor, what it did, and setting agents up.

use super::{conflicts, global, motion::Motion, why};
use crate::tui::{
    hits::Pane,
    state::{
        Screen, State,
        agents::{Focus, Shown},
        why::Subject,
    },
};

/// Goes to this screen, and reads anew what it shows.
pub(super) fn show(state: &mut State) {
    global::go(state, Screen::Agents);
    state.wants.agents = true;
    state.wants.given = true;
}

/// Lists what the agent did, what was refused, or what hooks gave it.
pub(super) fn filter(state: &mut State) {
    state.agents.shown = state.agents.shown.next();
    state.agents.begin();
}

/// The row under the cursor of what an agent did, or was given.
pub(super) fn row(state: &State) -> usize {
    match state.agents.shown {
        Shown::Given => state.agents.given_row,
        Shown::Acts | Shown::Refused => state.agents.list.cursor(),
    }
}

/// Puts the cursor on a row of what an agent did.
pub(super) fn place(state: &mut State, row: usize, height: usize) {
    match state.agents.shown {
        Shown::Given => state.agents.given_row = row.min(state.agents.given_here().len().saturating_sub(1)),
        Shown::Acts | Shown::Refused => state.agents.list.place(row, height),
    }
}

/// Moves in a pane of this screen.
pub(super) fn shift(state: &mut State, pane: Pane, motion: Motion, height: usize) {
    let agents = &mut state.agents;
    match (pane, agents.shown) {
        (Pane::Agents, _) => {
            let last = agents.entries().len().saturating_sub(1);
            agents.place(motion.apply(agents.row(), last));
        }
        (_, Shown::Given) => {
            let last = agents.given_here().len().saturating_sub(1);
            agents.given_row = motion.apply(agents.given_row.min(last), last);
        }
        (_, Shown::Acts | Shown::Refused) => match motion {
            Motion::By(rows) => agents.list.step(rows, height),
            Motion::First => agents.list.home(height),
            Motion::Last => agents.list.end(height),
        },
    }
}

/// Opens what is under the cursor: the agent's list, and from there the claim or the card that a row is about.
pub(super) fn open(state: &mut State) {
    if state.agents.focus == Focus::List {
        state.agents.focus = Focus::Detail;
        return;
    }
    if state.agents.shown == Shown::Given {
        let claim = state.agents.given_here().get(state.agents.given_row).map(|given| given.claim);
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
