//! The Notes screen: reading rule files, the preview of a section that is to be written, and the way from a file to its
//! cards.

use std::fmt::Write as _;

use similar::TextDiff;

use super::{conflicts, global, motion::Motion, page, why};
use crate::{
    api::{NoteFileState, NoteFileView, NotesRun, NotesScanRequest, NotesWriteRequest, NotesWritten, PromoteRequest},
    domain::{
        Scope,
        text::{self, sanitize_line},
    },
    tui::{
        hits::Pane,
        key::KeyPress,
        msg::{Effect, WriteRequest},
        state::{
            Acting, AppState, Focus, Overlay, Screen, Tone, note_files::NotesListing, overlay::Confirm,
            page::PageSubject, why::Subject,
        },
    },
};

/// Goes to the Notes screen, and reads its data again.
pub(super) fn show(state: &mut AppState) {
    global::go(state, Screen::Notes);
    state.requests.notes = true;
}

/// Switches between the files and the insights.
pub(super) fn switch_listing(state: &mut AppState) {
    state.notes.switch_listing();
}

pub(super) fn place(state: &mut AppState, row: usize) {
    state.notes.place(row);
}

/// Moves in a pane of this screen.
pub(super) fn shift(state: &mut AppState, pane: Pane, motion: Motion) {
    if pane == Pane::Notes {
        let last = state.notes.len().saturating_sub(1);
        state.notes.place(motion.apply(state.notes.row(), last));
    } else {
        let overflow = state.hits.overflow(pane);
        motion.scroll(&mut state.notes.scroll, overflow);
    }
}

/// Opens the item under the cursor in full; from there, goes to the first card of a file or the why-chain of an
/// insight.
pub(super) fn open(state: &mut AppState) {
    if state.notes.focus == Focus::List {
        state.notes.focus = Focus::Detail;
        return;
    }
    match state.notes.shown {
        NotesListing::Files => {
            if let Some(card) = state.notes.file().and_then(|file| file.cards.first()) {
                conflicts::show(state, card.to_hex());
            }
        }
        NotesListing::Principles => {
            if let Some(claim) = state.notes.principle().map(|insight| insight.principle.unwrap_or(insight.claim)) {
                why::show(state, Subject::Claim(claim.to_hex()));
            }
        }
    }
}

/// Reads the files that changed.
pub(super) fn scan(state: &mut AppState, out: &mut Vec<Effect>) {
    let scope = state.shown_scope();
    let caller = state.caller(&scope);
    out.push(state.toast(Tone::Info, "Reading the files…"));
    let request = NotesScanRequest { caller, path: None };
    global::send(state, WriteRequest::NotesScan(request), Acting::Confirmed, out);
}

/// Reports the result of a run over the files.
pub(super) fn scanned(state: &mut AppState, run: &NotesRun, out: &mut Vec<Effect>) {
    state.acting = None;
    state.requests.notes = true;
    state.requests.inbox = true;
    state.read_files_last |= run.stored + run.superseded + run.retracted + run.reinstated > 0;
    out.push(state.toast(Tone::Done, format!("{}.", run.sentence())));
    if let Some(rest) = run.rest() {
        out.push(state.toast(Tone::Info, format!("{rest}.")));
    }
    for problem in run.problems.iter().take(3) {
        out.push(state.toast(Tone::Warn, super::replies::sentence(problem)));
    }
}

/// Goes to the insights, with the cursor on the first one that can be promoted.
pub(super) fn show_promotions(state: &mut AppState) {
    show(state);
    state.notes.seek_promotion();
}

/// Opens a confirmation: make the insight under the cursor a claim of the organisation.
pub(super) fn promote(state: &mut AppState, key: Option<KeyPress>) {
    let Some(insight) = state.notes.principle().cloned() else { return };
    let Some(first) = insight.derivations.first() else { return };
    let caller = state.caller(&first.scope);
    let claims = vec![insight.claim.to_hex()];
    let org = first.scope.organisation();
    let question = format!("Promote “{}”?", sanitize_line(&insight.statement));
    let projects = text::count(insight.projects, "project says", "projects say");
    let effect =
        format!("{projects} it. It becomes one claim of {org}, which holds in all of its projects; theirs stay.");
    let write = WriteRequest::Promote(Box::new(PromoteRequest { caller, claims, reason: None, statement: None }));
    state.overlay = Some(Overlay::Confirm(Confirm::new(question, effect, "Promote", write, key)));
}

/// Returns the scope of a file's claims.
fn scope_of(state: &AppState, file: &NoteFileView) -> Scope {
    file.scope.clone().unwrap_or_else(|| state.shown_scope())
}

/// Shows what would be written into the section of the file under the cursor.
pub(super) fn preview(state: &mut AppState, out: &mut Vec<Effect>) {
    let Some(file) = state.notes.file() else { return };
    let about = PageSubject::Notes { path: file.path.clone(), scope: scope_of(state, file) };
    page::open(state, about, out);
}

/// Returns the request that writes a section, or previews it.
pub(super) fn request(state: &mut AppState, path: &str, scope: &Scope, dry_run: bool) -> NotesWriteRequest {
    let mut caller = state.caller(scope);
    if dry_run {
        caller.op_id = None;
    }
    NotesWriteRequest { caller, path: path.to_owned(), dry_run, ..NotesWriteRequest::default() }
}

/// Handles the answer to a write: a preview for the open page, or the result of the write.
pub(super) fn written(state: &mut AppState, written: &NotesWritten, is_page: bool, out: &mut Vec<Effect>) {
    if is_page {
        let note = format!("about {} of {} tokens", written.tokens, written.budget);
        return page::accept(state, difference(written), note);
    }
    state.acting = None;
    state.requests.notes = true;
    out.push(state.toast(Tone::Done, format!("{}.", sanitize_line(&written.sentence()))));
}

/// Returns the text of the preview: conflicts and left-out claims, then the difference to the written section.
fn difference(written: &NotesWritten) -> String {
    let mut out = String::new();
    for conflict in &written.conflicts {
        let line = conflict.line.map_or_else(String::new, |line| format!("line {line}: "));
        let card = conflict.card.map_or_else(String::new, |card| format!(" (card {})", card.short()));
        let _ = writeln!(out, "Conflict, {line}“{}” against “{}”{card}", conflict.says, conflict.against);
    }
    let counts = [(written.said, "that the file already contains"), (written.left_out, "that did not fit the budget")];
    for (count, what) in counts.iter().filter(|(count, _)| *count > 0) {
        let _ = writeln!(out, "Left out: {} {what}", text::count(*count, "claim", "claims"));
    }
    if !out.is_empty() {
        out.push('\n');
    }
    if !written.changed {
        out.push_str("The section is up to date: nothing would be written.\n");
        return out;
    }
    let lines =
        |text: &str| if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    let (before, after) = (lines(&written.before), lines(&written.section));
    let diff = TextDiff::from_lines(&before, &after);
    let name = sanitize_line(&written.path);
    out.push_str(&diff.unified_diff().context_radius(3).header(&name, &name).to_string());
    out
}

/// Returns a sentence that says what to do with a file, with the key for it.
pub(in crate::tui) fn next_step(file: &NoteFileView) -> &'static str {
    match file.state {
        NoteFileState::New => "The file has not been read yet. {notes_scan} reads it.",
        NoteFileState::InStep => {
            "The file agrees with the stored claims. {notes_write} shows what would be written into ergo's section."
        }
        NoteFileState::ChangedHere => "The file has changed since it was read. {notes_scan} reads it again.",
        NoteFileState::ChangedThere if file.retried > 0 => {
            "Nothing opposes a line that was refused any more. {notes_scan} tries it again."
        }
        NoteFileState::ChangedThere => {
            "A claim of the file is no longer active, or ergo's section is outdated. {notes_write} shows the difference."
        }
        NoteFileState::Conflict => "The file contradicts a claim. {open} goes to the card.",
        NoteFileState::LineDeclined => {
            "A line of the file was decided against. Remove the line, or change it: ergo notes check shows it."
        }
        NoteFileState::Missing => {
            "The file is missing, or cannot be read. To stop following it: ergo notes remove PATH"
        }
    }
}
