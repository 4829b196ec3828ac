//! The end of a session: an interruption is retried silently, a rejection is shown to a person.

use super::stream::{FrameStream, StreamError};
use crate::{
    api::{ApiError, ErrorCode},
    sync::frame::{Message, RejectCode, Rejection},
};

/// How a session ended, as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// This side ended the session in order.
    Closed,
    /// The peer ended the session in order.
    ClosedByPeer,
    /// The connection was lost, the peer was too slow, or this device cannot continue now. The session is tried again.
    Interrupted(String),
    /// This side rejected the peer.
    Rejected(RejectCode, String),
    /// The peer rejected this side.
    RejectedByPeer(RejectCode, String),
}

/// The reason why the loop of a session stopped.
#[derive(Debug)]
pub(super) enum StopReason {
    /// This side ends the session in order.
    Bye,
    /// The peer ended the session in order.
    PeerBye,
    /// The stream failed or ended.
    Stream(StreamError),
    /// The peer broke a rule or is not a member. The reason is sent to it.
    Reject(Rejection),
    /// The peer rejected this side.
    RejectedByPeer(Rejection),
    /// This device cannot continue, through no fault of the peer.
    Local(String),
    /// The staged document was based on one that is no longer stored.
    Stale(String),
}

/// Returns the rejection of a peer by a device that itself no longer belongs to the team. Both sides show the reason.
pub(in crate::sync) fn rejection_after_leaving() -> Rejection {
    let reason = "the rejecting device no longer belongs to the team".to_owned();
    Rejection { code: RejectCode::TeamMismatch, reason, document: None }
}

impl StopReason {
    pub(super) fn reject(code: RejectCode, reason: impl Into<String>) -> Self {
        Self::Reject(Rejection { code, reason: reason.into(), document: None })
    }

    /// Returns the reason that the peer gave, if the stream failed and the peer had ended the session before. Then a send
    /// fails although the peer's last message waits to be read.
    pub(super) async fn or_closing_message(self, stream: &mut FrameStream) -> Self {
        if !matches!(self, Self::Stream(StreamError::Closed(_))) {
            return self;
        }
        match stream.closing_message().await {
            Some(Message::Bye) => Self::PeerBye,
            Some(Message::Error(refused)) => Self::RejectedByPeer(refused),
            _ => self,
        }
    }

    /// Returns the message to the peer, if any.
    pub(super) fn rejection(&self) -> Option<Rejection> {
        match self {
            Self::Reject(refused) => Some(refused.clone()),
            Self::Stream(StreamError::Frame(error)) => {
                Some(Rejection { code: error.code(), reason: error.to_string(), document: None })
            }
            Self::Local(_) | Self::Stale(_) => {
                // Only the peer shows this reason.
                let reason = "the peer cannot continue the session now; it will be retried".to_owned();
                Some(Rejection { code: RejectCode::Busy, reason, document: None })
            }
            _ => None,
        }
    }

    pub(super) fn into_session_end(self) -> SessionEnd {
        match self {
            Self::Bye => SessionEnd::Closed,
            Self::PeerBye => SessionEnd::ClosedByPeer,
            Self::Stream(StreamError::Frame(error)) => SessionEnd::Rejected(error.code(), error.to_string()),
            Self::Stream(error) => SessionEnd::Interrupted(error.to_string()),
            Self::Reject(refused) => SessionEnd::Rejected(refused.code, refused.reason),
            Self::RejectedByPeer(Rejection { code: RejectCode::Busy, reason, .. }) => SessionEnd::Interrupted(reason),
            Self::RejectedByPeer(refused) => SessionEnd::RejectedByPeer(refused.code, refused.reason),
            Self::Local(reason) | Self::Stale(reason) => SessionEnd::Interrupted(reason),
        }
    }
}

impl From<StreamError> for StopReason {
    fn from(error: StreamError) -> Self {
        Self::Stream(error)
    }
}

impl From<ApiError> for StopReason {
    fn from(error: ApiError) -> Self {
        match error.code {
            // The peer is told, too. Otherwise it could not explain why its events are not accepted.
            ErrorCode::Unavailable => Self::reject(RejectCode::CannotStore, error.message),
            ErrorCode::Stale => Self::Stale(error.message),
            _ => Self::Local(error.to_string()),
        }
    }
}
