//! Acts that work on every screen.

use super::{claims, command_line};
use crate::{
    api::AuditRequest,
    domain::Scope,
    tui::{
        msg::{Effect, Slot, Write},
        state::{
            Acting, Daemon, Overlay, Screen, State, Tone, acts::Focus as ActsFocus, agents::Focus as AgentsFocus,
            claims::Focus as ClaimsFocus, conflicts::Focus as CardFocus, inbox::Focus as InboxFocus,
            peers::Focus as PeersFocus,
        },
        theme::Base,
    },
};

/// Shows all scopes, or only that of what is under the cursor.
pub(super) fn toggle_scope(state: &mut State) {
    state.scope = match state.scope {
        None => Some(scope_shown(state)),
        Some(_) => None,
    };
    claims::rescope(state);
    claims::follow_scope(state);
}

/// Compares the active claims of the scope with each other.
pub(super) fn audit(state: &mut State, out: &mut Vec<Effect>) {
    let scope = scope_of_act(state);
    let caller = state.caller(&scope);
    out.push(state.toast(Tone::Info, format!("Comparing the active claims in {scope}…")));
    send(state, Write::Audit(AuditRequest { caller, dry_run: false }), Acting::Audit(scope), out);
}

/// Copies what the claim, or each side of the card, says.
pub(super) fn copy_text(state: &mut State, out: &mut Vec<Effect>) {
    if let Some(text) = state.text_in_hand() {
        out.push(Effect::Copy { text, what: "the text".to_owned() });
    }
}

/// Copies the command that opens what is under the cursor.
pub(super) fn copy_link(state: &mut State, out: &mut Vec<Effect>) {
    if let Some(link) = link(state) {
        out.push(Effect::Copy { text: link.clone(), what: link });
    }
}

/// Opens the file that the claim comes from.
pub(super) fn open_source(state: &mut State, out: &mut Vec<Effect>) {
    if let Some((path, line)) = state.source_in_hand() {
        out.push(Effect::Open { path, line });
    }
}

/// Draws the app in the next theme.
pub(super) fn next_theme(state: &mut State, out: &mut Vec<Effect>) {
    state.theme = claims::after(&Base::ALL, Some(state.theme)).unwrap_or_default();
    let keep = "theme = … under [tui] in config.toml keeps it";
    out.push(state.toast(Tone::Info, format!("Theme: {}; {keep}.", state.theme.name())));
    out.push(Effect::Theme(state.theme));
}

/// Starts the daemon.
pub(super) fn start(state: &mut State, out: &mut Vec<Effect>) {
    state.daemon = Daemon::Starting;
    out.push(Effect::Start);
}

/// Opens the log of this session.
pub(super) fn open_log(state: &mut State) {
    state.overlay = Some(Overlay::Log { up: 0 });
}

/// Takes the mouse, or leaves it to the terminal.
pub(super) fn toggle_mouse(state: &mut State, out: &mut Vec<Effect>) {
    state.mouse = !state.mouse;
    let text =
        if state.mouse { "Mouse on: click and scroll in the app." } else { "Mouse off: the terminal handles it." };
    out.push(state.toast(Tone::Info, text));
    out.push(Effect::Mouse(state.mouse));
}

/// Sends an act; its equivalent command line goes into the session's log.
pub(super) fn send(state: &mut State, write: Write, acting: Acting, out: &mut Vec<Effect>) {
    let ticket = state.ticket(Slot::Act);
    super::inbox::note_act(state, &acting);
    state.note(Tone::Info, format!("$ {}", command_line::of(&write)));
    state.acting = Some(acting);
    if let Some(op) = command_line::op(&write) {
        state.own.push_back(op);
        if state.own.len() > 100 {
            state.own.pop_front();
        }
    }
    out.push(Effect::Write(ticket, Box::new(write)));
}

/// Goes to a screen; from there one comes back.
pub(super) fn go(state: &mut State, screen: Screen) {
    if state.screen != screen {
        state.back.push(state.screen);
        if state.back.len() > 32 {
            state.back.remove(0);
        }
        state.screen = screen;
    }
}

/// One step back: out of a pane, a search, a chain, a screen.
pub(super) fn back(state: &mut State) {
    match state.screen {
        Screen::Inbox if state.inbox.focus == InboxFocus::Detail => {
            state.inbox.focus = InboxFocus::List;
            return;
        }
        Screen::Inbox | Screen::Cards if !state.conflicts.marks.is_empty() => {
            state.conflicts.marks.clear();
            return;
        }
        Screen::Cards if state.conflicts.focus == CardFocus::Card => {
            state.conflicts.focus = CardFocus::List;
            return;
        }
        Screen::Claims if state.claims.focus == ClaimsFocus::Detail => {
            state.claims.focus = ClaimsFocus::List;
            return;
        }
        Screen::Claims if !state.claims.search.is_empty() => {
            state.claims.search.clear();
            claims::restart(state);
            return;
        }
        Screen::Claims if state.claims.is_narrowed() => {
            state.claims.widen();
            claims::restart(state);
            return;
        }
        Screen::Why => {
            if let Some(before) = state.why.past.pop() {
                super::why::set(state, before);
                return;
            }
        }
        Screen::Peers if state.peers.focus == PeersFocus::Detail => {
            state.peers.focus = PeersFocus::List;
            return;
        }
        Screen::Timeline => {
            if let Some(acts) = state.acts_mut().filter(|acts| acts.focus == ActsFocus::Detail) {
                acts.focus = ActsFocus::List;
                return;
            }
        }
        Screen::Agents if state.agents.focus == AgentsFocus::Detail => {
            state.agents.focus = AgentsFocus::List;
            return;
        }
        Screen::Cards => {
            // One step back from the cards of a status is what waits.
            state.screen = Screen::Inbox;
            return;
        }
        Screen::Inbox | Screen::Claims | Screen::Peers | Screen::Models | Screen::Agents => {}
    }
    if let Some(screen) = state.back.pop() {
        state.screen = screen;
    }
}

/// The scope in which an act takes place that is about neither a claim nor a card: the one shown, else that under the cursor.
pub(super) fn scope_of_act(state: &State) -> Scope {
    state.scope.clone().unwrap_or_else(|| scope_shown(state))
}

fn scope_shown(state: &State) -> Scope {
    match state.screen {
        Screen::Cards => state.conflicts.list.current().map(|card| card.scope.clone()),
        Screen::Claims | Screen::Why => state.claim_in_hand().map(|claim| claim.scope.clone()),
        Screen::Inbox => state.inbox.scope().cloned(),
        Screen::Timeline => state.acts().and_then(|acts| acts.list.current()).map(|event| event.scope.clone()),
        Screen::Agents => state.agents.list.current().map(|event| event.scope.clone()),
        Screen::Peers | Screen::Models => None,
    }
    .unwrap_or_else(|| state.home.0.clone())
}

/// The command that opens what is under the cursor.
pub(super) fn link(state: &State) -> Option<String> {
    Some(match state.screen {
        Screen::Cards => format!("ergo tui --conflict {}", state.conflicts.current()?.view.summary.id.short()),
        Screen::Claims | Screen::Why => format!("ergo tui --claim {}", state.claim_in_hand()?.id.short()),
        Screen::Inbox => super::inbox::link(state)?,
        Screen::Peers | Screen::Timeline | Screen::Models | Screen::Agents => return None,
    })
}
