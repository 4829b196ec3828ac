//! What comes over the event stream: what is shown follows, the cursor stays where it is.

use super::{reads, replies::sentence};
use crate::{
    api::Change,
    tui::{
        msg::{Effect, Live},
        state::{Daemon, Screen, State, Tone},
        text::writer,
    },
};

/// Takes one thing from the stream.
pub(super) fn live(state: &mut State, live: Live, out: &mut Vec<Effect>) {
    match live {
        Live::Up => {
            let back = state.is_offline();
            if !matches!(state.daemon, Daemon::Up { .. }) {
                state.daemon = Daemon::Unknown;
            }
            refresh_all(state);
            if back {
                out.push(state.toast(Tone::Done, "The daemon answers again."));
            }
        }
        Live::Down(message) => reads::lost(state, message),
        Live::Change(change) => changed(state, &change, out),
    }
}

fn changed(state: &mut State, change: &Change, out: &mut Vec<Effect>) {
    state.wants.agents = true;
    if change.act.starts_with("agent.") {
        // Who comes and goes is of the Agents screen alone.
        return;
    }
    let own = change.op_id.is_some_and(|op| state.own.contains(&op));
    let here = match (&state.scope, &change.scope) {
        (Some(shown), Some(scope)) => shown == scope,
        _ => true,
    };
    state.wants.scopes = true;
    state.wants.sync = true;
    state.wants.inbox = true;
    state.wants.diagnose = state.screen == Screen::Models;
    if !own {
        state.news = Some((writer(&change.who, change.agent.as_deref()), change.summary.clone()));
    }
    if change.act == "sync.pending" && !own {
        let how = "{show_peers} shows the words to compare.";
        out.push(state.toast_with(Tone::Warn, sentence(&change.summary), how));
    }
    if !here {
        return;
    }
    state.timeline.list.refresh();
    state.agents.list.refresh();
    if !change.cards.is_empty() || !change.claims.is_empty() {
        state.conflicts.list.refresh();
        state.wants.card = true;
        state.claims.list.refresh();
        state.claims.found.asked = None;
        state.wants.why = true;
    }
    let news = match change.act.as_str() {
        "refused" => "A claim by {} was refused: a new card is in the Inbox.",
        "proposed" => "{} proposes to retract a claim: a new card is in the Inbox.",
        _ => return,
    };
    if !own {
        let by = writer(&change.who, change.agent.as_deref());
        out.push(state.toast(Tone::Warn, news.replace("{}", &by)));
    }
}

/// Everything should be read again; what is shown stays until then.
pub(super) fn refresh_all(state: &mut State) {
    state.conflicts.list.refresh();
    state.claims.list.refresh();
    state.timeline.list.refresh();
    state.agents.list.refresh();
    state.claims.found.asked = None;
    state.models.files = None;
    state.wants.agents = true;
    state.wants.given = true;
    state.wants.inbox = true;
    state.wants.diagnose = true;
    state.wants.scopes = true;
    state.wants.health = true;
    state.wants.sync = true;
    state.wants.card = true;
    state.wants.why = true;
}
