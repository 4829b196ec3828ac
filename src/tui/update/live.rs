//! Changes from the event stream: the screen follows, the cursor stays.

use super::{inbox, reads, replies::sentence, undo};
use crate::{
    api::Change,
    tui::{
        msg::{Effect, Live, ReadRequest, Slot},
        state::{AppState, Daemon, LastChange, Screen, SessionAct, Tone, inbox::ItemId},
        text::writer,
    },
};

/// Takes one thing from the stream.
pub(super) fn live(state: &mut AppState, live: Live, out: &mut Vec<Effect>) {
    match live {
        Live::Up => {
            let back = state.is_offline();
            if !matches!(state.daemon, Daemon::Up { .. }) {
                state.daemon = Daemon::Unknown;
            }
            refresh_all(state);
            if back {
                out.push(state.toast(Tone::Done, BACK));
            }
        }
        Live::Down(message) => reads::lost(state, message),
        Live::Change(change) => {
            heard(state, out);
            changed(state, &change, out);
        }
    }
}

/// Said once the daemon answers after it did not.
const BACK: &str = "The daemon answers again.";

/// Something came from the daemon: if it was taken for gone, since a single request did not reach it, everything is read again.
pub(super) fn heard(state: &mut AppState, out: &mut Vec<Effect>) {
    if matches!(state.daemon, Daemon::Down { .. }) {
        state.daemon = Daemon::Unknown;
        refresh_all(state);
        out.push(state.toast(Tone::Done, BACK));
    }
}

/// Reads everything again; if the daemon is taken for gone, asks first whether it answers.
pub(super) fn reload(state: &mut AppState, out: &mut Vec<Effect>) {
    refresh_all(state);
    if matches!(state.daemon, Daemon::Down { .. }) {
        reads::read(state, Slot::Health, ReadRequest::Health, out);
    }
}

fn changed(state: &mut AppState, change: &Change, out: &mut Vec<Effect>) {
    state.requests.agents = true;
    if change.act.starts_with("agent.") {
        // Who comes and goes is of the Agents screen alone.
        return;
    }
    if change.act == "doubts" {
        // The Inbox counts pairs that wait for a verdict; nobody did anything.
        state.requests.inbox = true;
        return;
    }
    let own = change.op_id.is_some_and(|op| state.own.contains(&op));
    let here = match (&state.scope, &change.scope) {
        (Some(shown), Some(scope)) => shown.takes(scope),
        _ => true,
    };
    state.requests.scopes = true;
    state.requests.sync = true;
    state.requests.inbox = true;
    state.requests.diagnose = state.screen == Screen::Models;
    if own {
        inbox::release(state, &change.claims);
    } else {
        let by = writer(&change.who, change.agent.as_deref());
        state.last_change = Some(LastChange { by, summary: change.summary.clone(), claims: change.claims.clone() });
    }
    if own
        && change.act != "refused"
        && let (Some(op), Some(scope)) = (change.op_id, change.scope.clone())
    {
        let about = change.cards.iter().map(|card| ItemId::Card(*card)).collect();
        let act = SessionAct { op, scope, summary: change.summary.clone(), about, settled: 0 };
        if let Some(act) = state.change_arrived(act) {
            undo::done_without_answer(state, act, out);
        }
    }
    if change.act == "sync.pending" && !own {
        let how = "{show_peers} shows the words to compare.";
        out.push(state.toast_with(Tone::Warn, sentence(&change.summary), how));
    }
    if !change.cards.is_empty() || !change.claims.is_empty() {
        // Those on the screen may be of any scope.
        state.requests.card = true;
        state.requests.why = true;
    }
    if !here {
        return;
    }
    state.timeline.list.refresh();
    state.agents.list.refresh();
    if !change.cards.is_empty() || !change.claims.is_empty() {
        state.conflicts.list.refresh();
        state.claims.list.refresh();
        state.claims.related.asked = None;
        state.requests.story = true;
        state.requests.notes = true;
    }
    let notification = match change.act.as_str() {
        "refused" => "A claim by {} was refused: a new card is in the Inbox.",
        "proposed" => "{} proposes to retract a claim: a new card is in the Inbox.",
        _ => return,
    };
    if !own {
        let by = writer(&change.who, change.agent.as_deref());
        out.push(state.toast(Tone::Warn, notification.replace("{}", &by)));
    }
}

/// Everything should be read again; what is shown stays until then.
pub(super) fn refresh_all(state: &mut AppState) {
    state.conflicts.list.refresh();
    state.claims.list.refresh();
    state.timeline.list.refresh();
    state.agents.list.refresh();
    state.claims.related.asked = None;
    state.models.files = None;
    state.requests.agents = true;
    state.requests.injected = true;
    state.requests.inbox = true;
    state.requests.diagnose = true;
    state.requests.scopes = true;
    state.requests.health = true;
    state.requests.sync = true;
    state.requests.card = true;
    state.requests.why = true;
    state.requests.story = true;
    state.requests.notes = true;
}
