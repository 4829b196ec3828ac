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
        println!("{parts} × 10,000 entries ({} KiB): written in {:.2} s", bytes / 1024, begin.elapsed().as_secs_f64());
        let begin = Instant::now();
        for part in 0..parts {
            assert_eq!(exchange(&a, &b, document(part)).await.unwrap(), (0, 10_000));
        }
        let (seconds, ours, theirs) = (begin.elapsed().as_secs_f64(), peak(&a), peak(&b));
        println!("  first exchange {seconds:.2} s; peak {ours} MB sender, {theirs} MB receiver");
        let begin = Instant::now();
        let verified = b.store.0.lock().unwrap().len();
        println!("  {verified} documents stored, looked up in {:.1} ms", begin.elapsed().as_secs_f64() * 1e3);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "prints figures"]
async fn one_event_at_ten_thousand() {
    let (a, b) = (Side::new(), Side::new());
    a.write(ONE, entries(1, 0..10_000)).await;
    exchange(&a, &b, ONE).await.unwrap();
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
    println!("  peak {} MB sender, {} MB receiver", peak(&a), peak(&b));
    let restart = Instant::now();
    let fresh = Side {
        documents: Documents::new(Options { program: PROGRAM.into(), ..Options::usual() }, Arc::clone(&a.store) as _),
        ..a
    };
    assert_eq!(fresh.count(ONE).await, 10_200);
    println!("  loaded by a new process in {:.0} ms", restart.elapsed().as_secs_f64() * 1e3);
}
