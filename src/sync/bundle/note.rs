//! A note: a small signed file, such as the card of a device that asks to be admitted.
//!
//! `magic 8 | kind 1 | version 1 | length u32 | payload | device 32 | signature 64`, signed over `"ergo/note-sig/1" ‖
//! kind ‖ version ‖ blake3(payload)`.

use std::io::{self, Read};

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

use super::{
    error::BundleError,
    format::{FileKind, MAGIC, PREFIX, VERSION, file_kind},
};
use crate::domain::DeviceId;

/// The most bytes of a note's payload.
pub const MAX_NOTE: usize = 64 * 1024;

/// A note with a verified signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedNote {
    /// The device that signed the note.
    pub device: DeviceId,
    pub payload: Vec<u8>,
}

fn message(kind: FileKind, payload: &[u8]) -> Vec<u8> {
    [b"ergo/note-sig/1".as_slice(), &[kind.number(), VERSION], blake3::hash(payload).as_bytes()].concat()
}

/// Creates a signed card of at most [`MAX_NOTE`] bytes.
///
/// # Errors
/// [`BundleError::Limit`] if the payload is longer.
pub fn seal(payload: &[u8], key: &SigningKey) -> Result<Vec<u8>, BundleError> {
    if payload.len() > MAX_NOTE {
        return Err(BundleError::Limit(format!("a join request of {} bytes; at most {MAX_NOTE} fit", payload.len())));
    }
    let mut bytes = Vec::with_capacity(PREFIX + payload.len() + 96);
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&[FileKind::Card.number(), VERSION]);
    bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    bytes.extend_from_slice(payload);
    bytes.extend_from_slice(&key.verifying_key().to_bytes());
    bytes.extend_from_slice(&key.sign(&message(FileKind::Card, payload)).to_bytes());
    Ok(bytes)
}

/// Reads a card and verifies its signature.
///
/// # Errors
/// If the file is not a valid card.
pub fn open(mut bytes: &[u8]) -> Result<SignedNote, BundleError> {
    let kind = FileKind::Card;
    let payload = read_prefixed(&mut bytes, kind, VERSION, MAX_NOTE)?;
    let damaged = |what: &str| BundleError::Header { offset: (PREFIX + payload.len()) as u64, what: what.to_owned() };
    let (Some((device, signature)), 96) = (bytes.split_at_checked(32), bytes.len()) else {
        return Err(damaged("its signature is truncated, or there are extra bytes"));
    };
    let device = DeviceId::from_slice(device).ok_or_else(|| damaged("no device"))?;
    let signature = Signature::from_slice(signature).map_err(|_| damaged("no signature"))?;
    VerifyingKey::from_bytes(&device.0)
        .and_then(|key| key.verify_strict(&message(kind, &payload), &signature))
        .map_err(|_| BundleError::BadSignature(kind.name()))?;
    Ok(SignedNote { device, payload })
}

/// Reads the beginning of any ergo file: magic, kind, version, and then as many bytes as are declared.
pub(super) fn read_prefixed(
    input: &mut impl Read,
    kind: FileKind,
    version: u8,
    longest: usize,
) -> Result<Vec<u8>, BundleError> {
    let mut prefix = [0; PREFIX];
    let mut read = 0;
    while let Some(rest) = prefix.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match input.read(rest) {
            Ok(0) => break,
            Ok(length) => read += length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    if !prefix.starts_with(&MAGIC) {
        return Err(BundleError::NotErgo);
    }
    let damaged = |offset: usize, what: String| BundleError::Header { offset: offset as u64, what };
    if read < PREFIX {
        return Err(damaged(read, "the file ends here".to_owned()));
    }
    let [.., found, made, l0, l1, l2, l3] = prefix;
    match file_kind(&prefix) {
        Some(found) if found == kind => {}
        Some(found) => {
            return Err(BundleError::OtherKind { found: found.name(), expected: kind.name(), hint: found.hint() });
        }
        None => return Err(damaged(MAGIC.len(), format!("unknown kind of file {found}"))),
    }
    if made != version {
        return Err(BundleError::Newer(made));
    }
    let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    if length > longest {
        return Err(damaged(PREFIX, format!("it declares {length} bytes; at most {longest} are allowed")));
    }
    let mut bytes = Vec::new();
    input.by_ref().take(length as u64).read_to_end(&mut bytes)?;
    if bytes.len() < length {
        return Err(damaged(PREFIX + bytes.len(), "the file ends here".to_owned()));
    }
    Ok(bytes)
}
