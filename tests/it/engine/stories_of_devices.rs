//! The story of a scope that several devices share: the same cards on each, whatever the order of the events.

use ergo::{
    api::{CardKind, CardSummary, ConflictsQuery},
    domain::{Confusion, EventId, SignedEvent, Status},
    store::SyncImport,
};

use super::{
    stories::{DAY, answer, drain, only_card, open_cards, scope, shown, statement, tell},
    *,
};
use crate::support::random::Random;

/// Has all devices join a team of the first one.
fn join(fixtures: &[Fixture]) -> EventId {
    let first = &fixtures[0];
    let team = super::team::create(first).id;
    for (n, fixture) in fixtures.iter().enumerate().skip(1) {
        let roster = super::team::add(first, fixture, &format!("laptop-{n}"), &super::team::all());
        fixture.engine.join_team(&caller(), team, &roster, Some(first.engine.device()), &[], &[]).unwrap();
    }
    team
}

/// Writes and replaces facts about the few subjects on a device that has met no other.
fn tell_a_story(fixture: &Fixture, random: &mut Random) {
    let mut ids: Vec<ClaimId> = Vec::new();
    for _ in 0..15 {
        let text = statement(random.next() >> 33);
        match random.pick(&ids) {
            Some(old) if random.percent(20) && fixture.claim(*old).status == Status::Active => {
                fixture.clock.fetch_add(DAY, Ordering::Relaxed);
                fixture.supersede(*old, &text, "better");
            }
            _ => ids.push(tell(fixture, random.below(20) as u64, "ada", ClaimKind::Fact, &text)),
        }
    }
}

/// Imports events in parts, and reads the story after some of them. Returns the open cards and the marks.
fn read_in_parts(
    fixture: &Fixture,
    team: EventId,
    mut events: &[SignedEvent],
    random: &mut Random,
) -> (Vec<CardSummary>, Vec<(Confusion, Vec<ClaimId>)>) {
    while !events.is_empty() {
        let (part, rest) = events.split_at((1 + random.below(4)).min(events.len()));
        let (events_of_part, now) = (part.to_vec(), fixture.engine.now());
        let import = SyncImport { team, from: None, events: events_of_part, document: None, peer: None, now };
        fixture.engine.import_synced(&import).unwrap();
        events = rest;
        if random.percent(30) {
            drain(fixture);
        }
    }
    drain(fixture);
    (open_cards(fixture), shown(fixture))
}

#[test]
fn story_cards_do_not_depend_on_the_order_in_which_events_arrive() {
    let mut random = Random::of_this_run();
    let fixtures: Vec<Fixture> = (1..=7).map(|device| Fixture::of(device, AgentPolicy::Force)).collect();
    let (authors, readers) = fixtures.split_at(3);
    let team = join(&fixtures);
    let mut events = Vec::new();
    let reversal = [(0, "We use REST."), (31, "We switched to GraphQL."), (59, "The API is REST-based.")];
    for (author, (days, turn)) in authors.iter().zip(reversal) {
        tell(author, days, "ada", ClaimKind::Fact, turn);
        tell_a_story(author, &mut random);
        let page = author.engine.with_reader(|reader| reader.events_after(&team, &scope(), &[], None, 999));
        events.extend(page.unwrap().events);
    }
    let mut read = readers.iter().map(|reader| {
        reader.clock.store(NOON + 1000 * DAY, Ordering::Relaxed);
        random.shuffle(&mut events);
        let (cards, marks) = read_in_parts(reader, team, &events, &mut random);
        (cards.into_iter().map(|card| (card.id, card.story)).collect::<Vec<_>>(), marks)
    });
    let first = read.next().unwrap();
    assert!(!first.0.is_empty());
    read.for_each(|other| assert_eq!(other, first));
}

#[test]
fn claims_on_the_card_of_a_contest_are_on_no_story_card_whenever_they_come() {
    let fixtures: Vec<Fixture> = (1..=5).map(|device| Fixture::of(device, AgentPolicy::Force)).collect();
    let (authors, readers) = fixtures.split_at(3);
    let team = join(&fixtures);
    for (author, (days, seconds)) in authors.iter().zip([(1, 1), (3, 3), (5, 4)]) {
        let statement = format!("The timeout of mail is {seconds} seconds.");
        tell(author, days, &format!("writer {days}"), ClaimKind::Fact, &statement);
    }
    let [steps, at_once] = readers else { unreachable!() };
    for reader in readers {
        reader.clock.store(NOON + 9 * DAY, Ordering::Relaxed);
    }
    for author in authors {
        super::team::pull(steps, author, team);
        super::team::pull(at_once, author, team);
        drain(steps);
        // The first two values have a card of their own, and then one with the third.
        assert!(open_cards(steps).is_empty());
    }
    drain(at_once);
    assert!(open_cards(at_once).is_empty());
    for reader in readers {
        let open = reader.engine.conflicts(&ConflictsQuery::default()).unwrap().items;
        assert!(
            matches!(&open[..], [card] if card.kind == CardKind::Contested && card.members.len() == 3),
            "{open:#?}"
        );
    }
}

#[test]
fn a_reversal_over_three_devices_is_one_card_in_whatever_order_they_sync() {
    let fixtures: Vec<Fixture> = (1..=3).map(|device| Fixture::of(device, AgentPolicy::Force)).collect();
    let team = join(&fixtures);
    let statements = ["We use REST.", "We switched to GraphQL.", "The API is REST-based."];
    let ids: Vec<ClaimId> = statements
        .iter()
        .zip(&fixtures)
        .zip([0, 31, 90])
        .map(|((statement, fixture), days)| {
            tell(fixture, days, &format!("writer {days}"), ClaimKind::Decision, statement)
        })
        .collect();
    for fixture in &fixtures {
        drain(fixture);
        assert!(open_cards(fixture).is_empty());
        fixture.clock.store(NOON + 100 * DAY, Ordering::Relaxed);
    }
    // The last one first, then the middle, each read in between; then round and round.
    for (to, from) in [(0, 2), (0, 1), (1, 2), (1, 0), (2, 0), (2, 1), (0, 1), (0, 2)] {
        super::team::pull(&fixtures[to], &fixtures[from], team);
        drain(&fixtures[to]);
    }
    let cards: Vec<CardSummary> = fixtures.iter().map(only_card).collect();
    assert!(cards.iter().all(|card| card.id == cards[0].id && card.story.as_ref().unwrap().claims == ids));
    answer(&fixtures[1], &cards[1], CardAct::No);
    for to in [0, 2] {
        super::team::pull(&fixtures[to], &fixtures[1], team);
    }
    for fixture in &fixtures {
        drain(fixture);
        assert!(open_cards(fixture).is_empty());
        assert_eq!(fixture.card(cards[0].id).settled.unwrap().act, "supersede");
    }
}
