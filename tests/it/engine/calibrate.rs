//! `calibrate`: pairs of a plain word and a word of the scope.

use ergo::{
    api::{CalibrateRequest, Calibrated, RecallRequest, SnapshotQuery},
    infer::{FakeModels, InferError, Prompt},
};

use super::*;

fn calibrate(fixture: &Fixture, dry_run: bool) -> Calibrated {
    let request =
        CalibrateRequest { org_id: "acme".into(), project: "api".into(), dry_run, ..CalibrateRequest::default() };
    fixture.engine.calibrate(&request).unwrap()
}

fn found(fixture: &Fixture, query: &str) -> (String, Vec<String>) {
    let scope = RecallRequest { org_id: "acme".into(), project: "api".into(), ..RecallRequest::default() };
    let answer = fixture.engine.recall(&RecallRequest { query: query.into(), ..scope }).unwrap();
    (answer.method, answer.hits.into_iter().map(|hit| hit.claim.statement).collect())
}

/// A scope in which trinkets, in reasons, come together with Zephyr, in statements.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    for n in 0..40 {
        let key = Some(format!("shed/{n}"));
        stored(fixture.engine.remember(RememberRequest { key, ..fact(&format!("Shed {n} is painted blue")) }).unwrap());
    }
    for (what, why) in [
        ("Zephyr retries uploads", "a trinket was lost once"),
        ("Zephyr keeps receipts", "who sends a trinket asks for them"),
        ("Zephyr signs labels", "a trinket without one strays"),
    ] {
        fixture.remember(what, why);
    }
    fixture
}

#[test]
fn who_asked_for_it_is_notified() {
    let fixture = fixture();
    fixture.acts();
    let request = CalibrateRequest { org_id: "acme".into(), project: "api".into(), ..CalibrateRequest::default() };
    fixture.engine.calibrate(&request).unwrap();
    assert_eq!(fixture.acts(), Vec::<String>::new(), "nobody did");
    fixture.engine.calibrate(&CalibrateRequest { who: Some("ada".into()), ..request.clone() }).unwrap();
    let changes: Vec<_> = fixture.changes.lock().unwrap().drain(..).collect();
    assert_eq!((changes[0].act.as_str(), changes[0].who.as_str()), ("calibrate", "ada"));
    let hidden = CalibrateRequest { who: Some("ada\u{202e}".into()), ..request };
    assert_eq!(fixture.engine.calibrate(&hidden).unwrap_err().field.as_deref(), Some("who"));
}

#[test]
fn what_comes_together_is_asked_with_once_it_is_kept() {
    let fixture = fixture();
    fixture.remember("Zephyr purges drafts", "they pile up");
    let shown = calibrate(&fixture, true);
    let bridge = |answer: &Calibrated| answer.bridges.iter().any(|one| one.from == "trinket" && one.to == "zephyr");
    assert!(bridge(&shown) && shown.note.unwrap().contains("no model is chosen as embedder"), "{:?}", shown.bridges);
    assert_eq!(found(&fixture, "trinket").0, "decompose_1", "only shown");
    assert!(bridge(&calibrate(&fixture, false)));
    let (method, hits) = found(&fixture, "trinket");
    assert_eq!((method.as_str(), hits.len()), ("decompose_1_v", 4), "the one that does not say so is found too");
    // The result survives a restart.
    let fixture = fixture.reopen();
    assert_eq!(found(&fixture, "trinket").0, "decompose_1_v");
}

#[test]
fn synonyms_are_joined_if_an_embedder_is_available() {
    let models = FakeModels::new().embedding(|text| {
        let reworded = text.to_lowercase().replace("erase", "vaporise");
        Ok(FakeModels::bag_of_words(&reworded))
    });
    let fixture = fixture().reopen_with_models(Guard::default(), Arc::new(models));
    fixture.remember("Vaporise drafts nightly", "they pile up");
    let answer = calibrate(&fixture, true);
    assert!(answer.note.is_none());
    assert!(answer.bridges.iter().any(|one| one.to == "vaporise" && one.cosine.unwrap() > 0.9), "{:?}", answer.bridges);
}

#[test]
fn the_language_model_says_of_pairs_that_are_only_hinted_at() {
    let half = |text: &str| {
        let reworded = text.to_lowercase().replace("erase", "vaporise entirely utterly");
        Ok(FakeModels::bag_of_words(&reworded))
    };
    let answering = |prompt: &Prompt, answers: &[String]| {
        assert_eq!(answers, ["Yes", "No"]);
        let yes = prompt.text.contains("Asked for: erase. Written: vaporise. Note: Vaporise drafts nightly");
        Ok(if yes { vec![-0.1, -2.0] } else { vec![-2.0, -0.1] })
    };
    let models = FakeModels::new().embedding(half).answering(answering);
    let fixture = fixture().reopen_with_models(Guard::default(), Arc::new(models));
    fixture.remember("Vaporise drafts nightly", "they pile up");
    let answer = calibrate(&fixture, false);
    let confirmed: Vec<_> =
        answer.bridges.iter().filter(|one| one.confirmed).map(|one| (&*one.from, &*one.to)).collect();
    assert_eq!((confirmed, answer.note), (vec![("erase", "vaporise")], None));
    assert_eq!(found(&fixture, "erase what?").0, "decompose_1_v");
    // A failed request only loses its own result.
    let failing = FakeModels::new().embedding(half).answering(|_, _| Err(InferError::Refused("too hot".into())));
    let fixture = fixture.reopen_with_models(Guard::default(), Arc::new(failing));
    let answer = calibrate(&fixture, true);
    assert!(answer.bridges.iter().all(|one| !one.confirmed));
    assert!(answer.note.unwrap().contains("too hot"));
}

#[test]
fn a_redacted_word_is_in_no_bridge_and_on_no_page() {
    let fixture = fixture();
    let secret = fixture.remember("Zephyr reads hunter2", "a trinket needs it");
    let page = || {
        let query = SnapshotQuery { org_id: "acme".into(), project: "api".into(), ..SnapshotQuery::default() };
        fixture.engine.snapshot(&query).unwrap().snapshot
    };
    calibrate(&fixture, false);
    assert!(page().contains("hunter2"));
    fixture.engine.redact(on(secret, "a secret")).unwrap();
    assert!(!page().contains("hunter2"), "not even as the last page that was made");
    assert_eq!(found(&fixture, "trinket").0, "decompose_1", "the bridge went with it");
}
