//! kill -9 over and over while writers write: what was acknowledged is there afterwards, word for word, and the file is
//! sound. A few rounds in every test run; `make soak` goes on for `SOAK_SECONDS`.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use ed25519_dalek::SigningKey;
use ergo::{
    api::{ActRequest, RememberRequest, SupersedeRequest, WriteOutcome},
    client::Client,
    domain::{ClaimId, Status},
    guard::StructuralPairCheck,
    store::Store,
};

use crate::support::{TestHome, block_on, caller, decision, fact, until};

const WRITERS: usize = 3;

/// What the daemon has acknowledged: each claim with its statement and, where that was acknowledged too, its end.
type Acknowledged = Arc<Mutex<BTreeMap<ClaimId, (String, Option<Status>)>>>;

/// One writer's work until the daemon is gone: it notes only what was answered.
async fn write(client: Client, writer: usize, round: usize, stop: Arc<AtomicBool>, acknowledged: Acknowledged) {
    let note = |id: ClaimId, statement: &str| {
        acknowledged.lock().unwrap().insert(id, (statement.to_owned(), None));
    };
    let closed = |id: ClaimId, status: Status| {
        acknowledged.lock().unwrap().get_mut(&id).unwrap().1 = Some(status);
    };
    for number in 0.. {
        if stop.load(Ordering::SeqCst) {
            return;
        }
        let name = format!("r{round}w{writer}n{number}");
        let text = format!("Component {name} is owned by team {name}.");
        let Ok(WriteOutcome::Stored(stored)) = client.remember(&decision(&text)).await else { continue };
        note(stored.claim_id, &text);
        let target = stored.claim_id.to_hex();
        match number % 4 {
            0 => {
                let text = format!("Host {name} runs kernel {number}.");
                if let Ok(WriteOutcome::Stored(stored)) = client.remember(&fact(&text, &name)).await {
                    note(stored.claim_id, &text);
                }
            }
            1 => {
                let text = format!("Component {name} is owned by nobody.");
                let request = SupersedeRequest {
                    targets: vec![target],
                    claim: RememberRequest { kind: None, ..decision(&text) },
                    ..SupersedeRequest::default()
                };
                if let Ok(WriteOutcome::Stored(new)) = client.supersede(&request).await {
                    note(new.claim_id, &text);
                    closed(stored.claim_id, Status::Superseded);
                }
            }
            2 => {
                let reason = "made up".to_owned();
                let request = ActRequest { caller: caller(), target, reason, ..ActRequest::default() };
                if let Ok(WriteOutcome::Done(_)) = client.retract(&request).await {
                    closed(stored.claim_id, Status::Retracted);
                }
            }
            _ => {}
        }
    }
}

/// One life of the daemon: writers write, and it is killed after `life`.
fn round(home: &TestHome, round: usize, life: Duration, acknowledged: &Acknowledged) {
    let daemon = home.daemon();
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (client, stop, acknowledged) = (home.client(), Arc::clone(&stop), Arc::clone(acknowledged));
            thread::spawn(move || block_on(write(client, writer, round, stop, acknowledged)))
        })
        .collect();
    // On a busy machine the first write may take longer than a life.
    until("a write is acknowledged", || !acknowledged.lock().unwrap().is_empty());
    // The only wait by time: how long this life lasts is what the round is about.
    thread::sleep(life);
    daemon.kill();
    stop.store(true, Ordering::SeqCst);
    for writer in writers {
        writer.join().unwrap();
    }
}

/// Everything that was acknowledged is there as it was said, and the file is sound.
fn check(home: &TestHome, acknowledged: &Acknowledged) {
    let key = SigningKey::from_bytes(&[1; 32]);
    let store = Store::open(&home.paths().store(), key, Arc::new(StructuralPairCheck)).unwrap();
    let report = store.check().unwrap();
    assert!(report.problems.is_empty(), "{report:?}");
    drop(store);
    let daemon = home.daemon();
    let client = home.client();
    let acknowledged = acknowledged.lock().unwrap().clone();
    block_on(async {
        for (id, (statement, end)) in &acknowledged {
            let claim = client.claim(&id.to_hex()).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
            assert_eq!(claim.statement, *statement);
            if let Some(end) = end {
                assert_eq!(claim.status, *end, "{statement}");
            }
        }
    });
    assert_eq!(daemon.terminate(), Some(0), "{}", home.log());
}

#[test]
fn kill_nine_loses_nothing_that_was_acknowledged() {
    // A round ends before a model would be in memory: this is about what is acknowledged, and not about models.
    let home = TestHome::with_config("[daemon]\ntcp = false\n[models]\nnli = \"none\"\nembedder = \"none\"\n");
    let acknowledged = Acknowledged::default();
    for number in 0..3 {
        round(&home, number, Duration::from_millis(120 + 70 * number as u64), &acknowledged);
    }
    assert!(!acknowledged.lock().unwrap().is_empty(), "nothing was written at all");
    check(&home, &acknowledged);
}

#[test]
#[ignore = "runs for SOAK_SECONDS: make soak"]
fn soak_kill_nine() {
    let seconds = std::env::var("SOAK_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let (begin, end) = (Instant::now(), Duration::from_secs(seconds));
    let (home, acknowledged) = (TestHome::new(), Acknowledged::default());
    let mut number = 0;
    while begin.elapsed() < end {
        // Lives of 40 to 500 ms, spread without a pattern that a checkpoint could fall into.
        let life = Duration::from_millis(40 + (number as u64 * 7919) % 460);
        round(&home, number, life, &acknowledged);
        number += 1;
        if number % 20 == 0 {
            check(&home, &acknowledged);
        }
    }
    check(&home, &acknowledged);
    let claims = acknowledged.lock().unwrap().len();
    println!(
        "soak: {number} times kill -9 in {} s; {claims} acknowledged claims, all there",
        begin.elapsed().as_secs()
    );
}
