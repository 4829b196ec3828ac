//! Settling many cards at once: the form, the preview, and the result.

use super::{form_setup, inbox, live, reads, replies::need_review};
use crate::{
    api::{CardAct, CardSide, CardStatus, CardView, Keep, ResolveManyRequest, ResolvedCard, ResolvedMany},
    domain::{CardId, drift::without_line},
    tui::{
        hits::Pane,
        key::KeyPress,
        msg::{Effect, ReadRequest, Slot, WriteRequest},
        state::{
            AppState, Overlay, Screen, SessionAct, Tone,
            form::{ActForm, Field, FieldId, FieldInput, FormSubject, KeepSide},
            inbox::ItemId,
            marks::refs,
            overlay::{Confirm, Listed},
        },
        text,
    },
};

/// Opens the form of an act on all marked cards. If one source is to be kept, the cards are read first, for their
/// sources.
pub(super) fn open(state: &mut AppState, act: CardAct, keep: KeepSide, key: Option<KeyPress>, out: &mut Vec<Effect>) {
    if state.screen == Screen::Cards {
        state.conflicts.marks.refresh(&state.conflicts.list);
    }
    if keep == KeepSide::Chosen {
        let ids = refs(state.marked_cards()).into_iter().map(|card| card.id).collect();
        return reads::read(state, Slot::Marked, ReadRequest::Cards(ids), out);
    }
    form(state, act, keep, Vec::new(), key);
}

/// Opens the form that offers the sources and writers of the marked cards, which have arrived.
pub(super) fn choose(state: &mut AppState, views: &[CardView]) {
    // In the meantime another overlay may have been opened, or the cards unmarked.
    let marked = state.marked_cards();
    let are_marked = views.iter().any(|view| marked.iter().any(|card| card.id == view.summary.id));
    if state.overlay.is_none() && are_marked {
        let keeps = sources(views);
        form(state, CardAct::Supersede, KeepSide::Chosen, keeps, None);
    }
}

fn form(state: &mut AppState, act: CardAct, keep: KeepSide, keeps: Vec<(Keep, usize)>, key: Option<KeyPress>) {
    let marked = state.marked_cards();
    let Some(scope) = marked.first().map(|card| card.scope.clone()) else { return };
    let cards = refs(marked);
    let count = cards.len();
    let mut fields = Vec::new();
    if keep == KeepSide::Chosen {
        let options = keeps.iter().map(|(keep, on)| format!("{} ({on})", label(keep))).collect();
        let input = FieldInput::Choice { options, chosen: 0 };
        fields.push(Field::new(FieldId::Keep, "Claim to keep", "", input));
    }
    if act == CardAct::Snooze {
        fields.push(form_setup::snooze_field());
    } else {
        let hint = match act {
            CardAct::Supersede => "leave empty to use the reason of the claim that stays",
            _ => "why",
        };
        fields.push(form_setup::text_field(FieldId::Reason, "Reason", hint, ""));
    }
    let (title, effect) = title_and_effect(act, keep, count);
    let effect = format!("{effect} {}A preview follows.", left_out(state, count));
    let form = ActForm {
        cards,
        keeps: keeps.into_iter().map(|(keep, _)| keep).collect(),
        ..form_setup::plain(FormSubject::Many { act, keep }, title, effect, scope, fields)
    };
    let form = form_setup::with_draft(state, form, key);
    state.overlay = Some(Overlay::Form(Box::new(form)));
}

/// Returns a sentence about the marked items that an act leaves out, since it is about the cards of one scope.
fn left_out(state: &AppState, count: usize) -> String {
    match state.conflicts.marks.len().saturating_sub(count) {
        0 => String::new(),
        1 => "1 marked item of another scope or kind is left out and stays marked. ".to_owned(),
        n => format!("{n} marked items of other scopes or kinds are left out and stay marked. "),
    }
}

fn title_and_effect(act: CardAct, keep: KeepSide, count: usize) -> (String, String) {
    let (verb, effect) = match (act, keep) {
        (CardAct::Supersede, KeepSide::First) => {
            ("keep new", "On each, the new claim stays and replaces the existing one.")
        }
        (CardAct::Supersede, KeepSide::Second) => {
            ("keep existing", "On each, the existing claim stays; the new one is discarded or superseded.")
        }
        (CardAct::Supersede, _) => ("keep one source", "Choose below whose claim to keep on each card."),
        (CardAct::Exception, _) => ("keep both as exceptions", "On each, both stay; the reason is stored with them."),
        (CardAct::Dismiss, _) => {
            ("dismiss", "None of these is a contradiction: you are not asked about these pairs again.")
        }
        (CardAct::Discard, _) => ("discard", "The new claims are discarded; nothing is stored."),
        (CardAct::Snooze, _) => ("snooze", "The cards are hidden on this device, and reappear after that time."),
        (CardAct::Retract | CardAct::Narrow | CardAct::Yes | CardAct::No, _) => ("settle", ""),
    };
    let cards = if count == 1 { "card" } else { "cards" };
    (format!("{count} {cards}: {verb}"), effect.to_owned())
}

/// Returns the sources and writers of the cards' sides, each with the number of cards on which exactly one side has it,
/// the largest number first. What several sides of a card share selects no side there, and is not counted for that
/// card.
fn sources(cards: &[CardView]) -> Vec<(Keep, usize)> {
    let mut out: Vec<(Keep, usize)> = Vec::new();
    for card in cards {
        let mut own: Vec<(Keep, usize)> = Vec::new();
        for CardSide { claim, .. } in &card.sides {
            let source = claim.source.as_deref().map(|source| Keep::Source(without_line(source).to_owned()));
            let writer = Some(Keep::Writer(claim.agent.clone().unwrap_or_else(|| claim.who.clone())));
            source.into_iter().chain(writer).for_each(|keep| add_one(&mut own, keep));
        }
        own.into_iter().filter(|(_, sides)| *sides == 1).for_each(|(keep, _)| add_one(&mut out, keep));
    }
    out.sort_by_key(|(_, on)| std::cmp::Reverse(*on));
    out.truncate(MAX_SOURCES_OFFERED);
    out
}

/// The maximum number of sources and writers that are offered.
const MAX_SOURCES_OFFERED: usize = 40;

fn add_one(all: &mut Vec<(Keep, usize)>, keep: Keep) {
    match all.iter_mut().find(|(known, _)| *known == keep) {
        Some((_, times)) => *times += 1,
        None => all.push((keep, 1)),
    }
}

fn label(keep: &Keep) -> String {
    match keep {
        Keep::First => "new".to_owned(),
        Keep::Second => "existing".to_owned(),
        Keep::Source(source) => text::fit(source, 32),
        Keep::Writer(writer) => format!("by {}", text::fit(writer, 24)),
    }
}

/// Handles the answer: to a dry run with a confirmation that shows the preview, to the act itself with a message.
pub(super) fn answered(state: &mut AppState, answer: ResolvedMany, out: &mut Vec<Effect>) {
    state.acting = None;
    if answer.dry_run {
        preview(state, answer, out);
    } else {
        done(state, answer, out);
    }
}

fn preview(state: &mut AppState, answer: ResolvedMany, out: &mut Vec<Effect>) {
    // In the meantime another overlay may have been opened.
    if !matches!(&state.overlay, Some(Overlay::Form(form)) if form.sending && matches!(form.about, FormSubject::Many { .. }))
    {
        return;
    }
    let Some(Overlay::Form(form)) = state.overlay.take() else { return };
    let Some((WriteRequest::ResolveMany(request), _)) = form.sent.clone() else { return };
    let (settled, of) = (answer.settled(), answer.items.len());
    if settled == 0 {
        let why = answer.items.first().map_or("", |item| item.summary.as_str());
        out.push(state.toast(Tone::Warn, format!("None of these cards can be settled this way: {why}")));
        let ActForm { about, .. } = *form;
        state.drafts.insert(about, ActForm { sending: false, sent: None, ..*form });
        return;
    }
    let listed = |item: ResolvedCard| Listed { done: item.settled, text: item.summary, about: item.headline };
    let list: Vec<Listed> = answer.items.into_iter().map(listed).collect();
    let caller = state.caller(&form.scope);
    let request_act = request.act;
    let write = WriteRequest::ResolveMany(ResolveManyRequest { caller, dry_run: false, ..request });
    let left = match of - settled {
        0 => String::new(),
        1 => " One card is not changed.".to_owned(),
        n => format!(" {n} cards are not changed."),
    };
    let summary = answer.summary.trim_end_matches('.');
    let effect = format!("{summary}, with the results below. One undo reverts all of it.{left}");
    let opener = form.opener.map(|(key, _)| key);
    let confirm = Confirm::new(form.title.clone(), effect, button(request_act), write, opener);
    state.overlay = Some(Overlay::Confirm(Confirm { list, ..confirm }));
    let about = form.about;
    state.drafts.insert(about, ActForm { sending: false, sent: None, ..*form });
}

/// Returns the label of the button that confirms an act on many cards.
fn button(act: CardAct) -> &'static str {
    match act {
        CardAct::Dismiss => "Dismiss",
        CardAct::Discard => "Discard",
        CardAct::Snooze => "Snooze",
        CardAct::Supersede | CardAct::Exception | CardAct::Retract | CardAct::Narrow | CardAct::Yes | CardAct::No => {
            "Settle"
        }
    }
}

fn done(state: &mut AppState, answer: ResolvedMany, out: &mut Vec<Effect>) {
    state.drafts.retain(|about, _| !matches!(about, FormSubject::Many { .. }));
    let height = state.hits.height(Pane::Cards);
    for item in answer.items.iter().filter(|item| item.settled) {
        state.conflicts.marks.remove(item.card);
        state.conflicts.list.update(item.card, |row| row.status = CardStatus::Settled);
    }
    let settled = |id: CardId| answer.items.iter().any(|item| item.settled && item.card == id);
    // The cursor goes on to the next card that is not settled. If there is none, the card under it leaves the list as
    // well.
    let list = &mut state.conflicts.list;
    for _ in 0..answer.items.len() {
        if list.anchor().is_some_and(settled) {
            list.step(1, height);
        }
    }
    state.conflicts.released = list.anchor().filter(|id| settled(*id));
    state.inbox.acting.clear();
    let about: Vec<ItemId> =
        answer.items.iter().filter(|item| item.settled).map(|item| ItemId::Card(item.card)).collect();
    let before = state.inbox.settled;
    state.inbox.settle(about.clone());
    if answer.settled() > 0 {
        let (scope, summary, settled) = (answer.scope.clone(), answer.summary.clone(), state.inbox.settled - before);
        state.record_act(SessionAct { op: answer.op_id, scope, summary, opens: false, settled, about });
    }
    let left = answer.items.iter().filter(|item| !item.settled).count();
    let more = if left == 0 { String::new() } else { state.keys.say(" The others are still marked; {log} says why.") };
    for item in answer.items.iter().filter(|item| !item.settled) {
        state.add_log_line(Tone::Warn, format!("Card {} was not changed: {}", item.card.short(), item.summary));
    }
    let (summary, place) = (answer.summary.trim_end_matches('.'), state.scope_suffix(&answer.scope));
    let until = inbox::snoozed_until(state);
    out.push(state.toast_with(Tone::Done, format!("{summary}{until}{place}.{more}"), "{undo} to undo"));
    for warning in answer.items.into_iter().flat_map(|item| item.warnings) {
        out.push(state.toast(Tone::Warn, warning.message));
    }
    if !answer.needs_review.is_empty() {
        out.push(state.toast(Tone::Warn, need_review(answer.needs_review.len())));
    }
    live::refresh_all(state);
}
