//! Events whose signature was checked: the only ones that a store accepts.

use std::ops::Deref;

use ed25519_dalek::SigningKey;

use super::event::{EventError, Header, SealedBody, SignedEvent};

/// An event whose signature and, if present, body match its header.
///
/// Made by [`SignedEvent::verified`], and of events that this process signed, by nothing else: what takes this type cannot be
/// given an event of a peer that nobody checked.
#[derive(Clone, Copy, Debug)]
pub struct Verified<'a>(&'a SignedEvent);

impl<'a> Verified<'a> {
    /// The event.
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
    /// Checks the event as [`SignedEvent::verify`] does, and gives it as one that was checked.
    pub fn verified(&self) -> Result<Verified<'_>, EventError> {
        self.verify().map(|()| Verified(self))
    }
}

/// An event that this process signed itself: nobody has to check it.
#[derive(Clone, Debug)]
pub struct OwnEvent(SignedEvent);

impl OwnEvent {
    /// Signs a header and its body, as [`SignedEvent::sign`] does.
    pub fn sign(mut header: Header, body: SealedBody, key: &SigningKey) -> Result<Self, EventError> {
        // A signature by another key than the header names would not verify.
        header.author = super::DeviceId(key.verifying_key().to_bytes());
        SignedEvent::sign(header, body, key).map(Self)
    }

    /// The event as one that was checked.
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
