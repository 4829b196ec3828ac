//! Hand-written HTTP, so that requests can be invalid in any way.

use std::{
    io::{Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
    path::Path,
};

use serde_json::Value;

use super::TEST_TIMEOUT;

/// An answer, as far as one came.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Answer {
    /// The body as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// Parses the received bytes; `None` if nothing was received.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some(Self { status, body: body.to_owned() })
    }
}

/// One request as text: `Connection: close` and the length are added, the rest is as given.
pub(crate) fn request(method: &str, path: &str, headers: &[&str], body: &[u8]) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
    for header in headers {
        text.push_str(header);
        text.push_str("\r\n");
    }
    text.push_str("\r\n");
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// Sends bytes over a Unix socket and reads the answer to its end.
pub(crate) fn unix(socket: &Path, bytes: &[u8]) -> Option<Answer> {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    // A daemon that has heard enough may answer and close before everything is sent.
    drop(stream.write_all(bytes));
    let mut out = Vec::new();
    drop(stream.read_to_end(&mut out));
    Answer::parse(&out)
}

/// Sends bytes over TCP and reads the answer to its end.
pub(crate) fn tcp(address: &str, bytes: &[u8]) -> Option<Answer> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    drop(stream.write_all(bytes));
    let mut out = Vec::new();
    drop(stream.read_to_end(&mut out));
    Answer::parse(&out)
}
