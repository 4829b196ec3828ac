//! The network as sync sees it: one iroh endpoint under the device's own key, quiet by default.
//!
//! On the local network it knows no relay, asks no name server, maps no port and probes nothing: it answers at its address, calls the
//! members of its teams at theirs, and, where there is anyone to find, speaks mDNS under a service name of its own. Whatever it
//! contacts is reported to the [`Listener`].

mod discovery;
mod gatekeeper;
mod lease;
mod place;
#[cfg(test)]
mod tests;

use std::{
    collections::HashSet,
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
        Connection, ConnectionError, PortmapperConfig, QuicTransportConfig, VarInt,
        presets::{Minimal, N0},
    },
};
use tokio::task::AbortHandle;

use discovery::Discovery;
pub use gatekeeper::FORBIDDEN;
use gatekeeper::{Gatekeeper, OpenDoor};
use lease::Lease;
pub use place::{Path, Route, Traffic, is_local};

use super::frame::{ALPN_PAIR, ALPN_SYNC};
use crate::domain::DeviceId;

/// How long a call waits; a dead address would take iroh 30 s (measured).
pub const DIAL: Duration = Duration::from_secs(5);

/// How long a caller has for the handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// How long the end waits for peers to hear of it.
const CLOSING: Duration = Duration::from_secs(2);

/// After this long without a word a connection is over: three of the signs of life that both sides send every five seconds.
const SILENCE: VarInt = VarInt::from_u32(15_000);

/// The code with which a connection is closed whose other end does not answer any more.
const GONE: u32 = 410;

/// How far packets may go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Nowhere.
    #[default]
    Off,
    /// On the local network, VPNs included: no relay, no name server, no port mapping.
    Lan,
    /// Anywhere, by a relay where there is no other way.
    Internet,
}

impl Mode {
    /// The word in `config.toml`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Lan => "lan",
            Self::Internet => "internet",
        }
    }
}

/// How an endpoint is made.
#[derive(Clone)]
pub struct Options {
    /// The device's key: its endpoint id is its device id.
    pub key: SigningKey,
    /// How far packets may go; not [`Mode::Off`].
    pub mode: Mode,
    /// The relay's address with [`Mode::Internet`]; n0's relays and its directory where absent.
    pub relay: Option<String>,
    /// The UDP port; where absent one that belongs to the key, or any where that is taken.
    pub port: Option<u16>,
    /// Only this machine, without mDNS: for tests.
    pub loopback: bool,
    /// The file whose lock says that this process is the device.
    pub lease: Option<PathBuf>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never the key.
        f.debug_struct("Options")
            .field("mode", &self.mode)
            .field("relay", &self.relay)
            .field("port", &self.port)
            .field("loopback", &self.loopback)
            .finish_non_exhaustive()
    }
}

/// What an endpoint tells its owner. Called on the runtime's thread: it must not block.
pub trait Listener: Send + Sync + 'static {
    /// A peer has been let in. The connection's protocol is `ergo/sync/1`, or `ergo/pair/1` while a window is open.
    fn called(&self, connection: Connection);
    /// A device was found on the local network; not necessarily one that we know.
    fn found(&self, device: DeviceId, addresses: Vec<SocketAddr>);
    /// This device is reached at other addresses than before: connections may have been lost with the old ones.
    fn moved(&self);
    /// Packets went to, or came from, an address. `what` is `dialled`, `accepted`, `discovery`, `relay`, `directory` or `names`.
    fn contacted(&self, address: &str, what: &'static str);
}

/// Why there is no connection, or no endpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// Another process is this device.
    #[error(
        "another process on this machine syncs with this device's key ({0}): end it, or use a key of its own for it"
    )]
    Leased(PathBuf),
    /// The relay's address is none.
    #[error("`sync.relay` is not an address such as https://relay.example.com: {0}")]
    Relay(String),
    /// The system refuses.
    #[error("cannot listen for peers: {0}")]
    Bind(String),
    /// No address of the peer is known that this mode may use.
    #[error("no address is known")]
    NoAddress,
    /// Nobody answered.
    #[error("nobody answered at {0}")]
    Silent(String),
    /// The peer does not know this device.
    #[error("the peer does not know this device (not_paired)")]
    NotPaired,
    /// The peer does not speak this protocol.
    #[error("the peer's ergo is too old or too new: {0}")]
    Protocol(String),
    /// Not a member, hence not called.
    #[error("this device is no member of a team of ours")]
    Stranger,
}

/// A live endpoint. Dropping it closes it; [`Transport::close`] tells the peers.
pub struct Transport {
    endpoint: Endpoint,
    options: Options,
    gate: Gatekeeper,
    listener: Arc<dyn Listener>,
    mdns: Mutex<Option<Discovery>>,
    accepting: AbortHandle,
    watching: AbortHandle,
    _lease: Option<Lease>,
}

/// While it lives, strangers may pair.
#[derive(Debug)]
pub struct Door {
    _open: OpenDoor,
}

impl Transport {
    /// Binds an endpoint and accepts calls.
    ///
    /// # Errors
    /// Where another process is this device, the relay is no address, or the system refuses the port.
    pub async fn bind(options: Options, listener: Arc<dyn Listener>) -> Result<Self, EndpointError> {
        let lease = match &options.lease {
            None => None,
            Some(path) => match Lease::take(path) {
                Ok(Some(lease)) => Some(lease),
                Ok(None) => return Err(EndpointError::Leased(path.clone())),
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "cannot make sure that only one process syncs");
                    None
                }
            },
        };
        let gate = Gatekeeper::default();
        let endpoint = match (options.port, options.loopback) {
            (None, false) => match listen_at(&options, Some(own_port(&options.key)), &gate).await {
                // Somebody else has it.
                Err(EndpointError::Bind(_)) => listen_at(&options, None, &gate).await?,
                bound => bound?,
            },
            (port, _) => listen_at(&options, port, &gate).await?,
        };
        for (address, what) in beyond(&options) {
            listener.contacted(&address, what);
        }
        tracing::info!(addresses = ?endpoint.bound_sockets(), mode = options.mode.as_str(), "listening for peers");
        let accepting = tokio::spawn(accept(endpoint.clone(), Arc::clone(&listener))).abort_handle();
        let watching = tokio::spawn(discovery::watch(endpoint.watch_addr(), Arc::clone(&listener))).abort_handle();
        Ok(Self { endpoint, options, gate, listener, mdns: Mutex::default(), accepting, watching, _lease: lease })
    }

    /// This device.
    pub fn device(&self) -> DeviceId {
        device_of(self.endpoint.id())
    }

    /// How far its packets may go.
    pub fn mode(&self) -> Mode {
        self.options.mode
    }

    /// Where it is reached, as a person reads it.
    pub fn addresses(&self) -> Vec<String> {
        let shown = |address: TransportAddr| match address {
            TransportAddr::Ip(address) => Some(address.to_string()),
            TransportAddr::Relay(relay) => Some(relay.to_string()),
            _ => None,
        };
        self.address().addrs.into_iter().filter_map(shown).collect()
    }

    /// Where this endpoint is reached: for a ticket.
    pub fn address(&self) -> EndpointAddr {
        if self.options.loopback {
            let addresses = self.endpoint.bound_sockets().into_iter().map(TransportAddr::Ip);
            return EndpointAddr::from_parts(self.endpoint.id(), addresses);
        }
        let address = self.endpoint.addr();
        if self.options.mode == Mode::Internet {
            return address;
        }
        let local = address.addrs.into_iter().filter(|to| matches!(to, TransportAddr::Ip(ip) if is_local(ip.ip())));
        EndpointAddr::from_parts(self.endpoint.id(), local)
    }

    /// From now on these are the members: who may call, and whom we call. Open connections stay; the owner closes them.
    pub fn set_members(&self, members: impl IntoIterator<Item = DeviceId>) {
        self.gate.set_members(members.into_iter().filter_map(endpoint_of).collect::<HashSet<_>>());
    }

    /// Lets strangers pair while the door lives.
    pub fn open_door(&self) -> Door {
        Door { _open: self.gate.open() }
    }

    /// Looks for peers on the local networks by mDNS, and is found there; or stops.
    pub fn discover(&self, on: bool) {
        let mut mdns = self.mdns.lock().unwrap_or_else(PoisonError::into_inner);
        if !on || self.options.loopback {
            *mdns = None;
        } else if mdns.is_none() {
            self.listener.contacted("224.0.0.251:5353", "discovery");
            *mdns = Some(Discovery::start(&self.endpoint, Arc::clone(&self.listener)));
        }
    }

    /// Whether anybody is missing: while nobody is, mDNS asks seldom.
    pub fn seek(&self, missing: bool) {
        if let Some(discovery) = &*self.mdns.lock().unwrap_or_else(PoisonError::into_inner) {
            discovery.seek(missing);
        }
    }

    /// Whether mDNS runs.
    pub fn discovers(&self) -> bool {
        self.mdns.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Calls a member for sync at these addresses and at those that the mode's directories know.
    ///
    /// # Errors
    /// Within [`DIAL`]: where it does not answer, or refuses.
    pub async fn call(&self, device: DeviceId, addresses: &[SocketAddr]) -> Result<Connection, EndpointError> {
        let id = endpoint_of(device).ok_or(EndpointError::Stranger)?;
        let to = EndpointAddr::from_parts(id, addresses.iter().copied().map(TransportAddr::Ip));
        self.connect(to, ALPN_SYNC).await
    }

    /// Calls a device that invited us, for pairing.
    ///
    /// # Errors
    /// As [`Transport::call`].
    pub async fn call_to_pair(&self, inviter: EndpointAddr) -> Result<Connection, EndpointError> {
        self.gate.expect(inviter.id);
        self.connect(inviter, ALPN_PAIR).await
    }

    async fn connect(&self, to: EndpointAddr, alpn: &'static [u8]) -> Result<Connection, EndpointError> {
        if to.is_empty() && self.options.mode == Mode::Lan {
            return Err(EndpointError::NoAddress);
        }
        for address in &to.addrs {
            match address {
                TransportAddr::Ip(address) => self.listener.contacted(&address.to_string(), "dialled"),
                TransportAddr::Relay(relay) => self.listener.contacted(relay.as_str(), "relay"),
                _ => {}
            }
        }
        let shown: Vec<String> = to.ip_addrs().map(ToString::to_string).collect();
        let shown = if shown.is_empty() { "any address".to_owned() } else { shown.join(", ") };
        let connection = match tokio::time::timeout(DIAL, self.endpoint.connect(to, alpn)).await {
            Err(_) => return Err(EndpointError::Silent(shown)),
            Ok(Err(error)) => return Err(refused(&error, shown)),
            Ok(Ok(connection)) => connection,
        };
        if let Some(error) = connection.close_reason() {
            return Err(closed(&error));
        }
        Ok(connection)
    }

    /// Ends in order: peers are told, for [`CLOSING`] at most.
    pub async fn close(&self) {
        self.accepting.abort();
        self.watching.abort();
        drop(self.mdns.lock().unwrap_or_else(PoisonError::into_inner).take());
        if tokio::time::timeout(CLOSING, self.endpoint.close()).await.is_err() {
            tracing::debug!("peers were not told of the end");
        }
    }
}

impl Drop for Transport {
    fn drop(&mut self) {
        self.accepting.abort();
        self.watching.abort();
    }
}

/// How a connection is routed now; `None` where it is closed.
pub fn route(connection: &Connection) -> Option<Route> {
    let paths = connection.paths();
    let path = paths.iter().find(iroh::endpoint::Path::is_selected).or_else(|| paths.iter().next())?;
    let kind = match path.remote_addr() {
        TransportAddr::Ip(address) if is_local(address.ip()) => Path::Lan,
        TransportAddr::Ip(_) => Path::Direct,
        _ => Path::Relay,
    };
    Some(Route { path: kind, rtt: path.rtt() })
}

/// What has passed over a connection so far.
pub fn traffic(connection: &Connection) -> Traffic {
    let stats = connection.stats();
    Traffic { sent: stats.udp_tx.bytes, received: stats.udp_rx.bytes }
}

/// Gives up a connection whose other end does not answer.
pub fn give_up(connection: &Connection) {
    connection.close(GONE.into(), b"no answer");
}

/// The addresses at which a connected peer was reached.
pub fn remote_addresses(connection: &Connection) -> Vec<SocketAddr> {
    let ip = |address: &TransportAddr| match address {
        TransportAddr::Ip(address) => Some(*address),
        _ => None,
    };
    connection.paths().iter().filter_map(|path| ip(path.remote_addr())).collect()
}

/// What a closed connection means.
pub fn closed(error: &ConnectionError) -> EndpointError {
    match error {
        ConnectionError::ApplicationClosed(close) if close.error_code == FORBIDDEN.into() => EndpointError::NotPaired,
        ConnectionError::ConnectionClosed(_) | ConnectionError::VersionMismatch => {
            EndpointError::Protocol(error.to_string())
        }
        other => EndpointError::Silent(other.to_string()),
    }
}

fn refused(error: &iroh::endpoint::ConnectError, shown: String) -> EndpointError {
    use iroh::endpoint::{ConnectError, ConnectWithOptsError};
    match error {
        ConnectError::Connect { source: ConnectWithOptsError::LocallyRejected { .. }, .. } => EndpointError::Stranger,
        ConnectError::Connect { source: ConnectWithOptsError::NoAddress { .. }, .. } => EndpointError::NoAddress,
        ConnectError::Connection { source, .. } => match closed(source) {
            EndpointError::Silent(_) => EndpointError::Silent(shown),
            other => other,
        },
        other => {
            let text = format!("{other:#}");
            // The TLS alert for an unknown protocol.
            if text.contains("120") { EndpointError::Protocol(text) } else { EndpointError::Silent(shown) }
        }
    }
}

/// The port that a device takes where none is set: always the same, so that peers find it again where mDNS does not get through. Below
/// the range from which systems give out ports.
fn own_port(key: &SigningKey) -> u16 {
    let [a, b, ..] = key.verifying_key().to_bytes();
    20_000 + u16::from_le_bytes([a, b]) % 12_000
}

/// Where n0's directory is, in which devices look each other up.
const DIRECTORY: &str = "https://dns.iroh.link/pkarr";

/// What is contacted for being reached from beyond the local network, whoever is called: nothing but in [`Mode::Internet`].
fn beyond(options: &Options) -> Vec<(String, &'static str)> {
    if options.mode != Mode::Internet || options.loopback {
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

async fn listen_at(options: &Options, port: Option<u16>, gate: &Gatekeeper) -> Result<Endpoint, EndpointError> {
    build(options, port, gate)?.bind().await.map_err(|error| EndpointError::Bind(format!("{error:#}")))
}

fn build(options: &Options, port: Option<u16>, gate: &Gatekeeper) -> Result<iroh::endpoint::Builder, EndpointError> {
    let bind_error = |e: iroh::endpoint::InvalidSocketAddr| EndpointError::Bind(e.to_string());
    let mut builder = match (options.mode, &options.relay) {
        (Mode::Internet, None) => Endpoint::builder(N0),
        (Mode::Internet, Some(relay)) => {
            let relay: RelayUrl = relay.parse().map_err(|_| EndpointError::Relay(relay.clone()))?;
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
        .transport_config(QuicTransportConfig::builder().max_idle_timeout(Some(SILENCE.into())).build())
        .hooks(gate.clone());
    if options.loopback {
        return builder.clear_ip_transports().bind_addr((Ipv4Addr::LOCALHOST, port.unwrap_or(0))).map_err(bind_error);
    }
    if let Some(port) = port {
        builder = builder.bind_addr((Ipv4Addr::UNSPECIFIED, port)).map_err(bind_error)?;
        builder = builder.bind_addr((Ipv6Addr::UNSPECIFIED, port)).map_err(bind_error)?;
    }
    Ok(builder)
}

/// Accepts calls until the endpoint closes. The gatekeeper has decided by the time that a handshake is done.
async fn accept(endpoint: Endpoint, listener: Arc<dyn Listener>) {
    while let Some(incoming) = endpoint.accept().await {
        let listener = Arc::clone(&listener);
        let from = TransportAddr::from(incoming.remote_addr());
        tokio::spawn(async move {
            let Ok(accepting) = incoming.accept() else { return };
            match tokio::time::timeout(HANDSHAKE, accepting).await {
                Ok(Ok(connection)) => {
                    if let TransportAddr::Ip(address) = from {
                        listener.contacted(&address.to_string(), "accepted");
                    }
                    listener.called(connection);
                }
                Ok(Err(error)) => tracing::debug!(?from, %error, "a call came to nothing"),
                Err(_) => tracing::debug!(?from, "a caller was too slow"),
            }
        });
    }
}

/// The device with this endpoint id.
pub fn device_of(id: EndpointId) -> DeviceId {
    DeviceId(*id.as_bytes())
}

/// The endpoint id of a device; `None` where its id is no key.
pub fn endpoint_of(device: DeviceId) -> Option<EndpointId> {
    EndpointId::from_bytes(&device.0).ok()
}
