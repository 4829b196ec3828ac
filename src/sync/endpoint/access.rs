//! The access policy: decides at the handshake who may connect and whom this device dials, for every protocol.

use std::{
    collections::HashSet,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use iroh::{
    EndpointAddr, EndpointId,
    endpoint::{AfterHandshakeOutcome, BeforeConnectOutcome, Connection, EndpointHooks, Side},
};

use crate::sync::frame::{ALPN_PAIR, ALPN_SYNC};

/// The code with which a connection that is not allowed is closed, as in HTTP.
pub const FORBIDDEN: u32 = 403;

/// The reason sent with [`FORBIDDEN`].
pub(super) const NOT_PAIRED: &[u8] = b"not_paired";

/// The access policy, shared with the endpoint's hooks.
#[derive(Clone, Debug, Default)]
pub(super) struct AccessPolicy(Arc<PolicyState>);

#[derive(Debug, Default)]
struct PolicyState {
    /// Active members of this device's teams.
    members: RwLock<HashSet<EndpointId>>,
    /// Devices whose invitation this device is using: they may be dialled for pairing only.
    inviters: RwLock<HashSet<EndpointId>>,
    /// The number of open pairing windows.
    pairing_windows: AtomicUsize,
}

impl AccessPolicy {
    /// Replaces the members; open connections are not affected.
    pub(super) fn set_members(&self, members: HashSet<EndpointId>) {
        *self.0.members.write().unwrap_or_else(PoisonError::into_inner) = members;
    }

    /// Whether a pairing window is open.
    pub(super) fn is_open(&self) -> bool {
        self.0.pairing_windows.load(Ordering::Relaxed) > 0
    }

    /// Accepts pairing with devices outside the team until the guard is dropped.
    pub(super) fn open(&self) -> PairingGuard {
        self.0.pairing_windows.fetch_add(1, Ordering::Relaxed);
        PairingGuard(self.clone())
    }

    /// Allows this device to dial `inviter` for pairing.
    pub(super) fn allow_inviter(&self, inviter: EndpointId) {
        self.0.inviters.write().unwrap_or_else(PoisonError::into_inner).insert(inviter);
    }

    fn is_member(&self, id: EndpointId) -> bool {
        self.0.members.read().unwrap_or_else(PoisonError::into_inner).contains(&id)
    }

    fn invited_us(&self, id: EndpointId) -> bool {
        self.0.inviters.read().unwrap_or_else(PoisonError::into_inner).contains(&id)
    }

    /// Whether this device may dial `remote` for this protocol.
    fn may_call(&self, remote: EndpointId, alpn: &[u8]) -> bool {
        match alpn {
            ALPN_SYNC => self.is_member(remote),
            ALPN_PAIR => self.invited_us(remote) || self.is_member(remote),
            _ => false,
        }
    }

    /// Whether this device accepts `remote` for this protocol.
    fn may_accept(&self, remote: EndpointId, alpn: &[u8]) -> bool {
        match alpn {
            ALPN_SYNC => self.is_member(remote),
            ALPN_PAIR => self.is_open(),
            _ => false,
        }
    }
}

/// Pairing is open while this exists.
#[derive(Debug)]
pub(super) struct PairingGuard(AccessPolicy);

impl Drop for PairingGuard {
    fn drop(&mut self) {
        self.0.0.pairing_windows.fetch_sub(1, Ordering::Relaxed);
    }
}

impl EndpointHooks for AccessPolicy {
    async fn before_connect<'a>(&'a self, remote: &'a EndpointAddr, alpn: &'a [u8]) -> BeforeConnectOutcome {
        if self.may_call(remote.id, alpn) { BeforeConnectOutcome::Accept } else { BeforeConnectOutcome::Reject }
    }

    async fn after_handshake<'a>(&'a self, connection: &'a Connection) -> AfterHandshakeOutcome {
        let (remote, alpn) = (connection.remote_id(), connection.alpn());
        let may = match connection.side() {
            Side::Client => self.may_call(remote, alpn),
            Side::Server => self.may_accept(remote, alpn),
        };
        if may {
            return AfterHandshakeOutcome::Accept;
        }
        tracing::info!(peer = %remote.fmt_short(), protocol = %String::from_utf8_lossy(alpn), "rejected a device that is not a member");
        AfterHandshakeOutcome::Reject { error_code: FORBIDDEN.into(), reason: NOT_PAIRED.to_vec() }
    }
}

#[cfg(test)]
mod tests {
    use iroh::SecretKey;

    use super::*;

    #[test]
    fn non_members_may_pair_while_a_window_is_open() {
        let access = AccessPolicy::default();
        let [member, stranger, inviter] = [1, 2, 3].map(|n| SecretKey::from_bytes(&[n; 32]).public());
        access.set_members([member].into());
        access.allow_inviter(inviter);
        assert!(access.may_accept(member, ALPN_SYNC) && access.may_call(member, ALPN_SYNC));
        assert!(!access.may_accept(stranger, ALPN_SYNC) && !access.may_call(stranger, ALPN_SYNC));
        assert!(!access.may_accept(stranger, ALPN_PAIR) && !access.may_accept(member, ALPN_PAIR));
        assert!(access.may_call(inviter, ALPN_PAIR) && !access.may_call(inviter, ALPN_SYNC));
        assert!(!access.may_call(stranger, ALPN_PAIR));
        let (one, two) = (access.open(), access.open());
        drop(one);
        assert!(access.may_accept(stranger, ALPN_PAIR) && !access.may_accept(stranger, ALPN_SYNC));
        assert!(!access.may_accept(member, b"ergo/other/1"), "no protocol is open by default");
        drop(two);
        assert!(!access.may_accept(stranger, ALPN_PAIR));
    }
}
