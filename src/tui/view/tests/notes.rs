//! The Notes screen.

use super::*;
use crate::tui::msg::{RequestAnswer, Slot};

#[test]
fn files_principles_and_the_difference_before_a_write() {
    for size in [(120, 40), (80, 24), (60, 16)] {
        let named = |name: &str| format!("{name}_{}x{}", size.0, size.1);
        let mut state = screen(size, Screen::Notes);
        press(&mut state, "j j enter");
        shot(&named("note_file"), &mut state);
        press(&mut state, "esc f enter");
        shot(&named("principle"), &mut state);
        press(&mut state, "esc");
        shot(&named("principles"), &mut state);
        press(&mut state, "f w");
        shot(&named("note_preview"), &mut state);
    }
    let mut state = screen((80, 24), Screen::Notes);
    insta::assert_snapshot!("notes_ascii_80x24", text(&frame(&mut state, &Theme::mono(false))));
    let ticket = state.ticket(Slot::Notes);
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Notes(Box::default()))));
    shot("notes_empty_80x24", &mut state);
}
