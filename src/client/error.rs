//! What can go wrong between a client and the daemon.

use std::{path::PathBuf, time::Duration};

use crate::{api::ApiError, config::ConfigError};

/// A call that has no usable answer. Texts hold what the system said, so that the error can be shown and kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// Nothing listens there: the call did not happen.
    #[error("no daemon answers at {place} ({cause})")]
    Unreachable {
        /// Where it was looked for.
        place: String,
        /// What the system said.
        cause: String,
    },
    /// The connection broke after the call was sent: a write may have happened. Repeat it with the same `op_id`.
    #[error("the daemon at {place} went away before it answered ({cause})")]
    Interrupted {
        /// Where.
        place: String,
        /// What the system said.
        cause: String,
    },
    /// No answer in time: a write may have happened. Repeat it with the same `op_id`.
    #[error("the daemon at {place} did not answer within {} s", after.as_secs_f32())]
    Timeout {
        /// Where.
        place: String,
        /// How long it was waited for.
        after: Duration,
    },
    /// The daemon refused the call, or failed.
    #[error("{0}")]
    Api(ApiError),
    /// Something answered, but not as an ergo daemon does.
    #[error("the answer from {place} is not understood: {cause}")]
    BadAnswer {
        /// Where.
        place: String,
        /// What was wrong with it.
        cause: String,
    },
    /// A daemon was started and did not become ready.
    #[error("the daemon did not start: {cause}")]
    NotStarted {
        /// What happened.
        cause: String,
        /// Its log.
        log: PathBuf,
        /// The log's last lines.
        tail: String,
    },
    /// The configuration or a place on the disk cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

impl ClientError {
    /// Whether there is no daemon to speak to, or none that answers.
    pub fn is_unreachable(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. } | Self::Interrupted { .. } | Self::Timeout { .. } | Self::NotStarted { .. }
        )
    }

    /// What to do next, where there is something.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unreachable { place, .. } if place.starts_with("https://") => Some(
                "check ERGO_API_URL; if your own authority signed its certificate, name the authority's PEM file in \
                 SSL_CERT_FILE"
                    .to_owned(),
            ),
            Self::Unreachable { .. } => Some("start it with `ergo daemon start`".to_owned()),
            Self::Interrupted { .. } | Self::Timeout { .. } => Some(
                "try again: a repeated act is recognised and happens once; `ergo daemon status` says more".to_owned(),
            ),
            Self::Api(error) => error.hint.clone(),
            Self::BadAnswer { .. } => {
                Some("is another program listening there? `ergo daemon status` says what is expected".to_owned())
            }
            Self::NotStarted { log, .. } => {
                Some(format!("its log is {}; `ergo daemon run` starts it in the foreground", log.display()))
            }
            Self::Config(error) => error.hint(),
        }
    }
}
