//! How long an exchange takes, and how much memory: `cargo test --release --test it replica::figures -- --ignored --nocapture`.

use std::time::Instant;

use super::*;

fn document(part: u8) -> DocumentId {
    DocumentId([part; 32])
}

fn told(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1e3;
    format!("p50 {:.1} ms, p95 {:.1} ms", at(50), at(95))
}

/// Seconds that the processor has spent on a side's worker: what time says on a busy machine is little.
fn spent(side: &Side) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", side.pid())).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap() / 100.0).sum()
}

fn peak(side: &Side) -> u64 {
    memory(side.pid(), "VmHWM:") / 1024 / 1024
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "prints figures; minutes"]
async fn first_exchange_and_one_event_more() {
    for parts in [1_u8, 10] {
        let (a, b) = (Side::new(), Side::new());
        let all: Vec<_> = (0..parts).map(|part| entries(part + 1, 0..10_000)).collect();
        let bytes: usize = all.iter().flatten().map(|entry| entry.header.len() + 64).sum();
        let begin = Instant::now();
        for (part, entries) in all.into_iter().enumerate() {
            a.write(document(part as u8), entries).await;
        }
        let (seconds, processor) = (begin.elapsed().as_secs_f64(), spent(&a));
        println!(
            "{parts} × 10,000 entries, {} KiB: written in {seconds:.2} s, {processor:.2} s processor",
            bytes / 1024
        );
        assert_eq!(b.count(TWO).await, 0);
        let (begin, before) = (Instant::now(), [spent(&a), spent(&b)]);
        for part in 0..parts {
            assert_eq!(exchange(&a, &b, document(part)).await.unwrap(), (0, 10_000));
        }
        let seconds = begin.elapsed().as_secs_f64();
        let (ours, theirs) = (spent(&a) - before[0], spent(&b) - before[1]);
        println!("  first exchange {seconds:.2} s; {ours:.2} s processor sender, {theirs:.2} s receiver");
        println!("  peak {} MB sender, {} MB receiver", peak(&a), peak(&b));
        let staged = a.documents.compact(document(0)).await.unwrap();
        let Some(ChunkUpdate::Snapshot(whole)) = &staged.chunk else { panic!("a snapshot") };
        println!("  10,000 entries stored whole: {} KiB", whole.len() / 1024);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "prints figures"]
async fn one_event_at_ten_thousand() {
    let (a, b) = (Side::new(), Side::new());
    a.write(ONE, entries(1, 0..10_000)).await;
    exchange(&a, &b, ONE).await.unwrap();
    let before = spent(&a) + spent(&b);
    let (mut written, mut brought, mut states) = (Vec::new(), Vec::new(), (None, None));
    for seq in 10_000..10_200 {
        let new = entries(1, seq..seq + 1);
        let begin = Instant::now();
        a.write(ONE, new).await;
        written.push(begin.elapsed());
        let begin = Instant::now();
        let (mut ours, first) = a.documents.begin(ONE, states.0.take(), true).await.unwrap();
        let (mut theirs, _) = b.documents.begin(ONE, states.1.take(), false).await.unwrap();
        talk(&mut ours, &mut theirs, first).await.unwrap();
        let theirs = theirs.end().await.unwrap();
        states.1 = theirs.peer_state.clone();
        b.take(ONE, theirs).await;
        brought.push(begin.elapsed());
        let ours = ours.end().await.unwrap();
        states.0 = ours.peer_state.clone();
        a.take(ONE, ours).await;
    }
    println!("one event at 10,000: written {}; brought {}", told(written), told(brought));
    let each = (spent(&a) + spent(&b) - before) * 1e3 / 200.0;
    println!("  {each:.1} ms processor for one, both sides; peak {} MB sender, {} MB receiver", peak(&a), peak(&b));
    let restart = Instant::now();
    let fresh = Side {
        documents: Documents::new(
            WorkerOptions { program: PROGRAM.into(), ..WorkerOptions::standard() },
            Arc::clone(&a.store) as _,
        ),
        ..a
    };
    assert_eq!(fresh.count(ONE).await, 10_200);
    println!("  loaded by a new process in {:.0} ms", restart.elapsed().as_secs_f64() * 1e3);
}
