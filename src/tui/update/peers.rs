//! The Peers screen: syncing with all peers, and decisions on join requests.

use super::{global, perform};
use crate::{
    api::AnswerJoinRequest,
    tui::{
        action::Action,
        key::KeyPress,
        msg::{Effect, WriteRequest},
        state::{Acting, AppState, Focus, Overlay, Tone, overlay::Confirm, peers::PeerEntry},
    },
};

pub(super) fn sync_now(state: &mut AppState, out: &mut Vec<Effect>) {
    out.push(state.toast(Tone::Info, "Comparing with every peer…"));
    global::send(state, WriteRequest::SyncNow, Acting::Confirmed, out);
}

/// Opens the entry under the cursor: a decision on a join request, or the detail of a team or device.
pub(super) fn open(state: &mut AppState, key: Option<KeyPress>, out: &mut Vec<Effect>) {
    match state.peers.current() {
        Some(PeerEntry::Pending(_)) => perform(state, Action::AdmitDevice, key, out),
        Some(_) => state.peers.focus = Focus::Detail,
        None => {}
    }
}

/// Opens a confirmation: admit or deny the device under the cursor. Neither can be undone.
pub(super) fn ask(state: &mut AppState, opener: Option<KeyPress>, accept: bool) {
    let Some(join) = state.waiting().cloned() else { return };
    let home = state.home.0.clone();
    let caller = state.caller(&home);
    let scopes = match join.scopes.as_slice() {
        [] => "all its scopes".to_owned(),
        scopes => scopes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    };
    let words = join.words.join(" ");
    let role = join.role.as_str();
    let (question, effect, yes) = if accept {
        let effect = format!(
            "Do both screens show these words?  {words}  If not, cancel: it may be a man-in-the-middle attack. {} ({}) becomes {role} in \
             {} and sees {scopes}, with their history.",
            join.name, join.person, join.team_name,
        );
        (format!("Admit {}?", join.name), effect, "Admit")
    } else {
        let effect = format!("Its invitation cannot be used again; {} needs a new one.", join.name);
        (format!("Deny {}?", join.name), effect, "Deny")
    };
    let words = if accept { join.words.clone() } else { Vec::new() };
    let write =
        WriteRequest::AnswerJoin { id: join.id, name: join.name, request: AnswerJoinRequest { caller, accept, words } };
    state.overlay = Some(Overlay::Confirm(Confirm::new(question, effect, yes, write, opener)));
}
