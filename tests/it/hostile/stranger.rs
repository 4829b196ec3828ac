//! Another program at the daemon's address, which records all that it receives.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use crate::support::TEST_TIMEOUT;

/// A server that answers every request with an empty JSON object, and records what it receives.
pub(super) struct Stranger {
    pub(super) address: SocketAddr,
    heard: Arc<Mutex<String>>,
}

impl Stranger {
    /// A stranger on a free port.
    pub(super) fn anywhere() -> Self {
        Self::at("127.0.0.1:0")
    }

    /// A stranger who took this port.
    pub(super) fn at(address: &str) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let heard = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&heard);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = Arc::clone(&kept);
                thread::spawn(move || listen(stream, &kept));
            }
        });
        Self { address, heard }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Everything that it has received so far.
    pub(super) fn heard(&self) -> String {
        self.heard.lock().unwrap().clone()
    }
}

fn listen(mut stream: TcpStream, kept: &Mutex<String>) -> Option<()> {
    stream.set_read_timeout(Some(TEST_TIMEOUT)).ok()?;
    let (mut head, mut piece) = (String::new(), [0; 4096]);
    while !head.contains("\r\n\r\n") {
        let length = stream.read(&mut piece).ok().filter(|length| *length > 0)?;
        let text = String::from_utf8_lossy(&piece[..length]).into_owned();
        kept.lock().unwrap().push_str(&text);
        head.push_str(&text);
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}").ok()
}
