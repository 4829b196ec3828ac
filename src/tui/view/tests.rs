//! Snapshots of the screens at the sizes that matter.

mod judging;
mod keys;
mod notes;
mod screens;
mod scrolling;

use proptest::prelude::*;
use ratatui::{buffer::Buffer, layout::Rect};

use super::draw;
use crate::{
    api::{CardSettlement, CardStatus},
    domain::OpId,
    tui::{
        msg::{FailureKind, Msg, RequestAnswer, RequestFailure, Slot, WriteRequest},
        sample::{NOW, app, card, frame, press, proposal, settings, step, text},
        state::{
            AppState, Focus, Overlay, Screen,
            conflicts::Card,
            overlay::{Confirm, Listed},
        },
        theme::Theme,
        update::{self, Opening},
    },
};

const SIZES: [(u16, u16); 6] = [(200, 60), (120, 40), (80, 24), (60, 16), (40, 10), (20, 5)];

fn screen(size: (u16, u16), screen: Screen) -> AppState {
    let claim = (screen == Screen::Why).then(|| "14".to_owned());
    app(size, Opening { screen: Some(screen), claim, ..Opening::default() })
}

fn shot(name: &str, state: &mut AppState) {
    let buffer = frame(state, &Theme::ansi(true));
    insta::assert_snapshot!(name, text(&buffer));
}

#[test]
fn each_screen_at_each_size() {
    for size in SIZES {
        for each in Screen::TABS {
            let mut state = screen(size, each);
            let name = format!("{}_{}x{}", each.title().to_lowercase(), size.0, size.1);
            shot(&name, &mut state);
        }
        shot(&format!("cards_{}x{}", size.0, size.1), &mut screen(size, Screen::Cards));
    }
}

#[test]
fn the_card_alone_on_smaller_screens() {
    for size in [(80, 24), (60, 16)] {
        let mut state = screen(size, Screen::Cards);
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
        let mut state = screen(size, Screen::Cards);
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
        let mut state = screen(size, Screen::Cards);
        state.conflicts.card = Some(Card::new(proposal(1)));
        state.conflicts.focus = Focus::Detail;
        shot(&format!("proposal_{}x{}", size.0, size.1), &mut state);
        press(&mut state, "r");
        shot(&format!("proposal_accept_{}x{}", size.0, size.1), &mut state);
    }
}

#[test]
fn a_replacement_that_an_agent_proposes_is_called_a_proposal() {
    let mut view = card(1);
    view.summary.accept = Some(crate::api::CardAct::Supersede);
    view.evidence[0].rule = crate::domain::guard_report::RuleId::Judged;
    view.evidence[0].relation = crate::domain::guard_report::Relation::Uncertain;
    let mut state = screen((120, 40), Screen::Cards);
    state.conflicts.card = Some(Card::new(view));
    let shown = text(&frame(&mut state, &Theme::mono(true)));
    assert!(shown.contains("claude-code proposes to replace this claim"), "{shown}");
    assert!(!shown.contains("A judge proposes") && !shown.contains("the new claim was refused"), "{shown}");
}

#[test]
fn an_exception_that_an_agent_proposes_is_called_a_proposal() {
    let mut view = card(1);
    view.summary.accept = Some(crate::api::CardAct::Exception);
    view.evidence[0].rule = crate::domain::guard_report::RuleId::Judged;
    view.evidence[0].relation = crate::domain::guard_report::Relation::Contradiction;
    let mut state = screen((120, 40), Screen::Cards);
    state.conflicts.card = Some(Card::new(view));
    let shown = text(&frame(&mut state, &Theme::mono(true)));
    assert!(shown.contains("claude-code proposes an exception to this claim"), "{shown}");
    assert!(!shown.contains("A judge says"), "{shown}");
}

#[test]
fn a_claim_that_an_agent_may_not_retract_is_kept() {
    let mut view = proposal(1);
    view.summary.status = CardStatus::Settled;
    view.settled = Some(CardSettlement {
        act: "dismiss".into(),
        who: "max".into(),
        agent: None,
        at: NOW - 60_000,
        reason: None,
        op_id: Some(OpId([3; 16])),
        stored_as: None,
        merged: false,
    });
    let message = view.settled_message().unwrap();
    assert!(message.contains("was settled by max (the claim was kept)"), "{message}");
    let mut state = screen((120, 40), Screen::Cards);
    state.conflicts.card = Some(Card::new(view));
    let shown = text(&frame(&mut state, &Theme::mono(true)));
    assert!(shown.contains(": the claim was kept") && !shown.contains("no contradiction"), "{shown}");
}

#[test]
fn a_card_that_is_settled_while_its_form_is_open() {
    let mut state = screen((80, 24), Screen::Cards);
    press(&mut state, "d n o");
    let mut view = card(1);
    view.summary.status = CardStatus::Settled;
    view.settled = Some(CardSettlement {
        act: "narrow".into(),
        who: "max".into(),
        agent: None,
        at: NOW - 60_000,
        reason: Some("red is for staging".into()),
        op_id: Some(OpId([3; 16])),
        stored_as: None,
        merged: false,
    });
    let ticket = state.ticket(Slot::Card);
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Card(Box::new(view)))));
    shot("form_settled_80x24", &mut state);
    press(&mut state, "esc");
    shot("card_settled_80x24", &mut state);
}

#[test]
fn nothing_there_says_what_to_do() {
    let mut state = AppState::new(settings(), (80, 24), 1);
    update::open(&mut state, Opening::default());
    let gone = RequestFailure {
        kind: FailureKind::Unreachable,
        message: "no daemon answers at unix:/run/ergo.sock (not found)".into(),
        hint: None,
        field: None,
    };
    let ticket = state.ticket(crate::tui::msg::Slot::Inbox);
    step(&mut state, Msg::Reply(ticket, Err(gone)));
    assert!(text(&frame(&mut state, &Theme::ansi(true))).contains("No daemon is running"));
    shot("offline_80x24", &mut state);
    let mut state = screen((80, 24), Screen::Cards);
    press(&mut state, "f");
    shot("nothing_80x24", &mut state);
}

#[test]
fn styles_of_a_card_with_and_without_colours() {
    let mut state = screen((100, 24), Screen::Cards);
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
    fn no_size_panics(
        (width, height) in (1u16..220, 1u16..70),
        (columns, rows) in (1u16..220, 1u16..70),
        which in 0usize..8,
        keys in "[a-zA-Z?/@]{0,4}",
    ) {
        let mut state = screen((width, height), Screen::TABS[which]);
        for key in keys.chars() {
            press(&mut state, &key.to_string());
        }
        for theme in [Theme::ansi(true), Theme::mono(false)] {
            // Right after a resize, the drawn area is not yet the size that the state knows.
            let drawn = Rect::new(0, 0, columns, rows);
            draw(&state, &theme, drawn, &mut Buffer::empty(drawn));
            frame(&mut state, &theme);
        }
    }
}

#[test]
fn a_terminal_that_shrank_before_the_app_knows_is_drawn_at_its_size() {
    for which in [Screen::Inbox, Screen::Agents, Screen::Cards] {
        let state = screen((80, 24), which);
        let drawn = Rect::new(0, 0, 80, 11);
        let mut buffer = Buffer::empty(drawn);
        draw(&state, &Theme::ansi(true), drawn, &mut buffer);
        assert!(!text(&buffer).trim().is_empty(), "{which:?}");
    }
}

#[test]
fn marked_cards_and_the_preview_of_one_act_on_all() {
    for size in [(80, 24), (120, 40), (60, 16)] {
        let named = |name: &str| format!("{name}_{}x{}", size.0, size.1);
        let mut state = screen(size, Screen::Cards);
        press(&mut state, "space space");
        shot(&named("marked"), &mut state);
        press(&mut state, "p");
        shot(&named("form_many"), &mut state);
        press(&mut state, "esc");
        let line = |n: usize| Listed {
            done: n != 2,
            text: if n == 2 {
                "no side is from “CLAUDE.md”".into()
            } else {
                format!("Superseded “the canary is blue ({n})”")
            },
            about: "Only one colour can be chosen".into(),
        };
        let write = WriteRequest::SyncNow;
        let confirm =
            Confirm::new("12 cards: keep one source", "Would settle 11 of 12 cards. 1 stays.", "Do it", write, None);
        state.overlay = Some(Overlay::Confirm(Confirm { list: (1..=12).map(line).collect(), ..confirm }));
        shot(&named("preview"), &mut state);
    }
}

/// Wide letters, right-to-left letters, joined emoji, and characters that must not be shown, wherever text comes from
/// memory.
const SCRIPTS: [&str; 5] = [
    "決定：配備は毎週金曜日に行う。例外は認めない",
    "ההפצה תמיד ביום שישי \u{202e}txet\u{202c} בלבד",
    "می\u{200c}خواهیم هر جمعه منتشر کنیم، نه روزهای دیگر",
    "👩\u{200d}🚀 ships 🇩🇪 on ⚠\u{fe0f} days 🚢🚢🚢🚢",
    "e\u{301}tape de de\u{301}ploiement\u{200b} \u{1b}[31mrouge\u{1b}[0m",
];

#[test]
fn every_script_fits_every_column() {
    for size in [(120, 40), (80, 24), (60, 16)] {
        for text in SCRIPTS {
            let mut view = crate::tui::sample::card(1);
            view.summary.headline = text.into();
            view.summary.who = text.into();
            view.summary.agent = Some(text.into());
            view.summary.scope.project = text.into();
            view.advice = text.into();
            for side in &mut view.sides {
                side.claim.statement = text.into();
                side.claim.reason = Some(text.into());
                side.claim.source = Some(text.into());
                side.claim.who = text.into();
                side.claim.agent = Some(text.into());
                side.claim.provenance.device_name = Some(text.into());
            }
            let evidence = &mut view.evidence[0];
            evidence.words = vec![text.into()];
            evidence.norm.subject = text.into();
            evidence.norm.value = Some(text.into());
            for focus in [Focus::List, Focus::Detail] {
                let mut state = screen(size, Screen::Cards);
                let summary = view.summary.clone();
                state.conflicts.list.update(summary.id, |row| *row = summary);
                state.conflicts.card = Some(Card::new(view.clone()));
                state.conflicts.focus = focus;
                let buffer = frame(&mut state, &Theme::ansi(true));
                let shown = self::text(&buffer);
                assert!(!shown.contains(['\u{1b}', '\u{202e}', '\u{202c}', '\u{200b}']), "{shown}");
                // A letter that is wider than computed would push the right border out of its column.
                let last = size.0 - 1;
                let rows = (2..size.1 - 2).filter(|y| ["│", "╭", "╰", "╮", "╯"].contains(&buffer[(last, *y)].symbol()));
                assert_eq!(rows.count(), usize::from(size.1) - 4, "{text}\n{shown}");
                for line in shown.lines() {
                    assert!(crate::tui::text::width(line) <= usize::from(size.0), "{line}");
                }
            }
        }
    }
}
