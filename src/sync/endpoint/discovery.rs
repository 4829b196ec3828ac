//! Discovery of peers on the local networks by mDNS, under ergo's own service name and on every network of this
//! machine.
//!
//! What is announced, and on which networks, follows the endpoint's own addresses. So a machine that changes networks
//! is found on the new one without a restart, even if that network has no route to the internet.

use std::{
    collections::{BTreeSet, HashMap},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use iroh::{Endpoint, EndpointAddr, EndpointId, Watcher};
use swarm_discovery::{Discoverer, DropGuard, Peer, SpawnError};
use tokio::{
    runtime::Handle,
    sync::watch,
    task::AbortHandle,
    time::{Instant, sleep_until},
};

use super::{EndpointHandler, device_of, is_local};

const MDNS_SERVICE: &str = "ergo1";

/// The query interval while a peer is missing: a peer that arrives is found within about this time.
const SEEKING_CADENCE: Duration = Duration::from_secs(5);

/// The query interval while all peers are connected. A peer that arrives sends a query itself and is answered at once.
const IDLE_CADENCE: Duration = Duration::from_mins(1);

/// How long the short interval is used after this device's address changed, so that peers with the old address learn of
/// it.
const ADDRESS_CHANGE_PERIOD: Duration = Duration::from_secs(20);

/// The target rate of responses per second of all devices of a network together.
const RESPONSE_RATE: f32 = 2.5;

/// The most addresses that are announced, so that they fit into one packet.
const MAX_ANNOUNCED: usize = 16;

/// A running discovery; dropping it ends it.
pub(super) struct Discovery {
    task: AbortHandle,
    seeking: watch::Sender<bool>,
}

impl Discovery {
    /// Starts discovery with the short query interval.
    pub(super) fn start(endpoint: &Endpoint, handler: Arc<dyn EndpointHandler>) -> Self {
        let (seeking, wanted) = watch::channel(true);
        let task = tokio::spawn(run(endpoint.clone(), handler, wanted)).abort_handle();
        Self { task, seeking }
    }

    /// Sets whether a peer is missing, which makes the query interval short.
    pub(super) fn set_seeking(&self, seeking: bool) {
        self.seeking.send_if_modified(|was| std::mem::replace(was, seeking) != seeking);
    }
}

impl Drop for Discovery {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The configuration of the running discovery; it is restarted when this changes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DiscoveryConfig {
    /// The addresses of this device on its networks.
    announced: BTreeSet<SocketAddr>,
    /// The addresses of the networks to query on.
    networks: BTreeSet<Ipv4Addr>,
    cadence: Duration,
}

impl DiscoveryConfig {
    fn of(address: &EndpointAddr, seeking: bool) -> Self {
        let announced: BTreeSet<SocketAddr> = address
            .ip_addrs()
            .filter(|at| is_local(at.ip()) && !at.ip().is_loopback())
            .take(MAX_ANNOUNCED)
            .copied()
            .collect();
        let networks = announced.iter().filter_map(|at| match at.ip() {
            IpAddr::V4(ip) => Some(ip),
            IpAddr::V6(_) => None,
        });
        Self { networks: networks.collect(), announced, cadence: if seeking { SEEKING_CADENCE } else { IDLE_CADENCE } }
    }
}

async fn run(endpoint: Endpoint, handler: Arc<dyn EndpointHandler>, mut seeking: watch::Receiver<bool>) {
    let (id, mut address) = (endpoint.id(), endpoint.watch_addr());
    // The endpoint must close with its owner, not with this task.
    drop(endpoint);
    let mut running: Option<(DiscoveryConfig, DropGuard)> = None;
    let mut changed_until: Option<Instant> = None;
    loop {
        let mut config = DiscoveryConfig::of(&address.get(), *seeking.borrow_and_update());
        if running.as_ref().is_some_and(|(is, _)| is.announced != config.announced) {
            changed_until = Some(Instant::now() + ADDRESS_CHANGE_PERIOD);
        }
        if changed_until.is_some() {
            config.cadence = SEEKING_CADENCE;
        }
        if running.as_ref().is_none_or(|(is, _)| *is != config) {
            // The old discovery must close its sockets first.
            drop(running.take());
            match announce(id, &config, Arc::clone(&handler)) {
                Ok(guard) => running = Some((config, guard)),
                Err(error) => tracing::warn!(%error, "peers on this network cannot be found by mDNS"),
            }
        }
        let over = tokio::select! {
            changed = address.updated() => changed.is_err(),
            changed = seeking.changed() => changed.is_err(),
            () = sleep_until(changed_until.unwrap_or_else(Instant::now)), if changed_until.is_some() => {
                changed_until = None;
                false
            }
        };
        if over {
            return;
        }
    }
}

/// Reports each change of this device's addresses.
pub(super) async fn watch(mut address: impl Watcher<Value = EndpointAddr>, handler: Arc<dyn EndpointHandler>) {
    let at = |address: &EndpointAddr| address.ip_addrs().copied().collect::<BTreeSet<SocketAddr>>();
    let mut known = at(&address.get());
    while let Ok(now) = address.updated().await {
        let now = at(&now);
        if now != known {
            known = now;
            handler.on_addresses_changed();
        }
    }
}

fn announce(
    id: EndpointId,
    config: &DiscoveryConfig,
    handler: Arc<dyn EndpointHandler>,
) -> Result<DropGuard, Box<SpawnError>> {
    tracing::debug!(?config, "looking for peers by mDNS");
    let mut known = KnownPeers::default();
    let mut discoverer = Discoverer::new(MDNS_SERVICE.to_owned(), id.to_z32())
        .with_cadence(config.cadence)
        .with_response_rate(RESPONSE_RATE)
        .with_multicast_interfaces_v4(config.networks.iter().copied().collect())
        .with_callback(move |name: &str, peer: &Peer| {
            let Ok(other) = EndpointId::from_z32(name) else { return };
            let addresses = peer.addrs().iter().map(|(ip, port)| SocketAddr::new(*ip, *port)).collect();
            if other != id
                && let Some(addresses) = known.changed_addresses(other, addresses)
            {
                handler.on_peer_found(device_of(other), addresses);
            }
        });
    for at in &config.announced {
        discoverer = discoverer.with_addrs(at.port(), [at.ip()]);
    }
    discoverer.spawn(&Handle::current()).map_err(Box::new)
}

/// The addresses of each discovered device, since responses repeat them.
#[derive(Default)]
struct KnownPeers(HashMap<EndpointId, BTreeSet<SocketAddr>>);

impl KnownPeers {
    /// Returns the addresses if they changed; an empty set means that the device left the network.
    fn changed_addresses(&mut self, device: EndpointId, addresses: BTreeSet<SocketAddr>) -> Option<Vec<SocketAddr>> {
        if addresses.is_empty() {
            self.0.remove(&device);
            return None;
        }
        if self.0.get(&device) == Some(&addresses) {
            return None;
        }
        let announced = addresses.iter().copied().collect();
        self.0.insert(device, addresses);
        Some(announced)
    }
}

#[cfg(test)]
mod tests {
    use iroh::{SecretKey, TransportAddr};

    use super::*;

    fn id(n: u8) -> EndpointId {
        SecretKey::from_bytes(&[n; 32]).public()
    }

    #[test]
    fn what_is_announced_is_what_this_networks_can_reach() {
        let all = ["192.168.1.8:7", "10.0.0.2:7", "127.0.0.1:7", "8.8.8.8:7", "[fd00::1]:7", "[2001:db8::1]:7"];
        let addresses = all.map(|at| TransportAddr::Ip(at.parse().unwrap()));
        let config = DiscoveryConfig::of(&EndpointAddr::from_parts(id(1), addresses), true);
        let announced: Vec<String> = config.announced.iter().map(ToString::to_string).collect();
        assert_eq!(announced, ["10.0.0.2:7", "192.168.1.8:7", "[fd00::1]:7"]);
        assert_eq!(config.networks, BTreeSet::from(["192.168.1.8".parse().unwrap(), "10.0.0.2".parse().unwrap()]));
        let rest = DiscoveryConfig::of(&EndpointAddr::from_parts(id(1), []), false);
        assert!(rest.announced.is_empty() && rest.cadence > config.cadence);
    }

    #[test]
    fn a_device_is_reported_again_only_after_it_moved_or_left() {
        let mut known = KnownPeers::default();
        let at = |port: u16| BTreeSet::from([SocketAddr::from(([10, 0, 0, 1], port))]);
        assert!(known.changed_addresses(id(1), at(1)).is_some());
        assert!(known.changed_addresses(id(1), at(1)).is_none());
        assert!(known.changed_addresses(id(2), at(1)).is_some());
        assert_eq!(known.changed_addresses(id(1), at(2)), Some(at(2).into_iter().collect()));
        assert!(known.changed_addresses(id(1), BTreeSet::new()).is_none());
        assert!(known.changed_addresses(id(1), at(2)).is_some());
    }

    #[test]
    fn a_name_fits_into_a_dns_label_and_leads_back() {
        let name = id(9).to_z32();
        assert!(name.len() <= 63);
        assert_eq!(EndpointId::from_z32(&name).unwrap(), id(9));
    }
}
