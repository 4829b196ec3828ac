//! No model is asked while the write lock is held: every other write would wait for the answer.

use std::{
    sync::{OnceLock, Weak, mpsc},
    thread,
    time::Duration,
};

use ergo::{
    api::{AuditRequest, JudgeNextRequest},
    engine::DeepMode,
    infer::{FakeModels, ModelJudge, Models},
};

use super::{doubts::doubting, *};

/// Whether another thread can do this now. Does not wait for one that cannot.
fn can(engine: &Weak<Engine>, act: fn(&Engine)) -> bool {
    let Some(engine) = engine.upgrade() else { return true };
    let (done, acted) = mpsc::channel();
    thread::spawn(move || {
        act(&engine);
        // Nobody waits any more if it took too long.
        let _ = done.send(());
    });
    acted.recv_timeout(Duration::from_secs(10)).is_ok()
}

fn can_write(engine: &Weak<Engine>) -> bool {
    can(engine, |engine| drop(stored(engine.remember(fact("The window of the office faces south")).unwrap())))
}

fn can_read(engine: &Weak<Engine>) -> bool {
    can(engine, |engine| drop(engine.scopes().unwrap()))
}

#[test]
fn no_act_asks_a_model_under_the_write_lock() {
    let fixture = Fixture::new().reopen_with(doubting());
    let gone = fixture.remember("Reviews are asked for early, while the change is small", "cheap to change");
    fixture.retract(gone, "nobody did");
    fixture.remember("Reviews are asked for once the whole change is done", "one look is enough");
    let backups = fixture.remember("Backups of the archive run at night", "it is quiet");
    fixture.remember("Deployments must use a blue canary", "safe");
    let card = fixture.refuse("Deployments must use a red canary", "prettier");
    fixture.remember("The weekly report goes to the finance team first", "they plan by it");
    fixture.remember("The weekly report goes to the finance team as a draft", "they asked for it");
    while fixture.engine.deepen_next().unwrap() {}

    let engine: Arc<OnceLock<Weak<Engine>>> = Arc::default();
    let (asked, blocked) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let ask = || {
        let (engine, asked, blocked) = (Arc::clone(&engine), Arc::clone(&asked), Arc::clone(&blocked));
        move || {
            asked.fetch_add(1, Ordering::Relaxed);
            // One failure is enough, and each takes its time.
            if blocked.load(Ordering::Relaxed) == 0 && !engine.get().is_none_or(can_write) {
                blocked.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    let (embed, classify, generate, score) = (ask(), ask(), ask(), ask());
    let models = FakeModels::new()
        .embedding(move |text| {
            embed();
            Ok(FakeModels::bag_of_words(text))
        })
        .classifying(move |_, _| {
            classify();
            Ok([0.0, 0.0, -5.0])
        })
        .generating(move |_| {
            generate();
            Ok("[]".to_owned())
        })
        .answering(move |_, answers| {
            score();
            Ok(vec![0.0; answers.len()])
        });
    let models: Arc<dyn Models> = Arc::new(models);
    let judges = vec![ModelJudge::Local(Arc::clone(&models))];
    let Fixture { dir, engine: owned, .. } = fixture.reopen_with_models_as(doubting(), models, |config| {
        (config.judges, config.deep) = (judges, DeepMode::Inline);
    });
    let owned = Arc::new(owned);
    engine.set(Arc::downgrade(&owned)).unwrap();

    let acts: [(&str, &dyn Fn()); 5] = [
        ("remember", &|| drop(stored(owned.remember(request("Tests of the website are retried", "flakes")).unwrap()))),
        ("supersede", &|| {
            let claim = request("Backups of the archive run at noon", "the nights are busy");
            let targets = vec![backups.to_hex()];
            stored(owned.supersede(SupersedeRequest { targets, claim, ..SupersedeRequest::default() }).unwrap());
        }),
        ("reinstate", &|| drop(done(owned.reinstate(on(gone, "we do again")).unwrap()))),
        ("resolve", &|| {
            let statement = Some("Deployments must use a purple canary".into());
            let order = ResolveRequest { statement, ..order(CardAct::Supersede, "a compromise") };
            done(owned.resolve(&card.to_hex(), order).unwrap());
        }),
        ("judge pairs", &|| {
            let request = JudgeNextRequest { caller: caller(), ..JudgeNextRequest::default() };
            assert!(owned.judge_for(&request).unwrap().asked > 0);
        }),
    ];
    for (name, act) in acts {
        let before = asked.load(Ordering::Relaxed);
        act();
        assert!(asked.load(Ordering::Relaxed) > before, "{name} asks no model");
        assert_eq!(blocked.load(Ordering::Relaxed), 0, "{name} asks a model under the lock");
    }
    drop((owned, dir));
}

#[test]
fn an_audit_keeps_no_connection_while_it_asks_a_model() {
    let fixture = Fixture::new();
    fixture.remember("Reviews are asked for early, while the change is small", "cheap to change");
    fixture.remember("Reviews are asked for once the whole change is done", "one look is enough");
    let engine: Arc<OnceLock<Weak<Engine>>> = Arc::default();
    let (asked, blocked) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let models = {
        let (engine, asked, blocked) = (Arc::clone(&engine), Arc::clone(&asked), Arc::clone(&blocked));
        FakeModels::new().classifying(move |_, _| {
            asked.fetch_add(1, Ordering::Relaxed);
            if blocked.load(Ordering::Relaxed) == 0 && !engine.get().is_none_or(can_read) {
                blocked.fetch_add(1, Ordering::Relaxed);
            }
            Ok([0.0, 0.0, -5.0])
        })
    };
    let Fixture { dir, engine: owned, .. } =
        fixture.reopen_with_models_as(Guard::default(), Arc::new(models), |config| config.readers = 1);
    let owned = Arc::new(owned);
    engine.set(Arc::downgrade(&owned)).unwrap();
    owned.audit(AuditRequest { caller: caller(), dry_run: true }).unwrap();
    assert!(asked.load(Ordering::Relaxed) > 0);
    assert_eq!(blocked.load(Ordering::Relaxed), 0);
    drop((owned, dir));
}
