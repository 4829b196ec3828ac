//! The errors between a client and the daemon.

use std::{path::PathBuf, time::Duration};

use crate::{
    api::{ApiError, ErrorCode},
    config::ConfigError,
};

/// Why a request has no usable response. Texts hold the system's error, so that it can be shown and stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// Nothing listens there: the request was not sent.
    #[error("no daemon answers at {place} ({cause})")]
    Unreachable {
        place: String,
        /// The system's error.
        cause: String,
    },
    /// The connection broke after the request was sent: a write may have happened. Repeat it with the same
    /// `op_id`.
    #[error("the daemon at {place} closed the connection before it answered ({cause})")]
    Interrupted {
        place: String,
        /// The system's error.
        cause: String,
    },
    /// No response in time: a write may have happened. Repeat it with the same `op_id`.
    #[error("the daemon at {place} did not answer within {} s", after.as_secs_f32())]
    Timeout { place: String, after: Duration },
    /// The daemon rejected the request, or failed.
    #[error("{0}")]
    Api(ApiError),
    /// The response is not that of an ergo daemon.
    #[error("the answer from {place} cannot be read: {cause}")]
    BadAnswer {
        place: String,
        /// What is wrong with it.
        cause: String,
    },
    /// A daemon was started and did not become ready.
    #[error("the daemon did not start: {cause}")]
    NotStarted {
        /// What happened.
        cause: String,
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },
    /// The configuration or a path cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

impl ClientError {
    /// Whether no daemon listens or answers.
    pub fn is_unreachable(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. } | Self::Interrupted { .. } | Self::Timeout { .. } | Self::NotStarted { .. }
        )
    }

    /// Whether the request may have been executed, although no answer came.
    pub fn is_unanswered(&self) -> bool {
        match self {
            Self::Interrupted { .. } | Self::Timeout { .. } => true,
            Self::Api(error) => error.code == ErrorCode::Timeout,
            _ => false,
        }
    }

    /// Returns what to do next, if anything.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unreachable { place, .. } if place.starts_with("https://") => Some(
                "check ERGO_API_URL; if your own certificate authority signed the certificate, set SSL_CERT_FILE to \
                    that authority's PEM file"
                    .to_owned(),
            ),
            Self::Unreachable { .. } => {
                Some("start it with `ergo daemon start`; most commands start it by themselves".to_owned())
            }
            Self::Interrupted { .. } | Self::Timeout { .. } => Some(
                "try again: a repeated request is recognised and done only once; `ergo daemon status` says more"
                    .to_owned(),
            ),
            Self::Api(error) => error.hint.clone(),
            Self::BadAnswer { .. } => Some(
                "another program may be listening there; `ergo daemon status` shows the daemon's address".to_owned(),
            ),
            Self::NotStarted { log, .. } => {
                Some(format!("its log is {}; `ergo daemon run` starts it in the foreground", log.display()))
            }
            Self::Config(error) => error.hint(),
        }
    }
}
