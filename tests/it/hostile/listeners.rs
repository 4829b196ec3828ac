//! Connections that others hold open: those of one listener do not block another, and streams leave room for calls.

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    os::unix::net::UnixStream,
    process::Command,
    time::Duration,
};

use crate::support::{
    TEST_TIMEOUT, TestHome, WITHOUT_MODELS, block_on, fact, in_place_of, until,
    wire::{self, request},
};

/// The limit of open files: fewer than the connections below, and more than the daemon itself needs.
const DESCRIPTORS: u32 = 224;

const CONNECTIONS: usize = 300;

/// The address at which the daemon serves clients of cogito-ergo.
fn cogito(home: &TestHome) -> SocketAddr {
    let log = home.log();
    let line = log.lines().find(|line| line.contains("listening for clients of cogito-ergo")).expect(&log);
    let digits = line.split("127.0.0.1:").nth(1).unwrap();
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    SocketAddr::from(([127, 0, 0, 1], digits[..end].parse().unwrap()))
}

/// The program with a limit of open files.
fn limited(program: Command) -> Command {
    let mut shell = in_place_of(&program, "sh");
    shell.arg("-c").arg(format!("ulimit -n {DESCRIPTORS} && exec \"$0\" \"$@\"")).arg(program.get_program());
    shell.args(program.get_args());
    shell
}

#[test]
fn silent_connections_to_cogitos_listener_leave_the_socket_alone() {
    let home = TestHome::with_settings("[compat.cogito]\nlisten = \"127.0.0.1:0\"\n");
    let mut daemon = home.daemon_by(limited);
    let address = cogito(&home);
    // A full queue refuses the last ones, which is as good.
    let silent: Vec<_> = (0..CONNECTIONS)
        .filter_map(|_| TcpStream::connect_timeout(&address, Duration::from_millis(200)).ok())
        .collect();
    assert!(silent.len() > DESCRIPTORS as usize, "only {} connections", silent.len());
    // Whatever the daemon takes of them, it has taken when it has had as many turns as there are connections.
    for n in 0..20 {
        block_on(home.client().health()).unwrap();
        block_on(home.client().remember(&fact(&format!("Fact {n}."), &format!("key {n}")))).unwrap();
    }
    let taken = fs::read_dir(format!("/proc/{}/fd", daemon.pid())).map_or(0, Iterator::count);
    assert!(taken < DESCRIPTORS as usize - 20, "{taken} descriptors are open");
    assert!(!home.log().contains("cannot take a connection"), "{}", home.log());
    drop(silent);
    let health = request("GET", "/health", &["Host: localhost"], b"");
    assert_eq!(wire::tcp(&address.to_string(), &health).unwrap().status, 200);
    assert!(daemon.alive());
}

#[test]
fn cogitos_listener_asks_for_the_token_that_the_settings_name() {
    let home = TestHome::new();
    let file = home.path().join("cogito-token");
    fs::write(&file, "its-token\n").unwrap();
    let settings =
        |file: &str| format!("{WITHOUT_MODELS}[compat.cogito]\nlisten = \"127.0.0.1:0\"\ntoken_file = \"{file}\"\n");
    fs::write(home.paths().config, settings(file.to_str().unwrap())).unwrap();
    let daemon = home.daemon();
    let address = cogito(&home).to_string();
    let status = |method: &str, path: &str, headers: &[&str], body: &[u8]| {
        let headers = [&["Host: localhost"][..], headers].concat();
        wire::tcp(&address, &request(method, path, &headers, body)).expect("an answer").status
    };
    let (bearer, body) = ("Authorization: Bearer its-token", br#"{"text": "A fact."}"#);
    for (method, path) in [("GET", "/health"), ("GET", "/snapshot"), ("POST", "/store"), ("POST", "/recall")] {
        assert_eq!(status(method, path, &[], body), 401, "{path}");
        assert_eq!(status(method, path, &["Authorization: Bearer its-tokens"], body), 401, "{path}");
    }
    assert_eq!(status("GET", "/health", &[bearer], b""), 200);
    assert_eq!(status("POST", "/store", &[bearer], body), 200);
    assert_eq!(daemon.terminate(), Some(0));

    // One that cannot be read keeps everybody out.
    fs::remove_file(home.paths().log()).unwrap();
    fs::write(home.paths().config, settings("/no/such/token")).unwrap();
    let _daemon = home.daemon();
    assert!(!home.log().contains("listening for clients of cogito-ergo"), "{}", home.log());
    let output = home.run(["doctor"]);
    assert_eq!(output.code, Some(4), "{output:?}");
    assert!(output.stdout.contains("the listener for clients of cogito-ergo is off"), "{output:?}");
}

#[test]
fn the_doctor_says_who_may_write_through_cogitos_listener() {
    let home = TestHome::with_settings("[compat.cogito]\nlisten = \"127.0.0.1:0\"\n");
    let stdout = home.run(["doctor"]).ok().stdout;
    assert!(stdout.contains("every local user can read and write") && stdout.contains("token_file"), "{stdout}");
}

/// Begins to follow the daemon's changes, and gives the status once it came.
fn follow(mut stream: impl Read + Write, token: &str, path: &str) -> (u16, impl Read + Write) {
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n").unwrap();
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), stream)
}

#[test]
fn event_streams_over_tcp_leave_room_for_calls() {
    let home = TestHome::with_tcp();
    let _daemon = home.daemon();
    let address = home.record().tcp.unwrap();
    let token = fs::read_to_string(home.paths().token()).unwrap().trim().to_owned();
    let connect = || {
        let stream = TcpStream::connect(&address).unwrap();
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        stream
    };
    let paths = ["/events", "/agents/present?agent=x"];
    let mut open = Vec::new();
    let refused = loop {
        let (status, stream) = follow(connect(), &token, paths[open.len() % 2]);
        if status != 200 {
            break status;
        }
        open.push(stream);
        assert!(open.len() < 256, "streams may take every connection");
    };
    assert_eq!(refused, 503);
    let bearer = format!("Authorization: Bearer {token}");
    let call = request("GET", "/scopes", &["Host: localhost", &bearer], b"");
    assert_eq!(wire::tcp(&address, &call).unwrap().status, 200);
    let output = home.run(["doctor"]);
    assert!(output.stdout.contains("event streams over TCP are in use"), "{output:?}");
    let (status, _by_socket) = follow(UnixStream::connect(home.paths().socket).unwrap(), "", "/events");
    assert_eq!(status, 200, "the socket has room of its own");
    open.pop();
    until("a place is free again", || follow(connect(), &token, "/events").0 == 200);
}

#[test]
fn event_streams_over_the_socket_leave_room_for_calls() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let socket = home.paths().socket.clone();
    let connect = || {
        let stream = UnixStream::connect(&socket).unwrap();
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        stream
    };
    let paths = ["/events", "/agents/present?agent=x"];
    let mut open = Vec::new();
    let refused = loop {
        let (status, stream) = follow(connect(), "", paths[open.len() % 2]);
        if status != 200 {
            break status;
        }
        open.push(stream);
        assert!(open.len() < 256, "streams may take every connection");
    };
    assert_eq!(refused, 503);
    assert_eq!(wire::unix(&socket, &request("GET", "/scopes", &["Host: localhost"], b"")).unwrap().status, 200);
    let output = home.run(["doctor"]);
    assert!(output.stdout.contains("event streams over the socket are in use"), "{output:?}");
}
