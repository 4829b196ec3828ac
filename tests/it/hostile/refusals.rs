//! Requests that are refused before they are parsed, and whose sender can read the reason.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
};

use crate::support::{
    Daemon, TEST_TIMEOUT, TestHome,
    wire::{self, Answer, request},
};

struct TcpDaemon {
    home: TestHome,
    _daemon: Daemon,
    address: String,
    bearer: String,
}

impl TcpDaemon {
    fn new() -> Self {
        let home = TestHome::with_tcp();
        let daemon = home.daemon();
        let address = home.record().tcp.unwrap();
        let token = fs::read_to_string(home.paths().token()).unwrap();
        Self { home, _daemon: daemon, address, bearer: format!("Authorization: Bearer {}", token.trim()) }
    }

    fn tcp(&self, method: &str, path: &str, headers: &[&str], body: &[u8]) -> Answer {
        let headers = [headers, &[self.bearer.as_str()]].concat();
        wire::tcp(&self.address, &request(method, path, &headers, body)).expect("an answer")
    }

    fn socket(&self, bytes: &[u8]) -> Answer {
        wire::unix(&self.home.paths().socket, bytes).expect("an answer")
    }
}

#[test]
fn over_tcp_a_request_says_a_host_of_this_machine() {
    let daemon = TcpDaemon::new();
    for path in ["/health", "/scopes"] {
        let answer = daemon.tcp("GET", path, &[], b"");
        assert_eq!((answer.status, answer.json()["code"].as_str()), (400, Some("bad_request")), "{answer:?}");
        assert!(answer.body.contains("Host"), "{answer:?}");
    }
    let old = format!("GET /scopes HTTP/1.0\r\n{}\r\n\r\n", daemon.bearer);
    assert_eq!(wire::tcp(&daemon.address, old.as_bytes()).unwrap().status, 400);
    assert_eq!(daemon.tcp("GET", "/scopes", &["Host: evil.example"], b"").status, 403);
    assert_eq!(daemon.tcp("GET", "/scopes", &["Host: localhost", "Host: evil.example"], b"").status, 403);
    assert_eq!(daemon.tcp("GET", "/scopes", &["Host: localhost"], b"").status, 200);
}

#[test]
fn over_the_socket_any_host_is_fine() {
    let daemon = TcpDaemon::new();
    for headers in [&[][..], &["Host: evil.example"], &["Host:"], &["Host: ergo", "Host: other"]] {
        assert_eq!(daemon.socket(&request("GET", "/scopes", headers, b"")).status, 200, "{headers:?}");
    }
    let hello = br#"{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
        "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}"#;
    let headers = ["Host: ergo", "Content-Type: application/json", "Accept: application/json, text/event-stream"];
    assert_eq!(daemon.socket(&request("POST", "/mcp", &headers, hello)).status, 200, "the bridge asks no more");
}

#[test]
fn over_tcp_a_post_is_declared_as_what_it_is() {
    let daemon = TcpDaemon::new();
    let body = br#"{"org_id": "acme", "project": "api", "query": "x"}"#;
    let status = |path: &str, kind: &[&str], body: &[u8]| {
        daemon.tcp("POST", path, &[&["Host: localhost"][..], kind].concat(), body).status
    };
    for wrong in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx", ""] {
        let kind = format!("Content-Type: {wrong}");
        assert_eq!(status("/recall", &[&kind], body), 415, "{wrong}");
        assert_eq!(status("/sync/import", &[&kind], body), 415, "{wrong}");
        assert_eq!(status("/audit", &[&kind], b""), 415, "{wrong}");
    }
    assert_eq!(status("/recall", &[], body), 415);
    for right in ["application/json", "Application/JSON; charset=utf-8"] {
        assert_eq!(status("/recall", &[&format!("Content-Type: {right}")], body), 200, "{right}");
    }
    assert_eq!(status("/recall", &["Content-Type: application/octet-stream"], body), 415);
    assert_eq!(status("/sync/import", &["Content-Type: application/octet-stream"], body), 400, "it is no bundle");
    assert_eq!(
        daemon.tcp("POST", "/recall", &["Host: localhost", "Content-Type: text/plain"], body).json()["code"],
        "unsupported_media_type"
    );
    // Nobody but this user can open the socket.
    assert_eq!(daemon.socket(&request("POST", "/recall", &["Host: localhost"], body)).status, 200);
}

/// Writes all of a request before it reads anything, as simple clients do, and must be able to.
#[track_caller]
fn patiently(mut stream: impl Read + Write, bytes: &[u8]) -> u16 {
    stream.write_all(bytes).expect("the daemon reads what it refused");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("the answer comes before the end");
    let text = String::from_utf8_lossy(&answer).into_owned();
    text.split(' ').nth(1).unwrap_or_else(|| panic!("no answer: {text}")).parse().unwrap()
}

#[test]
fn who_writes_a_body_gets_to_read_why_it_is_refused() {
    let daemon = TcpDaemon::new();
    // Larger than what a connection holds in its buffers.
    let body = vec![b' '; 12 * 1024 * 1024];
    let tcp = || {
        let stream = TcpStream::connect(&daemon.address).unwrap();
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        stream
    };
    let json = "Content-Type: application/json";
    let bearer = daemon.bearer.as_str();
    let cases: [(u16, &str, &str, &[&str]); 6] = [
        (401, "POST", "/remember", &["Host: localhost", json]),
        (400, "POST", "/remember", &[json, bearer]),
        (403, "POST", "/remember", &["Host: evil.example", json, bearer]),
        (415, "POST", "/remember", &["Host: localhost", bearer]),
        (404, "POST", "/nothing", &["Host: localhost", json, bearer]),
        (413, "POST", "/remember", &["Host: localhost", json, bearer]),
    ];
    for (status, method, path, headers) in cases {
        assert_eq!(patiently(tcp(), &request(method, path, headers, &body)), status, "{path} {headers:?}");
    }
    let socket = || {
        let stream = UnixStream::connect(daemon.home.paths().socket).unwrap();
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        stream
    };
    for (status, method, path) in
        [(405, "DELETE", "/claims"), (400, "POST", "/sync/import?unknown=1"), (404, "PUT", "/x")]
    {
        assert_eq!(patiently(socket(), &request(method, path, &[], &body)), status, "{path}");
    }
}
