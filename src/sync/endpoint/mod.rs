//! The network endpoint of sync: one iroh endpoint with the device's own key.
//!
//! Every address that it contacts is reported to the [`EndpointHandler`].
//!
//! Architecture Invariant: in LAN mode the endpoint uses no relay, asks no name server and maps no port. It only
//! listens, dials members of the teams at known addresses of the local networks, and, if there are members, speaks
//! mDNS. Connections from other addresses get no answer. So a laptop in a café reveals nothing beyond its network.

mod access;
mod discovery;
mod error;
mod lease;
mod route;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeSet, HashSet},
    fmt,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use ed25519_dalek::SigningKey;
use iroh::{
    Endpoint, EndpointAddr, EndpointId, NetReportConfig, RelayMode, RelayUrl, SecretKey, TransportAddr,
    endpoint::{
        Connection, PortmapperConfig, QuicTransportConfig, RecvStream, SendStream, VarInt,
        presets::{Minimal, N0},
    },
};
use tokio::task::AbortHandle;

pub use access::FORBIDDEN;
use access::{AccessPolicy, PairingGuard};
use discovery::Discovery;
use error::connect_error;
pub use error::{TransportError, close_error};
use lease::Lease;
pub use route::{PathKind, Route, Traffic, is_local};

use super::frame::{ALPN_PAIR, ALPN_SYNC};
use crate::domain::DeviceId;

/// The timeout of a dial. iroh itself waits 30 s for an address that does not answer (measured).
pub const DIAL_TIMEOUT: Duration = Duration::from_secs(5);

/// The timeout of a caller's handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long closing waits for the peers to be notified.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// A connection without packets for this time is closed. Both sides send a keep-alive every five seconds.
const IDLE_TIMEOUT: VarInt = VarInt::from_u32(15_000);

/// The close code for a connection whose peer does not answer.
const UNRESPONSIVE: u32 = 410;

/// The networks on which this device syncs: which services it contacts, and which addresses it announces, dials and
/// answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NetworkMode {
    /// Sync is off.
    #[default]
    Off,
    /// Only the local networks, VPNs included, without relay, name server or port mapping.
    Lan,
    /// All networks, through a relay if there is no other path.
    Internet,
}

impl NetworkMode {
    /// Returns the word in `config.toml`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Lan => "lan",
            Self::Internet => "internet",
        }
    }
}

/// The options for binding an endpoint.
#[derive(Clone)]
pub struct EndpointOptions {
    /// The device's key: its endpoint id is the device id.
    pub key: SigningKey,
    /// Must not be [`NetworkMode::Off`].
    pub mode: NetworkMode,
    /// The URL of the relay with [`NetworkMode::Internet`]; if `None`, n0's relays and directory.
    pub relay: Option<String>,
    /// The UDP port; if `None`, a port derived from the key, or any free port if that one is taken.
    pub port: Option<u16>,
    /// Whether to use only the loopback interface, without mDNS: for tests.
    pub loopback: bool,
    /// The lock file that prevents two processes from using the key.
    pub lease: Option<PathBuf>,
}

impl fmt::Debug for EndpointOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The key must not be logged.
        f.debug_struct("EndpointOptions")
            .field("mode", &self.mode)
            .field("relay", &self.relay)
            .field("port", &self.port)
            .field("loopback", &self.loopback)
            .finish_non_exhaustive()
    }
}

/// Receives the events of an endpoint. Called on a runtime thread, so it must not block.
pub trait EndpointHandler: Send + Sync + 'static {
    /// Handles a connection from a peer. Its protocol is `ergo/sync/1`, or `ergo/pair/1` while a pairing window is
    /// open.
    fn on_connection(&self, connection: Connection);
    /// Handles a device that was discovered on the local network. It may be unknown.
    fn on_peer_found(&self, device: DeviceId, addresses: Vec<SocketAddr>);
    /// Handles a change of this device's addresses: connections over the old ones may be lost.
    fn on_addresses_changed(&self);
    /// Handles a contact: packets were sent to an address or came from it. `what` is `dialled`, `accepted`, `discovery`, `relay`,
    /// `directory` or `names`.
    fn on_contact(&self, address: &str, what: &'static str);
}

/// A bound endpoint. Dropping it closes it without notice; [`Transport::close`] also notifies the peers.
pub struct Transport {
    endpoint: Endpoint,
    options: EndpointOptions,
    access: AccessPolicy,
    handler: Arc<dyn EndpointHandler>,
    mdns: Mutex<Option<Discovery>>,
    accepting: AbortHandle,
    watching: AbortHandle,
    _lease: Option<Lease>,
}

/// Devices outside the team may pair while this exists.
#[derive(Debug)]
pub struct PairingPermit {
    _open: PairingGuard,
}

impl Transport {
    /// Binds an endpoint and accepts connections.
    ///
    /// # Errors
    /// If another process uses the key, the relay's URL is invalid, or the system refuses the port.
    pub async fn bind(options: EndpointOptions, handler: Arc<dyn EndpointHandler>) -> Result<Self, TransportError> {
        let lease = match &options.lease {
            None => None,
            Some(path) => match Lease::take(path) {
                Ok(Some(lease)) => Some(lease),
                Ok(None) => return Err(TransportError::KeyInUse(path.clone())),
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "cannot lock the lease file: another process may sync with the same key");
                    None
                }
            },
        };
        let access = AccessPolicy::default();
        let endpoint = match (options.port, options.loopback) {
            (None, false) => match listen_at(&options, Some(default_port(&options.key)), &access).await {
                // Another program uses the port.
                Err(TransportError::Bind(_)) => listen_at(&options, None, &access).await?,
                bound => bound?,
            },
            (port, _) => listen_at(&options, port, &access).await?,
        };
        for (address, what) in external_contacts(&options) {
            handler.on_contact(&address, what);
        }
        tracing::info!(addresses = ?endpoint.bound_sockets(), mode = options.mode.as_str(), "listening for peers");
        let accepting = tokio::spawn(accept(endpoint.clone(), options.mode, Arc::clone(&handler))).abort_handle();
        let watching = tokio::spawn(discovery::watch(endpoint.watch_addr(), Arc::clone(&handler))).abort_handle();
        Ok(Self { endpoint, options, access, handler, mdns: Mutex::default(), accepting, watching, _lease: lease })
    }

    /// Returns the id of this device.
    pub fn device(&self) -> DeviceId {
        device_of(self.endpoint.id())
    }

    pub fn mode(&self) -> NetworkMode {
        self.options.mode
    }

    /// Returns the addresses of this device as text for people.
    pub fn addresses(&self) -> Vec<String> {
        let shown = |address: TransportAddr| match address {
            TransportAddr::Ip(address) => Some(address.to_string()),
            TransportAddr::Relay(relay) => Some(relay.to_string()),
            _ => None,
        };
        self.address().addrs.into_iter().filter_map(shown).collect()
    }

    /// Returns the addresses of this endpoint, for a ticket.
    pub fn address(&self) -> EndpointAddr {
        if self.options.loopback {
            let addresses = self.endpoint.bound_sockets().into_iter().map(TransportAddr::Ip);
            return EndpointAddr::from_parts(self.endpoint.id(), addresses);
        }
        let address = self.endpoint.addr();
        if self.options.mode == NetworkMode::Internet {
            return address;
        }
        let local = address.addrs.into_iter().filter(is_local_transport);
        EndpointAddr::from_parts(self.endpoint.id(), local)
    }

    /// Replaces the members, who may connect and whom this device dials. Open connections stay until their owner closes
    /// them.
    pub fn set_members(&self, members: impl IntoIterator<Item = DeviceId>) {
        self.access.set_members(members.into_iter().filter_map(endpoint_of).collect::<HashSet<_>>());
    }

    /// Lets devices outside the team pair while the permit exists.
    pub fn open_pairing(&self) -> PairingPermit {
        PairingPermit { _open: self.access.open() }
    }

    /// Starts or stops mDNS on the local networks.
    pub fn discover(&self, on: bool) {
        let mut mdns = self.mdns.lock().unwrap_or_else(PoisonError::into_inner);
        if !on || self.options.loopback {
            *mdns = None;
        } else if mdns.is_none() {
            self.handler.on_contact("224.0.0.251:5353", "discovery");
            *mdns = Some(Discovery::start(&self.endpoint, Arc::clone(&self.handler)));
        }
    }

    /// Sets whether a peer is missing, so that mDNS queries more often.
    pub fn set_seeking(&self, missing: bool) {
        if let Some(discovery) = &*self.mdns.lock().unwrap_or_else(PoisonError::into_inner) {
            discovery.set_seeking(missing);
        }
    }

    /// Dials a member for sync, at these addresses and those that the mode's directories know.
    ///
    /// # Errors
    /// If it does not answer within [`DIAL_TIMEOUT`], or rejects the connection.
    pub async fn call(&self, device: DeviceId, addresses: &[SocketAddr]) -> Result<Connection, TransportError> {
        let id = endpoint_of(device).ok_or(TransportError::NotAMember)?;
        let to = EndpointAddr::from_parts(id, addresses.iter().copied().map(TransportAddr::Ip));
        self.connect(to, ALPN_SYNC).await
    }

    /// Dials the device that invited this one, for pairing.
    ///
    /// # Errors
    /// As [`Transport::call`].
    pub async fn call_to_pair(&self, inviter: EndpointAddr) -> Result<Connection, TransportError> {
        self.access.allow_inviter(inviter.id);
        self.connect(inviter, ALPN_PAIR).await
    }

    async fn connect(&self, mut to: EndpointAddr, alpn: &'static [u8]) -> Result<Connection, TransportError> {
        if self.options.mode == NetworkMode::Lan {
            let (local, remote) = to.addrs.into_iter().partition::<BTreeSet<_>, _>(is_local_transport);
            if local.is_empty() {
                return Err(match remote.iter().next() {
                    None => TransportError::NoAddress,
                    Some(TransportAddr::Ip(address)) => TransportError::NotLocal(address.to_string()),
                    Some(_) => TransportError::NotLocal("the relay of the peer".to_owned()),
                });
            }
            to.addrs = local;
        }
        for address in &to.addrs {
            match address {
                TransportAddr::Ip(address) => self.handler.on_contact(&address.to_string(), "dialled"),
                TransportAddr::Relay(relay) => self.handler.on_contact(relay.as_str(), "relay"),
                _ => {}
            }
        }
        let shown: Vec<String> = to.ip_addrs().map(ToString::to_string).collect();
        let shown = if shown.is_empty() { "any address".to_owned() } else { shown.join(", ") };
        let connection = match tokio::time::timeout(DIAL_TIMEOUT, self.endpoint.connect(to, alpn)).await {
            Err(_) => return Err(TransportError::NoAnswer(shown)),
            Ok(Err(error)) => return Err(connect_error(&error, shown)),
            Ok(Ok(connection)) => connection,
        };
        if let Some(error) = connection.close_reason() {
            return Err(close_error(&error));
        }
        Ok(connection)
    }

    /// Closes all connections; waits at most [`CLOSE_TIMEOUT`] for the peers to be notified.
    pub async fn close(&self) {
        self.accepting.abort();
        self.watching.abort();
        drop(self.mdns.lock().unwrap_or_else(PoisonError::into_inner).take());
        if tokio::time::timeout(CLOSE_TIMEOUT, self.endpoint.close()).await.is_err() {
            tracing::debug!("the endpoint closed before all peers were notified");
        }
    }
}

impl Drop for Transport {
    fn drop(&mut self) {
        self.accepting.abort();
        self.watching.abort();
    }
}

/// Opens a stream on a connection that this device dialled.
///
/// # Errors
/// If the connection closes, or the peer grants no stream in time.
pub async fn open_stream(
    connection: &Connection,
    within: Duration,
) -> Result<(SendStream, RecvStream), TransportError> {
    match tokio::time::timeout(within, connection.open_bi()).await {
        Ok(opened) => opened.map_err(|error| close_error(&error)),
        Err(_) => Err(TransportError::NoStream(within)),
    }
}

/// Returns the current route of a connection, or `None` if it is closed.
pub fn route(connection: &Connection) -> Option<Route> {
    let paths = connection.paths();
    let path = paths.iter().find(iroh::endpoint::Path::is_selected).or_else(|| paths.iter().next())?;
    let kind = match path.remote_addr() {
        TransportAddr::Ip(address) if is_local(address.ip()) => PathKind::Lan,
        TransportAddr::Ip(_) => PathKind::Direct,
        _ => PathKind::Relay,
    };
    Some(Route { path: kind, rtt: path.rtt() })
}

/// Returns the bytes that a connection has carried so far.
pub fn traffic(connection: &Connection) -> Traffic {
    let stats = connection.stats();
    Traffic { sent: stats.udp_tx.bytes, received: stats.udp_rx.bytes }
}

/// Closes a connection whose peer does not answer.
pub fn close_unresponsive(connection: &Connection) {
    connection.close(UNRESPONSIVE.into(), b"no answer");
}

/// Returns the addresses at which a connected peer was reached.
pub fn remote_addresses(connection: &Connection) -> Vec<SocketAddr> {
    let ip = |address: &TransportAddr| match address {
        TransportAddr::Ip(address) => Some(*address),
        _ => None,
    };
    connection.paths().iter().filter_map(|path| ip(path.remote_addr())).collect()
}

/// Returns the default port of a device: always the same, so that peers find it without mDNS, and below the
/// range of ephemeral ports.
fn default_port(key: &SigningKey) -> u16 {
    let [a, b, ..] = key.verifying_key().to_bytes();
    20_000 + u16::from_le_bytes([a, b]) % 12_000
}

/// The directory of n0 (the company behind iroh) in which devices look each other up.
const DIRECTORY: &str = "https://dns.iroh.link/pkarr";

/// Returns the services that are contacted so that the device is reachable from outside the local network; empty except
/// in [`NetworkMode::Internet`].
fn external_contacts(options: &EndpointOptions) -> Vec<(String, &'static str)> {
    if options.mode != NetworkMode::Internet || options.loopback {
        return Vec::new();
    }
    let names = ("the name servers of this machine".to_owned(), "names");
    if let Some(relay) = &options.relay {
        let by_name = relay.parse::<RelayUrl>().ok().and_then(|url| url.host_str().map(str::to_owned));
        let by_name = by_name.is_some_and(|host| host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_err());
        [Some((relay.clone(), "relay")), by_name.then_some(names)].into_iter().flatten().collect()
    } else {
        let relays = RelayMode::Default.relay_map().urls::<Vec<RelayUrl>>();
        let relays = relays.into_iter().map(|relay| (relay.to_string(), "relay"));
        relays.chain([(DIRECTORY.to_owned(), "directory"), names]).collect()
    }
}

async fn listen_at(
    options: &EndpointOptions,
    port: Option<u16>,
    access: &AccessPolicy,
) -> Result<Endpoint, TransportError> {
    build(options, port, access)?.bind().await.map_err(|error| TransportError::Bind(format!("{error:#}")))
}

fn build(
    options: &EndpointOptions,
    port: Option<u16>,
    access: &AccessPolicy,
) -> Result<iroh::endpoint::Builder, TransportError> {
    let bind_error = |e: iroh::endpoint::InvalidSocketAddr| TransportError::Bind(e.to_string());
    let mut builder = match (options.mode, &options.relay) {
        (NetworkMode::Internet, None) => Endpoint::builder(N0),
        (NetworkMode::Internet, Some(relay)) => {
            let relay: RelayUrl = relay.parse().map_err(|_| TransportError::Relay(relay.clone()))?;
            Endpoint::builder(Minimal).relay_mode(RelayMode::custom([relay]))
        }
        _ => Endpoint::builder(Minimal)
            .relay_mode(RelayMode::Disabled)
            .clear_address_lookup()
            .net_report_config(NetReportConfig::minimal()),
    };
    builder = builder
        .secret_key(SecretKey::from_bytes(&options.key.to_bytes()))
        .alpns(vec![ALPN_SYNC.to_vec(), ALPN_PAIR.to_vec()])
        .portmapper_config(PortmapperConfig::Disabled)
        .transport_config(QuicTransportConfig::builder().max_idle_timeout(Some(IDLE_TIMEOUT.into())).build())
        .hooks(access.clone());
    if options.loopback {
        return builder.clear_ip_transports().bind_addr((Ipv4Addr::LOCALHOST, port.unwrap_or(0))).map_err(bind_error);
    }
    if let Some(port) = port {
        builder = builder.bind_addr((Ipv4Addr::UNSPECIFIED, port)).map_err(bind_error)?;
        builder = builder.bind_addr((Ipv6Addr::UNSPECIFIED, port)).map_err(bind_error)?;
    }
    Ok(builder)
}

/// Accepts connections until the endpoint closes. The access policy was applied during the handshake.
async fn accept(endpoint: Endpoint, mode: NetworkMode, handler: Arc<dyn EndpointHandler>) {
    while let Some(incoming) = endpoint.accept().await {
        let handler = Arc::clone(&handler);
        let from = TransportAddr::from(incoming.remote_addr());
        if mode == NetworkMode::Lan && !is_local_transport(&from) {
            // Don't even refuse: in this mode no packet leaves the local networks.
            tracing::debug!(?from, "ignored a connection from outside of the local networks");
            incoming.ignore();
            continue;
        }
        tokio::spawn(async move {
            let Ok(accepting) = incoming.accept() else { return };
            match tokio::time::timeout(HANDSHAKE_TIMEOUT, accepting).await {
                Ok(Ok(connection)) => {
                    if let TransportAddr::Ip(address) = from {
                        handler.on_contact(&address.to_string(), "accepted");
                    }
                    handler.on_connection(connection);
                }
                Ok(Err(error)) => tracing::debug!(?from, %error, "an incoming connection failed"),
                Err(_) => tracing::debug!(?from, "an incoming connection timed out"),
            }
        });
    }
}

/// Whether an address is on the local networks; a relay is not.
fn is_local_transport(address: &TransportAddr) -> bool {
    matches!(address, TransportAddr::Ip(address) if is_local(address.ip()))
}

/// Returns the device with this endpoint id.
pub fn device_of(id: EndpointId) -> DeviceId {
    DeviceId(*id.as_bytes())
}

/// Returns the endpoint id of a device, or `None` if its id is not a valid key.
pub fn endpoint_of(device: DeviceId) -> Option<EndpointId> {
    EndpointId::from_bytes(&device.0).ok()
}
