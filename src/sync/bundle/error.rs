//! The errors of ergo's files. Each message says what to do.

use crate::domain::{DeviceId, EventId};

/// The reason why a file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The file does not begin with ergo's magic bytes.
    #[error(
        "this is not an ergo file: `ergo sync export` creates bundles, `ergo sync request` creates requests to join"
    )]
    NotErgo,
    /// The file is of another kind than expected.
    #[error("this is a {found}, but a {expected} is expected{hint}")]
    OtherKind {
        found: &'static str,
        expected: &'static str,
        /// What to do with the file, beginning with a separator.
        hint: &'static str,
    },
    /// The file was made by a later version.
    #[error(
        "the file has format version {0}, and this ergo reads version 1: import it with the newer ergo that made it"
    )]
    Newer(u8),
    /// The file's header is truncated or damaged.
    #[error("the file's header is damaged at byte {offset} ({what}): copy the file again from its origin")]
    Header {
        /// The offset at which reading stopped.
        offset: u64,
        /// What is wrong.
        what: String,
    },
    /// The bundle is sealed to other devices.
    #[error("the file is encrypted for {}, not for this device ({}): import a receipt on the device that asked for it; ask the sender \
        of a bundle to export it with `ergo sync export --to` and this device's name",
        names(.sealed_to), .device.short())]
    NotARecipient { sealed_to: Vec<DeviceId>, device: DeviceId, team: EventId },
    /// The bundle names this device as a recipient, but the device's key does not open the envelope.
    #[error("the part encrypted for this device ({}) cannot be decrypted with its key: the bundle was damaged or \
        forged", .0.short())]
    BadEnvelope(DeviceId),
    /// The signature of a note is invalid.
    #[error("the signature of the {0} is invalid: it was damaged or forged; ask for it again")]
    BadSignature(&'static str),
    /// A device's key is not a valid point of the curve.
    #[error("device {} has an invalid key: nothing can be encrypted for it", .0.short())]
    BadKey(DeviceId),
    /// A limit is exceeded.
    #[error("{0}")]
    Limit(String),
    /// An event was added to a section that does not exist or is already written.
    #[error("event {0} was added out of order")]
    Order(EventId),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Returns the short ids of at most three devices.
fn names(devices: &[DeviceId]) -> String {
    let first = devices.iter().take(3).map(|device| device.short()).collect::<Vec<_>>().join(", ");
    match devices.len() {
        0 => "nobody".to_owned(),
        count if count > 3 => format!("{first} and {} more", count - 3),
        _ => first,
    }
}

/// A damaged part of a file. The parts before and after it are used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}, part {frame}: {what}")]
pub struct BundleDamage {
    /// The offset of the frame in the file, in bytes.
    pub offset: u64,
    /// The index of the frame, from 0.
    pub frame: u64,
    /// What is wrong.
    pub what: String,
}
