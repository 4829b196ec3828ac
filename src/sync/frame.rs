//! Frames of the sync protocol: `u32 length | u8 type | body`, little endian. The length covers type and body.
//!
//! A body is CBOR. If [`PACKED`] is set in the type, the body is compressed with zstd and begins with its
//! decompressed size in four bytes. Unknown fields and unknown types are ignored, so that a newer minor version
//! can add some.
//!
//! Architecture Invariant: a size that a peer declares is only ever used as a limit. Memory grows with the bytes that
//! arrive, so a false size costs the receiver nothing.

use std::{borrow::Cow, io::Read as _};

use minicbor::{Decode, Encode};

pub use super::message::{
    ALPN_PAIR, ALPN_SYNC, Bodies, CompactDocument, DocumentMessage, DocumentOffer, Durable, EventPage, FollowingBodies,
    MINOR, Message, Nudge, Offer, RejectCode, Rejection, ScopeOffer, SessionHello, TurnKind, Want, WantSince, WireBody,
    WireEvent,
};

/// The most bytes of a frame, without its length.
pub const MAX_FRAME: usize = 32 * 1024 * 1024;

/// The most bytes of a decompressed body.
pub const MAX_BODY: usize = 64 * 1024 * 1024;

/// The number of bytes of the length before a frame.
pub const LENGTH: usize = 4;

/// The bit of a frame's type that marks a compressed body.
pub const PACKED: u8 = 0x80;

// The message types.
const HELLO: u8 = 1;
const ROSTER: u8 = 2;
const OFFER: u8 = 3;
const DOC: u8 = 4;
const WANT: u8 = 5;
const BODIES: u8 = 6;
const WANT_SINCE: u8 = 7;
const EVENTS: u8 = 8;
const DURABLE: u8 = 9;
const NUDGE: u8 = 10;
const ERROR: u8 = 11;
const BYE: u8 = 12;
const COMPACT: u8 = 13;
const FOLLOWING_BODIES: u8 = 14;

/// Returns the name of a message type.
pub fn name(kind: u8) -> &'static str {
    match kind {
        HELLO => "HELLO",
        ROSTER => "ROSTER",
        OFFER => "OFFER",
        DOC => "DOC",
        WANT => "WANT",
        BODIES => "BODIES",
        WANT_SINCE => "WANT_SINCE",
        EVENTS => "EVENTS",
        DURABLE => "DURABLE",
        NUDGE => "NUDGE",
        ERROR => "ERROR",
        BYE => "BYE",
        COMPACT => "COMPACT",
        FOLLOWING_BODIES => "FOLLOWING_BODIES",
        _ => "a message of a newer version",
    }
}

/// The size in bytes from which a body is compressed. For a shorter one, zstd's header would cost what is gained.
const MIN_COMPRESSED_BODY: usize = 512;

/// The level of zstd: 3 compresses 100 MB/s on a core, and the higher ones gain 2 % on signatures.
const ZSTD_LEVEL: i32 = 3;

/// The largest window that a compressed body may declare, as a power of two: 8 MiB. Frames of this program declare 2
/// MiB.
const MAX_WINDOW_LOG: u32 = 23;

/// The reason why bytes are not a frame, or a message does not fit into one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The frame is longer than [`MAX_FRAME`].
    #[error("a message of {0} bytes; at most {MAX_FRAME} are allowed")]
    TooLong(u64),
    /// The body is longer than [`MAX_BODY`], or longer than declared.
    #[error("a message of more than {0} bytes, which its beginning does not allow")]
    TooBig(u64),
    /// The frame has no type, or its body is invalid.
    #[error("an invalid message: {0}")]
    Malformed(String),
}

impl FrameError {
    /// Returns the code of the rejection that is sent to the peer.
    pub fn code(&self) -> RejectCode {
        match self {
            Self::TooLong(_) | Self::TooBig(_) => RejectCode::TooBig,
            Self::Malformed(_) => RejectCode::Version,
        }
    }
}

/// Returns the length of a frame from the bytes before it, from 1 to [`MAX_FRAME`].
pub fn length(bytes: [u8; LENGTH]) -> Result<usize, FrameError> {
    match u32::from_le_bytes(bytes) {
        0 => Err(FrameError::Malformed("it is empty".to_owned())),
        length if length as usize > MAX_FRAME => Err(FrameError::TooLong(u64::from(length))),
        length => Ok(length as usize),
    }
}

/// Encodes a message as a frame with its length.
///
/// # Errors
/// If the message exceeds [`MAX_BODY`] or [`MAX_FRAME`].
pub fn encode(message: &Message) -> Result<Vec<u8>, FrameError> {
    let body = match message {
        Message::Hello(m) => cbor(m),
        Message::Roster(m) | Message::Events(m) => cbor(m),
        Message::Offer(m) => cbor(m),
        Message::Doc(m) => cbor(m),
        Message::Want(m) => cbor(m),
        Message::Bodies(m) => cbor(m),
        Message::WantSince(m) => cbor(m),
        Message::Durable(m) => cbor(m),
        Message::Nudge(m) => cbor(m),
        Message::Error(m) => cbor(m),
        Message::Compact(m) => cbor(m),
        Message::FollowingBodies(m) => cbor(m),
        Message::Bye | Message::Unknown(_) => Vec::new(),
    };
    frame(message.kind(), &body)
}

impl Message {
    /// Returns the message's type in a frame.
    pub fn kind(&self) -> u8 {
        match self {
            Self::Hello(_) => HELLO,
            Self::Roster(_) => ROSTER,
            Self::Offer(_) => OFFER,
            Self::Doc(_) => DOC,
            Self::Want(_) => WANT,
            Self::Bodies(_) => BODIES,
            Self::WantSince(_) => WANT_SINCE,
            Self::Events(_) => EVENTS,
            Self::Durable(_) => DURABLE,
            Self::Nudge(_) => NUDGE,
            Self::Error(_) => ERROR,
            Self::Bye => BYE,
            Self::Compact(_) => COMPACT,
            Self::FollowingBodies(_) => FOLLOWING_BODIES,
            Self::Unknown(kind) => *kind,
        }
    }
}

/// Returns the message type of a frame that still has its length, or `None` if it is truncated.
pub fn kind(frame: &[u8]) -> Option<u8> {
    frame.get(LENGTH).map(|kind| kind & !PACKED)
}

/// Decodes the message in a frame (the bytes after the length). An unknown type gives [`Message::Unknown`].
///
/// # Errors
/// If a limit is exceeded or the body is invalid.
pub fn decode(frame: &[u8]) -> Result<Message, FrameError> {
    let (kind, body) = unframe(frame)?;
    Ok(match kind {
        HELLO => Message::Hello(read(&body)?),
        ROSTER => Message::Roster(read(&body)?),
        OFFER => Message::Offer(read(&body)?),
        DOC => Message::Doc(read(&body)?),
        WANT => Message::Want(read(&body)?),
        BODIES => Message::Bodies(read(&body)?),
        WANT_SINCE => Message::WantSince(read(&body)?),
        EVENTS => Message::Events(read(&body)?),
        DURABLE => Message::Durable(read(&body)?),
        NUDGE => Message::Nudge(read(&body)?),
        ERROR => Message::Error(read(&body)?),
        BYE => Message::Bye,
        COMPACT => Message::Compact(read(&body)?),
        FOLLOWING_BODIES => Message::FollowingBodies(read(&body)?),
        other => Message::Unknown(other),
    })
}

/// Encodes a body as a frame with its length.
///
/// # Errors
/// If the body exceeds [`MAX_BODY`], or the frame [`MAX_FRAME`].
pub fn frame(kind: u8, body: &[u8]) -> Result<Vec<u8>, FrameError> {
    if body.len() > MAX_BODY {
        return Err(FrameError::TooBig(MAX_BODY as u64));
    }
    let packed = if body.len() < MIN_COMPRESSED_BODY { None } else { pack(body) };
    let (kind, size, body) = match &packed {
        Some(packed) => (kind | PACKED, Some(body.len() as u32), packed.as_slice()),
        None => (kind, None, body),
    };
    let length = 1 + size.map_or(0, |_| LENGTH) + body.len();
    if length > MAX_FRAME {
        return Err(FrameError::TooLong(length as u64));
    }
    let mut bytes = Vec::with_capacity(LENGTH + length);
    bytes.extend_from_slice(&(length as u32).to_le_bytes());
    bytes.push(kind);
    bytes.extend(size.map(u32::to_le_bytes).into_iter().flatten());
    bytes.extend_from_slice(body);
    Ok(bytes)
}

/// Returns the most bytes of a body of this type. A message of many small parts takes up to 24 times its bytes in
/// memory and compresses to almost nothing, so it must be short.
fn max_body(kind: u8) -> usize {
    match kind {
        OFFER | WANT_SINCE => 8 * 1024 * 1024,
        HELLO => 1024 * 1024,
        WANT | DURABLE | NUDGE | ERROR => 256 * 1024,
        _ => MAX_BODY,
    }
}

/// Returns the type and the decompressed body of a frame (the bytes after the length).
fn unframe(frame: &[u8]) -> Result<(u8, Cow<'_, [u8]>), FrameError> {
    if frame.len() > MAX_FRAME {
        return Err(FrameError::TooLong(frame.len() as u64));
    }
    let (kind, body) = frame.split_first().ok_or_else(|| FrameError::Malformed("it is empty".to_owned()))?;
    let max_body = max_body(kind & !PACKED);
    if kind & PACKED == 0 {
        return if body.len() > max_body { Err(FrameError::TooBig(max_body as u64)) } else { Ok((*kind, body.into())) };
    }
    let (size, packed) =
        body.split_first_chunk::<LENGTH>().ok_or_else(|| FrameError::Malformed("it declares no size".to_owned()))?;
    let size = u32::from_le_bytes(*size);
    Ok((kind & !PACKED, unpack(packed, size, max_body)?.into()))
}

fn cbor(message: &impl Encode<()>) -> Vec<u8> {
    // Encoding into a vector cannot fail.
    minicbor::to_vec(message).unwrap_or_default()
}

fn read<'b, T: Decode<'b, ()>>(body: &'b [u8]) -> Result<T, FrameError> {
    minicbor::decode(body).map_err(|error| FrameError::Malformed(error.to_string()))
}

/// Compresses a body; `None` if that does not make it shorter.
fn pack(body: &[u8]) -> Option<Vec<u8>> {
    let packed = zstd::bulk::compress(body, ZSTD_LEVEL).ok()?;
    (packed.len() + LENGTH < body.len()).then_some(packed)
}

/// Decompresses exactly `size` bytes; fails if that is more than `max_body`.
fn unpack(packed: &[u8], size: u32, max_body: usize) -> Result<Vec<u8>, FrameError> {
    let size = u64::from(size);
    if size > max_body as u64 {
        return Err(FrameError::TooBig(size));
    }
    let malformed = |error: std::io::Error| FrameError::Malformed(error.to_string());
    let mut reader = zstd::stream::read::Decoder::with_buffer(packed).map_err(malformed)?;
    reader.window_log_max(MAX_WINDOW_LOG).map_err(malformed)?;
    let mut body = Vec::new();
    // Reading one byte more than declared detects a wrong size.
    reader.take(size + 1).read_to_end(&mut body).map_err(malformed)?;
    match body.len() as u64 {
        found if found == size => Ok(body),
        found if found > size => Err(FrameError::TooBig(size)),
        found => Err(FrameError::Malformed(format!("{found} bytes, and {size} were declared"))),
    }
}

#[cfg(test)]
mod tests;
