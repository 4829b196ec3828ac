//! An HTTP server on this machine that treats each request as a script says.

use std::{
    collections::VecDeque,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// The treatment of one request.
#[derive(Clone, Debug)]
pub(super) enum Does {
    /// Sends the requested range.
    Serve,
    /// Sends the requested range, and closes the connection after this many bytes.
    Cut(usize),
    /// Sends the requested range, and stops sending after this many bytes.
    Stall(usize),
    /// Sends the requested range, and waits after this many bytes until [`Server::go_on`].
    Wait(usize),
    /// Sends the requested range in small pieces with pauses.
    Slow,
    /// Sends the whole file whatever range was requested, without an entity tag.
    Whole,
    /// Sends these bytes instead.
    Other(Vec<u8>),
    /// Answers with a status alone.
    Status(u16),
    /// Sends the client to the same path under `/moved`.
    Redirect,
}

#[derive(Default)]
struct Shared {
    script: Mutex<VecDeque<Does>>,
    asked: Mutex<Vec<String>>,
    going_on: Mutex<bool>,
    signal: Condvar,
    over: AtomicBool,
}

/// The server, which stops when this value is dropped.
pub(super) struct Server {
    shared: Arc<Shared>,
    pub(super) address: String,
    at: std::net::SocketAddr,
}

impl Server {
    /// A server of this file. A request beyond the script is answered with 500.
    pub(super) fn new(file: &[u8], script: impl IntoIterator<Item = Does>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let shared = Arc::new(Shared { script: Mutex::new(script.into_iter().collect()), ..Shared::default() });
        let file: Arc<[u8]> = file.into();
        thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                for stream in listener.incoming() {
                    if shared.over.load(Ordering::Relaxed) {
                        return;
                    }
                    let (shared, file, stream) = (Arc::clone(&shared), Arc::clone(&file), stream.unwrap());
                    thread::spawn(move || answer(stream, &file, &shared));
                }
            }
        });
        Self { shared, address: format!("http://{at}"), at }
    }

    /// Adds to the script.
    pub(super) fn then(&self, does: impl IntoIterator<Item = Does>) {
        self.shared.script.lock().unwrap().extend(does);
    }

    /// The heads of the requests so far.
    pub(super) fn asked(&self) -> Vec<String> {
        self.shared.asked.lock().unwrap().clone()
    }

    /// The first byte that each request asked for; `None` if it asked for the whole file.
    pub(super) fn ranges(&self) -> Vec<Option<usize>> {
        self.asked().iter().map(|head| from(head)).collect()
    }

    /// Continues a waiting request.
    pub(super) fn go_on(&self) {
        *self.shared.going_on.lock().unwrap() = true;
        self.shared.signal.notify_all();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        self.go_on();
        drop(TcpStream::connect(self.at));
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = head.lines();
    lines.find_map(|line| line.split_once(':').filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, v)| v.trim()))
}

fn from(head: &str) -> Option<usize> {
    header(head, "range")?.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()
}

fn answer(mut stream: TcpStream, file: &[u8], shared: &Shared) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    shared.asked.lock().unwrap().push(head.clone());
    let does = shared.script.lock().unwrap().pop_front().unwrap_or(Does::Status(500));
    // Some clients are expected to close the connection.
    let _gone = play(&mut stream, &head, file, &does, shared);
}

fn play(stream: &mut TcpStream, head: &str, file: &[u8], does: &Does, shared: &Shared) -> std::io::Result<()> {
    let tag = "\"v1\"";
    let same = header(head, "if-range").is_none_or(|asked| asked == tag);
    let offset = from(head).filter(|_| same).unwrap_or(0);
    let lead = |status: &str, length: usize, more: &str| {
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{more}\r\n")
    };
    let partial = || {
        let total = file.len();
        let tag = format!("ETag: {tag}\r\n");
        if offset == 0 {
            return lead("200 OK", total, &tag);
        }
        let range = format!("{tag}Content-Range: bytes {offset}-{}/{total}\r\n", total - 1);
        lead("206 Partial Content", total - offset, &range)
    };
    let body = &file[offset..];
    match does {
        Does::Status(status) => stream.write_all(lead(&format!("{status} Told"), 0, "").as_bytes()),
        Does::Redirect => {
            let path = head.split(' ').nth(1).unwrap();
            stream.write_all(lead("302 Found", 0, &format!("Location: /moved{path}\r\n")).as_bytes())
        }
        Does::Whole => {
            stream.write_all(lead("200 OK", file.len(), "").as_bytes())?;
            stream.write_all(file)
        }
        Does::Other(bytes) => {
            stream.write_all(lead("200 OK", bytes.len(), "").as_bytes())?;
            stream.write_all(bytes)
        }
        Does::Serve => {
            stream.write_all(partial().as_bytes())?;
            stream.write_all(body)
        }
        Does::Cut(bytes) => {
            stream.write_all(partial().as_bytes())?;
            stream.write_all(&body[..*bytes])
        }
        Does::Stall(bytes) => {
            stream.write_all(partial().as_bytes())?;
            stream.write_all(&body[..*bytes])?;
            // Until the client closes the connection.
            stream.read(&mut [0; 16]).map(drop)
        }
        Does::Wait(bytes) => {
            stream.write_all(partial().as_bytes())?;
            stream.write_all(&body[..*bytes])?;
            let held = shared.going_on.lock().unwrap();
            drop(shared.signal.wait_while(held, |going_on| !*going_on).unwrap());
            stream.write_all(&body[*bytes..])
        }
        Does::Slow => {
            stream.write_all(partial().as_bytes())?;
            for piece in body.chunks(body.len().div_ceil(40)) {
                stream.write_all(piece)?;
                thread::sleep(Duration::from_millis(5));
            }
            Ok(())
        }
    }
}
