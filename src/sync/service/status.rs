//! The state of the network as it is shown, with advice on problems.

use std::net::SocketAddr;

use crate::{
    domain::{DeviceId, EventId},
    sync::{
        endpoint::{NetworkMode, Route, Traffic, TransportError},
        frame::RejectCode,
        session::{SessionEnd, SessionPhase},
    },
};

/// The state of the network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NetworkStatus {
    /// The networks in use; [`NetworkMode::Off`] if nothing listens, whatever the settings say.
    pub mode: NetworkMode,
    /// The addresses of this device.
    pub addresses: Vec<String>,
    /// Problems, each with advice.
    pub problems: Vec<String>,
    /// The other active members of the teams of this device.
    pub peers: Vec<PeerStatus>,
}

/// The state of a peer in one team.
#[derive(Clone, Debug, PartialEq)]
pub struct PeerStatus {
    pub team: EventId,
    pub device: DeviceId,
    /// The phase of its session; `None` if there is none.
    pub session: Option<SessionPhase>,
    /// The path of its connection.
    pub route: Option<Route>,
    /// Bytes sent and received over its connection.
    pub traffic: Traffic,
    /// The known addresses, the latest first.
    pub addresses: Vec<SocketAddr>,
    /// The time at which it was last connected, in milliseconds since the Unix epoch.
    pub last_seen: Option<u64>,
    /// The time at which both last had the same events, in milliseconds since the Unix epoch.
    pub last_sync: Option<u64>,
    /// Events that it has and this device lacks, as far as known.
    pub missing_here: u64,
    /// Events that this device has and it lacks, as far as known.
    pub missing_at_peer: u64,
    /// Whether both have the same events; of a live session only.
    pub in_sync: bool,
    /// Events that its sessions stored here since the service started.
    pub received: u64,
    /// The last round that is over with this peer, with or without success: see [`super::Service::sync_now`].
    pub round: u64,
    /// How far its clock is ahead of this device's, in milliseconds; of a live session only.
    pub clock_skew_ms: Option<i64>,
    /// Events of this device in its quarantine, as it last reported; of a live session only.
    pub not_accepted: u64,
    pub problem: Option<PeerProblem>,
}

/// A problem with a peer, with advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerProblem {
    pub message: String,
    /// What the user can do; `None` if nothing.
    pub advice: Option<String>,
    /// Whether it is temporary: the peer is asleep, or the network is down.
    pub transient: bool,
}

impl PeerProblem {
    fn transient(message: impl Into<String>) -> Self {
        Self { message: message.into(), advice: None, transient: true }
    }

    fn persistent(message: impl Into<String>, advice: &str) -> Self {
        Self { message: message.into(), advice: Some(advice.to_owned()), transient: false }
    }

    /// Explains a failed dial.
    pub(super) fn from_dial_error(error: &TransportError) -> Self {
        let message = error.to_string();
        match error {
            TransportError::NotPaired => Self::persistent(
                message,
                "if you joined lately, let the peer sync with the admin who invited you; if this device was revoked, \
                    ask an admin for a new invitation; if the peer has left the team, an admin can revoke it",
            ),
            TransportError::NoAddress => Self {
                advice: Some(
                    "on the same network it is discovered automatically; if multicast is blocked, add its address with `ergo sync address`, or \
                     carry events as a file with `ergo sync export`"
                        .to_owned(),
                ),
                ..Self::transient(message)
            },
            TransportError::NotLocal(_) => Self::persistent(
                message,
                "connect both devices to one network or VPN, or run `ergo sync mode internet` on both",
            ),
            TransportError::Protocol(_) => Self::persistent(message, "install the same version of ergo on both devices"),
            TransportError::NoStream(_) => Self::transient(message),
            TransportError::NoAnswer(_) => Self {
                advice: Some("it may be off or on another network; ergo keeps trying".to_owned()),
                ..Self::transient(message)
            },
            _ => Self::persistent(message, "run `ergo doctor` for details"),
        }
    }

    /// Explains the end of a session; `None` if it ended in order.
    pub(super) fn from_session_end(ended: &SessionEnd) -> Option<Self> {
        let (code, message, by_peer) = match ended {
            SessionEnd::Closed | SessionEnd::ClosedByPeer => return None,
            SessionEnd::Rejected(RejectCode::CannotStore, message) => {
                let message = format!("received events cannot be stored here: {message}");
                return Some(Self::persistent(message, "free space on this device's disk; ergo keeps trying"));
            }
            SessionEnd::RejectedByPeer(RejectCode::CannotStore, message) => {
                let message = format!("the peer cannot store what this device sends: {message}");
                return Some(Self::persistent(message, "free space on the disk of that device; ergo keeps trying"));
            }
            SessionEnd::Interrupted(message) => {
                return Some(Self::transient(format!("the session was interrupted: {message}")));
            }
            SessionEnd::Rejected(code, message) => (code, format!("this device rejected the peer: {message}"), false),
            SessionEnd::RejectedByPeer(code, message) => {
                (code, format!("the peer rejected this device: {message}"), true)
            }
        };
        let advice = match code {
            RejectCode::Paused if by_peer => {
                "the peer's user has to review its quarantine; an admin may have to restore this device's role"
            }
            RejectCode::Paused => {
                "`ergo sync quarantine list` shows them; once they are discarded, sync continues: `ergo sync quarantine \
                 discard --all`, or `--author DEVICE` for those of one device"
            }
            RejectCode::NotPaired if by_peer => {
                "if this device should be in the team, ask an admin for a new invitation"
            }
            RejectCode::NotPaired => {
                "if that device should be in the team, an admin can invite it again: `ergo sync invite`"
            }
            RejectCode::TeamMismatch => "`ergo sync status` on both devices shows their teams",
            RejectCode::RosterStale => {
                "let this device sync with the admin who last changed the team (`ergo sync now NAME`), then with this peer again"
            }
            RejectCode::TooBig | RejectCode::BadEvent if by_peer => {
                "install the same version of ergo on both devices; `ergo doctor` checks this device's store"
            }
            RejectCode::TooBig | RejectCode::BadEvent => {
                "the peer broke the protocol: its ergo may be damaged or modified; check that device before it syncs again"
            }
            RejectCode::DocPoisoned => "carry the events as a file: `ergo sync export` there, `ergo sync import` here",
            RejectCode::Version => "install the same version of ergo on both devices",
            RejectCode::Busy | RejectCode::CannotStore | RejectCode::Other(_) => "ergo keeps trying",
        };
        Some(Self::persistent(message, advice))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejections_give_advice_and_interruptions_are_transient() {
        assert_eq!(PeerProblem::from_session_end(&SessionEnd::Closed), None);
        let lost = PeerProblem::from_session_end(&SessionEnd::Interrupted("reset".into())).unwrap();
        assert!(lost.transient && lost.advice.is_none());
        for code in [
            RejectCode::NotPaired,
            RejectCode::TeamMismatch,
            RejectCode::TooBig,
            RejectCode::Version,
            RejectCode::Paused,
            RejectCode::Other("x".into()),
        ] {
            for ended in
                [SessionEnd::Rejected(code.clone(), "no".into()), SessionEnd::RejectedByPeer(code.clone(), "no".into())]
            {
                let problem = PeerProblem::from_session_end(&ended).unwrap();
                assert!(!problem.transient && problem.advice.is_some() && problem.message.ends_with(": no"));
            }
        }
        let full = || "the disk that holds the store is full".to_owned();
        let here = PeerProblem::from_session_end(&SessionEnd::Rejected(RejectCode::CannotStore, full())).unwrap();
        let there =
            PeerProblem::from_session_end(&SessionEnd::RejectedByPeer(RejectCode::CannotStore, full())).unwrap();
        for (problem, whose) in [(here, "this device's disk"), (there, "the disk of that device")] {
            assert!(!problem.transient && problem.message.ends_with("full"), "{problem:?}");
            assert!(problem.advice.unwrap().contains(whose));
        }
        let advice = |end: SessionEnd| PeerProblem::from_session_end(&end).unwrap().advice.unwrap();
        for (code, here, there) in [
            (RejectCode::NotPaired, "if this device should be in the team", "if that device should be in the team"),
            (RejectCode::BadEvent, "checks this device's store", "check that device"),
        ] {
            assert!(advice(SessionEnd::RejectedByPeer(code.clone(), "no".into())).contains(here), "{code:?}");
            assert!(advice(SessionEnd::Rejected(code.clone(), "no".into())).contains(there), "{code:?}");
        }
        assert!(!PeerProblem::from_dial_error(&TransportError::NotPaired).transient);
        assert!(!PeerProblem::from_dial_error(&TransportError::NotLocal("8.8.8.8:1".into())).transient);
        assert!(PeerProblem::from_dial_error(&TransportError::NoAnswer("10.0.0.1:1".into())).transient);
        assert!(PeerProblem::from_dial_error(&TransportError::NoAddress).advice.unwrap().contains("multicast"));
    }
}
