//! Events whose signature was checked. A store accepts no others.

use std::ops::Deref;

use ed25519_dalek::SigningKey;

use super::event::{EventError, Header, SealedBody, SignedEvent};

/// An event whose signature is valid, and whose body, if present, matches its header.
///
/// Only [`SignedEvent::verified`] and [`OwnEvent::verified`] create it. So a function that takes this type cannot be given an
/// unchecked event of a peer.
#[derive(Clone, Copy, Debug)]
pub struct Verified<'a>(&'a SignedEvent);

impl<'a> Verified<'a> {
    /// Returns the event.
    pub fn event(self) -> &'a SignedEvent {
        self.0
    }
}

impl Deref for Verified<'_> {
    type Target = SignedEvent;

    fn deref(&self) -> &SignedEvent {
        self.0
    }
}

impl SignedEvent {
    /// Checks the event as [`SignedEvent::verify`] does.
    pub fn verified(&self) -> Result<Verified<'_>, EventError> {
        self.verify().map(|()| Verified(self))
    }
}

/// An event that this process signed itself, so that it needs no check.
#[derive(Clone, Debug)]
pub struct OwnEvent(SignedEvent);

impl OwnEvent {
    /// Signs a header and its body, as [`SignedEvent::sign`] does.
    pub fn sign(mut header: Header, body: SealedBody, key: &SigningKey) -> Result<Self, EventError> {
        // A signature by another key than the header names would not verify.
        header.author = super::DeviceId(key.verifying_key().to_bytes());
        SignedEvent::sign(header, body, key).map(Self)
    }

    /// Returns the event as a verified one, without a check.
    pub fn verified(&self) -> Verified<'_> {
        Verified(&self.0)
    }
}

impl Deref for OwnEvent {
    type Target = SignedEvent;

    fn deref(&self) -> &SignedEvent {
        &self.0
    }
}
