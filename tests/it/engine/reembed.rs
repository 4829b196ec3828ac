//! A change of the embedder: the store keeps the first one until all vectors were recomputed.

use ergo::{
    api::{IngestRequest, RecallAnswer, RecallRequest},
    infer::{FakeModels, InferError, ModelRole},
};

use super::*;

/// An embedder of three numbers, which counts letters.
fn letters() -> Arc<dyn Models> {
    Arc::new(FakeModels::new().embedding(|text| {
        let count = |letter| 1.0 + text.matches(letter).count() as f32;
        Ok(vec![count('a'), count('e'), count('o')])
    }))
}

fn words() -> Arc<dyn Models> {
    Arc::new(FakeModels::new().embedding(|text| Ok(FakeModels::bag_of_words(text))))
}

fn recall(fixture: &Fixture, query: &str) -> RecallAnswer {
    let request = RecallRequest {
        org_id: "acme".into(),
        project: "api".into(),
        query: query.into(),
        include_history: true,
        ..RecallRequest::default()
    };
    fixture.engine.recall(&request).unwrap()
}

/// A store with vectors of one embedder, opened with another.
fn fixture(facts: usize) -> Fixture {
    let fixture = Fixture::new().reopen_with_models(Guard::default(), words());
    let old = fixture.remember("We deploy from laptops", "three people");
    stored(fixture.supersede(old, "We deploy from the CI server", "laptops drifted"));
    for n in 0..facts {
        let key = Some(format!("shed/{n}"));
        stored(fixture.engine.remember(RememberRequest { key, ..fact(&format!("Shed {n} is painted blue")) }).unwrap());
    }
    let text = Some("The vault is in Bonn.".into());
    fixture.engine.ingest(&IngestRequest { caller: caller(), path: "a.txt".into(), text, share: false }).unwrap();
    while fixture.engine.fill_vectors().unwrap() > 0 {}
    fixture.reopen_with_models(Guard::default(), letters())
}

#[test]
fn all_vectors_change_at_once_and_what_was_begun_goes_on() {
    let fixture = fixture(80);
    let late = fixture.remember("Doors stay open", "air");
    let answer = recall(&fixture, "deploy server");
    assert!(!answer.by_meaning && answer.notes[0].contains("`ergo reembed`"), "{:?}", answer.notes);
    assert_eq!(fixture.engine.fill_vectors().unwrap(), 0);
    let waiting = fixture.engine.counts().unwrap().unembedded;
    assert!(waiting.claims == 1 && waiting.problem.unwrap().contains("3 dimensions"));
    let first = fixture.engine.reembed().unwrap();
    // The superseded claim, which had one; the one in its place; the facts, the late claim and the chunk.
    assert_eq!((first.done, first.total, first.finished), (64, 84, false));
    assert!(!recall(&fixture, "deploy server").by_meaning, "not yet");
    let fixture = fixture.reopen_with_models(Guard::default(), letters());
    let second = fixture.engine.reembed().unwrap();
    assert_eq!((second.done, second.total, second.finished), (84, 84, true), "it went on where it was");
    let answer = recall(&fixture, "deploy server");
    assert!(answer.by_meaning && answer.hits.iter().all(|hit| hit.cosine.is_some()), "{answer:?}");
    assert!(recall(&fixture, "vault in Bonn").references[0].cosine.is_some());
    assert!(recall(&fixture, "doors open").hits.iter().any(|hit| hit.claim.id == late && hit.cosine.is_some()));
    assert_eq!(fixture.engine.check_store().unwrap().problems, Vec::<String>::new());
    assert!(fixture.engine.reembed().unwrap().finished, "there is nothing to do");
}

#[test]
fn a_failing_embedder_costs_nothing_that_was_made() {
    let fixture = fixture(80);
    assert!(!fixture.engine.reembed().unwrap().finished);
    let dead = FakeModels::new()
        .embedding(|_| Err(InferError::Crashed { role: ModelRole::Embedder, why: "ended with signal 9".into() }));
    let fixture = fixture.reopen_with_models(Guard::default(), Arc::new(dead));
    let error = fixture.engine.reembed().unwrap_err();
    assert!(error.to_string().contains("signal 9") && error.hint.as_deref().unwrap().contains("again"), "{error}");
    // Back to the first one: its vectors were never touched.
    let fixture = fixture.reopen_with_models(Guard::default(), words());
    assert!(recall(&fixture, "deploy server").by_meaning);
    assert!(fixture.engine.reembed().unwrap().finished, "nothing is begun for this one");
    assert_eq!(fixture.engine.check_store().unwrap().problems, Vec::<String>::new());
    let none = Fixture::new().engine.reembed().unwrap_err();
    assert_eq!(none.code, ergo::api::ErrorCode::BadRequest, "what was chosen is no failure: {none}");
    assert!(none.hint.as_deref().unwrap().contains("ergo models use embedder default"), "{none}");
}
