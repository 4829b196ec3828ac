use tokio::sync::mpsc;

use super::*;

/// Records the events of an endpoint.
struct RecordingHandler {
    calls: mpsc::UnboundedSender<Connection>,
    contacts: Mutex<Vec<(String, &'static str)>>,
}

impl EndpointHandler for RecordingHandler {
    fn on_connection(&self, connection: Connection) {
        drop(self.calls.send(connection));
    }

    fn on_peer_found(&self, _: DeviceId, _: Vec<SocketAddr>) {}

    fn on_addresses_changed(&self) {}

    fn on_contact(&self, address: &str, what: &'static str) {
        self.contacts.lock().unwrap().push((address.to_owned(), what));
    }
}

struct Node {
    transport: Transport,
    calls: mpsc::UnboundedReceiver<Connection>,
    handler: Arc<RecordingHandler>,
}

impl Node {
    fn addresses(&self) -> Vec<SocketAddr> {
        self.transport.address().ip_addrs().copied().collect()
    }

    async fn call(&self, other: &Self) -> Result<Connection, TransportError> {
        self.transport.call(other.transport.device(), &other.addresses()).await
    }
}

fn options(n: u8) -> EndpointOptions {
    let key = SigningKey::from_bytes(&[n; 32]);
    EndpointOptions { key, mode: NetworkMode::Lan, relay: None, port: None, loopback: true, lease: None }
}

async fn node(n: u8) -> Node {
    let (send, calls) = mpsc::unbounded_channel();
    let handler = Arc::new(RecordingHandler { calls: send, contacts: Mutex::default() });
    let transport = Transport::bind(options(n), Arc::clone(&handler) as Arc<dyn EndpointHandler>).await.unwrap();
    Node { transport, calls, handler }
}

#[test]
fn external_contacts_depend_on_the_mode_and_the_relay() {
    let of = |mode, relay: Option<&str>| {
        let options = EndpointOptions { mode, relay: relay.map(str::to_owned), loopback: false, ..options(1) };
        external_contacts(&options).into_iter().map(|(address, what)| format!("{what} {address}")).collect::<Vec<_>>()
    };
    assert!(
        of(NetworkMode::Lan, None).is_empty() && of(NetworkMode::Lan, Some("https://relay.example.com")).is_empty()
    );
    assert_eq!(of(NetworkMode::Internet, Some("https://198.51.100.9:8443")), ["relay https://198.51.100.9:8443"]);
    let named = of(NetworkMode::Internet, Some("https://relay.example.com"));
    assert_eq!(named, ["relay https://relay.example.com", "names the name servers of this machine"]);
    let usual = of(NetworkMode::Internet, None);
    assert!(usual.iter().filter(|at| at.starts_with("relay https://")).count() > 1, "{usual:?}");
    assert!(usual.contains(&format!("directory {DIRECTORY}")) && usual.iter().any(|at| at.starts_with("names ")));
}

#[tokio::test]
async fn members_connect_and_know_the_route() {
    let (a, mut b) = (node(1).await, node(2).await);
    a.transport.set_members([b.transport.device()]);
    b.transport.set_members([a.transport.device()]);
    let out = a.call(&b).await.unwrap();
    let (mut send, _receive) = out.open_bi().await.unwrap();
    send.write_all(b"hello").await.unwrap();
    send.finish().unwrap();
    let connection = b.calls.recv().await.unwrap();
    assert_eq!(device_of(connection.remote_id()), a.transport.device(), "a device is its key");
    assert_eq!(connection.alpn(), ALPN_SYNC);
    let (_, mut receive) = connection.accept_bi().await.unwrap();
    assert_eq!(receive.read_to_end(10).await.unwrap(), b"hello");
    assert_eq!(route(&connection).map(|route| route.path), Some(PathKind::Lan));
    assert_eq!(a.handler.contacts.lock().unwrap().as_slice(), [(b.addresses()[0].to_string(), "dialled")]);
    assert_eq!(b.handler.contacts.lock().unwrap()[0].1, "accepted");
    a.transport.close().await;
    b.transport.close().await;
}

#[tokio::test]
async fn lan_mode_dials_nothing_outside_of_the_local_networks() {
    let (a, b) = (node(11).await, node(12).await);
    a.transport.set_members([b.transport.device()]);
    b.transport.set_members([a.transport.device()]);
    // TEST-NET-2 (RFC 5737): public in form, and nobody's.
    let public: SocketAddr = "198.51.100.7:47120".parse().unwrap();
    let refused = a.transport.call(b.transport.device(), &[public]).await.unwrap_err();
    assert_eq!(refused, TransportError::NotLocal(public.to_string()));
    let relay = TransportAddr::Relay("https://relay.example.com".parse().unwrap());
    let by_relay = EndpointAddr::from_parts(b.transport.endpoint.id(), [relay.clone()]);
    assert!(matches!(a.transport.call_to_pair(by_relay).await, Err(TransportError::NotLocal(_))));
    assert_eq!(a.handler.contacts.lock().unwrap().as_slice(), []);

    let mut mixed = b.transport.address();
    mixed.addrs.extend([TransportAddr::Ip(public), relay]);
    a.transport.connect(mixed, ALPN_SYNC).await.unwrap();
    assert_eq!(a.handler.contacts.lock().unwrap().as_slice(), [(b.addresses()[0].to_string(), "dialled")]);
    a.transport.close().await;
    b.transport.close().await;
}

#[tokio::test]
async fn a_non_member_is_rejected_at_the_handshake_for_every_protocol() {
    let (a, mut b) = (node(3).await, node(4).await);
    a.transport.set_members([b.transport.device()]);
    a.transport.access.allow_inviter(b.transport.endpoint.id());
    for alpn in [ALPN_SYNC, ALPN_PAIR] {
        let connection = a.transport.connect(b.transport.address(), alpn).await;
        // The dialler's handshake finishes first: the rejection arrives just after it.
        let rejected = match connection {
            Ok(connection) => close_error(&connection.closed().await),
            Err(error) => error,
        };
        assert_eq!(rejected, TransportError::NotPaired, "{}", String::from_utf8_lossy(alpn));
    }
    assert!(b.calls.try_recv().is_err(), "nothing of it reaches the session");
    let permit = b.transport.open_pairing();
    let paired = a.transport.call_to_pair(b.transport.address()).await.unwrap();
    assert_eq!(b.calls.recv().await.unwrap().alpn(), ALPN_PAIR);
    drop((permit, paired));
    a.transport.set_members([]);
    assert_eq!(
        a.call(&b).await.unwrap_err(),
        TransportError::NotAMember,
        "and devices that are not members are not dialled"
    );
    a.transport.close().await;
    b.transport.close().await;
}

#[tokio::test]
async fn an_unknown_protocol_is_rejected() {
    let b = node(6).await;
    let access = AccessPolicy::default();
    let other = build(&options(5), None, &access).unwrap();
    // Not restricted by the access policy of this side.
    let other = other.clear_ip_transports().bind_addr("127.0.0.1:0").unwrap().bind().await.unwrap();
    access.set_members([b.transport.endpoint.id()].into());
    b.transport.set_members([device_of(other.id())]);
    let raw = Endpoint::builder(Minimal)
        .clear_ip_transports()
        .bind_addr("127.0.0.1:0")
        .unwrap()
        .portmapper_config(PortmapperConfig::Disabled)
        .bind()
        .await
        .unwrap();
    let error = raw.connect(b.transport.address(), b"ergo/sync/99").await.unwrap_err();
    assert!(matches!(connect_error(&error, "here".to_owned()), TransportError::Protocol(_)), "{error:#}");
    raw.close().await;
    other.close().await;
    b.transport.close().await;
}

#[tokio::test]
async fn a_peer_that_grants_no_stream_is_given_up() {
    let a = node(14).await;
    let raw = Endpoint::builder(Minimal)
        .alpns(vec![ALPN_SYNC.to_vec()])
        .clear_ip_transports()
        .bind_addr("127.0.0.1:0")
        .unwrap()
        .portmapper_config(PortmapperConfig::Disabled)
        .transport_config(QuicTransportConfig::builder().max_concurrent_bidi_streams(VarInt::from_u32(0)).build())
        .bind()
        .await
        .unwrap();
    a.transport.set_members([device_of(raw.id())]);
    let accepting = raw.clone();
    let accepted = tokio::spawn(async move { accepting.accept().await.unwrap().await.unwrap() });
    let connection = a.transport.call(device_of(raw.id()), &raw.bound_sockets()).await.unwrap();
    let _held = accepted.await.unwrap();
    let within = Duration::from_millis(200);
    let opened = tokio::time::timeout(Duration::from_secs(20), open_stream(&connection, within)).await;
    assert_eq!(opened.expect("it waits for ever").err(), Some(TransportError::NoStream(within)));
    raw.close().await;
    a.transport.close().await;
}

#[tokio::test]
async fn a_device_is_one_process() {
    let dir = tempfile::tempdir().unwrap();
    let with = |n| EndpointOptions { lease: Some(dir.path().join("device.lease")), ..options(n) };
    let (send, _calls) = mpsc::unbounded_channel();
    let handler: Arc<dyn EndpointHandler> = Arc::new(RecordingHandler { calls: send, contacts: Mutex::default() });
    let first = Transport::bind(with(7), Arc::clone(&handler)).await.unwrap();
    let error = Transport::bind(with(7), Arc::clone(&handler)).await.err().unwrap();
    assert!(matches!(error, TransportError::KeyInUse(_)) && error.to_string().contains("device.lease"), "{error}");
    first.close().await;
    drop(first);
    Transport::bind(with(7), handler).await.unwrap().close().await;
}

#[tokio::test]
async fn without_an_address_nothing_is_sent() {
    let (a, b) = (node(8).await, node(9).await);
    a.transport.set_members([b.transport.device()]);
    assert_eq!(a.transport.call(b.transport.device(), &[]).await.unwrap_err(), TransportError::NoAddress);
    assert!(a.handler.contacts.lock().unwrap().is_empty());
    let wrong = EndpointOptions { mode: NetworkMode::Internet, relay: Some("not a relay".to_owned()), ..options(10) };
    let error = Transport::bind(wrong, Arc::clone(&a.handler) as Arc<dyn EndpointHandler>).await.err().unwrap();
    assert_eq!(error, TransportError::Relay("not a relay".to_owned()));
    a.transport.close().await;
    b.transport.close().await;
}
