//! Who may connect, and whom we call: decided at the handshake, for every protocol.

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

/// The code with which a connection is closed that we do not want, as in HTTP.
pub const FORBIDDEN: u32 = 403;

/// The words beside [`FORBIDDEN`].
pub(super) const NOT_PAIRED: &[u8] = b"not_paired";

/// The rules, shared with the endpoint's hooks.
#[derive(Clone, Debug, Default)]
pub(super) struct Gatekeeper(Arc<Rules>);

#[derive(Debug, Default)]
struct Rules {
    /// Active members of our teams.
    members: RwLock<HashSet<EndpointId>>,
    /// Devices that we are about to join: they are called for pairing, and for nothing else.
    inviters: RwLock<HashSet<EndpointId>>,
    /// How many windows for strangers are open.
    windows: AtomicUsize,
}

impl Gatekeeper {
    /// From now on these are the members; open connections are not touched.
    pub(super) fn set_members(&self, members: HashSet<EndpointId>) {
        *self.0.members.write().unwrap_or_else(PoisonError::into_inner) = members;
    }

    /// Whether any window for strangers is open.
    pub(super) fn is_open(&self) -> bool {
        self.0.windows.load(Ordering::Relaxed) > 0
    }

    /// Opens a window for strangers, until what is returned is dropped.
    pub(super) fn open(&self) -> OpenDoor {
        self.0.windows.fetch_add(1, Ordering::Relaxed);
        OpenDoor(self.clone())
    }

    /// Lets this device be called for pairing.
    pub(super) fn expect(&self, inviter: EndpointId) {
        self.0.inviters.write().unwrap_or_else(PoisonError::into_inner).insert(inviter);
    }

    fn is_member(&self, id: EndpointId) -> bool {
        self.0.members.read().unwrap_or_else(PoisonError::into_inner).contains(&id)
    }

    fn invited_us(&self, id: EndpointId) -> bool {
        self.0.inviters.read().unwrap_or_else(PoisonError::into_inner).contains(&id)
    }

    /// Whether we call `remote` for this protocol.
    fn may_call(&self, remote: EndpointId, alpn: &[u8]) -> bool {
        match alpn {
            ALPN_SYNC => self.is_member(remote),
            ALPN_PAIR => self.invited_us(remote) || self.is_member(remote),
            _ => false,
        }
    }

    /// Whether `remote` may call us for this protocol.
    fn may_enter(&self, remote: EndpointId, alpn: &[u8]) -> bool {
        match alpn {
            ALPN_SYNC => self.is_member(remote),
            ALPN_PAIR => self.is_open(),
            _ => false,
        }
    }
}

/// A window for strangers.
#[derive(Debug)]
pub(super) struct OpenDoor(Gatekeeper);

impl Drop for OpenDoor {
    fn drop(&mut self) {
        self.0.0.windows.fetch_sub(1, Ordering::Relaxed);
    }
}

impl EndpointHooks for Gatekeeper {
    async fn before_connect<'a>(&'a self, remote: &'a EndpointAddr, alpn: &'a [u8]) -> BeforeConnectOutcome {
        if self.may_call(remote.id, alpn) { BeforeConnectOutcome::Accept } else { BeforeConnectOutcome::Reject }
    }

    async fn after_handshake<'a>(&'a self, connection: &'a Connection) -> AfterHandshakeOutcome {
        let (remote, alpn) = (connection.remote_id(), connection.alpn());
        let may = match connection.side() {
            Side::Client => self.may_call(remote, alpn),
            Side::Server => self.may_enter(remote, alpn),
        };
        if may {
            return AfterHandshakeOutcome::Accept;
        }
        tracing::info!(peer = %remote.fmt_short(), protocol = %String::from_utf8_lossy(alpn), "a stranger was refused");
        AfterHandshakeOutcome::Reject { error_code: FORBIDDEN.into(), reason: NOT_PAIRED.to_vec() }
    }
}

#[cfg(test)]
mod tests {
    use iroh::SecretKey;

    use super::*;

    #[test]
    fn strangers_pair_while_a_window_is_open_and_do_nothing_else() {
        let gate = Gatekeeper::default();
        let [member, stranger, inviter] = [1, 2, 3].map(|n| SecretKey::from_bytes(&[n; 32]).public());
        gate.set_members([member].into());
        gate.expect(inviter);
        assert!(gate.may_enter(member, ALPN_SYNC) && gate.may_call(member, ALPN_SYNC));
        assert!(!gate.may_enter(stranger, ALPN_SYNC) && !gate.may_call(stranger, ALPN_SYNC));
        assert!(!gate.may_enter(stranger, ALPN_PAIR) && !gate.may_enter(member, ALPN_PAIR));
        assert!(gate.may_call(inviter, ALPN_PAIR) && !gate.may_call(inviter, ALPN_SYNC));
        assert!(!gate.may_call(stranger, ALPN_PAIR));
        let (one, two) = (gate.open(), gate.open());
        drop(one);
        assert!(gate.may_enter(stranger, ALPN_PAIR) && !gate.may_enter(stranger, ALPN_SYNC));
        assert!(!gate.may_enter(member, b"ergo/other/1"), "no protocol is open by default");
        drop(two);
        assert!(!gate.may_enter(stranger, ALPN_PAIR));
    }
}
