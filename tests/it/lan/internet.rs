//! `sync.mode = "internet"` in networks without a way out: the addresses that it would contact.

use std::collections::BTreeSet;

use super::{make_a_team, watch::Watch};
use crate::support::{laptop::Laptop, network::Network, until};

/// A relay that is not there, at an address that is nobody's (RFC 5737).
const RELAY: &str = "198.51.100.9";

#[test]
fn with_a_relay_of_ones_own_members_meet_and_nobody_else_is_contacted() {
    let Some(mut network) = Network::new("internet mode with a relay of one's own") else { return };
    let places = [network.plugged(), network.plugged()];
    for place in &places {
        place.leak();
        // Packets to the relay leave, rather than questions about who it is.
        place.ip_tool(&format!("neigh add {RELAY} lladdr 02:00:00:00:00:09 dev leak"));
    }
    let Some(watch) = Watch::begin(&places[0]) else { return };
    let settings = format!("mode = \"internet\"\nrelay = \"https://{RELAY}:8443\"\n");
    let (mut ada, mut bob) = (Laptop::offline_with("ada", &settings), Laptop::offline_with("bob", &settings));
    make_a_team(&places, &mut ada, &mut bob);
    assert_eq!(ada.status()["mode"], "internet");
    watch.further(3, "the relay is asked for", |sent| sent.to == RELAY);
    watch.further(3, "a keep-alive is sent", |sent| sent.to == places[1].ip());
    // Every address is listed, and the mode is said.
    let stdout = ada.run(&["doctor"]).stdout;
    assert!(stdout.contains(&format!("https://{RELAY}:8443")) && stdout.contains(&places[1].ip()), "{stdout}");
    bob.stop();
    ada.stop();
    let mut beyond = BTreeSet::new();
    for packet in watch.end() {
        let (protocol, to) = (packet.protocol.as_str(), packet.to.as_str());
        let to_bob = to == places[1].ip() || to.starts_with("fe80:");
        if packet.interface == "leak" {
            beyond.insert(format!("{protocol} {to} {}", packet.port));
            let relay = matches!(protocol, "tcp" | "udp" | "arp") && to == RELAY;
            assert!(relay || matches!(protocol, "igmp" | "icmp6"), "{packet:?} was sent beyond the network");
            continue;
        }
        let fine = match (protocol, packet.port) {
            ("udp", 5353) => to == "224.0.0.251" || to == "ff02::fb",
            ("udp", _) => to_bob,
            ("arp", _) => to_bob || to == places[0].ip(),
            ("igmp" | "icmp6", _) => true,
            _ => false,
        };
        assert!(fine || packet.interface == "lo", "{packet:?} was sent");
    }
    println!("beyond the network: {beyond:?}");
    assert!(beyond.iter().any(|at| at.contains(RELAY)), "the relay was asked for: {beyond:?}");
}

#[test]
fn without_one_doctor_lists_whose_relays_and_directory_are_used() {
    let Some(mut network) = Network::new("internet mode as it comes") else { return };
    let (here, there) = (network.plugged(), network.plugged());
    let (mut ada, mut bob) = (Laptop::offline_with("ada", "mode = \"internet\"\n"), Laptop::offline_with("bob", ""));
    ada.start_in(&here);
    bob.start_in(&there);
    ada.create_team();
    ada.admit(&bob, &[]);
    until("they are level", || ada.level_with(1));
    let stdout = ada.run(&["doctor"]).stdout;
    for listed in ["https://dns.iroh.link/pkarr (directory", "(relay", "name servers of this machine (names"] {
        assert!(stdout.contains(listed), "{listed}: {stdout}");
    }
    // The one on the local network alone has nothing of the kind.
    let stdout = bob.run(&["doctor"]).stdout;
    assert!(!stdout.contains("dns.iroh.link") && !stdout.contains("(relay"), "{stdout}");
}
