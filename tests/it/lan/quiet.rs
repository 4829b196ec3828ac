//! Which packets leave a machine.

use std::{collections::BTreeSet, process::Command, time::Duration};

use super::{
    make_a_team,
    watch::{Sent, Watch, network_sockets},
};
use crate::support::{laptop::Laptop, network::Network, until, until_within};

#[test]
fn until_there_is_somebody_to_talk_to_no_network_socket_is_open() {
    let ada = Laptop::of("ada");
    let none = BTreeSet::new();
    assert_eq!(network_sockets(ada.pid()), none, "no team");
    ada.remember("Deploys run only on green CI.");
    ada.create_team();
    assert_eq!(network_sockets(ada.pid()), none, "a team of one has nobody to talk to");
    ada.ticket(&[]);
    let open = network_sockets(ada.pid());
    assert!(open.iter().any(|socket| socket.starts_with("udp ")), "while somebody may come: {open:?}");
    ada.run(&["sync", "mode", "off"]).ok();
    // What watches the interfaces may take a moment to end.
    until("nothing is open any more", || network_sockets(ada.pid()).is_empty());
}

#[test]
fn on_a_lan_nothing_is_sent_but_mdns_and_quic_to_members() {
    let Some(mut network) = Network::new("what is sent on a LAN") else { return };
    let places = [network.plugged(), network.plugged()];
    places.iter().for_each(crate::support::network::Place::leak);
    let Some(watch) = Watch::begin(&places[0]) else { return };
    let (mut ada, mut bob) = (Laptop::offline("ada"), Laptop::offline("bob"));
    make_a_team(&places, &mut ada, &mut bob);
    let there: BTreeSet<u16> = bob.status()["addresses"]
        .as_array()
        .unwrap()
        .iter()
        .map(|at| at.as_str().unwrap().rsplit(':').next().unwrap().parse().unwrap())
        .collect();
    // Whatever comes by itself: mDNS, keep-alives; and then, with bob gone, calls that nobody answers.
    let is_mdns = |sent: &Sent| (sent.protocol.as_str(), sent.port) == ("udp", 5353);
    let is_quic = |sent: &Sent| sent.protocol == "udp" && there.contains(&sent.port);
    watch.further(3, "a keep-alive is sent", is_quic);
    bob.stop();
    watch.further(2, "the network is asked who is there", is_mdns);
    watch.further(2, "a call is sent that nobody answers", is_quic);
    let sent = watch.end();
    for packet in &sent {
        let (protocol, to) = (packet.protocol.as_str(), packet.to.as_str());
        let to_bob = to == places[1].ip() || to.starts_with("fe80:");
        let fine = match (protocol, packet.port) {
            ("udp", 5353) => to == "224.0.0.251" || to == "ff02::fb",
            ("udp", port) => to_bob && there.contains(&port),
            // The kernel's own: who has this address, who is in this group.
            ("arp", _) => packet.interface == "eth0" && to_bob || to == places[0].ip(),
            ("igmp" | "icmp6", _) => true,
            _ => false,
        };
        assert!(fine, "{packet:?} was sent; bob listens at {there:?}");
    }
    for (place, laptop) in places.iter().zip([&ada, &bob]) {
        assert_eq!(place.sent_by("leak"), 0, "{} sent something beyond its network", laptop.who);
    }
    // The capture does detect such a packet.
    let mut stray = Command::new("bash");
    stray.args(["-c", "echo x > /dev/udp/198.51.100.7/53"]);
    drop(places[0].inside(stray).status());
    until_within(Duration::from_secs(5), "a stray packet is counted", || places[0].sent_by("leak") > 0);
    // Every address that was contacted was written down.
    let stdout = ada.run(&["doctor"]).stdout;
    assert!(stdout.contains("224.0.0.251:5353") && stdout.contains(&places[1].ip()), "{stdout}");
}
