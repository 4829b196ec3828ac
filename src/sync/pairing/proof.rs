//! What proves that both sides have the ticket, and that nobody stands between them.
//!
//! The shape is SCRAM's (RFC 5802) with BLAKE3: the inviter keeps a hash by which it can check the joiner's proof, but from which none can
//! be made. Both proofs, and the words, hang on keying material that TLS exports: whoever stands between has two connections, with two
//! different materials, and can pass on neither proof nor words.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::{
    domain::DeviceId,
    sync::{ticket::Secret, words},
};

/// The label under which TLS exports keying material for pairing (RFC 8446, 7.5).
pub const EXPORT_LABEL: &[u8] = b"EXPORTER-ergo-pair-1";

/// The hash by which an invite is known to the device that made it. The secret cannot be had from it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Kept(pub [u8; 32]);

/// One connection, as both sides see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// 32 bytes that TLS exports under [`EXPORT_LABEL`].
    pub exporter: [u8; 32],
    /// The device that invited, as its certificate says.
    pub inviter: DeviceId,
    /// The device that wants to come in, as its certificate says.
    pub joiner: DeviceId,
}

impl Kept {
    /// The hash of a secret.
    pub fn of(secret: &Secret) -> Self {
        Self(*blake3::hash(&joiner_key(secret)).as_bytes())
    }

    /// The invite's name, told in clear: 8 bytes that say nothing about the hash.
    pub fn name(&self) -> [u8; 8] {
        let mut name = [0; 8];
        name.iter_mut().zip(blake3::derive_key("ergo/pair/1 name", &self.0)).for_each(|(to, from)| *to = from);
        name
    }
}

impl Binding {
    /// What the joiner sends to show that it has the secret.
    pub fn joiner_proof(&self, secret: &Secret) -> [u8; 32] {
        xor(joiner_key(secret), self.mac(&Kept::of(secret), "joiner"))
    }

    /// Whether a joiner's proof is that of the secret with this hash, over this connection.
    pub fn admits(&self, kept: &Kept, proof: [u8; 32]) -> bool {
        // Hashes compare in constant time.
        blake3::hash(&xor(proof, self.mac(kept, "joiner"))) == blake3::Hash::from_bytes(kept.0)
    }

    /// What the inviter sends to show that it made the invite.
    pub fn inviter_proof(&self, kept: &Kept) -> [u8; 32] {
        self.mac(kept, "inviter")
    }

    /// Whether an inviter's proof is that of the device that made the invite, over this connection.
    pub fn trusts(&self, secret: &Secret, proof: [u8; 32]) -> bool {
        blake3::Hash::from_bytes(self.mac(&Kept::of(secret), "inviter")) == blake3::Hash::from_bytes(proof)
    }

    /// The words that both screens show.
    pub fn words(&self) -> [&'static str; words::WORDS] {
        words::words("pair", &self.transcript("words"))
    }

    fn mac(&self, kept: &Kept, role: &str) -> [u8; 32] {
        *blake3::keyed_hash(&kept.0, &self.transcript(role)).as_bytes()
    }

    /// Every part has its fixed length, but the last.
    fn transcript(&self, role: &str) -> Vec<u8> {
        [&b"ergo/pair/1"[..], &self.exporter, &self.inviter.0, &self.joiner.0, role.as_bytes()].concat()
    }
}

fn joiner_key(secret: &Secret) -> [u8; 32] {
    blake3::derive_key("ergo/pair/1 joiner", &secret.0)
}

fn xor(mut a: [u8; 32], b: [u8; 32]) -> [u8; 32] {
    a.iter_mut().zip(b).for_each(|(a, b)| *a ^= b);
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    const BINDING: Binding = Binding { exporter: [1; 32], inviter: DeviceId([2; 32]), joiner: DeviceId([3; 32]) };
    const SECRET: Secret = Secret([4; 16]);

    #[test]
    fn a_proof_holds_for_its_secret_its_connection_and_its_side_alone() {
        let kept = Kept::of(&SECRET);
        let (joiner, inviter) = (BINDING.joiner_proof(&SECRET), BINDING.inviter_proof(&kept));
        assert!(BINDING.admits(&kept, joiner) && BINDING.trusts(&SECRET, inviter));
        assert!(!BINDING.admits(&kept, inviter) && !BINDING.trusts(&SECRET, joiner), "one side's is not the other's");
        let other = Secret([5; 16]);
        assert!(!BINDING.admits(&Kept::of(&other), joiner) && !BINDING.trusts(&other, inviter));
        let elsewhere = [
            Binding { exporter: [9; 32], ..BINDING },
            Binding { inviter: DeviceId([9; 32]), ..BINDING },
            Binding { joiner: DeviceId([9; 32]), ..BINDING },
        ];
        for binding in elsewhere {
            assert!(!binding.admits(&kept, joiner) && !binding.trusts(&SECRET, inviter), "{binding:?}");
            assert_ne!(binding.words(), BINDING.words());
        }
    }

    #[test]
    fn what_is_kept_proves_nothing() {
        let kept = Kept::of(&SECRET);
        // The best that one can do who has stolen the hash: pretend that it is the key.
        let forged = xor(kept.0, BINDING.mac(&kept, "joiner"));
        assert!(!BINDING.admits(&kept, forged));
        assert_ne!(kept.name()[..], kept.0[..8]);
    }
}
