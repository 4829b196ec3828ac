//! Handles the event stream: the screen follows the changes, and the cursor stays.

use super::{form, inbox, reads, replies::sentence, undo};
use crate::{
    api::Change,
    tui::{
        msg::{Effect, Live, ReadRequest, Slot},
        state::{AppState, Daemon, LastChange, Screen, SessionAct, Tone, inbox::ItemId},
        text::writer,
    },
};

/// Handles one message of the event stream.
pub(super) fn live(state: &mut AppState, live: Live, out: &mut Vec<Effect>) {
    match live {
        Live::Up => {
            let back = state.is_offline();
            if !matches!(state.daemon, Daemon::Up { .. }) {
                state.daemon = Daemon::Unknown;
            }
            refresh_all(state);
            if back {
                out.push(state.toast(Tone::Done, DAEMON_BACK));
            }
        }
        Live::Down(message) => reads::daemon_lost(state, message),
        Live::Change(change) => {
            daemon_answered(state, out);
            changed(state, &change, out);
        }
    }
}

/// The message when the daemon answers again.
const DAEMON_BACK: &str = "The daemon answers again.";

/// Records that the daemon sent something. If the app took it for unreachable, because one request had failed,
/// everything is read again.
pub(super) fn daemon_answered(state: &mut AppState, out: &mut Vec<Effect>) {
    if matches!(state.daemon, Daemon::Down { .. }) {
        state.daemon = Daemon::Unknown;
        refresh_all(state);
        out.push(state.toast(Tone::Done, DAEMON_BACK));
    }
}

/// Reads everything again. If the daemon is taken for unreachable, first checks whether it answers.
///
/// The terminal is drawn again as well: another program may have written to it.
pub(super) fn reload(state: &mut AppState, out: &mut Vec<Effect>) {
    out.push(Effect::Repaint);
    refresh_all(state);
    if matches!(state.daemon, Daemon::Down { .. }) {
        reads::read(state, Slot::Health, ReadRequest::Health, out);
    }
}

fn changed(state: &mut AppState, change: &Change, out: &mut Vec<Effect>) {
    state.requests.agents = true;
    if change.act.starts_with("agent.") {
        // Connections of agents concern the Agents screen only.
        return;
    }
    if change.act == "doubts" {
        // The Inbox counts the pairs that wait for a verdict. This change is not an act of anybody.
        state.requests.inbox = true;
        return;
    }
    let own = change.op_id.is_some_and(|op| state.own_ops.contains(&op));
    let here = match (&state.scope, &change.scope) {
        (Some(shown), Some(scope)) => shown.takes(scope),
        _ => true,
    };
    state.requests.scopes = true;
    state.requests.sync = true;
    state.requests.inbox = true;
    state.requests.diagnose |= state.screen == Screen::Models;
    if own {
        inbox::release(state, &change.claims);
    } else {
        let by = writer(&change.who, change.agent.as_deref());
        form::note_change(state, &change.claims, &format!("{by} changed it meanwhile: {}", sentence(&change.summary)));
        if let Some(op) = change.undone {
            undo::undone_elsewhere(state, op, &by, &change.summary, out);
        }
        state.last_change = Some(LastChange { by, summary: change.summary.clone(), claims: change.claims.clone() });
    }
    if own
        && change.act != "refused"
        && let (Some(op), Some(scope)) = (change.op_id, change.scope.clone())
    {
        let opens = !change.opened.is_empty();
        let cards = if opens { &change.opened } else { &change.cards };
        let about = cards.iter().map(|card| ItemId::Card(*card)).collect();
        let act = SessionAct { op, scope, summary: change.summary.clone(), about, opens, settled: 0 };
        if let Some(act) = state.change_arrived(act) {
            undo::done_without_answer(state, act, out);
        }
    }
    if change.act == "sync.pending" && !own {
        let how = "{show_peers} shows the words to compare.";
        out.push(state.toast_with(Tone::Warn, sentence(&change.summary), how));
    }
    if !change.cards.is_empty() || !change.claims.is_empty() {
        // The card and the chain on the screen may belong to any scope.
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
    if own {
        return;
    }
    let by = writer(&change.who, change.agent.as_deref());
    let what = match change.act.as_str() {
        "refused" => format!("A claim by {by} was refused"),
        "proposed" => format!("{} (by {by})", change.summary.trim_end_matches('.')),
        _ => return,
    };
    out.push(state.toast(Tone::Warn, format!("{what}: a new card is in the Inbox.")));
}

/// Requests the lists of cards again, and the card that is shown.
pub(super) fn refresh_cards(state: &mut AppState) {
    state.conflicts.list.refresh();
    state.requests.inbox = true;
    state.requests.scopes = true;
    state.requests.card = true;
}

/// Requests everything again. The old data is shown until then.
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
