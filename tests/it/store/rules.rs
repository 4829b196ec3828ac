//! The rules of claims, one after another, on a real file.

use ergo::{
    domain::{CardId, ClaimKind, EventKind, ResolveAct, Status, derive::CardKind, derive::local},
    store::{CardFilter, CardState, Lookup, Ref},
};

use super::support::{Fixture, body, claim, decision, fact, local_kind, on, scope, supersede, undo};

fn status(f: &Fixture, id: ergo::domain::ClaimId) -> Status {
    f.store.reader().claim(&id).unwrap().unwrap().status
}

fn open_cards(f: &Fixture) -> Vec<ergo::store::CardRow> {
    f.store.reader().cards(&CardFilter { now: f.now(), ..CardFilter::default() }, 50, None).unwrap().items
}

#[test]
fn an_undo_cancels_and_can_itself_be_undone() {
    let mut f = Fixture::new();
    let made = f.act(vec![decision("port", "80")]);
    let id = made.created[0];
    let drafts = undo(&f.store, &made.op);
    let undone = f.act(drafts);
    let row = f.store.reader().claim(&id).unwrap().unwrap();
    assert_eq!((row.status, row.flags.undone), (Status::Retracted, true));
    let drafts = undo(&f.store, &undone.op);
    f.act(drafts);
    assert_eq!(status(&f, id), Status::Active);
}

#[test]
fn what_replaced_a_claim_and_was_retracted_leaves_it_replaced_until_it_is_reinstated() {
    let mut f = Fixture::new();
    let a = f.add(decision("port", "80"));
    let b = f.add(supersede(&[a], decision("port", "81")));
    f.act(vec![on(EventKind::Retract, &[b], "never true")]);
    let row = f.store.reader().claim(&a).unwrap().unwrap();
    assert_eq!((row.status, row.replaced_by.as_slice()), (Status::Superseded, &[b][..]));
    assert!(f.store.reader().heads(&a).unwrap().is_empty());
    let mut back = on(EventKind::Reinstate, &[a], "it held all along");
    back.seen = row.live_acts;
    f.act(vec![back]);
    assert_eq!(status(&f, a), Status::Active);
}

#[test]
fn a_claim_says_what_it_replaced_and_why_it_was_closed() {
    let mut f = Fixture::new();
    let a = f.add(decision("port", "80"));
    let b = f.add(supersede(&[a], decision("port", "81")));
    let (old, new) = (f.store.reader().claim(&a).unwrap().unwrap(), f.store.reader().claim(&b).unwrap().unwrap());
    assert_eq!((old.closing_reason.as_deref(), new.closing_reason), (Some("since port was measured"), None));
    assert_eq!(new.replaces, [a]);
    assert_eq!(f.store.reader().heads(&a).unwrap()[0].id, b);
    assert!(f.store.reader().events_of(&a).unwrap().len() == 2);
}

#[test]
fn two_facts_under_one_key_are_contested_and_undoing_the_later_brings_the_earlier_back() {
    let mut f = Fixture::new();
    let first = f.add(fact("db.port", "5432", []));
    let second = f.act(vec![fact("db.port", "5433", [first])]);
    assert_eq!(status(&f, first), Status::Superseded);
    let apart = f.add(fact("db.port", "5434", []));
    let cards = open_cards(&f);
    assert_eq!((cards.len(), cards[0].kind), (1, CardKind::Contested));
    assert_eq!(cards[0].members, [apart, second.created[0]]);
    assert!(f.store.reader().claim(&apart).unwrap().unwrap().flags.contested);
    f.act(vec![on(EventKind::Retract, &[apart], "a typo")]);
    assert!(open_cards(&f).is_empty());
    let drafts = undo(&f.store, &second.op);
    f.act(drafts);
    assert_eq!(status(&f, first), Status::Active);
    let key = ergo::domain::event::key_hash("db.port");
    let heads = f.store.reader().fact_heads(&scope("api"), &key).unwrap();
    assert_eq!(heads.iter().map(|row| row.id).collect::<Vec<_>>(), [first]);
}

#[test]
fn a_claim_replaced_twice_is_contested_until_one_replaces_both() {
    let mut f = Fixture::new();
    let a = f.add(decision("port", "80"));
    let b = f.add(supersede(&[a], decision("port", "81")));
    let c = f.add(supersede(&[a], decision("cache", "on")));
    let card = open_cards(&f).remove(0);
    assert_eq!((card.kind, card.members), (CardKind::Contested, vec![c, b]));
    assert!(f.store.reader().claim(&a).unwrap().unwrap().flags.contested);
    f.add(supersede(&[b, c], decision("port", "82")));
    assert!(open_cards(&f).is_empty());
    assert!(!f.store.reader().claim(&a).unwrap().unwrap().flags.contested);
    let shown = f.store.reader().card(&card.id).unwrap().unwrap();
    assert!(!shown.open && shown.moot, "whoever still looks at the card is told");
}

/// One claim takes the place of another.
fn replace(old: ergo::domain::ClaimId, new: ergo::domain::ClaimId) -> ergo::store::EventDraft {
    let mut draft = on(EventKind::Supersede, &[old], "the other holds");
    draft.successor = Some(Ref::Id(new));
    draft
}

#[test]
fn two_claims_that_replaced_each_other_are_contested_until_one_is_active_again() {
    let mut f = Fixture::new();
    let (a, b) = (f.add(decision("port", "80")), f.add(decision("port", "81")));
    let card = open_cards(&f).remove(0).id;
    f.act(vec![replace(a, b)]);
    assert!(open_cards(&f).is_empty());
    f.act(vec![replace(b, a)]);
    let again = open_cards(&f).remove(0);
    assert_eq!((again.id, again.kind, again.moot), (card, CardKind::Contested, false));
    let row = f.store.reader().claim(&a).unwrap().unwrap();
    assert_eq!((row.status, row.flags.contested), (Status::Superseded, true));
    let mut back = on(EventKind::Reinstate, &[a], "it was the right one");
    back.seen = row.live_acts;
    let kept = f.act(vec![back]);
    assert!(open_cards(&f).is_empty());
    assert_eq!((status(&f, a), status(&f, b)), (Status::Active, Status::Superseded));
    assert!(!f.store.reader().claim(&b).unwrap().unwrap().flags.contested);
    let drafts = undo(&f.store, &kept.op);
    f.act(drafts);
    assert_eq!(open_cards(&f)[0].id, card);
    f.act(vec![on(EventKind::Resolve(ResolveAct::Dismiss), &[a, b], "neither holds")]);
    assert!(open_cards(&f).is_empty());
    assert!(!f.store.reader().claim(&a).unwrap().unwrap().flags.contested);
}

#[test]
fn two_facts_of_one_key_that_replaced_each_other_are_contested() {
    let mut f = Fixture::new();
    let (a, b) = (f.add(fact("db.port", "5432", [])), f.add(fact("db.port", "5433", [])));
    let card = open_cards(&f).remove(0).id;
    f.act(vec![replace(a, b)]);
    assert!(open_cards(&f).is_empty());
    f.act(vec![replace(b, a)]);
    assert_eq!(open_cards(&f).iter().map(|again| again.id).collect::<Vec<_>>(), [card]);
    f.store.rebuild().unwrap();
    assert_eq!(open_cards(&f).len(), 1);
    // A third claim in the place of one of them leaves no question open.
    f.add(supersede(&[b], fact("db.port", "5434", [])));
    assert!(open_cards(&f).is_empty());
}

#[test]
fn a_broken_premise_asks_for_review_of_all_that_rests_on_it_until_someone_looked() {
    let mut f = Fixture::new();
    let [a, b, c] = [("db", "postgres"), ("driver", "libpq"), ("image", "slim")].map(|(s, v)| f.add(decision(s, v)));
    f.act(vec![on(EventKind::Depend, &[b, a], ""), on(EventKind::Depend, &[c, b], "")]);
    let gone = f.act(vec![on(EventKind::Retract, &[a], "never decided")]);
    assert_eq!(gone.needs_review.len(), 2);
    let row = f.store.reader().claim(&c).unwrap().unwrap();
    assert!(row.flags.needs_review);
    assert_eq!(row.causes, [gone.events[0]]);
    assert_eq!(f.store.reader().scopes(0).unwrap()[0].needs_review, 2);
    let mut looked = on(EventKind::Resolve(ResolveAct::Reviewed), &[b], "still true");
    looked.seen = row.causes;
    f.act(vec![looked]);
    assert!(!f.store.reader().claim(&c).unwrap().unwrap().flags.needs_review, "quiet behind it too");
    assert_eq!(f.store.reader().claim(&a).unwrap().unwrap().dependents, 1);
}

#[test]
fn contradicting_claims_get_one_card_everywhere_and_an_exception_settles_it() {
    let mut f = Fixture::new();
    let a = f.add(decision("port", "80"));
    let b = f.add(decision("port", "81"));
    let card = open_cards(&f).remove(0);
    assert_eq!((card.id, card.kind), (CardId::of_members(&[a, b]), CardKind::Contradiction));
    assert_eq!((card.members.as_slice(), card.report.findings[0].claim), (&[b, a][..], a));
    let done = f.act(vec![on(EventKind::Resolve(ResolveAct::Exception), &[a, b], "both until June")]);
    assert_eq!(done.cards, [card.id]);
    assert!(open_cards(&f).is_empty());
    let row = f.store.reader().claim(&a).unwrap().unwrap();
    assert_eq!((row.flags.excepted, row.closing_reason), (true, None), "what is in force was not closed");
    let events = f.store.reader().let_stand(&a, None, 10).unwrap();
    assert_eq!(events[0].body.as_ref().unwrap().reason.as_deref(), Some("both until June"));
    let settled = f.store.reader().card(&card.id).unwrap().unwrap().settled.unwrap();
    assert_eq!((settled.act.as_str(), settled.reason.as_deref()), ("exception", Some("both until June")));
    let drafts = undo(&f.store, &done.op);
    f.act(drafts);
    assert_eq!(open_cards(&f)[0].id, card.id, "an undone settlement opens the card again");
}

#[test]
fn a_narrowed_claim_is_not_opposed_again_to_what_it_was_narrowed_against() {
    let mut f = Fixture::new();
    let a = f.add(decision("port", "80"));
    let b = f.add(decision("port", "81"));
    f.act(vec![
        supersede(&[b], decision("port", "82")),
        on(EventKind::Resolve(ResolveAct::Narrow), &[a, b], "only in staging"),
    ]);
    assert!(open_cards(&f).is_empty());
}

fn refused(subject: &str, opposed: &[ergo::domain::ClaimId]) -> ergo::store::EventDraft {
    let mut draft = on(local_kind(local::REFUSED), opposed, "");
    draft.claim_kind = Some(ClaimKind::Decision);
    draft.body = body(subject, "81", true);
    draft.body.data = Some(r#"{"tier":"block","findings":[],"compared":3}"#.into());
    draft
}

#[test]
fn a_refused_new_claim_waits_on_one_card_however_often_it_is_tried() {
    let mut f = Fixture::new();
    let a = f.add(decision("port", "80"));
    let b = f.add(decision("host", "ada"));
    let new_claim = f.act(vec![refused("port", &[a])]).events[0];
    let known = f.store.reader().refused_card(&scope("api"), ClaimKind::Decision, " port  must be 81 ").unwrap();
    assert_eq!(known.unwrap().new_claim, Some(new_claim));
    let mut again = refused("port", &[b]);
    again.seen = vec![new_claim];
    f.act(vec![again]);
    let cards = open_cards(&f);
    assert_eq!(cards.len(), 1);
    assert_eq!((cards[0].id, cards[0].members.as_slice()), (CardId::of_members(&[new_claim]), &[new_claim, a, b][..]));
    assert_eq!(cards[0].report.compared, 3);
    assert_eq!(f.store.reader().new_claim(&new_claim).unwrap().unwrap().statement, "port must be 81");
    assert_eq!(f.store.reader().find_card(&new_claim.short()).unwrap(), Lookup::One(cards[0].id));
    assert!(f.store.reader().claim(&new_claim).unwrap().is_none(), "it is no claim");
    // The opposing claim goes: the card stays, and says that nothing stands in the way.
    f.act(vec![on(EventKind::Retract, &[a], "x"), on(EventKind::Retract, &[b], "x")]);
    assert!(open_cards(&f)[0].moot);
}

#[test]
fn a_new_claim_that_is_stored_settles_its_card_and_an_undo_opens_it_again() {
    let mut f = Fixture::new();
    let a = f.add(decision("port", "80"));
    let new_claim = f.act(vec![refused("port", &[a])]).events[0];
    let mut resolve = on(EventKind::Resolve(ResolveAct::Dismiss), &[a], "another port");
    resolve.targets.push(Ref::Draft(0));
    let mut settled = on(local_kind(local::SETTLED), &[new_claim], "another port");
    settled.successor = Some(Ref::Draft(0));
    settled.body.data = Some(r#"{"act":"dismiss"}"#.into());
    let done = f.act(vec![decision("port", "81"), resolve, settled]);
    assert!(open_cards(&f).is_empty());
    let filter = CardFilter { status: CardState::Settled, ..CardFilter::default() };
    let cards = f.store.reader().cards(&filter, 50, None).unwrap().items;
    assert_eq!(cards.len(), 1, "the new claim's card shows it, and no second one");
    assert_eq!(cards[0].settled.as_ref().unwrap().act, "dismiss");
    assert!(f.store.reader().is_settled_pair(&a, &done.created[0]).unwrap());
    let drafts = undo(&f.store, &done.op);
    f.act(drafts);
    assert_eq!(open_cards(&f).len(), 1);
}

#[test]
fn a_snoozed_card_is_put_off_and_comes_back_by_itself() {
    let mut f = Fixture::new();
    let a = f.add(decision("port", "80"));
    let new_claim = f.act(vec![refused("port", &[a])]).events[0];
    let mut snooze = on(local_kind(local::SNOOZE), &[new_claim], "");
    let until = f.now() + 60_000;
    snooze.body.data = Some(format!(r#"{{"until":{until}}}"#));
    f.act(vec![snooze]);
    assert!(open_cards(&f).is_empty());
    let at = |now, status| {
        f.store.reader().cards(&CardFilter { now, status, ..CardFilter::default() }, 9, None).unwrap().total
    };
    assert_eq!((at(until - 1, CardState::Snoozed), at(until - 1, CardState::Open)), (1, 0));
    assert_eq!((at(until, CardState::Snoozed), at(until, CardState::Open)), (0, 1));
}

#[test]
fn a_finding_closes_when_fewer_than_two_are_active_or_when_it_is_settled() {
    let mut f = Fixture::new();
    let (a, b) = (f.add(decision("port", "80")), f.add(decision("host", "ada")));
    f.act(vec![on(local_kind(local::FOUND), &[a, b], "")]);
    assert_eq!(open_cards(&f)[0].kind, CardKind::Found);
    let settled = f.act(vec![on(local_kind(local::SETTLED), &[a, b], "fine")]);
    assert!(open_cards(&f).is_empty());
    let drafts = undo(&f.store, &settled.op);
    f.act(drafts);
    assert_eq!(open_cards(&f).len(), 1);
    f.act(vec![on(EventKind::Retract, &[a], "x")]);
    assert!(open_cards(&f).is_empty());
}

#[test]
fn what_builds_on_an_act_is_named_and_undo_and_refusals_do_not_count() {
    let mut f = Fixture::new();
    let made = f.act(vec![decision("port", "80")]);
    let a = made.created[0];
    f.act(vec![refused("port", &[a])]);
    assert!(f.store.reader().built_on(&made.op).unwrap().is_empty());
    let after = f.act(vec![supersede(&[a], decision("port", "81"))]);
    let built = f.store.reader().built_on(&made.op).unwrap();
    assert_eq!(built.iter().map(|event| event.op).collect::<Vec<_>>(), [after.op]);
    assert_eq!(f.store.reader().last_op(&f.store.device(), "ada", None, None).unwrap(), Some(after.op));
    let drafts = undo(&f.store, &after.op);
    f.act(drafts);
    assert!(f.store.reader().built_on(&made.op).unwrap().is_empty());
    assert_eq!(f.store.reader().last_op(&f.store.device(), "ada", None, Some(&scope("api"))).unwrap(), Some(made.op));
    assert_eq!(f.store.reader().last_op(&f.store.device(), "ada", Some("codex"), None).unwrap(), None);
}

#[test]
fn prefixes_name_what_they_fit() {
    let mut f = Fixture::new();
    let a = f.add(decision("port", "80"));
    assert_eq!(f.store.reader().find_claim(&a.short().to_uppercase()).unwrap(), Lookup::One(a));
    assert_eq!(f.store.reader().find_claim(&a.to_hex()).unwrap(), Lookup::One(a));
    assert_eq!(f.store.reader().find_claim("abc").unwrap(), Lookup::None);
    assert_eq!(f.store.reader().find_claim("port").unwrap(), Lookup::None);
}

#[test]
fn an_identical_active_claim_is_found_and_a_replaced_one_is_not() {
    let mut f = Fixture::new();
    let a = f.add(claim(ClaimKind::Decision, body("port", "80", true)));
    let find = |f: &Fixture, kind| {
        f.store.reader().duplicate(
            &scope("api"),
            kind,
            "port must  be 80\n",
            &ergo::domain::Qualifiers::default(),
            None,
        )
    };
    assert_eq!(find(&f, ClaimKind::Decision).unwrap(), Some(a));
    assert_eq!(find(&f, ClaimKind::Convention).unwrap(), None);
    f.act(vec![on(EventKind::Retract, &[a], "x")]);
    assert_eq!(find(&f, ClaimKind::Decision).unwrap(), None);
}

#[test]
fn an_act_is_answered_once_and_repeated_never() {
    let mut f = Fixture::new();
    let act = ergo::store::Act {
        scope: scope("api"),
        identity: None,
        who: "ada".into(),
        agent: Some("codex".into()),
        op: ergo::domain::OpId([9; 16]),
        now: 5,
        drafts: vec![decision("port", "80")],
    };
    let first = f.store.commit(act.clone()).unwrap();
    let second = f.store.commit(act).unwrap();
    assert!(second.replayed && !first.replayed);
    assert_eq!((second.created, second.events), (first.created, first.events));
    assert_eq!(f.store.reader().counts(0).unwrap().events, 1);
}

#[test]
fn claims_of_the_past_are_as_they_were() {
    let mut f = Fixture::new();
    let a = f.add(decision("port", "80"));
    let before = f.now();
    let b = f.add(supersede(&[a], decision("port", "81")));
    let past = f.store.reader().past(Some(&scope("api")), before).unwrap();
    let then = past.claim(&a).unwrap().unwrap();
    assert_eq!((then.status, then.replaced_by, then.closing_reason), (Status::Active, vec![], None));
    assert!(past.claim(&b).unwrap().is_none());
    let filter =
        ergo::store::ClaimFilter { scope: Some(scope("api")), status: Some(Status::Active), ..Default::default() };
    let page = past.claims(&filter, 10, None).unwrap();
    assert_eq!((page.total, page.items[0].id, page.next), (1, a, None));
}
