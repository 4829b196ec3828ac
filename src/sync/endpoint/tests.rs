use tokio::sync::mpsc;

use super::*;

/// Sends on what it hears.
struct Ear {
    calls: mpsc::UnboundedSender<Connection>,
    contacts: Mutex<Vec<(String, &'static str)>>,
}

impl Listener for Ear {
    fn called(&self, connection: Connection) {
        drop(self.calls.send(connection));
    }

    fn found(&self, _: DeviceId, _: Vec<SocketAddr>) {}

    fn moved(&self) {}

    fn contacted(&self, address: &str, what: &'static str) {
        self.contacts.lock().unwrap().push((address.to_owned(), what));
    }
}

struct Node {
    transport: Transport,
    calls: mpsc::UnboundedReceiver<Connection>,
    ear: Arc<Ear>,
}

impl Node {
    fn addresses(&self) -> Vec<SocketAddr> {
        self.transport.address().ip_addrs().copied().collect()
    }

    async fn call(&self, other: &Self) -> Result<Connection, EndpointError> {
        self.transport.call(other.transport.device(), &other.addresses()).await
    }
}

fn options(n: u8) -> Options {
    let key = SigningKey::from_bytes(&[n; 32]);
    Options { key, mode: Mode::Lan, relay: None, port: None, loopback: true, lease: None }
}

async fn node(n: u8) -> Node {
    let (send, calls) = mpsc::unbounded_channel();
    let ear = Arc::new(Ear { calls: send, contacts: Mutex::default() });
    let transport = Transport::bind(options(n), Arc::clone(&ear) as Arc<dyn Listener>).await.unwrap();
    Node { transport, calls, ear }
}

#[test]
fn what_is_contacted_beyond_the_network_depends_on_the_mode_and_the_relay() {
    let of = |mode, relay: Option<&str>| {
        let options = Options { mode, relay: relay.map(str::to_owned), loopback: false, ..options(1) };
        beyond(&options).into_iter().map(|(address, what)| format!("{what} {address}")).collect::<Vec<_>>()
    };
    assert!(of(Mode::Lan, None).is_empty() && of(Mode::Lan, Some("https://relay.example.com")).is_empty());
    assert_eq!(of(Mode::Internet, Some("https://198.51.100.9:8443")), ["relay https://198.51.100.9:8443"]);
    let named = of(Mode::Internet, Some("https://relay.example.com"));
    assert_eq!(named, ["relay https://relay.example.com", "names the name servers of this machine"]);
    let usual = of(Mode::Internet, None);
    assert!(usual.iter().filter(|at| at.starts_with("relay https://")).count() > 1, "{usual:?}");
    assert!(usual.contains(&format!("directory {DIRECTORY}")) && usual.iter().any(|at| at.starts_with("names ")));
}

#[tokio::test]
async fn members_meet_and_know_by_which_way() {
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
    assert_eq!(route(&connection).map(|route| route.path), Some(Path::Lan));
    assert_eq!(a.ear.contacts.lock().unwrap().as_slice(), [(b.addresses()[0].to_string(), "dialled")]);
    assert_eq!(b.ear.contacts.lock().unwrap()[0].1, "accepted");
    a.transport.close().await;
    b.transport.close().await;
}

#[tokio::test]
async fn a_stranger_is_refused_at_the_handshake_for_every_protocol() {
    let (a, mut b) = (node(3).await, node(4).await);
    a.transport.set_members([b.transport.device()]);
    a.transport.gate.expect(b.transport.endpoint.id());
    for alpn in [ALPN_SYNC, ALPN_PAIR] {
        let connection = a.transport.connect(b.transport.address(), alpn).await;
        // The dialler's handshake is over first: the refusal comes just after it.
        let refused = match connection {
            Ok(connection) => closed(&connection.closed().await),
            Err(error) => error,
        };
        assert_eq!(refused, EndpointError::NotPaired, "{}", String::from_utf8_lossy(alpn));
    }
    assert!(b.calls.try_recv().is_err(), "nothing of it reaches the session");
    let door = b.transport.open_door();
    let paired = a.transport.call_to_pair(b.transport.address()).await.unwrap();
    assert_eq!(b.calls.recv().await.unwrap().alpn(), ALPN_PAIR);
    drop((door, paired));
    a.transport.set_members([]);
    assert_eq!(a.call(&b).await.unwrap_err(), EndpointError::Stranger, "and we do not call strangers");
    a.transport.close().await;
    b.transport.close().await;
}

#[tokio::test]
async fn an_unknown_protocol_comes_to_nothing() {
    let b = node(6).await;
    let gate = Gatekeeper::default();
    let other = build(&options(5), None, &gate).unwrap();
    // Without our gatekeeper's say on what it calls.
    let other = other.clear_ip_transports().bind_addr("127.0.0.1:0").unwrap().bind().await.unwrap();
    gate.set_members([b.transport.endpoint.id()].into());
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
    assert!(matches!(refused(&error, "here".to_owned()), EndpointError::Protocol(_)), "{error:#}");
    raw.close().await;
    other.close().await;
    b.transport.close().await;
}

#[tokio::test]
async fn a_device_is_one_process() {
    let dir = tempfile::tempdir().unwrap();
    let with = |n| Options { lease: Some(dir.path().join("device.lease")), ..options(n) };
    let (send, _calls) = mpsc::unbounded_channel();
    let ear: Arc<dyn Listener> = Arc::new(Ear { calls: send, contacts: Mutex::default() });
    let first = Transport::bind(with(7), Arc::clone(&ear)).await.unwrap();
    let error = Transport::bind(with(7), Arc::clone(&ear)).await.err().unwrap();
    assert!(matches!(error, EndpointError::Leased(_)) && error.to_string().contains("device.lease"), "{error}");
    first.close().await;
    drop(first);
    Transport::bind(with(7), ear).await.unwrap().close().await;
}

#[tokio::test]
async fn without_an_address_nothing_is_sent() {
    let (a, b) = (node(8).await, node(9).await);
    a.transport.set_members([b.transport.device()]);
    assert_eq!(a.transport.call(b.transport.device(), &[]).await.unwrap_err(), EndpointError::NoAddress);
    assert!(a.ear.contacts.lock().unwrap().is_empty());
    let wrong = Options { mode: Mode::Internet, relay: Some("not a relay".to_owned()), ..options(10) };
    let error = Transport::bind(wrong, Arc::clone(&a.ear) as Arc<dyn Listener>).await.err().unwrap();
    assert_eq!(error, EndpointError::Relay("not a relay".to_owned()));
    a.transport.close().await;
    b.transport.close().await;
}
