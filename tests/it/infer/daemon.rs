//! The daemon with models: a write never waits for them for ever, and they end with it.

use std::fs;

use ergo::api::{Diagnose, WriteOutcome};
use rustix::process::Signal;

use super::*;
use crate::support::{TestHome, block_on, decision, runs, signal};

/// A home whose daemon has the built-in embedder and a cross-encoder that judges by chance.
fn home() -> TestHome {
    let home = TestHome::with_models();
    let model = home.path().join("tiny-nli.gguf");
    gguf::write_tiny_nli(&model);
    let settings = format!("[daemon]\ntcp = false\n[models]\nthreads = 1\nnli = {:?}\n", model.to_str().unwrap());
    fs::write(home.paths().config, settings).unwrap();
    home
}

fn diagnose(home: &TestHome) -> Diagnose {
    block_on(async { home.client().diagnose().await.unwrap() })
}

/// Stores a decision that resembles no other, and tells its warnings.
fn remember(home: &TestHome, statement: &str) -> Vec<String> {
    match block_on(async { home.client().remember(&decision(statement)).await.unwrap() }) {
        WriteOutcome::Stored(stored) => stored.warnings.into_iter().map(|warning| warning.message).collect(),
        other => panic!("{other:?}"),
    }
}

/// The worker of the small models, once it has loaded one.
fn worker(home: &TestHome) -> u32 {
    let mut found = None;
    until("a model is loaded", || {
        let models = diagnose(home).models;
        found = models.workers[0].pid.filter(|_| models.roles.iter().any(|role| role.loaded));
        found.is_some()
    });
    found.unwrap()
}

#[test]
fn a_write_whose_worker_is_stopped_is_stored_with_a_warning_and_the_next_one_is_served_again() {
    let home = home();
    let daemon = home.daemon();
    assert_eq!(diagnose(&home).health.nli, "tiny-nli");
    remember(&home, "Backups are encrypted at rest.");
    let pid = worker(&home);
    let first = diagnose(&home).models;
    assert!(first.roles.iter().any(|role| role.role == "embedder" && !role.sha256.is_empty()));
    assert!(first.workers[0].rss_bytes > 1_000_000);

    signal(pid, Signal::STOP);
    let warnings = remember(&home, "The office closes at six on Fridays.");
    assert!(warnings.iter().any(|warning| warning.contains("did not answer within")), "{warnings:?}");
    signal(pid, Signal::KILL);
    until("the worker is known to be dead", || diagnose(&home).models.workers[0].pid != Some(pid));
    remember(&home, "Logos are stored as vector graphics.");
    assert_ne!(worker(&home), pid);
    let then = diagnose(&home).models;
    assert!(then.workers[0].restarts == 1 && then.failures.contains_key("timeout"), "{then:?}");
    let doctor = home.run(["doctor"]);
    for word in ["embedder: minilm-l6", "tiny-nli", "on CPU", "restarted 1 time", "timeout"] {
        assert!(doctor.stdout.contains(word), "{word}: {}", doctor.stdout);
    }
    drop(daemon);
}

#[test]
fn a_daemon_that_is_killed_leaves_no_worker_behind() {
    let home = home();
    let daemon = home.daemon();
    remember(&home, "Backups are encrypted at rest.");
    let pid = worker(&home);
    daemon.kill();
    until("its worker is gone", || !runs(pid));
    let daemon = home.daemon();
    remember(&home, "The office closes at six on Fridays.");
    let pid = worker(&home);
    assert_eq!(daemon.terminate(), Some(0));
    assert!(!runs(pid), "a daemon that ends in order waits for it");
}

#[test]
fn a_model_that_cannot_be_used_is_named_and_writes_go_on() {
    let home = home();
    let (mine, settings) = (home.path().join("mine.gguf"), fs::read_to_string(home.paths().config).unwrap());
    let whole = catalogue::embedded(ModelRole::Embedder).unwrap().unpack().unwrap();
    fs::write(&mine, &whole[..whole.len() - 1000]).unwrap();
    fs::write(home.paths().config, format!("{settings}embedder = {:?}\n", mine.to_str().unwrap())).unwrap();
    let _daemon = home.daemon();
    remember(&home, "Use Postgres for billing.");
    until("its file was tried", || diagnose(&home).models.roles.iter().any(|role| role.problem.is_some()));
    let warnings = remember(&home, "Logos are stored as vector graphics.");
    assert!(warnings.iter().any(|warning| warning.contains("mine")), "{warnings:?}");
    assert!(diagnose(&home).models.failures.contains_key("bad_model"));
    let doctor = home.run(["doctor"]);
    assert!(doctor.stdout.contains("mine") && doctor.stdout.contains("cannot be used"), "{}", doctor.stdout);
}
