//! The input line: a search that is updated with each letter, or a question.

use crossterm::event::KeyCode;
use ratatui_textarea::TextArea;

use super::{claims, global, why};
use crate::{
    domain::text::sanitize_line,
    tui::{
        key::KeyPress,
        msg::Effect,
        state::{
            AppState, Overlay, Screen, Tone,
            claims::ClaimsFocus,
            form::{clear_line, one_line, type_in_line},
            overlay::{PromptInput, PromptPurpose},
            search_line::SearchLine,
            why::Subject,
        },
    },
};

/// Opens the input line.
pub(super) fn open(state: &mut AppState, asking: PromptPurpose) {
    let before = match asking {
        PromptPurpose::Search => state.claims.search.clone(),
        PromptPurpose::Why => String::new(),
    };
    let mut from = None;
    if asking == PromptPurpose::Search {
        if state.screen != Screen::Claims {
            from = Some(state.screen);
            global::go(state, Screen::Claims);
        }
        state.claims.focus = ClaimsFocus::List;
    }
    state.overlay = Some(Overlay::Prompt(PromptInput { asking, input: one_line(&before), before, from }));
}

/// The maximum length of the line in bytes. The daemon rejects longer searches and questions.
const MAX_LINE_BYTES: usize = 1000;

/// Returns the number of bytes that still fit into the line.
fn room(input: &TextArea<'static>) -> usize {
    MAX_LINE_BYTES.saturating_sub(input.lines().iter().map(String::len).sum())
}

/// Returns the longest prefix of a text that fits into `room` bytes.
fn fitting_prefix(text: &str, room: usize) -> &str {
    text.split_at(text.floor_char_boundary(room)).0
}

/// Types a key without an action into the line.
pub(super) fn typed(state: &mut AppState, key: KeyPress) {
    if let Some(Overlay::Prompt(prompt)) = &mut state.overlay {
        if !matches!(key.code, KeyCode::Char(c) if c.len_utf8() > room(&prompt.input)) {
            type_in_line(&mut prompt.input, key);
        }
        update_search(state);
    }
}

/// Pastes text into the line, as one line.
pub(super) fn paste(state: &mut AppState, text: &str) {
    if let Some(Overlay::Prompt(prompt)) = &mut state.overlay {
        let room = room(&prompt.input);
        prompt.input.insert_str(fitting_prefix(&sanitize_line(text), room));
        update_search(state);
    }
}

/// Updates the search to what is typed.
fn update_search(state: &mut AppState) {
    let Some(Overlay::Prompt(prompt)) = &state.overlay else { return };
    if prompt.asking == PromptPurpose::Search {
        search(state, prompt.input.lines().join(" "));
    }
}

fn search(state: &mut AppState, words: String) {
    if words != state.claims.search {
        state.claims.search = words;
        claims::restart(state);
    }
}

/// Deletes what was typed.
pub(super) fn clear(state: &mut AppState) {
    if let Some(Overlay::Prompt(prompt)) = &mut state.overlay {
        clear_line(&mut prompt.input);
        update_search(state);
    }
}

/// Closes the line. A question is asked; a search stays.
pub(super) fn submit(state: &mut AppState, out: &mut Vec<Effect>) {
    let Some(Overlay::Prompt(prompt)) = state.overlay.take() else { return };
    let text = prompt.input.lines().join(" ").trim().to_owned();
    if prompt.asking == PromptPurpose::Search
        && let Some(invalid) = SearchLine::parse(&text).invalid
    {
        out.push(state.toast(Tone::Warn, invalid));
    }
    if prompt.asking == PromptPurpose::Why && !text.is_empty() {
        let scope = state.shown_scope();
        why::show(state, Subject::Question { text, scope });
    }
}

/// Closes the line, and restores the search from before.
pub(super) fn cancel(state: &mut AppState) {
    let Some(Overlay::Prompt(prompt)) = state.overlay.take() else { return };
    if prompt.asking == PromptPurpose::Search {
        search(state, prompt.before);
        if let Some(from) = prompt.from {
            state.back.pop();
            state.screen = from;
        }
    }
}
