//! Text that is longer than its place: it is scrolled, or an ellipsis marks the cut.

use super::*;
use crate::tui::{
    hits::Pane,
    sample::history,
    state::{Tone, why::WhyChain},
};

fn shown(state: &mut AppState) -> String {
    text(&frame(state, &Theme::ansi(true)))
}

/// Returns `count` words of five columns, numbered from 100.
fn words(count: usize) -> String {
    (100..100 + count).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_log_is_scrolled_to_its_first_line_and_back() {
    let mut state = screen((80, 24), Screen::Cards);
    state.log.clear();
    for n in 0..20 {
        state.add_log_line(Tone::Info, format!("entry-{n} {}", words(40)));
    }
    press(&mut state, "@");
    assert!(shown(&mut state).contains("entry-19") && shown(&mut state).contains(" above · esc closes"));
    press(&mut state, "pgup pgup pgup pgup pgup pgup pgup pgup");
    let first = shown(&mut state);
    assert!(first.contains("entry-0 ") && !first.contains(" above"), "{first}");
    press(&mut state, "down");
    assert!(shown(&mut state).contains("↑ 1 above"), "the first press scrolls back");
}

#[test]
fn a_preview_is_scrolled_to_its_last_line_and_back() {
    let mut state = screen((60, 16), Screen::Cards);
    let line = |n: usize| Listed { done: true, text: format!("card-{n}"), about: String::new() };
    let confirm = Confirm::new("Settle?", "Would settle 12 cards.", "Settle", WriteRequest::SyncNow, None);
    state.overlay = Some(Overlay::Confirm(Confirm { list: (1..=12).map(line).collect(), ..confirm }));
    frame(&mut state, &Theme::ansi(true));
    press(&mut state, &["down"; 20].join(" "));
    assert!(shown(&mut state).contains("card-12"));
    press(&mut state, "up");
    assert!(!shown(&mut state).contains("card-12"), "the first press scrolls back");
}

#[test]
fn a_long_message_ends_with_an_ellipsis_and_keeps_its_hint() {
    let mut state = screen((60, 16), Screen::Cards);
    let _wake = state.toast_with(Tone::Done, words(60), "{undo} to undo");
    let all = shown(&mut state);
    assert!(all.lines().any(|line| line.contains("w119") && line.contains('…')), "{all}");
    assert!(all.contains(" u to undo "), "{all}");
}

#[test]
fn a_message_does_not_cover_the_row_under_the_cursor() {
    let mut state = screen((60, 16), Screen::Inbox);
    press(&mut state, "G");
    let rows = |all: &str| {
        let lines = all.lines().enumerate().filter(|(_, line)| line.contains('▌'));
        lines.map(|(y, line)| (y, line.to_owned())).collect::<Vec<_>>()
    };
    state.toasts.clear();
    let before = rows(&shown(&mut state));
    assert!(before.last().is_some_and(|(y, _)| *y >= 12), "at the lower edge: {before:?}");
    let _wake = state.toast(Tone::Warn, "Careful");
    let after = shown(&mut state);
    assert!(after.contains("Careful"), "{after}");
    assert_eq!(rows(&after), before, "{after}");
}

#[test]
fn a_claim_higher_than_the_screen_is_read_to_its_end() {
    let mut state = screen((80, 24), Screen::Why);
    let mut history = history();
    history.claim.statement = words(600);
    history.chain[0].claim.statement = words(600);
    state.why.accept(WhyChain::from(history));
    state.why.place(state.why.chain.as_ref().and_then(WhyChain::home));
    frame(&mut state, &Theme::ansi(true));
    let first = state.why.cursor;
    let mut seen = String::new();
    while state.why.cursor == first {
        seen.push_str(&shown(&mut state));
        press(&mut state, "j");
    }
    for word in words(600).split_whitespace() {
        assert!(seen.contains(word), "{word} was never shown");
    }
    press(&mut state, "k G");
    assert_eq!(state.hits.overflow(Pane::Chain), 0, "the last claim fits");
}

#[test]
fn what_a_command_does_is_shown_as_a_whole() {
    for size in [(80, 24), (60, 20)] {
        let mut state = screen(size, Screen::Inbox);
        press(&mut state, "? m a r k");
        let all = shown(&mut state);
        // The last words of the help.
        assert!(all.lines().rev().take(6).any(|line| line.contains("claims.")), "{all}");
    }
}
