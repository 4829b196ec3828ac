//! The address of a daemon, and which addresses may be used without encryption.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
};

use http::uri::Authority;

/// The default port of an `https` address.
const HTTPS_PORT: u16 = 443;

/// The address of a daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DaemonAddress {
    /// A Unix socket.
    Unix(PathBuf),
    /// TCP without encryption: host and port. Only addresses of this machine are ever connected to.
    Tcp(String),
    /// TCP with TLS: host, and a port unless it is 443.
    Tls(String),
}

impl DaemonAddress {
    /// Parses `https://host`, `http://host:port` or `unix:/path`.
    ///
    /// # Errors
    /// A sentence that says what is expected, or why this address is rejected and what to use instead.
    pub fn parse(url: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "invalid daemon address “{url}”: expected http://127.0.0.1:8788, https://memory.example.com or unix:/path"
            )
        };
        if let Some(path) = url.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return if path.starts_with('/') { Ok(Self::Unix(path.into())) } else { Err(expected()) };
        }
        let (text, encrypted) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
            (Some(text), _) => (text, true),
            (None, Some(text)) => (text, false),
            (None, None) => return Err(expected()),
        };
        let text = text.strip_suffix('/').unwrap_or(text);
        let authority: Authority = text.parse().map_err(|_| expected())?;
        // A colon without a number is not a port, and `Authority` accepts it.
        if text.contains(['@', '/']) || text.ends_with(':') || authority.host().is_empty() {
            return Err(expected());
        }
        match authority.port_u16() {
            // What follows the host is not a number, or too large for a port.
            None if authority.host().len() < text.len() => Err(expected()),
            _ if encrypted => Ok(Self::Tls(text.to_owned())),
            None => Err(expected()),
            Some(_) if loopback(text).is_empty() => Err(format!(
                "“{url}” is on another machine, and plain HTTP would send the token and every claim unencrypted: use \
                 https://, or forward a port of this machine with `ssh -L 8789:127.0.0.1:8788 {}` and name \
                 http://127.0.0.1:8789",
                authority.host()
            )),
            Some(_) => Ok(Self::Tcp(text.to_owned())),
        }
    }
}

impl fmt::Display for DaemonAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(authority) => write!(f, "http://{authority}"),
            Self::Tls(authority) => write!(f, "https://{authority}"),
        }
    }
}

/// Returns the loopback addresses of `host:port`; none for a host that is not certainly this machine.
///
/// No name is looked up: `localhost` means the loopback addresses, whatever a resolver says.
pub(super) fn loopback(authority: &str) -> Vec<SocketAddr> {
    let Ok(authority) = authority.parse::<Authority>() else { return Vec::new() };
    let (host, Some(port)) = (bare(authority.host()), authority.port_u16()) else { return Vec::new() };
    let hosts = if host.eq_ignore_ascii_case("localhost") {
        vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)]
    } else {
        host.parse::<IpAddr>().ok().filter(IpAddr::is_loopback).into_iter().collect()
    };
    hosts.into_iter().map(|host| SocketAddr::new(host, port)).collect()
}

/// Returns host and port of an `https` address.
pub(super) fn host_and_port(authority: &str) -> Option<(String, u16)> {
    let authority = authority.parse::<Authority>().ok()?;
    Some((bare(authority.host()).to_owned(), authority.port_u16().unwrap_or(HTTPS_PORT)))
}

/// Returns an IPv6 address without the brackets that it has in a URL.
fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_wrong_ones_say_what_was_expected() {
        assert_eq!(DaemonAddress::parse("http://127.0.0.1:8788/"), Ok(DaemonAddress::Tcp("127.0.0.1:8788".into())));
        assert_eq!(DaemonAddress::parse("http://[::1]:8788"), Ok(DaemonAddress::Tcp("[::1]:8788".into())));
        assert_eq!(DaemonAddress::parse("http://localhost:1"), Ok(DaemonAddress::Tcp("localhost:1".into())));
        assert_eq!(DaemonAddress::parse("https://x:1/"), Ok(DaemonAddress::Tls("x:1".into())));
        assert_eq!(DaemonAddress::parse("https://x"), Ok(DaemonAddress::Tls("x".into())));
        assert_eq!(DaemonAddress::parse("unix:/run/e.sock"), Ok(DaemonAddress::Unix("/run/e.sock".into())));
        assert_eq!(DaemonAddress::parse("unix:///run/e.sock"), Ok(DaemonAddress::Unix("/run/e.sock".into())));
        for wrong in [
            "127.0.0.1:1",
            "http://127.0.0.1",
            "http://x",
            "unix:rel",
            "http://u@127.0.0.1:1",
            "http://127.0.0.1:1/path",
            "http://127.0.0.1:99999",
            "https://",
            "https://x:",
            "https://x:99999",
            "https://u@x",
            "https://x/path",
        ] {
            assert!(DaemonAddress::parse(wrong).unwrap_err().contains("expected http://"), "{wrong}");
        }
    }

    #[test]
    fn plain_http_is_for_this_machine_alone() {
        for far in [
            "http://memory.example.com:8788",
            "http://10.0.0.7:8788",
            "http://0.0.0.0:8788",
            "http://localhost.example.com:8788",
            "http://127.0.0.1.example.com:8788",
            "http://[2001:db8::1]:8788",
        ] {
            let error = DaemonAddress::parse(far).unwrap_err();
            assert!(error.contains("https://") && error.contains("ssh -L"), "{far}: {error}");
        }
    }

    #[test]
    fn localhost_needs_no_resolver() {
        assert_eq!(loopback("LocalHost:7"), ["127.0.0.1:7".parse().unwrap(), "[::1]:7".parse().unwrap()]);
        assert_eq!(host_and_port("[::1]"), Some(("::1".to_owned(), 443)));
        assert_eq!(host_and_port("x:8443"), Some(("x".to_owned(), 8443)));
    }
}
