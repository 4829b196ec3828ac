//! Real daemons in networks that the test creates: they find each other by mDNS alone, and send nothing else beyond
//! their network.
//!
//! If this machine does not allow network namespaces, these tests print that and are skipped.

mod internet;
mod meet;
mod quiet;
mod watch;

use crate::support::{laptop::Laptop, network::Place, until};

/// Two start in their places, make a team, and bring each other a claim.
fn make_a_team(places: &[Place; 2], ada: &mut Laptop, bob: &mut Laptop) {
    ada.start_in(&places[0]);
    bob.start_in(&places[1]);
    ada.remember("Deploys run only on green CI.");
    ada.create_team();
    ada.admit(bob, &[]);
    until("bob has it", || bob.knows("Deploys run only on green CI."));
    bob.remember("Logs are kept for thirty days.");
    until("ada has it", || ada.knows("Logs are kept for thirty days."));
    until("both are level", || ada.level_with(1) && bob.level_with(1));
}
