//! Messages between the daemon and a worker: a length (four bytes, little endian) and CBOR.

use std::io::{self, Read, Write};

use minicbor::{Decode, Encode};

/// Writes a message as one frame and flushes.
///
/// # Errors
/// Where the other end is gone, or the message is longer than `longest` bytes.
pub(crate) fn write(to: &mut impl Write, longest: usize, message: &impl Encode<()>) -> io::Result<()> {
    let body =
        minicbor::to_vec(message).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
    if body.len() > longest {
        let why = format!("a message of {} bytes; at most {longest} are allowed", body.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    to.write_all(&(body.len() as u32).to_le_bytes())?;
    to.write_all(&body)?;
    to.flush()
}

/// Reads one message; `None` at the end of the stream.
///
/// # Errors
/// Where the stream ends in the middle of a frame, the frame is longer than `longest` bytes, or it is no message.
pub(crate) fn read<T: for<'b> Decode<'b, ()>>(from: &mut impl Read, longest: usize) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    if from.read(&mut length[..1])? == 0 {
        return Ok(None);
    }
    from.read_exact(&mut length[1..])?;
    let length = u64::from(u32::from_le_bytes(length));
    if length > longest as u64 {
        let why = format!("a frame of {length} bytes; at most {longest} are allowed");
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    // Grows with what really comes: a length alone reserves nothing.
    let mut body = Vec::new();
    if from.take(length).read_to_end(&mut body)? as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    minicbor::decode(&body).map(Some).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
}
