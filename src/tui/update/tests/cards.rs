//! Tests of cards of which a side has changed since, and of settled cards.

use super::*;
use crate::{
    api::{CardView, History},
    domain::{Qualifiers, Scope, Status},
    tui::{
        sample::{claim, history},
        state::{conflicts::Card, why::WhyChain},
    },
};

/// A card whose stored side was replaced.
fn replaced() -> CardView {
    let mut view = card(1);
    view.sides[1].claim.status = Status::Superseded;
    let now = claim(70, "The canary deployment is always green");
    view.sides[1].claim.replaced_by = vec![now.id];
    view.sides[1].now = vec![now];
    view
}

#[test]
fn a_side_that_was_replaced_is_not_offered_and_points_to_what_is_in_force() {
    let mut state = cards();
    state.conflicts.card = Some(Card::new(replaced()));
    press(&mut state, "b");
    assert!(state.overlay.is_none());
    assert!(
        toasts(&state)
            .contains("the existing claim was replaced: “The canary deployment is always green” is active now")
    );
    press(&mut state, "r");
    let Some(Overlay::Form(form)) = &state.overlay else { panic!() };
    assert_eq!(form.members, [id(1)], "only the refused write can be acted on");
    press(&mut state, "esc a");
    assert!(matches!(state.overlay, Some(Overlay::Form(_))), "the write can still be kept");
    let screen =
        crate::tui::sample::text(&crate::tui::sample::frame(&mut state, &crate::tui::theme::Theme::ansi(true)));
    assert!(!screen.contains(&id(101).to_hex()));
}

#[test]
fn a_claim_of_the_organisation_cannot_be_replaced_from_a_project_and_is_named_with_its_scope() {
    let mut view = card(1);
    view.sides[1].claim.scope = Scope { org_id: "acme".into(), project: "*".into() };
    let mut state = cards();
    state.conflicts.card = Some(Card::new(view));
    for key in ["a", "m"] {
        press(&mut state, key);
        assert!(state.overlay.is_none(), "{key}");
        assert!(toasts(&state).contains("belongs to acme/*: change it there"), "{}", toasts(&state));
    }
    press(&mut state, "r");
    let Some(Overlay::Form(form)) = &state.overlay else { panic!() };
    assert_eq!(form.members, [id(1)], "only the refused write can be retracted");
    press(&mut state, "esc b");
    let Some(Overlay::Form(form)) = &state.overlay else { panic!() };
    assert!(form.effect.contains("” of acme/* stays"), "{}", form.effect);
}

#[test]
fn a_settled_card_says_how_and_where_the_claim_now_holds() {
    let mut view = replaced();
    view.summary.status = CardStatus::Settled;
    view.settled = Some(CardSettlement {
        stored_as: None,
        merged: false,
        act: "narrow".into(),
        who: "max".into(),
        agent: None,
        at: 1,
        reason: Some("blue is for staging".into()),
        op_id: Some(OpId([3; 16])),
    });
    view.sides[1].now[0].qualifiers = Qualifiers { env: Some("staging".into()), ..Qualifiers::default() };
    let mut state = cards();
    state.conflicts.card = Some(Card::new(view));
    let screen =
        crate::tui::sample::text(&crate::tui::sample::frame(&mut state, &crate::tui::theme::Theme::ansi(true)));
    assert!(screen.contains("narrowed"), "{screen}");
    assert!(screen.contains("staging"), "{screen}");
}

/// Returns the screen with this card.
fn screen_of(view: CardView) -> String {
    let mut state = cards();
    state.conflicts.card = Some(Card::new(view));
    crate::tui::sample::text(&crate::tui::sample::frame(&mut state, &crate::tui::theme::Theme::ansi(true)))
}

#[test]
fn a_card_says_which_of_its_claims_are_active() {
    let mut view = card(2);
    assert!(screen_of(view.clone()).contains("both are active · by max"));
    view.sides[1].claim.status = Status::Retracted;
    assert!(screen_of(view.clone()).contains("only the new claim is active · by max"));
    view.sides[0].claim.status = Status::Superseded;
    assert!(screen_of(view.clone()).contains("none of the claims is active · by max"));
    let mut third = view.sides[1].clone();
    third.claim.status = Status::Active;
    view.sides[0].claim.status = Status::Active;
    view.sides.push(third);
    assert!(screen_of(view).contains("2 of 3 are active · by max"));
}

#[test]
fn the_status_of_a_side_is_wrapped_and_not_cut_off() {
    let mut view = card(2);
    let flags = &mut view.sides[1].claim.flags;
    (flags.contested, flags.needs_review, flags.excepted) = (true, true, true);
    let screen = screen_of(view);
    assert!(screen.contains("needs review") && screen.contains("exception"), "{screen}");
}

#[test]
fn arabic_text_keeps_its_letters() {
    let text = "لا تستخدم الآلات الافتراضية لأن الأداء لا يكفي الآن ولا لاحقا ولا في الإصدارات الأخرى";
    let mut view = card(2);
    view.sides[0].claim.statement = text.into();
    let screen = screen_of(view);
    for word in text.split(' ') {
        assert!(screen.contains(word), "{word}: {screen}");
    }
}

#[test]
fn a_card_that_nobody_settled_says_why_it_no_longer_applies() {
    let mut view = card(2);
    view.summary.status = CardStatus::Settled;
    view.sides[1].claim.status = Status::Retracted;
    view.sides[1].claim.closing_reason = Some("never so".into());
    view.settled = Some(CardSettlement {
        act: "moot".into(),
        who: "max".into(),
        agent: None,
        at: 1,
        reason: None,
        op_id: None,
        stored_as: None,
        merged: false,
    });
    let screen = screen_of(view);
    assert!(screen.contains("No longer applies: “The canary deployment is always blue"), "{screen}");
    assert!(screen.contains("was retracted (never so)") && !screen.contains("Settled by"), "{screen}");
}

#[test]
fn why_lists_open_cards_only() {
    let cards = vec![summary(2, CardStatus::Settled), summary(3, CardStatus::Open), summary(4, CardStatus::Snoozed)];
    let chain = WhyChain::from(History { cards, ..history() });
    assert_eq!(chain.cards.iter().map(|card| card.id).collect::<Vec<_>>(), [card_id(3)]);
}

#[test]
fn what_is_said_of_an_id_is_short() {
    let mut state = cards();
    press(&mut state, "d n o");
    let out = press(&mut state, "enter");
    let (ticket, _) = written(&out).unwrap();
    let message = format!("claim {} is not on this card", id(7).to_hex());
    step(&mut state, Msg::Reply(ticket, Err(RequestFailure { message, ..failure(FailureKind::Refused) })));
    let Some(Overlay::Form(form)) = &state.overlay else { panic!() };
    let message = &form.error.as_ref().unwrap().1;
    assert!(message.contains(&id(7).short()) && !message.contains(&id(7).to_hex()), "{message}");
}

#[test]
fn a_card_settled_elsewhere_stays_and_says_by_whom() {
    let mut state = cards();
    press(&mut state, "d m i n e");
    let change = Change { event: "change".into(), act: "resolve".into(), cards: vec![card_id(1)], ..Change::default() };
    let out = step(&mut state, Msg::Live(Live::Change(Box::new(change))));
    for effect in out {
        let Effect::Read(ticket, read) = effect else { continue };
        let reply = match read {
            ReadRequest::Card(_) => {
                let mut view = card(1);
                view.summary.status = CardStatus::Settled;
                view.settled = Some(CardSettlement {
                    act: "retract".into(),
                    who: "max".into(),
                    agent: Some("claude-code".into()),
                    at: 1,
                    reason: Some("a typo".into()),
                    op_id: Some(OpId([3; 16])),
                    stored_as: None,
                    merged: false,
                });
                RequestAnswer::Card(Box::new(view))
            }
            ReadRequest::Conflicts(_) => RequestAnswer::Conflicts(crate::api::ConflictsPage {
                items: vec![summary(2, CardStatus::Open), summary(3, CardStatus::Open)],
                total: 2,
                next: None,
            }),
            other => answer(&other),
        };
        step(&mut state, Msg::Reply(ticket, Ok(reply)));
    }
    assert_eq!(state.conflicts.list.anchor(), Some(card_id(1)), "the cursor stays");
    assert_eq!(reason(&state), "mine", "the form stays open under the hands that type");
    let screen =
        crate::tui::sample::text(&crate::tui::sample::frame(&mut state, &crate::tui::theme::Theme::ansi(true)));
    assert!(screen.contains("Already settled by max via claude-code: one claim was retracted (a typo)."), "{screen}");
    assert!(!screen.contains("submit"), "{screen}");
    assert!(written(&press(&mut state, "x enter")).is_none());
    assert_eq!((reason(&state).as_str(), form_error(&state).contains("nothing was sent")), ("minex", true));
    press(&mut state, "esc");
    assert!(state.overlay.is_none() && state.drafts.values().any(|draft| draft.text(FieldId::Reason) == "minex"));
    press(&mut state, "j");
    assert_eq!(state.conflicts.list.known(), 2, "it goes when the cursor leaves it");
}

#[test]
fn a_card_shows_the_opponent_that_took_the_place_of_the_first_one() {
    let mut state = cards();
    let mut view = card(1);
    let mut next = view.sides[1].clone();
    (next.claim.id, next.claim.statement) = (id(102), "The canary deployment is never red".into());
    view.sides.push(next);
    state.conflicts.card = Some(Card::new(view.clone()));
    assert_eq!(state.conflicts.card.as_ref().unwrap().other, 1);
    // The compared claim is retracted while the card is open.
    view.sides[1].claim.status = Status::Retracted;
    view.summary.rev += 1;
    let ticket = state.ticket(Slot::Card);
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Card(Box::new(view)))));
    assert_eq!(state.conflicts.card.as_ref().unwrap().other, 2);
    let screen =
        crate::tui::sample::text(&crate::tui::sample::frame(&mut state, &crate::tui::theme::Theme::ansi(true)));
    assert!(screen.contains("is never red") && !screen.contains("more existing"), "{screen}");
    // A person may look at the inactive one; reading the card again does not take it away.
    press(&mut state, "v");
    assert_eq!(state.conflicts.card.as_ref().unwrap().other, 1);
    let again = state.conflicts.card.as_ref().unwrap().view.clone();
    let ticket = state.ticket(Slot::Card);
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Card(Box::new(again)))));
    assert_eq!(state.conflicts.card.as_ref().unwrap().other, 1);
}

#[test]
fn a_card_that_cannot_be_read_says_nothing_about_the_list() {
    let mut state = cards();
    let ticket = state.ticket(Slot::Card);
    step(&mut state, Msg::Reply(ticket, Err(failure(FailureKind::Refused))));
    assert_eq!((state.conflicts.error.is_some(), state.conflicts.card_error.is_some()), (false, true));
    let ticket = state.ticket(Slot::Conflicts);
    let page = crate::api::ConflictsPage { items: vec![summary(1, CardStatus::Open)], total: 1, next: None };
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Conflicts(page))));
    assert!(state.conflicts.card_error.is_some(), "the list does not clear it either");
}

#[test]
fn a_card_is_read_again_after_a_list_without_cards() {
    let mut state = cards();
    assert_eq!(state.requests.asked_card, Some(card_id(1).to_hex()));
    state.conflicts.filter = crate::tui::state::conflicts::CardListFilter::Settled;
    let mut out = Vec::new();
    for items in [vec![], vec![summary(1, CardStatus::Settled)]] {
        state.conflicts.list.restart();
        let asked = step(&mut state, Msg::Woken).into_iter().find_map(|effect| match effect {
            Effect::Read(ticket, ReadRequest::Conflicts(_)) => Some(ticket),
            _ => None,
        });
        let ticket = asked.unwrap();
        let page = crate::api::ConflictsPage { total: items.len(), items, next: None };
        out = step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Conflicts(page))));
    }
    assert!(state.conflicts.card.is_none());
    let asked =
        |effect: &Effect| matches!(effect, Effect::Read(_, ReadRequest::Card(id)) if *id == card_id(1).to_hex());
    assert!(out.iter().any(asked), "{out:?}");
}
