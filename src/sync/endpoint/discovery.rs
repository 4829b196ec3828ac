//! Finding each other on the local network: mDNS under a service name of our own, on every network that this machine is in.
//!
//! What is announced, and on which networks, follows the endpoint's own addresses: a machine that comes into a network, or into another
//! one, is found there without being started anew, and a network without a way out is as good as any.

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

use super::{Listener, device_of, is_local};

/// The name under which devices find each other.
const SERVICE: &str = "ergo1";

/// How often it is asked who is there while somebody is looked for: a peer that arrives is found within about this time.
const SEEKING: Duration = Duration::from_secs(5);

/// The same while everybody is connected. Who arrives asks by itself, and is answered at once.
const AT_REST: Duration = Duration::from_mins(1);

/// How long it is asked often after this device has come to another address: those who know the old one must learn of it.
const ARRIVING: Duration = Duration::from_secs(20);

/// Answers in a second that all devices of a network together aim at.
const ANSWERS: f32 = 2.5;

/// Addresses that are announced at most: the packet must stay one.
const ANNOUNCED: usize = 16;

/// Discovery under way, until it is dropped.
pub(super) struct Discovery {
    keeping: AbortHandle,
    seeking: watch::Sender<bool>,
}

impl Discovery {
    /// Begins, looking for somebody.
    pub(super) fn start(endpoint: &Endpoint, listener: Arc<dyn Listener>) -> Self {
        let (seeking, wanted) = watch::channel(true);
        let keeping = tokio::spawn(keep(endpoint.clone(), listener, wanted)).abort_handle();
        Self { keeping, seeking }
    }

    /// Whether somebody is looked for; else it only answers, and asks seldom.
    pub(super) fn seek(&self, seeking: bool) {
        self.seeking.send_if_modified(|was| std::mem::replace(was, seeking) != seeking);
    }
}

impl Drop for Discovery {
    fn drop(&mut self) {
        self.keeping.abort();
    }
}

/// How discovery runs; where this changes, it is started anew.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Plan {
    /// Where this device is reached on its networks.
    announced: BTreeSet<SocketAddr>,
    /// The networks' own addresses: one for each that is asked on.
    networks: BTreeSet<Ipv4Addr>,
    cadence: Duration,
}

impl Plan {
    fn of(address: &EndpointAddr, seeking: bool) -> Self {
        let announced: BTreeSet<SocketAddr> = address
            .ip_addrs()
            .filter(|at| is_local(at.ip()) && !at.ip().is_loopback())
            .take(ANNOUNCED)
            .copied()
            .collect();
        let networks = announced.iter().filter_map(|at| match at.ip() {
            IpAddr::V4(ip) => Some(ip),
            IpAddr::V6(_) => None,
        });
        Self { networks: networks.collect(), announced, cadence: if seeking { SEEKING } else { AT_REST } }
    }
}

async fn keep(endpoint: Endpoint, listener: Arc<dyn Listener>, mut seeking: watch::Receiver<bool>) {
    let (id, mut address) = (endpoint.id(), endpoint.watch_addr());
    // The endpoint ends with its owner, not with us.
    drop(endpoint);
    let mut running: Option<(Plan, DropGuard)> = None;
    let mut arriving: Option<Instant> = None;
    loop {
        let mut plan = Plan::of(&address.get(), *seeking.borrow_and_update());
        if running.as_ref().is_some_and(|(is, _)| is.announced != plan.announced) {
            arriving = Some(Instant::now() + ARRIVING);
        }
        if arriving.is_some() {
            plan.cadence = SEEKING;
        }
        if running.as_ref().is_none_or(|(is, _)| *is != plan) {
            // Its sockets go first.
            drop(running.take());
            match announce(id, &plan, Arc::clone(&listener)) {
                Ok(guard) => running = Some((plan, guard)),
                Err(error) => tracing::warn!(%error, "peers on this network cannot be found by mDNS"),
            }
        }
        let over = tokio::select! {
            changed = address.updated() => changed.is_err(),
            changed = seeking.changed() => changed.is_err(),
            () = sleep_until(arriving.unwrap_or_else(Instant::now)), if arriving.is_some() => {
                arriving = None;
                false
            }
        };
        if over {
            return;
        }
    }
}

/// Says whenever this device is reached at other addresses than before.
pub(super) async fn watch(mut address: impl Watcher<Value = EndpointAddr>, listener: Arc<dyn Listener>) {
    let at = |address: &EndpointAddr| address.ip_addrs().copied().collect::<BTreeSet<SocketAddr>>();
    let mut known = at(&address.get());
    while let Ok(now) = address.updated().await {
        let now = at(&now);
        if now != known {
            known = now;
            listener.moved();
        }
    }
}

fn announce(id: EndpointId, plan: &Plan, listener: Arc<dyn Listener>) -> Result<DropGuard, Box<SpawnError>> {
    tracing::debug!(?plan, "looking for peers by mDNS");
    let mut seen = Seen::default();
    let mut discoverer = Discoverer::new(SERVICE.to_owned(), id.to_z32())
        .with_cadence(plan.cadence)
        .with_response_rate(ANSWERS)
        .with_multicast_interfaces_v4(plan.networks.iter().copied().collect())
        .with_callback(move |name: &str, peer: &Peer| {
            let Ok(other) = EndpointId::from_z32(name) else { return };
            let addresses = peer.addrs().iter().map(|(ip, port)| SocketAddr::new(*ip, *port)).collect();
            if other != id
                && let Some(addresses) = seen.news(other, addresses)
            {
                listener.found(device_of(other), addresses);
            }
        });
    for at in &plan.announced {
        discoverer = discoverer.with_addrs(at.port(), [at.ip()]);
    }
    discoverer.spawn(&Handle::current()).map_err(Box::new)
}

/// Who was seen, and where: every answer comes again and again.
#[derive(Default)]
struct Seen(HashMap<EndpointId, BTreeSet<SocketAddr>>);

impl Seen {
    /// The addresses, if they are news; none at all means that the device has gone, and is news when it comes back.
    fn news(&mut self, device: EndpointId, addresses: BTreeSet<SocketAddr>) -> Option<Vec<SocketAddr>> {
        if addresses.is_empty() {
            self.0.remove(&device);
            return None;
        }
        if self.0.get(&device) == Some(&addresses) {
            return None;
        }
        let told = addresses.iter().copied().collect();
        self.0.insert(device, addresses);
        Some(told)
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
        let plan = Plan::of(&EndpointAddr::from_parts(id(1), addresses), true);
        let told: Vec<String> = plan.announced.iter().map(ToString::to_string).collect();
        assert_eq!(told, ["10.0.0.2:7", "192.168.1.8:7", "[fd00::1]:7"]);
        assert_eq!(plan.networks, BTreeSet::from(["192.168.1.8".parse().unwrap(), "10.0.0.2".parse().unwrap()]));
        let rest = Plan::of(&EndpointAddr::from_parts(id(1), []), false);
        assert!(rest.announced.is_empty() && rest.cadence > plan.cadence);
    }

    #[test]
    fn who_is_seen_again_is_no_news_until_it_moves_or_comes_back() {
        let mut seen = Seen::default();
        let at = |port: u16| BTreeSet::from([SocketAddr::from(([10, 0, 0, 1], port))]);
        assert!(seen.news(id(1), at(1)).is_some());
        assert!(seen.news(id(1), at(1)).is_none());
        assert!(seen.news(id(2), at(1)).is_some());
        assert_eq!(seen.news(id(1), at(2)), Some(at(2).into_iter().collect()));
        assert!(seen.news(id(1), BTreeSet::new()).is_none());
        assert!(seen.news(id(1), at(2)).is_some());
    }

    #[test]
    fn a_name_fits_into_a_dns_label_and_leads_back() {
        let name = id(9).to_z32();
        assert!(name.len() <= 63);
        assert_eq!(EndpointId::from_z32(&name).unwrap(), id(9));
    }
}
