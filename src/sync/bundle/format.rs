//! The parts of a bundle besides its events, with their encoding and hashes.

use std::fmt;

use minicbor::{Decode, Encode, bytes::ByteArray, bytes::ByteVec};

use crate::domain::{
    DeviceId, EventId, Scope,
    replica::{ChainEnd, SetDigest},
};

/// The first bytes of every ergo file. As in PNG, a byte above 127, a line ending and an end-of-file character show
/// whether a program converted the file as text.
pub(super) const MAGIC: [u8; 8] = *b"\x89ergo\r\n\x1a";

/// The version of the format.
pub(super) const VERSION: u8 = 1;

/// The most bytes of a header: about 200 for each recipient, and 40 more for each scope that it may read.
pub(super) const MAX_HEADER: usize = 4 * 1024 * 1024;

/// The most recipients of a bundle.
pub const MAX_RECIPIENTS: usize = 1_024;

/// The most sections of a bundle: the roster and the scopes.
pub const MAX_SECTIONS: usize = 4_096;

/// The bytes before the header: magic, kind, version, length.
pub(super) const PREFIX: usize = MAGIC.len() + 6;

/// The bytes before a frame's content.
pub(super) const FRAME_HEADER: usize = 13 + 32;

/// The kind of an ergo file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A bundle, a receipt or a grant.
    Bundle,
    /// The card (join request) of a device that asks to be admitted.
    Card,
}

impl FileKind {
    pub(super) fn number(self) -> u8 {
        match self {
            Self::Bundle => 1,
            Self::Card => 2,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Bundle => "bundle",
            Self::Card => "join request",
        }
    }

    pub(super) fn hint(self) -> &'static str {
        match self {
            Self::Bundle => ": `ergo sync import` imports it",
            Self::Card => ": an admin of the team admits the device with `ergo sync approve`",
        }
    }
}

/// Returns the kind of the file that begins with these bytes, or `None` if it is unknown.
pub fn file_kind(beginning: &[u8]) -> Option<FileKind> {
    let number = beginning.strip_prefix(&MAGIC)?.first()?;
    [FileKind::Bundle, FileKind::Card].into_iter().find(|kind| kind.number() == *number)
}

/// The id of a bundle: `blake3("ergo/bundle/1" ‖ header)`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BundleId(pub [u8; 32]);

impl BundleId {
    pub(super) fn of(header: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"ergo/bundle/1");
        hasher.update(header);
        Self(*hasher.finalize().as_bytes())
    }

    /// Returns the first ten hexadecimal digits, for people.
    pub fn short(self) -> String {
        EventId(self.0).short()
    }
}

impl fmt::Display for BundleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for BundleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BundleId({})", self.short())
    }
}

impl<C> Encode<C> for BundleId {
    fn encode<W: minicbor::encode::Write>(
        &self,
        e: &mut minicbor::Encoder<W>,
        cx: &mut C,
    ) -> Result<(), minicbor::encode::Error<W::Error>> {
        EventId(self.0).encode(e, cx)
    }
}

impl<'b, C> Decode<'b, C> for BundleId {
    fn decode(d: &mut minicbor::Decoder<'b>, cx: &mut C) -> Result<Self, minicbor::decode::Error> {
        EventId::decode(d, cx).map(|id| Self(id.0))
    }
}

/// The unencrypted header of a bundle. It holds no name of a person, a team or a scope.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct BundleHeader {
    /// 16 random bytes, which make every bundle unique.
    #[n(0)]
    pub nonce: ByteArray<16>,
    #[n(1)]
    pub team: EventId,
    /// The device that made the bundle and signs it at the end.
    #[n(2)]
    pub from: DeviceId,
    /// The time at which the bundle was made, in milliseconds since the Unix epoch, by the maker's clock.
    #[n(3)]
    pub created: u64,
    /// The number of sections, the roster included.
    #[n(4)]
    pub sections: u32,
    /// The section keys, sealed to each recipient; `None` if nothing is encrypted.
    #[n(5)]
    pub envelopes: Option<Vec<KeyEnvelope>>,
}

/// The section keys of one recipient.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct KeyEnvelope {
    #[n(0)]
    pub device: DeviceId,
    /// HPKE's encapsulated key.
    #[n(1)]
    pub encapsulated: ByteArray<32>,
    /// The encrypted keys: CBOR of `[(section, key)]`.
    #[n(2)]
    pub keys: ByteVec,
}

/// The description of a bundle, for those who can open it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct BundleManifest {
    #[n(0)]
    pub team_name: String,
    /// The maker's name in the team.
    #[n(1)]
    pub from_name: String,
    /// The `--since` of the export, for people: `all`, a date, or a peer.
    #[n(2)]
    pub since: String,
    /// The bundle that this one continues, if known.
    #[n(3)]
    pub previous: Option<BundleId>,
    /// The bundle whose arrival this one confirms.
    #[n(4)]
    pub answers: Option<BundleId>,
}

/// The head of a section.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct SectionHead {
    /// The scope under the team's name; in section 0, the scope of the roster.
    #[n(0)]
    pub scope: Scope,
    /// The number of the scope's events in this bundle.
    #[n(1)]
    pub events: u64,
    /// How far the maker's chains reach, including events that are not in this bundle.
    #[n(2)]
    pub ends: Vec<ChainEnd>,
    /// The digest of all events that the maker has of this scope.
    #[n(3)]
    pub digest: SetDigest,
}

/// The end of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub(super) struct BundleTrailer {
    /// The number of frames before it.
    #[n(0)]
    pub frames: u64,
    /// The number of events of all sections.
    #[n(1)]
    pub events: u64,
    /// The maker's ed25519 signature over `"ergo/bundle-sig/1" ‖ digest`; see [`Transcript`].
    #[n(2)]
    pub signature: ByteArray<64>,
}

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FrameKind {
    Manifest,
    Head,
    Events,
    Trailer,
}

impl FrameKind {
    const ALL: [Self; 4] = [Self::Manifest, Self::Head, Self::Events, Self::Trailer];

    pub(super) fn number(self) -> u8 {
        self as u8 + 1
    }

    fn of(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }
}

/// The head of a frame, without its check hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHead {
    pub kind: FrameKind,
    pub section: u32,
    /// Bytes in the file.
    pub stored: u32,
    /// Bytes once decrypted and decompressed.
    pub plain: u32,
}

impl FrameHead {
    pub(super) fn bytes(self) -> [u8; 13] {
        let mut bytes = [self.kind.number(); 13];
        let fields = [self.section, self.stored, self.plain].into_iter().flat_map(u32::to_le_bytes);
        for (to, from) in bytes.iter_mut().skip(1).zip(fields) {
            *to = from;
        }
        bytes
    }

    /// Reads what [`FrameHead::bytes`] writes; `None` for an unknown kind.
    pub(super) fn read(bytes: &[u8; 13]) -> Option<Self> {
        let [kind, a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3] = *bytes;
        Some(Self {
            kind: FrameKind::of(kind)?,
            section: u32::from_le_bytes([a0, a1, a2, a3]),
            stored: u32::from_le_bytes([b0, b1, b2, b3]),
            plain: u32::from_le_bytes([c0, c1, c2, c3]),
        })
    }

    /// Returns the associated data of a frame's encryption: the frame's position in this bundle.
    pub(super) fn context(self, bundle: BundleId, index: u64) -> Vec<u8> {
        [
            bundle.0.as_slice(),
            &index.to_le_bytes(),
            &[self.kind.number()],
            &self.section.to_le_bytes(),
            &self.plain.to_le_bytes(),
        ]
        .concat()
    }

    /// Returns the check hash of a frame: of its position in this bundle and all its bytes.
    pub(super) fn check(self, bundle: BundleId, index: u64, stored: &[u8]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"ergo/bundle-frame/1");
        hasher.update(&bundle.0);
        hasher.update(&index.to_le_bytes());
        hasher.update(&self.bytes());
        hasher.update(stored);
        *hasher.finalize().as_bytes()
    }
}

/// The running hash that the maker signs: of the header, and of the check hash of every frame.
pub(super) struct Transcript(blake3::Hasher);

impl Transcript {
    pub(super) fn new(bundle: BundleId) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"ergo/bundle-digest/1");
        hasher.update(&bundle.0);
        Self(hasher)
    }

    pub(super) fn add(&mut self, check: &[u8; 32]) {
        self.0.update(check);
    }

    /// Returns the message to sign.
    pub(super) fn message(&self, frames: u64, events: u64) -> Vec<u8> {
        let mut hasher = self.0.clone();
        hasher.update(&frames.to_le_bytes());
        hasher.update(&events.to_le_bytes());
        [b"ergo/bundle-sig/1".as_slice(), hasher.finalize().as_bytes()].concat()
    }
}
