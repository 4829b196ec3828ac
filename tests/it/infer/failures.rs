//! Failures of workers and model files, which the daemon survives.

use std::{
    fs,
    io::{Read, Write},
    process::{Command, Stdio},
    sync::Arc,
    thread,
};

use rustix::process::Signal;

use super::*;
use crate::support::{signal, stop, until_input_waits};

#[test]
fn a_worker_that_is_killed_in_the_middle_costs_that_call_and_is_started_again() {
    let dir = tempfile::tempdir().unwrap();
    let pool = Arc::new(pool(dir.path(), small()));
    pool.embed(&texts(&["a"]), LONG).unwrap();
    let first = pid(&pool, 0);
    // Stopped, so that it is certainly in the middle.
    stop(first);
    let call = thread::spawn({
        let pool = Arc::clone(&pool);
        move || pool.embed(&texts(&["b"]), LONG)
    });
    until_input_waits(first);
    signal(first, Signal::KILL);
    let error = call.join().unwrap().unwrap_err();
    assert!(matches!(&error, InferError::Crashed { role: ModelRole::Embedder, .. }), "{error}");
    assert!(pool.embed(&texts(&["c"]), LONG).is_ok());
    let info = pool.info();
    assert_ne!(pool.workers()[0].pid, Some(first));
    assert_eq!((pool.workers()[0].restarts, info.failures.get("crashed")), (1, Some(&1)));
}

#[test]
fn a_worker_that_hangs_costs_its_callers_their_deadline_and_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let pool = pool_with(dir.path(), small(), |options| options.hang = [Duration::from_secs(3); 2]);
    pool.embed(&texts(&["a"]), LONG).unwrap();
    let first = pid(&pool, 0);
    signal(first, Signal::STOP);
    let error = pool.embed(&texts(&["b"]), Call::foreground(Duration::from_millis(50))).unwrap_err();
    assert!(error.to_string().contains("within 50 ms"), "{error}");
    // A caller that can wait is served by another process.
    assert!(pool.embed(&texts(&["c"]), LONG).is_ok());
    let info = pool.info();
    assert_ne!(pool.workers()[0].pid, Some(first));
    assert_eq!(info.failures.get("hung"), Some(&1));
    until("the stopped process is gone", || !Path::new(&format!("/proc/{first}")).exists());
}

#[test]
fn a_file_that_is_no_model_is_refused_in_words_until_it_changes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mine.gguf");
    let good = catalogue::embedded(ModelRole::Embedder).unwrap().unpack().unwrap();
    let pool = pool(dir.path(), ModelSet { embedder: Some(file(&path)), ..ModelSet::default() });
    let mut garbage = b"GGUF".to_vec();
    garbage.extend((0..100_000_u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()));
    let cases: [(&str, Option<&[u8]>); 5] = [
        ("there is no file", None),
        ("not a GGUF file", Some(b"")),
        ("not a GGUF file", Some(b"hello, I am a text and no model at all")),
        ("cannot be used", Some(&garbage)),
        ("cannot be used", Some(&good[..good.len() / 2])),
    ];
    for (words, bytes) in cases {
        if let Some(bytes) = bytes {
            fs::write(&path, bytes).unwrap();
        }
        for _ in 0..2 {
            let error = pool.embed(&texts(&["a"]), LONG).unwrap_err();
            assert!(matches!(&error, InferError::BadModel { name, .. } if name == "mine"), "{error}");
            assert!(error.to_string().contains(words), "{words}: {error}");
        }
        let problem = pool.info().role(ModelRole::Embedder).unwrap().problem.clone();
        assert!(problem.is_some_and(|problem| problem.contains(words)));
    }
    fs::write(&path, good).unwrap();
    assert_eq!(pool.embed(&texts(&["a"]), LONG).map(|vectors| vectors.len()), Ok(1));
    assert_eq!(pool.info().role(ModelRole::Embedder).unwrap().problem, None);
}

#[test]
fn a_model_for_something_else_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let llm = dir.path().join("tiny.gguf");
    gguf::write_tiny_llm(&llm, 1);
    let set = ModelSet { embedder: None, nli: built_in(ModelRole::Embedder), llm: built_in(ModelRole::Embedder) };
    let pool = pool(dir.path(), set);
    let error = pool.classify(&[("a".into(), "b".into())], LONG).unwrap_err();
    assert!(error.to_string().contains("not a classifier"), "{error}");
    let error = pool.generate(&Prompt::default(), "root ::= \"a\"", 1, LONG).unwrap_err();
    assert!(error.to_string().contains("not a language model"), "{error}");
    pool.change(ModelSet { nli: Some(file(&llm)), ..ModelSet::default() });
    let error = pool.classify(&[("a".into(), "b".into())], LONG).unwrap_err();
    assert!(error.to_string().contains("not a classifier"), "{error}");
}

#[test]
fn a_worker_ends_with_its_daemon() {
    let begin = || {
        Command::new(PROGRAM)
            .args(["worker", "infer"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    // By hand, without a word: it ends when its input does.
    let mut worker = begin();
    drop(worker.stdin.take());
    until("it ends", || worker.try_wait().unwrap().is_some());
    // Spoken to in another language: it ends, and does not accept the method memory for a length that was only claimed.
    let mut worker = begin();
    worker.stdin.take().unwrap().write_all(&[0xff; 64]).unwrap();
    until("it ends", || worker.try_wait().unwrap().is_some());
    let mut output = Vec::new();
    worker.stdout.take().unwrap().read_to_end(&mut output).unwrap();
    assert!(output.is_empty());
}

#[test]
fn a_pool_that_is_dropped_leaves_no_process() {
    let dir = tempfile::tempdir().unwrap();
    let pool = pool(dir.path(), small());
    pool.embed(&texts(&["a"]), LONG).unwrap();
    let proc = PathBuf::from(format!("/proc/{}", pid(&pool, 0)));
    drop(pool);
    assert!(!proc.exists());
}

#[test]
fn memory_is_freed_when_nobody_asks_for_long() {
    let dir = tempfile::tempdir().unwrap();
    let pool = pool_with(dir.path(), small(), |options| options.idle = Duration::from_millis(50));
    pool.embed(&texts(&["a"]), LONG).unwrap();
    until("the process ends", || pool.workers()[0].pid.is_none());
    assert!(!pool.info().role(ModelRole::Embedder).unwrap().loaded);
    assert!(pool.embed(&texts(&["a"]), LONG).is_ok());
    assert_eq!(pool.workers()[0].restarts, 0);
}
