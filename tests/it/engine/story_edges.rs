//! The story of a scope in edge cases: days, the past, levels and damage.

use ergo::{
    api::{CardKind, ErrorCode, StoryQuery},
    domain::{Confusion, Qualifiers, Status},
    engine::check_stories,
    guard::{Guard, StructuralPairCheck},
    store::Store,
};

use super::{
    stories::{DAY, drain, only_card, open_cards, query, reversal, tell},
    *,
};

/// Two limits of one thing, in words that are no facts under one key.
const THREE: &str = "The nightly import of billing retries 3 times.";
const SEVEN: &str = "When the server is down, the import of billing retries 7 times.";

/// Writes a claim for some days, by a writer of its own.
fn tell_for(fixture: &Fixture, who: &str, statement: &str, from: Option<&str>, until: Option<&str>) -> ClaimId {
    let mut request = request(statement, "it was decided so");
    who.clone_into(&mut request.caller.who);
    let day = |day: Option<&str>| day.map(str::to_owned);
    request.qualifiers = Qualifiers { valid_from: day(from), valid_until: day(until), ..Qualifiers::default() };
    stored(fixture.engine.remember(request).unwrap()).claim_id
}

#[test]
fn a_claim_takes_part_in_the_story_from_its_first_day_on_and_stays_where_it_was_written() {
    let fixture = Fixture::new();
    let old = tell(&fixture, 0, "ada", ClaimKind::Fact, THREE);
    fixture.clock.fetch_add(2 * DAY, Ordering::Relaxed);
    let mut request = fact(SEVEN);
    "bob".clone_into(&mut request.caller.who);
    request.qualifiers.valid_from = Some("2026-03-20".into());
    let new = stored(fixture.engine.remember(request).unwrap()).claim_id;
    let later = tell(&fixture, 2, "cleo", ClaimKind::Fact, "Reports are printed in colour.");
    let order = || fixture.engine.story(&query()).unwrap().claims.iter().map(|claim| claim.id).collect::<Vec<_>>();
    drain(&fixture);
    assert_eq!((open_cards(&fixture).len(), order()), (0, vec![old, new, later]));
    fixture.clock.store(NOON + 18 * DAY, Ordering::Relaxed);
    drain(&fixture);
    assert_eq!(open_cards(&fixture).len(), 0, "the day before");
    fixture.clock.store(NOON + 19 * DAY, Ordering::Relaxed);
    drain(&fixture);
    let card = only_card(&fixture);
    assert_eq!(card.story.unwrap().claims, [old, new]);
    assert_eq!(order(), [old, new, later]);
}

#[test]
fn an_undone_claim_is_in_no_story() {
    let fixture = Fixture::new();
    let kept = tell(&fixture, 0, "ada", ClaimKind::Fact, THREE);
    tell(&fixture, 1, "ada", ClaimKind::Fact, "Reports are printed in colour.");
    fixture.undo();
    let story = fixture.engine.story(&query()).unwrap();
    assert_eq!((story.claims.iter().map(|claim| claim.id).collect::<Vec<_>>(), story.read), (vec![kept], 1));
}

#[test]
fn what_had_run_out_when_it_was_written_down_is_history() {
    let fixture = Fixture::new();
    tell_for(&fixture, "ada", "The old endpoint is served for the partner.", Some("2025-02-01"), Some("2025-12-31"));
    drain(&fixture);
    assert!(open_cards(&fixture).is_empty(), "{:#?}", open_cards(&fixture));
    tell_for(&fixture, "bob", "The test account of the partner is open.", Some("2025-02-01"), Some("2026-03-02"));
    fixture.clock.fetch_add(3 * DAY, Ordering::Relaxed);
    drain(&fixture);
    assert_eq!(only_card(&fixture).story.unwrap().confusion, Confusion::Stale);
}

#[test]
fn a_question_closes_once_one_of_its_claims_has_run_out() {
    let fixture = Fixture::new();
    let mut first = fact(THREE);
    first.qualifiers.valid_until = Some("2026-03-20".into());
    stored(fixture.engine.remember(first).unwrap());
    tell(&fixture, 8, "bob", ClaimKind::Fact, SEVEN);
    drain(&fixture);
    let card = only_card(&fixture);
    assert_eq!(card.story.as_ref().unwrap().confusion, Confusion::Ambiguity);
    fixture.clock.store(NOON + 25 * DAY, Ordering::Relaxed);
    drain(&fixture);
    let left: Vec<Confusion> = open_cards(&fixture).into_iter().map(|card| card.story.unwrap().confusion).collect();
    assert_eq!(left, [Confusion::Stale], "the one that ran out is asked about, and no longer both");
}

/// A chain of three claims, each of which superseded the one before, and the card that asks about it.
fn chain(as_facts: bool) -> (Fixture, [ClaimId; 3]) {
    let fixture = Fixture::new();
    let mut ids: Vec<ClaimId> = Vec::new();
    for (statement, days) in [("We use REST.", 0), ("We use GraphQL.", 31), ("The API is REST-based.", 59)] {
        fixture.clock.fetch_add(days * DAY, Ordering::Relaxed);
        ids.push(match ids.last() {
            _ if as_facts => {
                let request = RememberRequest { key: Some("api".into()), ..fact(statement) };
                stored(fixture.engine.remember(request).unwrap()).claim_id
            }
            Some(last) => stored(fixture.supersede(*last, statement, "it is simpler so")).claim_id,
            None => fixture.remember(statement, "it is simpler so"),
        });
    }
    drain(&fixture);
    (fixture, ids.try_into().unwrap())
}

#[rstest::rstest]
#[case(false)]
#[case(true)]
fn no_to_a_reversal_brings_back_what_the_repeated_claim_had_superseded(#[case] as_facts: bool) {
    let (fixture, [rest, graph, again]) = chain(as_facts);
    let card = only_card(&fixture);
    assert_eq!(card.story.as_ref().unwrap().claims, [rest, graph, again]);
    let no = card.story.unwrap().no;
    assert_eq!(no, "Retracts “The API is REST-based.” and reinstates “We use GraphQL.”");
    assert_eq!(done(fixture.resolve(card.id, order(CardAct::No, "the trial is over"))).summary, no);
    drain(&fixture);
    let statuses = || [rest, graph, again].map(|id| fixture.claim(id).status);
    assert_eq!(statuses(), [Status::Superseded, Status::Active, Status::Retracted]);
    assert!(open_cards(&fixture).is_empty());
    fixture.undo();
    drain(&fixture);
    assert_eq!(statuses(), [Status::Superseded, Status::Superseded, Status::Active]);
    assert_eq!(only_card(&fixture).id, card.id);
}

#[test]
fn no_to_a_reversal_brings_nothing_back_past_the_guard() {
    let (fixture, [.., graph, again]) = chain(false);
    let card = only_card(&fixture);
    let forbidden = RememberRequest {
        force_exception: Some("it is for new services".into()),
        ..request("We must not use GraphQL.", "it is slow")
    };
    stored(fixture.engine.remember(forbidden).unwrap());
    let answer = refused(fixture.resolve(card.id, order(CardAct::No, "the trial is over")));
    assert_eq!(answer.card_id, Some(card.id));
    assert_eq!((fixture.claim(graph).status, fixture.claim(again).status), (Status::Superseded, Status::Active));
}

#[test]
fn a_card_whose_claims_but_one_gave_way_offers_no_exception_and_says_which_side_is_inactive() {
    let (fixture, [rest, ..]) = chain(false);
    let card = fixture.card(only_card(&fixture).id);
    let allowed: Vec<CardAct> =
        card.acts.iter().filter(|option| option.disabled.is_none()).map(|option| option.act).collect();
    assert_eq!(
        allowed,
        [CardAct::Retract, CardAct::Narrow, CardAct::Dismiss, CardAct::Snooze, CardAct::Yes, CardAct::No]
    );
    let retract = ResolveRequest { target: Some(rest.to_hex()), ..order(CardAct::Retract, "it was never so") };
    let error = fixture.engine.resolve(&card.summary.id.to_hex(), retract).unwrap_err();
    assert_eq!(error.message, format!("claim {} is on this card, but no longer active", rest.short()));
}

#[test]
fn a_card_of_a_story_has_no_past_and_says_so() {
    let (fixture, [rest, ..], card) = reversal();
    let error = fixture.engine.card_at(&card.id.to_hex(), Some(NOON + DAY)).unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
    assert!(error.message.contains("cannot be shown as of an earlier time"), "{}", error.message);
    // The claims have one.
    assert_eq!(fixture.engine.claim_at(&rest.to_hex(), Some(NOON + DAY)).unwrap().id, rest);
    let query = ConflictsQuery { as_of: Some(NOON + DAY), ..ConflictsQuery::default() };
    assert_eq!(fixture.engine.conflicts(&query).unwrap().total, 0);
}

#[test]
fn a_project_and_its_organisation_have_stories_of_their_own() {
    let fixture = Fixture::new();
    let at = |project: &str, days: u64, who: &str, statement: &str| {
        fixture.clock.fetch_add(days * DAY, Ordering::Relaxed);
        let mut request = fact(statement);
        request.caller = Caller { project: project.into(), who: who.into(), ..caller() };
        stored(fixture.engine.remember(request).unwrap()).claim_id
    };
    let level = at("*", 0, "ada", THREE);
    let project = at("api", 8, "bob", "On a bad line the import of billing retries 9 times.");
    drain(&fixture);
    assert!(open_cards(&fixture).is_empty());
    let story = |project: &str| {
        let query = StoryQuery { org_id: "acme".into(), project: project.into(), ..StoryQuery::default() };
        fixture.engine.story(&query).unwrap()
    };
    let ids = |project: &str| story(project).claims.iter().map(|claim| claim.id).collect::<Vec<_>>();
    assert_eq!((ids("*"), ids("api")), (vec![level], vec![project]));
    let again = at("*", 8, "cleo", SEVEN);
    drain(&fixture);
    let card = only_card(&fixture);
    assert_eq!((card.kind, card.story.unwrap().claims), (CardKind::Story, vec![level, again]));
    assert_eq!((story("*").marks.len(), story("api").marks.len()), (1, 0));
}

#[test]
fn the_doctor_counts_claims_that_became_due() {
    let (fixture, _, _) = reversal();
    drain(&fixture);
    let Fixture { dir, engine, .. } = fixture;
    drop(engine);
    let path = dir.path().join("store.db");
    let due = "INSERT OR REPLACE INTO story_due (claim, day) SELECT n, '2000-01-01' FROM claims LIMIT ";
    for (claims, said) in [("1", "1 claim of a story waits to be read"), ("2", "2 claims of stories wait to be read")] {
        rusqlite::Connection::open(&path).unwrap().execute(&format!("{due}{claims}"), []).unwrap();
        let store = Store::open(&path, SigningKey::from_bytes(&[7; 32]), Arc::new(StructuralPairCheck)).unwrap();
        let mut report = store.check().unwrap();
        check_stories(store.reader(), &Guard::default(), NOON, &mut report).unwrap();
        assert!(report.notes.iter().any(|note| note.starts_with(said)), "{:?}", report.notes);
    }
}

#[test]
fn the_doctor_finds_story_cards_that_do_not_follow_from_the_claims_and_a_rebuild_mends_them() {
    for damage in [
        "DELETE FROM card_sources WHERE card IN (SELECT card FROM story_marks)",
        "DELETE FROM story_marks",
        "UPDATE story_marks SET rule = rule + 1",
        "UPDATE story_marks SET member = (SELECT max(n) FROM claims) WHERE ord = 0",
        "INSERT INTO card_sources (card, kind, src, open) SELECT zeroblob(32), kind, src, open FROM card_sources LIMIT 1",
    ] {
        let (fixture, _, card) = reversal();
        tell(&fixture, 1, "ada", ClaimKind::Fact, "Reports are printed in colour.");
        drain(&fixture);
        assert_eq!(fixture.engine.check_store().unwrap().problems, Vec::<String>::new());
        let path = fixture.dir.path().join("store.db");
        let changed = rusqlite::Connection::open(&path).unwrap().execute(damage, []).unwrap();
        assert!(changed > 0, "{damage}");
        let problems = fixture.engine.check_store().unwrap().problems;
        let reported =
            problems.iter().any(|line| line.contains("story card") && line.contains("ergo doctor --rebuild"));
        assert!(reported, "{damage}: {problems:?}");

        let Fixture { dir, engine, .. } = fixture;
        drop(engine);
        let key = SigningKey::from_bytes(&[7; 32]);
        let mut store = Store::open(&path, key, Arc::new(StructuralPairCheck)).unwrap();
        store.rebuild().unwrap();
        let mut report = store.check().unwrap();
        check_stories(store.reader(), &Guard::default(), NOON, &mut report).unwrap();
        assert!(report.problems.is_empty() && report.notes.iter().any(|note| note.contains("wait to be read")));
        drop(store);
        let config = EngineConfig::new(&path, SigningKey::from_bytes(&[7; 32]));
        let engine = Engine::open(config).unwrap();
        while engine.read_stories().unwrap() {}
        assert_eq!(engine.check_store().unwrap().problems, Vec::<String>::new(), "{damage}");
        let cards = engine.conflicts(&ConflictsQuery::default()).unwrap().items;
        assert!(cards.iter().any(|open| open.id == card.id), "{damage}");
        drop(dir);
    }
}
