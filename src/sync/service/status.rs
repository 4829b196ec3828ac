//! How the network stands, and what to do where it does not.

use std::net::SocketAddr;

use crate::{
    domain::{DeviceId, EventId},
    sync::{
        endpoint::{EndpointError, Mode, Route, Traffic},
        frame::Code,
        session::{Ended, Phase},
    },
};

/// The network at this moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    /// How far packets may go; [`Mode::Off`] where nothing listens, whatever was asked for.
    pub mode: Mode,
    /// Where this device listens.
    pub addresses: Vec<String>,
    /// Whether devices are looked for by mDNS.
    pub discovers: bool,
    /// What is not as it should be, each with what to do.
    pub problems: Vec<String>,
    /// The other active members of the teams of this device.
    pub peers: Vec<PeerStatus>,
}

/// How this device stands with another, in one team.
#[derive(Clone, Debug, PartialEq)]
pub struct PeerStatus {
    /// The team.
    pub team: EventId,
    /// The other device.
    pub device: DeviceId,
    /// How far its session has come; `None` where there is none.
    pub session: Option<Phase>,
    /// By which way.
    pub route: Option<Route>,
    /// What has passed over its connection.
    pub traffic: Traffic,
    /// Where it was reached, or may be.
    pub addresses: Vec<SocketAddr>,
    /// When it was last connected, in milliseconds since the Unix epoch.
    pub last_seen: Option<u64>,
    /// When both last had the same, in milliseconds since the Unix epoch.
    pub last_sync: Option<u64>,
    /// Events that it has and this device lacks, as far as is known.
    pub we_lack: u64,
    /// Events that this device has and it lacks, as far as is known.
    pub they_lack: u64,
    /// Both have the same; said of a live session alone.
    pub equal: bool,
    /// Events that its sessions stored here since the service started.
    pub received: u64,
    /// The last round that is over with it, however it ended: see [`super::Service::sync_now`].
    pub round: u64,
    /// How far its clock is ahead of ours, in milliseconds; said of a live session alone.
    pub skew: Option<i64>,
    /// Events that it brought and that were not let in.
    pub quarantined: u64,
    /// Events that this device brought and that it did not let in, as it last said; said of a live session alone.
    pub not_taken: u64,
    /// What went wrong last.
    pub trouble: Option<Trouble>,
}

/// What went wrong with a peer, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What happened.
    pub words: String,
    /// What to do; nothing where it mends itself.
    pub advice: Option<String>,
    /// It mends itself: the peer is asleep, or the network is gone.
    pub quiet: bool,
}

impl Trouble {
    fn quiet(words: impl Into<String>) -> Self {
        Self { words: words.into(), advice: None, quiet: true }
    }

    fn loud(words: impl Into<String>, advice: &str) -> Self {
        Self { words: words.into(), advice: Some(advice.to_owned()), quiet: false }
    }

    /// What a call that came to nothing means.
    pub(super) fn of_call(error: &EndpointError) -> Self {
        let words = error.to_string();
        match error {
            EndpointError::NotPaired => Self::loud(
                words,
                "it has not heard of this device yet, or this device was put out of the team: let it sync with the admin who invited \
                 this device, or ask an admin for a new invite",
            ),
            EndpointError::NoAddress => Self {
                advice: Some(
                    "it is found by itself on the same network; where multicast is blocked, `ergo sync address` tells where it is, and \
                     `ergo sync export` writes a file to carry"
                        .to_owned(),
                ),
                ..Self::quiet(words)
            },
            EndpointError::Protocol(_) => Self::loud(words, "install the same version of ergo on both devices"),
            EndpointError::Silent(_) => Self {
                advice: Some("it may be off or on another network; it is called again by itself".to_owned()),
                ..Self::quiet(words)
            },
            _ => Self::loud(words, "`ergo doctor` says more"),
        }
    }

    /// What the end of a session means; `None` where it ended in order.
    pub(super) fn of_end(ended: &Ended) -> Option<Self> {
        let (code, words, by_peer) = match ended {
            Ended::Closed => return None,
            Ended::Refused(Code::CannotStore, words) => {
                let words = format!("what comes cannot be stored here: {words}");
                return Some(Self::loud(words, "make room on this device's disk; it is tried again by itself"));
            }
            Ended::RefusedByPeer(Code::CannotStore, words) => {
                let words = format!("the peer cannot store what it is sent: {words}");
                return Some(Self::loud(words, "make room on the disk of that device; it is tried again by itself"));
            }
            Ended::Interrupted(words) => return Some(Self::quiet(format!("the connection was lost: {words}"))),
            Ended::Refused(code, words) => (code, format!("this device refused: {words}"), false),
            Ended::RefusedByPeer(code, words) => (code, format!("the peer refused: {words}"), true),
        };
        let advice = match code {
            Code::Paused if by_peer => {
                "an admin may have to say again what this device may do; whoever sits at the peer decides about what waits there"
            }
            Code::Paused => {
                "`ergo sync quarantine list` shows them; discard them, or put the device that wrote them out of the team: then it is \
                 heard again"
            }
            Code::NotPaired => "ask an admin of the team for a new invite, if this should not be so",
            Code::TeamMismatch => "`ergo sync status` on both devices shows their teams",
            Code::RosterStale => "sync with the admin who made the last change to the team, then again with this peer",
            Code::TooBig | Code::BadEvent => {
                "the peer sends what it must not: its ergo is damaged or changed; look at it before it syncs again"
            }
            Code::DocPoisoned => "`ergo sync export` and `ergo sync import` carry the events past it",
            Code::Version => "install the same version of ergo on both devices",
            Code::Busy | Code::CannotStore | Code::Other(_) => "it is tried again by itself",
        };
        Some(Self::loud(words, advice))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_says_what_to_do_and_what_is_interrupted_is_quiet() {
        assert_eq!(Trouble::of_end(&Ended::Closed), None);
        let lost = Trouble::of_end(&Ended::Interrupted("reset".into())).unwrap();
        assert!(lost.quiet && lost.advice.is_none());
        for code in
            [Code::NotPaired, Code::TeamMismatch, Code::TooBig, Code::Version, Code::Paused, Code::Other("x".into())]
        {
            for ended in [Ended::Refused(code.clone(), "no".into()), Ended::RefusedByPeer(code.clone(), "no".into())] {
                let trouble = Trouble::of_end(&ended).unwrap();
                assert!(!trouble.quiet && trouble.advice.is_some() && trouble.words.ends_with("refused: no"));
            }
        }
        let full = || "the disk that holds the store is full".to_owned();
        let here = Trouble::of_end(&Ended::Refused(Code::CannotStore, full())).unwrap();
        let there = Trouble::of_end(&Ended::RefusedByPeer(Code::CannotStore, full())).unwrap();
        for (trouble, whose) in [(here, "this device's disk"), (there, "the disk of that device")] {
            assert!(!trouble.quiet && trouble.words.ends_with("full"), "{trouble:?}");
            assert!(trouble.advice.unwrap().contains(whose));
        }
        assert!(!Trouble::of_call(&EndpointError::NotPaired).quiet);
        assert!(Trouble::of_call(&EndpointError::Silent("10.0.0.1:1".into())).quiet);
        assert!(Trouble::of_call(&EndpointError::NoAddress).advice.unwrap().contains("multicast"));
    }
}
