//! The Inbox: opening the item under the cursor, and decisions on join requests and quarantined events.

use std::collections::HashSet;

use super::why;
use crate::{
    api::{InboxItem, InboxKind, QuarantineRequest},
    domain::ClaimId,
    tui::{
        key::KeyPress,
        msg::{Effect, WriteRequest},
        state::{
            Acting, AppState, Focus, Overlay, Screen, Tone,
            claims::StatusFilter,
            conflicts::CardListFilter,
            inbox::{InboxRow, ItemId, id_of},
            marks::claim_mark,
            overlay::Confirm,
            search_line::VerdictChoice,
            why::Subject,
        },
        text::writer,
        times,
    },
};

/// Goes to the next item; from the last listed item of a long group, to the next page of the group.
pub(super) fn next(state: &mut AppState) {
    state.inbox.step(1);
    if let Some(InboxRow::More(kind, _)) = state.inbox.current() {
        state.requests.inbox_page |= state.inbox.next_page(kind);
    }
}

/// Goes to the previous row.
pub(super) fn previous(state: &mut AppState) {
    state.inbox.step(-1);
}

/// Opens the row under the cursor. For an item that is its detail; from there, the screen to which it belongs.
pub(super) fn open(state: &mut AppState, out: &mut Vec<Effect>) {
    match state.inbox.current() {
        None | Some(InboxRow::Heading(..)) => {}
        Some(InboxRow::Import(..)) => state.inbox.toggle_fold(),
        Some(InboxRow::Pairs(_)) => super::judging::open(state, out),
        Some(InboxRow::Promotions(_)) => super::note_files::show_promotions(state),
        Some(InboxRow::Before(..)) => state.requests.inbox_page |= state.inbox.previous_page(),
        Some(InboxRow::More(kind, _)) => {
            if state.inbox.next_page(kind) {
                state.requests.inbox_page = true;
            } else {
                show_whole_group(state, kind);
            }
        }
        Some(InboxRow::Item(..)) if state.inbox.focus == Focus::List => state.inbox.focus = Focus::Detail,
        Some(InboxRow::Item(_, item)) => match item {
            InboxItem::Card(_) => state.conflicts.details = !state.conflicts.details,
            InboxItem::Review(_) | InboxItem::Notice(_) => {
                if let Some(id) = state.inbox.claim().map(|claim| claim.id.to_hex()) {
                    why::show(state, Subject::Claim(id));
                }
            }
            InboxItem::Quarantined(_) | InboxItem::Joining(_) => leave_to(state, Screen::Peers),
        },
    }
}

fn leave_to(state: &mut AppState, screen: Screen) {
    state.back.push(Screen::Inbox);
    state.screen = screen;
}

/// Goes to the screen that lists a whole group.
fn show_whole_group(state: &mut AppState, kind: InboxKind) {
    match kind {
        InboxKind::Refused
        | InboxKind::Contradiction
        | InboxKind::Contested
        | InboxKind::Proposed
        | InboxKind::Found
        | InboxKind::Held
        | InboxKind::Story => {
            leave_to(state, Screen::Cards);
            state.conflicts.filter = CardListFilter::Open;
            state.conflicts.list.restart();
        }
        InboxKind::NeedsReview | InboxKind::Warned | InboxKind::ByAgents => {
            leave_to(state, Screen::Claims);
            state.claims.clear_filters();
            state.claims.search.clear();
            match kind {
                InboxKind::NeedsReview => state.claims.needs_review = true,
                InboxKind::Warned => state.claims.verdict = Some(VerdictChoice::Warned),
                _ => state.claims.status = StatusFilter(None),
            }
            super::claims::restart(state);
        }
        InboxKind::Quarantined | InboxKind::Joining => {
            leave_to(state, Screen::Peers);
            state.peers.focus = Focus::List;
        }
    }
}

/// Opens a confirmation: admit or deny the device under the cursor, or accept or discard the event.
pub(super) fn answer(state: &mut AppState, opener: Option<KeyPress>, accept: bool) {
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
        let effect = format!("{what} by {} is discarded on this device. An admin can still accept it.", event.who);
        ("Discard this event?".to_owned(), effect, "Discard")
    };
    let (in_team, events) = (Some(event.team.to_hex()), vec![event.id.to_hex()]);
    let request = QuarantineRequest { caller, in_team, events, ..QuarantineRequest::default() };
    let write = WriteRequest::Quarantine { accept, request };
    state.overlay = Some(Overlay::Confirm(Confirm::new(question, effect, yes, write, opener)));
}

/// Records which rows an act that is being sent will settle, so that the cursor can go on once it succeeds.
pub(super) fn begin_act(state: &mut AppState, write: &WriteRequest, acting: &Acting) {
    state.inbox.snoozing = match write {
        WriteRequest::Resolve { request, .. } => request.until,
        WriteRequest::ResolveMany(request) => request.until,
        _ => None,
    };
    let rows = match write {
        _ if state.screen != Screen::Inbox => Vec::new(),
        WriteRequest::Resolve { .. } | WriteRequest::Judge(_) => match acting {
            Acting::Form(about) => about.card().map(ItemId::Card).into_iter().collect(),
            Acting::Undo(..) | Acting::Withdraw { .. } | Acting::Audit(..) | Acting::Confirmed => Vec::new(),
        },
        WriteRequest::Retract(request)
        | WriteRequest::Reinstate(request)
        | WriteRequest::Redact(request)
        | WriteRequest::Reviewed(request) => {
            rows_of_claims(state, |claim| is_among(claim, std::iter::once(&request.target).chain(&request.also)))
        }
        WriteRequest::Supersede(request) => rows_of_claims(state, |claim| is_among(claim, &request.targets)),
        WriteRequest::AnswerJoin { id, .. } => vec![ItemId::Joining(id.clone())],
        WriteRequest::Quarantine { request, .. } => {
            let answered =
                |row: &ItemId| matches!(row, ItemId::Quarantined(id) if request.events.contains(&id.to_hex()));
            // The item under the cursor is usually among the listed ones.
            let rows: HashSet<ItemId> =
                state.inbox.listed().0.chain(state.inbox.item()).map(id_of).filter(answered).collect();
            rows.into_iter().collect()
        }
        // The answer to an act on many cards says which of them it settled. The other acts settle no row.
        WriteRequest::ResolveMany(_)
        | WriteRequest::Remember(_)
        | WriteRequest::NotesScan(_)
        | WriteRequest::NotesWrite(_)
        | WriteRequest::Promote(_)
        | WriteRequest::JudgePairs(_)
        | WriteRequest::Undo(_)
        | WriteRequest::Audit(_)
        | WriteRequest::SyncNow
        | WriteRequest::CreateTeam(_)
        | WriteRequest::JoinTeam(_)
        | WriteRequest::Reembed
        | WriteRequest::Setup { .. } => Vec::new(),
    };
    state.inbox.acting = rows;
}

/// Returns whether a claim is among these full ids.
fn is_among<'a>(claim: ClaimId, ids: impl IntoIterator<Item = &'a String>) -> bool {
    let claim = claim.to_hex();
    ids.into_iter().any(|id| *id == claim)
}

/// Says until when the act that was sent last snoozes cards, with a space before; empty for another act.
pub(super) fn snoozed_until(state: &AppState) -> String {
    let until = state.inbox.snoozing.map(|at| times::minute(at, &state.settings.zone));
    until.map_or_else(String::new, |until| format!(" until {until}"))
}

/// Records that this app changed these claims. If that settles their rows, they leave the Inbox without a message.
pub(super) fn release(state: &mut AppState, claims: &[ClaimId]) {
    let rows = rows_of_claims(state, |claim| claims.contains(&claim));
    state.inbox.released.extend(rows);
}

/// Returns the listed or marked rows about these claims. An act on a claim settles all rows about it.
fn rows_of_claims(state: &AppState, is_one: impl Fn(ClaimId) -> bool) -> Vec<ItemId> {
    let listed = state.inbox.listed().0.chain(state.inbox.item());
    let listed = listed.filter_map(claim_mark).chain(state.conflicts.marks.claims().cloned());
    let mut rows = Vec::new();
    for mark in listed.filter(|mark| is_one(mark.id)) {
        if !rows.contains(&mark.row) {
            rows.push(mark.row);
        }
    }
    rows
}

/// Handles the daemon's answer. If the item under the cursor was settled elsewhere, a message says by whom.
pub(super) fn accept(state: &mut AppState, view: crate::api::Inbox, out: &mut Vec<Effect>) {
    // At most one reading a second, also if the daemon's clock is behind.
    state.inbox.returns_at = view.returns_at.map(|at| at.max(state.now + 1_000));
    out.extend(state.inbox.returns_at.map(Effect::Wake));
    let lost = state.inbox.accept(view);
    report_settled(state, lost, out);
    let (listed, whole) = state.inbox.listed();
    state.conflicts.marks.refresh_listed(listed, whole && state.screen != Screen::Cards);
    super::conflicts::open_wanted(state);
}

/// Does what [`accept`] does, for the page of a long group that was turned to.
pub(super) fn accept_page(state: &mut AppState, view: crate::api::Inbox, out: &mut Vec<Effect>) {
    let asked = state.inbox.page_query(None);
    let lost = state.inbox.accept_page(view);
    // If the page is empty by now, the previous page is read instead.
    state.requests.inbox_page |= state.inbox.page_query(None) != asked;
    report_settled(state, lost, out);
}

fn report_settled(state: &mut AppState, lost: Option<InboxItem>, out: &mut Vec<Effect>) {
    let Some(lost) = lost else { return };
    // A card is read again, and that answer says how it was settled.
    if matches!(lost, InboxItem::Card(_)) {
        state.requests.card = true;
        return;
    }
    let claim = claim_mark(&lost).map(|mark| mark.id);
    let settled = state.last_change.as_ref().filter(|change| claim.is_some_and(|claim| change.claims.contains(&claim)));
    let text = match settled {
        Some(change) => format!("Already settled by {}: {}", change.by, super::replies::sentence(&change.summary)),
        None => "Already settled.".to_owned(),
    };
    out.push(state.toast(Tone::Warn, text));
}

/// Returns the prefilled reason for marking claims as reviewed: the marked claims, otherwise the claim under the
/// cursor.
pub(super) fn prefilled_reason(state: &AppState) -> Option<String> {
    if state.screen != Screen::Inbox {
        return None;
    }
    let item = match &*state.marked_claims() {
        [] => state.inbox.item(),
        [one] => state.inbox.listed().0.find(|item| id_of(item) == one.row),
        _ => return Some("Reviewed: they still hold.".to_owned()),
    };
    let cause = match item {
        Some(InboxItem::Review(review)) => review.causes.first()?,
        _ => return Some("Reviewed: it still holds.".to_owned()),
    };
    let did = cause.verb();
    Some(format!(
        "It still holds, although {} {did} a claim that it depends on.",
        writer(&cause.who, cause.agent.as_deref())
    ))
}

/// Returns the command that opens the item under the cursor.
pub(super) fn link(state: &AppState) -> Option<String> {
    match state.inbox.anchor()? {
        ItemId::Card(id) => Some(format!("ergo tui --conflict {}", id.short())),
        _ => state.inbox.claim().map(|claim| format!("ergo tui --claim {}", claim.id.short())),
    }
}
