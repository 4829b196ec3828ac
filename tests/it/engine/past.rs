//! Reads as of a past time: what an engine would have answered then.

use std::sync::atomic::Ordering;

use ergo::{
    api::{CardStatus, ClaimsQuery, ConflictsQuery, RecallRequest, WhyRequest},
    domain::{EventKind, Finding, GuardReport, Tier, derive::local, guard_report::Evidence},
    infer::FakeModels,
    store::{EventDraft, Ref},
};
use proptest::{prelude::*, test_runner::Config};
use serde_json::Value;

use super::*;

const SUBJECTS: [&str; 4] = ["the api port", "the log folder", "deploys", "the message broker"];

/// One act; numbers pick among what is there.
#[derive(Clone, Debug)]
enum Step {
    Remember(usize, u8),
    Fact(usize, u8),
    Supersede(usize, usize, u8),
    Retract(usize),
    Depend(usize, usize),
    Undo,
    Exception(usize, u8),
}

fn step() -> impl Strategy<Value = Step> {
    let subject = || 0..SUBJECTS.len();
    prop_oneof![
        5 => (subject(), any::<u8>()).prop_map(|(s, v)| Step::Remember(s, v)),
        2 => (subject(), any::<u8>()).prop_map(|(s, v)| Step::Fact(s, v)),
        3 => (any::<usize>(), subject(), any::<u8>()).prop_map(|(t, s, v)| Step::Supersede(t, s, v)),
        2 => any::<usize>().prop_map(Step::Retract),
        1 => (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Step::Depend(a, b)),
        1 => Just(Step::Undo),
        1 => (subject(), any::<u8>()).prop_map(|(s, v)| Step::Exception(s, v)),
    ]
}

fn models() -> Arc<dyn Models> {
    Arc::new(FakeModels::new().embedding(|text| Ok(FakeModels::bag_of_words(text))))
}

/// An engine with these acts done, and what it answered after the first `cut` of them.
struct Played {
    fixture: Fixture,
    then: u64,
    answers: Vec<Value>,
}

fn play(steps: &[Step], cut: usize) -> Played {
    let fixture = Fixture::new().reopen_with_models(Guard::default(), models());
    let (mut ids, mut then, mut answers) = (Vec::new(), 0, Vec::new());
    for (at, step) in steps.iter().enumerate() {
        if at == cut {
            // The last act is over; no other has begun.
            then = fixture.clock.load(Ordering::Relaxed);
            fixture.clock.fetch_add(1000, Ordering::Relaxed);
            answers = ask(&fixture, &ids, None, then);
            // A day later, so that what counts days tells the two apart.
            fixture.clock.fetch_add(86_400_000, Ordering::Relaxed);
        }
        take(&fixture, step, &mut ids);
        // As the daemon does beside each act: what is not current any more gets no vector, and what an undo makes current again gets one late.
        while fixture.engine.fill_vectors().unwrap() > 0 {}
    }
    Played { fixture, then, answers }
}

fn take(fixture: &Fixture, step: &Step, ids: &mut Vec<ClaimId>) {
    let says = |s: usize, v: u8| format!("{} must be value{}", SUBJECTS[s], v % 5);
    let pick = |n: usize| (!ids.is_empty()).then(|| ids[n % ids.len().max(1)]);
    let outcome = match step {
        Step::Remember(s, v) => fixture.engine.remember(request(&says(*s, *v), "it was measured")),
        Step::Fact(s, v) => fixture.engine.remember(fact(&says(*s, *v))),
        Step::Supersede(t, s, v) => {
            let Some(target) = pick(*t) else { return };
            let claim = request(&says(*s, *v), "it changed");
            fixture.engine.supersede(SupersedeRequest {
                targets: vec![target.to_hex()],
                claim,
                ..SupersedeRequest::default()
            })
        }
        Step::Retract(t) => match pick(*t) {
            Some(target) => fixture.engine.retract(on(target, "wrong")),
            None => return,
        },
        Step::Depend(a, b) => match (pick(*a), pick(*b)) {
            (Some(a), Some(b)) if a != b => fixture.engine.depend(ergo::api::DependRequest {
                caller: caller(),
                claim: a.to_hex(),
                premises: vec![b.to_hex()],
            }),
            _ => return,
        },
        Step::Undo => {
            let _nothing = fixture.engine.undo(UndoRequest { caller: caller(), ..UndoRequest::default() });
            return;
        }
        Step::Exception(s, v) => {
            let mut asked = request(&says(*s, *v), "it was measured");
            asked.force_exception = Some("both hold".into());
            fixture.engine.remember(asked)
        }
    };
    if let Ok(WriteOutcome::Stored(stored)) = outcome {
        ids.push(stored.claim_id);
    }
}

/// The answers to every query as of a time, without the counters of changes in the file.
fn ask(fixture: &Fixture, ids: &[ClaimId], as_of: Option<u64>, now: u64) -> Vec<Value> {
    // All queries are asked as of the same moment, whatever the clock shows.
    let kept = fixture.clock.swap(now, Ordering::Relaxed);
    let (org_id, project) = ("acme".to_owned(), "api".to_owned());
    let mut all = Vec::new();
    let mut add = |value: Result<Value, serde_json::Error>| {
        let mut value = value.unwrap();
        plain(&mut value);
        all.push(value);
    };
    for question in ["which api port, value1?", "why value2 for deploys", "kafka or another broker"] {
        let recall = RecallRequest {
            org_id: org_id.clone(),
            project: project.clone(),
            query: question.into(),
            include_history: true,
            as_of,
            ..RecallRequest::default()
        };
        fixture.clock.store(now, Ordering::Relaxed);
        add(serde_json::to_value(fixture.engine.recall(&recall).unwrap()));
        let why = WhyRequest {
            org_id: org_id.clone(),
            project: project.clone(),
            question: question.into(),
            as_of,
            ..WhyRequest::default()
        };
        fixture.clock.store(now, Ordering::Relaxed);
        add(serde_json::to_value(fixture.engine.why(&why).unwrap()));
    }
    for q in [None, Some("value1".to_owned())] {
        let query = ClaimsQuery {
            org_id: Some(org_id.clone()),
            project: Some(project.clone()),
            status: Some("all".into()),
            q,
            as_of,
            ..ClaimsQuery::default()
        };
        fixture.clock.store(now, Ordering::Relaxed);
        add(serde_json::to_value(fixture.engine.claims(&query).unwrap()));
    }
    for id in ids {
        fixture.clock.store(now, Ordering::Relaxed);
        add(serde_json::to_value(fixture.engine.history_at(&id.to_hex(), as_of).unwrap()));
    }
    let query = ConflictsQuery {
        org_id: Some(org_id),
        project: Some(project),
        status: Some("all".into()),
        as_of,
        ..ConflictsQuery::default()
    };
    fixture.clock.store(now, Ordering::Relaxed);
    let page = fixture.engine.conflicts(&query).unwrap();
    for card in &page.items {
        fixture.clock.store(now, Ordering::Relaxed);
        add(serde_json::to_value(fixture.engine.card_at(&card.id.to_hex(), as_of).unwrap()));
    }
    add(serde_json::to_value(page));
    fixture.clock.store(now, Ordering::Relaxed);
    add(serde_json::to_value(fixture.engine.scopes_at(as_of).unwrap()));
    fixture.clock.store(kept, Ordering::Relaxed);
    all
}

/// Leaves out the counters of changes in this file: they are not of the log.
fn plain(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("rev");
            fields.values_mut().for_each(plain);
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}

proptest! {
    #![proptest_config(Config { cases: 24, max_shrink_iters: 200, failure_persistence: None, ..Config::default() })]

    #[test]
    fn the_past_answers_as_it_did_then(steps in prop::collection::vec(step(), 2..16), cut in any::<prop::sample::Index>()) {
        let cut = cut.index(steps.len());
        let Played { fixture, then, answers } = play(&steps, cut);
        let claim = |answer: &Value| serde_json::from_value(answer["claim"]["id"].clone()).ok();
        let ids: Vec<ClaimId> = answers.iter().skip(8).filter_map(claim).collect();
        let again = ask(&fixture, &ids, Some(then), then);
        prop_assert_eq!(answers, again);
    }
}

#[test]
fn what_came_later_was_not_there_and_a_redaction_is_for_all_times() {
    let fixture = Fixture::new();
    let secret = fixture.remember("The token is hunter2", "oops");
    let then = fixture.clock.load(Ordering::Relaxed);
    fixture.clock.fetch_add(1000, Ordering::Relaxed);
    let later = fixture.remember("Deploys run on green CI", "red builds broke prod");
    let error = fixture.engine.claim_at(&later.to_hex(), Some(then)).unwrap_err();
    assert!(error.to_string().contains("at that time"), "{error}");
    assert_eq!(fixture.engine.claim_at(&secret.to_hex(), Some(then)).unwrap().statement, "The token is hunter2");
    fixture.engine.redact(on(secret, "a secret")).unwrap();
    let claim = fixture.engine.claim_at(&secret.to_hex(), Some(then)).unwrap();
    assert!(claim.statement.is_empty() && claim.flags.redacted, "{claim:?}");
}

#[test]
fn a_card_between_two_projects_is_shown_as_it_was() {
    let fixture = Fixture::new();
    let here = fixture.remember("Images are signed", "audits");
    let mut elsewhere = request("Images are never signed", "speed");
    elsewhere.caller.project = "web".into();
    let there = stored(fixture.engine.remember(elsewhere).unwrap()).claim_id;
    let evidence = Evidence { sentence: "Both speak of images.".into(), ..Evidence::default() };
    let finding = Finding { claim: there, tier: Tier::Warn, score: 0.5, evidence };
    let report = GuardReport { tier: Tier::Warn, findings: vec![finding], compared: 1, ..GuardReport::default() };
    let mut found = EventDraft::new(EventKind::Local(local::FOUND.into()), [Ref::Id(here), Ref::Id(there)]);
    found.body.data = Some(serde_json::to_string(&report).unwrap());
    doubts::commit(&fixture, "ada", vec![found]);
    let then = fixture.clock.load(Ordering::Relaxed);
    fixture.clock.fetch_add(1000, Ordering::Relaxed);
    fixture.remember("Logs are kept for 30 days", "disk");
    let card = CardId::of_members(&[here, there]).to_hex();
    let view = fixture.engine.card_at(&card, Some(then)).unwrap();
    assert_eq!((view.summary.status, view.sides.len()), (CardStatus::Open, 2));
}
