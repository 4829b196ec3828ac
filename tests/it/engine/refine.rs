//! The language model as a normaliser: before the write if there is time to wait, else after it; and its failures.

use std::time::Duration;

use ergo::{
    domain::{guard_report::Confidence, norm::SubjectKind},
    infer::{FakeModels, InferError, ModelRole, Models},
};

use super::*;

const VEGA: &str = "We draw our charts with vega";
const PLOTLY: &str = "We draw our charts with plotly";

/// The norm that a good language model returns for each statement.
fn norm_of(statement: &str) -> String {
    let tool = if statement.contains("vega") { "vega" } else { "plotly" };
    format!(r#"{{"modality": "must", "subject": "charts", "object": null, "value": "{tool}"}}"#)
}

/// A language model that answers about the last statement of a prompt.
fn reader(answer: impl Fn(&str) -> Result<String, InferError> + Send + Sync + 'static) -> Arc<FakeModels> {
    Arc::new(FakeModels::new().generating(move |prompt| answer(&prompt.text)))
}

fn fixture(models: &Arc<FakeModels>, deep: DeepMode) -> Fixture {
    Fixture::new().reopen_deep(Guard::default(), Arc::clone(models) as Arc<dyn Models>, deep)
}

fn asked(models: &FakeModels) -> usize {
    models.asked().iter().filter(|(role, _)| *role == ModelRole::Llm).count()
}

/// The guard's result for a dry run.
fn dry(fixture: &Fixture, statement: &str) -> Stored {
    let request = RememberRequest { dry_run: true, ..request(statement, "measured") };
    stored(fixture.engine.remember(request).unwrap())
}

#[test]
fn inline_the_refined_norm_goes_into_the_event_with_its_normalisers_name() {
    let models = reader(|statement| Ok(norm_of(statement)));
    let fixture = fixture(&models, DeepMode::Inline);
    let claim = fixture.claim(fixture.remember(VEGA, "the team knows it"));
    assert_eq!((claim.norms[0].value.as_deref(), claim.norms[0].confidence), (Some("vega"), Some(Confidence::Med)));
    let second = stored(fixture.try_remember(PLOTLY, "nicer"));
    let warning = second.warnings.iter().find_map(|warning| warning.conflict.as_ref()).expect("a warning");
    assert_eq!((warning.rule.as_str(), warning.evidence.confidence), ("value_conflict", Confidence::Med));
    for version in [&warning.evidence.normaliser, &warning.evidence.their_normaliser] {
        assert!(version.starts_with("rules-en/4+llm/") && version.contains("fake-llm"), "{version}");
    }
    assert_eq!(fixture.open_cards(), 0, "what only a model reads opens no card that syncs");
    assert_eq!(fixture.engine.counts().unwrap().guard.refined, 2);
}

#[test]
fn in_the_background_the_write_waits_for_the_rules_alone_and_later_comparisons_go_by_the_model() {
    let models = reader(|statement| Ok(norm_of(statement)));
    let fixture = fixture(&models, DeepMode::Background);
    let claim = fixture.remember(VEGA, "the team knows it");
    assert_eq!(asked(&models), 0, "a write does not wait for it");
    let before = dry(&fixture, PLOTLY).warnings;
    while fixture.engine.deepen_next().unwrap() {}
    assert_eq!(asked(&models), 1);
    let event = fixture.claim(claim);
    assert_eq!((event.norms[0].value.clone(), event.norms[0].confidence), (None, None), "the event stays as it is");
    assert!(before.iter().all(|warning| warning.conflict.is_none()), "{before:?}");
    // The new write is read by the rules, the old one by both: one value, and nothing decides.
    fixture.remember(PLOTLY, "nicer");
    while fixture.engine.deepen_next().unwrap() {}
    let counts = fixture.engine.counts().unwrap().guard;
    assert_eq!((counts.refined, counts.skipped, asked(&models)), (2, 0, 2));
    assert_eq!(fixture.open_cards(), 0);
}

#[test]
fn a_statement_is_read_once_also_across_a_restart_and_a_rebuild() {
    let models = reader(|statement| Ok(norm_of(statement)));
    let fixture = fixture(&models, DeepMode::Inline);
    dry(&fixture, VEGA);
    assert_eq!(asked(&models), 1);
    fixture.remember(VEGA, "the team knows it");
    assert_eq!(asked(&models), 2, "a dry run keeps nothing");
    let fixture = fixture.reopen_deep(Guard::default(), Arc::clone(&models) as Arc<dyn Models>, DeepMode::Inline);
    let elsewhere = RememberRequest {
        caller: Caller { project: "web".into(), ..caller() },
        ..request(&format!("  {VEGA} "), "the same words")
    };
    stored(fixture.engine.remember(elsewhere).unwrap());
    assert_eq!(asked(&models), 2);
}

#[test]
fn no_answer_no_norm_and_no_model_leave_the_rules_norm_and_say_so() {
    let timeout = || InferError::Timeout { role: ModelRole::Llm, after: Duration::from_secs(10) };
    let answers = [
        ("did not answer with a norm", Ok("I'm sorry, I can't help with that.".to_owned())),
        ("did not answer with a norm", Ok(r#"{"modality": "must", "subj"#.to_owned())),
        ("too long to be a norm", Ok("x".repeat(5_000))),
        ("did not answer within", Err(timeout())),
    ];
    let plain = {
        let fixture = Fixture::new();
        fixture.claim(fixture.remember(VEGA, "the team knows it")).norms
    };
    for (why, answer) in answers {
        let models = reader(move |_| answer.clone());
        let fixture = fixture(&models, DeepMode::Inline);
        let outcome = stored(fixture.try_remember(VEGA, "the team knows it"));
        let warning = outcome.warnings.iter().find(|warning| warning.code == "stage_skipped").expect(why);
        assert!(warning.message.contains(why), "{}", warning.message);
        assert_eq!(fixture.claim(outcome.claim_id).norms, plain);
        assert_eq!(
            (fixture.engine.counts().unwrap().guard.skipped, fixture.engine.counts().unwrap().guard.refined),
            (1, 0)
        );
    }
    let failing = reader(move |_| Err(timeout()));
    let fixture = fixture(&failing, DeepMode::Background);
    let outcome = stored(fixture.try_remember(VEGA, "the team knows it"));
    while fixture.engine.deepen_next().unwrap() {}
    assert_eq!((fixture.claim(outcome.claim_id).norms, fixture.engine.counts().unwrap().guard.skipped), (plain, 1));
}

#[test]
fn facts_long_texts_what_the_rules_read_whole_and_deep_off_are_not_asked_about() {
    let models = reader(|statement| Ok(norm_of(statement)));
    let inline = fixture(&models, DeepMode::Inline);
    stored(inline.engine.remember(fact("The port of Postgres is 5432")).unwrap());
    stored(inline.try_remember(&"A long story about charts. ".repeat(40), "prose"));
    stored(inline.try_remember("Every deploy goes through a blue canary", "it is read whole by the rules"));
    let off = fixture(&models, DeepMode::Off);
    off.remember(VEGA, "the team knows it");
    while off.engine.deepen_next().unwrap() {}
    assert_eq!(asked(&models), 0);
}

#[test]
fn explicit_words_are_stronger_than_a_model_that_is_wrong_or_hostile() {
    let models = reader(|_| {
        Ok(r#"{"modality": "must", "subject": "customer emails", "object": "logged", "value": null}"#.into())
    });
    let fixture = fixture(&models, DeepMode::Inline);
    let claim = fixture.claim(fixture.remember("Customer emails must never be logged", "privacy"));
    assert_eq!(claim.norms[0].modality, ergo::domain::norm::Modality::MustNot);
    let none = reader(|_| Ok(r#"{"modality": "may", "subject": null, "object": null, "value": null}"#.into()));
    let fixture = super::refine::fixture(&none, DeepMode::Inline);
    let claim = fixture.claim(fixture.remember("Customer emails must never be logged", "privacy"));
    assert_eq!(claim.norms[0].subject_kind, SubjectKind::Fuzzy, "comparable still");
    refused(fixture.try_remember("Customer emails must always be logged", "audits"));
}
