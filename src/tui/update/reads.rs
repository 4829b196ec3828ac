//! What must be read for what is shown: looked at after every message, so that no message has to remember it.

use crate::{
    api::WhyRequest,
    domain::CardId,
    tui::{
        msg::{Effect, Read, Slot},
        state::{Daemon, Screen, State, why::Subject},
    },
};

/// Asks for what the screen needs and has not.
pub(super) fn follow(state: &mut State, out: &mut Vec<Effect>) {
    if state.autostart && !matches!(state.daemon, Daemon::Unknown) {
        state.autostart = false;
        if matches!(state.daemon, Daemon::Down { .. }) {
            state.daemon = Daemon::Starting;
            out.push(Effect::Start);
        }
    }
    if state.is_offline() {
        return;
    }
    if state.wants.health && !state.waits(Slot::Health) {
        state.wants.health = false;
        read(state, Slot::Health, Read::Health, out);
    }
    match state.screen {
        Screen::Conflicts => {
            cards(state, out);
            card(state, out);
        }
        Screen::Claims => claims(state, out),
        Screen::Why => why(state, out),
        Screen::Peers => sync(state, out),
    }
    if state.wants.scopes && !state.waits(Slot::Scopes) {
        state.wants.scopes = false;
        read(state, Slot::Scopes, Read::Scopes, out);
    }
}

fn read(state: &mut State, slot: Slot, read: Read, out: &mut Vec<Effect>) {
    let ticket = state.ticket(slot);
    out.push(Effect::Read(ticket, read));
}

fn cards(state: &mut State, out: &mut Vec<Effect>) {
    if let Some(page) = state.conflicts.list.need() {
        let query = state.conflicts.query(state.scope.as_ref(), page.cursor);
        read(state, Slot::Conflicts, Read::Conflicts(query), out);
    }
}

fn card(state: &mut State, out: &mut Vec<Effect>) {
    let wanted = state.conflicts.wanted.clone();
    let Some(id) = wanted.or_else(|| state.conflicts.list.anchor().map(CardId::to_hex)) else { return };
    let fresh = state.wants.asked_card.as_ref() == Some(&id);
    if fresh && (!state.wants.card || state.waits(Slot::Card)) {
        return;
    }
    state.wants.card = false;
    state.wants.asked_card = Some(id.clone());
    read(state, Slot::Card, Read::Card(id), out);
}

fn claims(state: &mut State, out: &mut Vec<Effect>) {
    if let Some(page) = state.claims.list.need() {
        let query = state.claims.query(state.scope.as_ref(), page.cursor);
        read(state, Slot::Claims, Read::Claims(query), out);
    }
}

fn why(state: &mut State, out: &mut Vec<Effect>) {
    let Some(subject) = state.why.subject.clone() else { return };
    let fresh = state.wants.asked_why.as_ref() == Some(&subject);
    if fresh && (!state.wants.why || state.waits(Slot::Why)) {
        return;
    }
    state.wants.why = false;
    state.wants.asked_why = Some(subject.clone());
    let request = match subject {
        Subject::Claim(id) => Read::History(id),
        Subject::Question(question) => {
            let scope = state.scope_in_hand();
            Read::Why(WhyRequest { org_id: scope.org_id, project: scope.project, question, as_of: None })
        }
    };
    read(state, Slot::Why, request, out);
}

fn sync(state: &mut State, out: &mut Vec<Effect>) {
    let unread = state.peers.status.is_none() && state.peers.trouble.is_none();
    if (unread || state.wants.sync) && !state.waits(Slot::Sync) {
        state.wants.sync = false;
        read(state, Slot::Sync, Read::Sync, out);
    }
}

/// The daemon is gone: what was under way can be asked again once it is back.
pub(super) fn lost(state: &mut State, message: String) {
    if state.daemon != Daemon::Starting {
        state.daemon = Daemon::Down { message };
    }
    state.conflicts.list.failed();
    state.claims.list.failed();
    state.wants.asked_card = None;
    state.wants.asked_why = None;
    state.wants.scopes = true;
    state.wants.health = true;
    state.wants.sync = true;
}
