//! Acts that work on every screen.

use super::{claims, command_line, form, live, page, prompt, undo};
use crate::{
    api::AuditRequest,
    tui::{
        action::Action,
        key::KeyPress,
        msg::{Effect, Slot, Write},
        state::{
            Acting, Daemon, Overlay, Screen, State, Tone,
            acts::Focus as ActsFocus,
            agents::Focus as AgentsFocus,
            claims::Focus as ClaimsFocus,
            conflicts::Focus as CardFocus,
            inbox::Focus as InboxFocus,
            overlay::{Asking, Palette},
            page::About,
            peers::Focus as PeersFocus,
        },
        theme::Base,
    },
};

/// Does an act.
pub(super) fn perform(state: &mut State, id: Action, key: Option<KeyPress>, out: &mut Vec<Effect>) {
    match id {
        Action::Undo => undo::undo(state, key, out),
        Action::Redo => undo::redo(state, key, out),
        Action::Palette => state.overlay = Some(Overlay::Palette(Palette::new())),
        Action::ShowInbox => go(state, Screen::Inbox),
        Action::ShowTimeline => go(state, Screen::Timeline),
        Action::ShowModels => {
            go(state, Screen::Models);
            state.wants.diagnose = true;
            state.models.files = None;
        }
        Action::Search => prompt::open(state, Asking::Search),
        Action::Snapshot => {
            let scope = state.scope.clone().unwrap_or_else(|| scope_shown(state));
            page::open(state, About::Snapshot(scope), out);
        }
        Action::ShowAgents => {
            go(state, Screen::Agents);
            state.wants.agents = true;
            state.wants.given = true;
        }
        Action::Tour => state.overlay = Some(Overlay::Tour { page: 0 }),
        Action::ShowClaims => go(state, Screen::Claims),
        Action::ShowWhy => go(state, Screen::Why),
        Action::ShowPeers => go(state, Screen::Peers),
        Action::Back => back(state),
        Action::AllScopes => {
            state.scope = match state.scope {
                None => Some(scope_shown(state)),
                Some(_) => None,
            };
            claims::rescope(state);
            claims::follow_scope(state);
        }
        Action::Audit => {
            let scope = state.scope.clone().unwrap_or_else(|| scope_shown(state));
            let caller = state.caller(&scope);
            out.push(state.toast(Tone::Info, format!("Comparing the active claims in {scope}…")));
            send(state, Write::Audit(AuditRequest { caller, dry_run: false }), Acting::Audit(scope), out);
        }
        Action::AddClaim => {
            let scope = state.scope.clone().unwrap_or_else(|| scope_shown(state));
            form::add(state, scope, key);
        }
        Action::CopyText => {
            if let Some(text) = state.text_in_hand() {
                out.push(Effect::Copy { text, what: "the text".to_owned() });
            }
        }
        Action::OpenSource => {
            if let Some((path, line)) = state.source_in_hand() {
                out.push(Effect::Open { path, line });
            }
        }
        Action::Theme => {
            let at = Base::ALL.iter().position(|base| *base == state.theme).map_or(0, |at| at + 1);
            let next = Base::ALL.get(at).copied().unwrap_or_default();
            state.theme = next;
            let keep = "theme = … under [tui] in config.toml keeps it";
            out.push(state.toast(Tone::Info, format!("Theme: {}; {keep}.", next.name())));
            out.push(Effect::Theme(next));
        }
        Action::CopyLink => {
            if let Some(link) = link(state) {
                out.push(Effect::Copy { text: link.clone(), what: link });
            }
        }
        Action::Start => {
            state.daemon = Daemon::Starting;
            out.push(Effect::Start);
        }
        Action::Reload => live::refresh_all(state),
        Action::Log => state.overlay = Some(Overlay::Log { up: 0 }),
        Action::Mouse => {
            state.mouse = !state.mouse;
            let text = if state.mouse {
                "Mouse on: click and scroll in the app."
            } else {
                "Mouse off: the terminal handles it."
            };
            out.push(state.toast(Tone::Info, text));
            out.push(Effect::Mouse(state.mouse));
        }
        Action::Suspend => out.push(Effect::Suspend),
        Action::Quit => out.push(Effect::Quit),
        _ => {}
    }
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
fn back(state: &mut State) {
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

fn scope_shown(state: &State) -> crate::domain::Scope {
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
