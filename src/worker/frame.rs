//! The frames between the daemon and a worker process: a length in four little-endian bytes, then CBOR.

use std::io::{self, Read, Write};

use minicbor::{Decode, Encode};

/// The size of a frame's length.
const LENGTH_BYTES: usize = size_of::<u32>();

/// Writes a message as one frame and flushes.
///
/// # Errors
/// Those of [`encode`], or if the other end has closed the stream.
pub(crate) fn write(to: &mut impl Write, max_frame: usize, message: &impl Encode<()>) -> io::Result<()> {
    to.write_all(&encode(max_frame, message)?)?;
    to.flush()
}

/// Returns a message as one frame.
///
/// # Errors
/// If the message cannot be encoded, or is longer than `max_frame` bytes.
pub(crate) fn encode(max_frame: usize, message: &impl Encode<()>) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; LENGTH_BYTES];
    minicbor::encode(message, &mut frame)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
    let length = frame.len() - LENGTH_BYTES;
    if length > max_frame {
        let why = format!("a message of {length} bytes; at most {max_frame} are allowed");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    frame[..LENGTH_BYTES].copy_from_slice(&(length as u32).to_le_bytes());
    Ok(frame)
}

/// Reads one message, or returns `None` at the end of the stream.
///
/// # Errors
/// If the stream ends within a frame, the frame is longer than `max_frame` bytes, or its body is invalid.
pub(crate) fn read<T: for<'b> Decode<'b, ()>>(from: &mut impl Read, max_frame: usize) -> io::Result<Option<T>> {
    let mut length = [0; LENGTH_BYTES];
    if from.read(&mut length[..1])? == 0 {
        return Ok(None);
    }
    from.read_exact(&mut length[1..])?;
    let length = u64::from(u32::from_le_bytes(length));
    if length > max_frame as u64 {
        let why = format!("a frame of {length} bytes; at most {max_frame} are allowed");
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    // Memory grows with the bytes that arrive. Reserving the declared length would let the other end exhaust it.
    let mut body = Vec::new();
    if from.take(length).read_to_end(&mut body)? as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    minicbor::decode(&body).map(Some).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
}
