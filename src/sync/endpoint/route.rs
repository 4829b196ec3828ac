//! The route to a peer: the kind of path, the round-trip time, and the bytes carried.

use std::{fmt, net::IpAddr, time::Duration};

/// The kind of path to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathKind {
    /// To an address of this machine or its networks, VPNs included.
    Lan,
    /// To a public address, without a relay.
    Direct,
    Relay,
}

impl PathKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lan => "lan",
            Self::Direct => "direct",
            Self::Relay => "relay",
        }
    }
}

impl fmt::Display for PathKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    pub path: PathKind,
    pub rtt: Duration,
}

/// The bytes of a connection's UDP packets, without their headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    pub sent: u64,
    pub received: u64,
}

/// Whether an address is in this machine or its networks: loopback, private (RFC 1918, RFC 4193), link-local,
/// or in the shared range that VPNs use (RFC 6598).
pub fn is_local(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(ip) => {
            let [a, b, ..] = ip.octets();
            ip.is_loopback() || ip.is_private() || ip.is_link_local() || (a == 100 && b & 0xc0 == 64)
        }
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_local_or_not() {
        for here in ["127.0.0.1", "10.1.2.3", "172.31.0.1", "192.168.7.7", "169.254.1.1", "100.64.0.1", "100.127.255.1"]
        {
            assert!(is_local(here.parse().unwrap()), "{here}");
        }
        for here in ["::1", "fd00::1", "fe80::1", "::ffff:192.168.1.1"] {
            assert!(is_local(here.parse().unwrap()), "{here}");
        }
        for remote in
            ["8.8.8.8", "172.32.0.1", "100.128.0.1", "100.63.0.1", "2001:4860::1", "::ffff:8.8.8.8", "224.0.0.251"]
        {
            assert!(!is_local(remote.parse().unwrap()), "{remote}");
        }
    }
}
