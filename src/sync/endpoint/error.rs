//! The reason why a connection or an endpoint failed.

use std::{path::PathBuf, time::Duration};

use iroh::endpoint::{ConnectionError, TransportErrorCode};

use super::FORBIDDEN;

/// The reason why a connection or an endpoint failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// Another process uses the key.
    #[error(
        "another process on this machine syncs with this device's key ({0}): stop it, or set ERGO_HOME to another folder for it"
    )]
    KeyInUse(PathBuf),
    /// The relay's URL is invalid.
    #[error("`sync.relay` is not an address such as https://relay.example.com: {0}")]
    Relay(String),
    /// The mode is `off`.
    #[error("sync is off")]
    Off,
    /// The system refuses the port.
    #[error("cannot listen for peers: {0}")]
    Bind(String),
    /// No known address of the peer may be used in this mode.
    #[error("no address of the peer is known")]
    NoAddress,
    /// The mode is `lan` and all known addresses of the peer are outside of the local networks.
    #[error("{0} is not on this network, and the sync mode `lan` contacts nothing outside of it")]
    NotLocal(String),
    /// The peer did not answer.
    #[error("nobody answered at {0}")]
    NoAnswer(String),
    /// The peer answered and lets this device open no stream.
    #[error("the peer accepted the connection, but no stream for {} s", .0.as_secs())]
    NoStream(Duration),
    /// The peer does not accept this device.
    #[error("the peer does not accept this device as a member of a shared team")]
    NotPaired,
    /// The peer does not speak this protocol.
    #[error("the peer's ergo is too old or too new: {0}")]
    Protocol(String),
    /// The device is not a member, so it is not dialled.
    #[error("that device is not a member of any team of this device")]
    NotAMember,
}

/// Converts the reason of a closed connection.
pub fn close_error(error: &ConnectionError) -> TransportError {
    match error {
        ConnectionError::ApplicationClosed(close) if close.error_code == FORBIDDEN.into() => TransportError::NotPaired,
        ConnectionError::VersionMismatch => TransportError::Protocol(error.to_string()),
        error if is_protocol_refusal(error) => TransportError::Protocol(error.to_string()),
        other => TransportError::NoAnswer(other.to_string()),
    }
}

/// Converts the error of a dial; `shown` are the addresses that were dialled.
pub(super) fn connect_error(error: &iroh::endpoint::ConnectError, shown: String) -> TransportError {
    use iroh::endpoint::{ConnectError, ConnectWithOptsError, ConnectingError};
    match error {
        ConnectError::Connect { source: ConnectWithOptsError::LocallyRejected { .. }, .. } => {
            TransportError::NotAMember
        }
        ConnectError::Connect { source: ConnectWithOptsError::NoAddress { .. }, .. } => TransportError::NoAddress,
        ConnectError::Connection { source, .. }
        | ConnectError::Connecting { source: ConnectingError::ConnectionError { source, .. }, .. } => {
            match close_error(source) {
                TransportError::NoAnswer(_) => TransportError::NoAnswer(shown),
                other => other,
            }
        }
        _ => TransportError::NoAnswer(shown),
    }
}

/// Whether one side refused the other's protocol, by the TLS alert `no_application_protocol` (RFC 7301, section 3.2).
fn is_protocol_refusal(error: &ConnectionError) -> bool {
    let code = match error {
        ConnectionError::ConnectionClosed(close) => close.error_code,
        ConnectionError::TransportError(error) => error.code,
        _ => return false,
    };
    code == TransportErrorCode::crypto(120)
}
