//! Tests of the queues, priorities, deadlines, and failing workers, with fake workers.

mod fake_worker;
mod several_workers;

use std::{
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
};

use self::fake_worker::{
    LONG, Sink, classification, gate, later, prompt, reply_to, soon, stage, stage_with, succeed, texts, until,
};
use super::{process::Event, *};
use crate::infer::wire::{FailureReason, InferRequest, MAX_FRAME};

#[test]
fn answers_come_in_order_and_a_model_is_loaded_once() {
    let loads = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&loads);
    let stage = stage(move |_, request, sink| {
        counted.fetch_add(u64::from(matches!(request.command, InferCommand::Load { .. })), Ordering::SeqCst);
        succeed(request, sink);
    });
    assert_eq!(stage.pool.workers().len(), 2);
    assert_eq!(stage.fake.starts.load(Ordering::SeqCst), 0, "nothing starts before the first call");
    for call in [soon(), later()] {
        let vectors = stage.pool.embed(&texts(150), call).unwrap();
        assert!(vectors.iter().enumerate().all(|(at, vector)| vector == &[at as f32, 0.0]));
    }
    assert_eq!(stage.pool.embed(&[], soon()), Ok(vec![]));
    assert_eq!(stage.pool.classify(&[("a".into(), "b".into())], soon()), Ok(vec![classification()]));
    assert_eq!((stage.fake.starts.load(Ordering::SeqCst), loads.load(Ordering::SeqCst)), (1, 2));
    assert_eq!(stage.pool.generate(&prompt("hi"), "", 9, soon()).as_deref(), Ok("hi"));
    assert_eq!(stage.fake.starts.load(Ordering::SeqCst), 2, "the language model has its own process");
    let info = stage.pool.info();
    assert_eq!(info.embedded_tokens, 2 * (0..150).sum::<u64>());
    let embedder = info.role(ModelRole::Embedder).unwrap();
    assert_eq!((embedder.loaded, embedder.dimension, embedder.computes.as_deref()), (true, Some(2), Some("CPU")));
    assert!(info.failures.is_empty());
}

#[test]
fn the_foreground_overtakes_what_waits_in_the_background() {
    let (hold, wait) = gate();
    let order = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&order);
    let stage = stage(move |_, request, sink| {
        if let InferCommand::Embed(texts) = &request.command {
            seen.lock().unwrap().push(texts[0].clone());
            if texts[0] == "first" {
                wait();
            }
        }
        succeed(request, sink);
    });
    let call = |text: &str, call: Call| {
        let (pool, text) = (Arc::clone(&stage.pool), text.to_owned());
        thread::spawn(move || pool.embed(&[text], call).unwrap())
    };
    let mut calls = vec![call("first", later())];
    until(|| order.lock().unwrap().len() == 1);
    calls.push(call("second", later()));
    until(|| stage.pool.small[0].waiting() == [0, 0, 1]);
    calls.push(call("urgent", soon()));
    until(|| stage.pool.small[0].waiting() == [0, 1, 1]);
    hold.send(()).unwrap();
    for call in calls {
        call.join().unwrap();
    }
    assert_eq!(*order.lock().unwrap(), ["first", "urgent", "second"]);
}

#[test]
fn a_read_is_served_between_two_passes_of_a_write() {
    let (hold, wait) = gate();
    let order = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&order);
    let stage = stage(move |_, request, sink| {
        match &request.command {
            InferCommand::Classify(pairs) => {
                let first = seen.lock().unwrap().is_empty();
                seen.lock().unwrap().push(format!("{} pairs", pairs.len()));
                if first {
                    wait();
                }
            }
            InferCommand::Embed(texts) => seen.lock().unwrap().push(texts.join(" ")),
            _ => {}
        }
        succeed(request, sink);
    });
    let pairs = vec![("a".to_owned(), "b".to_owned()); 8];
    let write = {
        let pool = Arc::clone(&stage.pool);
        thread::spawn(move || pool.classify(&pairs, soon()))
    };
    until(|| order.lock().unwrap().len() == 1);
    let read = {
        let pool = Arc::clone(&stage.pool);
        thread::spawn(move || pool.embed(&["question".to_owned()], Call::interactive(LONG)))
    };
    until(|| stage.pool.small[0].waiting() == [1, 0, 0]);
    hold.send(()).unwrap();
    assert_eq!(write.join().unwrap(), Ok(vec![classification(); 8]));
    assert_eq!(read.join().unwrap(), Ok(vec![vec![8.0, 0.0]]));
    assert_eq!(*order.lock().unwrap(), ["3 pairs", "question", "3 pairs", "2 pairs"]);
}

#[test]
fn texts_that_wait_together_share_a_pass_and_each_caller_gets_its_own() {
    let (hold, wait) = gate();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let stage = stage(move |_, request, sink| {
        if let InferCommand::Embed(texts) = &request.command {
            let first = seen.lock().unwrap().is_empty();
            seen.lock().unwrap().push(texts.len());
            if first {
                wait();
            }
        }
        succeed(request, sink);
    });
    let call = |length: usize| {
        let pool = Arc::clone(&stage.pool);
        thread::spawn(move || pool.embed(&["x".repeat(length)], soon()))
    };
    let first = call(1);
    until(|| asked.lock().unwrap().len() == 1);
    let mut others = Vec::new();
    for length in 2..12 {
        others.push((length, call(length)));
        until(|| stage.pool.small[0].waiting() == [0, others.len(), 0]);
    }
    hold.send(()).unwrap();
    assert_eq!(first.join().unwrap(), Ok(vec![vec![1.0, 0.0]]));
    for (length, other) in others {
        assert_eq!(other.join().unwrap(), Ok(vec![vec![length as f32, 0.0]]));
    }
    assert_eq!(*asked.lock().unwrap(), [1, 8, 2]);
    assert_eq!(stage.pool.info().embedded_tokens, (1..12).sum::<u64>());
}

#[test]
fn a_refused_text_fails_only_its_own_caller() {
    let (hold, wait) = gate();
    let passes = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&passes);
    let stage = stage(move |_, request, sink| {
        if let InferCommand::Embed(texts) = &request.command {
            if counted.fetch_add(1, Ordering::SeqCst) == 0 {
                wait();
            }
            if texts.iter().any(|text| text == "bad") {
                let why = "the text is empty for this model".to_owned();
                return reply_to(sink, request.id, InferReply::Failed { failure: FailureReason::Refused, why });
            }
        }
        succeed(request, sink);
    });
    let call = |text: &str| {
        let (pool, text) = (Arc::clone(&stage.pool), text.to_owned());
        thread::spawn(move || pool.embed(&[text], soon()))
    };
    let first = call("first");
    until(|| passes.load(Ordering::SeqCst) == 1);
    let [good, bad, better] = ["good", "bad", "better"].map(call);
    until(|| stage.pool.small[0].waiting() == [0, 3, 0]);
    hold.send(()).unwrap();
    assert_eq!(first.join().unwrap(), Ok(vec![vec![5.0, 0.0]]));
    assert_eq!(good.join().unwrap(), Ok(vec![vec![4.0, 0.0]]));
    assert!(matches!(bad.join().unwrap(), Err(InferError::Refused(_))));
    assert_eq!(better.join().unwrap(), Ok(vec![vec![6.0, 0.0]]));
}

/// Answers all requests at once, except that it never ends the generation for the prompt `slow` unless it is cancelled.
fn endless(request: &InferRequest, sink: &Sink) {
    match &request.command {
        InferCommand::Generate { prompt, .. } if prompt.text == "slow" => {}
        InferCommand::Cancel => {
            reply_to(sink, request.id, InferReply::Failed { failure: FailureReason::Cancelled, why: String::new() });
        }
        _ => succeed(request, sink),
    }
}

#[test]
fn a_generation_in_the_background_gives_way_and_is_taken_up_again() {
    let tries = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&tries);
    let stage = stage(move |_, request, sink| match &request.command {
        InferCommand::Generate { prompt, .. } if prompt.text == "slow" => {
            if counted.fetch_add(1, Ordering::SeqCst) > 0 {
                succeed(request, sink);
            }
        }
        _ => endless(request, sink),
    });
    let slow = {
        let pool = Arc::clone(&stage.pool);
        thread::spawn(move || pool.generate(&prompt("slow"), "", 9, later()))
    };
    until(|| tries.load(Ordering::SeqCst) > 0);
    assert_eq!(stage.pool.generate(&prompt("quick"), "", 9, soon()).as_deref(), Ok("quick"));
    assert_eq!(slow.join().unwrap().as_deref(), Ok("slow"));
    assert_eq!(tries.load(Ordering::SeqCst), 2);
    assert_eq!(stage.fake.starts.load(Ordering::SeqCst), 1, "no process was ended for it");
}

#[test]
fn a_caller_waits_no_longer_than_it_says_and_its_request_is_stopped() {
    let stage = stage(|_, request, sink| endless(request, sink));
    let brief = Call::background(Duration::from_millis(20));
    let error = stage.pool.generate(&prompt("slow"), "", 9, brief).unwrap_err();
    assert_eq!(error, InferError::Timeout { role: ModelRole::Llm, after: brief.deadline });
    assert_eq!(stage.pool.generate(&prompt("quick"), "", 9, soon()).as_deref(), Ok("quick"));
    assert_eq!(stage.pool.info().failures.get("timeout"), Some(&1));
    assert_eq!(stage.pool.workers()[1].restarts, 0);
}

#[test]
fn a_worker_that_hangs_is_ended_and_another_one_serves() {
    let hang = |options: &mut PoolOptions| options.hang = [Duration::from_secs(2); 2];
    let stage = stage_with(hang, |number, request, sink| {
        if number > 1 || !matches!(request.command, InferCommand::Embed(_) | InferCommand::Cancel) {
            succeed(request, sink);
        }
    });
    let brief = Call::foreground(Duration::from_millis(10));
    let error = stage.pool.embed(&texts(1), brief).unwrap_err();
    assert_eq!(error.kind(), "timeout");
    // The next call waits until the hung process is killed, and is served by a new one.
    stage.pool.embed(&texts(1), soon()).unwrap();
    assert_eq!((stage.pool.info().failures.get("hung"), stage.pool.workers()[0].restarts), (Some(&1), 1));
}

#[test]
fn a_worker_that_dies_costs_one_call_and_starts_in_a_row_grow_rarer() {
    let stage = stage(|number, request, sink| match request.command {
        InferCommand::Embed(_) if number != 2 => sink(Event::Exited("ended: boom".into())),
        _ => succeed(request, sink),
    });
    let error = stage.pool.embed(&texts(1), soon()).unwrap_err();
    assert_eq!(error, InferError::Crashed { role: ModelRole::Embedder, why: "ended: boom".into() });
    assert!(stage.pool.embed(&texts(1), soon()).is_ok(), "it is restarted at once");
    let third = stage.pool.classify(&[("a".into(), "b".into())], soon());
    assert!(third.is_ok(), "and the process stays");
    assert_eq!(stage.pool.workers()[0].restarts, 1);
    assert_eq!(stage.pool.info().failures.get("crashed"), Some(&1));

    let stage = self::stage(|_, request, sink| match request.command {
        InferCommand::Embed(_) => sink(Event::Exited("ended: boom".into())),
        _ => succeed(request, sink),
    });
    let kinds: Vec<_> = (0..4).map(|_| stage.pool.embed(&texts(1), soon()).unwrap_err().to_string()).collect();
    assert!(kinds[0].contains("boom") && kinds[1].contains("boom"), "{kinds:?}");
    assert!(kinds[2].contains("restarted in") && kinds[3].contains("restarted in"), "{kinds:?}");
    assert_eq!(stage.fake.starts.load(Ordering::SeqCst), 2);
}

#[test]
fn a_request_that_is_too_long_is_refused_and_costs_no_process() {
    let stage = stage(|_, request, sink| succeed(request, sink));
    let error = stage.pool.embed(&["x".repeat(MAX_FRAME)], soon()).unwrap_err();
    assert!(matches!(&error, InferError::Refused(why) if why.contains("at most")), "{error:?}");
    stage.pool.embed(&texts(1), soon()).unwrap();
    assert_eq!(stage.fake.starts.load(Ordering::SeqCst), 1);
}

#[test]
fn a_process_that_runs_out_of_memory_is_told_apart_and_rests() {
    let stage = stage(|_, request, sink| match request.command {
        InferCommand::Load { .. } => sink(Event::Exited("ran out of memory: insufficient memory".into())),
        _ => succeed(request, sink),
    });
    for _ in 0..3 {
        let error = stage.pool.embed(&texts(1), soon()).unwrap_err();
        assert!(matches!(&error, InferError::OutOfMemory { .. }) && error.to_string().contains("not enough memory"));
    }
    assert_eq!(stage.fake.starts.load(Ordering::SeqCst), 1, "it is not tried again at once");
    assert_eq!(stage.pool.info().failures.get("out_of_memory"), Some(&3));
}

#[test]
fn a_worker_that_died_between_calls_costs_nothing() {
    let sinks = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&sinks);
    let stage = stage(move |_, request, sink| {
        kept.lock().unwrap().push(Arc::clone(sink));
        succeed(request, sink);
    });
    stage.pool.embed(&texts(1), soon()).unwrap();
    sinks.lock().unwrap()[0](Event::Exited("was ended by the system".into()));
    stage.pool.embed(&texts(1), soon()).unwrap();
    assert_eq!(stage.fake.starts.load(Ordering::SeqCst), 2);
    // Events of the first process do not concern the second one.
    sinks.lock().unwrap()[0](Event::Exited("again".into()));
    stage.pool.embed(&texts(1), soon()).unwrap();
    assert_eq!(stage.fake.starts.load(Ordering::SeqCst), 2);
}

#[test]
fn a_bad_model_is_tried_once_until_its_file_changes() {
    let loads = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&loads);
    let stage = stage(move |_, request, sink| match &request.command {
        InferCommand::Load { path, .. } if std::fs::read(path).unwrap() != b"good" => {
            counted.fetch_add(1, Ordering::SeqCst);
            reply_to(
                sink,
                request.id,
                InferReply::Failed { failure: FailureReason::BadModel, why: "it is not a GGUF file".into() },
            );
        }
        _ => succeed(request, sink),
    });
    std::fs::write(stage.dir.path().join("e.gguf"), "good").unwrap();
    let pair = [("a".to_owned(), "b".to_owned())];
    for _ in 0..3 {
        let error = stage.pool.classify(&pair, soon()).unwrap_err();
        assert!(
            matches!(&error, InferError::BadModel { name, why, .. } if name == "n.gguf" && why.contains("not a GGUF"))
        );
    }
    assert_eq!(loads.load(Ordering::SeqCst), 1);
    assert!(stage.pool.info().role(ModelRole::Nli).unwrap().problem.as_deref().unwrap().contains("n.gguf"));
    assert!(stage.pool.embed(&texts(1), soon()).is_ok(), "the other role goes on");
    std::fs::write(stage.dir.path().join("n.gguf"), "good").unwrap();
    assert!(stage.pool.classify(&pair, soon()).is_ok());
    assert_eq!(stage.pool.info().role(ModelRole::Nli).unwrap().problem, None);
    assert_eq!(stage.fake.starts.load(Ordering::SeqCst), 1);
}

#[test]
fn other_models_are_served_from_the_next_call_on() {
    let stage = stage(|_, request, sink| succeed(request, sink));
    stage.pool.embed(&texts(1), soon()).unwrap();
    stage.pool.change(stage.pool.set());
    stage.pool.embed(&texts(1), soon()).unwrap();
    assert_eq!(stage.fake.starts.load(Ordering::SeqCst), 1, "the same models change nothing");
    let other = ModelSet { embedder: stage.pool.set().nli, ..ModelSet::default() };
    stage.pool.change(other);
    assert_eq!(stage.pool.embed(&texts(1), soon()).map(|vectors| vectors.len()), Ok(1));
    assert_eq!(stage.fake.starts.load(Ordering::SeqCst), 2);
    let error = stage.pool.classify(&[("a".into(), "b".into())], soon()).unwrap_err();
    assert_eq!(error, InferError::NoModel { role: ModelRole::Nli });
}

#[test]
fn a_process_without_work_ends_and_comes_back() {
    let idle = |options: &mut PoolOptions| options.idle = Duration::from_millis(5);
    let stage = stage_with(idle, |_, request, sink| succeed(request, sink));
    for starts in 1..4 {
        stage.pool.embed(&texts(1), soon()).unwrap();
        assert_eq!(stage.fake.starts.load(Ordering::SeqCst), starts);
        until(|| !stage.pool.info().role(ModelRole::Embedder).unwrap().loaded);
    }
    assert_eq!(stage.pool.workers()[0].restarts, 0, "an end by our will is no death");
    assert_eq!(stage.pool.info().role(ModelRole::Embedder).unwrap().dimension, Some(2), "what was learnt stays");
}

#[test]
fn an_answer_that_does_not_fit_is_a_failure_and_no_panic() {
    let stage = stage(|_, request, sink| match request.command {
        InferCommand::Embed(_) => reply_to(sink, request.id, InferReply::Vectors(vec![], 0)),
        InferCommand::Classify(_) => reply_to(sink, request.id, InferReply::Text("hello".into())),
        _ => succeed(request, sink),
    });
    assert_eq!(stage.pool.embed(&texts(1), soon()).unwrap_err().kind(), "crashed");
    assert_eq!(stage.pool.classify(&[("a".into(), "b".into())], soon()).unwrap_err().kind(), "crashed");
}

#[test]
fn a_call_leaves_a_crowd_after_a_while_waits_where_there_is_none_and_never_queues_in_vain() {
    let (hold, wait) = gate();
    let stage = stage(move |_, request, sink| {
        if let InferCommand::Classify(_) = &request.command {
            wait();
        }
        succeed(request, sink);
    });
    // A first call, so that the models are loaded.
    hold.send(()).unwrap();
    let pair = [("a".to_owned(), "b".to_owned())];
    stage.pool.classify(&pair, soon()).unwrap();

    let ask = |call: Call| {
        let (pool, pair) = (Arc::clone(&stage.pool), pair.clone());
        thread::spawn(move || pool.classify(&pair, call))
    };
    let short = soon().queueing_at_most(Duration::from_millis(20));
    // One call is served, and two wait, which is not yet a crowd.
    let mut calls = vec![ask(short), ask(short), ask(short)];
    until(|| stage.pool.small[0].waiting() == [0, 2, 0]);
    // Longer than they queue in a crowd.
    thread::sleep(Duration::from_millis(60));
    assert_eq!(stage.pool.small[0].waiting(), [0, 2, 0]);
    // With a third waiting call there is a crowd: the first call that notices leaves, and two wait again.
    calls.push(ask(short));
    until(|| calls.iter().any(thread::JoinHandle::is_finished));
    assert_eq!(stage.pool.small[0].waiting(), [0, 2, 0]);
    for _ in 0..3 {
        hold.send(()).unwrap();
    }
    let (served, left): (Vec<_>, Vec<_>) = calls.into_iter().map(|call| call.join().unwrap()).partition(Result::is_ok);
    assert_eq!(served, vec![Ok(vec![classification()]); 3]);
    assert_eq!(left, [Err(InferError::Busy { role: ModelRole::Nli })]);

    // These calls took longer than `short` may queue, so a further call is refused at once.
    let calls = [ask(soon()), ask(soon()), ask(soon())];
    until(|| stage.pool.small[0].waiting() == [0, 2, 0]);
    assert_eq!(stage.pool.classify(&pair, short), Err(InferError::Busy { role: ModelRole::Nli }));
    for _ in 0..3 {
        hold.send(()).unwrap();
    }
    assert!(calls.into_iter().all(|call| call.join().unwrap().is_ok()));
}
