//! Invalid input: each gets a clear 4xx error in JSON, and the daemon continues.

use std::{fs, io::Write, os::unix::net::UnixStream};

use rstest::rstest;
use serde_json::json;

use crate::support::{
    TestHome, block_on,
    wire::{self, request},
};

const LOCAL: &str = "Host: localhost";

/// A request over the socket that must fail: its status, the error's code and the field that it names.
#[track_caller]
fn refused(home: &TestHome, method: &str, path: &str, body: &[u8]) -> (u16, String, Option<String>) {
    let answer = wire::unix(&home.paths().socket, &request(method, path, &[LOCAL], body)).expect("an answer");
    let error = answer.json();
    assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{answer:?}");
    let field = error["field"].as_str().map(str::to_owned);
    (answer.status, error["code"].as_str().unwrap().to_owned(), field)
}

#[rstest]
#[case::no_body("POST", "/remember", "", 400, "bad_request", None)]
#[case::half_json("POST", "/remember", "{\"statement\": ", 400, "bad_request", None)]
#[case::no_object("POST", "/remember", "[1]", 400, "bad_request", None)]
#[case::deep("POST", "/remember", &"[".repeat(200_000), 400, "bad_request", None)]
#[case::wrong_type("POST", "/remember", r#"{"statement": 5}"#, 400, "bad_request", Some("statement"))]
#[case::wrong_type_inside(
    "POST",
    "/supersede",
    r#"{"targets": [], "project": {}}"#,
    400,
    "bad_request",
    Some("project")
)]
#[case::unknown_field("POST", "/learn", r#"{"sources": "x"}"#, 400, "bad_request", Some("sources"))]
#[case::unknown_kind("POST", "/remember", r#"{"kind": "wish"}"#, 400, "bad_request", Some("kind"))]
#[case::unknown_act("POST", "/conflicts/abcd/resolve", r#"{"act": "burn"}"#, 400, "bad_request", Some("act"))]
#[case::no_act("POST", "/conflicts/abcd/resolve", "{}", 400, "bad_request", Some("act"))]
#[case::bad_op("POST", "/undo", r#"{"op_id": "1"}"#, 400, "bad_request", Some("op_id"))]
#[case::negative("POST", "/retract", r#"{"expect_rev": -1}"#, 400, "bad_request", Some("expect_rev"))]
#[case::nul("POST", "/remember", r#"{"statement": "a\u0000b"}"#, 400, "bad_request", Some("statement"))]
#[case::nul_in_names("POST", "/retract", r#"{"who": "\u0000"}"#, 400, "bad_request", Some("who"))]
#[case::nul_in_question("POST", "/why", r#"{"question": "\u0000"}"#, 400, "bad_request", Some("question"))]
#[case::nul_in_query("GET", "/claims?q=%00", "", 400, "bad_request", Some("q"))]
#[case::no_number("GET", "/claims?limit=x", "", 400, "bad_request", Some("limit"))]
#[case::unknown_query("GET", "/conflicts?state=all", "", 400, "bad_request", Some("state"))]
#[case::no_id("GET", "/claims/zzzz", "", 400, "bad_request", Some("id"))]
#[case::short_id("GET", "/claims/abc/history", "", 400, "bad_request", Some("id"))]
#[case::nul_id("GET", "/conflicts/%00%00%00%00", "", 400, "bad_request", Some("id"))]
#[case::broken_id("GET", "/claims/%ff%fe", "", 400, "bad_request", Some("id"))]
#[case::relative("POST", "/backup", r#"{"path": "copy.db"}"#, 400, "bad_request", Some("path"))]
#[case::no_folder("POST", "/backup", r#"{"path": "/no/such/folder/copy.db"}"#, 400, "bad_request", Some("path"))]
#[case::twice("GET", "/claims?limit=1&limit=2", "", 400, "bad_request", Some("limit"))]
#[case::unseen(
    "POST",
    "/remember",
    r#"{"who": "ada", "org_id": "acme", "project": "\u202e", "statement": "x", "reason": "r"}"#,
    400,
    "bad_request",
    Some("project")
)]
#[case::none_kept_out("GET", "/sync/quarantined?limit=0", "", 400, "bad_request", Some("limit"))]
#[case::keep_alive("GET", "/events?keep_alive=0", "", 400, "bad_request", Some("keep_alive"))]
#[case::nobody("GET", "/agents/present", "", 400, "bad_request", Some("agent"))]
#[case::only_marks("GET", "/claims?without=%21%21", "", 400, "bad_request", Some("without"))]
#[case::no_path("GET", "/nothing", "", 404, "not_found", None)]
#[case::no_method("DELETE", "/claims", "", 405, "method_not_allowed", None)]
#[case::strange_method("FROB", "/health", "", 405, "method_not_allowed", None)]
fn over_the_socket(
    #[case] method: &str,
    #[case] path: &str,
    #[case] body: &str,
    #[case] status: u16,
    #[case] code: &str,
    #[case] field: Option<&str>,
) {
    let home = TestHome::new();
    let mut daemon = home.daemon();
    let refusal = refused(&home, method, path, body.as_bytes());
    assert_eq!(refusal, (status, code.to_owned(), field.map(str::to_owned)));
    assert!(daemon.alive());
    block_on(home.client().health()).unwrap();
}

#[test]
fn what_is_too_large_is_413_whatever_it_says_about_its_length() {
    let home = TestHome::new();
    let mut daemon = home.daemon();
    let large = json!({"statement": "x".repeat(9 * 1024)}).to_string();
    assert_eq!(
        refused(&home, "POST", "/remember", large.as_bytes()),
        (413, "too_large".into(), Some("statement".into()))
    );
    let huge = json!({"statement": "x".repeat(1024 * 1024)}).to_string();
    assert_eq!(refused(&home, "POST", "/remember", huge.as_bytes()), (413, "too_large".into(), None));
    // A chunked request does not declare its length.
    let mut chunked =
        b"POST /remember HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
            .to_vec();
    for _ in 0..64 {
        chunked.extend_from_slice(b"2000\r\n");
        chunked.extend_from_slice(&[b'x'; 0x2000]);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    let answer = wire::unix(&home.paths().socket, &chunked).expect("an answer");
    assert_eq!((answer.status, answer.json()["code"].as_str()), (413, Some("too_large")), "{answer:?}");
    assert!(daemon.alive());
}

#[test]
fn the_client_is_told_too_and_not_cut_off() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let mut claim = crate::support::decision(&"x".repeat(1024 * 1024));
    claim.caller.op_id = Some(ergo::domain::OpId([1; 16]));
    let error = block_on(home.client().remember(&claim)).unwrap_err();
    assert!(
        matches!(&error, ergo::client::ClientError::Api(error) if error.code == ergo::api::ErrorCode::TooLarge),
        "{error:?}"
    );
}

#[test]
fn foreign_hosts_and_pages_are_403_before_anything_else() {
    let home = TestHome::with_tcp();
    let _daemon = home.daemon();
    let address = home.record().tcp.expect("TCP");
    let token = format!("Authorization: Bearer {}", fs::read_to_string(home.paths().token()).unwrap().trim());
    let local = format!("Host: {address}");
    let get = |headers: &[&str]| wire::tcp(&address, &request("GET", "/scopes", headers, b"")).expect("an answer");
    for foreign in ["Host: evil.example", "Host: 10.0.0.1:8788", "Host: localhost.evil.example", "Host: a b"] {
        let answer = get(&[foreign, &token]);
        assert_eq!((answer.status, answer.json()["code"].as_str()), (403, Some("forbidden")), "{foreign}");
    }
    for origin in ["Origin: https://evil.example", "Origin: null", "Origin: http://localhost:3000"] {
        let answer = get(&[&local, &token, origin]);
        assert_eq!((answer.status, answer.json()["code"].as_str()), (403, Some("forbidden")), "{origin}");
    }
    let health = request("GET", "/health", &["Host: evil.example"], b"");
    assert_eq!(wire::tcp(&address, &health).unwrap().status, 403);
    let absolute = request("GET", "http://evil.example/health", &[&local], b"");
    assert_eq!(wire::tcp(&address, &absolute).unwrap().status, 403);
}

#[test]
fn tcp_asks_for_the_token_and_the_socket_does_not() {
    let home = TestHome::with_tcp();
    let _daemon = home.daemon();
    let address = home.record().tcp.expect("TCP");
    let token = fs::read_to_string(home.paths().token()).unwrap();
    let bearer = |token: &str| format!("Authorization: Bearer {token}");
    let status = |path: &str, headers: &[&str]| {
        let headers = [&[LOCAL][..], headers].concat();
        wire::tcp(&address, &request("GET", path, &headers, b"")).expect("an answer").status
    };
    assert_eq!(status("/openapi.json", &[]), 401);
    assert_eq!(status("/openapi.json", &[&bearer("wrong")]), 401);
    assert_eq!(status("/openapi.json", &["Authorization: Basic eDp5"]), 401);
    assert_eq!(status("/openapi.json", &[&bearer(token.trim())]), 200);
    assert_eq!(status("/health", &[]), 200);
    let shutdown = request("POST", "/shutdown", &[LOCAL, &bearer(token.trim())], b"");
    assert_eq!(wire::tcp(&address, &shutdown).unwrap().status, 403, "it is ended only over the socket");
    assert_eq!(wire::unix(&home.paths().socket, &request("GET", "/openapi.json", &[LOCAL], b"")).unwrap().status, 200);
}

#[test]
fn the_token_of_the_environment_overrules_the_file() {
    let home = TestHome::with_tcp();
    let mut child = home.command(["daemon", "run"]).env("ERGO_API_TOKEN", "from-the-environment").spawn().unwrap();
    crate::support::until("it answers", || block_on(home.client().health()).is_ok());
    let address = home.record().tcp.expect("TCP");
    let url = format!("http://{address}");
    let place = ergo::client::DaemonAddress::parse(&url).unwrap();
    let scopes = |token: &str| {
        let api = ergo::client::HttpApi::new(place.clone(), Some(token.to_owned()));
        block_on(ergo::client::Client::new(std::sync::Arc::new(api)).openapi())
    };
    scopes("from-the-environment").unwrap();
    let refused = scopes("another").unwrap_err().to_string();
    assert!(refused.contains("token"), "{refused}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_is_no_http_and_what_never_ends_does_not_stop_it() {
    let home = TestHome::with_tcp();
    let mut daemon = home.daemon();
    let (socket, address) = (home.paths().socket, home.record().tcp.expect("TCP"));
    let rubbish: [&[u8]; 6] = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\0\0\0\0\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\r\n\r\n",
        b"POST /remember HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"POST /remember HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
    ];
    for bytes in rubbish {
        for answer in [wire::unix(&socket, bytes), wire::tcp(&address, bytes)].into_iter().flatten() {
            assert!((400..500).contains(&answer.status), "{answer:?}");
        }
    }
    let head = request("GET", &format!("/claims?q={}", "x".repeat(100_000)), &[LOCAL], b"");
    let answer = wire::unix(&socket, &head).expect("an answer");
    assert!((400..500).contains(&answer.status), "{answer:?}");
    // More half-open connections than a careless daemon has threads; they stay open while it answers others.
    let half_open: Vec<_> = (0..100)
        .map(|_| {
            let mut stream = UnixStream::connect(&socket).unwrap();
            stream.write_all(b"POST /remember HTTP/1.1\r\nHost: localhost\r\nContent-Le").unwrap();
            stream
        })
        .collect();
    block_on(home.client().health()).unwrap();
    drop(half_open);
    assert!(daemon.alive());
}
