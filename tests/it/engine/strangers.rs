//! The unrelated baseline: a scope's own claims decide how similar an answer must be.

use ergo::{
    api::{CalibrateRequest, Calibrated, RecallRequest},
    infer::FakeModels,
};

use super::*;

fn bags() -> Arc<FakeModels> {
    Arc::new(FakeModels::new().embedding(|text| Ok(FakeModels::bag_of_words(text))))
}

/// A scope of so many claims that are all made after one pattern.
fn crowded(claims: usize) -> Bed {
    let bed = Bed::new().reopen_with_models(Guard::default(), bags());
    add(&bed, 0..claims);
    bed
}

fn add(bed: &Bed, claims: std::ops::Range<usize>) {
    for n in claims {
        let key = Some(format!("shed/{n}"));
        stored(bed.engine.remember(RememberRequest { key, ..fact(&format!("Shed {n} is painted blue")) }).unwrap());
    }
    while bed.engine.fill_vectors().unwrap() > 0 {}
}

/// The log-odds that the best claim answers a question that none of them does.
fn odds(bed: &Bed) -> f32 {
    let (org_id, project, query) = ("acme".into(), "api".into(), "who painted the fences?".into());
    let answer = bed.engine.recall(&RecallRequest { org_id, project, query, ..RecallRequest::default() }).unwrap();
    assert!(answer.by_meaning);
    (answer.probability / (1.0 - answer.probability)).ln()
}

fn calibrate(bed: &Bed, dry_run: bool) -> Calibrated {
    let request =
        CalibrateRequest { org_id: "acme".into(), project: "api".into(), dry_run, ..CalibrateRequest::default() };
    bed.engine.calibrate(&request).unwrap()
}

#[test]
fn a_crowded_scope_makes_each_answer_less_probable_and_keeps_that() {
    let bed = crowded(40);
    let before = odds(&bed);
    assert!(bed.engine.refresh_unrelated_baseline().unwrap());
    let after = odds(&bed);
    assert!(before - after > 0.1, "{before} {after}");
    assert!(!bed.engine.refresh_unrelated_baseline().unwrap(), "it is known");
    let bed = bed.reopen_with_models(Guard::default(), bags());
    assert!((odds(&bed) - after).abs() < 1e-3, "it outlives the process");
    assert!(!bed.engine.refresh_unrelated_baseline().unwrap());
}

#[test]
fn it_is_learned_anew_when_the_scope_has_grown() {
    let bed = crowded(40);
    assert!(bed.engine.refresh_unrelated_baseline().unwrap());
    add(&bed, 40..48);
    assert!(!bed.engine.refresh_unrelated_baseline().unwrap());
    add(&bed, 48..50);
    assert!(bed.engine.refresh_unrelated_baseline().unwrap());
}

#[test]
fn a_handful_of_claims_teaches_nothing() {
    let bed = crowded(29);
    assert!(!bed.engine.refresh_unrelated_baseline().unwrap());
    assert_eq!(calibrate(&bed, false).unrelated_baseline, None);
}

#[test]
fn calibrate_shows_it_and_keeps_it_unless_it_is_only_to_show() {
    let bed = crowded(40);
    let before = odds(&bed);
    let shown = calibrate(&bed, true).unrelated_baseline.unwrap();
    assert_eq!((shown.sample, (shown.raise * 100.0).round()), (40, 15.0));
    assert!(shown.cosine > 0.7, "{shown:?}");
    assert!((odds(&bed) - before).abs() < 1e-4, "only shown");
    assert_eq!(calibrate(&bed, false).unrelated_baseline, Some(shown));
    assert!(odds(&bed) < before - 0.1);
}

#[test]
fn what_another_embedder_taught_counts_no_more() {
    let bed = crowded(40);
    let before = odds(&bed);
    assert!(bed.engine.refresh_unrelated_baseline().unwrap());
    let longer = |text: &str| [FakeModels::bag_of_words(text), vec![0.0]].concat();
    let other = FakeModels::new().embedding(move |text| Ok(longer(text)));
    let bed = bed.reopen_with_models(Guard::default(), Arc::new(other));
    while !bed.engine.reembed().unwrap().finished {}
    assert!((odds(&bed) - before).abs() < 1e-3, "as if nothing were known");
    assert!(bed.engine.refresh_unrelated_baseline().unwrap());
    assert!(odds(&bed) < before - 0.1);
}
