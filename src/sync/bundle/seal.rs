//! The encryption of sections, and the keys for recipients.
//!
//! A device has one ed25519 key pair. Its X25519 form is the standard birational map (RFC 7748, section 4.1),
//! as used by age and libsodium; Thormarker, "On using the same key pair for Ed25519 and an X25519 based KEM"
//! (2021), proves that the two uses do not weaken each other.

use std::convert::Infallible;

use chacha20poly1305::{
    ChaCha20Poly1305, KeyInit, Nonce,
    aead::{Aead, Payload},
};
use ed25519_dalek::{SigningKey, VerifyingKey};
use hpke::{Deserializable, OpModeR, OpModeS, Serializable, rand_core};
use minicbor::bytes::{ByteArray, ByteVec};

use super::{
    error::BundleError,
    format::{BundleId, FrameHead, KeyEnvelope},
};
use crate::domain::{DeviceId, EventId};

type Kem = hpke::kem::X25519HkdfSha256;
type PublicKey = <Kem as hpke::Kem>::PublicKey;
type PrivateKey = <Kem as hpke::Kem>::PrivateKey;

/// The bytes that encryption adds to a frame.
pub(super) const TAG_BYTES: usize = 16;

/// The key of a section.
pub(super) type SectionKey = [u8; 32];

/// A generator of random bytes, derived from a seed by BLAKE3, so that the maker of a bundle passes in randomness only
/// once.
pub(super) struct Randomness(blake3::OutputReader);

impl Randomness {
    pub(super) fn new(seed: [u8; 32]) -> Self {
        Self(blake3::Hasher::new_keyed(&seed).update(b"ergo/bundle-random/1").finalize_xof())
    }

    pub(super) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.fill(&mut bytes);
        bytes
    }
}

impl rand_core::TryRng for Randomness {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(u32::from_le_bytes(self.bytes()))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(u64::from_le_bytes(self.bytes()))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill(bytes);
        Ok(())
    }
}

impl rand_core::TryCryptoRng for Randomness {}

/// Returns the context to which an envelope is bound: this bundle of this maker, for this device.
fn info(nonce: &[u8; 16], team: EventId, from: DeviceId, to: DeviceId) -> Vec<u8> {
    [b"ergo/bundle-seal/1".as_slice(), nonce, &team.0, &from.0, &to.0].concat()
}

/// Seals the keys of some sections to a device.
pub(super) fn seal_keys(
    keys: &[(u32, SectionKey)],
    (nonce, team, from, to): (&[u8; 16], EventId, DeviceId, DeviceId),
    random: &mut Randomness,
) -> Result<KeyEnvelope, BundleError> {
    let point = VerifyingKey::from_bytes(&to.0).map_err(|_| BundleError::BadKey(to))?;
    let public = PublicKey::from_bytes(&point.to_montgomery().0).map_err(|_| BundleError::BadKey(to))?;
    let keys: Vec<(u32, ByteArray<32>)> = keys.iter().map(|(section, key)| (*section, ByteArray::from(*key))).collect();
    // Encoding into a vector cannot fail.
    let plain = minicbor::to_vec(&keys).unwrap_or_default();
    let info = info(nonce, team, from, to);
    let (encapsulated, sealed) = hpke::single_shot_seal_with_rng::<
        hpke::aead::ChaCha20Poly1305,
        hpke::kdf::HkdfSha256,
        Kem,
    >(&OpModeS::Base, &public, &info, &plain, &[], random)
    .map_err(|_| BundleError::BadKey(to))?;
    let mut bytes = [0; 32];
    encapsulated.write_exact(&mut bytes);
    Ok(KeyEnvelope { device: to, encapsulated: ByteArray::from(bytes), keys: ByteVec::from(sealed) })
}

/// Opens the envelope of the device with this key.
pub(super) fn open_keys(
    envelope: &KeyEnvelope,
    (nonce, team, from): (&[u8; 16], EventId, DeviceId),
    key: &SigningKey,
) -> Result<Vec<(u32, SectionKey)>, BundleError> {
    let bad = || BundleError::BadEnvelope(envelope.device);
    let private = PrivateKey::from_bytes(&key.to_scalar_bytes()).map_err(|_| bad())?;
    let encapsulated = <Kem as hpke::Kem>::EncappedKey::from_bytes(&*envelope.encapsulated).map_err(|_| bad())?;
    let info = info(nonce, team, from, envelope.device);
    let plain = hpke::single_shot_open::<hpke::aead::ChaCha20Poly1305, hpke::kdf::HkdfSha256, Kem>(
        &OpModeR::Base,
        &private,
        &encapsulated,
        &info,
        &envelope.keys,
        &[],
    )
    .map_err(|_| bad())?;
    let keys: Vec<(u32, ByteArray<32>)> = minicbor::decode(&plain).map_err(|_| bad())?;
    Ok(keys.into_iter().map(|(section, key)| (section, *key)).collect())
}

/// Returns the index of a frame as a nonce. It is unique within a bundle, and every bundle has its own keys.
fn nonce(index: u64) -> Nonce {
    let mut bytes = [0; 12];
    for (to, from) in bytes.iter_mut().zip(index.to_le_bytes()) {
        *to = from;
    }
    bytes.into()
}

/// Encrypts a frame's content.
pub(super) fn seal(key: &SectionKey, head: FrameHead, bundle: BundleId, index: u64, plain: &[u8]) -> Option<Vec<u8>> {
    let aad = head.context(bundle, index);
    ChaCha20Poly1305::new(&(*key).into()).encrypt(&nonce(index), Payload { msg: plain, aad: &aad }).ok()
}

/// Decrypts a frame's content; `None` if it was not encrypted with this key at this position.
pub(super) fn open(key: &SectionKey, head: FrameHead, bundle: BundleId, index: u64, sealed: &[u8]) -> Option<Vec<u8>> {
    let aad = head.context(bundle, index);
    ChaCha20Poly1305::new(&(*key).into()).decrypt(&nonce(index), Payload { msg: sealed, aad: &aad }).ok()
}

#[cfg(test)]
mod tests {
    use hpke::Kem as _;

    use super::*;

    #[test]
    fn both_halves_of_a_device_key_convert_to_one_x25519_pair() {
        for seed in 0..20 {
            let key = SigningKey::from_bytes(&[seed; 32]);
            let private = PrivateKey::from_bytes(&key.to_scalar_bytes()).unwrap();
            let public = PublicKey::from_bytes(&key.verifying_key().to_montgomery().0).unwrap();
            assert_eq!(Kem::sk_to_pk(&private), public);
        }
    }
}
