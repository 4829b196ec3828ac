// What is fuzzed: each entry takes any bytes, must not panic, and checks what must hold of whatever it can read. Included by the targets
// here and by tests/it/fuzz.rs.

use std::{cell::RefCell, io};

use ed25519_dalek::SigningKey;
use ergo::{
    daemon::{self, testing::InProcessApi},
    domain::{EventId, SignedEvent, event::SealedBody},
    infer::catalogue::gguf::GgufHeader,
    interchange::rules,
    sync::{
        bundle::{BundleItem, BundleReader, note},
        document::IndexDocument,
        frame::{self, Message},
        preflight::{self, MAX_MESSAGE},
        ticket::Ticket,
    },
};

/// A frame, after its length: what a peer says.
pub fn frame(bytes: &[u8]) {
    if let Some(head) = bytes.first_chunk() {
        // Whatever is declared, it is bounded before anything is reserved.
        assert!(frame::length(*head).is_err() || frame::length(*head).is_ok_and(|length| length <= frame::MAX_FRAME));
    }
    let Ok(message) = frame::decode(bytes) else { return };
    match &message {
        // What is put together again is no longer than a message, and as long as what it is said to hold.
        Message::Compact(doc) => {
            if let Ok((doc, entries)) = doc.clone().restore() {
                let length: usize = doc.messages.iter().map(|message| message.len()).sum();
                assert!(length >= entries.len() * 129 && length <= doc.messages.len() * MAX_MESSAGE);
            }
        }
        Message::FollowingBodies(following) => drop(following.bodies()),
        _ => {}
    }
    // What can be read can be said, and means the same.
    if let Ok(again) = frame::encode(&message) {
        let read = frame::decode(&again[frame::LENGTH..]);
        assert!(read.is_ok_and(|read| read == message), "{message:?}");
    }
}

/// An event: `length of header u16 | header | signature 64 | salt 16 | body`; without salt and body it is a redacted one.
pub fn event(bytes: &[u8]) {
    let Some((length, rest)) = bytes.split_first_chunk() else { return };
    let Some((header, rest)) = rest.split_at_checked(u16::from_be_bytes(*length).into()) else { return };
    let Some((signature, rest)) = rest.split_first_chunk() else { return };
    let body = rest.split_first_chunk().map(|(salt, bytes)| SealedBody { salt: *salt, bytes: bytes.to_vec() });
    let Ok(event) = SignedEvent::from_parts(header.to_vec(), *signature, body) else { return };
    assert_eq!(event.header_bytes, header);
    drop(event.verify());
    if let Some(body) = &event.body {
        // Anybody can sign any body, so one that is not signed is read too.
        drop(body.open());
    }
}

/// The parts of an event in the form that [`event`] takes.
pub fn event_bytes(event: &SignedEvent) -> Vec<u8> {
    let mut bytes = u16::try_from(event.header_bytes.len()).unwrap_or_default().to_be_bytes().to_vec();
    bytes.extend_from_slice(&event.header_bytes);
    bytes.extend_from_slice(&event.signature);
    if let Some(body) = &event.body {
        bytes.extend_from_slice(&body.salt);
        bytes.extend_from_slice(&body.bytes);
    }
    bytes
}

/// A ticket, as a person pastes it.
pub fn ticket(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(ticket) = Ticket::parse(&text, 0) {
        drop(ticket.endpoint());
        assert!(Ticket::parse(&ticket.to_text(), 0).is_ok_and(|again| again == ticket), "{ticket:?}");
    }
}

/// A file: a bundle for a device of which the key is known, or a card.
pub fn bundle(bytes: &[u8]) {
    drop(note::open(bytes));
    let Ok(mut bundle) = BundleReader::new(io::Cursor::new(bytes), &SigningKey::from_bytes(&[2; 32])) else { return };
    for item in bundle.by_ref() {
        if let BundleItem::Events(_, events) = item {
            for event in events {
                drop(event.verify());
            }
        }
    }
    assert!(bundle.offset() <= bytes.len() as u64, "it read more than there is");
    drop(bundle.report());
}

/// A sync message of automerge from a peer, before automerge reads it.
pub fn message(bytes: &[u8]) {
    drop(preflight::scan_message(bytes));
}

/// The same message in an exchange. Not for the fuzzer, which ends at each panic: those of automerge are caught.
pub fn exchange(bytes: &[u8]) {
    let (mut exchange, _) = IndexDocument::empty().begin_exchange(None, false);
    if let Ok(step) = exchange.receive(bytes) {
        assert!(step.new.iter().all(|entry| EventId::of_header(&entry.header) == entry.id), "an entry under another id");
    }
}

/// A model file, as somebody names it.
pub fn gguf(bytes: &[u8]) {
    if let Ok(header) = GgufHeader::read(&mut &*bytes) {
        assert!(!header.architecture.is_empty() && header.labels.len() <= 64);
        drop(header.role());
    }
}

/// A rule file: AGENTS.md, CONTRIBUTING.md.
pub fn rules(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().count();
    let read = rules::parse("AGENTS.md", &text);
    for rule in &read.rules {
        assert!(!rule.statement.trim().is_empty(), "{rule:?}");
        assert!((1..=lines).contains(&rule.line), "{rule:?} of {lines} lines");
        assert!(rules::is_from("AGENTS.md", &rule.reason), "{rule:?}");
    }
    assert!(read.skipped.iter().all(|skipped| (1..=lines).contains(&skipped.line)), "{:?}", read.skipped);
}

/// How many requests go to one store: what is stored makes later ones slower.
const REQUESTS: usize = 2_000;

/// The API that requests go to, with its folder and how many it had.
type Served = (InProcessApi, tempfile::TempDir, usize);

thread_local! {
    static SERVED: RefCell<Option<Served>> = const { RefCell::new(None) };
}

/// Whether a request only reads and writes the store: it opens no socket, writes no file and ends.
fn is_local(method: &str, path: &str) -> bool {
    let elsewhere = ["/backup", "/shutdown", "/events", "/models/reload"];
    let fits = |route: &str| {
        route.split('/').count() == path.split('/').count()
            && route.split('/').zip(path.split('/')).all(|(part, theirs)| part == "{id}" || part == theirs)
    };
    !elsewhere.contains(&path)
        && (!path.starts_with("/sync/") || path == "/sync/import")
        && daemon::ROUTES.iter().any(|(known, route)| known.eq_ignore_ascii_case(method) && fits(route))
}

/// Sends a request, `METHOD /path?query`, a line break and the body, to the daemon. Returns the status of the answer; `None` for a request
/// that cannot be sent, or is not for this store alone.
pub fn request(bytes: &[u8]) -> Option<u16> {
    let (line, body) = bytes.split_at(bytes.iter().position(|byte| *byte == b'\n')?);
    let (method, uri) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    if !is_local(method, uri.split('?').next()?) {
        return None;
    }
    SERVED.with_borrow_mut(|served| {
        let (mut api, folder, count) = served.take().filter(|(_, _, count)| *count < REQUESTS).unwrap_or_else(|| {
            let folder = tempfile::tempdir().expect("a folder");
            (InProcessApi::open(folder.path()).expect("a store"), folder, 0)
        });
        let status = api.call(method, uri, &body[1..]);
        *served = Some((api, folder, count + 1));
        status
    })
}

/// A [`request`], which must not make the daemon fail.
pub fn http(bytes: &[u8]) {
    assert_ne!(request(bytes), Some(500), "{}", String::from_utf8_lossy(bytes));
}
