//! Recall: the answers to a question, in the words in which they were stored.

use std::{cell::Cell, collections::BTreeSet};

use ergo::{
    api::{RecallAnswer, RecallRequest, RecallVerdict},
    domain::{EventKind, Status},
    infer::{FakeModels, InferError, ModelRole},
    store::EventDraft,
};
use proptest::{prelude::*, test_runner::Config};

use super::*;

fn asking(query: &str) -> RecallRequest {
    RecallRequest { org_id: "acme".into(), project: "api".into(), query: query.into(), ..RecallRequest::default() }
}

fn recall(fixture: &Fixture, query: &str) -> RecallAnswer {
    fixture.engine.recall(&asking(query)).unwrap()
}

fn statements(answer: &RecallAnswer) -> Vec<&str> {
    answer.hits.iter().map(|hit| hit.claim.statement.as_str()).collect()
}

#[test]
fn the_claim_that_speaks_of_most_of_the_question_comes_first() {
    let fixture = Fixture::new();
    fixture.remember("We deploy only on green CI", "red builds broke prod");
    fixture.remember("CI runs on our own machines", "cost");
    fixture.remember("Logs are kept for 30 days", "disk");
    let answer = recall(&fixture, "when may we deploy, on green CI?");
    assert_eq!(statements(&answer)[0], "We deploy only on green CI");
    assert!(answer.verdict == RecallVerdict::Known && !statements(&answer).contains(&"Logs are kept for 30 days"));
    assert_eq!(answer.hits[0].words, ["deploy", "green", "ci"]);
    assert!(answer.method.starts_with("decompose_7"), "{}", answer.method);
}

#[test]
fn the_vocabulary_finds_what_is_asked_for_in_other_words() {
    let fixture = Fixture::new();
    fixture.remember("Events go through Kafka", "we know it");
    fixture.remember("Doors are blue", "taste");
    let answer = recall(&fixture, "Which message broker do we have?");
    assert_eq!((statements(&answer), answer.verdict), (vec!["Events go through Kafka"], RecallVerdict::Known));
    assert!(answer.method.ends_with("_v"), "{}", answer.method);
}

#[test]
fn history_comes_only_when_asked_for_and_after_what_is_in_force() {
    let fixture = Fixture::new();
    let old = fixture.remember("We deploy from laptops", "three people");
    let new = stored(fixture.supersede(old, "We deploy from the CI server", "laptops drifted")).claim_id;
    let wrong = fixture.remember("We deploy from the moon", "typo");
    fixture.retract(wrong, "junk");
    let ids = |answer: &RecallAnswer| -> Vec<_> { answer.hits.iter().map(|hit| hit.claim.id).collect() };
    assert_eq!(ids(&recall(&fixture, "from where do we deploy, laptops?")), [new]);
    let request = RecallRequest { include_history: true, ..asking("from where do we deploy, laptops?") };
    let answer = fixture.engine.recall(&request).unwrap();
    let marked: Vec<_> = answer.hits.iter().map(|hit| hit.claim.status).collect();
    assert_eq!((ids(&answer)[0], marked[0]), (new, Status::Active), "although the other says more of it");
    assert_eq!(ids(&answer)[1], old);
    assert_eq!(marked[1..].iter().copied().collect::<BTreeSet<_>>().len(), 2, "{marked:?}");
    // A small page has room for both.
    let answer = fixture.engine.recall(&RecallRequest { limit: Some(2), ..request }).unwrap();
    assert_eq!(ids(&answer), [new, old]);
}

#[test]
fn only_the_scope_and_the_kinds_that_were_named() {
    let fixture = Fixture::new();
    fixture.remember("The port of the api is 8080", "free");
    stored(fixture.engine.remember(fact("The port of the store is 5432")).unwrap());
    let mut elsewhere = request("The port of the web is 3000", "free");
    elsewhere.caller.project = "web".into();
    stored(fixture.engine.remember(elsewhere).unwrap());
    assert_eq!(recall(&fixture, "port").hits.len(), 2);
    let facts = RecallRequest { kinds: vec![ClaimKind::Fact], ..asking("port") };
    assert_eq!(statements(&fixture.engine.recall(&facts).unwrap()), ["The port of the store is 5432"]);
    let nobody = RecallRequest { project: "none".into(), ..asking("port") };
    let answer = fixture.engine.recall(&nobody).unwrap();
    assert!(
        answer.hits.is_empty()
            && answer.verdict == RecallVerdict::Nothing
            && answer.notes.iter().any(|note| note.contains("acme/none"))
    );
}

#[test]
fn a_claim_of_the_wanted_kind_is_found_behind_more_facts_than_a_list_of_words_holds() {
    let fixture = Fixture::new();
    let decision = fixture.remember("Deploys wait for the window", "two outages");
    let fact = |n: usize| {
        let mut draft = EventDraft::new(EventKind::FactSet, []);
        draft.claim_kind = Some(ClaimKind::Fact);
        draft.body.statement = Some(format!("Deploys wait for the window {n}"));
        draft.body.key = Some(format!("window/{n}"));
        draft
    };
    doubts::commit(&fixture, "ada", (0..1200).map(fact).collect());
    let decisions =
        RecallRequest { kinds: vec![ClaimKind::Decision], ..asking("what do deploys wait for, the window?") };
    let hits = fixture.engine.recall(&decisions).unwrap().hits;
    assert_eq!(hits.iter().map(|hit| hit.claim.id).collect::<Vec<_>>(), [decision]);
}

#[test]
fn what_is_wrong_with_a_request_is_named() {
    let fixture = Fixture::new();
    for (bad, field) in [
        (asking("  "), "query"),
        (asking(&"long ".repeat(300)), "query"),
        (RecallRequest { limit: Some(0), ..asking("x") }, "limit"),
        (RecallRequest { limit: Some(51), ..asking("x") }, "limit"),
        (RecallRequest { org_id: String::new(), ..asking("x") }, "org_id"),
    ] {
        let error = fixture.engine.recall(&bad).unwrap_err();
        assert_eq!(error.field.as_deref(), Some(field), "{error}");
    }
}

/// An embedder for which reverting and going back are the same.
fn reverting() -> FakeModels {
    FakeModels::new().embedding(|text| {
        let reworded = text.to_lowercase().replace("go back", "revert").replace("the last one", "release");
        Ok(FakeModels::bag_of_words(&reworded))
    })
}

#[test]
fn what_shares_no_word_is_found_by_meaning() {
    let models = Arc::new(reverting());
    let fixture = Fixture::new().reopen_with_models(Guard::default(), Arc::clone(&models) as Arc<dyn Models>);
    fixture.remember("Revert a release", "five minutes");
    for n in 0..30 {
        let key = Some(format!("shed/{n}"));
        stored(fixture.engine.remember(RememberRequest { key, ..fact(&format!("Shed {n} is painted blue")) }).unwrap());
    }
    while fixture.engine.fill_vectors().unwrap() > 0 {}
    let answer = recall(&fixture, "go back the last one");
    assert!(answer.by_meaning && answer.notes.is_empty() && answer.verdict == RecallVerdict::Known, "{answer:?}");
    assert_eq!(statements(&answer)[0], "Revert a release");
    assert!(answer.hits[0].cosine.unwrap() > 0.5 && answer.hits[0].words.is_empty());
    assert!(models.asked().iter().any(|(role, _)| *role == ModelRole::Embedder));
}

#[test]
fn what_only_fills_up_the_list_has_the_verdict_nothing() {
    // The question and one claim have the same vector, all others an orthogonal one.
    let models = FakeModels::new().embedding(|text| {
        let mut vector = vec![0.0; FakeModels::DIMENSION];
        let is_reverting = text.contains("Revert") || text.contains("go back");
        vector[usize::from(!is_reverting)] = 1.0;
        Ok(vector)
    });
    let fixture = Fixture::new().reopen_with_models(Guard::default(), Arc::new(models) as Arc<dyn Models>);
    fixture.remember("Revert a release", "five minutes");
    for n in 0..12 {
        let key = Some(format!("shed/{n}"));
        stored(fixture.engine.remember(RememberRequest { key, ..fact(&format!("Shed {n} is painted blue")) }).unwrap());
    }
    while fixture.engine.fill_vectors().unwrap() > 0 {}
    let answer = recall(&fixture, "go back the last one");
    assert_eq!(answer.verdict, RecallVerdict::Known, "{answer:?}");
    let verdicts: Vec<_> = answer.hits.iter().map(|hit| hit.verdict.unwrap()).collect();
    assert_eq!(verdicts, [&[RecallVerdict::Known][..], &[RecallVerdict::Nothing; 9]].concat());
}

#[test]
fn a_question_about_the_reason_finds_the_claim_once_that_has_a_vector() {
    let models = Arc::new(reverting());
    let fixture = Fixture::new().reopen_with_models(Guard::default(), Arc::clone(&models) as Arc<dyn Models>);
    fixture.remember("Tags are signed", "nobody can revert by mistake");
    fixture.remember("Tags are short", "taste");
    stored(fixture.engine.remember(RememberRequest { key: Some("tags".into()), ..fact("Tags are blue") }).unwrap());
    let score = |fixture: &Fixture| {
        let answer = recall(fixture, "go back");
        let at = statements(&answer).iter().position(|statement| *statement == "Tags are signed").unwrap();
        answer.hits[at].score
    };
    let before = score(&fixture);
    assert!(fixture.engine.reasons_wait());
    while fixture.engine.fill_reasons().unwrap() {}
    assert!(!fixture.engine.reasons_wait());
    assert!(score(&fixture) > before + 0.05, "{before} {}", score(&fixture));
    let asked = models.asked().len();
    assert!(!fixture.engine.fill_reasons().unwrap());
    assert_eq!(models.asked().len(), asked, "nothing is asked where nothing waits");
}

#[test]
fn a_reason_that_the_embedder_cannot_take_holds_up_nothing() {
    let fixture = Fixture::new().reopen_with_models(
        Guard::default(),
        Arc::new(FakeModels::new().embedding(|text| match text {
            text if text.contains("spam") => Err(InferError::Refused("no".into())),
            text if text.contains("void") => Ok(vec![0.0; FakeModels::DIMENSION]),
            text => Ok(FakeModels::bag_of_words(text)),
        })),
    );
    fixture.remember("Doors are blue", "taste");
    fixture.remember("Logs are kept", "spam spam");
    fixture.remember("Tags are signed", "void");
    while fixture.engine.fill_reasons().unwrap() {}
    assert!(!fixture.engine.reasons_wait());
    // One that fails is asked again, later; `--filter` does not use another one than the store's at all.
    fixture.remember("Sheds are red", "rust");
    let dead = FakeModels::new()
        .embedding(|_| Err(InferError::Crashed { role: ModelRole::Embedder, why: "ended with signal 11".into() }));
    let fixture = fixture.reopen_with_models(Guard::default(), Arc::new(dead));
    assert!(fixture.engine.reasons_wait() && !fixture.engine.fill_reasons().unwrap() && fixture.engine.reasons_wait());
    let fixture = fixture.reopen();
    assert!(!fixture.engine.reasons_wait() && !fixture.engine.fill_reasons().unwrap());
}

#[test]
fn a_missing_or_dead_embedder_costs_its_part_and_no_answer() {
    let fixture = Fixture::new();
    fixture.remember("Revert a release", "five minutes");
    let answer = recall(&fixture, "how to revert a release");
    assert_eq!(
        (statements(&answer), answer.by_meaning, answer.verdict),
        (vec!["Revert a release"], false, RecallVerdict::Known)
    );
    assert!(answer.notes[0].contains("by words only") && answer.notes[0].contains("embedder"), "{:?}", answer.notes);
    let dead = FakeModels::new()
        .embedding(|_| Err(InferError::Crashed { role: ModelRole::Embedder, why: "ended with signal 11".into() }));
    let fixture = fixture.reopen_with_models(Guard::default(), Arc::new(dead));
    let answer = recall(&fixture, "how to revert a release");
    assert_eq!(statements(&answer), ["Revert a release"]);
    assert!(answer.notes[0].contains("signal 11"), "{:?}", answer.notes);
}

#[test]
fn an_embedder_other_than_the_stores_is_named_and_words_are_left() {
    let fixture = Fixture::new().reopen_with_models(Guard::default(), Arc::new(reverting()));
    fixture.remember("Revert a release", "five minutes");
    let other = FakeModels::new().embedding(|_| Ok(vec![1.0, 0.0, 0.0]));
    let fixture = fixture.reopen_with_models(Guard::default(), Arc::new(other));
    let answer = recall(&fixture, "how to revert a release");
    assert_eq!((statements(&answer), answer.by_meaning), (vec!["Revert a release"], false));
    assert!(answer.notes[0].contains("3 dimensions"), "{:?}", answer.notes);
}

#[test]
fn a_redacted_claim_is_never_found() {
    let fixture = Fixture::new().reopen_with_models(Guard::default(), Arc::new(reverting()));
    let id = fixture.remember("The token is hunter2", "oops");
    fixture.engine.redact(on(id, "a secret")).unwrap();
    let request = RecallRequest { include_history: true, ..asking("the token hunter2") };
    assert!(fixture.engine.recall(&request).unwrap().hits.is_empty());
}

#[test]
fn a_stranger_is_said_to_be_one() {
    let fixture = Fixture::new();
    fixture.remember("We deploy only on green CI", "red builds broke prod");
    let answer = recall(&fixture, "how are the vans of the catering service insured on deploy");
    assert!(answer.verdict != RecallVerdict::Known, "{answer:?}");
    assert!(answer.notes.iter().any(|note| note.contains("closest")), "{:?}", answer.notes);
}

#[test]
fn what_is_not_used_is_no_first_answer_to_what_is() {
    let fixture = Fixture::new();
    let reject = |statement: &str| {
        let kind = Some(ergo::domain::ClaimKind::Rejection);
        stored(fixture.engine.remember(RememberRequest { kind, ..request(statement, "it lost messages") }).unwrap());
    };
    reject("We do not use RabbitMQ");
    fixture.remember("Events go through Kafka", "we know it");
    let first = |query: &str| recall(&fixture, query).hits[0].claim.statement.clone();
    assert_eq!(first("Which message broker do we use?"), "Events go through Kafka");
    assert_eq!(first("Why do we not use RabbitMQ?"), "We do not use RabbitMQ");
    assert_eq!(first("Do we use RabbitMQ?"), "We do not use RabbitMQ");
    // If no other claim is near, it is the best answer.
    reject("We do not use mainframes");
    assert_eq!(first("Which mainframes do we use?"), "We do not use mainframes");
}

#[test]
fn a_probability_comes_with_each_answer_and_says_the_same_as_the_verdict() {
    let fixture = Fixture::new();
    fixture.remember("We deploy only on green CI", "red builds broke prod");
    let known = recall(&fixture, "when may we deploy, on green CI?");
    let unsure = recall(&fixture, "how are the vans of the catering service insured on deploy");
    assert!(known.probability > unsure.probability && known.verdict == RecallVerdict::Known, "{known:?}");
    assert!((0.0..=1.0).contains(&unsure.probability) && !unsure.hits.is_empty(), "{unsure:?}");
    let nothing = recall(&fixture, "zebra");
    assert_eq!((nothing.verdict, nothing.probability), (RecallVerdict::Nothing, 0.0));
}

/// Some words that claims and questions share, and odd characters.
pub(super) fn odd_text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        3 => "(deploys|backups|canary|vault)",
        1 => "[a-c0-9\"*()\\[\\]\n]{1,8}",
        1 => "\\PC{1,8}",
    ];
    prop::collection::vec(word, 1..6).prop_map(|words| words.join(" "))
}

/// For any stored claims and any question, the answers are byte for byte what was stored.
#[test]
fn every_returned_text_is_one_that_was_stored() {
    let hits = Cell::new(0);
    let texts = prop::collection::vec((odd_text(), odd_text()), 1..8);
    let queries = prop::collection::vec(odd_text(), 1..4);
    proptest!(Config { cases: 24, ..Config::default() }, |(texts in texts, queries in queries)| {
        let fixture = Fixture::new().reopen_with_models(
            Guard::default(),
            Arc::new(FakeModels::new().embedding(|text| Ok(FakeModels::bag_of_words(text)))),
        );
        let mut written = BTreeSet::new();
        for (statement, reason) in &texts {
            if let Ok(WriteOutcome::Stored(_)) = fixture.engine.remember(request(statement, reason)) {
                written.insert((statement.trim().to_owned(), Some(reason.trim().to_owned())));
            }
        }
        for query in &queries {
            let request = RecallRequest { include_history: true, ..asking(query) };
            let Ok(answer) = fixture.engine.recall(&request) else { continue };
            for hit in answer.hits {
                prop_assert!(written.contains(&(hit.claim.statement.clone(), hit.claim.reason.clone())), "{hit:?}");
                hits.set(hits.get() + 1);
            }
        }
    });
    assert!(hits.get() > 24, "{} hits", hits.get());
}
