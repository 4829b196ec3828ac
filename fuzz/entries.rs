// What is fuzzed: each entry takes any bytes, must not panic, and checks what must hold of whatever it can read. Included by the targets
// here and by tests/it/fuzz.rs.

use std::io;

use ed25519_dalek::SigningKey;
use ergo::{
    domain::{SignedEvent, event::SealedBody},
    sync::{
        bundle::{BundleReader, BundleItem, note},
        frame::{self, Message},
        gate::MAX_MESSAGE,
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
    if event.verify().is_ok()
        && let Some(body) = &event.body
    {
        // Signed by somebody, hence still not to be trusted.
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
