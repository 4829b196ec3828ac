//! Text pages over the screen, such as the snapshot of a scope and the preview of setup.

use crossterm::event::KeyCode;

use super::{global, note_files, reads};
use crate::{
    api::SnapshotQuery,
    domain::Scope,
    tui::{
        key::KeyPress,
        msg::{Effect, ReadRequest, RequestFailure, Slot, WriteRequest},
        state::{
            AppState, Overlay,
            overlay::Confirm,
            page::{PageSubject, TextPage},
        },
    },
};

/// The approximate number of tokens of a snapshot. It is larger than for agents, since a person can scroll.
const SNAPSHOT_TOKENS: usize = 4_000;

/// Opens the snapshot of the scope.
pub(super) fn open_snapshot(state: &mut AppState, out: &mut Vec<Effect>) {
    let scope = global::scope_of_act(state);
    open(state, PageSubject::Snapshot(scope), out);
}

/// Opens a page, and requests its text.
pub(super) fn open(state: &mut AppState, about: PageSubject, out: &mut Vec<Effect>) {
    let request = match &about {
        PageSubject::Snapshot(scope) => ReadRequest::Snapshot(SnapshotQuery {
            org_id: scope.org_id.clone(),
            project: scope.project.clone(),
            tokens: Some(SNAPSHOT_TOKENS),
            ..SnapshotQuery::default()
        }),
        PageSubject::Setup { remove } => ReadRequest::Setup { remove: *remove },
        PageSubject::Notes { path, scope } => {
            let request = note_files::request(state, path, scope, true);
            ReadRequest::NotesPreview(Box::new(request))
        }
        PageSubject::Join => return,
    };
    state.overlay = Some(Overlay::Page(Box::new(TextPage::new(about))));
    reads::read(state, Slot::Page, request, out);
}

/// Takes the text of the open page.
pub(super) fn accept(state: &mut AppState, text: String, note: String) {
    if let Some(Overlay::Page(page)) = &mut state.overlay {
        (page.text, page.note, page.error) = (Some(text), note, None);
    }
}

/// Shows on the page why its text could not be read.
pub(super) fn failed(state: &mut AppState, failure: &RequestFailure) {
    if let Some(Overlay::Page(page)) = &mut state.overlay {
        page.error = Some((failure.message.clone(), failure.hint.clone().unwrap_or_default()));
    }
}

/// Types a key without an action into the search on the page.
pub(super) fn typed(state: &mut AppState, key: KeyPress) {
    if let Some(Overlay::Page(page)) = &mut state.overlay {
        page.typed(key);
    }
}

/// Closes the search on the page, if there is one and the key is Esc; otherwise closes the page.
pub(super) fn close(state: &mut AppState, key: Option<KeyPress>) {
    match &mut state.overlay {
        Some(Overlay::Page(page)) if page.find.is_some() && key.is_some_and(|key| key.code == KeyCode::Esc) => {
            page.find = None;
        }
        _ => {
            state.overlay = None;
            state.cancel_request(Slot::Page);
        }
    }
}

/// Starts a search on the page.
pub(super) fn find(state: &mut AppState) {
    if let Some(Overlay::Page(page)) = &mut state.overlay {
        page.begin_find();
    }
}

/// Goes to the next or previous line that matches.
pub(super) fn step(state: &mut AppState, forward: bool) {
    if let Some(Overlay::Page(page)) = &mut state.overlay {
        page.step(forward);
    }
}

/// Copies the whole text.
pub(super) fn copy(state: &mut AppState, out: &mut Vec<Effect>) {
    if let Some(Overlay::Page(page)) = &state.overlay
        && let Some(text) = page.text.clone()
    {
        out.push(Effect::Copy { text, what: "the page".to_owned() });
    }
}

/// Opens a confirmation before writing what the page shows.
pub(super) fn apply(state: &mut AppState, key: Option<KeyPress>) {
    let Some(Overlay::Page(page)) = &state.overlay else { return };
    let remove = match page.about.clone() {
        PageSubject::Setup { remove } => remove,
        PageSubject::Notes { path, scope } => return apply_notes(state, &path, &scope, key),
        PageSubject::Snapshot(_) | PageSubject::Join => return,
    };
    let files = page.text.iter().flat_map(|text| text.lines()).filter(|line| line.starts_with("+++ "));
    let files = match files.count() {
        1 => "one file".to_owned(),
        n => format!("{n} files"),
    };
    let (question, effect, yes) = if remove {
        let effect = format!("ergo's entries are removed from {files}; your later changes stay.");
        ("Remove ergo from these files?", effect, "Remove")
    } else {
        let effect = format!("This changes {files}. Backups are kept; `ergo setup --remove` reverts the change.");
        ("Write into these files?", effect, "Write")
    };
    let write = WriteRequest::Setup { remove };
    state.overlay = Some(Overlay::Confirm(Confirm::new(question, effect, yes, write, key)));
}

/// Opens a confirmation before writing a section.
fn apply_notes(state: &mut AppState, path: &str, scope: &Scope, key: Option<KeyPress>) {
    let request = note_files::request(state, path, scope, false);
    let effect =
        format!("Only ergo's own marked section of {path} changes; everything else in the file stays as it is.");
    let write = WriteRequest::NotesWrite(Box::new(request));
    state.overlay = Some(Overlay::Confirm(Confirm::new("Write into this file?", effect, "Write", write, key)));
}
