//! Repeated kill -9 while writers write: afterwards every acknowledged claim is stored verbatim, and the file is sound.
//! The daemon dies at a step of a commit or after a number of writes, both chosen by a seed that is printed:
//! `ERGO_TEST_SEED` repeats it. A test run has a few rounds; `make soak` continues for `SOAK_SECONDS`.

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

use crate::support::{TestHome, block_on, caller, decision, fact, random::Random, until};

const WRITERS: usize = 3;

/// The acknowledged claims, each with its statement and, if that was acknowledged too, its end.
type Acknowledged = Arc<Mutex<BTreeMap<ClaimId, (String, Option<Status>)>>>;

/// Writes until the daemon is gone, and records only acknowledged writes.
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

/// The point at which a daemon is killed.
#[derive(Clone, Copy, Debug)]
enum LifeEnd {
    /// At the nth time that it reaches this step.
    Step(&'static str, usize),
    /// After this many more acknowledged writes, at whatever step.
    Acknowledged(usize),
}

impl LifeEnd {
    fn any(random: &mut Random) -> Self {
        match random.below(3) {
            0 => Self::Step("commit", 1 + random.below(40)),
            1 => Self::Step("committed", 1 + random.below(40)),
            _ => Self::Acknowledged(1 + random.below(60)),
        }
    }
}

/// Runs a daemon and its writers until the daemon is killed.
fn round(home: &TestHome, round: usize, end: LifeEnd, acknowledged: &Acknowledged) {
    let mut daemon = match end {
        LifeEnd::Step(step, nth) => home.daemon_that_dies_at(&format!("{step} #{nth}")),
        LifeEnd::Acknowledged(_) => home.daemon(),
    };
    // If the step belongs to the start of the daemon, no writer ever gets an answer.
    until("it answers or is dead", || !daemon.alive() || block_on(home.client().health()).is_ok());
    let before = acknowledged.lock().unwrap().len();
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (client, stop, acknowledged) = (home.client(), Arc::clone(&stop), Arc::clone(acknowledged));
            thread::spawn(move || block_on(write(client, writer, round, stop, acknowledged)))
        })
        .collect();
    until(&format!("life {round} ends at {end:?}"), || match end {
        LifeEnd::Step(..) => !daemon.alive(),
        LifeEnd::Acknowledged(count) => acknowledged.lock().unwrap().len() >= before + count,
    });
    daemon.kill();
    stop.store(true, Ordering::SeqCst);
    for writer in writers {
        writer.join().unwrap();
    }
}

/// Checks that every acknowledged claim is stored verbatim, and that the file is sound.
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
    let home = TestHome::new();
    let acknowledged = Acknowledged::default();
    let mut random = Random::of_this_run();
    for (number, step) in ["commit", "committed"].into_iter().enumerate() {
        round(&home, number, LifeEnd::Step(step, 1 + random.below(40)), &acknowledged);
    }
    for number in 2..5 {
        round(&home, number, LifeEnd::any(&mut random), &acknowledged);
    }
    assert!(!acknowledged.lock().unwrap().is_empty(), "nothing was written at all");
    check(&home, &acknowledged);
}

#[test]
#[ignore = "runs for SOAK_SECONDS: make soak"]
fn soak_kill_nine() {
    let seconds = std::env::var("SOAK_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let (begin, end) = (Instant::now(), Duration::from_secs(seconds));
    let (home, acknowledged) = (TestHome::with_models(), Acknowledged::default());
    let (mut number, mut random) = (0, Random::of_this_run());
    while begin.elapsed() < end {
        round(&home, number, LifeEnd::any(&mut random), &acknowledged);
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
