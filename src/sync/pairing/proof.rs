//! The proofs that both sides know the ticket's secret, and that no man in the middle is between them.
//!
//! The scheme is that of SCRAM (RFC 5802) with BLAKE3: the inviter stores a hash that verifies the joiner's proof but
//! cannot create one.
//!
//! Architecture Invariant: both proofs and the verification code depend on keying material that TLS exports. A man in
//! the middle has two connections with different material, so he can forward neither proof.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::{
    domain::DeviceId,
    sync::{ticket::InviteSecret, verification},
};

/// The label under which TLS exports keying material for pairing (RFC 8446, 7.5).
pub const EXPORT_LABEL: &[u8] = b"EXPORTER-ergo-pair-1";

/// The hash of an invitation's secret, which the inviter stores. The secret cannot be derived from it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SecretHash(pub [u8; 32]);

/// The properties of a connection that both sides see (channel binding, RFC 5056).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelBinding {
    /// 32 bytes that TLS exports under [`EXPORT_LABEL`].
    pub exporter: [u8; 32],
    /// The inviting device, by its certificate.
    pub inviter: DeviceId,
    /// The joining device, by its certificate.
    pub joiner: DeviceId,
}

impl SecretHash {
    pub fn of(secret: &InviteSecret) -> Self {
        Self(*blake3::hash(&joiner_key(secret)).as_bytes())
    }

    /// Returns the public id of the invitation: 8 bytes that reveal nothing about the hash.
    pub fn invite_id(&self) -> [u8; 8] {
        let mut name = [0; 8];
        name.iter_mut().zip(blake3::derive_key("ergo/pair/1 name", &self.0)).for_each(|(to, from)| *to = from);
        name
    }
}

impl ChannelBinding {
    /// Returns the joiner's proof that it knows the secret.
    pub fn joiner_proof(&self, secret: &InviteSecret) -> [u8; 32] {
        xor(joiner_key(secret), self.mac(&SecretHash::of(secret), "joiner"))
    }

    /// Verifies a joiner's proof for this secret and connection.
    pub fn verify_joiner(&self, secret_hash: &SecretHash, proof: [u8; 32]) -> bool {
        // `blake3::Hash` compares in constant time.
        blake3::hash(&xor(proof, self.mac(secret_hash, "joiner"))) == blake3::Hash::from_bytes(secret_hash.0)
    }

    /// Returns the inviter's proof that it made the invitation.
    pub fn inviter_proof(&self, secret_hash: &SecretHash) -> [u8; 32] {
        self.mac(secret_hash, "inviter")
    }

    /// Verifies an inviter's proof for this secret and connection.
    pub fn verify_inviter(&self, secret: &InviteSecret, proof: [u8; 32]) -> bool {
        blake3::Hash::from_bytes(self.mac(&SecretHash::of(secret), "inviter")) == blake3::Hash::from_bytes(proof)
    }

    /// Returns the words that both screens show.
    pub fn verification_code(&self) -> [&'static str; verification::CODE_WORDS] {
        verification::verification_code("pair", &self.transcript("words"))
    }

    fn mac(&self, secret_hash: &SecretHash, role: &str) -> [u8; 32] {
        *blake3::keyed_hash(&secret_hash.0, &self.transcript(role)).as_bytes()
    }

    /// Joins the parts that the proofs depend on. All parts but the last have a fixed length, so the result is
    /// unambiguous.
    fn transcript(&self, role: &str) -> Vec<u8> {
        [&b"ergo/pair/1"[..], &self.exporter, &self.inviter.0, &self.joiner.0, role.as_bytes()].concat()
    }
}

fn joiner_key(secret: &InviteSecret) -> [u8; 32] {
    blake3::derive_key("ergo/pair/1 joiner", &secret.0)
}

fn xor(mut a: [u8; 32], b: [u8; 32]) -> [u8; 32] {
    a.iter_mut().zip(b).for_each(|(a, b)| *a ^= b);
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    const BINDING: ChannelBinding =
        ChannelBinding { exporter: [1; 32], inviter: DeviceId([2; 32]), joiner: DeviceId([3; 32]) };
    const SECRET: InviteSecret = InviteSecret([4; 16]);

    #[test]
    fn a_proof_is_valid_only_for_its_secret_connection_and_side() {
        let secret_hash = SecretHash::of(&SECRET);
        let (joiner, inviter) = (BINDING.joiner_proof(&SECRET), BINDING.inviter_proof(&secret_hash));
        assert!(BINDING.verify_joiner(&secret_hash, joiner) && BINDING.verify_inviter(&SECRET, inviter));
        assert!(
            !BINDING.verify_joiner(&secret_hash, inviter) && !BINDING.verify_inviter(&SECRET, joiner),
            "one side's is not the other's"
        );
        let other = InviteSecret([5; 16]);
        assert!(!BINDING.verify_joiner(&SecretHash::of(&other), joiner) && !BINDING.verify_inviter(&other, inviter));
        let elsewhere = [
            ChannelBinding { exporter: [9; 32], ..BINDING },
            ChannelBinding { inviter: DeviceId([9; 32]), ..BINDING },
            ChannelBinding { joiner: DeviceId([9; 32]), ..BINDING },
        ];
        for binding in elsewhere {
            assert!(
                !binding.verify_joiner(&secret_hash, joiner) && !binding.verify_inviter(&SECRET, inviter),
                "{binding:?}"
            );
            assert_ne!(binding.verification_code(), BINDING.verification_code());
        }
    }

    #[test]
    fn what_is_kept_proves_nothing() {
        let secret_hash = SecretHash::of(&SECRET);
        // The best attack with a stolen hash: use it as the key.
        let forged = xor(secret_hash.0, BINDING.mac(&secret_hash, "joiner"));
        assert!(!BINDING.verify_joiner(&secret_hash, forged));
        assert_ne!(secret_hash.invite_id()[..], secret_hash.0[..8]);
    }
}
