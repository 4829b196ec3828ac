//! The story of a scope: its open questions become cards, the same on every device, which a person answers with yes or
//! no.

use ergo::{
    api::{CardKind, CardStatus, CardSummary, ConflictsQuery, RememberRequest, StoryQuery},
    domain::{Confusion, Qualifiers, Scope, Status},
    guard::NormedClaim,
    story::{self, ClaimStanding, StoryClaim, StoryText},
};

use super::*;
use crate::support::random::Random;

pub(super) const DAY: u64 = 24 * 60 * 60 * 1000;

/// Reads all that waits.
pub(super) fn drain(fixture: &Fixture) {
    while fixture.engine.read_stories().unwrap() {}
}

/// Writes a claim some days after the last one, by a writer of its own, whatever the guard says.
pub(super) fn tell(fixture: &Fixture, days: u64, who: &str, kind: ClaimKind, statement: &str) -> ClaimId {
    try_to_tell(fixture, days, who, kind, statement).expect("the guard refused it")
}

/// [`tell`]; `None` if the guard refused it, and so noticed it by itself.
fn try_to_tell(fixture: &Fixture, days: u64, who: &str, kind: ClaimKind, statement: &str) -> Option<ClaimId> {
    fixture.clock.fetch_add(days * DAY, Ordering::Relaxed);
    let mut request = RememberRequest { kind: Some(kind), ..request(statement, "it was decided so") };
    who.clone_into(&mut request.caller.who);
    match fixture.engine.remember(request.clone()).unwrap() {
        WriteOutcome::Stored(stored) => Some(stored.claim_id),
        WriteOutcome::Conflict(_) => None,
        other => panic!("{other:?}"),
    }
}

pub(super) fn open_cards(fixture: &Fixture) -> Vec<CardSummary> {
    let query = ConflictsQuery { kind: Some("story".into()), ..ConflictsQuery::default() };
    let mut cards = fixture.engine.conflicts(&query).unwrap().items;
    cards.sort_by_key(|card| card.id);
    cards
}

pub(super) fn only_card(fixture: &Fixture) -> CardSummary {
    let mut cards = open_cards(fixture);
    assert_eq!(cards.len(), 1, "{cards:#?}");
    cards.remove(0)
}

/// Answers a card, and checks that the answer did what the card had said.
pub(super) fn answer(fixture: &Fixture, card: &CardSummary, act: CardAct) -> Done {
    let question = card.story.clone().unwrap();
    let effect = if act == CardAct::Yes { question.yes } else { question.no };
    let done = done(fixture.resolve(card.id, order(act, "we asked around")));
    assert_eq!(done.summary, effect);
    done
}

#[rstest::rstest]
#[case(ClaimKind::Decision)]
#[case(ClaimKind::Fact)]
fn the_three_examples_are_cards_as_facts_and_as_decisions(#[case] kind: ClaimKind) {
    let cases: [(&[(u64, &str)], Confusion); 3] = [
        (&[(0, "We use REST."), (31, "We switched to GraphQL."), (59, "The API is REST-based.")], Confusion::Reversal),
        (
            &[(0, "The rate limit of auth is 1,000 req/s per IP."), (8, "Auth allows 5,000 req/s per IP.")],
            Confusion::Ambiguity,
        ),
        (
            &[
                (0, "Postgres 14 is our database version."),
                (240, "The migration to Postgres 17 needs an hour of downtime."),
            ],
            Confusion::Stale,
        ),
    ];
    for (story, confusion) in cases {
        let fixture = Fixture::new();
        let ids: Vec<Option<ClaimId>> = story
            .iter()
            .enumerate()
            .map(|(n, (days, statement))| try_to_tell(&fixture, *days, &format!("writer {n}"), kind, statement))
            .collect();
        let Some(ids) = ids.into_iter().collect::<Option<Vec<ClaimId>>>() else {
            assert!(kind.is_guarded() && confusion == Confusion::Ambiguity, "the guard refuses two limits: {story:?}");
            continue;
        };
        drain(&fixture);
        let card = only_card(&fixture);
        let question = card.story.clone().unwrap();
        assert_eq!((card.kind, question.confusion, &question.claims), (CardKind::Story, confusion, &ids), "{story:?}");
        assert_eq!(card.headline, question.question);
        let read = fixture.engine.story(&query()).unwrap();
        assert_eq!((read.waiting, read.cut), (0, false));
        assert_eq!(
            read.marks.iter().map(|mark| (mark.confusion, mark.card)).collect::<Vec<_>>(),
            [(confusion, Some(card.id))]
        );
    }
}

pub(super) fn scope() -> Scope {
    Scope::new("acme", "api").unwrap()
}

pub(super) fn query() -> StoryQuery {
    let Caller { org_id, project, .. } = caller();
    StoryQuery { org_id, project, ..StoryQuery::default() }
}

/// An engine with one reversal, its claims, and its card.
pub(super) fn reversal() -> (Fixture, [ClaimId; 3], CardSummary) {
    let fixture = Fixture::new();
    let (claims, card) = reversal_in(&fixture);
    (fixture, claims, card)
}

/// Writes the claims of a reversal, and returns them with its card.
pub(super) fn reversal_in(fixture: &Fixture) -> ([ClaimId; 3], CardSummary) {
    let rest = tell(fixture, 0, "ada", ClaimKind::Decision, "We use REST.");
    let graph = tell(fixture, 31, "bob", ClaimKind::Decision, "We switched to GraphQL.");
    let again = tell(fixture, 59, "cleo", ClaimKind::Decision, "The API is REST-based.");
    drain(fixture);
    ([rest, graph, again], only_card(fixture))
}

#[test]
fn an_answer_does_what_the_card_says_and_one_undo_opens_it_again() {
    let (fixture, [rest, graph, again], card) = reversal();
    let status = |id| fixture.claim(id).status;
    answer(&fixture, &card, CardAct::Yes);
    assert_eq!((status(rest), status(graph), status(again)), (Status::Superseded, Status::Superseded, Status::Active));
    drain(&fixture);
    let view = fixture.card(card.id);
    assert_eq!((view.summary.status, open_cards(&fixture).len()), (CardStatus::Settled, 0));
    assert!(fixture.engine.story(&query()).unwrap().marks.is_empty());

    fixture.undo();
    drain(&fixture);
    assert_eq!(only_card(&fixture).id, card.id);
    answer(&fixture, &card, CardAct::No);
    drain(&fixture);
    assert_eq!((status(rest), status(graph), status(again)), (Status::Superseded, Status::Active, Status::Superseded));
    assert!(open_cards(&fixture).is_empty());
}

#[test]
fn a_question_of_the_story_is_no_contradiction_for_a_rule_file() {
    let (fixture, claims, _) = reversal();
    for claim in claims {
        assert!(fixture.engine.opposing(&claim).unwrap().is_empty());
    }
    assert!(fixture.engine.open_cards_of(&claims, &[]).unwrap().is_empty());
}

#[test]
fn a_dismissed_card_never_comes_again() {
    let (fixture, _, card) = reversal();
    done(fixture.resolve(card.id, order(CardAct::Dismiss, "two different services")));
    drain(&fixture);
    assert!(open_cards(&fixture).is_empty());
    let fixture = fixture.reopen();
    drain(&fixture);
    assert!(open_cards(&fixture).is_empty());
    let view = fixture.card(card.id);
    assert_eq!(view.settled.unwrap().act, "dismiss");
}

#[test]
fn only_a_story_card_is_answered_with_yes_or_no() {
    let fixture = Fixture::new();
    fixture.remember("Deployments must use a blue canary", "safe");
    let card = fixture.refuse("Deployments must use a red canary", "prettier");
    let error = fixture.engine.resolve(&card.to_hex(), order(CardAct::Yes, "because")).unwrap_err();
    assert!(error.message.contains("asks no question"), "{}", error.message);
}

#[rstest::rstest]
#[case("GraphQL was too slow for us", 0)]
#[case("it is simpler to go back", 0)]
#[case("the team voted for it", 1)]
fn a_chain_that_ends_where_it_began_is_a_reversal_unless_its_reason_speaks_of_the_turn(
    #[case] reason: &str,
    #[case] cards: usize,
) {
    let fixture = Fixture::new();
    let rest = tell(&fixture, 0, "ada", ClaimKind::Decision, "We use REST.");
    fixture.clock.fetch_add(31 * DAY, Ordering::Relaxed);
    let graph = stored(fixture.supersede(rest, "We use GraphQL.", "one request is enough")).claim_id;
    fixture.clock.fetch_add(59 * DAY, Ordering::Relaxed);
    stored(fixture.supersede(graph, "The API is REST-based.", reason));
    drain(&fixture);
    assert_eq!(open_cards(&fixture).len(), cards, "{:#?}", open_cards(&fixture));
    if let Some(card) = open_cards(&fixture).first() {
        answer(&fixture, card, CardAct::Yes);
        drain(&fixture);
        assert!(open_cards(&fixture).is_empty());
    }
}

#[test]
fn a_retracted_claim_that_is_stated_again_is_a_reversal() {
    let fixture = Fixture::new();
    let old = tell(&fixture, 0, "ada", ClaimKind::Decision, "Nightly builds run on the Hetzner machines.");
    fixture.clock.fetch_add(20 * DAY, Ordering::Relaxed);
    fixture.retract(old, "the machines were given back");
    tell(&fixture, 60, "bob", ClaimKind::Decision, "The nightly builds run on Hetzner machines.");
    drain(&fixture);
    let card = only_card(&fixture);
    assert_eq!(card.story.as_ref().unwrap().confusion, Confusion::Reversal);
    answer(&fixture, &card, CardAct::No);
    drain(&fixture);
    assert!(open_cards(&fixture).is_empty());
}

#[test]
fn a_claim_past_its_last_day_is_asked_about_once_the_day_has_come() {
    let fixture = Fixture::new();
    let mut request = request("The old endpoint is served for the partner.", "they need time");
    request.qualifiers = Qualifiers { valid_until: Some("2026-03-20".into()), ..Qualifiers::default() };
    let id = stored(fixture.engine.remember(request).unwrap()).claim_id;
    drain(&fixture);
    assert!(open_cards(&fixture).is_empty());
    fixture.clock.fetch_add(30 * DAY, Ordering::Relaxed);
    drain(&fixture);
    let card = only_card(&fixture);
    assert_eq!((card.story.as_ref().unwrap().confusion, &card.members), (Confusion::Stale, &vec![id]));
    answer(&fixture, &card, CardAct::No);
    drain(&fixture);
    assert_eq!((fixture.claim(id).status, open_cards(&fixture).len()), (Status::Retracted, 0));
}

/// Two limits of one service: an ambiguity whose claims have most words in common, but not all.
fn limits(fixture: &Fixture, service: &str) {
    tell(fixture, 1, "ada", ClaimKind::Fact, &format!("The nightly import of {service} retries 3 times."));
    tell(
        fixture,
        8,
        "bob",
        ClaimKind::Fact,
        &format!("When the server is down, the import of {service} retries 7 times."),
    );
    drain(fixture);
}

#[test]
fn what_people_dismiss_raises_the_bar_for_its_like_in_that_scope() {
    let fixture = Fixture::new();
    let services = ["billing", "search", "mail", "login", "catalogue", "photos", "orders", "stock"];
    let mut asked = 0;
    for service in services {
        limits(&fixture, service);
        while let Some(card) = open_cards(&fixture).first() {
            asked += 1;
            done(fixture.resolve(card.id, order(CardAct::Dismiss, "these are two imports")));
            drain(&fixture);
        }
    }
    assert!(asked >= 2, "asked {asked} times");
    limits(&fixture, "trucks");
    assert_eq!(open_cards(&fixture).len(), 0, "asked {asked} times before");
    // Another scope is asked as before.
    let fresh = Fixture::new();
    limits(&fresh, "stock");
    assert_eq!(open_cards(&fresh).len(), 1);
    // An undone answer does not count any more.
    let before = open_cards(&fixture).len();
    for _ in 0..asked {
        fixture
            .engine
            .undo(UndoRequest { caller: caller(), target_op: last_dismissal(&fixture), ..UndoRequest::default() })
            .unwrap();
    }
    drain(&fixture);
    assert!(open_cards(&fixture).len() > before);
}

#[test]
fn what_agents_dismiss_raises_no_bar() {
    let fixture = Fixture::new();
    for service in ["billing", "search", "mail", "login", "catalogue", "photos"] {
        limits(&fixture, service);
        let cards = open_cards(&fixture);
        assert!(!cards.is_empty(), "{service}");
        for card in cards {
            let by_agent = ResolveRequest { caller: agent(), ..order(CardAct::Dismiss, "these are two imports") };
            done(fixture.resolve(card.id, by_agent));
        }
        drain(&fixture);
    }
}

/// The act that dismissed the newest settled story card.
fn last_dismissal(fixture: &Fixture) -> Option<OpId> {
    let query =
        ConflictsQuery { status: Some("settled".into()), kind: Some("story".into()), ..ConflictsQuery::default() };
    let settled = fixture.engine.conflicts(&query).unwrap().items;
    settled.iter().find_map(|card| fixture.card(card.id).settled.filter(|by| by.act == "dismiss")?.op_id)
}

/// The marks of the whole story at once, by the pure reading.
fn whole(fixture: &Fixture) -> Vec<(Confusion, Vec<ClaimId>)> {
    let story = fixture.engine.story(&query()).unwrap();
    let lines: Vec<StoryClaim> = story
        .claims
        .iter()
        .map(|claim| StoryClaim {
            written: claim.at,
            recorded: claim.at,
            who: claim.who.clone(),
            standing: ClaimStanding {
                in_force: claim.status == Status::Active,
                replaced_by: claim.replaced_by.clone(),
                ..ClaimStanding::default()
            },
            text: StoryText::new(
                NormedClaim {
                    id: Some(claim.id),
                    kind: claim.kind,
                    statement: claim.statement.clone(),
                    norms: claim.norms.clone(),
                    ..NormedClaim::default()
                },
                claim.reason.as_deref(),
            ),
        })
        .collect();
    let ids = |claims: &[usize]| claims.iter().map(|at| story.claims[*at].id).collect::<Vec<_>>();
    let mut marks: Vec<_> =
        story::read(&Guard::default(), &lines).iter().map(|mark| (mark.confusion, ids(&mark.claims))).collect();
    marks.sort();
    marks
}

pub(super) fn shown(fixture: &Fixture) -> Vec<(Confusion, Vec<ClaimId>)> {
    let mut marks: Vec<_> =
        fixture.engine.story(&query()).unwrap().marks.into_iter().map(|mark| (mark.confusion, mark.claims)).collect();
    marks.sort();
    marks
}

/// Statements about a few subjects, chosen by a number.
pub(super) fn statement(n: u64) -> String {
    let service = ["search", "billing", "login", "catalogue", "mail"][(n % 5) as usize];
    let store = ["Redis", "Postgres", "Kafka"][(n / 5 % 3) as usize];
    match n / 15 % 5 {
        0 => format!("The {service} service keeps its sessions in {store}."),
        1 => format!("We moved the {service} service away from {store}."),
        2 => format!("The timeout of {service} is {} seconds.", n % 7 + 1),
        3 => format!("{store} {} is used by {service}.", 12 + n % 4),
        _ => format!("{service} no longer uses {store}; that is settled."),
    }
}

#[test]
fn reading_claim_by_claim_gives_the_marks_of_the_whole_story() {
    let fixture = Fixture::new();
    let mut random = Random::new(11);
    let mut ids: Vec<ClaimId> = Vec::new();
    for turn in 0..60_u64 {
        let pick = random.next() >> 33;
        if turn % 9 == 8 && ids.len() > 3 {
            fixture.clock.fetch_add(DAY, Ordering::Relaxed);
            let old = ids[(pick % ids.len() as u64) as usize];
            if fixture.claim(old).status == Status::Active {
                let new = statement(pick / 3 + turn);
                if let WriteOutcome::Stored(stored) = fixture.supersede(old, &new, "better") {
                    ids.push(stored.claim_id);
                }
            }
        } else {
            let who = ["ada", "bob"][(pick % 2) as usize];
            ids.push(tell(&fixture, pick % 40, who, ClaimKind::Fact, &statement(pick / 2)));
        }
        if turn % 4 == 0 {
            drain(&fixture);
        }
    }
    drain(&fixture);
    assert!(!shown(&fixture).is_empty());
    assert_eq!(shown(&fixture), whole(&fixture));
}
