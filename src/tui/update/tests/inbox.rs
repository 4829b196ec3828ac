//! Tests of the Inbox: the cursor goes on after each act and stays on its item otherwise, and a message says who
//! settled the item under it.

use super::*;
use crate::{
    api::{Inbox, InboxItem, InboxKind},
    domain::EventId,
    tui::{
        sample::screens::{after_import, inbox, inbox_card, three_cards},
        state::{
            Focus,
            inbox::{InboxRow, ItemId},
        },
    },
};

pub(super) fn opened() -> AppState {
    app(SIZE, Opening::default())
}

/// Sends a change, and answers the reading of the Inbox that follows with `view`.
fn reread(state: &mut AppState, change: Change, view: &Inbox) {
    let effects = step(state, Msg::Live(Live::Change(Box::new(change))));
    serve_view(state, effects, view);
}

/// Answers all reads; those of the Inbox with `view`.
fn serve_view(state: &mut AppState, effects: Vec<Effect>, view: &Inbox) {
    for effect in effects {
        if let Effect::Read(ticket, read) = effect {
            let reply = match read {
                ReadRequest::Inbox(_) => RequestAnswer::Inbox(view.clone()),
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

pub(super) fn change(who: &str, summary: &str) -> Change {
    Change { event: "change".into(), who: who.into(), summary: summary.into(), ..Change::default() }
}

fn go_to(state: &mut AppState, wanted: &ItemId) {
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
fn a_confirmed_act_settles_its_subject_and_not_what_is_under_the_cursor_by_then() {
    let mut state = opened();
    let join = ItemId::Joining("5e11a0b2c3d4e5f6".into());
    go_to(&mut state, &join);
    press(&mut state, "i");
    state.inbox.step(1);
    assert!(written(&press(&mut state, "y")).is_some());
    assert_eq!(state.inbox.acting, [join]);

    let mut state = opened();
    let quarantined = ItemId::Quarantined(EventId([0x53; 32]));
    go_to(&mut state, &quarantined);
    press(&mut state, "i");
    assert!(written(&press(&mut state, "y")).is_some());
    assert_eq!(state.inbox.acting, [quarantined], "once, although the cursor is on it");
}

#[test]
fn it_is_the_first_screen_and_counts_everything() {
    let state = opened();
    assert_eq!(state.screen, Screen::Inbox);
    assert_eq!(state.inbox.total(), 128);
    let headings: Vec<_> = state
        .inbox
        .rows()
        .filter_map(|row| match row {
            InboxRow::Heading(kind, count) => Some((kind, count.total)),
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
    let (ticket, WriteRequest::Resolve { card, .. }) = written(&out).unwrap() else { panic!() };
    assert_eq!(card, card_id(1).to_hex());
    step(&mut state, done("Superseded the canary", Some(1)).to(ticket));
    assert_eq!(state.inbox.anchor(), Some(&inbox_card(3)), "then next");
    assert_eq!(state.inbox.settled, 1);
    let mut view = inbox();
    view.groups[1].items.remove(0);
    reread(&mut state, change("zoe", "Superseded the canary"), &view);
    assert_eq!(state.inbox.anchor(), Some(&inbox_card(3)));
    assert!(state.inbox.kept_item.is_none(), "what was settled from here leaves without a word");
    assert!(!toasts(&state).contains("meanwhile"));
}

#[test]
fn three_cards_of_the_inbox_take_two_keys_each() {
    let mut state = opened();
    reread(&mut state, change("max", "x"), &three_cards());
    // The join request is gone, and its row stays under the cursor until the cursor leaves it.
    press(&mut state, "j");
    for n in 1..=3 {
        assert_eq!(state.inbox.card(), Some(card_id(n)));
        let out = press(&mut state, "a enter");
        let out = step(&mut state, done("Done", Some(n)).to(written(&out).unwrap().0));
        for effect in out {
            if let Effect::Read(ticket, read @ ReadRequest::Card(_)) = effect {
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
    let change = Change { claims: vec![id(40)], ..change("max", "Reviewed, and still holds: “Hotfixes”") };
    reread(&mut state, change, &without(InboxKind::NeedsReview));
    assert_eq!(state.inbox.anchor(), Some(&review), "the cursor stays");
    assert!(state.inbox.is_on_settled());
    assert!(
        toasts(&state).contains("Already settled by max: Reviewed, and still holds: “Hotfixes”."),
        "{}",
        toasts(&state)
    );
    press(&mut state, "j");
    assert!(state.inbox.kept_item.is_none(), "it goes when the cursor leaves it");
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
    assert_eq!(reason(&state), "It still holds, although max via claude-code superseded a claim that it depends on.");
    let out = press(&mut state, "ctrl-s");
    let (ticket, WriteRequest::Reviewed(request)) = written(&out).unwrap() else { panic!() };
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
    let Some((_, WriteRequest::Reviewed(request))) = written(&out) else { panic!() };
    assert_eq!((request.target, request.reason.as_str()), (id(41).to_hex(), "Reviewed: it still holds."));
}

#[test]
fn where_the_daemon_does_not_page_a_group_its_rest_is_shown_where_it_is_listed() {
    let mut state = opened();
    if let Some(view) = &mut state.inbox.view {
        for group in &mut view.groups {
            group.next = None;
        }
    }
    go_to(&mut state, &ItemId::More(InboxKind::Found));
    press(&mut state, "enter");
    assert_eq!(state.screen, Screen::Cards);
    press(&mut state, "esc");
    assert_eq!(state.screen, Screen::Inbox);
    press(&mut state, "enter");
    assert_eq!(state.screen, Screen::Cards, "the cursor is where it was");
}

#[test]
fn what_stands_at_the_door_asks_first_and_another_key_says_yes() {
    let mut state = opened();
    press(&mut state, "g");
    assert!(written(&press(&mut state, "i i")).is_none());
    let Some((_, WriteRequest::AnswerJoin { request, .. })) = written(&press(&mut state, "y")) else { panic!() };
    assert!(request.accept);
    let mut state = opened();
    press(&mut state, "G");
    let Some((_, WriteRequest::Quarantine { accept, request })) = written(&press(&mut state, "x y")) else { panic!() };
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
    assert!(toasts(&state).contains("still loading"), "{}", toasts(&state));
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

/// An app whose Inbox has the items of an import.
fn imported() -> AppState {
    let mut state = opened();
    reread(&mut state, change("max", "x"), &after_import());
    // The join request is gone, and its row stays under the cursor until the cursor leaves it.
    press(&mut state, "j g");
    state.toasts.clear();
    state
}

/// Returns the texts of the rows, without headings.
fn selectable_rows(state: &AppState) -> Vec<String> {
    let selectable_rows = state.inbox.selectable_rows();
    let shown = selectable_rows.iter().map(|row| match row {
        InboxRow::Item(_, InboxItem::Card(card)) => format!("card {}", card.id.to_hex().get(..2).unwrap()),
        InboxRow::Item(..) => "claim".to_owned(),
        InboxRow::Import(kind, import) => format!("{} of an import, {kind:?}", import.count),
        _ => "more".to_owned(),
    });
    shown.collect()
}

#[test]
fn an_import_is_one_row_that_opens() {
    let mut state = imported();
    assert_eq!(selectable_rows(&state), ["card 09", "3 of an import, Refused", "2 of an import, Warned"]);
    press(&mut state, "j enter");
    assert_eq!(selectable_rows(&state).len(), 6);
    press(&mut state, "j");
    assert_eq!(state.inbox.card(), Some(card_id(1)));
    press(&mut state, "k enter");
    assert_eq!(selectable_rows(&state).len(), 3, "and closes");
    // A link to one of its cards opens it.
    super::super::conflicts::show(&mut state, card_id(3).to_hex());
    press(&mut state, "l");
    assert_eq!(state.inbox.card(), Some(card_id(3)));
}

#[test]
fn an_act_on_an_import_is_about_all_that_it_brought() {
    let mut state = imported();
    let out = press(&mut state, "j b enter");
    let Some((_, WriteRequest::ResolveMany(request))) = written(&out) else { panic!() };
    assert_eq!((request.dry_run, request.cards.len()), (true, 3));
    let mut state = imported();
    let out = press(&mut state, "G v ctrl-s");
    let Some((ticket, WriteRequest::Reviewed(request))) = written(&out) else { panic!() };
    assert_eq!((request.target, request.also), (id(61).to_hex(), vec![id(62).to_hex()]));
    assert_eq!((request.reason.as_str(), request.expect_rev), ("Reviewed: they still hold.", None));
    step(&mut state, done("Reviewed", None).to(ticket));
    assert_eq!(state.inbox.settled, 2);
}

#[test]
fn one_source_is_chosen_among_those_of_all_cards_of_an_import() {
    let mut state = imported();
    press(&mut state, "j p");
    let Some(Overlay::Form(form)) = &state.overlay else { panic!("{}", toasts(&state)) };
    assert_eq!((form.cards.len(), form.keeps.is_empty()), (3, false));
}

#[test]
fn cards_and_claims_are_marked_in_the_inbox_and_an_act_is_about_those_of_its_kind_and_scope() {
    let mut state = imported();
    // The card of the other scope, the import with three items, and the two warnings.
    press(&mut state, "space space space");
    assert_eq!(state.conflicts.marks.len(), 6);
    press(&mut state, "g j");
    assert_eq!((state.marked_cards().len(), state.marked_claims().len()), (3, 0));
    press(&mut state, "b");
    let Some(Overlay::Form(form)) = &state.overlay else { panic!() };
    assert_eq!((form.title.as_str(), form.scope.project.as_str()), ("3 cards: keep existing", "api"));
    assert!(form.effect.contains("3 marked items of other scopes or kinds"), "{}", form.effect);
    press(&mut state, "esc g");
    assert_eq!(state.marked_cards().len(), 1, "of the other scope there is one");
    press(&mut state, "G");
    assert_eq!((state.marked_cards().len(), state.marked_claims().len()), (0, 2));
    press(&mut state, "esc");
    assert!(state.conflicts.marks.is_empty());
}

#[test]
fn a_group_and_a_range_are_marked_and_unmarked() {
    let mut state = imported();
    press(&mut state, "*");
    assert_eq!(state.conflicts.marks.len(), 4);
    press(&mut state, "*");
    assert!(state.conflicts.marks.is_empty());
    press(&mut state, "space G V");
    assert_eq!(state.conflicts.marks.len(), 6);
    // An item that was settled elsewhere is no longer marked.
    reread(&mut state, change("max", "x"), &without(InboxKind::Refused));
    let mut view = after_import();
    view.groups.remove(0);
    view.total = 2;
    reread(&mut state, change("max", "x"), &view);
    assert_eq!(state.conflicts.marks.len(), 2);
}

#[test]
fn what_is_settled_by_one_act_leaves_without_a_word() {
    let mut state = imported();
    let out = press(&mut state, "j D enter");
    let (ticket, WriteRequest::ResolveMany(preview)) = written(&out).unwrap() else { panic!() };
    let answer = |dry_run| {
        let card = |n| crate::api::ResolvedCard {
            card: card_id(n),
            headline: String::new(),
            settled: true,
            summary: "Discarded".into(),
            warnings: vec![],
        };
        RequestAnswer::Many(Box::new(crate::api::ResolvedMany {
            op_id: OpId([5; 16]),
            scope: scope("api"),
            summary: "Settled 3 cards".into(),
            items: [1, 3, 5].map(card).into(),
            needs_review: vec![],
            dry_run,
            replayed: false,
        }))
    };
    assert_eq!(preview.cards.len(), 3);
    step(&mut state, Msg::Reply(ticket, Ok(answer(true))));
    let (ticket, _) = written(&press(&mut state, "y")).unwrap();
    let out = step(&mut state, Msg::Reply(ticket, Ok(answer(false))));
    assert_eq!(state.inbox.settled, 3);
    let mut view = after_import();
    view.groups[0].items.truncate(1);
    view.groups[0].total = 1;
    serve_view(&mut state, out, &view);
    assert_eq!(selectable_rows(&state), ["card 09", "2 of an import, Warned"]);
    assert!(!toasts(&state).contains("Already"), "{}", toasts(&state));
    // One undo restores all of them, and the cursor; redo removes them again.
    let undone = |undone, op_id, redo| {
        let (undone, op_id) = (OpId([undone; 16]), OpId([op_id; 16]));
        RequestAnswer::Undone(Box::new(UndoOutcome {
            undone,
            op_id,
            summary: "Settled 3 cards".into(),
            redo,
            claims: vec![],
        }))
    };
    press(&mut state, "g");
    let (ticket, _) = written(&press(&mut state, "u")).unwrap();
    let out = step(&mut state, Msg::Reply(ticket, Ok(undone(5, 6, false))));
    serve_view(&mut state, out, &after_import());
    assert_eq!((state.inbox.settled, state.inbox.imported().len()), (0, 3), "{}", toasts(&state));
    let (ticket, _) = written(&press(&mut state, "U")).unwrap();
    let out = step(&mut state, Msg::Reply(ticket, Ok(undone(6, 7, true))));
    serve_view(&mut state, out, &view);
    assert_eq!((state.inbox.settled, state.inbox.kept_item.is_none()), (3, true));
    assert!(!toasts(&state).contains("Already"), "{}", toasts(&state));
}

#[test]
fn the_filter_goes_from_what_waits_to_settled_cards_and_back() {
    let mut state = opened();
    let mut shown = Vec::new();
    for _ in 0..4 {
        press(&mut state, "f");
        shown.push((state.screen, state.conflicts.filter.as_str()));
    }
    let cards = |filter| (Screen::Cards, filter);
    assert_eq!(shown[..3], [cards("snoozed"), cards("settled"), cards("all")]);
    assert_eq!(state.screen, Screen::Inbox);
    press(&mut state, "f f esc");
    assert_eq!(state.screen, Screen::Inbox, "one step back is what waits");
}

#[test]
fn the_guards_reasons_are_one_key_away() {
    let mut state = opened();
    go_to(&mut state, &inbox_card(1));
    assert!(!state.conflicts.details);
    press(&mut state, "i");
    assert!(state.conflicts.details);
    press(&mut state, "enter enter");
    assert!(!state.conflicts.details, "open, and once more");
}

#[test]
fn a_snoozed_card_comes_back_when_its_time_has_come() {
    let mut state = opened();
    let at = state.now + 60_000;
    let mut view = inbox();
    view.returns_at = Some(at);
    let ticket = state.ticket(Slot::Inbox);
    let out = step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Inbox(view))));
    assert!(out.contains(&Effect::Wake(at)), "{out:?}");
    assert!(step(&mut state, Msg::Woken).is_empty(), "not before its time");
    step(&mut state, Msg::Clock(at));
    let out = step(&mut state, Msg::Woken);
    assert!(out.iter().any(|effect| matches!(effect, Effect::Read(_, ReadRequest::Inbox(_)))), "{out:?}");
    settle(&mut state, out);
    assert!(step(&mut state, Msg::Woken).is_empty(), "and is asked for once");
}

#[test]
fn a_snoozed_card_is_not_counted_as_settled_and_the_message_says_until_when() {
    let mut state = opened();
    go_to(&mut state, &inbox_card(1));
    let Some((ticket, WriteRequest::Resolve { request, .. })) = written(&press(&mut state, "z ctrl-s")) else {
        panic!()
    };
    step(&mut state, done("Snoozed the card", Some(1)).to(ticket));
    assert_eq!((state.inbox.settled, state.undo_stack.last().unwrap().settled), (0, 0));
    assert_ne!(state.inbox.anchor(), Some(&inbox_card(1)), "it leaves the list like a settled one");
    let until = crate::tui::times::minute(request.until.unwrap(), &state.settings.zone);
    let expected = format!("Snoozed the card until {until} in acme/api.");
    assert!(toasts(&state).starts_with(&expected), "{}", toasts(&state));
}
