//! The line to type in: a search that follows each letter, or a question.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui_textarea::TextArea;

use super::{claims, global, why};
use crate::{
    domain::text::sanitize_line,
    tui::{
        key::KeyPress,
        state::{
            Overlay, Screen, State,
            claims::Focus,
            form::{clear_line, one_line},
            overlay::{Asking, Prompt},
            why::Subject,
        },
    },
};

/// Opens the line.
pub(super) fn open(state: &mut State, asking: Asking) {
    let before = match asking {
        Asking::Search => state.claims.search.clone(),
        Asking::Why => String::new(),
    };
    let mut from = None;
    if asking == Asking::Search {
        if state.screen != Screen::Claims {
            from = Some(state.screen);
            global::go(state, Screen::Claims);
        }
        state.claims.focus = Focus::List;
    }
    state.overlay = Some(Overlay::Prompt(Prompt { asking, input: one_line(&before), before, from }));
}

/// The most characters of a line: more is no question, and would not fit into a request.
const MOST: usize = 500;

/// How many more characters fit into the line.
fn room(input: &TextArea<'static>) -> usize {
    MOST.saturating_sub(input.lines().iter().map(|line| line.chars().count()).sum())
}

/// A key that is no act goes into the text.
pub(super) fn typed(state: &mut State, key: KeyPress) {
    if let Some(Overlay::Prompt(prompt)) = &mut state.overlay {
        if !matches!(key.code, KeyCode::Char(_)) || room(&prompt.input) > 0 {
            prompt.input.input(KeyEvent::new(key.code, key.mods));
        }
        follow(state);
    }
}

/// Pasted text goes in as one line.
pub(super) fn paste(state: &mut State, text: &str) {
    if let Some(Overlay::Prompt(prompt)) = &mut state.overlay {
        let room = room(&prompt.input);
        prompt.input.insert_str(sanitize_line(text).chars().take(room).collect::<String>());
        follow(state);
    }
}

/// The search follows what is typed.
fn follow(state: &mut State) {
    let Some(Overlay::Prompt(prompt)) = &state.overlay else { return };
    if prompt.asking == Asking::Search {
        search(state, prompt.input.lines().join(" "));
    }
}

fn search(state: &mut State, words: String) {
    if words != state.claims.search {
        state.claims.search = words;
        claims::restart(state);
    }
}

/// Takes away what was typed.
pub(super) fn clear(state: &mut State) {
    if let Some(Overlay::Prompt(prompt)) = &mut state.overlay {
        clear_line(&mut prompt.input);
        follow(state);
    }
}

/// Ends the line: a question is asked, a search stays.
pub(super) fn submit(state: &mut State) {
    let Some(Overlay::Prompt(prompt)) = state.overlay.take() else { return };
    let text = prompt.input.lines().join(" ").trim().to_owned();
    if prompt.asking == Asking::Why && !text.is_empty() {
        why::show(state, Subject::Question(text));
    }
}

/// Closes the line: the search is again what it was before.
pub(super) fn cancel(state: &mut State) {
    let Some(Overlay::Prompt(prompt)) = state.overlay.take() else { return };
    if prompt.asking == Asking::Search {
        search(state, prompt.before);
        if let Some(from) = prompt.from {
            state.back.pop();
            state.screen = from;
        }
    }
}
