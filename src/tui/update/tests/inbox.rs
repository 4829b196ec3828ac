//! The Inbox: the cursor goes on after each act, stays where it is whatever comes, and says who settled what was under it.

use super::*;
use crate::{
    api::{Inbox, InboxItem, InboxKind},
    tui::{
        sample::screens::{inbox, inbox_card, three_cards},
        state::inbox::{Focus, ItemId, Row},
    },
};

fn opened() -> State {
    app(SIZE, Opening::default())
}

/// The daemon's answer to the next reading of the inbox.
fn reread(state: &mut State, change: Change, view: &Inbox) {
    for effect in step(state, Msg::Live(Live::Change(Box::new(change)))) {
        if let Effect::Read(ticket, read) = effect {
            let reply = match read {
                Read::Inbox(_) => Answer::Inbox(view.clone()),
                other => answer(&other),
            };
            step(state, Msg::Reply(ticket, Ok(reply)));
        }
    }
}

fn without(kind: InboxKind) -> Inbox {
    let mut view = inbox();
    view.groups.retain(|group| group.group != kind);
    view.total = view.groups.iter().map(|group| group.total).sum();
    view
}

fn change(who: &str, summary: &str) -> Change {
    Change { event: "change".into(), who: who.into(), summary: summary.into(), ..Change::default() }
}

fn go_to(state: &mut State, wanted: &ItemId) {
    press(state, "g");
    for _ in 0..30 {
        if state.inbox.anchor() == Some(wanted) {
            return;
        }
        press(state, "j");
    }
    panic!("{wanted:?} is not there");
}

#[test]
fn it_is_the_first_screen_and_counts_everything() {
    let state = opened();
    assert_eq!(state.screen, Screen::Inbox);
    assert_eq!(state.inbox.total(), 128);
    let headings: Vec<_> = state
        .inbox
        .rows()
        .iter()
        .filter_map(|row| match row {
            Row::Heading(kind, total) => Some((*kind, *total)),
            _ => None,
        })
        .collect();
    assert_eq!(headings.first(), Some(&(InboxKind::Joining, 1)), "whoever stands at the door comes first");
    assert!(headings.contains(&(InboxKind::Found, 120)), "a group says how many there are, though few are listed");
}

#[test]
fn a_card_is_settled_here_and_the_cursor_goes_on() {
    let mut state = opened();
    go_to(&mut state, &inbox_card(1));
    let out = press(&mut state, "a enter");
    let (ticket, Write::Resolve { card, .. }) = written(&out).unwrap() else { panic!() };
    assert_eq!(card, card_id(1).to_hex());
    step(&mut state, done("Superseded the canary", Some(1)).to(ticket));
    assert_eq!(state.inbox.anchor(), Some(&inbox_card(3)), "then next");
    assert_eq!(state.inbox.settled, 1);
    let mut view = inbox();
    view.groups[1].items.remove(0);
    reread(&mut state, change("zoe", "Superseded the canary"), &view);
    assert_eq!(state.inbox.anchor(), Some(&inbox_card(3)));
    assert!(state.inbox.gone.is_none(), "what was settled from here leaves without a word");
    assert!(!toasts(&state).contains("meanwhile"));
}

#[test]
fn three_cards_of_the_inbox_take_two_keys_each() {
    let mut state = opened();
    reread(&mut state, change("max", "x"), &three_cards());
    // Whoever stood at the door is gone, and stays under the cursor until it leaves.
    press(&mut state, "j");
    for n in 1..=3 {
        assert_eq!(state.inbox.card(), Some(card_id(n)));
        let out = press(&mut state, "a enter");
        let out = step(&mut state, done("Done", Some(n)).to(written(&out).unwrap().0));
        for effect in out {
            if let Effect::Read(ticket, read @ Read::Card(_)) = effect {
                step(&mut state, Msg::Reply(ticket, Ok(answer(&read))));
            }
        }
    }
    assert_eq!(state.inbox.settled, 3);
}

#[test]
fn what_is_settled_elsewhere_stays_under_the_cursor_and_says_who_did_it() {
    let mut state = opened();
    let review = ItemId::Review(id(40));
    go_to(&mut state, &review);
    reread(&mut state, change("max", "Reviewed, and still holds: “Hotfixes”"), &without(InboxKind::NeedsReview));
    assert_eq!(state.inbox.anchor(), Some(&review), "the cursor stays");
    assert!(state.inbox.is_gone());
    assert!(
        toasts(&state).contains("Settled meanwhile by max: Reviewed, and still holds: “Hotfixes”."),
        "{}",
        toasts(&state)
    );
    press(&mut state, "j");
    assert!(state.inbox.gone.is_none(), "it goes when the cursor leaves it");
    assert_ne!(state.inbox.anchor(), Some(&review));
}

#[test]
fn what_comes_above_does_not_move_the_cursor() {
    let mut state = opened();
    let review = ItemId::Review(id(40));
    go_to(&mut state, &review);
    let before = state.inbox.cursor();
    reread(&mut state, change("max", "x"), &without(InboxKind::Joining));
    assert_eq!((state.inbox.anchor(), state.inbox.cursor()), (Some(&review), before - 1));
    reread(&mut state, change("max", "x"), &inbox());
    assert_eq!((state.inbox.anchor(), state.inbox.cursor()), (Some(&review), before));
}

#[test]
fn a_review_has_its_reason_prefilled_and_is_one_act() {
    let mut state = opened();
    go_to(&mut state, &ItemId::Review(id(40)));
    press(&mut state, "v");
    assert_eq!(reason(&state), "It still holds after max via claude-code superseded a premise.");
    let out = press(&mut state, "ctrl-s");
    let (ticket, Write::Reviewed(request)) = written(&out).unwrap() else { panic!() };
    assert_eq!(request.target, id(40).to_hex());
    step(&mut state, done("Reviewed", None).to(ticket));
    assert_ne!(state.inbox.anchor(), Some(&ItemId::Review(id(40))), "then next");
}

#[test]
fn a_warned_write_is_looked_at_with_the_same_key() {
    let mut state = opened();
    go_to(&mut state, &ItemId::Notice(crate::domain::EventId([0x51; 32])));
    assert!(matches!(state.inbox.item(), Some(InboxItem::Notice(_))));
    let out = press(&mut state, "v ctrl-s");
    let Some((_, Write::Reviewed(request))) = written(&out) else { panic!() };
    assert_eq!((request.target, request.reason.as_str()), (id(41).to_hex(), "Looked at it: it stands."));
}

#[test]
fn the_rest_of_a_group_is_one_key_away_and_esc_leads_back() {
    let mut state = opened();
    go_to(&mut state, &ItemId::More(InboxKind::Found));
    press(&mut state, "enter");
    assert_eq!(state.screen, Screen::Conflicts);
    press(&mut state, "esc");
    assert_eq!(state.screen, Screen::Inbox);
    press(&mut state, "enter");
    assert_eq!(state.screen, Screen::Conflicts, "the cursor is where it was");
}

#[test]
fn what_stands_at_the_door_asks_first_and_another_key_says_yes() {
    let mut state = opened();
    press(&mut state, "g");
    assert!(written(&press(&mut state, "i i")).is_none());
    let Some((_, Write::AnswerJoin { request, .. })) = written(&press(&mut state, "y")) else { panic!() };
    assert!(request.accept);
    let mut state = opened();
    press(&mut state, "G");
    let Some((_, Write::Quarantine { accept, request })) = written(&press(&mut state, "x y")) else { panic!() };
    assert!(!accept);
    assert_eq!(request.events, [crate::domain::EventId([0x53; 32]).to_hex()]);
}

#[test]
fn acts_wait_for_the_card_under_the_cursor_of_the_inbox() {
    let mut state = opened();
    go_to(&mut state, &inbox_card(1));
    step(&mut state, Msg::Key(KeyPress::char('j')));
    assert_eq!(state.inbox.card(), Some(card_id(3)));
    step(&mut state, Msg::Key(KeyPress::char('a')));
    assert!(state.overlay.is_none());
    assert!(toasts(&state).contains("still being read"), "{}", toasts(&state));
}

#[test]
fn a_lost_daemon_keeps_the_inbox_and_comes_back_to_the_same_row() {
    let mut state = opened();
    let review = ItemId::Review(id(40));
    go_to(&mut state, &review);
    step(&mut state, Msg::Live(Live::Down("gone".into())));
    assert_eq!(state.inbox.total(), 128, "what was read stays");
    assert!(press(&mut state, "s").contains(&Effect::Start));
    step(&mut state, Msg::Started(Ok(())));
    let out = step(&mut state, Msg::Live(Live::Up));
    settle(&mut state, out);
    assert_eq!(state.inbox.anchor(), Some(&review));
    assert_eq!(state.inbox.focus, Focus::List);
}
