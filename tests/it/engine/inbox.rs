//! The inbox: the items, their reasons, and how they leave; and the lists that are filtered by text, source and age.

use ergo::{
    api::{
        ClaimsQuery, ErrorCode, Inbox, InboxItem, InboxKind, InboxQuery, LogQuery, NoticeItem, NoticeKind,
        RememberRequest,
    },
    infer::FakeModels,
};

use super::{inference::trusting, *};

const EARLY: &str = "Reviews are asked for early, while the change is small";
const LATE: &str = "Reviews are asked for once the whole change is done";

fn inbox(fixture: &Fixture) -> Inbox {
    // The stored notices follow from the log.
    assert_eq!(fixture.engine.check_store().unwrap().problems, Vec::<String>::new());
    fixture.engine.inbox(&InboxQuery::default()).unwrap()
}

/// The groups with their counts.
fn groups(fixture: &Fixture) -> Vec<(InboxKind, usize)> {
    inbox(fixture).groups.iter().map(|group| (group.group, group.total)).collect()
}

fn notices(fixture: &Fixture) -> Vec<NoticeItem> {
    let items = inbox(fixture).groups.into_iter().flat_map(|group| group.items);
    items
        .filter_map(|item| match item {
            InboxItem::Notice(notice) => Some(*notice),
            _ => None,
        })
        .collect()
}

/// An engine whose models doubt that these two fit, and no more than that.
fn doubtful() -> Fixture {
    let models = FakeModels::new().embedding(|text| Ok(FakeModels::bag_of_words(text))).classifying(|a, b| {
        let opposed = a.contains("early") != b.contains("early");
        Ok([0.0, 0.0, if opposed { 1.5 } else { -5.0 }])
    });
    Fixture::new().reopen_with_models(trusting(), Arc::new(models))
}

#[test]
fn a_warned_write_waits_in_the_inbox_until_somebody_looked_at_it() {
    let fixture = doubtful();
    let early = fixture.remember(EARLY, "cheap to change");
    assert_eq!(groups(&fixture), []);
    let late = fixture.remember(LATE, "one look is enough");
    assert_eq!(groups(&fixture), [(InboxKind::Warned, 1)]);
    let notice = notices(&fixture).remove(0);
    assert_eq!((notice.what, notice.claim.id, notice.against[0].id), (NoticeKind::Warned, late, early));
    assert!(notice.rule.is_some() && notice.score.is_some_and(|score| score > 0.0), "{notice:?}");
    assert!(notice.sentence.starts_with("These probably contradict"), "{}", notice.sentence);

    let seen = done(fixture.engine.reviewed(on(late, "Both happen")).unwrap());
    assert_eq!(groups(&fixture), []);
    fixture.undo();
    assert_eq!(groups(&fixture), [(InboxKind::Warned, 1)], "looking is an act, and can be taken back: {}", seen.op_id);
    // A change of the claim settles the item, too.
    fixture.retract(late, "no");
    assert_eq!(groups(&fixture), []);
    let nothing = stale(fixture.engine.reviewed(on(early, "fine")).unwrap());
    assert!(nothing.message.contains("no unread notice"), "{}", nothing.message);
}

#[test]
fn undoing_a_warned_write_takes_its_notice_along() {
    let fixture = doubtful();
    fixture.remember(EARLY, "cheap to change");
    fixture.remember(LATE, "one look is enough");
    fixture.undo();
    assert_eq!(groups(&fixture), []);
    // And a notice about a later write is nothing that an earlier one could not be undone for.
    let fixture = doubtful();
    let early = stored(fixture.try_remember(EARLY, "cheap to change"));
    fixture.remember(LATE, "one look is enough");
    let undo = UndoRequest { caller: caller(), target_op: Some(early.op_id), ..UndoRequest::default() };
    fixture.engine.undo(undo).unwrap();
}

#[test]
fn what_an_agent_does_by_itself_shows_and_what_a_person_does_not() {
    let fixture = Fixture::new();
    let claim = fixture.remember("We never ship on Fridays", "nobody is there");
    let forced = RememberRequest {
        caller: agent(),
        force_exception: Some("a hot fix".into()),
        ..request("We always ship on Fridays", "it is tradition")
    };
    stored(fixture.engine.remember(forced).unwrap());
    assert_eq!(notices(&fixture).iter().map(|notice| notice.what).collect::<Vec<_>>(), [NoticeKind::Forced]);
    done(fixture.engine.retract(ActRequest { caller: agent(), ..on(claim, "nobody ships then") }).unwrap());
    let kinds: Vec<_> = notices(&fixture).iter().map(|notice| notice.what).collect();
    assert_eq!(kinds, [NoticeKind::Retracted, NoticeKind::Forced], "newest first");
    done(fixture.engine.reviewed(on(claim, "it was right")).unwrap());
    assert_eq!(notices(&fixture).len(), 1, "a notice of a claim that is out is seen like any other");

    let fixture = Fixture::new();
    let claim = fixture.remember("We never ship on Fridays", "nobody is there");
    fixture.retract(claim, "we do");
    assert_eq!(groups(&fixture), [], "a person's own retract is no news");
}

#[test]
fn an_agent_marks_no_notice_as_seen() {
    let fixture = Fixture::new();
    let claim = fixture.remember("We never ship on Fridays", "nobody is there");
    let by_agent = |reason| ActRequest { caller: agent(), ..on(claim, reason) };
    done(fixture.engine.retract(by_agent("nobody ships then")).unwrap());
    let error = fixture.engine.reviewed(by_agent("it was right")).unwrap_err();
    assert_eq!((error.code, notices(&fixture).len()), (ErrorCode::NeedsPerson, 1));
    assert!(error.hint.unwrap().contains("ask ada to run `ergo reviewed"));
    done(fixture.engine.reviewed(on(claim, "it was right")).unwrap());
    assert_eq!(notices(&fixture).len(), 0);
}

#[test]
fn an_agent_confirms_a_claim_that_needs_review_and_leaves_its_notice() {
    let fixture = Fixture::new();
    let base = fixture.remember("We never ship on Fridays", "nobody is there");
    let resting = RememberRequest { depends_on: vec![base.to_hex()], ..request("Mondays are for releases", "calm") };
    let resting = stored(fixture.engine.remember(resting).unwrap()).claim_id;
    fixture.retract(base, "we do");
    assert!(fixture.claim(resting).flags.needs_review);
    let forced = RememberRequest {
        caller: agent(),
        force_exception: Some("a hot fix".into()),
        exception_to: vec![resting.to_hex()],
        ..request("The hot fix went out on a Tuesday", "it burned")
    };
    let odd = stored(fixture.engine.remember(forced).unwrap()).claim_id;
    let both = ActRequest { caller: agent(), also: vec![odd.to_hex()], ..on(resting, "still calm") };
    done(fixture.engine.reviewed(both).unwrap());
    assert!(!fixture.claim(resting).flags.needs_review);
    assert_eq!(notices(&fixture).iter().map(|notice| notice.claim.id).collect::<Vec<_>>(), [odd]);
}

#[test]
fn what_an_agent_settles_on_a_card_shows_as_what_it_writes_does() {
    for (act, what) in [(CardAct::Exception, NoticeKind::Forced), (CardAct::Dismiss, NoticeKind::Dismissed)] {
        // Of a refused write, and of two claims that stand beside each other since an undo.
        for refused in [true, false] {
            let fixture = Fixture::new();
            let blue = fixture.remember("Deployments must use a blue canary", "safe");
            let red = "Deployments must use a red canary";
            let card = if refused {
                fixture.refuse(red, "prettier")
            } else {
                let retract = fixture.retract(blue, "never so");
                fixture.remember(red, "prettier");
                fixture
                    .engine
                    .undo(UndoRequest { caller: caller(), target_op: Some(retract.op_id), ..UndoRequest::default() })
                    .unwrap();
                fixture.engine.conflicts(&ergo::api::ConflictsQuery::default()).unwrap().items[0].id
            };
            let by = |caller| ResolveRequest { caller, ..order(act, "both, for a week") };
            done(fixture.resolve(card, by(agent())));
            let shown = notices(&fixture);
            assert_eq!(shown.iter().map(|notice| notice.what).collect::<Vec<_>>(), [what], "{act:?} {refused}");
            assert_eq!((shown[0].agent.as_deref(), shown[0].against.len()), (Some("claude"), 1));
            assert!(shown[0].sentence.contains("“"), "one sentence says what disagrees: {}", shown[0].sentence);
            fixture.engine.undo(UndoRequest { caller: agent(), ..UndoRequest::default() }).unwrap();
            assert_eq!(notices(&fixture), [], "undo takes it along");
            done(fixture.resolve(card, by(caller())));
            assert_eq!(notices(&fixture), [], "what a person settles is no news");
        }
    }
    let fixture = Fixture::new();
    let never = fixture.remember("We never ship on Fridays", "nobody is there");
    let card = fixture.refuse("We always ship on Fridays", "it is tradition");
    let target = Some(never.to_hex());
    done(fixture.resolve(card, ResolveRequest { caller: agent(), target, ..order(CardAct::Retract, "we do") }));
    assert_eq!(notices(&fixture).iter().map(|notice| notice.what).collect::<Vec<_>>(), [NoticeKind::Retracted]);
}

#[test]
fn a_group_is_read_page_by_page() {
    let fixture = Fixture::new();
    let things = ["lamp", "badge", "banner", "icon", "label"];
    for thing in things {
        fixture.remember(&format!("The {thing} is always blue"), "calm");
        fixture.refuse(&format!("The {thing} is always red"), "alarm");
    }
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let query = InboxQuery { limit: Some(2), group: Some(InboxKind::Refused), cursor, ..InboxQuery::default() };
        let page = fixture.engine.inbox(&query).unwrap().groups.remove(0);
        assert_eq!((page.group, page.total), (InboxKind::Refused, things.len()));
        for item in &page.items {
            let InboxItem::Card(card) = item else { panic!("{item:?}") };
            seen.push(card.id);
        }
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    let whole = fixture.engine.conflicts(&ergo::api::ConflictsQuery::default()).unwrap().items;
    assert_eq!(seen, whole.iter().map(|card| card.id).collect::<Vec<_>>());
    let nowhere = InboxQuery { cursor: Some("1.2.3".into()), ..InboxQuery::default() };
    assert_eq!(fixture.engine.inbox(&nowhere).unwrap_err().field.as_deref(), Some("cursor"));

    let fixture = doubtful();
    fixture.remember(EARLY, "cheap to change");
    for late in [LATE, "Reviews are asked for at the end", "Reviews are asked for after the last commit"] {
        fixture.remember(late, "one look is enough");
    }
    let page = |cursor| {
        let query = InboxQuery { limit: Some(2), group: Some(InboxKind::Warned), cursor, ..InboxQuery::default() };
        fixture.engine.inbox(&query).unwrap().groups.remove(0)
    };
    let first = page(None);
    let second = page(first.next.clone());
    assert_eq!((first.total, first.items.len(), second.items.len(), second.next), (3, 2, 1, None));
    assert!(!first.items.contains(&second.items[0]));
}

#[test]
fn cards_and_reviews_are_counted_and_cut_to_what_was_asked_for() {
    let fixture = Fixture::new();
    let premise = fixture.remember("We deploy on green CI", "red builds broke prod");
    let rests = RememberRequest {
        depends_on: vec![premise.to_hex()],
        ..request("Hotfixes need one review as well", "CI is not enough")
    };
    stored(fixture.engine.remember(rests).unwrap());
    fixture.refuse("We never deploy on green CI", "luck");
    stored(fixture.supersede(premise, "We deploy on green CI and an approved review", "a green build was bad"));
    let found = inbox(&fixture);
    assert_eq!(groups(&fixture), [(InboxKind::Refused, 1), (InboxKind::NeedsReview, 1)]);
    assert_eq!(found.total, 2);
    let InboxItem::Review(review) = &found.groups[1].items[0] else { panic!("{found:?}") };
    assert_eq!(review.causes.len(), 1);
    assert_eq!(review.causes[0].reason.as_deref(), Some("a green build was bad"));
    let place = |project: &str| (Some("acme".to_owned()), Some(project.to_owned()));
    let (org_id, project) = place("web");
    let elsewhere = InboxQuery { org_id, project, limit: Some(1), ..InboxQuery::default() };
    assert_eq!(fixture.engine.inbox(&elsewhere).unwrap(), Inbox::default());
}

#[test]
fn claims_are_narrowed_by_source_age_and_verdict_with_true_totals() {
    let fixture = doubtful();
    let from = |statement: &str, source: &str| RememberRequest {
        source: Some(source.into()),
        ..request(statement, "because")
    };
    stored(fixture.engine.remember(from("Backups are kept for thirty days", "docs/adr/0004-backups.md:12")).unwrap());
    stored(fixture.engine.remember(from("Logs are kept for a week", "docs/adr/0005-logs.md:3")).unwrap());
    let middle = fixture.clock.load(Ordering::SeqCst);
    stored(fixture.engine.remember(from("The canary is blue", "CLAUDE.md:3")).unwrap());
    fixture.remember(EARLY, "cheap to change");
    fixture.remember(LATE, "one look is enough");
    let count = |query: ClaimsQuery| {
        let page = fixture.engine.claims(&ClaimsQuery { limit: Some(1), ..query.clone() }).unwrap();
        let whole = fixture.engine.claims(&query).unwrap();
        assert_eq!((page.total, whole.items.len()), (whole.total, whole.total), "{query:?}");
        whole.total
    };
    let source = |text: &str| ClaimsQuery { source: Some(text.into()), ..ClaimsQuery::default() };
    assert_eq!((count(source("docs/adr")), count(source("docs/adr/0004")), count(source("adr docs"))), (2, 1, 0));
    assert_eq!(count(ClaimsQuery { q: Some("kept week".into()), ..source("docs/adr/0005") }), 1);
    assert_eq!(count(ClaimsQuery { since: Some(middle), ..ClaimsQuery::default() }), 3);
    assert_eq!(count(ClaimsQuery { until: Some(middle), ..ClaimsQuery::default() }), 2);
    assert_eq!(count(ClaimsQuery { since: Some(middle), q: Some("kept".into()), ..ClaimsQuery::default() }), 0);
    let with_verdict = |word: &str| ClaimsQuery { verdict: Some(word.into()), ..ClaimsQuery::default() };
    assert_eq!(
        (count(with_verdict("warned")), count(with_verdict("clean")), count(with_verdict("disputed"))),
        (1, 4, 0)
    );
    fixture.refuse("The canary is red", "alerts");
    assert_eq!((count(with_verdict("disputed")), count(with_verdict("clean"))), (1, 3));
    for (query, field) in [(with_verdict("odd"), "verdict"), (source("?!"), "source")] {
        assert_eq!(fixture.engine.claims(&query).unwrap_err().field.as_deref(), Some(field));
    }
}

#[test]
fn the_log_is_listed_act_by_act_from_a_time_on() {
    let fixture = doubtful();
    let first = fixture.remember(EARLY, "cheap to change");
    let later = fixture.clock.load(Ordering::SeqCst);
    fixture.remember(LATE, "one look is enough");
    fixture.retract(first, "no");
    let acts = |since| fixture.engine.log(&LogQuery { since, acts: true, ..LogQuery::default() }).unwrap();
    let kinds: Vec<_> = acts(None).items.iter().map(|event| event.kind.clone()).collect();
    assert_eq!(kinds, ["retract", "assert", "assert"], "a notice is no act");
    assert_eq!(acts(None).items[0].about.as_deref(), Some(EARLY), "what was retracted is said");
    let recent = acts(Some(later));
    assert_eq!((recent.items.len(), recent.total), (2, 2));
}

#[test]
fn several_warnings_are_looked_at_by_one_act_and_come_back_by_one_undo() {
    let fixture = doubtful();
    fixture.remember(EARLY, "cheap to change");
    let late = fixture.remember(LATE, "one look is enough");
    let more = fixture.remember("Reviews of designs are asked for once the whole design is done", "one look is enough");
    assert_eq!(groups(&fixture), [(InboxKind::Warned, 2)]);
    let both = || ergo::api::ActRequest { also: vec![more.to_hex(), late.to_hex()], ..on(late, "Both happen") };
    let wrong = fixture.engine.retract(both()).unwrap_err();
    assert_eq!(wrong.field.as_deref(), Some("also"), "{wrong}");
    let seen = done(fixture.engine.reviewed(both()).unwrap());
    assert!(
        seen.summary.contains("Reviews are asked for once") && seen.summary.contains("and “Reviews of designs"),
        "{}",
        seen.summary
    );
    assert_eq!(groups(&fixture), []);
    fixture.undo();
    assert_eq!(groups(&fixture), [(InboxKind::Warned, 2)]);
}

#[test]
fn a_card_in_a_list_says_what_both_claims_say() {
    let fixture = Fixture::new();
    fixture.remember("The canary is always blue", "Blue is calm");
    fixture.try_remember("The canary is always red", "Red is seen");
    let inbox = inbox(&fixture);
    let InboxItem::Card(card) = &inbox.groups[0].items[0] else { panic!("{inbox:?}") };
    let pair = card.pair.as_ref().unwrap();
    assert_eq!((pair.new.as_str(), pair.existing.as_str()), ("The canary is always red", "The canary is always blue"));
    assert!(card.op_id.is_some());
}
