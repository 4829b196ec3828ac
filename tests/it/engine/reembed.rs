//! Another embedder: the store holds to the first one until all vectors are made anew.

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

fn recall(bed: &Bed, query: &str) -> RecallAnswer {
    let request = RecallRequest {
        org_id: "acme".into(),
        project: "api".into(),
        query: query.into(),
        include_history: true,
        ..RecallRequest::default()
    };
    bed.engine.recall(&request).unwrap()
}

/// A store with vectors of one embedder, opened with another.
fn bed(facts: usize) -> Bed {
    let bed = Bed::new().reopen_with_models(Guard::default(), words());
    let old = bed.remember("We deploy from laptops", "three people");
    stored(bed.supersede(old, "We deploy from the CI server", "laptops drifted"));
    for n in 0..facts {
        let key = Some(format!("shed/{n}"));
        stored(bed.engine.remember(RememberRequest { key, ..fact(&format!("Shed {n} is painted blue")) }).unwrap());
    }
    let text = Some("The vault is in Bonn.".into());
    bed.engine.ingest(&IngestRequest { caller: caller(), path: "a.txt".into(), text, share: false }).unwrap();
    while bed.engine.fill_vectors().unwrap() > 0 {}
    bed.reopen_with_models(Guard::default(), letters())
}

#[test]
fn all_vectors_change_at_once_and_what_was_begun_goes_on() {
    let bed = bed(80);
    let late = bed.remember("Doors stay open", "air");
    let answer = recall(&bed, "deploy server");
    assert!(!answer.by_meaning && answer.notes[0].contains("`ergo reembed`"), "{:?}", answer.notes);
    assert_eq!(bed.engine.fill_vectors().unwrap(), 0);
    let waiting = bed.engine.counts().unwrap().unembedded;
    assert!(waiting.claims == 1 && waiting.problem.unwrap().contains("3 dimensions"));
    let first = bed.engine.reembed().unwrap();
    // The superseded claim, which had one; the one in its place; the facts, the late claim and the chunk.
    assert_eq!((first.done, first.total, first.finished), (64, 84, false));
    assert!(!recall(&bed, "deploy server").by_meaning, "not yet");
    let bed = bed.reopen_with_models(Guard::default(), letters());
    let second = bed.engine.reembed().unwrap();
    assert_eq!((second.done, second.total, second.finished), (84, 84, true), "it went on where it was");
    let answer = recall(&bed, "deploy server");
    assert!(answer.by_meaning && answer.hits.iter().all(|hit| hit.cosine.is_some()), "{answer:?}");
    assert!(recall(&bed, "vault in Bonn").references[0].cosine.is_some());
    assert!(recall(&bed, "doors open").hits.iter().any(|hit| hit.claim.id == late && hit.cosine.is_some()));
    assert_eq!(bed.engine.check_store().unwrap().problems, Vec::<String>::new());
    assert!(bed.engine.reembed().unwrap().finished, "there is nothing to do");
}

#[test]
fn a_failing_embedder_costs_nothing_that_was_made() {
    let bed = bed(80);
    assert!(!bed.engine.reembed().unwrap().finished);
    let dead = FakeModels::new()
        .embedding(|_| Err(InferError::Crashed { role: ModelRole::Embedder, why: "ended with signal 9".into() }));
    let bed = bed.reopen_with_models(Guard::default(), Arc::new(dead));
    let error = bed.engine.reembed().unwrap_err();
    assert!(error.to_string().contains("signal 9") && error.hint.as_deref().unwrap().contains("again"), "{error}");
    // Back to the first one: its vectors were never touched.
    let bed = bed.reopen_with_models(Guard::default(), words());
    assert!(recall(&bed, "deploy server").by_meaning);
    assert!(bed.engine.reembed().unwrap().finished, "nothing is begun for this one");
    assert_eq!(bed.engine.check_store().unwrap().problems, Vec::<String>::new());
    let none = Bed::new().engine.reembed().unwrap_err();
    assert_eq!(none.code, ergo::api::ErrorCode::BadRequest, "what was chosen is no failure: {none}");
    assert!(none.hint.as_deref().unwrap().contains("ergo models use embedder default"), "{none}");
}
