//! Why a session ends: *interrupted* is tried again quietly, *refused* is shown.

use super::wire::WireError;
use crate::{
    api::{ApiError, ErrorCode},
    sync::frame::{Code, Refused},
};

/// How a session ended, for its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// In order: one side said so.
    Closed,
    /// The connection was lost, the peer was too slow, or this device cannot go on now: try again.
    Interrupted(String),
    /// This side refused the peer.
    Refused(Code, String),
    /// The peer refused this side.
    RefusedByPeer(Code, String),
}

/// Why the loop of a session stopped.
#[derive(Debug)]
pub(super) enum Stop {
    /// This side ends in order.
    Bye,
    /// The peer ended in order.
    PeerBye,
    /// Nothing more comes or goes.
    Wire(WireError),
    /// The peer broke a rule, or is not welcome: it is told.
    Refuse(Refused),
    /// The peer refuses us.
    Refused(Refused),
    /// This device cannot go on; the peer has done nothing wrong.
    Here(String),
    /// What was to be stored was worked out from what is not stored any more.
    Stale(String),
}

impl Stop {
    pub(super) fn refuse(code: Code, words: impl Into<String>) -> Self {
        Self::Refuse(Refused { code, words: words.into(), document: None })
    }

    /// What the peer is told, if it is told anything.
    pub(super) fn last_words(&self) -> Option<Refused> {
        match self {
            Self::Refuse(refused) => Some(refused.clone()),
            Self::Wire(WireError::Frame(error)) => {
                Some(Refused { code: error.code(), words: error.to_string(), document: None })
            }
            Self::Here(_) | Self::Stale(_) => {
                let words = "this device cannot go on now; try again later".to_owned();
                Some(Refused { code: Code::Busy, words, document: None })
            }
            _ => None,
        }
    }

    pub(super) fn into_ended(self) -> Ended {
        match self {
            Self::Bye | Self::PeerBye => Ended::Closed,
            Self::Wire(WireError::Frame(error)) => Ended::Refused(error.code(), error.to_string()),
            Self::Wire(error) => Ended::Interrupted(error.to_string()),
            Self::Refuse(refused) => Ended::Refused(refused.code, refused.words),
            Self::Refused(Refused { code: Code::Busy, words, .. }) => Ended::Interrupted(words),
            Self::Refused(refused) => Ended::RefusedByPeer(refused.code, refused.words),
            Self::Here(words) | Self::Stale(words) => Ended::Interrupted(words),
        }
    }
}

impl From<WireError> for Stop {
    fn from(error: WireError) -> Self {
        Self::Wire(error)
    }
}

impl From<ApiError> for Stop {
    fn from(error: ApiError) -> Self {
        match error.code {
            // The peer has to know as well: it would wonder why what it sends does not arrive.
            ErrorCode::Unavailable => Self::refuse(Code::CannotStore, error.message),
            ErrorCode::Stale => Self::Stale(error.message),
            _ => Self::Here(error.to_string()),
        }
    }
}
