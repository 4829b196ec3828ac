//! The inbox: what needs attention, why, and how it leaves; and the lists that are narrowed by what was said, by source and by age.

use ergo::{
    api::{ClaimsQuery, Inbox, InboxItem, InboxKind, InboxQuery, LogQuery, NoticeItem, NoticeKind, RememberRequest},
    infer::FakeModels,
};

use super::{inference::trusting, *};

const EARLY: &str = "Reviews are asked for early, while the change is small";
const LATE: &str = "Reviews are asked for once the whole change is done";

fn inbox(bed: &Bed) -> Inbox {
    // What is kept of the notices is what the log says of them.
    assert_eq!(bed.engine.check_store().unwrap().problems, Vec::<String>::new());
    bed.engine.inbox(&InboxQuery::default()).unwrap()
}

/// The groups with their counts.
fn groups(bed: &Bed) -> Vec<(InboxKind, usize)> {
    inbox(bed).groups.iter().map(|group| (group.group, group.total)).collect()
}

fn notices(bed: &Bed) -> Vec<NoticeItem> {
    let items = inbox(bed).groups.into_iter().flat_map(|group| group.items);
    items
        .filter_map(|item| match item {
            InboxItem::Notice(notice) => Some(*notice),
            _ => None,
        })
        .collect()
}

/// A bed whose models doubt that these two fit, and no more than that.
fn doubtful() -> Bed {
    let models = FakeModels::new().embedding(|text| Ok(FakeModels::bag_of_words(text))).classifying(|a, b| {
        let opposed = a.contains("early") != b.contains("early");
        Ok([0.0, 0.0, if opposed { 1.5 } else { -5.0 }])
    });
    Bed::new().reopen_with_models(trusting(), Arc::new(models))
}

#[test]
fn a_warned_write_waits_in_the_inbox_until_somebody_looked_at_it() {
    let bed = doubtful();
    let early = bed.remember(EARLY, "cheap to change");
    assert_eq!(groups(&bed), []);
    let late = bed.remember(LATE, "one look is enough");
    assert_eq!(groups(&bed), [(InboxKind::Warned, 1)]);
    let notice = notices(&bed).remove(0);
    assert_eq!((notice.what, notice.claim.id, notice.against[0].id), (NoticeKind::Warned, late, early));
    assert!(notice.rule.is_some() && notice.score.is_some_and(|score| score > 0.0), "{notice:?}");
    assert!(notice.sentence.starts_with("These probably contradict"), "{}", notice.sentence);

    let seen = done(bed.engine.reviewed(on(late, "Both happen")).unwrap());
    assert_eq!(groups(&bed), []);
    bed.undo();
    assert_eq!(groups(&bed), [(InboxKind::Warned, 1)], "looking is an act, and can be taken back: {}", seen.op_id);
    // What becomes of the claim settles it, too.
    bed.retract(late, "no");
    assert_eq!(groups(&bed), []);
    let nothing = stale(bed.engine.reviewed(on(early, "fine")).unwrap());
    assert!(nothing.message.contains("no unread notice"), "{}", nothing.message);
}

#[test]
fn undoing_a_warned_write_takes_its_notice_along() {
    let bed = doubtful();
    bed.remember(EARLY, "cheap to change");
    bed.remember(LATE, "one look is enough");
    bed.undo();
    assert_eq!(groups(&bed), []);
    // And a notice about a later write is nothing that an earlier one could not be undone for.
    let bed = doubtful();
    let early = stored(bed.try_remember(EARLY, "cheap to change"));
    bed.remember(LATE, "one look is enough");
    let undo = UndoRequest { caller: caller(), target_op: Some(early.op_id) };
    bed.engine.undo(undo).unwrap();
}

#[test]
fn what_an_agent_does_by_itself_shows_and_what_a_person_does_not() {
    let bed = Bed::new();
    let claim = bed.remember("We never ship on Fridays", "nobody is there");
    let forced = RememberRequest {
        caller: agent(),
        force_exception: Some("a hot fix".into()),
        ..request("We always ship on Fridays", "it is tradition")
    };
    stored(bed.engine.remember(forced).unwrap());
    assert_eq!(notices(&bed).iter().map(|notice| notice.what).collect::<Vec<_>>(), [NoticeKind::Forced]);
    done(bed.engine.retract(ActRequest { caller: agent(), ..on(claim, "nobody ships then") }).unwrap());
    let kinds: Vec<_> = notices(&bed).iter().map(|notice| notice.what).collect();
    assert_eq!(kinds, [NoticeKind::Retracted, NoticeKind::Forced], "newest first");
    done(bed.engine.reviewed(on(claim, "it was right")).unwrap());
    assert_eq!(notices(&bed).len(), 1, "a notice of a claim that is out is seen like any other");

    let bed = Bed::new();
    let claim = bed.remember("We never ship on Fridays", "nobody is there");
    bed.retract(claim, "we do");
    assert_eq!(groups(&bed), [], "a person's own retract is no news");
}

#[test]
fn what_an_agent_settles_on_a_card_shows_as_what_it_writes_does() {
    for (act, what) in [(CardAct::Exception, NoticeKind::Forced), (CardAct::Dismiss, NoticeKind::Dismissed)] {
        // Of a refused write, and of two claims that stand beside each other since an undo.
        for refused in [true, false] {
            let bed = Bed::new();
            let blue = bed.remember("Deployments must use a blue canary", "safe");
            let red = "Deployments must use a red canary";
            let card = if refused {
                bed.refuse(red, "prettier")
            } else {
                let retract = bed.retract(blue, "never so");
                bed.remember(red, "prettier");
                bed.engine.undo(UndoRequest { caller: caller(), target_op: Some(retract.op_id) }).unwrap();
                bed.engine.conflicts(&ergo::api::ConflictsQuery::default()).unwrap().items[0].id
            };
            let by = |caller| ResolveRequest { caller, ..order(act, "both, for a week") };
            done(bed.resolve(card, by(agent())));
            let shown = notices(&bed);
            assert_eq!(shown.iter().map(|notice| notice.what).collect::<Vec<_>>(), [what], "{act:?} {refused}");
            assert_eq!((shown[0].agent.as_deref(), shown[0].against.len()), (Some("claude"), 1));
            assert!(shown[0].sentence.contains("“"), "one sentence says what disagrees: {}", shown[0].sentence);
            bed.engine.undo(UndoRequest { caller: agent(), target_op: None }).unwrap();
            assert_eq!(notices(&bed), [], "undo takes it along");
            done(bed.resolve(card, by(caller())));
            assert_eq!(notices(&bed), [], "what a person settles is no news");
        }
    }
    let bed = Bed::new();
    let never = bed.remember("We never ship on Fridays", "nobody is there");
    let card = bed.refuse("We always ship on Fridays", "it is tradition");
    let target = Some(never.to_hex());
    done(bed.resolve(card, ResolveRequest { caller: agent(), target, ..order(CardAct::Retract, "we do") }));
    assert_eq!(notices(&bed).iter().map(|notice| notice.what).collect::<Vec<_>>(), [NoticeKind::Retracted]);
}

#[test]
fn a_group_is_read_page_by_page() {
    let bed = Bed::new();
    let things = ["lamp", "badge", "banner", "icon", "label"];
    for thing in things {
        bed.remember(&format!("The {thing} is always blue"), "calm");
        bed.refuse(&format!("The {thing} is always red"), "alarm");
    }
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let query = InboxQuery { limit: Some(2), group: Some(InboxKind::Refused), cursor, ..InboxQuery::default() };
        let page = bed.engine.inbox(&query).unwrap().groups.remove(0);
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
    let whole = bed.engine.conflicts(&ergo::api::ConflictsQuery::default()).unwrap().items;
    assert_eq!(seen, whole.iter().map(|card| card.id).collect::<Vec<_>>());
    let nowhere = InboxQuery { cursor: Some("1.2.3".into()), ..InboxQuery::default() };
    assert_eq!(bed.engine.inbox(&nowhere).unwrap_err().field.as_deref(), Some("cursor"));

    let bed = doubtful();
    bed.remember(EARLY, "cheap to change");
    for late in [LATE, "Reviews are asked for at the end", "Reviews are asked for after the last commit"] {
        bed.remember(late, "one look is enough");
    }
    let page = |cursor| {
        let query = InboxQuery { limit: Some(2), group: Some(InboxKind::Warned), cursor, ..InboxQuery::default() };
        bed.engine.inbox(&query).unwrap().groups.remove(0)
    };
    let first = page(None);
    let second = page(first.next.clone());
    assert_eq!((first.total, first.items.len(), second.items.len(), second.next), (3, 2, 1, None));
    assert!(!first.items.contains(&second.items[0]));
}

#[test]
fn cards_and_reviews_are_counted_and_cut_to_what_was_asked_for() {
    let bed = Bed::new();
    let premise = bed.remember("We deploy on green CI", "red builds broke prod");
    let rests = RememberRequest {
        depends_on: vec![premise.to_hex()],
        ..request("Hotfixes need one review as well", "CI is not enough")
    };
    stored(bed.engine.remember(rests).unwrap());
    bed.refuse("We never deploy on green CI", "luck");
    stored(bed.supersede(premise, "We deploy on green CI and an approved review", "a green build was bad"));
    let found = inbox(&bed);
    assert_eq!(groups(&bed), [(InboxKind::Refused, 1), (InboxKind::NeedsReview, 1)]);
    assert_eq!(found.total, 2);
    let InboxItem::Review(review) = &found.groups[1].items[0] else { panic!("{found:?}") };
    assert_eq!(review.causes.len(), 1);
    assert_eq!(review.causes[0].reason.as_deref(), Some("a green build was bad"));
    let place = |project: &str| (Some("acme".to_owned()), Some(project.to_owned()));
    let (org_id, project) = place("web");
    let elsewhere = InboxQuery { org_id, project, limit: Some(1), ..InboxQuery::default() };
    assert_eq!(bed.engine.inbox(&elsewhere).unwrap(), Inbox::default());
}

#[test]
fn claims_are_narrowed_by_source_age_and_what_was_said_with_true_totals() {
    let bed = doubtful();
    let from = |statement: &str, source: &str| RememberRequest {
        source: Some(source.into()),
        ..request(statement, "because")
    };
    stored(bed.engine.remember(from("Backups are kept for thirty days", "docs/adr/0004-backups.md:12")).unwrap());
    stored(bed.engine.remember(from("Logs are kept for a week", "docs/adr/0005-logs.md:3")).unwrap());
    let middle = bed.clock.load(Ordering::SeqCst);
    stored(bed.engine.remember(from("The canary is blue", "CLAUDE.md:3")).unwrap());
    bed.remember(EARLY, "cheap to change");
    bed.remember(LATE, "one look is enough");
    let count = |query: ClaimsQuery| {
        let page = bed.engine.claims(&ClaimsQuery { limit: Some(1), ..query.clone() }).unwrap();
        let whole = bed.engine.claims(&query).unwrap();
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
    bed.refuse("The canary is red", "alerts");
    assert_eq!((count(with_verdict("disputed")), count(with_verdict("clean"))), (1, 3));
    for (query, field) in [(with_verdict("odd"), "verdict"), (source("?!"), "source")] {
        assert_eq!(bed.engine.claims(&query).unwrap_err().field.as_deref(), Some(field));
    }
}

#[test]
fn the_log_is_told_act_by_act_from_a_time_on() {
    let bed = doubtful();
    let first = bed.remember(EARLY, "cheap to change");
    let later = bed.clock.load(Ordering::SeqCst);
    bed.remember(LATE, "one look is enough");
    bed.retract(first, "no");
    let acts = |since| bed.engine.log(&LogQuery { since, acts: true, ..LogQuery::default() }).unwrap();
    let kinds: Vec<_> = acts(None).items.iter().map(|event| event.kind.clone()).collect();
    assert_eq!(kinds, ["retract", "assert", "assert"], "a notice is no act");
    assert_eq!(acts(None).items[0].about.as_deref(), Some(EARLY), "what was retracted is said");
    let recent = acts(Some(later));
    assert_eq!((recent.items.len(), recent.total), (2, 2));
}

#[test]
fn several_warnings_are_looked_at_by_one_act_and_come_back_by_one_undo() {
    let bed = doubtful();
    bed.remember(EARLY, "cheap to change");
    let late = bed.remember(LATE, "one look is enough");
    let more = bed.remember("Reviews of designs are asked for once the whole design is done", "one look is enough");
    assert_eq!(groups(&bed), [(InboxKind::Warned, 2)]);
    let both = || ergo::api::ActRequest { also: vec![more.to_hex(), late.to_hex()], ..on(late, "Both happen") };
    let wrong = bed.engine.retract(both()).unwrap_err();
    assert_eq!(wrong.field.as_deref(), Some("also"), "{wrong}");
    let seen = done(bed.engine.reviewed(both()).unwrap());
    assert!(
        seen.summary.contains("Reviews are asked for once") && seen.summary.contains("and “Reviews of designs"),
        "{}",
        seen.summary
    );
    assert_eq!(groups(&bed), []);
    bed.undo();
    assert_eq!(groups(&bed), [(InboxKind::Warned, 2)]);
}

#[test]
fn a_card_in_a_list_says_what_both_claims_say() {
    let bed = Bed::new();
    bed.remember("The canary is always blue", "Blue is calm");
    bed.try_remember("The canary is always red", "Red is seen");
    let inbox = inbox(&bed);
    let InboxItem::Card(card) = &inbox.groups[0].items[0] else { panic!("{inbox:?}") };
    let pair = card.pair.as_ref().unwrap();
    assert_eq!((pair.new.as_str(), pair.existing.as_str()), ("The canary is always red", "The canary is always blue"));
    assert!(card.op_id.is_some());
}
