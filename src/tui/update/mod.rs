//! Handles messages: from the state and a message to the new state and the effects to run.
//!
//! Invariant: no I/O and no clock here. The time comes in as [`Msg::Clock`], so that a session can be replayed.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod acts;
mod agents;
mod card_answers;
mod claims;
mod command_line;
mod confirm;
mod conflicts;
mod cursor;
mod form;
mod form_request;
mod form_setup;
mod global;
mod held_write;
mod inbox;
mod judging;
mod live;
mod many;
mod marks;
mod matches;
mod models;
mod motion;
mod mouse;
mod note_files;
mod page;
mod palette;
mod peers;
mod prompt;
mod reads;
mod replies;
mod story;
mod teams;
mod tour;
mod undo;
mod why;

#[cfg(test)]
mod tests;

pub(in crate::tui) use command_line::of_event as command_of;
pub(in crate::tui) use note_files::next_step as next_step_of_note;

use motion::Motion;

use super::{
    action::{Action, Danger, for_each_action},
    key::KeyPress,
    msg::{Effect, Msg},
    state::{
        AppState, Daemon, Overlay, Screen, Tone,
        acts::Period,
        form::{ClaimAct, KeepSide},
        overlay::PromptPurpose,
        page::PageSubject,
        why::Subject,
    },
};
use crate::{
    api::CardAct,
    domain::{PairVerdict, Scope},
};

/// What the app shows first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    /// A card, by id or prefix.
    pub card: Option<String>,
    /// A claim by id or prefix, whose why-chain is shown.
    pub claim: Option<String>,
    /// The scope to which the lists are limited; `None` for all.
    pub scope: Option<Scope>,
    /// The screen, if neither a card nor a claim determines it.
    pub screen: Option<Screen>,
}

/// Opens the app. Returns the first requests.
pub fn open(state: &mut AppState, opening: Opening) -> Vec<Effect> {
    let mut out = Vec::new();
    state.scope = opening.scope;
    state.screen = opening.screen.unwrap_or_default();
    if let Some(claim) = opening.claim {
        why::show(state, Subject::Claim(claim));
        state.back.clear();
    }
    if let Some(card) = opening.card {
        state.screen = Screen::Inbox;
        conflicts::request_card(state, card);
    }
    state.requests.scopes = true;
    state.requests.health = true;
    state.requests.inbox = true;
    if state.settings.last_here.is_some() {
        state.timeline.span = Period::LastHere;
    }
    if state.settings.tour {
        state.overlay = Some(Overlay::Tour { page: 0 });
    }
    reads::request_missing(state, &mut out);
    out
}

/// Handles one message. Returns the effects to run.
pub fn update(state: &mut AppState, msg: Msg) -> Vec<Effect> {
    let mut out = Vec::new();
    match msg {
        Msg::Clock(now) => {
            state.now = now;
            return out;
        }
        Msg::Key(key) => press(state, key, &mut out),
        Msg::Paste(text) => paste(state, &text),
        Msg::Mouse { kind, column, row } => mouse::mouse(state, kind, column, row, &mut out),
        Msg::Resize(columns, rows) => state.size = (columns, rows),
        Msg::Reply(ticket, result) => replies::reply(state, ticket, result, &mut out),
        Msg::Live(live) => live::live(state, live, &mut out),
        Msg::Started(result) => started(state, result, &mut out),
        Msg::Drifted(found) => state.why.drifts.extend(found),
        Msg::Opened(Ok(())) => live::refresh_all(state),
        Msg::Opened(Err(message)) => out.push(state.toast(Tone::Bad, message)),
        Msg::Copied(copied, _) => out.push(state.toast(Tone::Info, copied.sentence())),
        Msg::Edited(result) => form::edited(state, result, &mut out),
        Msg::Woken => {
            let now = state.now;
            state.toasts.retain(|toast| toast.until > now);
        }
    }
    teams::show_words(state);
    reads::request_missing(state, &mut out);
    out
}

/// Handles a key: the overlay gets it or, if there is none, the screen.
fn press(state: &mut AppState, key: KeyPress, out: &mut Vec<Effect>) {
    if matches!(state.overlay, Some(Overlay::Form(_))) && form::held_down(state, key) {
        return;
    }
    let found = state.keys.resolve(state.chain(), key);
    match (&state.overlay, found) {
        (Some(Overlay::Form(_)), None) => form::typed(state, key),
        (Some(Overlay::Palette(_)), None) => palette::typed(state, key),
        (Some(Overlay::Prompt(_)), None) => prompt::typed(state, key),
        (Some(Overlay::Page(_)), None) => page::typed(state, key),
        (Some(Overlay::Tour { .. }), Some(_)) if key.repeat => {}
        (_, Some(spec)) => {
            if key.repeat && spec.danger != Danger::None {
                return;
            }
            perform(state, spec.id, Some(key), out);
        }
        (_, None) => {}
    }
}

/// Runs an action. The key is the one that was pressed; `None` for a click.
type Handler = fn(&mut AppState, Option<KeyPress>, &mut Vec<Effect>);

macro_rules! define_handlers {
    ($($name:ident: $danger:ident in $scope:ident by [$($key:literal),*], $title:literal $($short:literal)?
        $(, also [$($also:literal),*])?; $help:literal; if $enabled:ident => $handler:expr;)*) => {
        fn handler(action: Action) -> Handler {
            match action {
                $(Action::$name => $handler,)*
            }
        }
    };
}
for_each_action!(define_handlers);

/// Runs an action, or shows a message that says why it is not possible.
fn perform(state: &mut AppState, action: Action, key: Option<KeyPress>, out: &mut Vec<Effect>) {
    let spec = action.spec();
    match state.check(spec) {
        Ok(()) => handler(action)(state, key, out),
        Err(reason) => out.push(state.toast(Tone::Info, format!("{}: {reason}.", spec.title))),
    }
}

fn paste(state: &mut AppState, text: &str) {
    match &mut state.overlay {
        Some(Overlay::Form(_)) => form::paste(state, text),
        Some(Overlay::Palette(palette)) => drop(palette.input.insert_str(crate::domain::text::sanitize_line(text))),
        Some(Overlay::Prompt(_)) => prompt::paste(state, text),
        Some(Overlay::Page(page)) => page.paste(text),
        Some(Overlay::Confirm(_) | Overlay::Judging(_) | Overlay::Log { .. } | Overlay::Tour { .. }) | None => {}
    }
}

fn started(state: &mut AppState, result: Result<(), String>, out: &mut Vec<Effect>) {
    match result {
        Ok(()) => {
            state.daemon = Daemon::Unknown;
            live::refresh_all(state);
            out.push(state.toast(Tone::Done, "The daemon is running."));
        }
        Err(message) => {
            let text = format!("The daemon did not start: {}.", message.trim_end_matches('.'));
            out.push(state.toast_with(Tone::Bad, text, "{start} tries again."));
            state.daemon = Daemon::Down { message };
        }
    }
}
