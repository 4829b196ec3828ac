//! Whole services over QUIC on loopback: no relay, no discovery, nothing beyond this machine.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use ed25519_dalek::SigningKey;
use ergo::{
    domain::{
        DeviceId, EventId,
        roster::{Role, RosterChange},
    },
    store::{StoreError, SyncImport},
    sync::{
        endpoint::{NetworkMode, PathKind, TransportError},
        service::{NetworkStatus, PeerStatus, Service, ServiceObserver, ServiceSettings},
        session::SessionPhase,
    },
};
use tokio::sync::Notify;

use super::nodes::{Node, TEST_TIMEOUT, scope, worker};
use crate::support::eventually;

/// Notifies the test of every change of a peer.
#[derive(Default)]
struct Bell {
    rung: Notify,
    rosters: Mutex<Vec<EventId>>,
}

impl ServiceObserver for Bell {
    fn peer(&self, _: EventId, _: DeviceId) {
        self.rung.notify_one();
    }

    fn roster(&self, team: EventId) {
        self.rosters.lock().unwrap().push(team);
        self.rung.notify_one();
    }
}

struct Daemon {
    node: Node,
    service: Service,
    bell: Arc<Bell>,
}

impl Daemon {
    fn start(node: Node) -> Self {
        Self::with(node, |_| {})
    }

    fn with(node: Node, set: impl FnOnce(&mut ServiceSettings)) -> Self {
        let key = SigningKey::from_bytes(&node.key.to_bytes());
        let mut settings = ServiceSettings { loopback: true, worker: worker(), ..ServiceSettings::new(key) };
        set(&mut settings);
        let bell = Arc::new(Bell::default());
        let service = Service::start(settings, Arc::clone(&node.engine), Arc::clone(&bell) as Arc<dyn ServiceObserver>);
        let writes = service.clone();
        node.engine.on_change(Box::new(move |_| writes.changed()));
        Self { node, service, bell }
    }

    /// Waits until the status is so.
    async fn until(&self, what: &str, mut so: impl FnMut(&NetworkStatus) -> bool) -> NetworkStatus {
        let look = async {
            loop {
                let status = self.service.status();
                if so(&status) {
                    return status;
                }
                // The observer is sometimes notified before the status is written.
                drop(tokio::time::timeout(Duration::from_millis(20), self.bell.rung.notified()).await);
            }
        };
        let seen = tokio::time::timeout(TEST_TIMEOUT, look).await;
        seen.unwrap_or_else(|_| panic!("{what}: {:#?}", self.service.status()))
    }

    async fn synced_with(&self, other: &Self) -> PeerStatus {
        let device = other.node.device();
        let level =
            |peer: &&PeerStatus| peer.device == device && peer.session == Some(SessionPhase::Live) && peer.in_sync;
        let status = self.until("the two are level", |status| status.peers.iter().any(|peer| level(&peer))).await;
        status.peers.into_iter().find(|peer| level(&peer)).unwrap()
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        self.service.status().addresses.iter().map(|address| address.parse().unwrap()).collect()
    }

    async fn knows(&self, other: &Self) {
        for address in other.addresses() {
            self.service.add_address(other.node.device(), address).await;
        }
    }

    async fn listening(&self) {
        self.until("it listens", |status| status.mode == NetworkMode::Lan).await;
    }
}

/// Waits until a claim is there.
async fn arrives(at: &Daemon, id: EventId) {
    let look = async {
        while at.node.engine.claim(&id.to_hex()).is_err() {
            drop(tokio::time::timeout(Duration::from_millis(20), at.bell.rung.notified()).await);
        }
    };
    assert!(tokio::time::timeout(TEST_TIMEOUT, look).await.is_ok(), "{id} did not arrive");
}

#[tokio::test]
async fn three_services_get_in_sync_and_stay_so() {
    let (a, b, c) = (Node::new(31), Node::new(32), Node::new(33));
    a.facts("api", "before", 20);
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    a.admit(team, &c, Role::Writer, None);
    let (a, b, c) = (Daemon::start(a), Daemon::start(b), Daemon::start(c));
    for daemon in [&a, &b, &c] {
        daemon.listening().await;
    }
    // b and c know only a, which knows nobody: it is called.
    b.knows(&a).await;
    c.knows(&a).await;
    let peer = b.synced_with(&a).await;
    c.synced_with(&a).await;
    a.synced_with(&b).await;
    a.synced_with(&c).await;
    assert_eq!(b.node.set(team, "api"), a.node.set(team, "api"));
    assert_eq!((peer.route.unwrap().path, peer.problem), (PathKind::Lan, None));
    // What b writes reaches c by way of a.
    let id = b.node.fact("api", "news", "from b");
    arrives(&a, id).await;
    arrives(&c, id).await;
    let id = c.node.fact("api", "answer", "from c");
    arrives(&b, id).await;
    b.synced_with(&a).await;
    assert_eq!(c.node.set(team, "api").0, 22);
    assert_eq!(b.node.set(team, "api"), c.node.set(team, "api"));
    for daemon in [&a, &b, &c] {
        daemon.service.stop().await;
        daemon.node.assert_sound();
    }
    // Every address that was contacted is written down, and is on this machine.
    let contacts = b.node.engine.with_reader(ergo::store::Reader::contacts).unwrap();
    assert!(contacts.iter().any(|row| row.what == "dialled"), "{contacts:?}");
    for row in contacts {
        assert!(row.address.parse::<SocketAddr>().unwrap().ip().is_loopback(), "{row:?}");
    }
    // The stored state of a peer outlives the service.
    let row = b.node.engine.with_reader(|r| r.peer(&team, &a.node.device())).unwrap().unwrap();
    assert!(!row.addresses.is_empty() && row.last_sync.is_some(), "{row:?}");
}

#[tokio::test]
async fn the_service_runs_on_while_another_write_holds_the_lock() {
    let (a, b) = (Node::new(48), Node::new(49));
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    let a = Daemon::start(a);
    a.listening().await;
    let (locked, lock_held) = tokio::sync::oneshot::channel();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let engine = Arc::clone(&a.node.engine);
    let write = tokio::task::spawn_blocking(move || {
        engine.with_store(|_| {
            locked.send(()).unwrap();
            let _released = released.recv();
            Ok(())
        })
    });
    lock_held.await.unwrap();
    let address: SocketAddr = "127.0.0.1:9".parse().unwrap();
    let adding = a.service.add_address(b.device(), address);
    tokio::pin!(adding);
    let stored = tokio::time::timeout(Duration::from_millis(50), &mut adding).await;
    assert!(stored.is_err(), "an address that a person entered is stored before the answer");
    let round = tokio::time::timeout(TEST_TIMEOUT, a.service.sync_now(None)).await;
    assert_eq!(round.expect("the scheduler does not wait for the lock"), 1);
    drop(release);
    adding.await;
    write.await.unwrap().unwrap();
    let row = a.node.engine.with_reader(|r| r.peer(&team, &b.device())).unwrap().unwrap();
    assert_eq!(row.addresses, [address.to_string()]);
    a.service.stop().await;
}

#[tokio::test]
async fn sync_rests_once_the_store_is_damaged_and_says_so() {
    let (a, b) = (Node::new(162), Node::new(163));
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    let (a, b) = (Daemon::start(a), Daemon::start(b));
    for daemon in [&a, &b] {
        daemon.listening().await;
    }
    b.knows(&a).await;
    b.synced_with(&a).await;
    let damaged = a.node.engine.sync_read(|_| Err::<(), _>(StoreError::Damaged("a page is missing".into())));
    assert_eq!(damaged.unwrap_err().code, ergo::api::ErrorCode::Damaged);
    // Without a request, the scheduler notices it at its next timer.
    a.service.sync_now(None).await;
    let rests = |status: &NetworkStatus| {
        status.mode == NetworkMode::Off && status.peers.iter().all(|peer| peer.session.is_none())
    };
    let status = a.until("it rests", rests).await;
    let [problem] = status.problems.as_slice() else { panic!("{:?}", status.problems) };
    assert!(problem.contains("a page is missing") && problem.contains("`ergo doctor`"), "{problem}");
    a.service.refresh().await;
    assert!(rests(&a.service.status()), "a change of the roster does not end the rest");
    a.service.stop().await;
    b.service.stop().await;
}

#[tokio::test]
async fn who_waits_for_documents_is_notified_when_events_were_added() {
    let (a, b) = (Node::new(50), Node::new(51));
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    let a = Daemon::start(a);
    a.listening().await;
    a.node.fact("api", "news", "from a");
    let undocumented = || a.node.engine.with_reader(|r| r.undocumented_count(&team, &scope("api"))).unwrap();
    loop {
        let flushed = a.service.flushed();
        if undocumented() == 0 {
            break;
        }
        tokio::time::timeout(TEST_TIMEOUT, flushed).await.expect("each attempt is announced");
    }
    a.service.stop().await;
}

#[tokio::test]
async fn two_devices_in_two_teams_keep_what_they_know_of_each_other_apart() {
    let (a, b) = (Node::new(46), Node::new(47));
    let teams = [a.create_team(&["api"]), a.create_team(&["web"])];
    for team in teams {
        a.admit(team, &b, Role::Writer, None);
    }
    let (a, b) = (Daemon::start(a), Daemon::start(b));
    a.listening().await;
    b.listening().await;
    b.knows(&a).await;
    let level = |status: &NetworkStatus| status.peers.len() == 2 && status.peers.iter().all(|peer| peer.in_sync);
    b.until("both teams are level", level).await;
    a.until("both teams are level", level).await;
    a.service.stop().await;
    // It ended in order, so it is no problem.
    let gone = |status: &NetworkStatus| status.peers.iter().all(|peer| peer.session.is_none());
    let status = b.until("the other has gone", gone).await;
    assert!(status.peers.iter().all(|peer| peer.problem.is_none()), "{status:?}");
    b.service.stop().await;
    for team in teams {
        let row = b.node.engine.with_reader(|r| r.peer(&team, &a.node.device())).unwrap().unwrap();
        assert_eq!(row.team, team);
        assert!(row.last_sync.is_some() && !row.addresses.is_empty(), "{row:?}");
    }
}

#[tokio::test]
async fn a_revoked_device_learns_by_whom_and_is_disconnected() {
    let (a, b) = (Node::new(34), Node::new(35));
    let team = a.create_team(&["api"]);
    // Somebody is left to listen for when b has gone.
    a.admit(team, &Node::new(40), Role::Writer, None);
    a.admit(team, &b, Role::Writer, None);
    let (a, b) = (Daemon::start(a), Daemon::start(b));
    a.listening().await;
    b.listening().await;
    b.knows(&a).await;
    a.synced_with(&b).await;
    revoke(&a, b.node.device(), team).await;
    let gone = |status: &NetworkStatus| status.peers.iter().all(|peer| peer.device != b.node.device());
    a.until("a has let go of it", gone).await;
    b.until("b has nobody to talk to any more", |status| status.peers.is_empty()).await;
    let roster = b.node.engine.with_reader(|r| r.roster(&team)).unwrap().unwrap();
    let out = roster.member(&b.node.device()).unwrap().out.unwrap();
    assert_eq!(out.by, a.node.device(), "it knows who did it");
    let end = b.node.engine.team_end(team).unwrap().unwrap();
    assert!(!end.left && end.says.contains("revoked this device from acme"), "{end:?}");
    a.service.stop().await;
    b.service.stop().await;
}

#[tokio::test]
async fn a_device_that_left_stores_no_rejection_for_its_return() {
    let (a, b) = (Node::new(190), Node::new(191));
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    let (a, b) = (Daemon::start(a), Daemon::start(b));
    a.listening().await;
    b.listening().await;
    b.knows(&a).await;
    b.synced_with(&a).await;
    b.node.change(Some(team), RosterChange::Leave { cuts: vec![] });
    b.service.refresh().await;
    for daemon in [&a, &b] {
        daemon.until("the peer is gone", |status| status.peers.is_empty()).await;
        // What is to be stored is stored then.
        daemon.service.stop().await;
    }
    for (of, other) in [(&a, &b), (&b, &a)] {
        let row = of.node.engine.with_reader(|r| r.peer(&team, &other.node.device())).unwrap().unwrap();
        let rejection = row.last_error.as_ref().is_some_and(|error| error.contains("rejected"));
        assert!(!row.addresses.is_empty() && !rejection, "{row:?}");
    }
}

#[tokio::test]
async fn a_device_revoked_while_away_is_rejected_at_the_handshake() {
    let (a, b) = (Node::new(41), Node::new(42));
    let team = a.create_team(&["api"]);
    a.admit(team, &Node::new(43), Role::Writer, None);
    a.admit(team, &b, Role::Writer, None);
    let a = Daemon::start(a);
    a.listening().await;
    revoke(&a, b.device(), team).await;
    let b = Daemon::start(b);
    b.listening().await;
    b.knows(&a).await;
    let refused = |status: &NetworkStatus| {
        let problem = |peer: &PeerStatus| {
            peer.problem.clone().is_some_and(|problem| problem.message.contains("does not accept this device"))
        };
        status.peers.iter().any(problem)
    };
    let status = b.until("b is refused at the handshake", refused).await;
    let problem = status.peers.into_iter().find_map(|peer| peer.problem.filter(|problem| !problem.transient)).unwrap();
    assert!(problem.advice.unwrap().contains("invite"), "{}", problem.message);
    a.service.stop().await;
    b.service.stop().await;
}

#[tokio::test]
async fn what_waits_for_its_date_is_accepted_although_nothing_arrives() {
    let away = Arc::new(AtomicI64::new(-10 * 86_400_000));
    let (a, b) = (Node::new(53), Node::with_clock(54, &away));
    let team = a.create_team(&["api"]);
    a.facts("api", "now", 3);
    a.admit(team, &b, Role::Writer, None);
    let events = a.engine.with_reader(|r| r.events_after(&team, &scope("api"), &[], None, 9)).unwrap().events;
    let import = SyncImport { team, from: None, events, document: None, peer: None, now: b.engine.now() };
    assert_eq!(b.engine.import_synced(&import).unwrap().quarantined.len(), 3);
    let b = Daemon::start(b);
    b.listening().await;
    away.store(0, Ordering::Relaxed);
    b.service.sync_now(None).await;
    eventually("its date has come", async || b.node.set(team, "api") == a.set(team, "api")).await;
    b.service.stop().await;
}

async fn revoke(by: &Daemon, device: DeviceId, team: EventId) {
    let cuts = by.node.engine.with_reader(|r| r.cuts_of(&team, &device)).unwrap();
    by.node.change(Some(team), RosterChange::Revoke { device, cuts });
    by.service.refresh().await;
}

#[tokio::test]
async fn a_round_ends_with_each_peer_whatever_comes_of_it() {
    let (a, b, away) = (Node::new(44), Node::new(45), Node::new(46));
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    a.admit(team, &away, Role::Writer, None);
    let (a, b) = (Daemon::start(a), Daemon::start(b));
    a.listening().await;
    b.listening().await;
    b.knows(&a).await;
    a.synced_with(&b).await;
    b.node.facts("api", "news", 3);
    // The round takes what stands in documents: the service puts it there. A worker beside the service's own would get in its way.
    let stands = |status: &NetworkStatus| {
        let waits = b.node.engine.with_reader(|r| r.undocumented(&team, &scope("api"), 1)).unwrap();
        status.mode == NetworkMode::Lan && waits.is_empty()
    };
    b.until("what it wrote stands in a document", stands).await;
    let round = a.service.sync_now(None).await;
    let over = |status: &NetworkStatus| status.peers.len() == 2 && status.peers.iter().all(|peer| peer.round >= round);
    let status = a.until("the round is over", over).await;
    let of = |device| status.peers.iter().find(|peer| peer.device == device).unwrap();
    let (there, gone) = (of(b.node.device()), of(away.device()));
    assert!(there.in_sync && there.received == 3, "{there:?}");
    assert!(gone.session.is_none() && gone.problem.is_some(), "{gone:?}");
    assert_eq!(a.node.set(team, "api"), b.node.set(team, "api"));
    let again = a.service.sync_now(Some(b.node.device())).await;
    a.until("and once more", |status| status.peers.iter().any(|peer| peer.round >= again)).await;
    a.service.stop().await;
    b.service.stop().await;
}

#[tokio::test]
async fn the_limits_of_sessions_and_peers_hold() {
    let (a, b, c, d) = (Node::new(47), Node::new(48), Node::new(49), Node::new(50));
    let team = a.create_team(&["api"]);
    for other in [&b, &c, &d] {
        a.admit(team, other, Role::Writer, None);
    }
    let a = Daemon::with(a, |settings| settings.limits.sessions = 1);
    let (b, c) = (Daemon::start(b), Daemon::start(c));
    let d = Daemon::with(d, |settings| settings.limits.peers = 1);
    for daemon in [&a, &b, &c, &d] {
        daemon.listening().await;
    }
    b.knows(&a).await;
    a.synced_with(&b).await;
    c.knows(&a).await;
    let full =
        |peer: &PeerStatus| peer.problem.as_ref().is_some_and(|problem| problem.message.contains("limit of sessions"));
    let status = c.until("c is told that there is no room", |status| status.peers.iter().any(full)).await;
    assert!(status.peers.iter().all(|peer| peer.session.is_none()));
    let status = a.until("a says so", |status| !status.problems.is_empty()).await;
    assert!(status.problems[0].contains("which is the limit"), "{:?}", status.problems);
    assert_eq!(status.peers.iter().filter(|peer| peer.session.is_some()).count(), 1);
    let one = d.service.status();
    assert_eq!(one.peers.len(), 1, "{one:?}");
    assert!(one.problems.iter().any(|words| words.contains("revoke those")), "{:?}", one.problems);
    for daemon in [&a, &b, &c, &d] {
        daemon.service.stop().await;
    }
}

#[tokio::test]
async fn alone_or_switched_off_nothing_listens() {
    let a = Node::new(36);
    let team = a.create_team(&["api"]);
    let a = Daemon::start(a);
    a.service.refresh().await;
    assert_eq!(a.service.status().mode, NetworkMode::Off, "a team of one has nobody to talk to");
    let b = Node::new(37);
    a.node.admit(team, &b, Role::Writer, None);
    a.service.refresh().await;
    assert_eq!(a.service.status().mode, NetworkMode::Lan);
    a.service.set_mode(Some(NetworkMode::Off)).await;
    assert_eq!((a.service.status().mode, a.service.status().addresses.len()), (NetworkMode::Off, 0));
    let error = a.service.address().await.unwrap_err();
    assert_eq!(error, TransportError::Off);
    a.service.stop().await;
}

#[tokio::test]
async fn a_device_syncs_in_one_process() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (Node::new(38), Node::new(39));
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    // A copy of the store with its key, on the same machine.
    let copy = Node::new(38);
    let (events, now) = (a.roster(team), copy.engine.now());
    copy.engine.with_store(|store| store.join_team(team, &events, None, now)).unwrap();
    let leases = |settings: &mut ServiceSettings| settings.leases = Some(dir.path().to_owned());
    let first = Daemon::with(a, leases);
    first.listening().await;
    let second = Daemon::with(copy, leases);
    let status = second.until("it says so", |status| !status.problems.is_empty()).await;
    assert!(status.problems[0].contains("another process"), "{status:?}");
    first.service.stop().await;
    second.service.stop().await;
}
