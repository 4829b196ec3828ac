//! The input line: a search that updates with each letter, or a question.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui_textarea::TextArea;

use super::{claims, global, why};
use crate::{
    domain::text::sanitize_line,
    tui::{
        key::KeyPress,
        state::{
            AppState, Overlay, Screen,
            claims::ClaimsFocus,
            form::{clear_line, one_line},
            overlay::{PromptInput, PromptPurpose},
            why::Subject,
        },
    },
};

/// Opens the line.
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

/// The most bytes of a line: the daemon refuses longer searches and questions.
const MAX: usize = 1000;

/// How many more bytes fit into the line.
fn room(input: &TextArea<'static>) -> usize {
    MAX.saturating_sub(input.lines().iter().map(String::len).sum())
}

/// As much of a text as fits into so many bytes.
fn fitting(text: &str, room: usize) -> &str {
    text.split_at(text.floor_char_boundary(room)).0
}

/// A key that is no act goes into the text.
pub(super) fn typed(state: &mut AppState, key: KeyPress) {
    if let Some(Overlay::Prompt(prompt)) = &mut state.overlay {
        if !matches!(key.code, KeyCode::Char(c) if c.len_utf8() > room(&prompt.input)) {
            prompt.input.input(KeyEvent::new(key.code, key.mods));
        }
        follow(state);
    }
}

/// Pasted text goes in as one line.
pub(super) fn paste(state: &mut AppState, text: &str) {
    if let Some(Overlay::Prompt(prompt)) = &mut state.overlay {
        let room = room(&prompt.input);
        prompt.input.insert_str(fitting(&sanitize_line(text), room));
        follow(state);
    }
}

/// The search follows what is typed.
fn follow(state: &mut AppState) {
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

/// Takes away what was typed.
pub(super) fn clear(state: &mut AppState) {
    if let Some(Overlay::Prompt(prompt)) = &mut state.overlay {
        clear_line(&mut prompt.input);
        follow(state);
    }
}

/// Ends the line: a question is asked, a search stays.
pub(super) fn submit(state: &mut AppState) {
    let Some(Overlay::Prompt(prompt)) = state.overlay.take() else { return };
    let text = prompt.input.lines().join(" ").trim().to_owned();
    if prompt.asking == PromptPurpose::Why && !text.is_empty() {
        why::show(state, Subject::Question(text));
    }
}

/// Closes the line: the search is again what it was before.
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
