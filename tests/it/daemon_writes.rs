//! Writes through the real daemon: an acknowledged write is kept, whatever happens to the process, and a retry is
//! applied once.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use ergo::{
    api::{ClaimsQuery, Stored, WriteOutcome},
    client::{Client, ClientError},
    domain::{ClaimId, OpId},
};
use futures_util::StreamExt;
use tokio::time::timeout;

use crate::support::{TEST_TIMEOUT, TestHome, block_on, decision, eventually, fact, until};

fn stored(outcome: WriteOutcome) -> Stored {
    match outcome {
        WriteOutcome::Stored(stored) => stored,
        other => panic!("not stored: {other:?}"),
    }
}

/// Every statement in the store with its claims, from all pages.
async fn statements(client: &Client) -> BTreeMap<String, Vec<ClaimId>> {
    let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let mut query = ClaimsQuery { status: Some("all".into()), limit: Some(200), ..ClaimsQuery::default() };
    loop {
        let page = client.claims(&query).await.unwrap();
        for claim in page.items {
            found.entry(claim.statement).or_default().push(claim.id);
        }
        match page.next {
            Some(next) => query.cursor = Some(next),
            None => return found,
        }
    }
}

/// Writes as fast as it can, and repeats what was not acknowledged under the same key until it is.
struct Writer {
    acknowledged: Arc<Mutex<BTreeMap<String, ClaimId>>>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Writer {
    fn start(home: &TestHome, name: &'static str) -> Self {
        let (client, acknowledged, stop) = (home.client(), Arc::new(Mutex::new(BTreeMap::new())), Arc::default());
        let (list, flag): (Arc<Mutex<BTreeMap<_, _>>>, Arc<AtomicBool>) =
            (Arc::clone(&acknowledged), Arc::clone(&stop));
        let write = move || async move {
            for number in 0_u128.. {
                let statement = format!("{name} wrote line {number}");
                let mut request = fact(&statement, &statement);
                let key = number << 8 | u128::from(name.as_bytes()[0]);
                request.caller.op_id = Some(OpId(key.to_be_bytes()));
                let mut outcome = None;
                eventually("the daemon answers", async || {
                    if flag.load(Ordering::Relaxed) {
                        return true;
                    }
                    match client.remember(&request).await {
                        Ok(answer) => outcome = Some(answer),
                        // A daemon that is ending may refuse a write, but must not acknowledge one that is lost.
                        Err(error) if error.is_unreachable() => {}
                        Err(ClientError::BadAnswer { .. }) => {}
                        Err(error) => panic!("{error:?}"),
                    }
                    outcome.is_some()
                })
                .await;
                let Some(outcome) = outcome else { return };
                let stored = stored(outcome);
                // Each statement is new: an identical one can only be there if the retry was not recognised by its key.
                assert!(!stored.duplicate, "{statement}");
                list.lock().unwrap().insert(statement, stored.claim_id);
            }
        };
        Self { acknowledged, stop, thread: std::thread::spawn(move || block_on(write())) }
    }

    fn acknowledged(&self) -> BTreeMap<String, ClaimId> {
        self.acknowledged.lock().unwrap().clone()
    }

    /// Waits for further acknowledged writes.
    fn further(&self, count: usize) {
        let before = self.acknowledged().len();
        until("more was written", || self.acknowledged.lock().unwrap().len() >= before + count);
    }

    fn finish(self) -> BTreeMap<String, ClaimId> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
        let list = self.acknowledged.lock().unwrap();
        list.clone()
    }
}

/// Everything acknowledged is there under its id, and nothing is there twice.
fn check(home: &TestHome, acknowledged: &BTreeMap<String, ClaimId>) {
    let found = block_on(statements(&home.client()));
    for (statement, id) in acknowledged {
        assert_eq!(found.get(statement).map(Vec::as_slice), Some(&[*id][..]), "{statement}");
    }
    for (statement, ids) in found {
        assert_eq!(ids.len(), 1, "{statement} was stored more than once");
    }
}

#[test]
fn kills_lose_nothing_acknowledged_and_a_retry_under_the_same_key_doubles_nothing() {
    let home = TestHome::new();
    let writers = [Writer::start(&home, "Ada"), Writer::start(&home, "Ben")];
    for round in 0..6 {
        let daemon = home.daemon();
        for writer in &writers {
            check(&home, &writer.acknowledged());
        }
        // The moment differs each time: during the first writes after a start, or later.
        writers[round % 2].further(1 + round % 5 * 4);
        daemon.kill();
    }
    let _daemon = home.daemon();
    for writer in writers {
        writer.further(1);
        let acknowledged = writer.finish();
        assert!(acknowledged.len() > 6, "{}", acknowledged.len());
        check(&home, &acknowledged);
    }
    let output = home.run(["daemon", "stop"]).ok();
    assert!(output.stdout.contains("Stopped"), "{output:?}");
}

#[test]
fn sigterm_during_writes_loses_nothing_and_puts_the_log_away() {
    let home = TestHome::new();
    let writer = Writer::start(&home, "Ada");
    for _ in 0..3 {
        let daemon = home.daemon();
        writer.further(20);
        assert_eq!(daemon.terminate(), Some(0), "{}", home.log());
        let mut wal = home.paths().store().into_os_string();
        wal.push("-wal");
        assert!(!std::path::Path::new(&wal).exists(), "the write-ahead log went into the store");
        check_after_restart(&home, &writer);
    }
    writer.finish();
}

fn check_after_restart(home: &TestHome, writer: &Writer) {
    let acknowledged = writer.acknowledged();
    let daemon = home.daemon();
    check(home, &acknowledged);
    assert_eq!(daemon.terminate(), Some(0));
}

#[test]
fn a_retry_with_the_same_key_answers_as_the_first_time_and_does_nothing() {
    let home = TestHome::new();
    let daemon = home.daemon();
    let client = home.client();
    let mut request = decision("Deploy only on green builds.");
    request.caller.op_id = Some(OpId([5; 16]));
    let first = stored(block_on(client.remember(&request)).unwrap());
    let again = stored(block_on(client.remember(&request)).unwrap());
    assert_eq!((again.claim_id, again.op_id), (first.claim_id, first.op_id));
    assert!(!first.replayed && again.replayed);
    daemon.kill();
    let _daemon = home.daemon();
    let later = stored(block_on(client.remember(&request)).unwrap());
    assert_eq!((later.claim_id, later.replayed), (first.claim_id, true), "also after a restart");
    assert_eq!(block_on(statements(&client)).len(), 1);
}

#[test]
fn ten_clients_write_at_once_and_all_of_it_is_there() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    block_on(async {
        let clients = (0..10).map(|number| {
            let client = home.client();
            async move {
                for line in 0..20 {
                    let statement = format!("client {number} wrote line {line}");
                    stored(client.remember(&fact(&statement, &statement)).await.unwrap());
                }
            }
        });
        futures_util::future::join_all(clients).await;
        assert_eq!(statements(&home.client()).await.len(), 200);
    });
}

#[test]
fn the_stream_tells_of_each_act_in_order() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let client = home.client();
    block_on(async {
        let mut stream = client.changes();
        let mut next = async || timeout(TEST_TIMEOUT, stream.next()).await.expect("in time").expect("no end").unwrap();
        assert_eq!(next().await.event, "hello");
        for number in 1..=3 {
            client.remember(&fact(&format!("fact {number}"), &format!("key {number}"))).await.unwrap();
            let change = next().await;
            assert_eq!((change.event.as_str(), change.seq), ("change", number));
            assert_eq!(change.scope.unwrap().to_string(), "acme/api");
            assert_eq!((change.who.as_str(), change.claims.len()), ("ada", 1));
        }
    });
}

#[test]
fn a_missing_reason_or_an_unknown_id_is_reported_as_what_it_is() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let client = home.client();
    let refused = |error: ClientError| match error {
        ClientError::Api(error) => (error.code.status(), error.field, error.hint.unwrap_or_default()),
        other => panic!("{other:?}"),
    };
    let mut without = decision("Deploy only on green builds.");
    without.reason = None;
    let (status, field, hint) = refused(block_on(client.remember(&without)).unwrap_err());
    assert_eq!((status, field.as_deref()), (400, Some("reason")));
    assert!(hint.contains("fact"), "{hint}");
    let (status, ..) = refused(block_on(client.claim("abcdef")).unwrap_err());
    assert_eq!(status, 404);
    let (status, ..) = refused(block_on(client.card("abcdef")).unwrap_err());
    assert_eq!(status, 404);
}

/// The most wake-ups of an idle daemon in 3 seconds.
#[cfg(target_os = "linux")]
const MAX_WAKES_AT_REST: u64 = 3;

/// An idle daemon does not wake up, and is small. The values come from the kernel's counters, so this runs on Linux
/// only.
#[cfg(target_os = "linux")]
#[test]
fn at_rest_it_is_small_and_sleeps() {
    let home = TestHome::with_models();
    let daemon = home.daemon();
    block_on(async {
        for number in 0..50 {
            stored(home.client().remember(&fact(&format!("fact {number}"), &format!("key {number}"))).await.unwrap());
        }
    });
    let number = |status: &str, name: &str| -> u64 {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    let wakes = || -> u64 {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", daemon.pid())).unwrap();
        // The status of a thread that ends meanwhile cannot be read.
        let statuses = tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("status")).ok());
        statuses.map(|status| number(&status, "voluntary_ctxt_switches:")).sum()
    };
    // Threads that did the work may still be ending.
    let mut since = (wakes(), Instant::now());
    until("it sleeps", || {
        let now = wakes();
        if now.abs_diff(since.0) > MAX_WAKES_AT_REST {
            since = (now, Instant::now());
        }
        since.1.elapsed() > Duration::from_secs(3)
    });
    // Only its own memory: the mapped pages of an unoptimised program would measure the size of its file.
    let own = number(&std::fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap(), "RssAnon:");
    assert!(own > 0 && own < 24 * 1024, "{own} KiB");
}
