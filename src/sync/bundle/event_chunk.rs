//! The content of a frame of events, and its compression.

use minicbor::{Decoder, Encoder};

use super::error::BundleError;
use crate::domain::event::{MAX_EVENT, SealedBody, SignedEvent};

/// The most events in a frame.
pub const MAX_CHUNK_EVENTS: usize = 1_024;

/// The most bytes of a frame's decompressed content. A reader allocates no more than this, whatever a file declares.
pub const MAX_CHUNK_BYTES: usize = 4 * 1024 * 1024;

/// The bytes of events after which a frame is written: low enough that one more event stays below [`MAX_CHUNK_BYTES`].
pub(super) const FLUSH_BYTES: usize = 1024 * 1024;

/// The most bytes of a frame in the file. zstd and encryption may lengthen incompressible content a little.
pub(super) const MAX_STORED: usize = MAX_CHUNK_BYTES + MAX_CHUNK_BYTES / 128 + 1024;

const _: () = assert!(FLUSH_BYTES + 2 * MAX_EVENT < MAX_CHUNK_BYTES);

/// The level of zstd: 3 compresses 100 MB/s on a core, and the higher ones gain 2 % on signatures.
const ZSTD_LEVEL: i32 = 3;

pub(super) fn pack(plain: &[u8]) -> std::io::Result<Vec<u8>> {
    zstd::bulk::compress(plain, ZSTD_LEVEL)
}

/// Decompresses to exactly `plain` bytes, a number that the caller has checked.
pub(super) fn unpack(packed: &[u8], plain: usize) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; plain];
    match zstd::bulk::decompress_to_buffer(packed, bytes.as_mut_slice()) {
        Ok(length) if length == plain => Ok(bytes),
        Ok(length) => Err(format!("{length} bytes, and {plain} are declared")),
        Err(error) => Err(format!("it does not decompress to the declared {plain} bytes: {error}")),
    }
}

/// Encodes events as the content of a frame.
pub(super) fn encode(events: &[SignedEvent]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(events.iter().map(|event| event.size() + 32).sum());
    let mut out = Encoder::new(&mut bytes);
    // Encoding into a vector cannot fail.
    let _ = out.array(events.len() as u64);
    for event in events {
        let _ = match &event.body {
            None => {
                out.array(2).and_then(|out| out.bytes(&event.header_bytes)).and_then(|out| out.bytes(&event.signature))
            }
            Some(body) => out
                .array(4)
                .and_then(|out| out.bytes(&event.header_bytes))
                .and_then(|out| out.bytes(&event.signature))
                .and_then(|out| out.bytes(&body.salt))
                .and_then(|out| out.bytes(&body.bytes)),
        };
    }
    bytes
}

/// Decodes the content of a frame: the valid events, and the problems of the others. Checks the form of events, not
/// their signatures.
pub(super) fn decode(bytes: &[u8]) -> Result<(Vec<SignedEvent>, Vec<String>), String> {
    let mut input = Decoder::new(bytes);
    let wrong = |error: minicbor::decode::Error| format!("its events cannot be read: {error}");
    let count = input.array().map_err(wrong)?.ok_or("its events have no count")?;
    if count > MAX_CHUNK_EVENTS as u64 {
        return Err(format!("it holds {count} events; at most {MAX_CHUNK_EVENTS} are allowed"));
    }
    let (mut events, mut problems) = (Vec::new(), Vec::new());
    for index in 0..count {
        let fields = input.array().map_err(wrong)?;
        let header = input.bytes().map_err(wrong)?.to_vec();
        let signature = fixed(input.bytes().map_err(wrong)?)?;
        let body = match fields {
            Some(2) => None,
            Some(4) => Some(SealedBody {
                salt: fixed(input.bytes().map_err(wrong)?)?,
                bytes: input.bytes().map_err(wrong)?.to_vec(),
            }),
            _ => return Err(format!("its event {index} has an unknown format")),
        };
        match SignedEvent::from_parts(header, signature, body) {
            Ok(event) => events.push(event),
            Err(error) => problems.push(error.to_string()),
        }
    }
    if input.position() == bytes.len() {
        Ok((events, problems))
    } else {
        Err("there are extra bytes after its events".to_owned())
    }
}

fn fixed<const N: usize>(bytes: &[u8]) -> Result<[u8; N], String> {
    bytes.try_into().map_err(|_| format!("{} bytes instead of {N}", bytes.len()))
}

/// Returns an upper bound of the bytes of an event in a frame.
pub(super) fn size(event: &SignedEvent) -> usize {
    event.size() + 32
}

/// Returns the error for a limit that is exceeded while writing.
pub(super) fn too_large(what: &str, bytes: usize) -> BundleError {
    BundleError::Limit(format!(
        "{what} would take {bytes} bytes; at most {MAX_CHUNK_BYTES} fit: export fewer scopes at once"
    ))
}
