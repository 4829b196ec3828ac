//! The unrelated baseline: a scope's own claims decide how similar an answer must be.

use ergo::{
    api::{CalibrateRequest, Calibrated, RecallRequest},
    infer::FakeModels,
};

use super::*;

fn bags() -> Arc<FakeModels> {
    Arc::new(FakeModels::new().embedding(|text| Ok(FakeModels::bag_of_words(text))))
}

/// A scope of `claims` claims that all follow one pattern.
fn crowded(claims: usize) -> Fixture {
    let fixture = Fixture::new().reopen_with_models(Guard::default(), bags());
    add(&fixture, 0..claims);
    fixture
}

fn add(fixture: &Fixture, claims: std::ops::Range<usize>) {
    for n in claims {
        let key = Some(format!("shed/{n}"));
        stored(fixture.engine.remember(RememberRequest { key, ..fact(&format!("Shed {n} is painted blue")) }).unwrap());
    }
    while fixture.engine.fill_vectors().unwrap() > 0 {}
}

/// The log-odds that the best claim answers a question that none of them does.
fn odds(fixture: &Fixture) -> f32 {
    let (org_id, project, query) = ("acme".into(), "api".into(), "who painted the fences?".into());
    let answer = fixture.engine.recall(&RecallRequest { org_id, project, query, ..RecallRequest::default() }).unwrap();
    assert!(answer.by_meaning);
    (answer.probability / (1.0 - answer.probability)).ln()
}

fn calibrate(fixture: &Fixture, dry_run: bool) -> Calibrated {
    let request =
        CalibrateRequest { org_id: "acme".into(), project: "api".into(), dry_run, ..CalibrateRequest::default() };
    fixture.engine.calibrate(&request).unwrap()
}

#[test]
fn a_crowded_scope_makes_each_answer_less_probable_and_keeps_that() {
    let fixture = crowded(40);
    let before = odds(&fixture);
    assert!(fixture.engine.refresh_unrelated_baseline().unwrap());
    let after = odds(&fixture);
    assert!(before - after > 0.1, "{before} {after}");
    assert!(!fixture.engine.refresh_unrelated_baseline().unwrap(), "it is known");
    let fixture = fixture.reopen_with_models(Guard::default(), bags());
    assert!((odds(&fixture) - after).abs() < 1e-3, "it outlives the process");
    assert!(!fixture.engine.refresh_unrelated_baseline().unwrap());
}

#[test]
fn it_is_learned_anew_when_the_scope_has_grown() {
    let fixture = crowded(40);
    assert!(fixture.engine.refresh_unrelated_baseline().unwrap());
    add(&fixture, 40..48);
    assert!(!fixture.engine.refresh_unrelated_baseline().unwrap());
    add(&fixture, 48..50);
    assert!(fixture.engine.refresh_unrelated_baseline().unwrap());
}

#[test]
fn a_handful_of_claims_teaches_nothing() {
    let fixture = crowded(29);
    assert!(!fixture.engine.refresh_unrelated_baseline().unwrap());
    assert_eq!(calibrate(&fixture, false).unrelated_baseline, None);
}

#[test]
fn calibrate_shows_it_and_keeps_it_unless_it_is_only_to_show() {
    let fixture = crowded(40);
    let before = odds(&fixture);
    let shown = calibrate(&fixture, true).unrelated_baseline.unwrap();
    assert_eq!((shown.sample, (shown.raise * 100.0).round()), (40, 15.0));
    assert!(shown.cosine > 0.7, "{shown:?}");
    assert!((odds(&fixture) - before).abs() < 1e-4, "only shown");
    assert_eq!(calibrate(&fixture, false).unrelated_baseline, Some(shown));
    assert!(odds(&fixture) < before - 0.1);
}

#[test]
fn what_another_embedder_taught_counts_no_more() {
    let fixture = crowded(40);
    let before = odds(&fixture);
    assert!(fixture.engine.refresh_unrelated_baseline().unwrap());
    let longer = |text: &str| [FakeModels::bag_of_words(text), vec![0.0]].concat();
    let other = FakeModels::new().embedding(move |text| Ok(longer(text)));
    let fixture = fixture.reopen_with_models(Guard::default(), Arc::new(other));
    while !fixture.engine.reembed().unwrap().finished {}
    assert!((odds(&fixture) - before).abs() < 1e-3, "as if nothing were known");
    assert!(fixture.engine.refresh_unrelated_baseline().unwrap());
    assert!(odds(&fixture) < before - 0.1);
}
