//! Actions that work on every screen.

use super::{claims, command_line};
use crate::{
    api::AuditRequest,
    domain::{Scope, text::count},
    tui::{
        msg::{Effect, Slot, WriteRequest},
        state::{Acting, AppState, Daemon, Focus, Overlay, Screen, Tone, claims::ClaimsFocus},
        theme::ThemeBase,
    },
};

/// Switches between all scopes and the scope of the item under the cursor.
pub(super) fn toggle_scope(state: &mut AppState) {
    state.scope = match state.scope {
        None => Some(scope_at_cursor(state)),
        Some(_) => None,
    };
    claims::rescope(state);
    claims::follow_scope(state);
}

/// Compares the active claims of the scope with each other.
pub(super) fn audit(state: &mut AppState, out: &mut Vec<Effect>) {
    let scope = scope_of_act(state);
    let caller = state.caller(&scope);
    out.push(state.toast(Tone::Info, format!("Comparing the active claims in {scope}…")));
    let acting = Acting::Audit(caller.op_id, scope);
    send(state, WriteRequest::Audit(AuditRequest { caller, dry_run: false }), acting, out);
}

/// Copies the statement of the claim, or of each shown side of the card.
pub(super) fn copy_text(state: &mut AppState, out: &mut Vec<Effect>) {
    if let Some(text) = state.selected_text() {
        out.push(Effect::Copy { text, what: "the text".to_owned() });
    }
}

/// Copies the command that opens the card or claim under the cursor.
pub(super) fn copy_link(state: &mut AppState, out: &mut Vec<Effect>) {
    if let Some(link) = link(state) {
        out.push(Effect::Copy { text: link.clone(), what: link });
    }
}

/// Opens the source file of the claim.
pub(super) fn open_source(state: &mut AppState, out: &mut Vec<Effect>) {
    if let Some((path, line)) = state.selected_source() {
        out.push(Effect::Open { path, line });
    }
}

/// Switches to the next theme.
pub(super) fn next_theme(state: &mut AppState, out: &mut Vec<Effect>) {
    state.theme = claims::next_after(&ThemeBase::ALL, Some(state.theme)).unwrap_or_default();
    let keep = "theme = … under [tui] in config.toml keeps it";
    out.push(state.toast(Tone::Info, format!("Theme: {}; {keep}.", state.theme.name())));
    out.push(Effect::Theme(state.theme));
}

pub(super) fn start(state: &mut AppState, out: &mut Vec<Effect>) {
    state.daemon = Daemon::Starting;
    out.push(Effect::Start);
}

/// Quits the app; if that would discard drafts, only when asked a second time.
pub(super) fn quit(state: &mut AppState, out: &mut Vec<Effect>) {
    let mut drafts: Vec<&str> =
        state.drafts.values().filter(|draft| draft.is_edited()).map(|draft| draft.title.as_str()).collect();
    drafts.sort_unstable();
    if !drafts.is_empty() && !state.asked_about_drafts {
        state.asked_about_drafts = true;
        let lost = format!("{} ({})", count(drafts.len(), "draft", "drafts"), drafts.join(", "));
        return out.push(state.toast_with(Tone::Warn, format!("Quitting discards {lost}:"), "{quit} again to quit"));
    }
    super::judging::send_all(state, out);
    out.push(Effect::Quit);
}

/// Opens the log of this session.
pub(super) fn open_log(state: &mut AppState) {
    state.overlay = Some(Overlay::Log { up: 0 });
}

/// Switches between handling the mouse here and leaving it to the terminal.
pub(super) fn toggle_mouse(state: &mut AppState, out: &mut Vec<Effect>) {
    state.mouse = !state.mouse;
    let text =
        if state.mouse { "Mouse on: click and scroll in the app." } else { "Mouse off: the terminal handles it." };
    out.push(state.toast(Tone::Info, text));
    out.push(Effect::Mouse(state.mouse));
}

/// Refuses a write with a message if the app is read-only, whatever key led to it. Returns whether it did.
pub(super) fn refuse_read_only(state: &mut AppState, out: &mut Vec<Effect>) -> bool {
    match state.not_read_only() {
        Ok(()) => false,
        Err(reason) => {
            out.push(state.toast(Tone::Info, format!("Nothing was sent: {reason}.")));
            true
        }
    }
}

/// Sends an act. The equivalent command line goes into the session's log.
pub(super) fn send(state: &mut AppState, write: WriteRequest, acting: Acting, out: &mut Vec<Effect>) {
    if refuse_read_only(state, out) {
        return;
    }
    let ticket = state.ticket(Slot::Act);
    super::inbox::begin_act(state, &write, &acting);
    state.add_log_line(Tone::Info, format!("$ {}", command_line::of(&write)));
    state.acting = Some(acting);
    state.act_sent(super::undo::undoable(&write));
    if let Some(op) = write.op() {
        state.record_own_op(op);
    }
    out.push(Effect::Write(ticket, Box::new(write)));
}

/// Goes to a screen. The Back key returns to the current one.
pub(super) fn go(state: &mut AppState, screen: Screen) {
    if state.screen != screen {
        state.back.push(state.screen);
        if state.back.len() > 32 {
            state.back.remove(0);
        }
        state.screen = screen;
    }
}

/// Goes one step back: out of a pane, marks, a search, a filter, a chain or a screen.
pub(super) fn back(state: &mut AppState) {
    match state.screen {
        Screen::Inbox if state.inbox.focus == Focus::Detail => {
            state.inbox.focus = Focus::List;
            return;
        }
        Screen::Inbox | Screen::Cards if !state.conflicts.marks.is_empty() => {
            state.conflicts.marks.clear();
            return;
        }
        Screen::Cards if state.conflicts.focus == Focus::Detail => {
            state.conflicts.focus = Focus::List;
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
        Screen::Claims if state.claims.has_filters() => {
            state.claims.clear_filters();
            claims::restart(state);
            return;
        }
        Screen::Why => {
            if let Some(before) = state.why.past.pop() {
                super::why::set(state, before);
                return;
            }
        }
        Screen::Peers if state.peers.focus == Focus::Detail => {
            state.peers.focus = Focus::List;
            return;
        }
        Screen::Timeline if state.timeline.story.is_some() => {
            if state.timeline.focus == Focus::Detail {
                state.timeline.focus = Focus::List;
            } else {
                state.timeline.story = None;
            }
            return;
        }
        Screen::Timeline => {
            if let Some(acts) = state.acts_mut().filter(|acts| acts.focus == Focus::Detail) {
                acts.focus = Focus::List;
                return;
            }
        }
        Screen::Notes if state.notes.focus == Focus::Detail => {
            state.notes.focus = Focus::List;
            return;
        }
        Screen::Agents if state.agents.focus == Focus::Detail => {
            state.agents.focus = Focus::List;
            return;
        }
        Screen::Cards => {
            // The Inbox comes before its lists of cards.
            state.screen = Screen::Inbox;
            return;
        }
        Screen::Inbox | Screen::Claims | Screen::Peers | Screen::Models | Screen::Agents | Screen::Notes => {}
    }
    if let Some(screen) = state.back.pop() {
        state.screen = screen;
    }
}

/// Returns the scope of an act that is about neither a claim nor a card: the shown scope; or, if all are shown, the
/// scope of the item under the cursor.
pub(super) fn scope_of_act(state: &AppState) -> Scope {
    state.scope.clone().unwrap_or_else(|| scope_at_cursor(state))
}

fn scope_at_cursor(state: &AppState) -> Scope {
    match state.screen {
        Screen::Cards => state.conflicts.list.current().map(|card| card.scope.clone()),
        Screen::Claims | Screen::Why => state.selected_claim().map(|claim| claim.scope.clone()),
        Screen::Inbox => state.inbox.scope().cloned(),
        Screen::Timeline => match &state.timeline.story {
            Some(story) => Some(story.scope.clone()),
            None => state.timeline.list.current().map(|event| event.scope.clone()),
        },
        Screen::Agents => state.agents.list.current().map(|event| event.scope.clone()),
        Screen::Notes => state.notes.file().and_then(|file| file.scope.clone()),
        Screen::Peers | Screen::Models => None,
    }
    .unwrap_or_else(|| state.home.0.clone())
}

/// Returns the command that opens the card or claim under the cursor.
pub(super) fn link(state: &AppState) -> Option<String> {
    Some(match state.screen {
        Screen::Cards => format!("ergo tui --conflict {}", state.conflicts.current()?.view.summary.id.short()),
        Screen::Claims | Screen::Why => format!("ergo tui --claim {}", state.selected_claim()?.id.short()),
        Screen::Inbox => super::inbox::link(state)?,
        Screen::Peers | Screen::Timeline | Screen::Models | Screen::Agents | Screen::Notes => return None,
    })
}
