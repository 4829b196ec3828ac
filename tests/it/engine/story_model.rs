//! Language models read the stories: what they ask is a proposal, once for a set of claims, and nothing waits for it.

use std::sync::atomic::AtomicBool;

use ergo::{
    api::{CardKind, CardStatus, CardSummary, ConflictsQuery, ErrorCode, ReadStoryRequest, StoryProgress, StoryQuery},
    domain::{Confusion, Status, pair_prompt::INJECTED},
    infer::{Endpoint, FakeModels, InferError, JudgeCommand, ModelJudge, Prompt},
};
use serde_json::{Value, json};

use super::*;

const DAY: u64 = 24 * 60 * 60 * 1000;

/// Two claims that the rules do not compare.
const THOUSAND: &str = "The cache holds a thousand pages.";
const FOR_GOOD: &str = "Pages stay in the cache for good.";

/// The prompts that a model received.
type Prompts = Arc<Mutex<Vec<String>>>;

/// A local model that answers by the ids of a prompt.
fn model(answer: impl Fn(&[String]) -> Result<String, InferError> + Send + Sync + 'static) -> (ModelJudge, Prompts) {
    let prompts = Prompts::default();
    let recorded = Arc::clone(&prompts);
    let generate = move |prompt: &Prompt| {
        recorded.lock().unwrap().push(prompt.text.clone());
        answer(&ids(&prompt.text))
    };
    (ModelJudge::Local(Arc::new(FakeModels::new().generating(generate))), prompts)
}

/// The ids of a prompt, in order.
fn ids(prompt: &str) -> Vec<String> {
    let id = |line: &str| serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned();
    prompt.lines().map(id).collect()
}

fn question(ids: &[&String]) -> String {
    json!([{ "claim_ids": ids, "question": "Is the cache still limited to a thousand pages?" }]).to_string()
}

/// A model that asks about the first and the last claim of each prompt.
fn asking() -> (ModelJudge, Prompts) {
    model(|ids| Ok(question(&[&ids[0], &ids[ids.len() - 1]])))
}

fn reading(fixture: Fixture, judges: Vec<ModelJudge>) -> Fixture {
    fixture.reopen_as(Guard::default(), move |config| config.judges = judges)
}

fn tell(fixture: &Fixture, days: u64, who: &str, statement: &str) -> ClaimId {
    fixture.clock.fetch_add(days * DAY, Ordering::Relaxed);
    let mut request = request(statement, "it was decided so");
    who.clone_into(&mut request.caller.who);
    stored(fixture.engine.remember(request).unwrap()).claim_id
}

/// Lets the rules read, then the model. Returns how many times the model worked.
fn work(fixture: &Fixture) -> usize {
    while fixture.engine.read_stories().unwrap() {}
    let mut times = 0;
    while fixture.engine.read_story_in_background().unwrap() {
        times += 1;
    }
    times
}

fn open_cards(fixture: &Fixture) -> Vec<CardSummary> {
    let query = ConflictsQuery { kind: Some("story".into()), ..ConflictsQuery::default() };
    fixture.engine.conflicts(&query).unwrap().items
}

fn cache(fixture: &Fixture) -> [ClaimId; 2] {
    [tell(fixture, 0, "ada", THOUSAND), tell(fixture, 9, "bob", FOR_GOOD)]
}

#[test]
fn what_a_model_asks_is_a_card_with_yes_and_no_once() {
    let (judge, prompts) = asking();
    let fixture = reading(Fixture::new(), vec![judge.clone()]);
    let [old, new] = cache(&fixture);
    assert!(open_cards(&fixture).is_empty(), "a write waits for no model");
    assert!(fixture.engine.read_stories().unwrap());
    assert_eq!(work(&fixture), 1);
    let cards = open_cards(&fixture);
    assert_eq!(cards.len(), 1, "{cards:#?}");
    let story = cards[0].story.clone().unwrap();
    assert_eq!(
        (cards[0].kind, story.confusion, &story.claims),
        (CardKind::Story, Confusion::Ambiguity, &vec![old, new])
    );
    assert_eq!(cards[0].agent.as_deref(), Some("ergo"));
    let view = fixture.card(cards[0].id);
    let sentence = &view.evidence[0].sentence;
    assert_eq!(sentence, "fake-llm asks: Is the cache still limited to a thousand pages?");
    assert!(prompts.lock().unwrap()[0].contains(THOUSAND));
    let query = StoryQuery { org_id: caller().org_id, project: caller().project, ..StoryQuery::default() };
    let marks = fixture.engine.story(&query).unwrap().marks;
    assert_eq!(marks.iter().map(|mark| (mark.card, mark.by_model)).collect::<Vec<_>>(), [(Some(cards[0].id), true)]);
    assert_eq!(marks[0].claims, [old, new]);

    // The next write makes the model ask the same again: there is a card.
    tell(&fixture, 1, "cleo", "Invoices are printed on blue paper.");
    assert_eq!(work(&fixture), 1);
    let others = open_cards(&fixture).len();
    assert_eq!(work(&fixture), 0, "nothing was written since");
    let done = done(fixture.resolve(cards[0].id, order(CardAct::Yes, "we asked around")));
    assert_eq!(done.summary, story.yes);
    assert_eq!(fixture.claim(old).status, Status::Superseded);
    assert_eq!(
        (fixture.card(cards[0].id).summary.status, open_cards(&fixture).len()),
        (CardStatus::Settled, others - 1)
    );
    fixture.undo();
    assert_eq!(open_cards(&fixture).len(), others);
}

#[test]
fn a_dismissed_question_is_never_asked_again_and_raises_the_bar() {
    let (judge, _) = asking();
    let fixture = reading(Fixture::new(), vec![judge.clone()]);
    let mut asked = 0;
    for topic in ["cache", "index", "queue", "archive", "mirror", "ledger", "spool", "vault"] {
        // The first claim of each prompt is the first of the story, so each topic has a story of its own.
        let first = tell(&fixture, 1, "ada", &format!("The {topic} holds a thousand pages."));
        let second = tell(&fixture, 1, "bob", &format!("Pages stay in the {topic} for good."));
        work(&fixture);
        while let Some(card) = open_cards(&fixture).first() {
            asked += 1;
            done(fixture.resolve(card.id, order(CardAct::Dismiss, "these are two things")));
        }
        work(&fixture);
        assert!(open_cards(&fixture).is_empty());
        fixture.retract(first, "done");
        fixture.retract(second, "done");
    }
    assert!((1..8).contains(&asked), "asked {asked} times");
}

#[test]
fn what_an_answer_does_not_name_rightly_is_dropped_and_counted() {
    let answers = [
        r#"[{"claim_ids": ["00000000", "11111111"], "question": "Is it?"}]"#,
        "I find the story coherent.",
        r#"[{"claim_ids": "all", "question": "Is it?"}, {"question": "Is it?"}]"#,
    ];
    for (answer, dropped) in answers.into_iter().zip([1, 1, 2]) {
        let (judge, _) = model(move |_| Ok(answer.to_owned()));
        let fixture = reading(Fixture::new(), vec![judge]);
        cache(&fixture);
        assert_eq!(work(&fixture), 1);
        assert_eq!(
            (open_cards(&fixture).len(), fixture.engine.counts().unwrap().guard.story_dropped),
            (0, dropped),
            "{answer}"
        );
    }
}

#[test]
fn what_the_rules_know_to_be_settled_is_not_asked() {
    let (judge, _) = asking();
    let fixture = reading(Fixture::new(), vec![judge]);
    tell(&fixture, 0, "ada", THOUSAND);
    tell(&fixture, 9, "bob", "Decided: pages stay in the cache until the evening.");
    work(&fixture);
    let by_model = |card: &&CardSummary| card.agent.is_some();
    assert_eq!(open_cards(&fixture).iter().filter(by_model).count(), 0);
    assert_eq!(fixture.engine.counts().unwrap().guard.story_dropped, 1);
}

#[test]
fn without_a_model_nothing_happens_and_one_that_is_not_there_gives_its_turn_to_the_next() {
    let fixture = Fixture::new();
    cache(&fixture);
    assert_eq!(work(&fixture), 0);
    // Set to no share of the time.
    let (judge, _) = asking();
    let fixture = fixture.reopen_as(Guard::default(), |config| (config.judges, config.judge_budget) = (vec![judge], 0));
    assert_eq!(work(&fixture), 0);
    let gone = || model(|_| Err(InferError::Crashed { role: ergo::infer::ModelRole::Llm, why: "died".into() })).0;
    let fixture = reading(fixture, vec![gone()]);
    let error = fixture.engine.read_story_in_background().unwrap_err();
    assert_eq!((error.code, open_cards(&fixture).len()), (ErrorCode::Unavailable, 0));
    // It was not read: the next judge reads it.
    let script = r#"ids=$(grep -o '^{"id":"[0-9a-f]*' | cut -d'"' -f4); set -- $ids
        printf 'Sure: [{"claim_ids": ["%s", "%s"], "question": "Is the cache still limited?"}]' "$1" "$2""#;
    let words = ["sh", "-c", script].map(str::to_owned);
    let command = ModelJudge::Command(JudgeCommand::new(&words, std::env::temp_dir()).unwrap());
    let fixture = reading(fixture, vec![gone(), command]);
    assert_eq!(work(&fixture), 1);
    assert_eq!(open_cards(&fixture).len(), 1);
    assert_eq!(work(&fixture.reopen()), 0);
}

#[test]
fn a_long_story_is_sampled_the_same_way_twice_and_what_is_new_is_always_read() {
    let fixture = Fixture::new();
    tell(&fixture, 0, "ada", THOUSAND);
    for n in 0..450_u64 {
        let statement = format!("Parcel number {n} is kept on shelf {} of hall {}.", n % 7, n % 11);
        fixture.clock.fetch_add(DAY / 4, Ordering::Relaxed);
        let mut request = request(&statement, "it arrived");
        (request.kind, request.caller.who) = (Some(ClaimKind::Fact), format!("porter {}", n % 3));
        stored(fixture.engine.remember(request).unwrap());
    }
    let (judge, _) = model(|_| Ok("[]".to_owned()));
    let fixture = reading(fixture, vec![judge]);
    work(&fixture);
    tell(&fixture, 1, "bob", FOR_GOOD);
    // A model that cannot be asked leaves the story to the next one, which gets the same.
    let (gone, asked) = model(|_| Err(InferError::Crashed { role: ergo::infer::ModelRole::Llm, why: "died".into() }));
    let fixture = reading(fixture, vec![gone]);
    while fixture.engine.read_stories().unwrap() {}
    fixture.engine.read_story_in_background().unwrap_err();
    let (judge, prompts) = model(|_| Ok("[]".to_owned()));
    let fixture = reading(fixture, vec![judge]);
    assert_eq!(work(&fixture), 1);
    let prompt_text = prompts.lock().unwrap().concat();
    assert_eq!(prompts.lock().unwrap()[0], asked.lock().unwrap()[0]);
    assert!((20..200).contains(&prompt_text.lines().count()), "{} of 452 claims", prompt_text.lines().count());
    assert!(prompt_text.contains(FOR_GOOD));
    assert!(prompt_text.contains(THOUSAND), "what has most in common with the new claim is read with it");
}

#[test]
fn a_part_that_is_too_long_for_the_model_is_halved() {
    let (judge, prompts) = model(|ids| match ids.len() {
        0..=3 => Ok(question(&[&ids[0], &ids[1]])),
        _ => Err(InferError::Refused("the text is too long".into())),
    });
    let fixture = reading(Fixture::new(), vec![judge]);
    cache(&fixture);
    for n in 0..4 {
        tell(&fixture, 1, "cleo", &format!("Invoice form {n} has {} lines.", n * 3));
    }
    assert_eq!(work(&fixture), 1);
    assert!(open_cards(&fixture).iter().any(|card| card.agent.is_some()), "the half with both claims was asked about");
    assert_eq!(prompts.lock().unwrap().iter().map(|prompt| ids(prompt).len()).collect::<Vec<_>>(), [6, 3, 3]);
}

#[test]
fn a_whole_story_is_read_piece_by_piece_and_goes_on_after_a_stop() {
    let (judge, prompts) = model(|_| Ok("[]".to_owned()));
    let fixture = Fixture::new();
    for n in 0..150_u64 {
        let mut request = request(&format!("Parcel number {n} is kept on shelf {} of the hall.", n % 7), "it arrived");
        request.kind = Some(ClaimKind::Fact);
        fixture.clock.fetch_add(DAY, Ordering::Relaxed);
        stored(fixture.engine.remember(request).unwrap());
    }
    let ask = |fixture: &Fixture, dry_run| {
        fixture.engine.read_story_for(&ReadStoryRequest { caller: caller(), dry_run }).unwrap()
    };
    let nobody: StoryProgress = ask(&fixture, true);
    assert_eq!((nobody.judges.len(), nobody.left, nobody.tokens), (0, 0, 0));
    let fixture = reading(fixture, vec![judge.clone()]);
    let estimate = ask(&fixture, true);
    assert_eq!((estimate.left, estimate.read, prompts.lock().unwrap().len()), (150, 0, 0));
    assert!(estimate.tokens > 3_000 && estimate.seconds > 60, "{estimate:?}");
    let first = ask(&fixture, false);
    assert!(first.read > 10 && first.left < 150 && first.left > 0, "{first:?}");
    assert_eq!(ask(&fixture, true).left, first.left);
    let fixture = reading(fixture, vec![judge]);
    let mut left = first.left;
    while left > 0 {
        let step = ask(&fixture, false);
        assert!(step.left < left, "{step:?}");
        left = step.left;
    }
    let asked: std::collections::BTreeSet<String> =
        prompts.lock().unwrap().iter().flat_map(|prompt| ids(prompt)).collect();
    assert_eq!(asked.len(), 150, "each claim was read");
    assert!(prompts.lock().unwrap().len() < 12);
    assert_eq!(ask(&fixture, true).left, 150, "the next audit begins anew");
}

#[test]
fn injected_texts_stay_data() {
    let stray = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&stray);
    let generate = move |prompt: &Prompt| {
        let [turn] = prompt.prefix.as_slice() else { panic!("{prompt:?}") };
        let own = INJECTED.iter().any(|text| turn.text.contains(text));
        let lines = prompt.text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        seen.fetch_or(own || lines.count() != INJECTED.len(), Ordering::Relaxed);
        Ok("[]".to_owned())
    };
    let judge = ModelJudge::Local(Arc::new(FakeModels::new().generating(generate)));
    let fixture = reading(Fixture::new(), vec![judge]);
    for text in INJECTED {
        let mut request = request(text, text);
        request.kind = Some(ClaimKind::Fact);
        stored(fixture.engine.remember(request).unwrap());
    }
    assert_eq!(work(&fixture), 1);
    assert!(!stray.load(Ordering::Relaxed));
}

/// A model at an address at which nobody listens.
fn nobody() -> (ModelJudge, String) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    (ModelJudge::Endpoint(Endpoint::new(&address, "small", "a-key").unwrap()), address)
}

fn contacts(fixture: &Fixture) -> Vec<String> {
    fixture.engine.contacts().unwrap().items.into_iter().map(|contact| contact.address).collect()
}

#[test]
fn a_judge_that_cannot_be_reached_keeps_no_other_one_from_the_story() {
    let fixture = Fixture::new().reopen_with(super::doubts::doubting());
    fixture.remember("The weekly report goes to the finance team first", "they plan by it");
    fixture.remember("The weekly report goes to the finance team as a draft", "they asked for it");
    while fixture.engine.deepen_next().unwrap() {}
    let ((local, prompts), (gone, address)) = (model(|_| Ok("[]".to_owned())), nobody());
    let fixture = fixture.reopen_as(super::doubts::doubting(), |config| config.judges = vec![local, gone]);
    while fixture.engine.read_stories().unwrap() {}
    // The local model leaves the pair to the other one.
    assert!(fixture.engine.judge_or_read_in_background().unwrap());
    assert_eq!((prompts.lock().unwrap().len(), contacts(&fixture)), (0, Vec::new()));
    assert!(fixture.engine.judge_or_read_in_background().unwrap());
    assert_eq!((prompts.lock().unwrap().len(), contacts(&fixture)), (1, vec![address]));
    assert_eq!(fixture.engine.judge_or_read_in_background().unwrap_err().code, ErrorCode::Unavailable);
}

#[test]
fn whoever_asks_a_model_at_an_address_records_the_contact() {
    let asks: [fn(&Fixture); 3] = [
        |fixture| {
            while fixture.engine.read_stories().unwrap() {}
            fixture.engine.read_story_in_background().unwrap_err();
        },
        |fixture| drop(fixture.engine.extract("The deploy takes nine minutes. Ada keeps the keys of the vault.")),
        // The norm of a claim.
        |fixture| {
            fixture.remember("We draw our charts with vega", "the team knows it");
            while fixture.engine.deepen_next().unwrap() {}
        },
    ];
    for (at, ask) in asks.into_iter().enumerate() {
        let fixture = Fixture::new();
        cache(&fixture);
        while fixture.engine.deepen_next().unwrap() {}
        let (gone, address) = nobody();
        let fixture = reading(fixture, vec![gone]);
        ask(&fixture);
        assert_eq!(contacts(&fixture), [address], "{at}");
    }
}
