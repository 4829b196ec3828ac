//! What the screens look like, at the sizes that matter.

mod screens;

use proptest::prelude::*;
use ratatui::{buffer::Buffer, layout::Rect};

use super::draw;
use crate::tui::{
    msg::{Failure, FailureKind, Msg},
    sample::{app, frame, press, proposal, settings, step, text},
    state::{
        Screen, State,
        conflicts::{Card, Focus},
    },
    theme::Theme,
    update::{self, Opening},
};

const SIZES: [(u16, u16); 5] = [(200, 60), (120, 40), (80, 24), (60, 16), (20, 5)];

fn screen(size: (u16, u16), screen: Screen) -> State {
    let claim = (screen == Screen::Why).then(|| "14".to_owned());
    app(size, Opening { screen: Some(screen), claim, ..Opening::default() })
}

fn shot(name: &str, state: &mut State) {
    let buffer = frame(state, &Theme::ansi(true));
    insta::assert_snapshot!(name, text(&buffer));
}

#[test]
fn each_screen_at_each_size() {
    for size in SIZES {
        for each in Screen::ALL {
            let mut state = screen(size, each);
            let name = format!("{}_{}x{}", each.title().to_lowercase(), size.0, size.1);
            shot(&name, &mut state);
        }
    }
}

#[test]
fn the_card_alone_on_smaller_screens() {
    for size in [(80, 24), (60, 16)] {
        let mut state = screen(size, Screen::Conflicts);
        press(&mut state, "enter");
        shot(&format!("card_{}x{}", size.0, size.1), &mut state);
        press(&mut state, "pgdn pgdn pgdn");
        shot(&format!("card_end_{}x{}", size.0, size.1), &mut state);
    }
}

#[test]
fn the_parts_that_lie_over_a_screen() {
    for size in [(80, 24), (120, 40)] {
        let named = |name: &str| format!("{name}_{}x{}", size.0, size.1);
        let mut state = screen(size, Screen::Conflicts);
        press(&mut state, "a");
        shot(&named("form_keep"), &mut state);
        press(&mut state, "esc o");
        shot(&named("form_narrow"), &mut state);
        press(&mut state, "esc m");
        shot(&named("form_merge"), &mut state);
        press(&mut state, "esc ?");
        shot(&named("palette"), &mut state);
        press(&mut state, "esc 2 /");
        for key in "canary".chars() {
            press(&mut state, &key.to_string());
        }
        shot(&named("search"), &mut state);
        press(&mut state, "esc X a ctrl-s");
        shot(&named("confirm"), &mut state);
    }
}

#[test]
fn what_an_agent_proposes_is_a_card_with_one_side() {
    for size in [(80, 24), (120, 40)] {
        let mut state = screen(size, Screen::Conflicts);
        state.conflicts.card = Some(Card::new(proposal(1)));
        state.conflicts.focus = Focus::Card;
        shot(&format!("proposal_{}x{}", size.0, size.1), &mut state);
        press(&mut state, "r");
        shot(&format!("proposal_accept_{}x{}", size.0, size.1), &mut state);
    }
}

#[test]
fn nothing_there_says_what_to_do() {
    let mut state = State::new(settings(), (80, 24), 1);
    update::open(&mut state, Opening::default());
    let gone = Failure {
        kind: FailureKind::Unreachable,
        message: "no daemon answers at unix:/run/ergo.sock (not found)".into(),
        hint: None,
        field: None,
        candidates: vec![],
    };
    let ticket = crate::tui::msg::Ticket { slot: crate::tui::msg::Slot::Conflicts, generation: 1 };
    step(&mut state, Msg::Reply(ticket, Err(gone)));
    shot("offline_80x24", &mut state);
    let mut state = screen((80, 24), Screen::Conflicts);
    press(&mut state, "f");
    shot("nothing_80x24", &mut state);
}

#[test]
fn styles_of_a_card_with_and_without_colours() {
    let mut state = screen((100, 24), Screen::Conflicts);
    insta::assert_snapshot!("styled_ansi", format!("{:?}", frame(&mut state, &Theme::ansi(true))));
    let mono = frame(&mut state, &Theme::mono(false));
    insta::assert_snapshot!("styled_mono", format!("{mono:?}"));
    let plain = |color: ratatui::style::Color| color == ratatui::style::Color::Reset;
    assert!(mono.content.iter().all(|cell| plain(cell.fg) && plain(cell.bg)));
    assert!(mono.content.iter().all(|cell| cell.symbol() != "│"), "outside UTF-8 the lines are ASCII");
}

#[test]
fn the_row_under_the_cursor_is_marked_without_colour() {
    for theme in [Theme::ansi(true), Theme::mono(true)] {
        let mut state = screen((80, 24), Screen::Claims);
        let buffer = frame(&mut state, &theme);
        let marked = text(&buffer).lines().filter(|line| line.contains('▌')).count();
        assert_eq!(marked, 1);
        let reversed = buffer.content.iter().filter(|cell| cell.modifier.contains(ratatui::style::Modifier::REVERSED));
        assert!(reversed.count() > 20);
    }
}

#[test]
fn what_memory_holds_cannot_reach_the_terminal() {
    let mut state = screen((120, 40), Screen::Claims);
    let buffer = frame(&mut state, &Theme::ansi(true));
    let shown = text(&buffer);
    assert!(shown.contains("Evil [31mred[0m txet and ab"), "{shown}");
    assert!(!shown.contains(['\u{1b}', '\u{202e}', '\u{200b}']));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn no_size_panics(width in 1u16..220, height in 1u16..70, which in 0usize..8, keys in "[a-zA-Z?/@]{0,4}") {
        let mut state = screen((width, height), Screen::ALL[which]);
        for key in keys.chars() {
            press(&mut state, &key.to_string());
        }
        for theme in [Theme::ansi(true), Theme::mono(false)] {
            // A buffer smaller than the area that was asked for, as right after a resize.
            let mut buffer = Buffer::empty(Rect::new(0, 0, width.div_ceil(2), height));
            draw(&state, &theme, Rect::new(0, 0, width, height), &mut buffer);
            frame(&mut state, &theme);
        }
    }
}
