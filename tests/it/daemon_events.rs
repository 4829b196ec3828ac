//! The stream of changes: it begins with a greeting, ends with the daemon, and is silent without changes.

use std::{
    io::{Read, Write},
    os::unix::net::UnixStream,
};

use futures_util::StreamExt;
use tokio::time::timeout;

use crate::support::{TEST_TIMEOUT, TestHome, block_on};

async fn next(
    stream: &mut (impl StreamExt<Item = Result<ergo::api::Change, ergo::client::ClientError>> + Unpin),
) -> ergo::api::Change {
    timeout(TEST_TIMEOUT, stream.next()).await.expect("in time").expect("not the end").expect("a change")
}

#[test]
fn it_ends_when_the_daemon_does() {
    let home = TestHome::new();
    let daemon = home.daemon();
    block_on(async {
        let mut stream = home.client().changes();
        assert_eq!(next(&mut stream).await.event, "hello");
        assert_eq!(daemon.terminate(), Some(0), "an open stream does not keep it");
        assert!(timeout(TEST_TIMEOUT, stream.next()).await.expect("in time").is_none());
    });
}

#[test]
fn silence_is_silent_unless_comments_are_asked_for() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let open = |path: &str| {
        let mut stream = UnixStream::connect(home.paths().socket).unwrap();
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes()).unwrap();
        stream
    };
    let mut silent = open("/events");
    let mut chatty = open("/events?keep_alive=1");
    let mut buffer = [0; 1024];
    let mut read_until = |stream: &mut UnixStream, holds: fn(&str) -> bool| {
        let mut received = String::new();
        while !holds(&received) {
            let count = stream.read(&mut buffer).unwrap();
            assert!(count > 0, "closed: {received}");
            received.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
        }
        received
    };
    let mut received = read_until(&mut silent, |received| received.contains("event: hello"));
    // After two comments, the silent stream would have had time to send something, too.
    read_until(&mut chatty, |received| received.matches("\n:").count() >= 2);
    silent.set_nonblocking(true).unwrap();
    while let Ok(count @ 1..) = silent.read(&mut buffer) {
        received.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
    }
    assert!(!received.contains("\n:"), "{received}");
}
