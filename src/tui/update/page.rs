//! A text over the screen: a scope on a page, and what setup would write.

use crossterm::event::KeyCode;

use super::{global, reads};
use crate::{
    api::SnapshotQuery,
    tui::{
        key::KeyPress,
        msg::{Effect, Failure, Read, Slot, Write},
        state::{
            Overlay, State,
            overlay::Confirm,
            page::{About, Page},
        },
    },
};

/// About how many tokens a page has: more than an agent is given, since a person scrolls.
const TOKENS: usize = 4_000;

/// Opens the page of the scope in hand.
pub(super) fn open_snapshot(state: &mut State, out: &mut Vec<Effect>) {
    let scope = global::scope_of_act(state);
    open(state, About::Snapshot(scope), out);
}

/// Opens a page, and asks for its text.
pub(super) fn open(state: &mut State, about: About, out: &mut Vec<Effect>) {
    let request = match &about {
        About::Snapshot(scope) => Read::Snapshot(SnapshotQuery {
            org_id: scope.org_id.clone(),
            project: scope.project.clone(),
            tokens: Some(TOKENS),
            ..SnapshotQuery::default()
        }),
        About::Setup { remove } => Read::Setup { remove: *remove },
        About::Join => return,
    };
    state.overlay = Some(Overlay::Page(Box::new(Page::new(about))));
    reads::read(state, Slot::Page, request, out);
}

/// Takes the text of the page that is open.
pub(super) fn accept(state: &mut State, text: String, note: String) {
    if let Some(Overlay::Page(page)) = &mut state.overlay {
        (page.text, page.note, page.trouble) = (Some(text), note, None);
    }
}

/// The text could not be read.
pub(super) fn failed(state: &mut State, failure: &Failure) {
    if let Some(Overlay::Page(page)) = &mut state.overlay {
        page.trouble = Some((failure.message.clone(), failure.hint.clone().unwrap_or_default()));
    }
}

/// A key without an action goes into what is searched for on the page.
pub(super) fn typed(state: &mut State, key: KeyPress) {
    if let Some(Overlay::Page(page)) = &mut state.overlay {
        page.typed(key);
    }
}

/// Closes what is searched for, then the page.
pub(super) fn close(state: &mut State, key: Option<KeyPress>) {
    match &mut state.overlay {
        Some(Overlay::Page(page)) if page.find.is_some() && key.is_some_and(|key| key.code == KeyCode::Esc) => {
            page.find = None;
        }
        _ => state.overlay = None,
    }
}

/// Begins to search the page.
pub(super) fn find(state: &mut State) {
    if let Some(Overlay::Page(page)) = &mut state.overlay {
        page.begin_find();
    }
}

/// Goes to the next line that matches, or to the one before.
pub(super) fn step(state: &mut State, forward: bool) {
    if let Some(Overlay::Page(page)) = &mut state.overlay {
        page.step(forward);
    }
}

/// Copies the whole text.
pub(super) fn copy(state: &mut State, out: &mut Vec<Effect>) {
    if let Some(Overlay::Page(page)) = &state.overlay
        && let Some(text) = page.text.clone()
    {
        out.push(Effect::Copy { text, what: "the page".to_owned() });
    }
}

/// Asks before what the page shows is written.
pub(super) fn apply(state: &mut State, key: Option<KeyPress>) {
    let Some(Overlay::Page(page)) = &state.overlay else { return };
    let About::Setup { remove } = page.about else { return };
    let files = page.text.iter().flat_map(|text| text.lines()).filter(|line| line.starts_with("+++ "));
    let files = match files.count() {
        1 => "one file".to_owned(),
        n => format!("{n} files"),
    };
    let (question, effect) = if remove {
        (
            "Remove ergo from these files?",
            format!("{files} will be as before setup, except for what was changed since."),
        )
    } else {
        ("Write into these files?", format!("{files} will change. A copy is kept; ergo setup --remove undoes it."))
    };
    let write = Write::Setup { remove };
    state.overlay = Some(Overlay::Confirm(Confirm::new(question, effect, "Write", write, key)));
}
