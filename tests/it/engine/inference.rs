//! Writes with models: their answers decide, a failure of theirs costs no write, and nothing waits for them under the
//! lock.

use std::{
    sync::{OnceLock, Weak},
    time::Duration,
};

use ergo::{
    api::AuditRequest,
    domain::guard_report::RuleId,
    guard::{
        JudgeWeights,
        weights::{Thresholds, built_in},
    },
    infer::{FakeModels, InferError, ModelRole, Models, Priority},
};

use super::*;

/// A judge that trusts the cross-encoder alone, and passes it every pair with common words.
pub(super) fn trusting() -> Guard {
    let thresholds = Thresholds { block: 0.9, warn: 0.6, ..Thresholds::default() };
    let mut weights = JudgeWeights { thresholds, rules: built_in().rules.clone(), ..JudgeWeights::default() };
    weights.weights = [("margin".to_owned(), 10.0)].into();
    weights.gate.overlap = 0.05;
    Guard::default().with_weights(weights)
}

/// A cross-encoder that finds a contradiction, by this margin, if one side says early and the other late.
pub(super) fn early_or_late(margin: f32) -> FakeModels {
    FakeModels::new().embedding(|text| Ok(FakeModels::bag_of_words(text))).classifying(move |a, b| {
        let opposed = a.contains("early") != b.contains("early");
        Ok([0.0, 0.0, if opposed { margin } else { -5.0 }])
    })
}

pub(super) const EARLY: &str = "Reviews are asked for early, while the change is small";
pub(super) const LATE: &str = "Reviews are asked for once the whole change is done";

fn fixture(models: Arc<dyn Models>) -> Fixture {
    Fixture::new().reopen_with_models(trusting(), models)
}

#[test]
fn what_a_cross_encoder_says_in_both_orders_decides() {
    let models = Arc::new(early_or_late(4.0));
    let fixture = fixture(Arc::clone(&models) as Arc<dyn Models>);
    fixture.remember(EARLY, "cheap to change");
    let refused = refused(fixture.try_remember(LATE, "one look is enough"));
    let conflict = &refused.conflicts[0];
    assert_eq!(conflict.rule, "inferred");
    assert!(conflict.score > 0.9 && conflict.evidence.features.contains_key("margin"));
    assert!(models.asked().iter().all(|(_, call)| call.priority == Priority::Foreground));
    let guard = fixture.engine.counts().unwrap().guard;
    assert_eq!((guard.block, guard.inferred, guard.skipped), (1, 1, 0));
}

/// The deep stage reads what was just written, and a refused write comes again: the small models have said it all.
#[test]
fn what_was_asked_lately_is_not_asked_again() {
    let models = Arc::new(unsure(true));
    let fixture = Fixture::new().reopen_with_models(deepening(), Arc::clone(&models) as Arc<dyn Models>);
    fixture.remember(EARLY, "cheap to change");
    stored(fixture.engine.remember(RememberRequest { dry_run: true, ..request(LATE, "one look is enough") }).unwrap());
    let asked = models.asked();
    assert!(asked.iter().any(|(role, _)| *role == ModelRole::Nli));
    fixture.remember(LATE, "one look is enough");
    assert_eq!(models.asked().len(), asked.len());
    while fixture.engine.deepen_next().unwrap() {}
    assert!(models.asked()[asked.len()..].iter().all(|(role, _)| *role == ModelRole::Llm));
    assert_eq!(fixture.open_cards(), 1);
}

#[test]
fn a_softer_word_warns() {
    let fixture = fixture(Arc::new(early_or_late(1.5)));
    fixture.remember(EARLY, "cheap to change");
    let warnings = stored(fixture.try_remember(LATE, "one look is enough")).warnings;
    assert_eq!(warnings.iter().map(|w| w.code.as_str()).collect::<Vec<_>>(), ["softer_conflict"]);
}

#[test]
fn facts_duplicates_and_retries_ask_no_model() {
    let models = Arc::new(early_or_late(4.0));
    let fixture = fixture(Arc::clone(&models) as Arc<dyn Models>);
    stored(fixture.engine.remember(fact(EARLY)).unwrap());
    assert!(models.asked().is_empty());
    let once = RememberRequest { caller: Caller { op_id: Some(op(5)), ..caller() }, ..request(EARLY, "cheap") };
    stored(fixture.engine.remember(once.clone()).unwrap());
    let asked = models.asked().len();
    assert!(asked > 0);
    stored(fixture.engine.remember(once).unwrap());
    stored(fixture.try_remember(EARLY, "cheap"));
    assert_eq!(models.asked().len(), asked);
}

#[test]
fn a_model_that_fails_costs_a_warning_and_no_write() {
    let models = FakeModels::new()
        .embedding(|text| Ok(FakeModels::bag_of_words(text)))
        .classifying(|_, _| Err(InferError::Timeout { role: ModelRole::Nli, after: Duration::from_millis(7) }));
    let fixture = fixture(Arc::new(models));
    let first = stored(fixture.try_remember(EARLY, "cheap to change"));
    assert!(first.warnings.is_empty(), "there was nothing to infer: {:?}", first.warnings);
    let second = stored(fixture.try_remember(LATE, "one look is enough"));
    let warning = &second.warnings[0];
    assert_eq!(warning.code, "stage_skipped");
    assert!(warning.message.contains("cross-encoder") && warning.message.contains("7 ms"), "{}", warning.message);
    assert_eq!(fixture.engine.counts().unwrap().guard.skipped, 1);
}

/// Many writers at once: none waits long, and skipped checks are made up for.
#[test]
fn where_the_models_are_busy_rules_compare_and_the_background_compares_again() {
    let busy = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let seen = Arc::clone(&busy);
    let models = FakeModels::new().embedding(|text| Ok(FakeModels::bag_of_words(text))).classifying(move |a, b| {
        if seen.load(Ordering::Relaxed) {
            return Err(InferError::Busy { role: ModelRole::Nli });
        }
        Ok([0.0, 0.0, if a.contains("early") == b.contains("early") { -5.0 } else { 4.0 }])
    });
    let models = Arc::new(models);
    let fixture = fixture(Arc::clone(&models) as Arc<dyn Models>);
    fixture.remember(EARLY, "cheap to change");
    let stored = stored(fixture.try_remember(LATE, "one look is enough"));
    let warning = &stored.warnings[0];
    assert_eq!(warning.code, "stage_skipped");
    assert!(warning.message.contains("busy"), "{}", warning.message);
    assert!(models.asked().iter().all(|(_, call)| call.longest_queue.is_some()));
    assert_eq!(fixture.open_cards(), 0);

    busy.store(false, Ordering::Relaxed);
    while fixture.engine.deepen_next().unwrap() {}
    assert_eq!(fixture.open_cards(), 1, "the background found what the write could not");
}

/// Another writer writes during the cross-encoder's answer, which is possible only if the lock is not held.
#[test]
fn no_lock_is_held_during_inference_and_concurrent_writes_are_listed() {
    let engine: Arc<OnceLock<Weak<Engine>>> = Arc::default();
    let (seen, done) = (Arc::clone(&engine), std::sync::atomic::AtomicBool::new(false));
    let models = FakeModels::new().classifying(move |_, _| {
        // The other write asks about its own pair too.
        if !done.swap(true, Ordering::Relaxed) {
            let engine = seen.get().and_then(Weak::upgrade).unwrap();
            let other = request("Reviews are asked for early in the week, while the change is fresh", "rhythm");
            stored(engine.remember(RememberRequest { force_exception: Some("test".into()), ..other }).unwrap());
        }
        Ok([0.0, 0.0, 1.5])
    });
    let fixture = fixture(Arc::new(models));
    fixture.remember(EARLY, "cheap to change");
    let Fixture { engine: owned, dir, .. } = fixture;
    let owned = Arc::new(owned);
    engine.set(Arc::downgrade(&owned)).unwrap();
    let outcome = stored(owned.remember(request(LATE, "one look is enough")).unwrap());
    let messages: Vec<&str> = outcome.warnings.iter().map(|w| w.message.as_str()).collect();
    assert!(messages.iter().any(|text| text.contains("at the same moment")), "{messages:?}");
    drop((owned, dir));
}

/// Remembers that hooks do not run the linter while `meanwhile` runs during the models' answer.
fn remember_while(fixture: Fixture, meanwhile: impl Fn(&Engine) + Send + Sync + 'static) -> WriteOutcome {
    let engine: Arc<OnceLock<Weak<Engine>>> = Arc::default();
    let (seen, done) = (Arc::clone(&engine), std::sync::atomic::AtomicBool::new(false));
    let models = FakeModels::new().classifying(move |_, _| {
        if !done.swap(true, Ordering::Relaxed) {
            meanwhile(&seen.get().and_then(Weak::upgrade).unwrap());
        }
        Ok([0.0, 0.0, -5.0])
    });
    let Fixture { engine: owned, dir, .. } = fixture.reopen_with_models(trusting(), Arc::new(models));
    let owned = Arc::new(owned);
    engine.set(Arc::downgrade(&owned)).unwrap();
    let outcome = owned.remember(request("The linter must not run as a hook", "slow")).unwrap();
    drop((owned, dir));
    outcome
}

const HOOK: &str = "The linter must run as a hook";
/// A claim about which the models are always asked.
const NEIGHBOUR: &str = "The linter of the website never runs on generated files";

#[test]
fn a_claim_that_is_stored_while_the_models_compute_is_compared_by_the_rules() {
    let fixture = Fixture::new();
    fixture.remember(NEIGHBOUR, "noise");
    let outcome = remember_while(fixture, |engine| {
        stored(engine.remember(request("Tests of the website are never retried", "flakes hide bugs")).unwrap());
        stored(engine.remember(request(HOOK, "fast")).unwrap());
    });
    assert_eq!(refused(outcome).conflicts[0].claim.statement, HOOK);
}

#[test]
fn a_claim_that_is_taken_back_while_the_models_compute_refuses_nothing() {
    let fixture = Fixture::new();
    fixture.remember(NEIGHBOUR, "noise");
    let hook = fixture.remember(HOOK, "fast");
    let outcome = remember_while(fixture, move |engine| {
        done(engine.retract(on(hook, "it is not")).unwrap());
    });
    assert_eq!(stored(outcome).warnings, []);
}

#[test]
fn a_claim_that_returns_while_the_models_compute_is_compared() {
    let fixture = Fixture::new();
    fixture.remember(NEIGHBOUR, "noise");
    let hook = fixture.remember(HOOK, "fast");
    fixture.retract(hook, "it is not");
    let outcome = remember_while(fixture, |engine| {
        engine.undo(UndoRequest { caller: caller(), ..UndoRequest::default() }).unwrap();
    });
    assert_eq!(refused(outcome).conflicts[0].claim.statement, HOOK);
}

#[test]
fn a_successor_and_a_text_that_settles_a_card_pass_the_models_too() {
    let fixture = fixture(Arc::new(early_or_late(4.0)));
    fixture.remember(EARLY, "cheap to change");
    let target = fixture.remember("The linter runs as a hook", "fast");
    let refused_again = refused(fixture.supersede(target, LATE, "one look is enough"));
    assert_eq!(refused_again.conflicts[0].rule, "inferred");

    let card = fixture.refuse("Deployments go through a red gate, reviews are asked for once it is done", "prettier");
    let merged = ResolveRequest {
        statement: Some("Reviews of the change are asked for when it is done, not before".into()),
        ..order(CardAct::Narrow, "both")
    };
    let side = fixture.card(card).sides.iter().find(|side| side.new_claim).unwrap().claim.id;
    let outcome = fixture.resolve(card, ResolveRequest { target: Some(side.to_hex()), ..merged });
    // The person's decision overrides the claim on the card; nothing else opposes it.
    assert!(matches!(outcome, WriteOutcome::Done(_)), "{outcome:?}");
}

#[test]
fn an_audit_asks_in_the_background_and_opens_cards() {
    let fixture = Fixture::new();
    fixture.remember(EARLY, "cheap to change");
    fixture.remember(LATE, "one look is enough");
    let models = Arc::new(early_or_late(4.0));
    let fixture = fixture.reopen_with_models(trusting(), Arc::clone(&models) as Arc<dyn Models>);
    let outcome = fixture.engine.audit(AuditRequest { caller: caller(), dry_run: false }).unwrap();
    assert_eq!((outcome.opened.len(), outcome.inferred, outcome.skipped), (1, 1, None));
    let asked = models.asked();
    assert!(asked.iter().any(|(role, _)| *role == ModelRole::Nli));
    assert!(asked.iter().all(|(_, call)| call.priority == Priority::Background));

    let broken = FakeModels::new()
        .classifying(|_, _| Err(InferError::Crashed { role: ModelRole::Nli, why: "was killed".into() }));
    let fixture = fixture.reopen_with_models(trusting(), Arc::new(broken));
    let outcome = fixture.engine.audit(AuditRequest { caller: caller(), dry_run: true }).unwrap();
    assert!(outcome.skipped.unwrap().contains("was killed"));
}

#[test]
fn the_vector_of_a_claim_is_stored_with_it_and_made_later_where_it_is_missing() {
    let fixture = Fixture::new();
    fixture.remember("The linter runs as a hook", "fast");
    stored(fixture.engine.remember(fact("The port is 80")).unwrap());
    let fixture = fixture.reopen_with_models(trusting(), Arc::new(early_or_late(4.0)));
    fixture.remember(EARLY, "cheap to change");
    // The first two lack theirs; the third came with its own.
    assert_eq!(fixture.engine.fill_vectors().unwrap(), 2);
    assert_eq!(fixture.engine.fill_vectors().unwrap(), 0);

    let broken =
        FakeModels::new().embedding(|_| Err(InferError::Crashed { role: ModelRole::Embedder, why: "died".into() }));
    let fixture = fixture.reopen_with_models(trusting(), Arc::new(broken));
    let outcome = stored(fixture.try_remember("Feature flags live in the repository", "one place"));
    assert!(outcome.warnings.iter().any(|w| w.code == "stage_skipped"), "{:?}", outcome.warnings);
    assert_eq!(fixture.engine.fill_vectors().unwrap(), 0);
}

#[test]
fn a_text_that_the_embedder_refuses_keeps_no_other_from_its_vector() {
    let fixture = Fixture::new();
    for n in 0..40 {
        fixture.remember(&format!("Module {n} is written by team {n}"), "measured");
    }
    // The newest come first: a whole batch of them is refused.
    for n in 0..17 {
        fixture.remember(&format!("Module {} holds Poison", 100 + n), "measured");
    }
    let models = Arc::new(FakeModels::new().embedding(|text| match text.contains("Poison") {
        true => Err(InferError::Refused("too long".into())),
        false if text.contains("Module 7 ") => Ok(vec![0.0; FakeModels::DIMENSION]),
        false => Ok(FakeModels::bag_of_words(text)),
    }));
    let fixture = fixture.reopen_with_models(trusting(), Arc::clone(&models) as Arc<dyn Models>);
    let mut stored = 0;
    loop {
        match fixture.engine.fill_vectors().unwrap() {
            0 => break,
            more => stored += more,
        }
    }
    assert_eq!(stored, 39, "all but those that are refused, and one without a direction");
    let before = models.asked().len();
    assert_eq!(
        (fixture.engine.fill_vectors().unwrap(), models.asked().len()),
        (0, before),
        "and they are not asked about again"
    );
}

#[test]
fn what_comes_back_is_judged_with_models_too() {
    let fixture = fixture(Arc::new(early_or_late(4.0)));
    let early = fixture.remember(EARLY, "cheap to change");
    fixture.retract(early, "nobody did");
    fixture.remember(LATE, "one look is enough");
    let refused = refused(fixture.engine.reinstate(on(early, "we do again")).unwrap());
    assert_eq!(refused.conflicts[0].rule, "inferred");
}

#[test]
fn meaning_alone_finds_a_new_claim() {
    // All vectors are near each other, whatever the words.
    let models =
        FakeModels::new().embedding(|_| Ok(FakeModels::bag_of_words("same"))).classifying(|_, _| Ok([0.0, 0.0, 4.0]));
    let fixture = fixture(Arc::new(models));
    fixture.remember("Alpha beta gamma", "x");
    let refused = refused(fixture.try_remember("Delta epsilon zeta", "y"));
    assert!((refused.conflicts[0].evidence.features["cosine"] - 1.0).abs() < 0.01);
}

#[test]
fn vectors_of_another_model_cost_a_warning_and_are_left_alone() {
    let fixture = fixture(Arc::new(early_or_late(1.0)));
    fixture.remember(EARLY, "cheap to change");
    let other = FakeModels::new().embedding(|_| Ok(vec![1.0, 0.0])).classifying(|_, _| Ok([0.0, 0.0, -4.0]));
    let fixture = fixture.reopen_with_models(trusting(), Arc::new(other));
    let outcome = stored(fixture.try_remember("The linter runs as a hook", "fast"));
    assert!(
        outcome.warnings[0].message.contains("another model") || outcome.warnings[0].message.contains("dimensions"),
        "{:?}",
        outcome.warnings
    );
    assert_eq!(fixture.engine.fill_vectors().unwrap(), 0);
}

/// A judge that asks the language model about every pair of which the cross-encoder is unsure, and trusts its answer.
pub(super) fn deepening() -> Guard {
    let mut weights = trusting().weights().clone();
    weights.deep = ergo::guard::weights::DeepWeights {
        gate: 0.1,
        most: 2,
        intercept: 0.0,
        judge: 0.0,
        model: 2.0,
        block: 0.9,
        warn: 0.6,
    };
    Guard::default().with_weights(weights)
}

/// An unsure cross-encoder, and a language model that prefers the first answer, or else the second.
pub(super) fn unsure(first: bool) -> FakeModels {
    early_or_late(0.8).answering(move |_, answers| {
        Ok(answers.iter().enumerate().map(|(at, _)| if (at == 0) == first { -0.05 } else { -4.0 }).collect())
    })
}

#[test]
fn the_language_model_reads_after_the_write_and_opens_a_card() {
    let models = Arc::new(unsure(true));
    let fixture = Fixture::new().reopen_with_models(deepening(), Arc::clone(&models) as Arc<dyn Models>);
    fixture.remember(EARLY, "cheap to change");
    let late = stored(fixture.try_remember(LATE, "one look is enough"));
    assert!(models.asked().iter().all(|(role, _)| *role != ModelRole::Llm), "a write does not wait for it");
    assert_eq!((fixture.open_cards(), fixture.engine.counts().unwrap().guard.waiting), (0, 2));
    while fixture.engine.deepen_next().unwrap() {}
    assert_eq!((fixture.open_cards(), fixture.engine.counts().unwrap().guard.waiting), (1, 0));
    let page = fixture.engine.conflicts(&ConflictsQuery::default()).unwrap();
    let card = fixture.card(page.items[0].id);
    assert!(card.sides.iter().any(|side| side.claim.id == late.claim_id));
    assert_eq!(card.evidence[0].rule, RuleId::InferredDeeply);
    assert!(card.summary.headline.starts_with("Found after the write"), "{}", card.summary.headline);
    assert!(
        models
            .asked()
            .iter()
            .filter(|(role, _)| *role == ModelRole::Llm)
            .all(|(_, call)| call.priority == Priority::Background)
    );
}

#[test]
fn what_waits_for_the_language_model_outlives_the_process() {
    let fixture = Fixture::new();
    fixture.remember("Reviews are asked for early in the week", "written before there was a language model");
    let fixture = fixture.reopen_with_models(deepening(), Arc::new(unsure(true)));
    assert!(!fixture.engine.deepen_next().unwrap(), "what was there before is left to an audit");
    fixture.remember(EARLY, "cheap to change");
    assert!(fixture.engine.deepen_next().unwrap());
    fixture.remember(LATE, "one look is enough");
    let fixture = fixture.reopen_with_models(deepening(), Arc::new(unsure(true)));
    assert_eq!(fixture.engine.counts().unwrap().guard.waiting, 1);
    while fixture.engine.deepen_next().unwrap() {}
    assert!(fixture.open_cards() >= 1);
    let fixture = fixture.reopen_with_models(deepening(), Arc::new(unsure(true)));
    assert_eq!(fixture.engine.counts().unwrap().guard.waiting, 0);
}

#[test]
fn a_claim_whose_reading_failed_waits_again() {
    let fixture = Fixture::new().reopen_with_models(deepening(), Arc::new(unsure(true)));
    fixture.remember(EARLY, "cheap to change");
    fixture.remember(LATE, "one look is enough");
    let waiting = || fixture.engine.counts().unwrap().guard.waiting;
    let (file, aside) = (fixture.dir.path().join("store.db"), fixture.dir.path().join("aside.db"));
    std::fs::rename(&file, &aside).unwrap();
    fixture.engine.deepen_next().unwrap_err();
    assert_eq!(waiting(), 2);
    std::fs::rename(&aside, &file).unwrap();
    while fixture.engine.deepen_next().unwrap() {}
    assert_eq!((waiting(), fixture.open_cards()), (0, 1));
}

#[test]
fn what_the_language_model_finds_harmless_opens_no_card() {
    let fixture = Fixture::new().reopen_with_models(deepening(), Arc::new(unsure(false)));
    fixture.remember(EARLY, "cheap to change");
    fixture.remember(LATE, "one look is enough");
    while fixture.engine.deepen_next().unwrap() {}
    assert_eq!(fixture.open_cards(), 0);
    assert!(fixture.engine.counts().unwrap().guard.deepened > 0);
}

#[test]
fn a_scope_where_inference_was_wrong_needs_more_to_be_refused() {
    let fixture = fixture(Arc::new(early_or_late(1.8)));
    fixture.remember(EARLY, "cheap to change");
    let limit = |refused: &Refused| refused.conflicts[0].evidence.features["limit"];
    let first = refused(fixture.try_remember(LATE, "one look is enough"));
    assert!((limit(&first) - 0.9).abs() < 1e-4);
    done(fixture.resolve(first.card_id.unwrap(), order(CardAct::Dismiss, "both happen")));
    // The same doubt about other words: now it only warns.
    let second = stored(fixture.try_remember("Reviews of a change are asked for at its very end", "one look"));
    assert!(second.warnings.iter().any(|w| w.code == "softer_conflict"), "{:?}", second.warnings);
    let moved = fixture.engine.counts().unwrap().thresholds;
    assert!(moved.len() == 1 && moved[0].block > moved[0].usual, "{moved:?}");
}

#[test]
fn an_agents_dismissal_does_not_move_the_threshold() {
    let fixture = fixture(Arc::new(early_or_late(1.8)));
    fixture.remember(EARLY, "cheap to change");
    let card = fixture.refuse(LATE, "one look is enough");
    let dismiss = ResolveRequest { caller: agent(), ..order(CardAct::Dismiss, "both happen") };
    done(fixture.resolve(card, dismiss));
    assert_eq!(fixture.engine.counts().unwrap().thresholds, []);
}

#[test]
fn what_agents_settle_since_does_not_hide_what_a_person_settled() {
    let fixture = fixture(Arc::new(early_or_late(1.8)));
    fixture.remember(EARLY, "cheap to change");
    let card = fixture.refuse(LATE, "one look is enough");
    done(fixture.resolve(card, order(CardAct::Dismiss, "both happen")));
    let moved = fixture.engine.counts().unwrap().thresholds;
    for n in 0..31 {
        fixture.remember(&format!("Job {n} must start by hand"), "rare");
        let card = fixture.refuse(&format!("Job {n} must not start by hand"), "forgotten");
        done(fixture.resolve(card, ResolveRequest { caller: agent(), ..order(CardAct::Dismiss, "both happen") }));
    }
    assert_eq!((moved.len(), fixture.engine.counts().unwrap().thresholds), (1, moved));
}

#[test]
fn a_cross_encoder_that_the_judge_does_not_know_only_warns() {
    let mut weights = trusting().weights().clone();
    weights.provenance.nli = "another file".into();
    let fixture =
        Fixture::new().reopen_with_models(Guard::default().with_weights(weights), Arc::new(early_or_late(4.0)));
    fixture.remember(EARLY, "cheap to change");
    let warnings = stored(fixture.try_remember(LATE, "one look is enough")).warnings;
    assert_eq!(warnings.iter().map(|w| w.code.as_str()).collect::<Vec<_>>(), ["softer_conflict"]);
    let counts = fixture.engine.counts().unwrap();
    assert!(counts.nli_unfitted && counts.thresholds.is_empty(), "{:?}", counts.thresholds);
}
