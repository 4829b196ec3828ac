//! The Inbox: opening what is under the cursor, and deciding on devices and events that wait.

use super::why;
use crate::{
    api::{InboxItem, InboxKind, QuarantineRequest},
    tui::{
        key::KeyPress,
        msg::{Effect, Write},
        state::{
            Acting, Overlay, Screen, State, Tone,
            claims::StatusFilter,
            conflicts::CardFilter,
            filter::Verdict,
            form::About,
            inbox::{Focus, ItemId, Row},
            overlay::Confirm,
            peers::Focus as PeersFocus,
            why::Subject,
        },
        text::writer,
    },
};

/// Goes to the next thing; from the last one that is listed of a long group, to the next page of it.
pub(super) fn next(state: &mut State) {
    state.inbox.step(1);
    if let Some(Row::More(kind, _)) = state.inbox.current() {
        state.wants.inbox_page |= state.inbox.turn_on(kind);
    }
}

/// Goes to the row before.
pub(super) fn previous(state: &mut State) {
    state.inbox.step(-1);
}

/// Opens what is under the cursor: the detail, or, from there, where it belongs.
pub(super) fn open(state: &mut State) {
    match state.inbox.current() {
        None | Some(Row::Heading(..)) => {}
        Some(Row::Import(..)) => state.inbox.toggle_fold(),
        Some(Row::Before(..)) => state.wants.inbox_page |= state.inbox.turn_back(),
        Some(Row::More(kind, _)) => {
            if state.inbox.turn_on(kind) {
                state.wants.inbox_page = true;
            } else {
                more(state, kind);
            }
        }
        Some(Row::Item(..)) if state.inbox.focus == Focus::List => state.inbox.focus = Focus::Detail,
        Some(Row::Item(_, item)) => match item {
            InboxItem::Card(_) => state.conflicts.details = !state.conflicts.details,
            InboxItem::Review(_) | InboxItem::Notice(_) => {
                if let Some(id) = state.inbox.claim().map(|claim| claim.id.to_hex()) {
                    why::show(state, Subject::Claim(id));
                }
            }
            InboxItem::Quarantined(_) | InboxItem::Joining(_) => leave(state, Screen::Peers),
        },
    }
}

fn leave(state: &mut State, screen: Screen) {
    state.back.push(Screen::Inbox);
    state.screen = screen;
}

/// The rest of a group, where it is listed whole.
fn more(state: &mut State, kind: InboxKind) {
    match kind {
        InboxKind::Refused
        | InboxKind::Contradiction
        | InboxKind::Contested
        | InboxKind::Proposed
        | InboxKind::Found => {
            leave(state, Screen::Cards);
            state.conflicts.filter = CardFilter::Open;
            state.conflicts.list.restart();
        }
        InboxKind::NeedsReview | InboxKind::Warned | InboxKind::ByAgents => {
            leave(state, Screen::Claims);
            state.claims.widen();
            state.claims.search.clear();
            match kind {
                InboxKind::NeedsReview => state.claims.needs_review = true,
                InboxKind::Warned => state.claims.verdict = Some(Verdict::Warned),
                _ => state.claims.status = StatusFilter(None),
            }
            super::claims::restart(state);
        }
        InboxKind::Quarantined | InboxKind::Joining => {
            leave(state, Screen::Peers);
            state.peers.focus = PeersFocus::List;
        }
    }
}

/// Asks before a device is admitted or an event accepted, or rejected.
pub(super) fn answer(state: &mut State, opener: Option<KeyPress>, accept: bool) {
    if state.inbox.joining().is_some() {
        return super::peers::ask(state, opener, accept);
    }
    let Some(event) = state.inbox.quarantined().cloned() else { return };
    let home = state.home.0.clone();
    let caller = state.caller(&home);
    let what = event.text.as_deref().map_or_else(|| event.kind.clone(), |text| format!("“{text}”"));
    let what = crate::tui::text::fit(&what, 80);
    let (question, effect, yes) = if accept {
        let effect =
            format!("{what} by {} is accepted for the whole team. This cannot be undone. {}", event.who, event.why);
        ("Accept this event?".to_owned(), effect, "Accept")
    } else {
        let effect = format!("{what} by {} is not accepted, and is no longer shown here.", event.who);
        ("Reject this event?".to_owned(), effect, "Reject")
    };
    let request =
        QuarantineRequest { caller, in_team: Some(event.team.to_hex()), events: vec![event.id.to_hex()], reason: None };
    let write = Write::Quarantine { accept, request };
    state.overlay = Some(Overlay::Confirm(Confirm::new(question, effect, yes, write, opener)));
}

/// Notes what an act that is being sent is about, so that the cursor can go on once it is done.
pub(super) fn note_act(state: &mut State, acting: &Acting) {
    let beside = matches!(&state.overlay, Some(Overlay::Form(form)) if matches!(form.about, About::New | About::NewTeam | About::JoinTeam));
    let about =
        !beside && matches!(acting, Acting::Form | Acting::Confirmed | Acting::Redact) && state.screen == Screen::Inbox;
    let marked = state.marked_claims();
    let rows = if marked.is_empty() {
        state.inbox.anchor().cloned().into_iter().collect()
    } else {
        marked.into_iter().map(|mark| mark.row).collect()
    };
    state.inbox.acting = if about { rows } else { Vec::new() };
}

/// Takes what the daemon says; what was settled elsewhere while it was under the cursor is said, with who did it.
pub(super) fn accept(state: &mut State, view: crate::api::Inbox, out: &mut Vec<Effect>) {
    let lost = state.inbox.accept(view);
    say_lost(state, lost, out);
    let (listed, whole) = state.inbox.listed();
    state.conflicts.marks.refresh_listed(listed, whole && state.screen != Screen::Cards);
    super::conflicts::settle_wanted(state);
}

/// [`accept`] for the page of a long group that was turned to.
pub(super) fn accept_page(state: &mut State, view: crate::api::Inbox, out: &mut Vec<Effect>) {
    let asked = state.inbox.page_query(None);
    let lost = state.inbox.accept_page(view);
    // Nothing was left on it: the page before is read instead.
    state.wants.inbox_page |= state.inbox.page_query(None) != asked;
    say_lost(state, lost, out);
}

fn say_lost(state: &mut State, lost: Option<InboxItem>, out: &mut Vec<Effect>) {
    let Some(lost) = lost else { return };
    // A card is read again, and its answer says how it was settled.
    if matches!(lost, InboxItem::Card(_)) {
        state.wants.card = true;
        return;
    }
    let text = match &state.news {
        Some((by, summary)) => format!("Already settled by {by}: {}", super::replies::sentence(summary)),
        None => "Already settled.".to_owned(),
    };
    out.push(state.toast(Tone::Warn, text));
}

/// The reason that is known for saying that a claim was looked at.
pub(super) fn known_reason(state: &State) -> Option<String> {
    if state.screen != Screen::Inbox {
        return None;
    }
    if state.marked_claims().len() > 1 {
        return Some("Looked at them: they stand.".to_owned());
    }
    if state.inbox.notice().is_some() {
        return Some("Looked at it: it stands.".to_owned());
    }
    let cause = state.inbox.review()?.causes.first()?;
    let did = super::acts::verb(&cause.kind);
    Some(format!("It still holds, although {} {did} what it rests on.", writer(&cause.who, cause.agent.as_deref())))
}

/// The item that the cursor holds on to, for a link.
pub(super) fn link(state: &State) -> Option<String> {
    match state.inbox.anchor()? {
        ItemId::Card(id) => Some(format!("ergo tui --conflict {}", id.short())),
        _ => state.inbox.claim().map(|claim| format!("ergo tui --claim {}", claim.id.short())),
    }
}
