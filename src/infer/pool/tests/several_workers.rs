//! Tests with several processes of the small models.

use super::*;

/// A pool with three processes of small models. Each call to embed is sent to the test, which answers it.
fn three_workers() -> (fake_worker::Stage, mpsc::Receiver<(u64, InferRequest, Arc<Sink>)>) {
    let (sent, received) = mpsc::channel();
    let behave = move |number, request: &InferRequest, sink: &Arc<Sink>| match request.command {
        InferCommand::Embed(_) => sent.send((number, request.clone(), Arc::clone(sink))).unwrap(),
        _ => succeed(request, sink),
    };
    let stage = stage_with(|options| (options.threads, options.small_workers) = (6, 3), behave);
    (stage, received)
}

/// Embeds a text on a thread of its own.
fn embed(pool: &Arc<Pool>, text: &str) -> thread::JoinHandle<Vec<Vec<f32>>> {
    let (pool, text) = (Arc::clone(pool), text.to_owned());
    thread::spawn(move || pool.embed(&[text], soon()).unwrap())
}

#[test]
fn a_second_process_starts_only_when_the_first_has_a_queue() {
    let (stage, received) = three_workers();
    let starts = || stage.fake.starts.load(Ordering::SeqCst);
    let mut callers = vec![embed(&stage.pool, "a")];
    let first = received.recv().unwrap();
    assert_eq!((first.0, starts()), (1, 1));
    // Further calls queue behind the first one, because starting a process would take longer.
    for text in ["b", "c", "d"] {
        callers.push(embed(&stage.pool, text));
        let queued = callers.len() - 1;
        until(|| stage.pool.small[0].waiting()[1] == queued);
    }
    assert_eq!(starts(), 1);
    callers.push(embed(&stage.pool, "e"));
    let second = received.recv().unwrap();
    assert_eq!((second.0, starts()), (2, 2), "the first request of the second process");
    assert_eq!(stage.pool.workers().len(), 3, "the two that run, and the language model's");
    for (_, request, sink) in [first, second] {
        succeed(&request, &sink);
    }
    // The calls that were queued behind the first one share a pass.
    let (_, request, sink) = received.recv().unwrap();
    succeed(&request, &sink);
    for caller in callers {
        assert_eq!(caller.join().unwrap(), [[1.0, 0.0]]);
    }
}

#[test]
fn a_pool_has_no_more_processes_than_threads() {
    for (threads, small_workers, expected) in [(1, 4, 1), (6, 3, 3), (8, 4, 4), (0, 0, 1)] {
        let stage = stage_with(
            |options| (options.threads, options.small_workers) = (threads, small_workers),
            |_, request, sink| {
                succeed(request, sink);
            },
        );
        assert_eq!(stage.pool.small.len(), expected, "{threads} threads, {small_workers} processes");
    }
}
