//! Two daemons on one store.

use crate::support::{laptop::Laptop, until};

#[test]
fn a_second_daemon_on_a_store_that_syncs_is_refused_and_the_first_syncs_on() {
    let (ada, bob) = (Laptop::of("ada"), Laptop::of("bob"));
    ada.create_team();
    ada.admit(&bob, &[]);
    let second = bob.home.run(["daemon", "run"]);
    assert_eq!(second.code, Some(3), "{second:?}");
    assert!(second.stderr.contains(&format!("process id {}", bob.pid())), "{second:?}");
    ada.remember("Deploys run only on green CI.");
    until("bob has it", || bob.knows("Deploys run only on green CI."));
    bob.remember("Logs are kept for thirty days.");
    until("ada has it", || ada.knows("Logs are kept for thirty days."));
}
