//! What can be wrong with a file, each with what to do next.

use crate::domain::{DeviceId, EventId};

/// Why a file cannot be read at all, or not be made.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// Other bytes than ergo's.
    #[error("this is no file of ergo: its first bytes are others; `ergo sync export` makes bundles")]
    NotErgo,
    /// One of ergo's files, but not the kind that was asked for.
    #[error("this is a {found}, and a {expected} was expected{hint}")]
    OtherKind {
        /// What it is.
        found: &'static str,
        /// What was asked for.
        expected: &'static str,
        /// What to do with it, with a separator before it.
        hint: &'static str,
    },
    /// Made by a later program.
    #[error(
        "the file has format version {0}, and this ergo reads version 1: import it with the newer ergo that made it"
    )]
    Newer(u8),
    /// Its beginning is cut off or changed.
    #[error("the file's header is damaged at byte {offset} ({what}): copy the file again from where it was made")]
    Header {
        /// How far it was read.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
    /// Sealed, and this device has none of the keys.
    #[error("the bundle is sealed for {}, not for this device ({}): ask its maker for `ergo sync export --to` this device",
        names(.sealed_to), .device.short())]
    NotForUs {
        /// Whom it is sealed to.
        sealed_to: Vec<DeviceId>,
        /// This device.
        device: DeviceId,
    },
    /// It says it is sealed to this device, and its key does not open it.
    #[error("what the bundle holds for this device ({}) does not open with its key: it was damaged or forged", .0.short())]
    BadEnvelope(DeviceId),
    /// A note's signature is wrong.
    #[error("the signature of the {0} does not verify: it was damaged or forged; ask for it again")]
    BadSignature(&'static str),
    /// A device's key is no point of the curve.
    #[error("the key of device {} cannot be sealed to", .0.short())]
    BadKey(DeviceId),
    /// More than a bundle can hold.
    #[error("{0}")]
    Limit(String),
    /// An event was given for a section that does not exist, or is already behind.
    #[error("event {0} was given out of order")]
    Order(EventId),
    /// The system refused.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// The short names of some devices, three at most.
fn names(devices: &[DeviceId]) -> String {
    let first = devices.iter().take(3).map(|device| device.short()).collect::<Vec<_>>().join(", ");
    match devices.len() {
        0 => "nobody".to_owned(),
        count if count > 3 => format!("{first} and {} more", count - 3),
        _ => first,
    }
}

/// A part of a file that cannot be used; what stands before and after it was used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}, frame {frame}: {what}")]
pub struct Damage {
    /// Where the frame begins, in bytes from the beginning of the file.
    pub offset: u64,
    /// Which frame it is, from 0.
    pub frame: u64,
    /// What is wrong with it.
    pub what: String,
}
