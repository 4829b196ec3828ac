//! Many cards at once: marking them, the form of one act on all, the preview, and what became of them.

use super::{form_setup, live, reads, replies::sentence};
use crate::{
    api::{CardAct, CardSide, CardStatus, CardView, Keep, ResolveManyRequest, ResolvedCard, ResolvedMany},
    domain::CardId,
    tui::{
        action::Action,
        hits::Pane,
        key::KeyPress,
        msg::{Effect, Read, Slot, Write},
        state::{
            Overlay, SessionAct, State, Tone,
            form::{About, Field, FieldId, Form, Input, KeepSide},
            inbox::ItemId,
            overlay::{Confirm, Listed},
        },
        text,
    },
};

/// Marks.
pub(super) fn perform(state: &mut State, id: Action) {
    let height = state.hits.height(Pane::Cards);
    let screen = &mut state.conflicts;
    match id {
        Action::Mark => {
            if let Some(card) = screen.list.current() {
                screen.marks.toggle(card);
            }
            screen.list.step(1, height);
        }
        Action::MarkRange => {
            let here = screen.list.cursor();
            let from = screen.marks.last().and_then(|id| screen.list.index_of(id)).unwrap_or(here);
            for index in from.min(here)..=from.max(here) {
                if let Some(card) = screen.list.get(index) {
                    screen.marks.add(card);
                }
            }
        }
        Action::MarkAll => {
            let listed: Vec<_> = (0..screen.list.known()).filter_map(|index| screen.list.get(index)).collect();
            if listed.iter().all(|card| screen.marks.contains(card.id)) {
                screen.marks.clear();
            } else {
                let open = listed.into_iter().filter(|card| card.status != CardStatus::Settled);
                open.for_each(|card| screen.marks.add(card));
            }
        }
        _ => {}
    }
}

/// Opens the form of an act on all marked cards; where it is about their sources, these are read first.
pub(super) fn open(state: &mut State, act: CardAct, keep: KeepSide, key: Option<KeyPress>, out: &mut Vec<Effect>) {
    state.conflicts.marks.refresh(&state.conflicts.list);
    if keep == KeepSide::Chosen {
        let ids = state.conflicts.marks.refs().into_iter().map(|card| card.id).collect();
        return reads::read(state, Slot::Marked, Read::Cards(ids), out);
    }
    form(state, act, keep, Vec::new(), key);
}

/// Takes the marked cards: the form offers the sources and writers of their sides.
pub(super) fn choose(state: &mut State, views: &[CardView]) {
    // Something was opened, or the marks were taken away, since.
    let marked = |view: &CardView| state.conflicts.marks.contains(view.summary.id);
    if state.overlay.is_none() && state.conflicts.marks.scope().is_ok() && views.iter().any(marked) {
        let keeps = sources(views);
        form(state, CardAct::Supersede, KeepSide::Chosen, keeps, None);
    }
}

fn form(state: &mut State, act: CardAct, keep: KeepSide, keeps: Vec<(Keep, usize)>, key: Option<KeyPress>) {
    let Ok(scope) = state.conflicts.marks.scope().cloned() else { return };
    let cards = state.conflicts.marks.refs();
    let count = cards.len();
    let mut fields = Vec::new();
    if keep == KeepSide::Chosen {
        let options = keeps.iter().map(|(keep, on)| format!("{} ({on})", label(keep))).collect();
        let input = Input::Choice { options, chosen: 0 };
        fields.push(Field { id: FieldId::Keep, label: "Whose side", hint: "", input });
    }
    if act == CardAct::Snooze {
        fields.push(form_setup::snooze_field());
    } else {
        let hint = match act {
            CardAct::Supersede => "empty: on each card the reason of the side that stays",
            _ => "why; it stays on the record of each",
        };
        fields.push(form_setup::text_field(FieldId::Reason, "Reason", hint, ""));
    }
    let (title, effect) = words(act, keep, count);
    let form = Form {
        about: About::Many { act, keep },
        title,
        effect: format!("{effect} You see what becomes of each before anything is done."),
        scope,
        rev: 0,
        members: Vec::new(),
        cards,
        keeps: keeps.into_iter().map(|(keep, _)| keep).collect(),
        fields,
        focus: 0,
        error: None,
        sending: false,
        sent: None,
        opener: None,
    };
    let form = form_setup::with_draft(state, form, key);
    state.overlay = Some(Overlay::Form(Box::new(form)));
}

fn words(act: CardAct, keep: KeepSide, count: usize) -> (String, String) {
    let (verb, effect) = match (act, keep) {
        (CardAct::Supersede, KeepSide::First) => ("keep A", "On each, A stays and the other side gives way."),
        (CardAct::Supersede, KeepSide::Second) => ("keep B", "On each, B stays and the other side gives way."),
        (CardAct::Supersede, _) => ("keep one source", "On each, the side of that source or writer stays."),
        (CardAct::Exception, _) => ("keep both as exceptions", "On each, both stay, on the record."),
        (CardAct::Dismiss, _) => ("dismiss", "None is a contradiction: these pairs never block again."),
        (CardAct::Discard, _) => ("discard", "The refused writes are dropped; nothing is stored."),
        (CardAct::Snooze, _) => ("snooze", "They come back by themselves, on this machine."),
        (CardAct::Retract | CardAct::Narrow, _) => ("settle", ""),
    };
    let cards = if count == 1 { "card" } else { "cards" };
    (format!("{count} {cards}: {verb}"), effect.to_owned())
}

/// The sources and writers of the sides of cards, with on how many of the cards they tell one side from the others; those that do
/// so on most cards first. What is on every side of a card chooses none there.
fn sources(cards: &[CardView]) -> Vec<(Keep, usize)> {
    let mut out: Vec<(Keep, usize)> = Vec::new();
    for card in cards {
        let mut own: Vec<(Keep, usize)> = Vec::new();
        for CardSide { claim, .. } in &card.sides {
            let source = claim.source.as_deref().map(|source| Keep::Source(file_of(source).to_owned()));
            let writer = Some(Keep::Writer(claim.agent.clone().unwrap_or_else(|| claim.who.clone())));
            source.into_iter().chain(writer).for_each(|keep| count(&mut own, keep));
        }
        own.into_iter().filter(|(_, sides)| *sides == 1).for_each(|(keep, _)| count(&mut out, keep));
    }
    out.sort_by_key(|(_, on)| std::cmp::Reverse(*on));
    out.truncate(OFFERED);
    out
}

/// The most sources and writers that are offered.
const OFFERED: usize = 40;

fn count(all: &mut Vec<(Keep, usize)>, keep: Keep) {
    match all.iter_mut().find(|(known, _)| *known == keep) {
        Some((_, times)) => *times += 1,
        None => all.push((keep, 1)),
    }
}

/// A source without its line.
fn file_of(source: &str) -> &str {
    let file = source.rsplit_once(':').filter(|(_, line)| !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit()));
    file.map_or(source, |(file, _)| file)
}

fn label(keep: &Keep) -> String {
    match keep {
        Keep::First => "A".to_owned(),
        Keep::Second => "B".to_owned(),
        Keep::Source(source) => text::fit(source, 32),
        Keep::Writer(writer) => format!("by {}", text::fit(writer, 24)),
    }
}

/// The preview came: the question before it is done. Or it is done: what became of the cards.
pub(super) fn answered(state: &mut State, answer: ResolvedMany, out: &mut Vec<Effect>) {
    state.acting = None;
    if answer.dry_run {
        preview(state, answer, out);
    } else {
        done(state, answer, out);
    }
}

fn preview(state: &mut State, answer: ResolvedMany, out: &mut Vec<Effect>) {
    // What lies over the screen by now may be something else.
    if !matches!(&state.overlay, Some(Overlay::Form(form)) if form.sending && matches!(form.about, About::Many { .. }))
    {
        return;
    }
    let Some(Overlay::Form(form)) = state.overlay.take() else { return };
    let Some((Write::ResolveMany(request), _)) = form.sent.clone() else { return };
    let (settled, of) = (answer.settled(), answer.items.len());
    if settled == 0 {
        let why = answer.items.first().map_or("", |item| item.summary.as_str());
        out.push(state.toast(Tone::Warn, format!("Nothing can be done so: {why}")));
        let Form { about, .. } = *form;
        state.drafts.insert(about, Form { sending: false, sent: None, ..*form });
        return;
    }
    let listed = |item: ResolvedCard| Listed { done: item.settled, text: item.summary, about: item.headline };
    let list: Vec<Listed> = answer.items.into_iter().map(listed).collect();
    let caller = state.caller(&form.scope);
    let write = Write::ResolveMany(ResolveManyRequest { caller, dry_run: false, ..request });
    let left = if settled == of { String::new() } else { format!(" {} stay as they are.", of - settled) };
    let effect = format!("{} One undo takes it all back.{left}", sentence(&answer.summary));
    let opener = form.opener.map(|(key, _)| key);
    let confirm = Confirm::new(form.title.clone(), effect, "Do it", write, opener);
    state.overlay = Some(Overlay::Confirm(Confirm { list, ..confirm }));
    let about = form.about;
    state.drafts.insert(about, Form { sending: false, sent: None, ..*form });
}

fn done(state: &mut State, answer: ResolvedMany, out: &mut Vec<Effect>) {
    state.drafts.retain(|about, _| !matches!(about, About::Many { .. }));
    let height = state.hits.height(Pane::Cards);
    for item in answer.items.iter().filter(|item| item.settled) {
        state.conflicts.marks.remove(item.card);
        state.conflicts.list.update(item.card, |row| row.status = CardStatus::Settled);
    }
    // The cursor goes on to the next card that waits; where none does, the one under it leaves the list as well.
    let settled = |id: CardId| answer.items.iter().any(|item| item.settled && item.card == id);
    let list = &mut state.conflicts.list;
    for _ in 0..answer.items.len() {
        if list.anchor().is_some_and(settled) {
            list.step(1, height);
        }
    }
    state.conflicts.released = list.anchor().filter(|id| settled(*id));
    if answer.settled() > 0 {
        let (scope, summary) = (answer.scope.clone(), answer.summary.clone());
        let first = answer.items.iter().find(|item| item.settled).map(|item| ItemId::Card(item.card));
        state.did(SessionAct { op: answer.op_id, scope, summary, about: first, settled: 0 });
    }
    let left = answer.items.iter().filter(|item| !item.settled).count();
    let more = if left == 0 { String::new() } else { state.keys.say(" The others are still marked; {log} says why.") };
    for item in answer.items.iter().filter(|item| !item.settled) {
        state.note(Tone::Warn, format!("Card {} is as it was: {}", item.card.short(), item.summary));
    }
    let (summary, place) = (answer.summary.trim_end_matches('.'), state.place_of(&answer.scope));
    out.push(state.toast_with(Tone::Done, format!("{summary}{place}.{more}"), "{undo} to undo"));
    if !answer.needs_review.is_empty() {
        let text = format!("{} claims that rested on what changed need review.", answer.needs_review.len());
        out.push(state.toast(Tone::Warn, text));
    }
    live::refresh_all(state);
}
